package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
)

// cutShort leaves a workspace as an import does that was cut short.
func cutShort(t *testing.T, db, workspace string) {
	t.Helper()
	p, err := openPlane(t.Context(), db, nil)
	require.NoError(t, err)
	defer p.close() //nolint:errcheck // the test would not get far
	require.NoError(t, p.store.Update(t.Context(), workspace, func(tx revue.Tx) error {
		return tx.PutRecord("import", "journal", []byte(`{"head":{"seq":7}}`))
	}))
}

// TestServeHalfImported starts over workspaces that are half imported: they are refused, each is named in the log once,
// and the others work.
func TestServeHalfImported(t *testing.T) {
	const question = `{"question":"Which port does the gateway take?","waitSeconds":0}`
	for name, half := range map[string][]string{"its own": {"default"}, "another": {"team"}, "both": {"default", "team"}} {
		t.Run(name, func(t *testing.T) {
			db := tempDB(t)
			local := cleanEnv(t.TempDir(), "REVUE_DB="+db)
			output(t, local, "workspace", "create", "default")
			tokens := map[string]createdToken{}
			for _, w := range []string{"team", "whole", "default"} {
				if w != "default" {
					output(t, local, "workspace", "create", w)
				}
				tokens[w] = newToken(t, local, "agent", "--workspace", w)
			}
			for _, w := range half {
				cutShort(t, db, w)
			}
			srv := &server{process: start(t, local, "serve", "--addr", "127.0.0.1:0"), db: db}
			srv.url = listens.FindStringSubmatch(srv.line(t, "revue listens on"))[1]
			require.Eventually(t, func() bool {
				code, _ := srv.get(t, "/readyz")
				return code == http.StatusOK
			}, patience, 20*time.Millisecond)
			require.Eventually(t, func() bool {
				return strings.Count(srv.stderr.String(), "is not whole") >= len(half)
			}, patience, 20*time.Millisecond)
			for _, w := range half {
				require.Equal(t, 1, strings.Count(srv.stderr.String(), "workspace "+w+" is not whole"), "%s: %s", w, srv.stderr)
			}
			for w, token := range tokens {
				want := http.StatusOK
				if strings.Contains(strings.Join(half, " "), w) {
					want = http.StatusServiceUnavailable
				}
				code, body := srv.send(t, http.MethodPost, "/v1/decisions/request", token.Token, question)
				require.Equal(t, want, code, "%s: %s", w, body)
				if want != http.StatusOK {
					require.Contains(t, body, "is not whole")
				}
			}
			require.NoError(t, srv.stop(t, syscall.SIGTERM))
		})
	}
}

// TestServeNoFirstTokens makes no tokens where it is told not to, and prints none.
func TestServeNoFirstTokens(t *testing.T) {
	db := tempDB(t)
	local := cleanEnv(t.TempDir(), "REVUE_DB="+db)
	p := start(t, local, "serve", "--addr", "127.0.0.1:0", "--no-first-tokens")
	p.line(t, "revue listens on")
	p.line(t, "revue token create --kind agent")
	require.NoError(t, p.stop(t, syscall.SIGTERM))
	for l := range p.lines {
		require.NotContains(t, l, "rvu_")
	}
	require.Equal(t, "[]", strings.TrimSpace(output(t, local, "token", "list", "--json")))
}

// TestServeMetricsTokens: the metrics are over all workspaces, so that the tokens of one alone read them, and not at any
// rate.
func TestServeMetricsTokens(t *testing.T) {
	srv := startWith(t, nil, "--rate-limit", "1")
	output(t, srv.env, "workspace", "create", "team")
	for _, kind := range []string{"agent", "human"} {
		other := newToken(t, srv.env, kind, "--workspace", "team")
		code, body := srv.send(t, http.MethodGet, "/metrics", other.Token, "")
		require.Equal(t, http.StatusForbidden, code)
		require.Contains(t, body, `"denied"`)
		require.NotContains(t, body, "revue_asks_total")
	}
	code, body := srv.send(t, http.MethodGet, "/metrics", srv.human, "")
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, body, "revue_asks_total")
	refused := 0
	for range 30 {
		if code, _ := srv.send(t, http.MethodGet, "/metrics", srv.agent, ""); code == http.StatusTooManyRequests {
			refused++
		}
	}
	require.Positive(t, refused)
}

