package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
)

// browser is a browser as far as the server sees one.
type browser struct {
	*http.Client
	base string
}

// answered is what a browser got, apart from the page.
type answered struct {
	StatusCode int
	Header     http.Header
	cookies    []*http.Cookie
}

// newBrowser returns a browser without cookies, that follows no redirect.
func newBrowser(t *testing.T, base string) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	c := &http.Client{Jar: jar, Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	t.Cleanup(c.CloseIdleConnections)
	return &browser{c, base}
}

// visit makes a request and returns the answer and the page.
func (b *browser) visit(t *testing.T, method, path, form string, with ...func(*http.Request)) (answered, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, b.base+path, strings.NewReader(form))
	require.NoError(t, err)
	if form != "" {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", b.base)
		req.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	req.Header.Set("User-Agent", "Firefox on a test")
	for _, w := range with {
		w(req)
	}
	resp, err := b.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return answered{resp.StatusCode, resp.Header, resp.Cookies()}, string(body)
}

// signIn posts a code as the page does.
func (b *browser) signIn(t *testing.T, code string, with ...func(*http.Request)) (answered, string) {
	t.Helper()
	return b.visit(t, http.MethodPost, "/login", url.Values{"code": {code}}.Encode(), with...)
}

// codeOf is the code of a link.
func codeOf(t *testing.T, link, base string) string {
	t.Helper()
	code, ok := strings.CutPrefix(strings.TrimSpace(link), base+"/login#code=")
	require.True(t, ok, link)
	require.Len(t, code, 52)
	return code
}

// newCode makes a code at the command line.
func newCode(t *testing.T, srv *server) string {
	t.Helper()
	var link webLink
	require.NoError(t, json.Unmarshal([]byte(output(t, srv.env, "inbox", "--web", "--json", "--url", srv.url)), &link))
	require.WithinDuration(t, time.Now().Add(revue.SignInFor), link.ExpiresAt, time.Minute)
	return codeOf(t, link.URL, srv.url)
}

