package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
)

// outcome is the result of request_decision as an agent reads it.
type outcome struct {
	Status      string `json:"status"`
	Answer      string `json:"answer"`
	LotID       string `json:"lotId"`
	DecisionID  string `json:"decisionId"`
	DecisionRef string `json:"decisionRef"`
	DecidedBy   struct {
		Name string `json:"name"`
		Via  string `json:"via"`
	} `json:"decidedBy"`
	Error string `json:"error"`
}

type withHeaders struct {
	headers map[string]string
	base    http.RoundTripper
}

func (w withHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for k, v := range w.headers {
		r.Header.Set(k, v)
	}
	return w.base.RoundTrip(r)
}

// connectHTTP connects an MCP client with a token.
func connectHTTP(t *testing.T, url, token string, headers map[string]string) *mcp.ClientSession {
	t.Helper()
	all := map[string]string{"Authorization": "Bearer " + token}
	for k, v := range headers {
		all[k] = v
	}
	transport := &mcp.StreamableClientTransport{
		Endpoint:   url,
		HTTPClient: &http.Client{Transport: withHeaders{all, http.DefaultTransport}},
		MaxRetries: -1,
	}
	return connect(t, transport)
}

func connect(t *testing.T, transport mcp.Transport) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(context.WithoutCancel(t.Context()), transport, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// call calls a tool and reads its result.
func call(ctx context.Context, s *mcp.ClientSession, tool string, args map[string]any) (outcome, error) {
	var o outcome
	res, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return o, err
	}
	text, ok := res.Content[0].(*mcp.TextContent)
	if !ok {
		return o, fmt.Errorf("the content is %T", res.Content[0])
	}
	if err := json.Unmarshal([]byte(text.Text), &o); err != nil {
		return o, fmt.Errorf("%q: %w", text.Text, err)
	}
	return o, nil
}

func request(ctx context.Context, s *mcp.ClientSession, question string, wait any, options ...any) (outcome, error) {
	args := map[string]any{"question": question, "waitSeconds": wait}
	if len(options) > 0 {
		args["options"] = options
	}
	return call(ctx, s, "request_decision", args)
}

// server is a running "revue serve" and what it printed.
type server struct {
	*process
	env          []string
	db           string
	url          string
	agent, human string // tokens, of a first start
}

var (
	listens = regexp.MustCompile(`revue listens on (http://\S+)`)
	agentRE = regexp.MustCompile(`^agent token  (rvu_a_\S+)$`)
	humanRE = regexp.MustCompile(`^human token  (rvu_h_\S+)$`)
)

func startServer(t *testing.T, db string, first bool, args ...string) *server {
	t.Helper()
	s := &server{db: db, env: cleanEnv(t.TempDir(), "REVUE_DB="+db)}
	s.process = start(t, s.env, append([]string{"serve", "--addr", "127.0.0.1:0"}, args...)...)
	s.url = listens.FindStringSubmatch(s.line(t, "revue listens on"))[1]
	if first {
		s.agent = agentRE.FindStringSubmatch(s.line(t, "agent token"))[1]
		s.human = humanRE.FindStringSubmatch(s.line(t, "human token"))[1]
		s.line(t, "revue answer")
	}
	return s
}

func (s *server) get(t *testing.T, path string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(b)
}

// openLot waits for a lot with this question and returns its id.
func openLot(t *testing.T, env []string, question string) string {
	t.Helper()
	id := ""
	require.Eventually(t, func() bool {
		var lots []revue.Lot
		require.NoError(t, json.Unmarshal([]byte(output(t, env, "inbox", "--json")), &lots))
		for _, l := range lots {
			if l.Question == question {
				id = l.ID
			}
		}
		return id != ""
	}, patience, 50*time.Millisecond)
	return id
}

