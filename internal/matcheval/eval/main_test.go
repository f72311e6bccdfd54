package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The table is printed, and what falls short is an error behind it: a gold set of one question allows no 3,000 changes.
func TestRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "gold.txt")
	require.NoError(t, os.WriteFile(file, []byte("Q: Should invoices be signed?\n= should invoices be signed\n~ Do we sign invoices?\n! Should invoices be hashed? [verb]\n"), 0o600))
	var out bytes.Buffer
	err := run(t.Context(), []string{"-gold", file, "-asks", "60", "-wrong", "-seeds", "1"}, &out)
	require.ErrorContains(t, err, "generated changes were tried")
	require.Contains(t, out.String(), "1 questions, 3 pairs, seed 1.")
	require.Contains(t, out.String(), "| `apply` to generated one-token changes")

	require.Contains(t, out.String(), "| 4 teams, 2,000 asks, 50 % paraphrases | 1 |")

	require.Error(t, run(t.Context(), []string{"-gold", file + ".not"}, &out))
	require.Error(t, run(t.Context(), []string{"-nothing"}, &out))
	require.NoError(t, run(t.Context(), []string{"-h"}, &out))
	require.NoError(t, os.WriteFile(file, []byte("= before any question\n"), 0o600))
	require.ErrorContains(t, run(t.Context(), []string{"-gold", file}, &out), "line 1")
}
