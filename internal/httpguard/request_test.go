package httpguard_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/httpguard"
)

func TestRequestIDs(t *testing.T) {
	var inner string
	h := httpguard.New(nil)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inner = httpguard.RequestID(r.Context())
		httpguard.Problem(w, http.StatusTeapot, "short", "stout")
	}))
	call := func(h http.Handler, id string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, "http://localhost/", nil)
		r.Header.Set("X-Request-Id", id)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	w := call(h, "mine-1")
	require.Equal(t, "mine-1", inner)
	require.Equal(t, "mine-1", w.Header().Get("X-Request-Id"))
	require.Contains(t, w.Body.String(), `"requestId":"mine-1"`)
	call(h, "not mine")
	first := inner
	call(h, "not mine")
	require.NotEqual(t, first, inner)
	require.NotContains(t, inner, " ")

	// A guard within a guard keeps the id of the outer one.
	w = call(httpguard.New(nil)(h), "")
	require.Equal(t, inner, w.Header().Get("X-Request-Id"))
	require.Len(t, w.Header().Values("X-Request-Id"), 1)
	require.Empty(t, httpguard.RequestID(t.Context()))
}

func TestLoggedOnce(t *testing.T) {
	var buf bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&buf, &slog.HandlerOptions{Level: slog.LevelDebug}))
	route := ""
	h := http.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		httpguard.SetRoute(r, "GET /thing/{id}")
		route = r.Pattern
		_, _ = io.WriteString(w, "hello")
		_ = http.NewResponseController(w).Flush()
	}))
	h = httpguard.Logged(log, httpguard.New(&httpguard.Options{Log: log})(httpguard.Logged(log, h)))
	r := httptest.NewRequest(http.MethodGet, "http://localhost/thing/7?secret=1", nil)
	r.RemoteAddr = "192.0.2.1:99"
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	require.True(t, w.Flushed)
	require.Equal(t, 1, strings.Count(buf.String(), "\n"), buf.String())
	var line map[string]any
	require.NoError(t, json.Unmarshal(buf.Bytes(), &line))
	require.Equal(t, "GET /thing/{id}", line["route"])
	require.Equal(t, "GET /thing/{id}", route)
	require.EqualValues(t, 200, line["status"])
	require.EqualValues(t, 5, line["bytes"])
	require.Equal(t, "192.0.2.1", line["remote"])
	require.NotContains(t, buf.String(), "secret")

	buf.Reset()
	r.Host = "evil.example"
	h.ServeHTTP(httptest.NewRecorder(), r)
	require.Contains(t, buf.String(), `"status":403`, "what the guard refuses is logged too")
}

// A panic is logged with the id of its request, and without its path.
func TestPanicNamesTheRequest(t *testing.T) {
	var buf bytes.Buffer
	h := httpguard.New(&httpguard.Options{Log: slog.New(slog.NewJSONHandler(&buf, nil))})(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		panic("lost")
	}))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/pathsecret", nil))
	require.Equal(t, http.StatusInternalServerError, w.Code)
	require.Contains(t, buf.String(), w.Header().Get("X-Request-Id"))
	require.NotContains(t, buf.String(), "pathsecret")
}

func TestFail(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		want   string
		retry  string
	}{
		{&revue.Error{Code: revue.CodeConflict, ID: "lot_1", Message: "too late", Err: io.EOF}, 409, `"code":"conflict","detail":"too late","id":"lot_1"`, ""},
		{revue.ErrUnavailable, 503, `"code":"unavailable"`, "1"},
		{revue.ErrRateLimited, 429, `"code":"rate_limited"`, "1"},
		{io.ErrUnexpectedEOF, 500, `"code":"internal"`, ""},
	} {
		w := httptest.NewRecorder()
		httpguard.Fail(w, c.err)
		require.Equal(t, c.status, w.Code)
		require.Contains(t, w.Body.String(), c.want)
		require.NotContains(t, w.Body.String(), "EOF")
		require.Equal(t, c.retry, w.Header().Get("Retry-After"))
	}
	for wait, want := range map[time.Duration]string{0: "1", 20 * time.Millisecond: "1", time.Second: "1", 1001 * time.Millisecond: "2", time.Minute: "60"} {
		w := httptest.NewRecorder()
		httpguard.RateLimited(w, wait, "slower")
		require.Equal(t, want, w.Header().Get("Retry-After"), wait)
	}
}

func TestAcceptsGzip(t *testing.T) {
	for _, c := range []struct {
		values []string
		want   bool
	}{
		{nil, false},
		{[]string{""}, false},
		{[]string{"gzip"}, true},
		{[]string{"GZIP"}, true},
		{[]string{"x-gzip"}, true},
		{[]string{"gzip;q=0"}, false},
		{[]string{"gzip;q=0.000"}, false},
		{[]string{"gzip;q=0.001"}, true},
		{[]string{"gzip ; q = 0.5"}, true},
		{[]string{"gzip;q=1.000"}, true},
		{[]string{"gzip;q=1.001"}, false},
		{[]string{"gzip;q=2"}, false},
		{[]string{"gzip;q=0.0001"}, false},
		{[]string{"gzip;q=x"}, false},
		{[]string{"gzip;q="}, false},
		{[]string{"gzip;q=-1"}, false},
		{[]string{"gzip;Q=0"}, false},
		{[]string{"gzip;x=1;q=0"}, false},
		{[]string{"br, deflate"}, false},
		{[]string{"br", "gzip"}, true},
		{[]string{"*"}, true},
		{[]string{"*;q=0"}, false},
		{[]string{"*, gzip;q=0"}, false},
		{[]string{"gzip;q=0.5, *;q=0"}, true},
		{[]string{"identity"}, false},
		{[]string{"identity, gzip;q=0.5"}, false},
		{[]string{"identity;q=0.5, gzip;q=0.5"}, true},
		{[]string{"identity;q=0, gzip;q=0.1"}, true},
		{[]string{"gzipped"}, false},
	} {
		require.Equal(t, c.want, httpguard.AcceptsGzip(http.Header{"Accept-Encoding": c.values}), "%q", c.values)
	}
}

