package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/storage/memstore"
)

// startWith starts a server on a new database with more in its environment.
func startWith(t *testing.T, env []string, args ...string) *server {
	t.Helper()
	db := tempDB(t)
	s := &server{db: db, env: cleanEnv(t.TempDir(), append(env, "REVUE_DB="+db)...)}
	s.process = start(t, s.env, append([]string{"serve", "--addr", "127.0.0.1:0"}, args...)...)
	s.url = listens.FindStringSubmatch(s.line(t, "revue listens on"))[1]
	s.agent = agentRE.FindStringSubmatch(s.line(t, "agent token"))[1]
	s.human = humanRE.FindStringSubmatch(s.line(t, "human token"))[1]
	s.line(t, "approved or declined")
	return s
}

// send makes a request and returns its status and body.
func (s *server) send(t *testing.T, method, path, token, body string, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	require.NoError(t, err)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(b)
}

// TestServeAPI finds the API where it belongs, and the metrics behind a token.
func TestServeAPI(t *testing.T) {
	srv := startServer(t, tempDB(t), true)
	code, body := srv.send(t, "GET", "/v1/whoami", srv.human, "")
	require.Equal(t, http.StatusOK, code, body)
	require.Contains(t, body, `"human"`)
	for _, path := range []string{"/openapi.json", "/.well-known/jwks.json"} {
		code, body = srv.get(t, path)
		require.Equal(t, http.StatusOK, code, path)
		require.True(t, json.Valid([]byte(body)), path)
	}
	for _, path := range []string{"/v1", "/v1/", "/v1/nothing", "/v1//whoami", "/v1/../healthz"} {
		code, _ = srv.send(t, "GET", path, srv.human, "")
		require.Equal(t, http.StatusNotFound, code, path)
	}
	code, body = srv.send(t, "POST", "/v1/decisions/request", srv.agent, `{"question":"Which port does the gateway take?","waitSeconds":0}`)
	require.Equal(t, http.StatusOK, code, body)
	require.Contains(t, body, `"pending"`)
	lot := openLot(t, srv.env, "Which port does the gateway take?")
	code, body = srv.send(t, "GET", "/v1/lots/"+lot, srv.human, "")
	require.Equal(t, http.StatusOK, code, body)
	output(t, srv.env, "answer", lot, "--text", "8080") // by another process

	code, _ = srv.get(t, "/metrics")
	require.Equal(t, http.StatusUnauthorized, code)
	code, _ = srv.send(t, "GET", "/metrics", "rvu_a_nobody", "")
	require.Equal(t, http.StatusUnauthorized, code)
	require.Eventually(t, func() bool {
		code, body = srv.send(t, "GET", "/metrics", srv.agent, "")
		require.Equal(t, http.StatusOK, code)
		return strings.Contains(body, "\nrevue_lots_total{change=\"answered\",kind=\"decision\"} 1\n") &&
			strings.Contains(body, "\nrevue_asks_total{kind=\"decision\"} 1\n")
	}, patience, 50*time.Millisecond)
	code, body = srv.send(t, "GET", "/metrics", srv.human, "")
	require.Equal(t, http.StatusOK, code)
	for _, want := range []string{
		`revue_http_requests_total{method="GET",route="/v1/lots/{id}",status="200"} 1`,
		`revue_http_requests_total{method="GET",route="other",status="404"} 5`,
		`revue_outcomes_total{outcome="pending"} 1`, `revue_build_info{`, "go_goroutines", "process_start_time_seconds", "revue_parked_calls 0",
	} {
		require.Contains(t, body, want)
	}
	require.NotContains(t, body, lot)
	require.NotContains(t, body, "rvu_")
	require.NoError(t, srv.stop(t, syscall.SIGTERM))
}

