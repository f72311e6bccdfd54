package httpguard_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/httpguard"
)

var ok = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })

type problem struct {
	Type, Title, Code, Detail string
	Status                    int
}

func problemOf(t *testing.T, w *httptest.ResponseRecorder) problem {
	t.Helper()
	require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
	var p problem
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &p))
	require.Equal(t, w.Code, p.Status)
	require.NotEmpty(t, p.Title)
	return p
}

func TestHosts(t *testing.T) {
	guard := httpguard.New(&httpguard.Options{Hosts: []string{"Revue.Example.com", "10.0.0.5:7433", "[fd00::1]"}})(ok)
	for host, allowed := range map[string]bool{
		"127.0.0.1:7433":          true,
		"127.8.9.1":               true,
		"localhost":               true,
		"LOCALHOST:1":             true,
		"localhost.:7433":         true,
		"inbox.localhost:7433":    true,
		"[::1]:7433":              true,
		"[::1]":                   true,
		"revue.example.com":       true,
		"revue.example.com:8443":  true,
		"REVUE.example.com.":      true,
		"10.0.0.5:7433":           true,
		"10.0.0.5:80":             false,
		"[fd00::1]:9":             true,
		"":                        false,
		"evil.com":                false,
		"evil.com:7433":           false,
		"localhost.evil.com":      false,
		"127.0.0.1.evil.com":      false,
		"revue.example.com.evil":  false,
		"notlocalhost":            false,
		"0.0.0.0:7433":            false,
		"2130706433":              false,
		"revue.example.com@evil":  false,
		"::1":                     true,
		"[::ffff:127.0.0.1]:7433": true,
	} {
		r := httptest.NewRequest(http.MethodGet, "/any/where", nil)
		r.Host = host
		w := httptest.NewRecorder()
		guard.ServeHTTP(w, r)
		if allowed {
			require.Equal(t, http.StatusOK, w.Code, host)
			continue
		}
		require.Equal(t, http.StatusForbidden, w.Code, host)
		require.Equal(t, "denied", problemOf(t, w).Code)
		require.NotContains(t, w.Body.String(), "ok\n")
	}
}

func TestOrigins(t *testing.T) {
	guard := httpguard.New(&httpguard.Options{
		Hosts: []string{"revue.example.com"}, Origins: []string{"https://tools.example.org/"},
	})(ok)
	for origin, allowed := range map[string]bool{
		"http://localhost:6274":          true,
		"http://127.0.0.1:7433":          true,
		"http://[::1]:7433":              true,
		"https://revue.example.com":      true,
		"https://tools.example.org":      true,
		"HTTPS://Tools.example.org":      true,
		"http://tools.example.org":       false,
		"https://tools.example.org:8443": false,
		"https://evil.com":               false,
		"http://localhost.evil.com":      false,
		"http://evil.com#localhost":      false,
		"http://localhost@evil.com":      false,
		"null":                           false,
		"":                               false,
		"file://":                        false,
		"chrome-extension://abc":         false,
		"localhost":                      false,
	} {
		r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", strings.NewReader("{}"))
		r.Header["Origin"] = []string{origin}
		w := httptest.NewRecorder()
		guard.ServeHTTP(w, r)
		require.Equal(t, allowed, w.Code == http.StatusOK, origin)
	}
	// A page may hide its origin; that it is one of this server browsers say all the same, and pages can't.
	for site, allowed := range map[string]bool{
		"same-origin": true, "same-site": false, "cross-site": false, "none": false, "": false, "Same-Origin": false, "same-origin, cross-site": false,
	} {
		for _, origin := range []string{"null", "https://evil.com"} {
			r := httptest.NewRequest(http.MethodPost, "http://localhost/login", strings.NewReader("{}"))
			r.Header["Origin"] = []string{origin}
			r.Header["Sec-Fetch-Site"] = []string{site}
			w := httptest.NewRecorder()
			guard.ServeHTTP(w, r)
			require.Equal(t, allowed && origin == "null", w.Code == http.StatusOK, "%s from %q", origin, site)
		}
	}
	r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", nil)
	r.Header["Origin"] = []string{"http://localhost:1", "https://evil.com"}
	w := httptest.NewRecorder()
	guard.ServeHTTP(w, r)
	require.Equal(t, http.StatusForbidden, w.Code)
}

