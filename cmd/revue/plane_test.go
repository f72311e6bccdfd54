package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
)

// served is a plane in a process of its own, with a token of each kind.
type served struct {
	*process
	db, addr, url string
	agent, human  createdToken
	local         []string // environment of the machine of the plane
}

// freeAddr returns an address of this machine that nobody listens on.
func freeAddr(t *testing.T) string {
	t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	return ln.Addr().String()
}

func serveAt(t *testing.T, db, addr string, args ...string) *process {
	t.Helper()
	p := start(t, cleanEnv(t.TempDir()), append([]string{"serve", "--addr", addr, "--db", db}, args...)...)
	p.line(t, "revue listens on")
	return p
}

func newServed(t *testing.T, args ...string) *served {
	t.Helper()
	s := &served{db: tempDB(t), addr: freeAddr(t)}
	s.url = "http://" + s.addr
	s.local = cleanEnv(t.TempDir(), "REVUE_DB="+s.db)
	s.process = serveAt(t, s.db, s.addr, args...)
	s.agent = newToken(t, s.local, "agent")
	s.human = newToken(t, s.local, "human", "--owner", "grace")
	return s
}

func newToken(t *testing.T, env []string, kind string, args ...string) createdToken {
	t.Helper()
	var made createdToken
	require.NoError(t, json.Unmarshal([]byte(output(t, env, append([]string{"token", "create", "--kind", kind, "--json"}, args...)...)), &made))
	return made
}

// away is the environment of a human on another machine, who has a token in a variable.
func (s *served) away(t *testing.T, extra ...string) []string {
	t.Helper()
	return cleanEnv(t.TempDir(), append([]string{"REVUE_API_URL=" + s.url, "REVUE_API_KEY=" + s.human.Token}, extra...)...)
}

// agentEnv is the environment that an agent gets.
func (s *served) agentEnv(t *testing.T, extra ...string) []string {
	t.Helper()
	return cleanEnv(t.TempDir(), append([]string{"REVUE_API_URL=" + s.url, "REVUE_API_KEY=" + s.agent.Token}, extra...)...)
}

// ran is a program that has ended.
type ran struct {
	out, diag string
	code      int
}

// runs runs revue with an input to its end, however that is.
func runs(t *testing.T, env []string, input string, args ...string) ran {
	t.Helper()
	ctx, cancel := newContext()
	defer cancel()
	cmd := command(ctx, env, args...)
	var out, diag bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &diag
	_ = cmd.Run() // the exit code tells
	require.NoError(t, ctx.Err(), "revue %s does not end", strings.Join(args, " "))
	return ran{out.String(), diag.String(), cmd.ProcessState.ExitCode()}
}

// asks has an agent ask in the background.
func asks(t *testing.T, s *mcp.ClientSession, question string, wait any, options ...any) <-chan outcome {
	t.Helper()
	done := make(chan outcome, 1)
	go func() {
		o, err := request(t.Context(), s, question, wait, options...)
		if err != nil {
			o.Error = err.Error()
		}
		done <- o
	}()
	return done
}

func receive(t *testing.T, from <-chan outcome) outcome {
	t.Helper()
	select {
	case o := <-from:
		return o
	case <-time.After(patience):
		require.Fail(t, "no outcome")
		return outcome{}
	}
}

