package revuemcp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/httpguard"
	"github.com/revuehq/revue/transport/revuemcp"
)

// versions are the protocol versions that clients of the field speak.
var versions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}

// overStdio connects a client to a server over pipes. What is served ends with the test.
func overStdio(t *testing.T, srv *revuemcp.Server, agent revue.Agent, version string) *mcp.ClientSession {
	t.Helper()
	stdin, in := io.Pipe()
	out, stdout := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- srv.Serve(context.WithoutCancel(t.Context()), agent, stdin, stdout) }()
	session := connect(t, &mcp.IOTransport{Reader: out, Writer: in}, version)
	t.Cleanup(func() {
		_ = session.Close() // the pipe ends with it
		_ = in.Close()
		if err := <-served; !errors.Is(err, io.ErrClosedPipe) { // both pipes close, in either order
			require.NoError(t, err)
		}
	})
	return session
}

// overHTTP connects a client to a server over a real HTTP connection, as principal p.
func overHTTP(t *testing.T, srv *revuemcp.Server, p revue.Principal, header http.Header, version string) *mcp.ClientSession {
	t.Helper()
	ts := httptest.NewServer(as(p, srv.Handler()))
	t.Cleanup(ts.Close)
	client := &http.Client{Transport: withHeader{header}}
	t.Cleanup(client.CloseIdleConnections)
	session := connect(t, &mcp.StreamableClientTransport{
		Endpoint: ts.URL, HTTPClient: client, DisableStandaloneSSE: true, MaxRetries: -1,
	}, version)
	t.Cleanup(func() { _ = session.Close() }) // before the server, which waits for its connections
	return session
}

func connect(t *testing.T, transport mcp.Transport, version string) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(context.WithoutCancel(t.Context()), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	require.NoError(t, err)
	return session
}

// as stands in for the authentication of a server.
func as(p revue.Principal, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(httpguard.WithPrincipal(r.Context(), p)))
	})
}

func agentPrincipal() revue.Principal {
	a := agentOn("")
	return revue.Principal{TokenID: "tok_agent", Kind: revue.TokenAgent, Workspace: a.Workspace, Agent: &a}
}

type withHeader struct{ header http.Header }

func (t withHeader) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	maps.Copy(r.Header, t.header)
	return http.DefaultTransport.RoundTrip(r)
}

// post makes a request of the older protocols, as a client sends it.
func post(body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/mcp", bytes.NewReader([]byte(body)))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("MCP-Protocol-Version", "2025-06-18")
	return r
}

func toolCall(tool, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, args)
}

// pipes is a client that writes lines itself.
type pipes struct {
	t      *testing.T
	in     *io.PipeWriter
	out    *io.PipeReader
	lines  *bufio.Reader
	served chan error
	cancel context.CancelFunc
}

// overLines starts a server and initializes it, as an old client does.
func overLines(t *testing.T, srv *revuemcp.Server) *pipes {
	t.Helper()
	stdin, in := io.Pipe()
	out, stdout := io.Pipe()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	p := &pipes{t: t, in: in, out: out, lines: bufio.NewReader(out), served: make(chan error, 1), cancel: cancel}
	go func() { p.served <- srv.Serve(ctx, agentOn("one"), stdin, stdout) }()
	p.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"lines","version":"1"}}}`)
	require.EqualValues(t, 0, p.read()["id"])
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return p
}

func (p *pipes) send(line string) {
	p.t.Helper()
	_, err := io.WriteString(p.in, line+"\n")
	require.NoError(p.t, err)
}

func (p *pipes) readLine() string {
	p.t.Helper()
	line, err := p.lines.ReadString('\n')
	require.NoError(p.t, err)
	return line
}

func (p *pipes) read() map[string]any {
	p.t.Helper()
	var msg map[string]any
	require.NoError(p.t, json.Unmarshal([]byte(p.readLine()), &msg))
	return msg
}

// end closes the input and waits for the server.
func (p *pipes) end() {
	p.t.Helper()
	require.NoError(p.t, p.in.Close())
	require.NoError(p.t, <-p.served)
	p.cancel()
}

// structured is the structured content of a response.
func structured(msg map[string]any) map[string]any {
	result, _ := msg["result"].(map[string]any)
	content, _ := result["structuredContent"].(map[string]any)
	return content
}