func TestBodyLimit(t *testing.T) {
	read := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var tooLarge *http.MaxBytesError
		if _, err := io.ReadAll(r.Body); errors.As(err, &tooLarge) {
			httpguard.TooLarge(w, tooLarge.Limit)
		}
	})
	guard := httpguard.New(&httpguard.Options{MaxBody: 10})(read)
	for _, tt := range []struct {
		body   string
		length int64
		status int
	}{
		{body: "0123456789", length: 10, status: 200},
		{body: "0123456789a", length: 11, status: 413},
		{body: "0123456789a", length: -1, status: 413}, // chunked
	} {
		r := httptest.NewRequest(http.MethodPost, "http://localhost/", io.NopCloser(strings.NewReader(tt.body)))
		r.ContentLength = tt.length
		w := httptest.NewRecorder()
		guard.ServeHTTP(w, r)
		require.Equal(t, tt.status, w.Code)
		if tt.status == 413 {
			require.Equal(t, "too_large", problemOf(t, w).Code)
			require.Contains(t, w.Body.String(), "10 bytes")
		}
	}
	r := httptest.NewRequest(http.MethodPost, "http://localhost/", io.NopCloser(bytes.NewReader(make([]byte, httpguard.DefaultMaxBody+1))))
	w := httptest.NewRecorder()
	httpguard.New(nil)(read).ServeHTTP(w, r)
	require.Equal(t, http.StatusRequestEntityTooLarge, w.Code)
}

func TestSecurityHeaders(t *testing.T) {
	for host, status := range map[string]int{"localhost": 200, "evil.com": 403} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = host
		w := httptest.NewRecorder()
		httpguard.New(nil)(ok).ServeHTTP(w, r)
		require.Equal(t, status, w.Code)
		require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
		require.Equal(t, "DENY", w.Header().Get("X-Frame-Options"))
		require.Equal(t, "no-referrer", w.Header().Get("Referrer-Policy"))
		require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
		require.Contains(t, w.Header().Get("Content-Security-Policy"), "default-src 'none'")
		require.Empty(t, w.Header().Get("Strict-Transport-Security"))
		require.Empty(t, w.Header().Get("Access-Control-Allow-Origin"))
	}
	r := httptest.NewRequest(http.MethodGet, "https://localhost/", nil)
	r.TLS = &tls.ConnectionState{}
	w := httptest.NewRecorder()
	httpguard.New(nil)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'self'")
	})).ServeHTTP(w, r)
	require.NotEmpty(t, w.Header().Get("Strict-Transport-Security"))
	require.Equal(t, "default-src 'self'", w.Header().Get("Content-Security-Policy"), "a page sets a policy of its own")
}

func TestPanics(t *testing.T) {
	var logged bytes.Buffer
	guard := httpguard.New(&httpguard.Options{Log: slog.New(slog.NewTextHandler(&logged, nil))})
	get := func(h http.HandlerFunc) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		guard(h).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/x", nil))
		return w
	}
	w := get(func(http.ResponseWriter, *http.Request) { panic("secret") })
	require.Equal(t, http.StatusInternalServerError, w.Code)
	require.Equal(t, "internal", problemOf(t, w).Code)
	require.NotContains(t, w.Body.String(), "secret")
	require.Contains(t, logged.String(), "secret")
	require.Contains(t, logged.String(), "guard_test.go", "no stack")

	for name, begin := range map[string]func(http.ResponseWriter){
		"write": func(w http.ResponseWriter) { _, _ = io.WriteString(w, "half") },
		"flush": func(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() },
		"head":  func(w http.ResponseWriter) { w.WriteHeader(http.StatusOK) },
	} {
		require.PanicsWithValue(t, http.ErrAbortHandler, func() {
			get(func(w http.ResponseWriter, _ *http.Request) { begin(w); panic("late") })
		}, name)
	}
	logged.Reset()
	require.PanicsWithValue(t, http.ErrAbortHandler, func() {
		get(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	})
	require.Empty(t, logged.String(), "an abort is no fault")
}

// What stands behind can stream: flush, deadlines and the like reach the connection.
func TestStreaming(t *testing.T) {
	next := make(chan struct{})
	ts := httptest.NewServer(httpguard.New(nil)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		rc := http.NewResponseController(w)
		_, _ = io.WriteString(w, "first\n")
		if err := errors.Join(rc.Flush(), rc.EnableFullDuplex()); err != nil {
			panic(err)
		}
		<-next
		w.(http.Flusher).Flush()
	})))
	defer ts.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, ts.URL, nil)
	require.NoError(t, err)
	resp, err := ts.Client().Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	got := make([]byte, 6)
	_, err = io.ReadFull(resp.Body, got)
	require.NoError(t, err)
	require.Equal(t, "first\n", string(got))
	close(next)
}

type plane struct {
	revue.Plane
	tokens map[string]revue.Principal
	err    error
	seen   []string
}

func (p *plane) Authenticate(_ context.Context, bearer string) (revue.Principal, error) {
	p.seen = append(p.seen, bearer)
	if p.err != nil {
		return revue.Principal{}, p.err
	}
	if got, ok := p.tokens[bearer]; ok {
		return got, nil
	}
	return revue.Principal{}, revue.ErrDenied
}

