package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue/internal/testneed"
)

func lines(t *testing.T, events ...event) string {
	t.Helper()
	var b strings.Builder
	for _, e := range events {
		line, err := json.Marshal(e)
		require.NoError(t, err)
		b.Write(line)
		b.WriteByte('\n')
	}
	return b.String()
}

func TestSummary(t *testing.T) {
	const pkg = "example.com/m/p"
	skipEvents := []event{
		{Action: "output", Package: pkg, Test: "TestS", Output: "=== RUN   TestS\n"},
		{Action: "output", Package: pkg, Test: "TestS", Output: "    a_test.go:7: " + testneed.Prefix + "npm: not here\n"},
		{Action: "output", Package: pkg, Test: "TestS", Output: "--- SKIP: TestS (0.00s)\n"},
		{Action: "skip", Package: pkg, Test: "TestS"},
	}
	okEvents := []event{
		{Action: "output", Package: pkg, Test: "TestA", Output: "chatter\n"},
		{Action: "pass", Package: pkg, Test: "TestA"},
		{Action: "output", Package: pkg, Output: "ok  \texample.com/m/p\t0.1s\n"},
		{Action: "pass", Package: pkg},
	}
	for _, c := range []struct {
		name       string
		events     []event
		requireAll bool
		ok         bool
		has, hasnt []string
		last       string
	}{
		{
			name: "all pass", events: okEvents, requireAll: true, ok: true,
			has: []string{"ok  \texample.com/m/p\t0.1s\n", "1 passed, 0 failed, 0 skipped\n"}, hasnt: []string{"chatter"},
			last: "Skipped: nothing.",
		},
		{
			name: "a skip is told", events: append(skipEvents, okEvents...), ok: true,
			has:  []string{"SKIPPED p TestS: left out, needs npm: not here", "1 passed, 0 failed, 1 skipped\n"},
			last: "Skipped: npm: not here.",
		},
		{
			name: "what doesn't apply may be skipped",
			events: append([]event{
				{Action: "output", Package: pkg, Test: "TestN", Output: "    a_test.go:7: one handle alone\n"},
				{Action: "skip", Package: pkg, Test: "TestN"},
			}, okEvents...),
			requireAll: true, ok: true,
			has: []string{"SKIPPED p TestN: one handle alone"}, last: "Skipped: one handle alone.",
		},
		{
			name: "a need fails when everything is required", events: append(skipEvents, okEvents...), requireAll: true,
			has: []string{"forbids it"}, last: "Skipped: npm: not here.",
		},
		{
			name: "a failed test shows its output",
			events: []event{
				{Action: "output", Package: pkg, Test: "TestF", Output: "    a_test.go:9: wrong\n"},
				{Action: "fail", Package: pkg, Test: "TestF"},
				{Action: "pass", Package: pkg, Test: "TestA"},
				{Action: "output", Package: pkg, Output: "FAIL\texample.com/m/p\t0.1s\n"},
				{Action: "fail", Package: pkg},
			},
			has: []string{"a_test.go:9: wrong", "FAIL\texample.com/m/p", "1 passed, 1 failed, 0 skipped"}, last: "Skipped: nothing.",
		},
		{
			name: "a build that fails counts",
			events: append([]event{
				{Action: "build-output", ImportPath: "example.com/m/q", Output: "q.go:1: no\n"},
				{Action: "fail", Package: "example.com/m/q", FailedBuild: "example.com/m/q"},
			}, okEvents...),
			has: []string{"q.go:1: no", "1 passed, 1 failed, 0 skipped"}, last: "Skipped: nothing.",
		},
		{
			name: "a test cut off by a panic shows what it printed",
			events: append([]event{
				{Action: "output", Package: "example.com/m/q", Test: "TestP", Output: "panic: boom\n"},
				{Action: "fail", Package: "example.com/m/q"},
			}, okEvents...),
			has: []string{"panic: boom", "1 failed"}, last: "Skipped: nothing.",
		},
		{
			name: "nothing ran", events: []event{{Action: "pass", Package: pkg}},
			has: []string{"no test ran"}, last: "Skipped: nothing.",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			s := newSummary(&out)
			n, err := s.read("", strings.NewReader(lines(t, c.events...)))
			require.NoError(t, err)
			require.Positive(t, n)
			require.Equal(t, c.ok, s.finish(c.requireAll))
			for _, h := range c.has {
				require.Contains(t, out.String(), h)
			}
			for _, h := range c.hasnt {
				require.NotContains(t, out.String(), h)
			}
			got := strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
			require.Equal(t, c.last, got[len(got)-1])
		})
	}
}

// TestRun runs the real go command on a small module: one test that passes, one that is skipped.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command: left out by -short")
	}
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("go.mod", "module example.com/small\n\ngo 1.26\n")
	write("a_test.go", "package small\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {}\n\nfunc TestS(t *testing.T) { t.Skip(\"why not\") }\n")
	t.Chdir(dir)
	t.Setenv("REVUE_REQUIRE_ALL", "")

	var out, diag bytes.Buffer
	require.Equal(t, 0, run(t.Context(), []string{"-nocgo", "./...", "-count=1", "./..."}, &out, &diag), diag.String())
	require.Contains(t, out.String(), "2 passed, 0 failed, ") // what is skipped depends on cgo too
	require.Contains(t, out.String(), "SKIPPED small [CGO_ENABLED=0] TestS: why not")

	write("b.go", "package small\n\nvar x int = \"\"\n")
	out.Reset()
	require.Equal(t, 1, run(t.Context(), []string{"./..."}, &out, &diag))
	require.Contains(t, out.String(), "b.go:3")

	require.Equal(t, 1, run(t.Context(), []string{"./nowhere"}, &out, &diag))
	require.Equal(t, 2, run(t.Context(), nil, &out, &diag))
}