// TestPlane is the whole job over a plane elsewhere: an agent asks over stdio, a human answers at another command
// line, the next agent reuses, and a correction makes the one after it ask again.
func TestPlane(t *testing.T) {
	srv := newServed(t)
	away := srv.away(t)
	agent := startStdio(t, "", srv.agentEnv(t, "REVUE_REPO=git@GitHub.com:Acme/API.git", "REVUE_THREAD_ID=t-7"))
	const question = "Which database do we use for the orders service?"
	asked := asks(t, agent.ClientSession, question, 50, "postgres", "sqlite")
	lot := openLot(t, away, question)

	l, err := localPlane(t, srv.db).Reviewer(testHuman()).Lot(t.Context(), lot)
	require.NoError(t, err)
	require.Len(t, l.Asks, 1)
	require.Equal(t, "github.com/acme/api", l.Asks[0].Repo)
	require.Equal(t, "t-7", l.Asks[0].Thread)
	require.Equal(t, srv.agent.ID, l.Asks[0].Credential)
	require.Equal(t, "mcp stdio", l.Asks[0].Via)

	output(t, away, "answer", lot, "postgres", "--seen", "1")
	got := receive(t, asked)
	require.Equal(t, "answered", got.Status, got.Error)
	require.Equal(t, "postgres", got.Answer)
	require.Equal(t, "grace", got.DecidedBy.Name)
	require.Equal(t, "cli", got.DecidedBy.Via)

	next := startStdio(t, "", srv.agentEnv(t, "REVUE_WORKSTREAM_ID=t-8"))
	reused, err := request(t.Context(), next.ClientSession, question, 0, "postgres", "sqlite")
	require.NoError(t, err)
	require.Equal(t, "reused", reused.Status, reused.Error)
	require.Contains(t, output(t, away, "why", got.DecisionID), "decided by grace (cli)")
	require.Contains(t, output(t, away, "correct", got.DecisionID, "wrong", "--note", "we moved"), "wrong, by grace")
	again, err := request(t.Context(), next.ClientSession, question, 0, "postgres", "sqlite")
	require.NoError(t, err)
	require.Equal(t, "pending", again.Status, again.Error)

	// Exit codes are those of a database.
	lot = openLot(t, away, question)
	for _, c := range []struct {
		code int
		args []string
		says string
	}{
		{0, []string{"dismiss", lot, "--reason", "later"}, ""},
		{1, []string{"answer", lot, "postgres"}, "it was dismissed by grace"},
		{0, []string{"reopen", lot}, ""},
		{2, []string{"answer", lot, "mysql"}, "^revue: VALUE is none of the options"},
		{2, []string{"answer", lot, "postgres", "--seen", "99"}, "^revue: --seen: the lot has no such revision"},
		{3, []string{"answer", "lot_nobody", "postgres"}, "^revue: "},
		{3, []string{"inbox", "lot_nobody"}, "^revue: "},
		{3, []string{"why", "dec_nobody"}, "^revue: "},
		{3, []string{"token", "revoke", "tok_nobody"}, "^revue: "},
		{1, []string{"inbox", "--workspace", "other"}, "^revue: " + regexp.QuoteMeta(srv.url) + ": "},
		{1, []string{"workspace", "create", "other"}, "this needs the database itself, and your plane is " + regexp.QuoteMeta(srv.url)},
		{1, []string{"verify", "--journal"}, "this needs the database itself"},
		{0, []string{"inbox", "--workspace", "default"}, ""},
		{0, []string{"notes"}, ""},
	} {
		got := runs(t, away, "", c.args...)
		require.Equal(t, c.code, got.code, "%v: %s", c.args, got.diag)
		require.Regexp(t, c.says, got.diag, "%v", c.args)
		if c.code != 0 {
			require.Equal(t, 1, strings.Count(got.diag, "\n"), "%v: %s", c.args, got.diag)
			require.NotContains(t, got.diag, "request \"", "%v", c.args)
		}
	}
	require.NoError(t, agent.Close())
	require.NoError(t, next.Close())
	require.Empty(t, agent.stderr.String())
}

// TestPlaneJSON compares what scripts read of a database and of a plane over it: it is the same, byte for byte.
func TestPlaneJSON(t *testing.T) {
	srv := newServed(t)
	away := srv.away(t)
	s := startStdio(t, "", srv.agentEnv(t, "REVUE_THREAD_ID=t-1"))
	ask := func(question string, args map[string]any) {
		args["question"], args["waitSeconds"] = question, 0
		o, err := call(t.Context(), s.ClientSession, "request_decision", args)
		require.NoError(t, err)
		require.Equal(t, "pending", o.Status, o.Error)
	}
	ask("Which database holds the orders?", map[string]any{
		"options": []any{map[string]any{"value": "pg", "label": "Postgres \u202e", "consequence": "a server"}, "sqlite"}, "recommendation": "sqlite",
		"concepts": []any{"storage"}, "files": []any{"db/orders.sql"}, "context": "Orders alone.\n",
	})
	ask("What is the name of the service?", map[string]any{})
	ask("Which colour has the door?", map[string]any{"stream": "infra"})
	_, err := call(t.Context(), s.ClientSession, "share_context", map[string]any{"kind": "finding", "body": "The disk is full."})
	require.NoError(t, err)
	approvals := startStdio(t, "", srv.agentEnv(t), "--profile", "approvals")
	parked, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		_, _ = approvals.CallTool(parked, &mcp.CallToolParams{Name: "request_decision", Arguments: map[string]any{
			"title": "Delete 4 branches?", "context": "No commits.", "affected": []any{map[string]any{"label": "feature/x", "meta": "old"}},
		}})
	}()
	openLot(t, away, "Delete 4 branches?")
	lot := openLot(t, away, "Which database holds the orders?")
	var answered revue.Lot
	require.NoError(t, json.Unmarshal([]byte(output(t, away, "answer", lot, "sqlite", "--note", "one file", "--rule", "--json")), &answered))
	output(t, away, "correct", answered.DecisionID, "expires_after", "30d")
	output(t, srv.local, "dismiss", openLot(t, away, "Which colour has the door?"), "--reason", "gone")

	for _, args := range [][]string{
		{"inbox"},
		{"inbox", "--status", "all"},
		{"inbox", "--stream", "infra", "--status", "dismissed"},
		{"inbox", lot},
		{"why", answered.DecisionID},
		{"decisions"},
		{"decisions", "database", "orders"},
		{"notes"},
		{"token", "list"},
		{"member", "list"},
		{"workspace", "list"},
	} {
		var local, remote string
		require.Eventually(t, func() bool { // when a token was used last is written down after it was used
			local = output(t, srv.local, append(args, "--json")...)
			remote = output(t, away, append(args, "--json")...)
			return local == remote
		}, 10*time.Second, 100*time.Millisecond, "%v: %s%s", args, local, remote)
		require.Greater(t, len(local), 5, "%v", args)
		for _, field := range []string{"claims", "final", "calls", "collected", "caller"} {
			require.NotContains(t, local, `"`+field+`"`, "%v", args)
		}
		if args[0] != "inbox" { // which says how long ago
			require.Equal(t, output(t, srv.local, args...), output(t, away, args...), "%v", args)
		}
	}
	again := output(t, away, "answer", lot, "sqlite", "--note", "one file", "--rule", "--json")
	require.JSONEq(t, output(t, srv.local, "inbox", lot, "--json"), "["+again+"]", "the lot, whole")

	// A purge is for good, over the plane too.
	require.Contains(t, output(t, away, "purge", answered.DecisionID, "--yes"), "is purged")
	require.NotContains(t, output(t, srv.local, "why", answered.DecisionID), "one file")
	require.Equal(t, exitNotFound, runs(t, away, "", "purge", "dec_nobody", "--yes").code)

	// Tokens are made over the plane, for who makes them.
	made := newToken(t, away, "human", "--label", "laptop")
	require.Contains(t, output(t, away, "token", "list"), made.ID+"  human  grace  laptop  made ")
	require.Contains(t, output(t, away, "token", "revoke", made.ID), "is revoked")
	var members []revue.Member
	require.NoError(t, json.Unmarshal([]byte(output(t, away, "member", "list", "--json")), &members))
	for _, m := range members {
		if m.Name == "grace" {
			require.Contains(t, output(t, away, "member", "remove", m.ID), "grace ("+m.ID+") is removed")
		}
	}
	got := runs(t, away, "", "inbox")
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.diag, `"revue login `+srv.url+`" takes another token`)
}