// TestServeDurations writes durations as text in JSON.
func TestServeDurations(t *testing.T) {
	srv := startWith(t, nil, "--log-format", "json")
	code, _ := srv.send(t, http.MethodPost, "/v1/decisions/lookup", srv.agent, `{"query":"which port"}`)
	require.Equal(t, http.StatusOK, code)
	require.NoError(t, srv.stop(t, syscall.SIGTERM))
	require.Regexp(t, `"took":"[0-9.]+(s|ms|µs)"`, srv.stderr.String())
	require.Contains(t, srv.stderr.String(), `"delay":"0s"`)

	var b strings.Builder
	log, err := (&logFlags{format: "json", level: "info"}).logger(&b)
	require.NoError(t, err)
	for _, c := range []struct {
		d    time.Duration
		want string
	}{
		{1893456789 * time.Nanosecond, "1.89s"}, {-1893456789 * time.Nanosecond, "-1.89s"}, {1893456 * time.Nanosecond, "1.89ms"}, {1893 * time.Nanosecond, "1.893µs"}, {0, "0s"}, {time.Hour, "1h0m0s"},
	} {
		b.Reset()
		log.Info("x", "d", c.d)
		require.Contains(t, b.String(), `"d":"`+c.want+`"`)
	}
}

// TestMCPStartWarns: what keeps the calls of an agent from the plane is logged at the start, once, and starts all the same.
func TestMCPStartWarns(t *testing.T) {
	srv := newServed(t)
	stranger := httptest.NewServer(http.NotFoundHandler())
	defer stranger.Close()
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }))
	defer plain.Close()
	for name, c := range map[string]struct{ url, key, want string }{
		"unknown token": {srv.url, "rvu_a_" + strings.Repeat("Qx7", 10), "the plane does not take the token"},
		"a path":        {srv.url + "/foo", srv.agent.Token, "the plane can't be asked"},
		"no plane":      {stranger.URL, srv.agent.Token, "the plane can't be asked"},
		"a web site":    {plain.URL, srv.agent.Token, "the plane can't be asked"},
		"down":          {"http://" + freeAddr(t), srv.agent.Token, "the plane can't be asked"},
		"good":          {srv.url, srv.agent.Token, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := startStdio(t, "", cleanEnv(t.TempDir(), "REVUE_API_URL="+c.url, "REVUE_API_KEY="+c.key))
			tools, err := s.ListTools(t.Context(), nil)
			require.NoError(t, err)
			require.Len(t, tools.Tools, 3)
			if c.want == "" {
				o, err := request(t.Context(), s.ClientSession, "Which port does the gateway take?", 0, "a", "b")
				require.NoError(t, err)
				require.Equal(t, "pending", o.Status, o.Error)
				require.NoError(t, s.Close())
				require.Empty(t, s.stderr.String())
				return
			}
			require.Eventually(t, func() bool { return strings.Contains(s.stderr.String(), c.want) }, patience, 10*time.Millisecond, "%s", s.stderr)
			require.NoError(t, s.Close())
			require.Equal(t, 1, strings.Count(s.stderr.String(), "\n"), "%s", s.stderr)
			require.Contains(t, s.stderr.String(), "level=WARN")
			require.NotContains(t, s.stderr.String(), c.key)
		})
	}
}

// TestMCPThread: the name of a thread that no plane would take stops the server at its start, and says which variable.
func TestMCPThread(t *testing.T) {
	for _, c := range []struct{ id, stream, wrong string }{
		{"", "", ""},
		{strings.Repeat("x", 200), "", ""},
		{strings.Repeat("x", 201), "", "REVUE_THREAD_ID has 201 bytes"},
		{"", strings.Repeat("é", 101), "REVUE_WORKSTREAM_ID has 202 bytes"},
		{"t\n7", "", "REVUE_THREAD_ID has a control character"},
		{"", "a\u202eb", "REVUE_WORKSTREAM_ID has a control character"},
		{"", "a\x7f", "REVUE_WORKSTREAM_ID has a control character"},
		{"a\xff", "", "REVUE_THREAD_ID has a control character in it, or is no UTF-8"},
		{"good", "a\x00b", ""},
		{" \n", "good", ""},
	} {
		env := map[string]string{"REVUE_THREAD_ID": c.id, "REVUE_WORKSTREAM_ID": c.stream}
		a := &app{world: &world{env: func(key string) string { return env[key] }}}
		thread, _, err := a.thread()
		if c.wrong == "" {
			require.NoError(t, err)
			require.NotEmpty(t, thread)
			continue
		}
		require.ErrorContains(t, err, c.wrong)
		require.Equal(t, exitMisused, exitCode(failure{err}))
	}
	for _, where := range []string{"REVUE_API_URL=http://127.0.0.1:1", "REVUE_DB=" + tempDB(t)} {
		got := runs(t, cleanEnv(t.TempDir(), where, "REVUE_API_KEY=rvu_a_x", "REVUE_THREAD_ID="+strings.Repeat("x", 201)), "", "mcp")
		require.Equal(t, exitMisused, got.code)
		require.Equal(t, 1, strings.Count(got.diag, "\n"), got.diag)
		require.Contains(t, got.diag, "revue: REVUE_THREAD_ID has 201 bytes, and 200 are the most")
	}
}

