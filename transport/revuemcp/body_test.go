package revuemcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/transport/revuemcp"
)

// pipeListener has connections within the process, which a bubble can have.
type pipeListener chan net.Conn

func (p pipeListener) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (p pipeListener) Close() error   { close(p); return nil }
func (p pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

// serving starts an HTTP server and returns it with what connects to it.
func serving(t *testing.T, h http.Handler) (*http.Server, func() net.Conn) {
	t.Helper()
	ln := make(pipeListener)
	web := &http.Server{Handler: h, ReadHeaderTimeout: time.Second}
	done := make(chan error, 1)
	go func() { done <- web.Serve(ln) }()
	t.Cleanup(func() {
		_ = web.Close()
		require.ErrorIs(t, <-done, http.ErrServerClosed)
	})
	return web, func() net.Conn {
		here, there := net.Pipe()
		ln <- there
		t.Cleanup(func() { _ = here.Close() })
		return here
	}
}

// rawPost is a request as it goes over the wire, of which only a part of the body may be there yet.
func rawPost(body string, size int) string {
	return fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"+
		"Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-06-18\r\nContent-Length: %d\r\n\r\n%s", size, body)
}

// answerOn reads the answer on a connection.
func answerOn(t *testing.T, c net.Conn) (head *http.Response, body []byte) {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, body
}

// requireProblem checks the answer on a connection, which is a problem document.
func requireProblem(t *testing.T, c net.Conn, status int, code revue.Code) {
	t.Helper()
	resp, body := answerOn(t, c) //nolint:bodyclose // answerOn closes it
	require.Equal(t, status, resp.StatusCode)
	require.Equal(t, "application/problem+json", resp.Header.Get("Content-Type"))
	require.True(t, resp.Close)
	var problem struct{ Code revue.Code }
	require.NoError(t, json.Unmarshal(body, &problem))
	require.Equal(t, code, problem.Code)
}

func TestBodyThatDoesNotArrive(t *testing.T) {
	for timeout, opts := range map[time.Duration]*revuemcp.Options{
		30 * time.Second: nil, time.Minute: {BodyTimeout: time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			_, dial := serving(t, as(agentPrincipal(), revuemcp.NewServer(answering(answered), opts).Handler()))
			c := dial()
			began := time.Now()
			_, err := io.WriteString(c, rawPost(`{"jsonrpc":`, 1000))
			require.NoError(t, err)
			<-time.After(timeout - time.Second)
			_, err = io.WriteString(c, `"2.0",`) // some more gives no more time
			require.NoError(t, err)
			requireProblem(t, c, http.StatusRequestTimeout, revue.CodeInvalid)
			require.Equal(t, timeout, time.Since(began))
		})
	}
}

// The time that a body may take bounds no wait for a human.
func TestBodyTimeoutEndsWithTheBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plane := answering(answered)
		plane.request = func(ctx context.Context, ask revue.Ask) (revue.Outcome, error) {
			select {
			case <-time.After(ask.Wait):
				return answered, nil
			case <-ctx.Done():
				return revue.Outcome{}, ctx.Err()
			}
		}
		_, dial := serving(t, as(agentPrincipal(), revuemcp.NewServer(plane, &revuemcp.Options{BodyTimeout: 3 * time.Second}).Handler()))
		c := dial()
		call := toolCall("request_decision", `{"question":"Blue?"}`)
		for range 2 { // the connection serves on
			_, err := io.WriteString(c, rawPost(call[:20], len(call)))
			require.NoError(t, err)
			<-time.After(2 * time.Second)
			_, err = io.WriteString(c, call[20:])
			require.NoError(t, err)
			_, body := answerOn(t, c) //nolint:bodyclose // answerOn closes it
			require.Contains(t, string(body), `"status":"answered"`)
		}
	})
}

// A shutdown waits for no body: neither for one that is being read, nor for long for one that comes late.
func TestShutdownCutsBodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := revuemcp.NewServer(answering(answered), nil)
		web, dial := serving(t, as(agentPrincipal(), srv.Handler()))
		var early []net.Conn
		for range 30 {
			c := dial()
			_, err := io.WriteString(c, rawPost(`{"jsonrpc":`, 1000))
			require.NoError(t, err)
			early = append(early, c)
		}
		late := dial()
		synctest.Wait()

		began := time.Now()
		require.NoError(t, srv.Shutdown(t.Context()))
		for _, c := range early {
			requireProblem(t, c, http.StatusServiceUnavailable, revue.CodeUnavailable)
			require.Zero(t, time.Since(began))
		}
		_, err := io.WriteString(late, rawPost(`{"jsonrpc":`, 1000))
		require.NoError(t, err)
		requireProblem(t, late, http.StatusServiceUnavailable, revue.CodeUnavailable)
		require.Equal(t, time.Second, time.Since(began))

		whole := dial()
		call := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
		_, err = io.WriteString(whole, rawPost(call, len(call)))
		require.NoError(t, err)
		resp, _ := answerOn(t, whole) //nolint:bodyclose // answerOn closes it
		require.Equal(t, http.StatusOK, resp.StatusCode)
		require.NoError(t, web.Shutdown(t.Context()))
		require.Less(t, time.Since(began), 3*time.Second)
	})
}

// The same on the sockets of this machine.
func TestBodiesOverSockets(t *testing.T) {
	half := func(t *testing.T, srv *revuemcp.Server) net.Conn {
		web := httptest.NewServer(as(agentPrincipal(), srv.Handler()))
		t.Cleanup(web.Close)
		var d net.Dialer
		c, err := d.DialContext(t.Context(), "tcp", strings.TrimPrefix(web.URL, "http://"))
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		require.NoError(t, c.SetDeadline(time.Now().Add(20*time.Second)))
		_, err = io.WriteString(c, rawPost(`{"jsonrpc":`, 1000))
		require.NoError(t, err)
		return c
	}
	t.Run("too slow", func(t *testing.T) {
		c := half(t, revuemcp.NewServer(answering(answered), &revuemcp.Options{BodyTimeout: 20 * time.Millisecond}))
		requireProblem(t, c, http.StatusRequestTimeout, revue.CodeInvalid)
	})
	t.Run("shutdown", func(t *testing.T) {
		srv := revuemcp.NewServer(answering(answered), &revuemcp.Options{Grace: 20 * time.Millisecond})
		c := half(t, srv)
		require.NoError(t, srv.Shutdown(t.Context())) // before or after the server has read the head
		requireProblem(t, c, http.StatusServiceUnavailable, revue.CodeUnavailable)
	})
}