// TestServeMetricsAddr has a listener for metrics that asks for no token, for this machine and no web page.
func TestServeMetricsAddr(t *testing.T) {
	srv := startWith(t, nil, "--metrics-addr", "127.0.0.1:0")
	addr := ""
	require.Eventually(t, func() bool {
		if m := regexp.MustCompile(`metrics are served without a token" addr=(\S+)`).FindStringSubmatch(srv.stderr.String()); m != nil {
			addr = m[1]
		}
		return addr != ""
	}, patience, 10*time.Millisecond)
	get := func(path, host, origin string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+path, nil)
		require.NoError(t, err)
		req.Host = host
		if origin != "" {
			req.Header.Set("Origin", origin)
		}
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer resp.Body.Close()
		return resp.StatusCode
	}
	require.Equal(t, http.StatusOK, get("/metrics", "", ""))
	require.Equal(t, http.StatusOK, get("/metrics", "localhost:9464", ""))
	require.Equal(t, http.StatusOK, get("/metrics", "10.1.2.3:9464", ""))
	require.Equal(t, http.StatusForbidden, get("/metrics", "evil.example.com", ""))
	require.Equal(t, http.StatusForbidden, get("/metrics", "", "http://localhost:1"))
	require.Equal(t, http.StatusNotFound, get("/v1/whoami", "", ""))
	require.NoError(t, srv.stop(t, syscall.SIGTERM))

	var diag bytes.Buffer
	code := run(t.Context(), &world{
		args: []string{"serve", "--addr", "127.0.0.1:0", "--metrics-addr", "0.0.0.0:0", "--db", tempDB(t)}, env: func(string) string { return "" },
		stdin: io.NopCloser(strings.NewReader("")), stdout: io.Discard, stderr: &diag,
	})
	require.Equal(t, exitMisused, code)
	require.Contains(t, diag.String(), "--metrics-addr 0.0.0.0:0 is reached from beyond this machine")
}

// receiver takes OTLP in JSON and knows the spans it was sent.
type receiver struct {
	*httptest.Server
	mu  sync.Mutex
	all bytes.Buffer
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		_, _ = r.all.ReadFrom(req.Body)
		r.all.WriteByte('\n')
	}))
	t.Cleanup(r.Close)
	return r
}

type sentSpan struct{ TraceID, SpanID, ParentSpanID, Name string }

func (r *receiver) spans(t *testing.T) (spans map[string]sentSpan, raw string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	spans = map[string]sentSpan{}
	for line := range strings.Lines(r.all.String()) {
		var in struct {
			ResourceSpans []struct{ ScopeSpans []struct{ Spans []sentSpan } }
		}
		require.NoError(t, json.Unmarshal([]byte(line), &in), line)
		for _, a := range in.ResourceSpans {
			for _, b := range a.ScopeSpans {
				for _, s := range b.Spans {
					spans[s.Name] = s
				}
			}
		}
	}
	return spans, r.all.String()
}

// TestServeTraces traces a call over MCP and one over the API; what is left is sent when the server stops.
func TestServeTraces(t *testing.T) {
	r := newReceiver(t)
	srv := startWith(t, []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + r.URL, "OTEL_EXPORTER_OTLP_PROTOCOL=http/json", "OTEL_BSP_SCHEDULE_DELAY=3600000",
		"OTEL_EXPORTER_OTLP_HEADERS=x-key=kq7wmzt4hxnp", "OTEL_EXPORTER_OTLP_TIMEOUT=kq7wmzt4hxnp",
	})
	session := connectHTTP(t, srv.url+"/mcp", srv.agent, map[string]string{"Traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"})
	o, err := request(t.Context(), session, "Which port does the gateway take?", 0, "the north one", "the south one")
	require.NoError(t, err)
	require.Equal(t, "pending", o.Status)
	lot := openLot(t, srv.env, "Which port does the gateway take?")
	code, body := srv.send(t, "POST", "/v1/lots/"+lot+"/answer", srv.human, `{"value":"the north one"}`)
	require.Equal(t, http.StatusOK, code, body)
	require.NoError(t, srv.stop(t, syscall.SIGTERM))

	spans, raw := r.spans(t)
	require.Equal(t, "4bf92f3577b34da6a3ce929d0e0e4736", strings.ToLower(spans["request"].TraceID))
	require.Contains(t, spans, "POST /mcp")
	require.NotEmpty(t, spans["request"].ParentSpanID)
	require.Equal(t, spans["POST /v1/lots/{id}/answer"].SpanID, spans["answer"].ParentSpanID)
	for _, secret := range []string{srv.agent, srv.human, "gateway", "the north one", "127.0.0.1"} {
		require.NotContains(t, raw, secret)
	}
	require.Contains(t, srv.stderr.String(), "OpenTelemetry: ")
	require.NotContains(t, srv.stderr.String(), "kq7wmzt4hxnp")
}