// TestServe is the whole job: an agent asks over HTTP, a human answers in a terminal, the next agent
// reuses, and a correction makes the one after it ask again.
func TestServe(t *testing.T) {
	srv := startServer(t, tempDB(t), true)
	const question = "Which database do we use for the orders service?"

	asked := make(chan outcome, 1)
	first := connectHTTP(t, srv.url+"/mcp", srv.agent, nil)
	go func() {
		o, err := request(t.Context(), first, question, 50, "postgres", "sqlite")
		if err != nil {
			o.Error = err.Error()
		}
		asked <- o
	}()
	lot := openLot(t, srv.env, question)
	require.Contains(t, output(t, srv.env, "inbox"), question)
	output(t, srv.env, "answer", lot, "postgres")
	var got outcome
	select {
	case got = <-asked:
	case <-time.After(patience):
		require.Fail(t, "the answer did not unblock the agent")
	}
	require.Equal(t, "answered", got.Status, got.Error)
	require.Equal(t, "postgres", got.Answer)
	require.Equal(t, lot, got.LotID)
	require.Equal(t, revue.LocalVia, got.DecidedBy.Via)

	var made createdToken
	require.NoError(t, json.Unmarshal([]byte(output(t, srv.env, "token", "create", "--kind", "agent", "--json")), &made))
	second := connectHTTP(t, srv.url+"/mcp", made.Token, map[string]string{"Revue-Thread": "another"})
	reused, err := request(t.Context(), second, question, 0, "postgres", "sqlite")
	require.NoError(t, err)
	require.Equal(t, "reused", reused.Status)
	require.Equal(t, "postgres", reused.Answer)
	require.Equal(t, got.DecisionID, reused.DecisionID)

	require.Contains(t, output(t, srv.env, "correct", got.DecisionID, "wrong"), "wrong")
	again, err := request(t.Context(), second, question, 0, "postgres", "sqlite")
	require.NoError(t, err)
	require.Equal(t, "pending", again.Status)
	require.NotEqual(t, lot, openLot(t, srv.env, question))

	code, body := srv.get(t, "/healthz")
	require.Equal(t, http.StatusOK, code)
	require.Equal(t, "ok\n", body)
	code, _ = srv.get(t, "/readyz")
	require.Equal(t, http.StatusOK, code)
	code, body = srv.get(t, "/") // leads to the page to sign in
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, body, "<code>revue inbox --web</code>")
	code, _ = srv.get(t, "/nothing")
	require.Equal(t, http.StatusNotFound, code)

	require.NoError(t, srv.stop(t, syscall.SIGTERM))
	require.NotContains(t, srv.stderr.String(), "ERROR")
}

// TestServeFirstStart holds what a newcomer reads, and that the tokens are shown once.
func TestServeFirstStart(t *testing.T) {
	db := tempDB(t)
	srv := startServer(t, db, true)
	srv.line(t, "approved or declined")
	_ = srv.stop(t, syscall.SIGINT)
	require.NotContains(t, srv.stderr.String(), "rvu_", "a secret in the log")

	again := startServer(t, db, false)
	require.NoError(t, again.stop(t, syscall.SIGTERM))
	var lines []string
	for l := range again.lines {
		lines = append(lines, l)
	}
	require.Equal(t, []string{
		"Its data is in " + db, "Open the inbox in a browser: revue inbox --web --url " + again.url, "To connect an agent, make it a token: revue token create --kind agent",
	}, lines)
}

// TestServeWorkspace serves a workspace of another name than the usual one: what it says leads to it, and one that
// is not there is not made beside others.
func TestServeWorkspace(t *testing.T) {
	db := tempDB(t)
	env := cleanEnv(t.TempDir())
	srv := start(t, env, "serve", "--addr", "127.0.0.1:0", "--db", db, "--workspace", "other")
	srv.line(t, "Another link: revue inbox --web --db "+db+" --workspace other --url http://127.0.0.1:")
	srv.line(t, "revue token create --kind agent --db "+db+" --workspace other")
	srv.line(t, `The human token is for the JSON API and for "revue login" on another machine; the commands below need none.`)
	srv.line(t, "  revue inbox --db "+db+" --workspace other")
	srv.line(t, "  revue answer --db "+db+" --workspace other LOT VALUE")
	require.NoError(t, srv.stop(t, syscall.SIGTERM))
	var tokens []revue.Token
	require.NoError(t, json.Unmarshal([]byte(output(t, env, "token", "list", "--db", db, "--workspace", "other", "--json")), &tokens))
	require.Len(t, tokens, 2)
	require.Equal(t, "other", tokens[0].Workspace)

	typo := start(t, env, "serve", "--addr", "127.0.0.1:0", "--db", db, "--workspace", "othr")
	<-typo.done
	require.Error(t, typo.err)
	require.Contains(t, typo.stderr.String(), `revue: there is no workspace othr in `+db+`: there is other, and "revue workspace create" makes one`)
}