// TestLoginRemedies: what stands in the way of a login is said of the address that was given, not of a variable.
func TestLoginRemedies(t *testing.T) {
	srv := newServed(t)
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }))
	defer plain.Close()
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	defer broken.Close()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	for name, c := range map[string]struct{ url, want string }{
		"a path":      {srv.url + "/foo", "is no plane of revue, and nothing was kept: give its address as it is"},
		"a web site":  {plain.URL, "is no revue plane"},
		"a teapot":    {broken.URL, "says 418"},
		"down":        {"http://" + freeAddr(t), "is out of reach"},
		"certificate": {secure.URL, "certificate"},
	} {
		got := runs(t, cleanEnv(t.TempDir()), srv.human.Token+"\n", "login", c.url)
		require.Equal(t, exitFailed, got.code, "%s: %s", name, got.diag)
		require.Contains(t, got.diag, c.want, name)
		require.Contains(t, got.diag, "nothing was kept", name)
		require.NotContains(t, got.diag, "REVUE_API_URL", name)
		require.Equal(t, 1, strings.Count(got.diag, "\n"), got.diag)
	}

	// So it is of commands that work on the plane of a login, and where the variable names it, it is named.
	home := t.TempDir()
	require.Equal(t, exitDone, runs(t, cleanEnv(home), srv.human.Token+"\n", "login", srv.url).code)
	require.NoError(t, srv.stop(t, syscall.SIGTERM))
	for _, args := range [][]string{{"inbox"}, {"whoami"}} {
		got := runs(t, cleanEnv(home), "", args...)
		require.Equal(t, exitFailed, got.code)
		require.Regexp(t, regexp.QuoteMeta(srv.url)+" is out of reach; check the address", got.diag)
		got = runs(t, srv.away(t), "", args...)
		require.Equal(t, exitFailed, got.code)
		require.Contains(t, got.diag, "check REVUE_API_URL")
	}
}

// TestMCPPlaneDown has an agent call a plane that is down: it hears at once that nothing was decided, and what to do.
func TestMCPPlaneDown(t *testing.T) {
	srv := newServed(t)
	s := startStdio(t, "", srv.agentEnv(t))
	require.NoError(t, srv.stop(t, syscall.SIGTERM))
	began := time.Now()
	o, err := request(t.Context(), s.ClientSession, "Which port does the gateway take?", 50, "a", "b")
	require.NoError(t, err)
	require.Less(t, time.Since(began), 20*time.Second, "well before the wait is over")
	require.Contains(t, o.Error, "out of reach")
	require.Contains(t, o.Error, "nothing was decided for this call: don't guess the answer, and make the identical call again shortly")
	require.Equal(t, "error", o.Status)
}

func TestWithAdvice(t *testing.T) {
	unavailable := func(message string) error {
		return &revue.Error{Code: revue.CodeUnavailable, Message: message, Err: revue.ErrUnavailable}
	}
	err := withAdvice(fmt.Errorf("x: %w", unavailable("down")))
	require.ErrorIs(t, err, revue.ErrUnavailable)
	require.Regexp(t, "^down; nothing was decided for this call: don't guess", revue.MessageOf(err))
	for _, same := range []error{nil, revue.ErrDenied, context.Canceled, unavailable("restarting, and nothing was decided; again")} {
		require.Equal(t, same, withAdvice(same))
	}
	var _ revue.Returner = advised{} // outcomes are acknowledged
}
