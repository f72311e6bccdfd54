package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
)

func TestHarness(t *testing.T) {
	for _, h := range harnesses {
		for _, v := range h.vars {
			name, variable := harness(func(key string) string {
				if key == v {
					return "1"
				}
				return ""
			})
			require.Equal(t, h.name, name)
			require.Equal(t, v, variable)
		}
	}
	// What editors and shells set for a human, too.
	human := map[string]string{
		"TERM": "xterm", "CURSOR_TRACE_ID": "x", "CLAUDE_CODE_SSE_PORT": "1", "TERM_PROGRAM": "vscode",
		"VSCODE_PID": "1", "CODEX_HOME": "/x", "GEMINI_API_KEY": "x", "CI": "true",
	}
	name, _ := harness(func(key string) string { return human[key] })
	require.Empty(t, name)
}

// humanCommands are the commands that change something or show a secret, with arguments that are well formed.
func humanCommands() map[string][]string {
	return map[string][]string{
		"revue answer":           {"lot_x", "yes"},
		"revue dismiss":          {"lot_x"},
		"revue reopen":           {"lot_x"},
		"revue correct":          {"dec_x", "wrong"},
		"revue purge":            {"dec_x", "--yes"},
		"revue token create":     {"--kind", "agent"},
		"revue token revoke":     {"tok_x"},
		"revue token list":       {},
		"revue notes":            {"--remove", "ctx_x"},
		"revue workspace create": {"w"},
		"revue member remove":    {"mem_x"},
		"revue stream set":       {"agents", "--mute"},
		"revue inbox --web":      {}, // the rest of it looks
		"revue export":           {"x.jsonl"},
		"revue import":           {"x.jsonl"},
		"revue keys rotate":      {},
		"revue login":            {"http://127.0.0.1:1"},
		"revue logout":           {},
	}
}

// TestSecurityNames compares the commands that SECURITY.md says refuse to run for an agent with those that do.
func TestSecurityNames(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "SECURITY.md"))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(doc), "Some commands refuse to run")
	require.True(t, found)
	list, _, found := strings.Cut(rest, "This stops accidents")
	require.True(t, found)
	var named []string
	for _, m := range regexp.MustCompile("`(revue [^`]+)`").FindAllStringSubmatch(list, -1) {
		named = append(named, strings.TrimSuffix(m[1], " --remove"))
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(humanCommands())), named)
}

// TestHumanOnly walks every command: each that changes something refuses to run for an agent, and says so
// before it touches anything.
func TestHumanOnly(t *testing.T) {
	args := humanCommands()
	agent := func(key string) string {
		return map[string]string{"CODEX_SANDBOX": "seatbelt", "REVUE_DB": t.TempDir() + "/none.db"}[key]
	}
	looks := map[string]bool{
		"revue inbox": true, "revue why": true, "revue decisions": true, "revue workspace list": true,
		"revue whoami": true, "revue member": true, "revue member list": true, "revue stream": true, "revue stream list": true,
		"revue keys": true, "revue keys list": true, "revue keys export": true,
		"revue verify": true, "revue version": true, "revue serve": true, "revue mcp": true, "revue token": true, "revue workspace": true,
	}
	a := &app{world: &world{}}
	paths := []string{"revue inbox --web"}
	for _, c := range a.root().Commands() {
		for _, c := range append(c.Commands(), c) {
			paths = append(paths, c.CommandPath())
		}
	}
	for _, path := range paths {
		if looks[path] {
			require.NotContains(t, args, path)
			if path == "revue serve" || path == "revue mcp" { // which would run
				continue
			}
			var diag bytes.Buffer
			run(t.Context(), &world{args: strings.Fields(path)[1:], env: agent, stdin: io.NopCloser(strings.NewReader("")), stdout: io.Discard, stderr: &diag})
			require.NotContains(t, diag.String(), "CODEX_SANDBOX", path)
			continue
		}
		rest, ok := args[path]
		require.True(t, ok, "%s: say whether it only looks", path)
		var out, diag bytes.Buffer
		code := run(t.Context(), &world{
			args: append(strings.Fields(path)[1:], rest...),
			env:  agent, stdin: io.NopCloser(strings.NewReader("")), stdout: &out, stderr: &diag,
		})
		require.Equal(t, exitFailed, code, path)
		require.Contains(t, diag.String(), "CODEX_SANDBOX")
		require.Equal(t, 1, strings.Count(diag.String(), "\n"))
		require.Empty(t, out.String())
	}
}