// TestPlaneKilled kills the plane in the middle of a wait: the call is pending when its window ends, and the next one
// waits for the same lot on the plane that was started again.
func TestPlaneKilled(t *testing.T) {
	srv := newServed(t)
	away := srv.away(t)
	s := startStdio(t, "", srv.agentEnv(t))
	const question = "Which queue do we use?"
	began := time.Now()
	asked := asks(t, s.ClientSession, question, 6, "nats", "none")
	lot := openLot(t, away, question)
	require.Error(t, srv.stop(t, syscall.SIGKILL))
	o := receive(t, asked)
	require.Equal(t, "pending", o.Status, o.Error)
	require.Less(t, time.Since(began), 15*time.Second)

	// While it is down, calls fail at once and say what to do.
	began = time.Now()
	down, err := request(t.Context(), s.ClientSession, question, 50, "nats", "none")
	require.NoError(t, err)
	require.Less(t, time.Since(began), 10*time.Second)
	require.Equal(t, "error", down.Status)
	require.Contains(t, down.Error, srv.url)
	got := runs(t, away, "", "inbox")
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.diag, srv.url)

	serveAt(t, srv.db, srv.addr)
	asked = asks(t, s.ClientSession, question, 50, "nats", "none")
	require.Equal(t, lot, openLot(t, away, question))
	output(t, away, "answer", lot, "nats")
	o = receive(t, asked)
	require.Equal(t, "answered", o.Status, o.Error)
	require.Equal(t, lot, o.LotID)
}

// TestPlaneRestarted stops the plane under a parked call in order and starts it again: the call gets its answer
// without having been made again.
func TestPlaneRestarted(t *testing.T) {
	srv := newServed(t)
	away := srv.away(t)
	s := startStdio(t, "", srv.agentEnv(t))
	asked := asks(t, s.ClientSession, "Which cache do we use?", 50, "redis", "none")
	lot := openLot(t, away, "Which cache do we use?")
	require.Error(t, srv.stop(t, syscall.SIGKILL))
	serveAt(t, srv.db, srv.addr)
	output(t, away, "answer", lot, "redis")
	o := receive(t, asked)
	require.Equal(t, "answered", o.Status, o.Error)
	require.Equal(t, "redis", o.Answer)
}