// TestServeInbox signs in with the link of the first start, and ends the session at the command line.
func TestServeInbox(t *testing.T) {
	srv := &server{db: tempDB(t)}
	srv.env = cleanEnv(t.TempDir(), "REVUE_DB="+srv.db)
	srv.process = start(t, srv.env, "serve", "--addr", "127.0.0.1:0", "--log-level", "debug", "--log-format", "json")
	srv.url = listens.FindStringSubmatch(srv.line(t, "revue listens on"))[1]
	srv.line(t, "Open the inbox in a browser, once and within 15 minutes:")
	code := codeOf(t, srv.line(t, "/login#code="), srv.url)
	srv.line(t, "Another link: revue inbox --web --url "+srv.url)
	srv.agent = agentRE.FindStringSubmatch(srv.line(t, "agent token"))[1]
	srv.human = humanRE.FindStringSubmatch(srv.line(t, "human token"))[1]
	srv.line(t, "  revue answer LOT VALUE")

	b := newBrowser(t, srv.url)
	resp, _ := b.visit(t, http.MethodGet, "/", "")
	require.Equal(t, http.StatusSeeOther, resp.StatusCode)
	require.Equal(t, "/login", resp.Header.Get("Location"))
	resp, page := b.visit(t, http.MethodGet, "/login", "")
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, "text/html; charset=utf-8", resp.Header.Get("Content-Type"))
	require.Contains(t, page, `name="code"`)
	require.Equal(t, "same-origin", resp.Header.Get("Referrer-Policy"), "with none browsers hide the origin of forms, and no-one could tell whose they are")
	resp, _ = b.signIn(t, code)
	require.Equal(t, http.StatusSeeOther, resp.StatusCode)
	require.Equal(t, "/", resp.Header.Get("Location"))
	require.Len(t, resp.cookies, 1)
	cookie := resp.cookies[0]
	require.True(t, cookie.HttpOnly)
	require.NotEqual(t, http.SameSiteNoneMode, cookie.SameSite)
	require.NotEqual(t, http.SameSiteDefaultMode, cookie.SameSite)
	require.False(t, cookie.Secure, "this machine has no TLS")
	require.WithinDuration(t, time.Now().Add(revue.SessionFor), cookie.Expires, time.Hour)
	resp, page = b.visit(t, http.MethodGet, "/", "")
	require.Equal(t, http.StatusOK, resp.StatusCode, page)
	require.Contains(t, resp.Header.Get("Content-Security-Policy"), "default-src 'none'")

	// The link opens nothing a second time, nor in another browser.
	other := newBrowser(t, srv.url)
	resp, _ = other.signIn(t, code)
	require.Equal(t, http.StatusForbidden, resp.StatusCode)
	require.Empty(t, resp.cookies)
	resp, _ = other.visit(t, http.MethodGet, "/", "")
	require.Equal(t, http.StatusSeeOther, resp.StatusCode)

	// The cookie opens the pages alone, and a token the rest alone.
	for _, path := range []string{"/v1/lots", "/v1/whoami", "/metrics", "/mcp"} {
		resp, _ = b.visit(t, http.MethodGet, path, "")
		require.Equal(t, http.StatusUnauthorized, resp.StatusCode, path)
	}
	bearer := func(secret string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+secret) }
	}
	for _, secret := range []string{srv.human, srv.agent, cookie.Value} {
		resp, _ = other.visit(t, http.MethodGet, "/", "", bearer(secret))
		require.Equal(t, http.StatusSeeOther, resp.StatusCode, "no page is for tokens")
	}
	for _, path := range []string{"/v1/lots", "/v1/whoami", "/metrics", "/mcp", "/mcp/approvals"} {
		resp, _ = other.visit(t, http.MethodGet, path, "", bearer(cookie.Value))
		require.Equal(t, http.StatusUnauthorized, resp.StatusCode, path)
	}

	// It is listed, and ended, like a token.
	var tokens []revue.Token
	require.NoError(t, json.Unmarshal([]byte(output(t, srv.env, "token", "list", "--json")), &tokens))
	require.Len(t, tokens, 3)
	id := ""
	for _, tok := range tokens {
		if tok.Kind == revue.TokenSession {
			id = tok.ID
			require.Equal(t, "Firefox on a test", tok.Label)
			require.False(t, tok.UsedAt.IsZero())
		}
	}
	require.Regexp(t, `(?m)^`+id+`  session  \S+  'Firefox on a test'  made \S+  used \S+  expires \S+$`, output(t, srv.env, "token", "list"))
	require.Equal(t, id+" is revoked\n", output(t, srv.env, "token", "revoke", id))
	resp, _ = b.visit(t, http.MethodGet, "/", "")
	require.Equal(t, http.StatusSeeOther, resp.StatusCode)
	require.Equal(t, "/login", resp.Header.Get("Location"))

	second := newCode(t, srv)
	resp, _ = b.signIn(t, second)
	require.Equal(t, http.StatusSeeOther, resp.StatusCode)
	require.NoError(t, srv.stop(t, syscall.SIGTERM))
	logged := srv.stderr.String()
	require.Contains(t, logged, `"route":"POST /login"`)
	for _, secret := range []string{code, second, cookie.Value, cookie.Value[6:]} {
		require.NotContains(t, logged, secret)
	}
	require.NotContains(t, logged, `"level":"ERROR"`)
}