func TestExitCode(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want int
	}{
		{nil, exitDone},
		{errors.New("unknown flag"), exitMisused},
		{failure{misuse("no")}, exitMisused},
		{failure{revue.ErrInvalid}, exitMisused},
		{failure{fmt.Errorf("why: %w", revue.ErrNotFound)}, exitNotFound},
		{failure{revue.ErrConflict}, exitFailed},
		{failure{revue.ErrUnavailable}, exitFailed},
		{failure{errors.New("no route")}, exitFailed},
	} {
		require.Equal(t, tc.want, exitCode(tc.err), "%v", tc.err)
	}
}

func TestParseWhen(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want when
	}{
		{"36h", when{after: 36 * time.Hour}},
		{"1h30m", when{after: 90 * time.Minute}},
		{"30d", when{after: 30 * 24 * time.Hour}},
		{"2027-01-31", when{at: time.Date(2027, 1, 31, 0, 0, 0, 0, time.UTC)}},
		{"2027-01-31T12:00:00+02:00", when{at: time.Date(2027, 1, 31, 10, 0, 0, 0, time.UTC)}},
	} {
		got, err := parseWhen(tc.in)
		require.NoError(t, err, tc.in)
		require.Equal(t, tc.want, got, tc.in)
	}
	for _, in := range []string{"", "soon", "0h", "-3h", "0d", "-1d", "d", "1.5d", "9999999d", "2027-02-30", "31.01.2027", "2027-01-31 12:00"} {
		_, err := parseWhen(in)
		require.Equal(t, exitMisused, exitCode(err), in)
	}
	_, err := when{at: time.Unix(0, 0)}.life(time.Unix(1, 0))
	require.Error(t, err)
	d, err := when{at: time.Unix(61, 0)}.life(time.Unix(1, 0))
	require.NoError(t, err)
	require.Equal(t, time.Minute, d)
}

func FuzzParseWhen(f *testing.F) {
	for _, s := range []string{"36h", "30d", "2027-01-31", "2027-01-31T12:00:00Z", "-1d", "106751d", "106752d"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		w, err := parseWhen(s)
		if err != nil {
			require.Equal(t, when{}, w)
			return
		}
		require.NotEqual(t, w.after > 0, !w.at.IsZero(), "one of the two")
		require.Less(t, w.after, time.Duration(math.MaxInt64))
	})
}

func TestShellWord(t *testing.T) {
	for in, want := range map[string]string{
		"postgres": "postgres", "v1.2-rc/3": "v1.2-rc/3", "日本": "日本",
		"": "''", "two words": "'two words'", "it's": `'it'\''s'`, "$HOME": "'$HOME'", "-x": "'-x'", "=ls": "'=ls'", "a\u3164b": `a\u{3164}b`,
	} {
		require.Equal(t, want, shellWord(in))
	}
}

func TestWriteJSON(t *testing.T) {
	in := map[string]string{"text": "a\u202eb\u009b\u2028\U000e0041 <b> 日本 \x1b\x00é"}
	var buf bytes.Buffer
	require.NoError(t, writeJSON(&buf, in))
	require.Contains(t, buf.String(), `a\u202eb\u009b\u2028\udb40\udc41 <b> 日本 \u001b\u0000é`)
	var out map[string]string
	require.NoError(t, json.Unmarshal(buf.Bytes(), &out))
	require.Equal(t, in, out)
}

func TestServeURL(t *testing.T) {
	for _, tc := range []struct {
		addr, cert string
		hosts      []string
		want       string
	}{
		{"127.0.0.1:7433", "", nil, "http://127.0.0.1:7433"},
		{"[::1]:7433", "", nil, "http://[::1]:7433"},
		{"0.0.0.0:7433", "cert.pem", []string{"revue.example.com"}, "https://revue.example.com:7433"},
		{"0.0.0.0:7433", "", []string{"revue.example.com:443"}, "http://revue.example.com:443"},
	} {
		addr, err := net.ResolveTCPAddr("tcp", tc.addr)
		require.NoError(t, err)
		s := &serve{app: &app{}, tlsCert: tc.cert, hosts: tc.hosts}
		require.Equal(t, tc.want, s.url(fakeListener{addr: addr}))
	}
}