// TestServeTokens shows each kind of credential at the door.
func TestServeTokens(t *testing.T) {
	srv := startServer(t, tempDB(t), true)
	post := func(path, token string) int {
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.url+path, strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set("MCP-Protocol-Version", "2025-06-18")
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer resp.Body.Close()
		return resp.StatusCode
	}
	for _, path := range []string{"/mcp", "/mcp/approvals"} {
		require.Equal(t, http.StatusOK, post(path, srv.agent))
		require.Equal(t, http.StatusForbidden, post(path, srv.human))
		require.Equal(t, http.StatusUnauthorized, post(path, ""))
		require.Equal(t, http.StatusUnauthorized, post(path, "rvu_a_nobody"))
	}
	var made createdToken
	require.NoError(t, json.Unmarshal([]byte(output(t, srv.env, "token", "create", "--kind", "agent", "--json")), &made))
	require.Equal(t, http.StatusOK, post("/mcp", made.Token))
	output(t, srv.env, "token", "revoke", made.ID)
	require.Equal(t, http.StatusUnauthorized, post("/mcp", made.Token))
}

// TestServeApprovals approves one act over the profile of its own.
func TestServeApprovals(t *testing.T) {
	srv := startServer(t, tempDB(t), true, "--profile", "approvals")
	for _, path := range []string{"/mcp", "/mcp/approvals"} {
		session := connectHTTP(t, srv.url+path, srv.agent, nil)
		title := "Delete the branches of " + path + "?"
		word := make(chan string, 1)
		go func() {
			res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "request_decision", Arguments: map[string]any{
				"title": title, "context": "No commits in three weeks.", "affected": []any{map[string]any{"label": "feature/x"}},
			}})
			if err != nil {
				word <- err.Error()
				return
			}
			word <- res.Content[0].(*mcp.TextContent).Text
		}()
		lot := openLot(t, srv.env, title)
		require.Contains(t, output(t, srv.env, "inbox", lot), "feature/x")
		output(t, srv.env, "answer", lot, "approved")
		require.Equal(t, "approved", <-word)
	}
	require.NoError(t, srv.stop(t, syscall.SIGTERM))
}

// TestServeShutdown stops a server with parked calls, of several workspaces: each returns pending at once,
// and after the restart each takes up its own lot.
func TestServeShutdown(t *testing.T) {
	const workspaces = 10
	calls := 100 // in each
	if testing.Short() {
		calls = 5
	}
	db := tempDB(t)
	srv := startServer(t, db, true)
	p := localPlane(t, db)
	var tokens [workspaces]string
	human := func(w int) revue.Human {
		h := testHuman()
		h.Workspace = fmt.Sprintf("w%d", w)
		return h
	}
	for w := range tokens {
		admin := p.Admin(human(w))
		_, err := admin.CreateWorkspace(t.Context(), human(w).Workspace)
		require.NoError(t, err)
		token, err := admin.CreateToken(t.Context(), revue.NewToken{Kind: revue.TokenAgent})
		require.NoError(t, err)
		tokens[w] = token.Secret
	}
	opened := func() int {
		n := 0
		for w := range tokens {
			n += counted(eventsOf(t, p, human(w).Workspace), revue.EventLotOpened)
		}
		return n
	}

	ask := func(srv *server, wait int) []outcome {
		out := make([]outcome, workspaces*calls)
		var wg sync.WaitGroup
		for w, token := range tokens {
			session := connectHTTP(t, srv.url+"/mcp", token, nil)
			for i := range calls {
				wg.Go(func() {
					o, err := request(t.Context(), session, fmt.Sprintf("Which shard holds customer %d?", i), wait, "a", "b")
					if err != nil {
						o = outcome{Status: "failed", Error: err.Error()}
					}
					out[w*calls+i] = o
				})
			}
		}
		if wait > 0 {
			require.Eventually(t, func() bool { return opened() == workspaces*calls }, 5*patience, 200*time.Millisecond)
			require.NoError(t, srv.stop(t, syscall.SIGTERM))
		}
		wg.Wait()
		return out
	}
	before := ask(srv, 55)
	refs := map[string]bool{}
	for i, o := range before {
		require.Equal(t, "pending", o.Status, "%d: %s", i, o.Error)
		refs[o.DecisionRef] = true
	}
	require.Len(t, refs, workspaces*calls)

	next := startServer(t, db, false)
	after := ask(next, 0)
	for i, o := range after {
		require.Equal(t, "pending", o.Status, "%d: %s", i, o.Error)
		require.Equal(t, before[i].DecisionRef, o.DecisionRef)
	}
	require.Equal(t, workspaces*calls, opened())
	require.NoError(t, next.stop(t, syscall.SIGTERM))
}