// TestPlaneApprovals kills the plane under a parked approval and starts it again: the word arrives. A server that is
// stopped says to call again, never a word.
func TestPlaneApprovals(t *testing.T) {
	srv := newServed(t)
	away := srv.away(t)
	approve := func(s *mcp.ClientSession) <-chan string {
		word := make(chan string, 1)
		go func() {
			res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "request_decision", Arguments: map[string]any{
				"title": "Delete 4 branches?", "context": "No commits.", "affected": []any{map[string]any{"label": "feature/x"}},
			}})
			if err != nil {
				word <- err.Error()
				return
			}
			word <- res.Content[0].(*mcp.TextContent).Text
		}()
		return word
	}
	first := startStdio(t, "", srv.agentEnv(t), "--profile", "approvals")
	word := approve(first.ClientSession)
	lot := openLot(t, away, "Delete 4 branches?")
	require.NoError(t, first.cmd.Process.Signal(syscall.SIGTERM))
	require.Contains(t, <-word, "make the identical call again")
	_ = first.Close()
	require.True(t, first.cmd.ProcessState.Success(), first.stderr)

	s := startStdio(t, "", srv.agentEnv(t), "--profile", "approvals")
	word = approve(s.ClientSession)
	require.Eventually(t, func() bool {
		var lots []revue.Lot
		require.NoError(t, json.Unmarshal([]byte(output(t, away, "inbox", "--json")), &lots))
		return len(lots) == 1 && lots[0].ID == lot
	}, patience, 50*time.Millisecond, "the same credential waits on the same card")
	require.Error(t, srv.stop(t, syscall.SIGKILL))
	serveAt(t, srv.db, srv.addr)
	output(t, away, "answer", lot, "approved")
	select {
	case w := <-word:
		require.Equal(t, "approved", w)
	case <-time.After(patience):
		require.Fail(t, "no word")
	}
}

// TestPlaneStopped stops an agent's server with parked calls: each is answered, and the next process takes them up.
func TestPlaneStopped(t *testing.T) {
	srv := newServed(t)
	env := srv.agentEnv(t)
	s := startStdio(t, "", env)
	asked := asks(t, s.ClientSession, "Which shard is first?", 50, "a", "b")
	lot := openLot(t, srv.local, "Which shard is first?")
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM))
	o := receive(t, asked)
	require.Contains(t, []string{"pending", "error"}, o.Status)
	_ = s.Close()
	require.True(t, s.cmd.ProcessState.Success(), s.stderr)
	output(t, srv.local, "answer", lot, "a")
	next := startStdio(t, "", env)
	o, err := request(t.Context(), next.ClientSession, "Which shard is first?", 0, "a", "b")
	require.NoError(t, err)
	require.Equal(t, "answered", o.Status, "the answer that nobody got is for the same credential: %s", o.Error)
	require.Equal(t, lot, o.LotID)
}

// TestPlaneDown starts the agent's server with no plane there: it lists its tools, and each call says at once what to do.
func TestPlaneDown(t *testing.T) {
	addr := freeAddr(t)
	env := cleanEnv(t.TempDir(), "REVUE_API_URL=http://"+addr, "REVUE_API_KEY=rvu_a_"+strings.Repeat("hunter-seven", 3), "REVUE_WORKSPACE_ID=acme")
	for profile, tools := range map[string]int{"decisions": 3, "approvals": 1} {
		s := startStdio(t, "", env, "--profile", profile)
		listed, err := s.ListTools(t.Context(), nil)
		require.NoError(t, err)
		require.Len(t, listed.Tools, tools)
		began := time.Now()
		res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "request_decision", Arguments: map[string]any{
			"question": "Which queue?", "title": "Delete it?", "context": "x", "affected": []any{map[string]any{"label": "x"}},
		}})
		require.NoError(t, err)
		require.True(t, res.IsError)
		require.Less(t, time.Since(began), 10*time.Second)
		text := res.Content[0].(*mcp.TextContent).Text
		require.Contains(t, text, "http://"+addr)
		require.Contains(t, text, `"code":"unavailable"`)
		require.NoError(t, s.Close())
		require.NotContains(t, s.stderr.String(), "hunter")
	}
}