// TestServeInboxForms: the guard before all routes lets forms of the inbox's own pages through, and no others.
func TestServeInboxForms(t *testing.T) {
	srv := startServer(t, tempDB(t), true)
	port := srv.url[strings.LastIndex(srv.url, ":"):]
	header := func(name string, values ...string) func(*http.Request) {
		return func(r *http.Request) { r.Header[http.CanonicalHeaderKey(name)] = values }
	}
	for name, c := range map[string]struct {
		with []func(*http.Request)
		in   bool
	}{
		"as browsers send it":              {nil, true},
		"of a page that hides its origin":  {[]func(*http.Request){header("Origin", "null")}, true},
		"by a browser that says no site":   {[]func(*http.Request){header("Sec-Fetch-Site")}, true},
		"of another site":                  {[]func(*http.Request){header("Origin", "https://evil.example"), header("Sec-Fetch-Site", "cross-site")}, false},
		"of another site, which hides":     {[]func(*http.Request){header("Origin", "null"), header("Sec-Fetch-Site", "cross-site")}, false},
		"of one that hides all":            {[]func(*http.Request){header("Origin", "null"), header("Sec-Fetch-Site")}, false},
		"of two sites":                     {[]func(*http.Request){header("Origin", "null"), header("Sec-Fetch-Site", "same-origin", "cross-site")}, false},
		"of a site that calls itself ours": {[]func(*http.Request){header("Origin", "https://evil.example")}, false},
		"of another port":                  {[]func(*http.Request){header("Origin", "http://127.0.0.1:1"), header("Sec-Fetch-Site", "same-site")}, false},
		"of nowhere":                       {[]func(*http.Request){header("Origin"), header("Sec-Fetch-Site")}, false},
		"to a name that is not ours":       {[]func(*http.Request){func(r *http.Request) { r.Host = "evil.example" + port }}, false},
		"encoded":                          {[]func(*http.Request){header("Content-Encoding", "gzip")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBrowser(t, srv.url)
			code := newCode(t, srv)
			resp, page := b.signIn(t, code, c.with...)
			if c.in {
				require.Equal(t, http.StatusSeeOther, resp.StatusCode, page)
				require.Len(t, resp.cookies, 1)
				return
			}
			require.GreaterOrEqual(t, resp.StatusCode, 400)
			require.Empty(t, resp.cookies)
			resp, _ = b.signIn(t, code)
			require.Equal(t, http.StatusSeeOther, resp.StatusCode, "the code was not used up")
		})
	}
	// More than any form has.
	b := newBrowser(t, srv.url)
	resp, _ := b.signIn(t, strings.Repeat("x", 2<<20))
	require.Equal(t, http.StatusRequestEntityTooLarge, resp.StatusCode)
}

// TestServePaths: what is for programs is answered to programs, whatever is there or not, the rest is the inbox's.
func TestServePaths(t *testing.T) {
	srv := startServer(t, tempDB(t), true)
	b := newBrowser(t, srv.url)
	for path, want := range map[string]string{
		"/v1":                  "application/problem+json",
		"/v1/nothing":          "application/problem+json",
		"/mcp/nothing":         "application/problem+json",
		"/.well-known/nothing": "application/problem+json",
		"/.well-known/oauth-authorization-server": "application/problem+json",
		"/healthz/x":              "application/problem+json",
		"/metrics/":               "application/problem+json",
		"/nothing":                "text/html; charset=utf-8",
		"/mcpx":                   "text/html; charset=utf-8",
		"/v1x":                    "text/html; charset=utf-8",
		"/%2e%2e/v1/lots":         "text/html; charset=utf-8",
		"/a//b":                   "text/html; charset=utf-8",
		"//evil.example/":         "text/html; charset=utf-8",
		"/login/..//evil.example": "text/html; charset=utf-8",
	} {
		resp, page := b.visit(t, http.MethodGet, path, "")
		require.Equal(t, http.StatusNotFound, resp.StatusCode, "%s: %s", path, page)
		require.Equal(t, want, resp.Header.Get("Content-Type"), path)
		require.Empty(t, resp.Header.Get("Location"), path)
	}
	for path, want := range map[string]string{"/healthz": "ok\n", "/readyz": "ready\n"} {
		resp, body := b.visit(t, http.MethodGet, path, "")
		require.Equal(t, http.StatusOK, resp.StatusCode)
		require.Equal(t, want, body)
	}
}

// TestServeBaseURL: where something before the server has TLS, links lead there and the cookie is Secure.
func TestServeBaseURL(t *testing.T) {
	srv := &server{db: tempDB(t), env: cleanEnv(t.TempDir())}
	srv.process = start(t, srv.env, "serve", "--addr", "127.0.0.1:0", "--db", srv.db, "--base-url", "HTTPS://Revue.Example.com/")
	srv.url = listens.FindStringSubmatch(srv.line(t, "revue listens on http://127.0.0.1:"))[1]
	code := codeOf(t, srv.line(t, "/login#code="), "https://revue.example.com")
	srv.line(t, "Another link: revue inbox --web --db "+srv.db+" --url https://revue.example.com")
	srv.line(t, "claude mcp add --transport http revue https://revue.example.com/mcp ")
	b := newBrowser(t, srv.url)
	resp, page := b.signIn(t, code, func(r *http.Request) {
		r.Host = "revue.example.com"
		r.Header.Set("Origin", "https://revue.example.com")
	})
	require.Equal(t, http.StatusSeeOther, resp.StatusCode, page)
	cookie := resp.cookies[0]
	require.True(t, cookie.Secure)
	require.True(t, strings.HasPrefix(cookie.Name, "__Host-"))
	require.NoError(t, srv.stop(t, syscall.SIGTERM))

	for _, bad := range []string{"revue.example.com", "https://revue.example.com/inbox", "https://ada:hunter-seven@revue.example.com", "https://revue.example.com/?x=1", "ftp://revue.example.com"} {
		_, out, diag, code := serveWith(t, nil, "--base-url", bad)
		require.Equal(t, exitMisused, code, bad)
		require.Empty(t, out)
		require.Regexp(t, `^revue: --base-url: `, diag)
		require.NotContains(t, diag, "hunter-seven")
	}
}