func TestAccepts(t *testing.T) {
	for accept, want := range map[string]bool{
		"text/event-stream": true, "TEXT/Event-Stream": true, "text/html, text/event-stream;q=0.1": true, "text/event-stream; charset=utf-8": true,
		"": false, "*/*": false, "text/*": false, "text/event-stream;q=0": false, "text/event-streams": false, "application/json": false,
	} {
		require.Equal(t, want, httpguard.Accepts(http.Header{"Accept": {accept}}, "text/event-stream"), accept)
	}
}

func TestSend(t *testing.T) {
	send := func(method, accept string, body []byte) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "/", nil)
		r.Header.Set("Accept-Encoding", accept)
		w := httptest.NewRecorder()
		require.NoError(t, httpguard.Send(w, r, http.StatusCreated, "text/x", body))
		require.Equal(t, http.StatusCreated, w.Code)
		require.Equal(t, "text/x", w.Header().Get("Content-Type"))
		require.Equal(t, "Accept-Encoding", w.Header().Get("Vary"))
		return w
	}
	small, large := bytes.Repeat([]byte("a"), 1023), bytes.Repeat([]byte("ab"), 512)
	require.Equal(t, small, send(http.MethodGet, "gzip", small).Body.Bytes())
	require.Equal(t, large, send(http.MethodGet, "br", large).Body.Bytes())
	w := send(http.MethodGet, "gzip", large)
	require.Equal(t, "gzip", w.Header().Get("Content-Encoding"))
	require.Equal(t, strconv.Itoa(w.Body.Len()), w.Header().Get("Content-Length"))
	z, err := gzip.NewReader(w.Body)
	require.NoError(t, err)
	got, err := io.ReadAll(z)
	require.NoError(t, err)
	require.Equal(t, large, got)
	w = send(http.MethodHead, "", large)
	require.Empty(t, w.Body.Bytes())
	require.Equal(t, "1024", w.Header().Get("Content-Length"))
}

func TestLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := httpguard.NewLimiter(2, 3)
		allowed := func(caller string) bool { _, ok := l.Allow(caller); return ok }
		for range 3 {
			require.True(t, allowed("a"))
		}
		wait, ok := l.Allow("a")
		require.False(t, ok)
		require.Equal(t, 500*time.Millisecond, wait)
		_, ok = l.Allow("a")
		require.False(t, ok, "to be refused costs nothing")
		require.True(t, allowed("b"))
		time.Sleep(wait) //nolint:forbidigo // fake time
		require.True(t, allowed("a"))
		require.False(t, allowed("a"))

		// Whoever is forgotten in between has no more than a full share.
		for range 10 {
			time.Sleep(time.Hour) //nolint:forbidigo // fake time
			for range 3 {
				require.True(t, allowed("a"))
			}
			require.False(t, allowed("a"))
		}
		// Whoever comes all the time is not forgotten.
		count := 0
		for range 400 {
			if allowed("c") {
				count++
			}
			time.Sleep(25 * time.Millisecond) //nolint:forbidigo // fake time
		}
		require.InDelta(t, 3+2*10, count, 1)
	})
	_, ok := httpguard.NewLimiter(0, 5).Allow("x")
	require.True(t, ok, "without a rate there is no limit")
	_, ok = httpguard.NewLimiter(1, 0).Allow("x")
	require.True(t, ok, "one is the least")
}

// A crowd of callers can't fill the memory: beyond a number they share one bucket.
func TestLimiterOfACrowd(t *testing.T) {
	l := httpguard.NewLimiter(0.001, 1)
	refused := 0
	for i := range 1<<16 + 100 {
		if _, ok := l.Allow(strconv.Itoa(i)); !ok {
			refused++
		}
	}
	require.InDelta(t, 100, refused, 2)
}

func TestHasToken(t *testing.T) {
	for s, want := range map[string]bool{"rvu_a_x": true, "x=RVU_H_y": true, "": false, "rvu": false, "rv_u": false} {
		require.Equal(t, want, httpguard.HasToken(s), s)
	}
}

func FuzzAcceptEncoding(f *testing.F) {
	for _, s := range []string{"gzip", "gzip;q=0", "*;q=0.5, identity", ";;q=,", "gzip;q=1.0000", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if httpguard.AcceptsGzip(http.Header{"Accept-Encoding": {s}}) {
			low := strings.ToLower(s)
			require.True(t, strings.Contains(low, "gzip") || strings.Contains(low, "*"))
		}
	})
}

func FuzzBearerToken(f *testing.F) {
	for _, s := range []string{"Bearer rvu_a_x", "bearer  x ", "Basic x", "Bearer a b", "Bearer a,b", "Bearer", "", "Bearer \t"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		token, ok := httpguard.BearerToken(http.Header{"Authorization": {s}})
		if ok {
			require.NotEmpty(t, token)
			require.False(t, strings.ContainsAny(token, " \t,"))
			require.True(t, strings.HasSuffix(strings.TrimSpace(s), token))
		}
		_, ok = httpguard.BearerToken(http.Header{"Authorization": {s, s}})
		require.False(t, ok)
	})
}