// TestPlaneQuiet shows that nothing is sent before the first tool call, and what is sent then.
func TestPlaneQuiet(t *testing.T) {
	var mu sync.Mutex
	var seen []*http.Request
	whoami := 0
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.URL.Path == "/v1/whoami" { // whether the token is good, asked in the background
			whoami++
		} else {
			seen = append(seen, r.Clone(context.WithoutCancel(r.Context())))
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"matches":[],"context":[]}`)
	}))
	defer api.Close()
	token := "rvu_a_" + strings.Repeat("hunter-seven", 3)
	env := cleanEnv(t.TempDir(), "REVUE_API_URL="+api.URL+"/", "REVUE_API_KEY="+token, "REVUE_REPO=https://u:pw@github.com/acme/api.git")
	s := startStdio(t, "", env)
	_, err := s.ListTools(t.Context(), nil)
	require.NoError(t, err)
	requests := func() []*http.Request {
		mu.Lock()
		defer mu.Unlock()
		return seen
	}
	require.Empty(t, requests())
	for range 2 {
		_, err = call(t.Context(), s.ClientSession, "lookup_decision", map[string]any{"query": "queue"})
		require.NoError(t, err)
	}
	all := requests()
	require.Len(t, all, 2)
	require.Equal(t, "/v1/decisions/lookup", all[0].URL.RequestURI())
	require.Equal(t, "Bearer "+token, all[0].Header.Get("Authorization"))
	require.Equal(t, "github.com/acme/api", all[0].Header.Get("Revue-Repo"))
	require.Equal(t, "mcp stdio", all[0].Header.Get("Revue-Via"))
	require.Empty(t, all[0].Header.Get("Revue-Workspace"))
	require.Equal(t, "credential", all[0].Header.Get("Revue-Caller"))
	require.Regexp(t, `^stdio-[0-9a-f]{24}$`, all[0].Header.Get("Revue-Thread"))
	require.Equal(t, all[0].Header.Get("Revue-Thread"), all[1].Header.Get("Revue-Thread"), "one thread for the process")

	// What is pinned is sent as it is.
	pinned := startStdio(t, "", append(env, "REVUE_THREAD_ID=t-1", "REVUE_WORKSTREAM_ID=t-2"))
	_, err = call(t.Context(), pinned.ClientSession, "lookup_decision", map[string]any{"query": "queue"})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.NoError(t, pinned.Close())
	mu.Lock()
	require.LessOrEqual(t, whoami, 2, "one a process")
	mu.Unlock()
	all = requests()
	require.Equal(t, "t-1", all[2].Header.Get("Revue-Thread"))
	require.Empty(t, all[2].Header.Get("Revue-Caller"))
}

// TestPlaneWorkspace stops an agent's server whose token is for another workspace than the one that is named.
func TestPlaneWorkspace(t *testing.T) {
	srv := newServed(t)
	got := runs(t, srv.agentEnv(t, "REVUE_WORKSPACE_ID=default"), "", "mcp")
	require.Equal(t, exitDone, got.code, got.diag)

	ctx, cancel := newContext()
	defer cancel()
	cmd := command(ctx, srv.agentEnv(t, "REVUE_WORKSPACE_ID=acme"), "mcp")
	open, err := cmd.StdinPipe() // it is not the end of the input that stops it
	require.NoError(t, err)
	defer open.Close()
	var diag bytes.Buffer
	cmd.Stderr = &diag
	require.Error(t, cmd.Run())
	require.Equal(t, exitMisused, cmd.ProcessState.ExitCode(), diag.String())
	require.Equal(t, "revue: REVUE_WORKSPACE_ID or --workspace names the workspace acme, and the token is for default: use a token for the one that is meant, or name no workspace\n", diag.String())
}

// TestPlaneWatch follows the inbox of a plane.
func TestPlaneWatch(t *testing.T) {
	srv := newServed(t)
	w := start(t, srv.away(t), "inbox", "--watch")
	w.line(t, "The inbox is empty")
	s := startStdio(t, "", srv.agentEnv(t))
	_, err := request(t.Context(), s.ClientSession, "Which rack is first?", 0)
	require.NoError(t, err)
	w.line(t, "Which rack is first?")
	lot := openLot(t, srv.local, "Which rack is first?")
	output(t, srv.local, "answer", lot, "--text", "the left one")
	require.Contains(t, w.line(t, lot+" answered by "), " (local, unauthenticated): the left one")

	// It goes on where the plane is started again.
	require.Error(t, srv.stop(t, syscall.SIGKILL))
	serveAt(t, srv.db, srv.addr)
	_, err = request(t.Context(), s.ClientSession, "Which rack is second?", 0)
	require.NoError(t, err)
	w.line(t, "Which rack is second?")
	require.NoError(t, w.stop(t, syscall.SIGINT))
}

// TestRevoked ends the parked calls of a token at once, when another process revokes it.
func TestRevoked(t *testing.T) {
	srv := newServed(t)
	first := connectHTTP(t, srv.url+"/mcp", srv.agent.Token, nil)
	other := newToken(t, srv.local, "agent")
	stays := connectHTTP(t, srv.url+"/mcp", other.Token, nil)
	second := startStdio(t, "", srv.agentEnv(t))
	parked := []<-chan outcome{
		asks(t, first, "Which port does the gateway take?", 50, "low", "high"),
		asks(t, second.ClientSession, "Which shard holds the audit log?", 50, "a", "b"),
	}
	untouched := asks(t, stays, "Which lamp is first?", 50, "left", "right")
	openLot(t, srv.local, "Which port does the gateway take?")
	openLot(t, srv.local, "Which shard holds the audit log?")
	lamp := openLot(t, srv.local, "Which lamp is first?")

	output(t, srv.local, "token", "revoke", srv.agent.ID)
	began := time.Now()
	for i, p := range parked {
		o := receive(t, p)
		require.NotContains(t, []string{"answered", "reused"}, o.Status)
		t.Logf("parked call %d: %s %s after %s", i, o.Status, o.Error, time.Since(began))
	}
	require.Less(t, time.Since(began), time.Second)
	output(t, srv.local, "answer", lamp, "left")
	require.Equal(t, "answered", receive(t, untouched).Status)
	o, err := request(t.Context(), second.ClientSession, "Which shard holds the audit log?", 0, "a", "b")
	require.NoError(t, err)
	require.Equal(t, "error", o.Status)
}

// TestLogin logs in and out, as a human and for an agent.
func TestLogin(t *testing.T) {
	srv := newServed(t)
	home := t.TempDir()
	env := cleanEnv(home)
	got := runs(t, env, srv.human.Token+"\n", "login", srv.url+"/")
	require.Equal(t, exitDone, got.code, got.diag)
	folder := filepath.Join(home, ".config", "revue", "credentials")
	require.Regexp(t, `^You are logged in to `+srv.url+`
  as grace, a human, in workspace default
  the token tok_\S+ does not expire
  the token is in `+folder+`/human-\w+\.json, which you alone can read
$`, got.out)

	got = runs(t, append(env, "REVUE_DB="+srv.db), srv.human.Token, "login", srv.url)
	require.Contains(t, got.out, "  commands work on the database of REVUE_DB all the same, until that is unset\n")
	got = runs(t, append(env, "REVUE_API_URL=https://other.example.com"), srv.human.Token, "login", srv.url)
	require.Contains(t, got.out, "  commands work on the plane of REVUE_API_URL all the same, until that is unset\n")

	// The commands work there from now on, and the database of this user is not made.
	who := func(env []string) (w whoami) {
		t.Helper()
		require.NoError(t, json.Unmarshal([]byte(output(t, env, "whoami", "--json")), &w))
		return w
	}
	w := who(env)
	require.Equal(t, srv.url, w.URL)
	require.Equal(t, "grace", w.Name)
	require.Equal(t, "default", w.Workspace)
	require.Equal(t, srv.human.ID, w.Token)
	require.Contains(t, output(t, env, "whoami"), "Commands work on "+srv.url+"\n  as grace, a human, in workspace default\n")
	require.Contains(t, output(t, env, "inbox"), "The inbox is empty")
	require.NoDirExists(t, filepath.Join(home, ".local"))
	require.Equal(t, exitFailed, runs(t, env, "", "inbox", "--workspace", "acme").code)
	require.Equal(t, exitFailed, runs(t, env, "", "workspace", "create", "acme").code)

	// What is named goes first: a database, and a plane in the environment.
	require.Equal(t, srv.db, who(append(env, "REVUE_DB="+srv.db)).Database)
	require.Equal(t, srv.db, who(append(env, "REVUE_DB="+srv.db, "REVUE_API_URL="+srv.url)).Database)
	require.Equal(t, srv.human.ID, who(append(env, "REVUE_API_URL="+srv.url)).Token)
	require.Equal(t, srv.human.ID, who(append(env, "REVUE_API_URL="+srv.url, "REVUE_API_KEY=")).Token)
	second := newToken(t, srv.local, "human", "--owner", "ada", "--expires", "30d")
	require.Equal(t, second.ID, who(append(env, "REVUE_API_URL="+srv.url, "REVUE_API_KEY="+second.Token)).Token)
	require.Equal(t, srv.agent.ID, who(append(env, "REVUE_API_URL="+srv.url, "REVUE_API_KEY="+srv.agent.Token)).Token)
	require.Contains(t, output(t, append(env, "REVUE_API_URL="+srv.url, "REVUE_API_KEY="+srv.agent.Token), "inbox"), "The inbox is empty",
		"the human token of the login serves where the variable holds an agent's")

	// The agent's token is kept beside the human's, and is what "revue mcp" uses.
	mcpEnv := slices.Concat(env, []string{"REVUE_API_URL=" + srv.url})
	got = runs(t, mcpEnv, "", "mcp")
	require.Equal(t, exitMisused, got.code)
	require.Contains(t, got.diag, `"revue login `+srv.url+`"`)
	got = runs(t, env, srv.agent.Token, "login", "--token-stdin", srv.url)
	require.Equal(t, exitDone, got.code, got.diag)
	require.Contains(t, got.out, ", an agent, in workspace default\n")
	require.Equal(t, srv.human.ID, who(env).Token, "commands are the human's still")
	s := startStdio(t, "", mcpEnv)
	o, err := request(t.Context(), s.ClientSession, "Which queue do we use?", 0)
	require.NoError(t, err)
	require.Equal(t, "pending", o.Status, o.Error)
	require.NoError(t, s.Close())
	got = runs(t, append(mcpEnv, "REVUE_WORKSPACE_ID=acme"), "", "mcp")
	require.Equal(t, exitMisused, got.code)
	require.Contains(t, got.diag, "names the workspace acme, and the token is for default")

	// A token that is not good is not kept, and leaves what is there.
	require.Equal(t, exitDone, runs(t, srv.local, "", "token", "revoke", second.ID).code)
	got = runs(t, env, second.Token, "login", srv.url)
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.diag, srv.url+" does not take this token, and nothing was kept: ")
	require.NotContains(t, got.diag, second.Token)
	require.Equal(t, srv.human.ID, who(env).Token)

	// An agent neither logs in nor out.
	require.Equal(t, exitFailed, runs(t, append(env, "CLAUDECODE=1"), srv.human.Token, "login", srv.url).code)
	require.Equal(t, exitFailed, runs(t, append(env, "CLAUDECODE=1"), "", "logout").code)

	got = runs(t, env, "", "logout")
	require.Equal(t, exitDone, got.code, got.diag)
	require.Contains(t, got.out, "The human token for "+srv.url+" is forgotten\n")
	require.Contains(t, got.out, "The agent token for "+srv.url+" is forgotten\n")
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, left)
	require.Equal(t, filepath.Join(home, ".local", "share", "revue", "revue.db"), who(env).Database)
	require.Equal(t, exitNotFound, runs(t, env, "", "logout").code)
	require.Equal(t, exitFailed, runs(t, append(env, "REVUE_API_URL="+srv.url), "", "inbox").code)
}

// TestLoginClock says how far the clocks are apart, and refuses what is no plane.
func TestLoginClock(t *testing.T) {
	body := ""
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	}))
	defer api.Close()
	env := cleanEnv(t.TempDir())
	token := "rvu_h_" + strings.Repeat("hunter-seven", 3)
	says := func(kind string, at time.Time) {
		body = fmt.Sprintf(`{"token":"tok_1","kind":%q,"workspace":"w\u001b[2J","name":"ada\u202e","time":%q,"expiresAt":"2030-01-31T12:00:00Z"}`, kind, at.Format(time.RFC3339))
	}
	says("human", time.Now().Add(-2*time.Hour))
	got := runs(t, env, token, "login", api.URL)
	require.Equal(t, exitDone, got.code, got.diag)
	require.Regexp(t, `(?m)^  the clock of this machine is (2h0m|1h59m5)\ds ahead of the plane's: one of them is wrong$`, got.out)
	require.Contains(t, got.out, `  as ada\u{202e}, a human, in workspace w\u{1b}[2J`)
	require.Contains(t, got.out, "  the token tok_1 expires 2030-01-31T12:00:00Z\n")
	says("human", time.Now().Add(2*time.Hour))
	require.Contains(t, runs(t, env, token, "login", api.URL).out, " behind the plane's")
	says("agent", time.Now())
	got = runs(t, env, token, "login", api.URL)
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.diag, "nothing was kept")
	body = "<html>"
	require.Equal(t, exitFailed, runs(t, env, token, "login", api.URL).code)
}