// TestServeNoFirstLink: where the output is kept, no link is in it either.
func TestServeNoFirstLink(t *testing.T) {
	srv := startServer(t, tempDB(t), false, "--no-first-tokens")
	line := srv.line(t, "Open the inbox in a browser: ")
	require.Equal(t, "Open the inbox in a browser: revue inbox --web --url "+srv.url, line)
	require.NoError(t, srv.stop(t, syscall.SIGTERM))
	for l := range srv.lines {
		require.NotRegexp(t, `#code=|rvu_`, l)
	}
}

// TestInboxWebElsewhere makes a link at a plane elsewhere, with its token: it leads there.
func TestInboxWebElsewhere(t *testing.T) {
	srv := startServer(t, tempDB(t), true)
	env := cleanEnv(t.TempDir(), "REVUE_API_URL="+srv.url, "REVUE_API_KEY="+srv.human)
	var link webLink
	require.NoError(t, json.Unmarshal([]byte(output(t, env, "inbox", "--web", "--json")), &link))
	code := codeOf(t, link.URL, srv.url)
	text := output(t, env, "inbox", "--web", "--url", "https://revue.example.com")
	require.Regexp(t, `^https://revue\.example\.com/login#code=\S{52}\n\nIt opens the inbox as you, once, until `, text)
	require.NotContains(t, text, "revue serve")
	b := newBrowser(t, srv.url)
	resp, _ := b.signIn(t, code)
	require.Equal(t, http.StatusSeeOther, resp.StatusCode)

	output(t, env, "stream", "set", "web.app", "--name", "The web app", "--mute")
	require.Regexp(t, `^web\.app  'The web app'  muted  since `, output(t, env, "stream", "list"))
	var st revue.Stream
	require.NoError(t, json.Unmarshal([]byte(output(t, env, "stream", "set", "web.app", "--unmute", "--json")), &st))
	require.Equal(t, revue.StreamSettings{Slug: "web.app", Name: "The web app"}, st.StreamSettings)
	require.Equal(t, "cli", st.ChangedBy.Via)
	require.Contains(t, output(t, env, "token", "list"), "  session  ")

	got := runs(t, cleanEnv(t.TempDir(), "REVUE_API_URL="+srv.url, "REVUE_API_KEY="+srv.agent), "", "inbox", "--web")
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.diag, "REVUE_API_KEY is an agent token, and this takes a human one")
}

// TestServeInboxStops: a server that stops ends the live pages, and waits for none of them.
func TestServeInboxStops(t *testing.T) {
	srv := startServer(t, tempDB(t), true)
	b := newBrowser(t, srv.url)
	resp, _ := b.signIn(t, newCode(t, srv))
	require.Equal(t, http.StatusSeeOther, resp.StatusCode)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.url+"/live", nil)
	require.NoError(t, err)
	live, err := b.Do(req)
	require.NoError(t, err)
	defer live.Body.Close()
	require.Equal(t, "text/event-stream", live.Header.Get("Content-Type"))
	events := bufio.NewScanner(live.Body)
	require.True(t, events.Scan())
	require.Equal(t, ": open", events.Text())
	output(t, srv.env, "token", "create", "--kind", "agent")
	for events.Scan() && !strings.Contains(events.Text(), "token.created") { // what another process did is told
	}
	require.Contains(t, events.Text(), "token.created")

	began := time.Now()
	require.NoError(t, srv.stop(t, syscall.SIGTERM))
	require.Less(t, time.Since(began), stopWait, "it waited for a page")
	for events.Scan() {
		require.NotContains(t, events.Text(), "event:", "nothing came after that")
	}
	require.NotContains(t, srv.stderr.String(), "did not end in time")
}
