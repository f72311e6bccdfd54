package revuemcp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/memory"
	"github.com/revuehq/revue/storage/memstore"
	"github.com/revuehq/revue/transport/revuemcp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// talk is a conversation over standard input and output with a real desk behind it. It is kept in a
// golden file with everything that is said, ids and hashes masked. It runs in a synctest bubble, so that
// time is the same each time.
type talk struct {
	t     *testing.T
	desk  *revue.Desk
	human revue.Reviewer
	in    *io.PipeWriter
	lines *bufio.Reader
	log   bytes.Buffer
	id    int
}

// converse runs a conversation and compares it with its golden file.
func converse(t *testing.T, name string, profile revuemcp.Profile, say func(c *talk)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		desk := revue.New(memstore.New(nil), memory.New(nil), nil)
		ran := make(chan error, 1)
		go func() { ran <- desk.Run(ctx) }()
		stdin, in := io.Pipe()
		out, stdout := io.Pipe()
		c := &talk{
			t: t, desk: desk, in: in, lines: bufio.NewReader(out),
			human: desk.Reviewer(revue.Human{Workspace: "main", ID: "tok_ada", Name: "Ada", Via: "cli"}),
		}
		served := make(chan error, 1)
		go func() {
			srv := revuemcp.NewServer(desk, &revuemcp.Options{Profile: profile, Version: "1.0.0"})
			served <- srv.Serve(ctx, agentOn("one"), stdin, stdout)
		}()
		c.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"golden","version":"1"}}}`)
		c.read()
		c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		say(c)
		require.NoError(t, in.Close())
		require.NoError(t, <-served)
		cancel()
		require.NoError(t, <-ran)
		got := mask(c.log.String())
		if strings.HasPrefix(name, "lookup") {
			got = whyRE.ReplaceAllString(scoreRE.ReplaceAllString(got, "${1}0.5"), "${1}…")
		}
		compare(t, name, got)
	})
}

func agentOn(thread string) revue.Agent {
	return revue.Agent{
		Workspace: "main", Credential: "tok_agent", Name: "Bo's agent",
		Thread: thread, Repo: "github.com/acme/api", Via: "mcp stdio", AnyThread: true,
	}
}

func (c *talk) note(text string) { fmt.Fprintf(&c.log, "# %s\n", text) }

func (c *talk) send(msg string) {
	c.t.Helper()
	fmt.Fprintf(&c.log, "-> %s\n", indent(c.t, []byte(msg)))
	_, err := io.WriteString(c.in, msg+"\n")
	require.NoError(c.t, err)
}

func (c *talk) read() []byte {
	c.t.Helper()
	line, err := c.lines.ReadBytes('\n')
	require.NoError(c.t, err)
	fmt.Fprintf(&c.log, "<- %s\n", indent(c.t, line))
	return line
}

// start sends a tool call and does not read its result.
func (c *talk) start(tool, args string) {
	c.t.Helper()
	c.id++
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, c.id, tool, args))
}

// call makes a tool call and returns its structured content. It checks that the text says the same.
func (c *talk) call(tool, args string) map[string]any {
	c.t.Helper()
	c.start(tool, args)
	return c.result()
}

func (c *talk) result() map[string]any {
	c.t.Helper()
	var msg struct {
		Result struct {
			Content           []struct{ Text string }
			StructuredContent map[string]any
			IsError           bool
		}
	}
	require.NoError(c.t, json.Unmarshal(c.read(), &msg))
	require.Len(c.t, msg.Result.Content, 1)
	if got := msg.Result.StructuredContent; got != nil {
		var text map[string]any
		require.NoError(c.t, json.Unmarshal([]byte(msg.Result.Content[0].Text), &text))
		require.Equal(c.t, got, text)
		require.Equal(c.t, got["status"] == "error", msg.Result.IsError)
		return got
	}
	return map[string]any{"status": msg.Result.Content[0].Text}
}

// open is the one open lot, once the agent is parked on it.
func (c *talk) open() revue.Lot {
	c.t.Helper()
	synctest.Wait()
	lots, err := c.human.Lots(c.t.Context(), revue.LotFilter{Status: revue.StatusOpen})
	require.NoError(c.t, err)
	require.Len(c.t, lots.Items, 1)
	return lots.Items[0]
}

func (c *talk) answer(a revue.Answer) {
	c.t.Helper()
	lot := c.open()
	c.note("a human answers: " + a.Value + a.Text)
	_, err := c.human.Answer(c.t.Context(), lot.ID, a)
	require.NoError(c.t, err)
}

func indent(t *testing.T, msg []byte) string {
	t.Helper()
	var buf bytes.Buffer
	require.NoError(t, json.Indent(&buf, bytes.TrimSpace(msg), "", "  "))
	return buf.String()
}

var (
	idRE = regexp.MustCompile(`\b(lot|ask|dec|ctx|rcpt|cor|tr)_[A-Za-z0-9_-]{12,}`)
	// A signature is another each time, since ids are.
	jwsRE  = regexp.MustCompile(`\b[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,}`)
	hashRE = regexp.MustCompile(`\b[0-9a-f]{64}\b`)
	// What the memory thinks of a match is its own affair.
	scoreRE = regexp.MustCompile(`(\\?"(?:score|confidence)\\?": ?)[0-9.e-]+`)
	whyRE   = regexp.MustCompile(`(\\?"reason\\?": ?\\?")[^"\\]*`)
)

// mask replaces ids and hashes by the order in which they come up.
func mask(s string) string {
	seen, counts := map[string]string{}, map[string]int{}
	number := func(kind, v string) string {
		if seen[v] == "" {
			counts[kind]++
			seen[v] = fmt.Sprintf("%s_%d", kind, counts[kind])
		}
		return seen[v]
	}
	s = idRE.ReplaceAllStringFunc(s, func(id string) string {
		kind, _, _ := strings.Cut(id, "_")
		return number(kind, id)
	})
	s = jwsRE.ReplaceAllStringFunc(s, func(jws string) string { return number("jws", jws) })
	return hashRE.ReplaceAllStringFunc(s, func(h string) string { return number("hash", h) })
}

func compare(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run the tests with -update to make it")
	require.Equal(t, string(want), got)
}

func TestGoldenToolsOfDecisions(t *testing.T) {
	converse(t, "decisions_tools", revuemcp.Decisions, func(c *talk) {
		c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		c.read()
	})
}

func TestGoldenToolsOfApprovals(t *testing.T) {
	converse(t, "approvals_tools", revuemcp.Approvals, func(c *talk) {
		c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		c.read()
	})
}

const askDatabase = `{"question":"Which database should the ledger use?","options":[{"label":"Postgres","value":"postgres","consequence":"One more service"},{"label":"SQLite","value":"sqlite"}],"recommendation":"postgres","context":"The ledger grows by 1 GB a month.","concepts":["billing"],"files":["ledger/store.go"]}`

func TestGoldenLookup(t *testing.T) {
	converse(t, "lookup_decision", revuemcp.Decisions, func(c *talk) {
		c.note("nothing is known")
		require.Empty(t, c.call("lookup_decision", `{"query":"Which database should the ledger use?"}`)["matches"])

		c.start("request_decision", askDatabase)
		c.answer(revue.Answer{Value: "postgres"})
		c.result()
		c.call("share_context", `{"kind":"finding","body":"The ledger's writes come in bursts.","concepts":["billing"]}`)

		c.note("the same question: apply, and a note that bears on it")
		got := c.call("lookup_decision", `{"query":"which database should the ledger use","concepts":["billing"],"files":["ledger/store.go"],"limit":3}`)
		require.Equal(t, "apply", got["matches"].([]any)[0].(map[string]any)["reuseGuidance"])
		require.Len(t, got["context"], 1)

		c.note("a question that differs: confirm")
		got = c.call("lookup_decision", `{"query":"Which database should the staging ledger use?","concepts":["billing"]}`)
		require.Equal(t, "confirm", got["matches"].([]any)[0].(map[string]any)["reuseGuidance"])

		c.note("no query")
		require.Equal(t, "invalid", c.call("lookup_decision", `{"concepts":["billing"]}`)["code"])
	})
}

func TestGoldenRequest(t *testing.T) {
	converse(t, "request_decision", revuemcp.Decisions, func(c *talk) {
		c.note("answered with an option")
		c.start("request_decision", askDatabase)
		c.answer(revue.Answer{Value: "postgres", Note: "Use the shared cluster."})
		require.Equal(t, "answered", c.result()["status"])

		c.note("the same call again: the stored answer")
		require.Equal(t, "answered", c.call("request_decision", askDatabase)["status"])

		c.note("answered with the human's own words")
		c.start("request_decision", `{"question":"What shall the new service be called?","concepts":["naming"]}`)
		c.answer(revue.Answer{Text: "Ledgerd"})
		require.Equal(t, true, c.result()["freeText"])

		c.note("pending, and resumed by the identical call")
		ask := `{"question":"How long shall we keep access logs?","options":["30 days","90 days"],"waitSeconds":5}`
		got := c.call("request_decision", ask)
		require.Equal(t, "pending", got["status"])
		c.start("request_decision", ask)
		c.answer(revue.Answer{Value: "90 days"})
		require.Equal(t, "answered", c.result()["status"])

		c.note("dismissed")
		c.start("request_decision", `{"question":"Shall the footer be blue?","options":["yes","no"]}`)
		lot := c.open()
		c.note("a human dismisses it")
		_, err := c.human.Dismiss(c.t.Context(), lot.ID, revue.Dismissal{Reason: "Not worth a decision."})
		require.NoError(t, err)
		require.Equal(t, "dismissed", c.result()["status"])

		c.note("progress for a caller that asks for it")
		c.send(`{"jsonrpc":"2.0","id":90,"method":"tools/call","params":{"_meta":{"progressToken":"p1"},"name":"request_decision","arguments":{"question":"Which region hosts the replicas?","waitSeconds":20}}}`)
		c.read()
		c.read()
		require.Equal(t, "pending", c.result()["status"])

		c.note("errors name the field and the remedy")
		require.Equal(t, "invalid", c.call("request_decision", `{"question":"  "}`)["code"])
		require.Equal(t, "invalid", c.call("request_decision", `{"question":"Red?","options":["a","a"]}`)["code"])
		require.Equal(t, "invalid", c.call("request_decision", `{"question":"Red?","waitSeconds":"soon"}`)["code"])
		require.Equal(t, "not_found", c.call("request_decision", `{"question":"Red?","decisionRef":"ask_of_nobody"}`)["code"])
	})
}

func TestGoldenReused(t *testing.T) {
	converse(t, "request_decision_reused", revuemcp.Decisions, func(c *talk) {
		other := c.desk.Decider(agentOn("two"))
		done := make(chan error, 1)
		go func() {
			_, err := other.Request(c.t.Context(), revue.Ask{
				Question: "Which linter do we use?", Wait: time.Minute,
				Options: []revue.Option{{Value: "golangci-lint", Label: "golangci-lint"}, {Value: "none", Label: "none"}},
			})
			done <- err
		}()
		c.answer(revue.Answer{Value: "golangci-lint"})
		require.NoError(t, <-done)
		c.note("another thread asks the same in other spelling, options as one string")
		got := c.call("request_decision", `{"question":"which linter do we use","options":"[\"golangci-lint\",\"none\"]"}`)
		require.Equal(t, "reused", got["status"])
	})
}

func TestGoldenShare(t *testing.T) {
	converse(t, "share_context", revuemcp.Decisions, func(c *talk) {
		require.Equal(t, "ok", c.call("share_context", `{"kind":"risk","body":"The token of CI expires in May.","concepts":"ci, tokens"}`)["status"])
		require.Equal(t, "invalid", c.call("share_context", `{"kind":"risk"}`)["code"])
	})
}

func TestGoldenApprovals(t *testing.T) {
	converse(t, "approvals", revuemcp.Approvals, func(c *talk) {
		card := `{"title":"Delete 4 stale branches?","context":"No commits in 3 weeks, no open PRs.","affected":[{"label":"feature/old-onboarding","meta":"3 weeks ago"},"fix/legacy-auth"],"stream":"web-app"}`
		c.note("approved")
		c.start("request_decision", card)
		c.answer(revue.Answer{Value: revue.Approved})
		require.Equal(t, "approved", c.result()["status"])

		c.note("the identical call afterwards is a new card: declined")
		c.start("request_decision", card)
		c.answer(revue.Answer{Value: revue.Declined, Note: "Keep them until the release."})
		require.Equal(t, "declined", c.result()["status"])

		c.note("expired")
		require.Equal(t, "expired", c.call("request_decision", `{"title":"Deploy?","context":"Friday evening.","expiresInSeconds":60}`)["status"])

		c.note("no context")
		c.start("request_decision", `{"title":"Deploy?"}`)
		c.read()

		c.note("the server restarts while a call is parked")
		c.start("request_decision", card)
		c.open()
		c.desk.Drain()
		c.read()
	})
}

// Over HTTP with the newest protocol: what the stream carries, byte for byte but for ids.
func TestGoldenHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		desk := revue.New(memstore.New(nil), memory.New(nil), nil)
		ran := make(chan error, 1)
		go func() { ran <- desk.Run(ctx) }()
		human := desk.Reviewer(revue.Human{Workspace: "main", ID: "tok_ada", Name: "Ada", Via: "web"})
		handler := as(agentPrincipal(), revuemcp.NewServer(desk, &revuemcp.Options{Version: "1.0.0"}).Handler())

		var log bytes.Buffer
		exchange := func(method, name, params string, meanwhile func()) {
			t.Helper()
			body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"golden","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}` + params + `}}`
			r := post(body)
			r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
			r.Header.Set("Mcp-Method", method)
			if name != "" {
				r.Header.Set("Mcp-Name", name)
			}
			w := httptest.NewRecorder()
			done := make(chan struct{})
			go func() { defer close(done); handler.ServeHTTP(w, r) }()
			meanwhile()
			<-done
			fmt.Fprintf(&log, "-> POST %s %s\n%s\n<- %d %s\n%s\n", method, name, indent(t, []byte(body)), w.Code, w.Header().Get("Content-Type"), w.Body)
		}
		exchange("server/discover", "", `}`, func() {})
		exchange("tools/call", "request_decision", `,"progressToken":"p1"},"name":"request_decision","arguments":{"question":"Blue or red?","options":["blue","red"]}`, func() {
			<-time.After(20 * time.Second) // of the bubble
			synctest.Wait()
			lots, err := human.Lots(t.Context(), revue.LotFilter{Status: revue.StatusOpen})
			require.NoError(t, err)
			require.Len(t, lots.Items, 1)
			_, err = human.Answer(t.Context(), lots.Items[0].ID, revue.Answer{Value: "blue"})
			require.NoError(t, err)
		})
		exchange("tools/call", "request_decision", `},"name":"request_decision","arguments":{"question":""}`, func() {})
		exchange("tools/call", "answer_lot", `},"name":"answer_lot","arguments":{}`, func() {})
		compare(t, "http", mask(log.String()))
		cancel()
		require.NoError(t, <-ran)
	})
}