// TestLoginHangingKeyring logs in where the bus of the session takes connections and never answers.
func TestLoginHangingKeyring(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for a keyring to time out: left out by -short")
	}
	srv := newServed(t)
	bus := filepath.Join(t.TempDir(), "bus")
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", bus)
	require.NoError(t, err)
	defer ln.Close()
	env := append(cleanEnv(t.TempDir()), "REVUE_KEYRING=", "DBUS_SESSION_BUS_ADDRESS=unix:path="+bus)
	began := time.Now()
	got := runs(t, env, srv.human.Token, "login", srv.url)
	require.Equal(t, exitDone, got.code, got.diag)
	require.Contains(t, got.out, "which you alone can read")
	require.Less(t, time.Since(began), 30*time.Second)
	require.Contains(t, output(t, env, "inbox"), "The inbox is empty")
}

// TestRepo looks for the repository in each kind of folder that an agent may work in.
func TestRepo(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	home := t.TempDir()
	run := func(dir string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), git, append([]string{"-C", dir, "-c", "protocol.file.allow=always", "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		cmd.Env = cleanEnv(home)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "git %v: %s", args, out)
	}
	repo := func(remotes ...string) string {
		dir := t.TempDir()
		run(dir, "init", "-q")
		for i := 0; i < len(remotes); i += 2 {
			run(dir, "remote", "add", remotes[i], remotes[i+1])
		}
		run(dir, "commit", "-q", "--allow-empty", "-m", "first")
		return dir
	}
	whole := repo("fork", "git@github.com:me/api.git", "origin", "https://ada:hunter-seven@GitHub.com/Acme/API.git", "a.b", "https://example.com/x/y")
	below := filepath.Join(whole, "deep", "er")
	require.NoError(t, os.MkdirAll(below, 0o700))
	tree := filepath.Join(t.TempDir(), "tree")
	run(whole, "worktree", "add", "-q", tree)
	module := repo("origin", "ssh://git@git.example.com:2222/lib/core.git")
	run(whole, "submodule", "--quiet", "add", module, "lib")
	run(filepath.Join(whole, "lib"), "remote", "set-url", "origin", "ssh://git@git.example.com:2222/lib/core.git")
	twice := repo("origin", "https://github.com/acme/first.git")
	run(twice, "remote", "set-url", "--add", "origin", "https://github.com/acme/second.git")

	hanging := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(hanging, "git"), []byte("#!/bin/sh\nsleep 300\n"), 0o700))
	for _, c := range []struct{ name, dir, want, path string }{
		{"origin among others", whole, "github.com/acme/api", ""},
		{"a folder below", below, "github.com/acme/api", ""},
		{"a work tree", tree, "github.com/acme/api", ""},
		{"a submodule", filepath.Join(whole, "lib"), "git.example.com/lib/core", ""},
		{"no origin, one remote", repo("fork", "git@github.com:me/api.git"), "github.com/me/api", ""},
		{"no origin, upstream", repo("fork", "git@github.com:me/api.git", "upstream", "https://github.com/acme/api"), "github.com/acme/api", ""},
		{"no origin, several remotes", repo("a", "git@github.com:me/api.git", "b", "https://github.com/acme/api"), "", ""},
		{"several addresses", twice, "github.com/acme/first", ""},
		{"a remote on this machine", repo("origin", module), "", ""},
		{"no remote", repo(), "", ""},
		{"no repository", t.TempDir(), "", ""},
		{"no git", whole, "", t.TempDir()},
		{"a git that hangs", whole, "", hanging + ":/bin:/usr/bin"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(c.dir)
			t.Setenv("HOME", home)
			if c.path != "" {
				t.Setenv("PATH", c.path)
			}
			a := &app{world: &world{env: func(string) string { return "" }}}
			began := time.Now()
			require.Equal(t, c.want, a.repo(t.Context()))
			require.Less(t, time.Since(began), 2*gitWait)
		})
	}
}