type fakeListener struct {
	net.Listener
	addr net.Addr
}

func (f fakeListener) Addr() net.Addr { return f.addr }

func TestHostName(t *testing.T) {
	for _, s := range []string{"revue.example.com", "revue.example.com:7433", "192.0.2.1", "[2001:db8::1]:80", "host_1"} {
		require.True(t, hostName(s), s)
	}
	for _, s := range []string{"", " ", "https://revue.example.com", "a/b", "a b", "*.example.com", "a,b", "user@host", ":80", "a:port"} {
		require.False(t, hostName(s), s)
	}
}

// TestBroken shows that what a terminal would wrap to its edge stands behind the bar.
func TestBroken(t *testing.T) {
	var buf bytes.Buffer
	out := &printer{w: &buf, width: 16}
	out.f("  | %s", strings.Repeat(" ", 12))
	out.f("lot_fake  open\n  ok  | 日本日本日本日本\n")
	out.own("  answer it: revue answer lot_1\n")
	require.NoError(t, out.err)
	require.Equal(t, "  |             \n  | lot_fake  op\n  | en\n  ok  | 日本日本\n  | 日本日本\n  answer it: revue answer lot_1\n", buf.String())
	require.Equal(t, "a\n", broken("a\n", 1))
	long := strings.Repeat("x", 100) + "\n"
	require.Equal(t, long, broken(long, 0))
	for l := range strings.Lines(broken(strings.Repeat(" ", 90)+long, 20)) {
		require.LessOrEqual(t, len(l), 21)
	}
}

// TestHarmless shows that nothing of a plane elsewhere acts on the terminal, though no part of it was looked at.
func TestHarmless(t *testing.T) {
	var buf bytes.Buffer
	out := &printer{w: &buf}
	out.own("%s\tis | 日本\n", "tok_\x1b[2J\u202e\u2066\u2028\u009b")
	require.NoError(t, out.err)
	require.Equal(t, `tok_\u{1b}[2J\u{202e}\u{2066}\u{2028}\u{9b}`+"\tis | 日本\n", buf.String())
}

func TestOpening(t *testing.T) {
	failed := errors.New("disk I/O error")
	for _, why := range []error{fs.ErrPermission, &fs.PathError{Op: "open", Path: "x.db", Err: syscall.EROFS}} {
		require.EqualError(t, unwritable("x.db", why, failed),
			"you may not write to x.db, and revue needs to, even to look: run the command as the user whose database it is")
	}
	require.Equal(t, failed, unwritable("x.db", fs.ErrNotExist, failed))

	db := t.TempDir() + "/x.db"
	require.NoError(t, os.WriteFile(db, nil, 0o600))
	require.Equal(t, failed, opening(db, failed), "nothing stands in the way")
	left, err := os.ReadDir(filepath.Dir(db))
	require.NoError(t, err)
	require.Len(t, left, 1)
}

func TestAgo(t *testing.T) {
	now := time.Unix(1e9, 0)
	for d, want := range map[time.Duration]string{
		-time.Hour: "just now", 59 * time.Second: "just now", time.Minute: "1m ago", 59 * time.Minute: "59m ago",
		time.Hour: "1h ago", 47 * time.Hour: "47h ago", 48 * time.Hour: "2d ago",
	} {
		require.Equal(t, want, ago(now.Add(-d), now))
	}
}

func TestMembersWithout(t *testing.T) {
	l := revue.Lot{ID: "lot_1", Asks: []revue.AskRecord{
		{ID: "a", Verdict: revue.VerdictSame, Revision: 1},
		{ID: "b", Verdict: revue.VerdictLikely, Revision: 2},
		{ID: "c", Verdict: revue.VerdictLikely, Revision: 3},
		{ID: "d", Verdict: revue.VerdictSame, Revision: 4},
	}}
	got, err := membersWithout(l, 2, []string{"a"})
	require.NoError(t, err)
	require.Equal(t, []string{"b", "d"}, got, "a likely wording that joined after what was seen is not settled")
	_, err = membersWithout(l, 2, []string{"x"})
	require.ErrorIs(t, err, revue.ErrNotFound)
	_, err = membersWithout(l, 1, []string{"a", "d"})
	require.Equal(t, exitMisused, exitCode(err))
}