// TestServeTracesUnreachable has no collector: nothing is slower for it.
func TestServeTracesUnreachable(t *testing.T) {
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, ln.Close())
	srv := startWith(t, []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://" + ln.Addr().String(), "OTEL_BSP_SCHEDULE_DELAY=10"})
	for range 50 {
		code, _ := srv.get(t, "/healthz")
		require.Equal(t, http.StatusOK, code)
	}
	began := time.Now()
	require.NoError(t, srv.stop(t, syscall.SIGTERM))
	require.Less(t, time.Since(began), 5*time.Second)
	require.LessOrEqual(t, strings.Count(srv.stderr.String(), "traces can't be delivered"), 1)
}

func TestTraceExporter(t *testing.T) {
	for _, c := range []struct{ disabled, exporter, endpoint, traces, want string }{
		{"", "", "", "", ""},
		{"", "", "http://x", "", "otlp"},
		{"", "", "", "http://x", "otlp"},
		{"", "none", "http://x", "", ""},
		{"", "OTLP", "", "", "otlp"},
		{"", "console", "", "", "console"},
		{"TRUE", "otlp", "http://x", "", ""},
		{"false", "otlp", "", "", "otlp"},
		{"", "zipkin", "http://x", "", ""},
	} {
		env := map[string]string{
			"OTEL_SDK_DISABLED": c.disabled, "OTEL_TRACES_EXPORTER": c.exporter,
			"OTEL_EXPORTER_OTLP_ENDPOINT": c.endpoint, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": c.traces,
		}
		a := &app{world: &world{env: func(key string) string { return env[key] }}}
		require.Equal(t, c.want, string(a.traceExporter(slog.New(slog.DiscardHandler))), "%+v", c)
	}
}

