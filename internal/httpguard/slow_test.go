package httpguard_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue/internal/httpguard"
)

// pipes is a listener of connections within the process, which a bubble can have.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (p pipes) Close() error   { close(p); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// serve starts a server for h and returns what connects to it.
func serve(t *testing.T, h http.Handler) (dial func() net.Conn) {
	t.Helper()
	ln := make(pipes)
	srv := &http.Server{Handler: h, ReadHeaderTimeout: time.Second}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ln) }()
	t.Cleanup(func() {
		_ = srv.Close()
		require.ErrorIs(t, <-done, http.ErrServerClosed)
	})
	return func() net.Conn {
		here, there := net.Pipe()
		ln <- there
		t.Cleanup(func() { _ = here.Close() })
		return here
	}
}

const half = "POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n01234"

// answer reads the answer on a connection: its status, its body, and whether the connection ends with it.
func answer(t *testing.T, c net.Conn) (status int, body string, last bool) {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(b), resp.Close
}

// A body that does not arrive holds up neither its reader nor, where nobody reads it, the answer.
func TestSlowBodies(t *testing.T) {
	reads := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); errors.Is(err, os.ErrDeadlineExceeded) {
			httpguard.TooSlow(w)
		}
	})
	for _, tt := range []struct {
		name    string
		opts    httpguard.Options
		handler http.Handler
		request string
		drip    bool
		status  int
		after   time.Duration
	}{
		{name: "read", handler: reads, request: half, status: 408, after: 30 * time.Second},
		{name: "another limit", opts: httpguard.Options{BodyTimeout: 3 * time.Second}, handler: reads, request: half, status: 408, after: 3 * time.Second},
		{name: "a byte now and then", handler: reads, request: strings.Replace(half, "10", "1000", 1), drip: true, status: 408, after: 30 * time.Second},
		{name: "chunked, half a chunk", handler: reads, request: "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\na\r\n01234", status: 408, after: 30 * time.Second},
		{name: "not read", handler: ok, request: half, status: 200, after: time.Second},
		{name: "refused", handler: httpguard.Bearer(&plane{}, ok), request: half, status: 401, after: time.Second},
		{name: "refused for its host", handler: ok, request: strings.Replace(half, "localhost", "evil.com", 1), status: 403, after: time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := serve(t, httpguard.New(&tt.opts)(tt.handler))()
				began := time.Now()
				_, err := io.WriteString(c, tt.request)
				require.NoError(t, err)
				var dripping sync.WaitGroup
				if tt.drip {
					dripping.Go(func() {
						for err := error(nil); err == nil; _, err = io.WriteString(c, "x") {
							<-time.After(time.Second)
						}
					})
				}
				status, body, last := answer(t, c)
				require.Equal(t, tt.status, status)
				require.Equal(t, tt.after, time.Since(began))
				require.True(t, last)
				if tt.status == 408 {
					require.Contains(t, body, `"code":"invalid"`)
				}
				require.NoError(t, c.Close())
				dripping.Wait()
			})
		})
	}
}

// The limit is one of the body alone: the answer takes as long as it takes, and the connection serves on.
func TestSlowAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := serve(t, httpguard.New(nil)(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if got, err := io.ReadAll(r.Body); err != nil || string(got) != "0123456789" {
				t.Errorf("read %q, %v", got, err)
			}
			select {
			case <-time.After(time.Hour):
			case <-r.Context().Done():
				t.Error("the client was taken for gone")
			}
		})))()
		for range 2 {
			began := time.Now()
			_, err := io.WriteString(c, half)
			require.NoError(t, err)
			<-time.After(29 * time.Second)
			_, err = io.WriteString(c, "56789")
			require.NoError(t, err)
			status, _, last := answer(t, c)
			require.Equal(t, 200, status)
			require.False(t, last)
			require.Equal(t, time.Hour+29*time.Second, time.Since(began))
		}
	})
}