// TestNoSecrets goes through all that a plane, an agent's server and a command line print in a whole run, with all
// that they log, and finds none of the tokens that were made.
func TestNoSecrets(t *testing.T) {
	srv := newServed(t, "--log-level", "debug")
	var all strings.Builder
	secrets := []string{srv.agent.Token, srv.human.Token}
	do := func(env []string, input string, args ...string) {
		t.Helper()
		got := runs(t, env, input, args...)
		all.WriteString(got.out + got.diag)
	}
	home := t.TempDir()
	env := cleanEnv(home)
	do(env, srv.human.Token, "login", srv.url)
	do(env, srv.agent.Token, "login", srv.url)
	do(env, "", "whoami")
	do(env, "", "whoami", "--json")
	do(env, "", "login", srv.url, srv.human.Token)
	do(env, "", "login", srv.human.Token)
	do(env, "", "login", "http://x:"+srv.human.Token+"@127.0.0.1")
	do(env, "", "token", "revoke", srv.human.Token)
	do(env, "", srv.human.Token)
	do(env, srv.agent.Token+"x", "login", srv.url)
	do(append(env, "REVUE_API_URL=http://127.0.0.1:1", "REVUE_API_KEY="+srv.human.Token), "", "inbox")
	do(append(env, "REVUE_API_URL="+srv.url, "REVUE_API_KEY="+srv.human.Token), "", "mcp")
	do(append(env, "REVUE_API_URL="+srv.url+"/?"+srv.human.Token, "REVUE_API_KEY="+srv.human.Token), "", "inbox")

	s := startStdio(t, "", srv.agentEnv(t), "--log-level", "debug")
	asked := asks(t, s.ClientSession, "Which queue do we use?", 50, "nats", "none")
	lot := openLot(t, srv.local, "Which queue do we use?")
	do(env, "", "inbox")
	do(env, "", "inbox", lot, "--json")
	do(env, "", "answer", lot, "nats")
	require.Equal(t, "answered", receive(t, asked).Status)
	do(env, "", "decisions", "--json")
	do(env, "", "token", "list")
	do(env, "", "token", "list", "--json")
	do(env, "", "token", "revoke", srv.agent.ID)
	o, err := request(t.Context(), s.ClientSession, "Which queue do we use?", 0, "nats", "none")
	require.NoError(t, err)
	fmt.Fprint(&all, o)
	bad := connectHTTP(t, srv.url+"/mcp", newToken(t, srv.local, "agent").Token, nil)
	_, err = request(t.Context(), bad, "", 0)
	require.NoError(t, err)
	do(env, "", "logout")
	do(env, "", "inbox", "--db", srv.db)
	_ = s.Close()
	require.Error(t, srv.stop(t, syscall.SIGKILL))
	do(append(env, "REVUE_API_URL="+srv.url, "REVUE_API_KEY="+srv.human.Token), "", "inbox")
	all.WriteString(s.stderr.String() + srv.stderr.String())
	require.Contains(t, all.String(), srv.agent.ID, "there is something to look through")
	for _, secret := range secrets {
		require.NotContains(t, all.String(), secret)
		require.NotContains(t, all.String(), secret[:len(secret)-8], "most of a secret")
	}
}