// TestServeStops stops a server with 200 waiting calls and a stream of events: each call returns pending, the stream
// ends, the traces are sent, and all of it is over within two seconds.
func TestServeStops(t *testing.T) {
	const calls = 200
	r := newReceiver(t)
	srv := startWith(t, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + r.URL, "OTEL_EXPORTER_OTLP_PROTOCOL=http/json"})
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: calls + 1}}
	defer client.CloseIdleConnections()
	do := func(method, path, token, body, accept string) (*http.Response, error) {
		req, err := http.NewRequestWithContext(t.Context(), method, srv.url+path, strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+token)
		if body != "" {
			req.Header.Set("Content-Type", "application/json")
		}
		if accept != "" {
			req.Header.Set("Accept", accept)
		}
		return client.Do(req)
	}
	stream, err := do("GET", "/v1/events?after=now", srv.human, "", "text/event-stream") //nolint:bodyclose // it is closed below
	require.NoError(t, err)
	defer stream.Body.Close()
	require.Equal(t, http.StatusOK, stream.StatusCode)
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, stream.Body)
		close(ended)
	}()
	session := connectHTTP(t, srv.url+"/mcp", srv.agent, map[string]string{"Revue-Thread": "mcp"})
	var wg sync.WaitGroup
	out := make([]outcome, calls)
	for i := range out {
		wg.Go(func() {
			question := fmt.Sprintf("Which shard holds customer %d?", i)
			var err error
			if i%4 == 0 {
				out[i], err = request(t.Context(), session, question, 55, "a", "b")
			} else {
				var resp *http.Response
				if resp, err = do("POST", "/v1/decisions/request", srv.agent, `{"question":"`+question+`","options":["a","b"],"waitSeconds":55}`, ""); err == nil {
					err = json.NewDecoder(resp.Body).Decode(&out[i])
					_ = resp.Body.Close()
				}
			}
			if err != nil {
				out[i].Error = err.Error()
			}
		})
	}
	parked := regexp.MustCompile(`(?m)^revue_parked_calls (\d+)$`)
	require.Eventually(t, func() bool {
		_, body := srv.send(t, "GET", "/metrics", srv.agent, "")
		return parked.FindStringSubmatch(body)[1] == strconv.Itoa(calls)
	}, patience, 100*time.Millisecond)

	began := time.Now()
	require.NoError(t, srv.stop(t, syscall.SIGTERM))
	took := time.Since(began)
	t.Logf("stopped with %d waiting calls and a stream in %s", calls, took)
	require.Less(t, took, 2*time.Second)
	wg.Wait()
	<-ended
	for i, o := range out {
		require.Equal(t, "pending", o.Status, "%d: %s", i, o.Error)
	}
	spans, raw := r.spans(t)
	require.Contains(t, spans, "GET /v1/events")
	require.Equal(t, calls, strings.Count(raw, `"name":"request"`), "the last traces were sent")
}

// TestServeDrainDelay says that it is about to stop before it does, and a second signal cuts that short.
func TestServeDrainDelay(t *testing.T) {
	srv := startWith(t, nil, "--drain-delay", "5m")
	require.Eventually(t, func() bool {
		code, _ := srv.get(t, "/readyz")
		return code == http.StatusOK
	}, patience, 20*time.Millisecond)
	require.NoError(t, srv.cmd.Process.Signal(syscall.SIGTERM))
	require.Eventually(t, func() bool {
		code, body := srv.get(t, "/readyz")
		return code == http.StatusServiceUnavailable && body == "this server is about to stop\n"
	}, patience, 20*time.Millisecond)
	code, _ := srv.get(t, "/healthz")
	require.Equal(t, http.StatusOK, code)
	code, _ = srv.send(t, "GET", "/v1/whoami", srv.human, "")
	require.Equal(t, http.StatusOK, code, "it works meanwhile")
	require.Error(t, srv.stop(t, syscall.SIGTERM), "the second signal ends it")
}

// TestServeKeepsSecrets sends tokens where they belong and where they don't: none is in the log or the metrics.
func TestServeKeepsSecrets(t *testing.T) {
	srv := startWith(t, nil, "--log-level", "debug", "--log-format", "json")
	for _, path := range []string{"/v1/whoami", "/mcp", "/metrics", "/" + srv.agent, "/?token=" + srv.human, "/v1/lots/" + srv.human, "/mcp?t=" + srv.agent} {
		for _, token := range []string{srv.agent, srv.human, srv.agent + "x", ""} {
			for _, method := range []string{"GET", "POST"} {
				srv.send(t, method, path, token, "", "X-Request-Id", srv.human, "Cookie", "session="+srv.human, "Revue-Thread", srv.agent)
			}
		}
	}
	_, metrics := srv.send(t, "GET", "/metrics", srv.human, "")
	require.NoError(t, srv.stop(t, syscall.SIGTERM))
	logged := srv.stderr.String()
	require.Contains(t, logged, `"route":"GET /v1/whoami"`)
	for _, secret := range []string{srv.agent[6:], srv.human[6:]} {
		require.NotContains(t, logged, secret)
		require.NotContains(t, metrics, secret)
	}
}

