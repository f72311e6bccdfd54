package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
)

// TestKillImport kills "revue import" again and again. What it leaves is acted on by nobody, and the same import
// completes it.
func TestKillImport(t *testing.T) {
	dir := t.TempDir()
	from := localPlane(t, filepath.Join(dir, "from.db"))
	for i := range 400 {
		_, err := from.Decider(revue.Agent{Workspace: defaultWorkspace, Credential: "a", Name: "a", Via: "library"}).
			Request(t.Context(), revue.Ask{Question: fmt.Sprintf("Which rack takes machine %d?", i)})
		require.NoError(t, err)
	}
	file := filepath.Join(dir, "all.jsonl")
	env := func(db string) []string { return cleanEnv(dir, "REVUE_DB="+db) }
	output(t, env(from.path), "export", file)
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	things := func(b []byte) string { // without the first line and the last, which have the time
		lines := strings.SplitAfter(string(b), "\n")
		return strings.Join(lines[1:len(lines)-2], "")
	}

	k := &killer{}
	cut := 0
	for i := range min(rounds(), 30) + 1 {
		db := filepath.Join(dir, fmt.Sprintf("%d.db", i))
		k.kill(t, env(db), "", "import", file)
		if _, err := os.Stat(db); err == nil {
			p := localPlane(t, db)
			switch _, err := p.Reviewer(testHuman()).Lots(t.Context(), revue.LotFilter{}); {
			case errors.Is(err, revue.ErrUnavailable):
				cut++
			default:
				require.NoError(t, err)
				n := len(allLots(t, p, ""))
				require.Contains(t, []int{0, 400}, n, "a part of it is there, and can be acted on")
			}
		}
		output(t, env(db), "import", file)
		require.Equal(t, things(want), things([]byte(output(t, env(db), "export", "-"))))
	}
	t.Logf("%d imports were cut short", cut)
}

func TestToFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "x.jsonl")
	good := func(w io.Writer) (revue.Exported, error) {
		_, err := io.WriteString(w, "whole")
		return revue.Exported{}, err
	}
	bad := func(w io.Writer) (revue.Exported, error) {
		_, _ = io.WriteString(w, "half")
		return revue.Exported{}, context.Canceled
	}
	files := func() []string {
		t.Helper()
		var names []string
		found, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, f := range found {
			names = append(names, f.Name())
		}
		return names
	}
	_, err := toFile(name, false, bad)
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, files(), "an export that was cut short left something")
	_, err = toFile(name, false, good)
	require.NoError(t, err)
	_, err = toFile(name, false, good)
	require.ErrorContains(t, err, "--force")
	_, err = toFile(name, true, bad)
	require.ErrorIs(t, err, context.Canceled)
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, "whole", string(b))
	_, err = toFile(name, true, good)
	require.NoError(t, err)
	require.Equal(t, []string{"x.jsonl"}, files())
	_, err = toFile(filepath.Join(dir, "none", "x"), false, good)
	require.Error(t, err)
}

// TestImportInterrupted ends the wait for an input that never comes.
func TestImportInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	defer w.Close() //nolint:errcheck // never fails
	var out, diag bytes.Buffer
	code := make(chan int, 1)
	db := tempDB(t)
	go func() {
		code <- run(ctx, &world{
			args: []string{"import", "-"}, env: func(key string) string { return map[string]string{"REVUE_DB": db}[key] },
			stdin: r, stdout: &out, stderr: &diag,
		})
	}()
	_, err := io.WriteString(w, "{")
	require.NoError(t, err)
	cancel()
	require.Equal(t, exitFailed, <-code)
	require.NoFileExists(t, db)
	require.Empty(t, out.String())
}