func TestBearer(t *testing.T) {
	p := &plane{tokens: map[string]revue.Principal{
		"rvu_a_1": {TokenID: "tok_1", Kind: revue.TokenAgent, Agent: &revue.Agent{}},
		"rvu_h_1": {TokenID: "tok_2", Kind: revue.TokenHuman, Human: &revue.Human{}},
	}}
	reached := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, ok := httpguard.PrincipalFrom(r.Context())
		fmt.Fprint(w, who.TokenID, ok)
	})
	for _, tt := range []struct {
		name    string
		headers []string
		url     string
		kinds   []revue.TokenKind
		status  int
		code    string
		body    string
	}{
		{name: "agent", headers: []string{"Bearer rvu_a_1"}, kinds: []revue.TokenKind{revue.TokenAgent}, status: 200, body: "tok_1true"},
		{name: "scheme in any case", headers: []string{"bearer  rvu_a_1 "}, kinds: []revue.TokenKind{revue.TokenAgent}, status: 200, body: "tok_1true"},
		{name: "human for an agent's route", headers: []string{"Bearer rvu_h_1"}, kinds: []revue.TokenKind{revue.TokenAgent}, status: 403, code: "denied"},
		{name: "agent for a human's route", headers: []string{"Bearer rvu_a_1"}, kinds: []revue.TokenKind{revue.TokenHuman}, status: 403, code: "denied"},
		{name: "either", headers: []string{"Bearer rvu_h_1"}, kinds: []revue.TokenKind{revue.TokenHuman, revue.TokenAgent}, status: 200, body: "tok_2true"},
		{name: "any", headers: []string{"Bearer rvu_h_1"}, status: 200, body: "tok_2true"},
		{name: "none", status: 401, code: "unauthenticated"},
		{name: "unknown", headers: []string{"Bearer rvu_a_2"}, status: 401, code: "unauthenticated"},
		{name: "other scheme", headers: []string{"Basic rvu_a_1"}, status: 401, code: "unauthenticated"},
		{name: "bare", headers: []string{"rvu_a_1"}, status: 401, code: "unauthenticated"},
		{name: "empty", headers: []string{"Bearer "}, status: 401, code: "unauthenticated"},
		{name: "two tokens", headers: []string{"Bearer rvu_a_1 rvu_h_1"}, status: 401, code: "unauthenticated"},
		{name: "two headers", headers: []string{"Bearer rvu_a_1", "Bearer rvu_a_1"}, status: 401, code: "unauthenticated"},
		{name: "in the URL", url: "?access_token=rvu_a_1&token=rvu_a_1", status: 401, code: "unauthenticated"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp"+tt.url, nil)
			if tt.headers != nil {
				r.Header["Authorization"] = tt.headers
			}
			w := httptest.NewRecorder()
			httpguard.Bearer(p, reached, tt.kinds...).ServeHTTP(w, r)
			require.Equal(t, tt.status, w.Code)
			if tt.code == "" {
				require.Equal(t, tt.body, w.Body.String())
				return
			}
			require.Equal(t, tt.code, problemOf(t, w).Code)
			require.Equal(t, tt.status == 401, strings.HasPrefix(w.Header().Get("WWW-Authenticate"), "Bearer"))
			require.NotContains(t, w.Body.String(), "rvu_")
		})
	}
	require.NotContains(t, p.seen, "")
}

func TestBearerWhenThePlaneFails(t *testing.T) {
	for status, err := range map[int]error{
		503: &revue.Error{Code: revue.CodeUnavailable, Message: "try again", Err: errors.New("/secret")},
		500: errors.New("/secret"),
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Authorization", "Bearer x")
		w := httptest.NewRecorder()
		httpguard.Bearer(&plane{err: err}, ok).ServeHTTP(w, r)
		require.Equal(t, status, w.Code)
		require.NotContains(t, w.Body.String(), "secret")
	}
}

func TestStatus(t *testing.T) {
	for code, want := range map[revue.Code]int{
		revue.CodeInvalid: 422, revue.CodeNotFound: 404, revue.CodeConflict: 409, revue.CodeDenied: 403,
		revue.CodeTooLarge: 413, revue.CodeRateLimited: 429, revue.CodeUnavailable: 503, revue.CodeInternal: 500,
		"": 500,
	} {
		require.Equal(t, want, httpguard.Status(code), code)
	}
}

// FuzzHost checks that no spelling of a foreign host is taken for this machine.
func FuzzHost(f *testing.F) {
	for _, h := range []string{"localhost", "127.0.0.1:1", "[::1]", "evil.com", "localhost.evil.com:80", "a@localhost"} {
		f.Add(h)
	}
	guard := httpguard.New(nil)(ok)
	f.Fuzz(func(t *testing.T, host string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = host
		w := httptest.NewRecorder()
		guard.ServeHTTP(w, r)
		if w.Code == http.StatusOK {
			require.Regexp(t, `(?i)^\s*(([^\s:]*\.)?localhost\.?|127(\.\d+){3}\.?|\[?[0-9a-f:]*(:1|:127(\.\d+){3}|:7f[0-9a-f]{2}:[0-9a-f]+)\]?)(:.*)?\s*$`, host)
		}
	})
}