// TestServeConfig starts from a config file.
func TestServeConfig(t *testing.T) {
	db := tempDB(t)
	path := configFileOf(t, "addr = '127.0.0.1:0'\ndb = '"+db+"'\nlog-format = 'json'\nprofile = 'approvals'\n")
	p := start(t, cleanEnv(t.TempDir()), "serve", "--config", path)
	p.line(t, "revue listens on http://127.0.0.1:")
	p.line(t, "Its data is in "+db)
	require.NoError(t, p.stop(t, syscall.SIGTERM))
	for l := range strings.Lines(p.stderr.String()) {
		require.True(t, json.Valid([]byte(l)), l)
	}
}

// shaky is a store that fails as it is told.
type shaky struct {
	revue.Store
	read, write error
	looks       int
}

func (s *shaky) View(ctx context.Context, ws string, fn func(revue.Tx) error) error {
	s.looks++
	if s.read != nil {
		return s.read
	}
	return s.Store.View(ctx, ws, fn)
}

func (s *shaky) Update(ctx context.Context, ws string, fn func(revue.Tx) error) error {
	if s.write != nil {
		return s.write
	}
	return s.Store.Update(ctx, ws, fn)
}

func TestReadiness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &shaky{Store: memstore.New(nil)}
		watching := true
		r := &readiness{store: store, watching: func() bool { return watching }, log: slog.New(slog.DiscardHandler)}
		get := func() (int, string) {
			<-time.After(readyFor)
			w := httptest.NewRecorder()
			gone, cancel := context.WithCancel(t.Context())
			cancel()
			r.serve(w, httptest.NewRequest(http.MethodGet, "/readyz", nil).WithContext(gone))
			return w.Code, strings.TrimSpace(w.Body.String())
		}
		expect := func(status int, text string) {
			t.Helper()
			code, body := get()
			require.Equal(t, status, code)
			require.Equal(t, text, body)
		}
		expect(http.StatusOK, "ready")
		require.NoError(t, store.View(t.Context(), "", func(tx revue.Tx) error {
			_, err := tx.Record("probe", "ready")
			require.ErrorIs(t, err, revue.ErrNotFound, "nothing is left of a look")
			return nil
		}))
		watching = false
		expect(http.StatusServiceUnavailable, "the database is not watched: what other processes commit is noticed late")
		store.write = errors.New("read-only")
		expect(http.StatusServiceUnavailable, "the database can't be written to")
		store.read = errors.New("gone")
		expect(http.StatusServiceUnavailable, "the database does not answer")
		store.read, store.write, watching = nil, nil, true
		expect(http.StatusOK, "ready")

		before := store.looks
		for range 100 {
			require.Empty(t, r.problem(t.Context()))
		}
		require.Equal(t, before, store.looks, "many may ask, and one look is enough")
		r.draining.Store(true)
		expect(http.StatusServiceUnavailable, "this server is about to stop")
	})
}

// TestRateLimit: each token has its own share of requests, at the API and at the MCP endpoints alike.
func TestRateLimit(t *testing.T) {
	limited := func(s *server, path, token, body string) int {
		n := 0
		for range 30 {
			if code, text := s.send(t, http.MethodPost, path, token, body, "Accept", "application/json, text/event-stream"); code == http.StatusTooManyRequests {
				require.Contains(t, text, "too many requests")
				n++
			}
		}
		return n
	}
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	s := startWith(t, nil, "--rate-limit", "1")
	require.Positive(t, limited(s, "/mcp", s.agent, list))
	require.Positive(t, limited(s, "/v1/decisions/lookup", s.agent, `{"query":"which database"}`))
	code, _ := s.send(t, http.MethodGet, "/v1/lots", s.human, "")
	require.Equal(t, http.StatusOK, code, "another token has its own share")

	s = startWith(t, []string{"REVUE_RATE_LIMIT=0"})
	require.Zero(t, limited(s, "/mcp", s.agent, list))
	require.Zero(t, limited(s, "/v1/decisions/lookup", s.agent, `{"query":"which database"}`))
}
