package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A stem is counted once a sentence, and kept where enough sentences of enough repositories have it.
func TestCount(t *testing.T) {
	var in strings.Builder
	for i := range minSentences {
		fmt.Fprintf(&in, `{"repo":"acme/r%d","licence":"MIT","title":"Use queues","context":"Queues queue. Secret%d names leak\nover lines.","decision":"%s"}`+"\n", i%minRepos, i, "We queue [url]")
	}
	fmt.Fprintln(&in, `{"repo":"acme/z","licence":"CC0-1.0","title":"Zanzibar zanzibar","context":"","decision":""}`)
	table, attribution, err := count(strings.NewReader(in.String()))
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(table)), "\n")
	require.Equal(t, []string{"24", "leak 8", "line 8", "name 8", "over 8", "queue 16", "use 8", "we 8"}, lines)
	require.Contains(t, string(attribution), "github.com/acme/r0 (MIT)\n")
	require.Contains(t, string(attribution), "github.com/acme/z (CC0-1.0)\n")

	_, _, err = count(strings.NewReader("{}\nno JSON\n"))
	require.ErrorContains(t, err, "record 2")
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	require.Error(t, run(dir, file("t"), file("a")), "there is no data")
	require.NoError(t, os.WriteFile(file("adr-decisions.jsonl"), []byte(`{"repo":"acme/api","licence":"MIT","title":"Keep logs"}`+"\n"), 0o600))
	require.NoError(t, run(dir, file("t"), file("a")))
	got, err := os.ReadFile(file("t"))
	require.NoError(t, err)
	require.Equal(t, "1\n", string(got))
	require.FileExists(t, file("a"))
}
