package inbox

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/httpguard"
	"github.com/revuehq/revue/memory"
	"github.com/revuehq/revue/storage/memstore"
)

// site is an inbox with two workspaces that know nothing of each other.
type site struct {
	t     *testing.T
	desk  *revue.Desk
	inbox *Server
	web   http.Handler
	ids   []string // of things in "acme"
}

// hush is in every text of "acme".
const hush = "xylophone"

func newSite(t *testing.T, opts *Options) *site {
	t.Helper()
	desk := revue.New(memstore.New(nil), memory.New(nil), nil)
	s := &site{t: t, desk: desk}
	if opts == nil {
		opts = &Options{}
	}
	opts.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	s.inbox = New(desk, desk, opts)
	s.web = httpguard.New(nil)(s.inbox.Handler())
	t.Cleanup(func() { require.NoError(t, s.inbox.Shutdown(context.WithoutCancel(t.Context()))) })
	ctx := t.Context()
	for _, name := range []string{"acme", "umbrella"} {
		_, err := desk.Admin(s.human(name, "Ada")).CreateWorkspace(ctx, name)
		require.NoError(t, err)
	}
	agent := desk.Decider(revue.Agent{Workspace: "acme", Credential: "tok_agent", Name: hush + " agent", Thread: hush + " thread"})
	options := []revue.Option{{Value: "yes", Label: hush + " Yes"}, {Value: "no", Label: "No"}}
	admin, reviewer := desk.Admin(s.human("acme", "Ada")), desk.Reviewer(s.human("acme", "Ada"))
	for i := range 3 {
		out, err := agent.Request(ctx, revue.Ask{Question: fmt.Sprintf("Which %s should %s%d play?", hush, strings.Repeat("x", i+1), i), Options: options, Context: hush, Stream: hush})
		require.NoError(t, err)
		s.ids = append(s.ids, out.LotID)
		switch i {
		case 0:
			lot, err := reviewer.Answer(ctx, out.LotID, revue.Answer{Value: "yes", Note: hush})
			require.NoError(t, err)
			s.ids = append(s.ids, lot.DecisionID, lot.ReceiptID)
		case 1:
			_, err := reviewer.Dismiss(ctx, out.LotID, revue.Dismissal{Reason: hush})
			require.NoError(t, err)
		}
	}
	out, err := agent.Request(ctx, revue.Ask{Kind: revue.KindApproval, Question: "Move the " + hush, Context: hush})
	require.NoError(t, err)
	note, err := agent.Share(ctx, revue.ContextItem{Kind: "note", Body: hush})
	require.NoError(t, err)
	tok, err := admin.CreateToken(ctx, revue.NewToken{Kind: revue.TokenHuman, Owner: hush, Label: hush})
	require.NoError(t, err)
	s.ids = append(s.ids, out.LotID, note.ID, tok.ID, tok.Member)
	return s
}

func (s *site) human(workspace, name string) revue.Human {
	return revue.Human{Workspace: workspace, ID: "local", Name: name, Via: revue.LocalVia, Local: true}
}

// session returns the secret of a new session.
func (s *site) session(workspace, name string) revue.Token {
	s.t.Helper()
	in, err := s.desk.Admin(s.human(workspace, name)).SignIn(s.t.Context())
	require.NoError(s.t, err)
	tok, err := s.desk.OpenSession(s.t.Context(), in.Code, "a browser")
	require.NoError(s.t, err)
	return tok
}

// head is the number of the last event of a workspace.
func (s *site) head(workspace string) revue.Seq {
	s.t.Helper()
	_, head, err := s.desk.Reviewer(s.human(workspace, "Ada")).Journal(s.t.Context(), revue.FromNow, 0)
	require.NoError(s.t, err)
	return head
}

// call is one request as a browser sends it.
type call struct {
	method, path string
	cookie       string
	form         url.Values
	header       map[string]string
}

// result is what came back.
type result struct {
	StatusCode int
	Header     http.Header
	cookies    []*http.Cookie
	text       string
}

func (r result) Cookies() []*http.Cookie { return r.cookies }

func (s *site) do(c call) result {
	s.t.Helper()
	var body io.Reader
	if c.method == http.MethodPost {
		body = strings.NewReader(c.form.Encode())
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), 3*time.Second) // a live view goes on until then
	defer cancel()
	r := httptest.NewRequestWithContext(ctx, c.method, "http://localhost"+c.path, body)
	if c.method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	if c.cookie != "" {
		r.Header.Set("Cookie", cookieName+"="+c.cookie)
	}
	for name, value := range c.header {
		if value == "" {
			r.Header.Del(name)
		} else {
			r.Header.Set(name, value)
		}
	}
	w := httptest.NewRecorder()
	s.web.ServeHTTP(w, r)
	res := w.Result()
	text, err := io.ReadAll(res.Body)
	require.NoError(s.t, err)
	require.NoError(s.t, res.Body.Close())
	return result{StatusCode: res.StatusCode, Header: res.Header, cookies: res.Cookies(), text: string(text)}
}

// calls are all routes with all ids of "acme", with a form that has what any of them wants.
func (s *site) calls() []call {
	var out []call
	for _, rt := range routes() {
		method, pattern, _ := strings.Cut(rt.pattern, " ")
		pattern = strings.NewReplacer("{$}", "", "{slug}", "made").Replace(pattern)
		paths := []string{pattern}
		if strings.Contains(pattern, "{id}") {
			paths = nil
			for _, id := range s.ids {
				paths = append(paths, strings.ReplaceAll(pattern, "{id}", id))
			}
		}
		for _, p := range paths {
			require.NotContains(s.t, p, "{", "this test does not know what to put there")
			c := call{method: method, path: p}
			if method == http.MethodPost {
				c.form = url.Values{
					"lot": {s.ids[3] + ":1"}, "id": {s.ids[3]}, "value": {"yes"}, "choice": {"=yes"}, "reason": {"x"}, "seen": {"1"}, "call": {"c"},
					"verb": {"wrong"}, "slug": {"made"}, "name": {"Made"}, "owner": {"Eve"}, "kind": {"agent"}, "label": {"made"}, "code": {"none"}, "sure": {"1"}, "confirm": {"1"},
				}
			} else {
				c.path += "?" + url.Values{"lot": {s.ids[3], s.ids[4]}, "like": {s.ids[3]}, "q": {"x"}, "after": {"0"}, "page": {"2"}, "stream": {"none"}, "cursor": {""}, "done": {"answered"}}.Encode()
			}
			out = append(out, c)
		}
	}
	return out
}

func isOpen(c call) bool { return strings.HasPrefix(c.path, "/login") }

// Whoever has no session that stands sees nothing and does nothing, whatever else they have.
func TestNoSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		admin := s.desk.Admin(s.human("acme", "Ada"))
		agent, err := admin.CreateToken(t.Context(), revue.NewToken{Kind: revue.TokenAgent, Owner: "Ada"})
		require.NoError(t, err)
		human, err := admin.CreateToken(t.Context(), revue.NewToken{Kind: revue.TokenHuman, Owner: "Ada"})
		require.NoError(t, err)
		ended := s.session("acme", "Ada")
		_, err = admin.RevokeToken(t.Context(), ended.ID)
		require.NoError(t, err)
		before := s.head("acme")
		for who, cookie := range map[string]string{"nobody": "", "an agent": agent.Secret, "a human's token": human.Secret, "ended": ended.Secret, "made up": "rvu_s_" + strings.Repeat("q", 52), "long": strings.Repeat("rvu_s_", 500)} {
			for _, c := range s.calls() {
				if isOpen(c) {
					continue
				}
				c.cookie = cookie
				if c.method == http.MethodPost && cookie != "" {
					c.form.Set("csrf", formToken(cookie)) // it can be made of what they have
				}
				res := s.do(c)
				if strings.HasPrefix(c.path, "/live") {
					require.Equal(t, http.StatusNoContent, res.StatusCode)
					require.Empty(t, res.text)
					continue
				}
				require.Equal(t, http.StatusSeeOther, res.StatusCode, "%s: %s %s", who, c.method, c.path)
				require.True(t, strings.HasPrefix(res.Header.Get("Location"), "/login"), res.Header.Get("Location"))
				require.NotContains(t, res.text, hush)
			}
		}
		require.Equal(t, before, s.head("acme"))
	})
}

// A session of one workspace reaches nothing of another, with whatever ids.
func TestAnotherWorkspace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		before := s.head("acme")
		for _, c := range s.calls() {
			c.cookie = s.session("umbrella", "Mallory").Secret
			if c.method == http.MethodPost {
				c.form.Set("csrf", formToken(c.cookie))
			}
			res := s.do(c)
			body := res.text
			require.Less(t, res.StatusCode, 500, "%s %s: %s", c.method, c.path, body)
			require.NotContains(t, body, hush, "%s %s", c.method, c.path)
			require.NotContains(t, res.Header.Get("Location"), hush)
			if strings.Contains(c.path, "tok_") || strings.Contains(c.path, "lot_") && strings.HasPrefix(c.path, "/lots/lot_") || strings.Contains(c.path, "/dec_") {
				require.Contains(t, []int{http.StatusNotFound, http.StatusUnprocessableEntity}, res.StatusCode, "%s %s", c.method, c.path)
			}
		}
		require.Equal(t, before, s.head("acme"))
		for _, id := range s.ids {
			if strings.HasPrefix(id, "lot_") {
				_, err := s.desk.Reviewer(s.human("acme", "Ada")).Lot(t.Context(), id)
				require.NoError(t, err)
			}
		}
	})
}

// No form is taken that another site sent, or that is not of this very session.
func TestForgedForms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		mine, other := s.session("acme", "Ada"), s.session("acme", "Ada")
		before := s.head("acme")
		for _, c := range s.calls() {
			if c.method != http.MethodPost {
				continue
			}
			c.cookie = mine.Secret
			for name, token := range map[string]string{
				"none": "", "of another session": formToken(other.Secret), "cut": formToken(mine.Secret)[:20], "no base64": "%%%",
				"the secret": mine.Secret, "zeros": strings.Repeat("A", len(formToken(mine.Secret))),
			} {
				if isOpen(c) {
					continue
				}
				c.form.Set("csrf", token)
				res := s.do(c)
				require.Equal(t, http.StatusForbidden, res.StatusCode, "%s: %s", name, c.path)
				require.Contains(t, res.text, "another session")
			}
			c.form.Set("csrf", formToken(mine.Secret))
			for _, from := range []map[string]string{
				{"Sec-Fetch-Site": "cross-site"},
				{"Sec-Fetch-Site": "same-site"},
				{"Sec-Fetch-Site": "cross-site", "Origin": "http://localhost"},
				{"Sec-Fetch-Site": ""},
				{"Sec-Fetch-Site": "", "Origin": "null"},
				{"Sec-Fetch-Site": "", "Origin": "http://localhost:1"},
				{"Sec-Fetch-Site": "", "Origin": "https://evil.example"},
				{"Sec-Fetch-Site": "same-origin", "Origin": "https://evil.example"},
			} {
				c.header = from
				require.Equal(t, http.StatusForbidden, s.do(c).StatusCode, "%v: %s", from, c.path)
			}
			c.header = map[string]string{"Content-Type": "text/plain"} // a form that is none has no token
			require.NotEqual(t, http.StatusSeeOther, s.do(c).StatusCode)
			c.header = nil
			c.form.Set("note", strings.Repeat("x", maxForm))
			require.Equal(t, http.StatusRequestEntityTooLarge, s.do(c).StatusCode, c.path)
			c.form.Del("note")
		}
		require.Equal(t, before, s.head("acme"))
	})
}

// What a browser loads changes nothing, and answers with a page or with a plain refusal.
func TestGetsChangeNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		me := s.session("acme", "Ada")
		before := s.head("acme")
		for _, c := range s.calls() {
			if c.method != http.MethodGet {
				continue
			}
			c.cookie = me.Secret
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				c.method = method
				res := s.do(c)
				require.Less(t, res.StatusCode, 500, "%s %s", method, c.path)
			}
		}
		require.Equal(t, before, s.head("acme"))
	})
}

// Every answer says what a browser may do with it, and is kept by none but those that never change.
func TestHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		me := s.session("acme", "Ada").Secret
		all := s.calls()
		for _, p := range []string{"/none", "/static/none", "/static/inbox.css", "/favicon.svg", "/favicon.ico", "/a//b", "/../x", "/lots/", "/lots/none", "/static/../x"} {
			all = append(all, call{method: http.MethodGet, path: p})
		}
		all = append(all, call{method: http.MethodDelete, path: "/"}, call{method: http.MethodPost, path: "/static/inbox.css"})
		for _, c := range all {
			for _, c.cookie = range []string{"", me} {
				if c.method == http.MethodPost && c.path == "/logout" {
					continue
				}
				res := s.do(c)
				at := fmt.Sprint(c.method, " ", c.path, " ", res.StatusCode)
				csp := res.Header.Get("Content-Security-Policy")
				for _, part := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"} {
					require.Contains(t, csp, part, at)
				}
				require.NotContains(t, csp, "unsafe", at)
				require.Equal(t, "nosniff", res.Header.Get("X-Content-Type-Options"), at)
				require.Equal(t, "DENY", res.Header.Get("X-Frame-Options"), at)
				require.Equal(t, "same-origin", res.Header.Get("Referrer-Policy"), at)
				require.Equal(t, "same-origin", res.Header.Get("Cross-Origin-Opener-Policy"), at)
				require.Equal(t, "same-origin", res.Header.Get("Cross-Origin-Resource-Policy"), at)
				switch {
				case c.path == "/favicon.svg", c.path == "/static/inbox.css" && c.method == http.MethodGet:
				default:
					require.Equal(t, "no-store", res.Header.Get("Cache-Control"), at)
				}
			}
		}
	})
}

// Files are kept by browsers for as long as they are what they were.
func TestStatic(t *testing.T) {
	s := newSite(t, nil)
	for name, a := range s.inbox.pages.assets {
		res := s.do(call{method: http.MethodGet, path: "/static/" + name})
		require.Equal(t, http.StatusOK, res.StatusCode)
		require.Equal(t, a.kind, res.Header.Get("Content-Type"))
		require.Equal(t, "no-cache", res.Header.Get("Cache-Control"))
		require.Equal(t, string(a.body), res.text)
		require.Equal(t, http.StatusNotModified, s.do(call{method: http.MethodGet, path: "/static/" + name, header: map[string]string{"If-None-Match": res.Header.Get("ETag")}}).StatusCode)
		res = s.do(call{method: http.MethodGet, path: "/static/" + name + "?v=" + a.sum})
		require.Equal(t, "public, max-age=31536000, immutable", res.Header.Get("Cache-Control"))
		res = s.do(call{method: http.MethodGet, path: "/static/" + name + "?v=0"})
		require.Equal(t, "no-cache", res.Header.Get("Cache-Control"), "an old page must not keep a new file under an old name")
	}
	for _, p := range []string{"/static/", "/static/none", "/static/a/b", "/static/%2e%2e/inbox.go"} {
		require.Equal(t, http.StatusNotFound, s.do(call{method: http.MethodGet, path: p}).StatusCode, p)
	}
}

func TestFavicon(t *testing.T) {
	s := newSite(t, nil)
	for query, want := range map[string]string{"": "", "?n=0": "", "?n=-1": "", "?n=x": "", "?n=3": ">3<", "?n=12": ">12<", "?n=99": ">99<", "?n=100": ">99+<", "?n=99999999999999999999": "", "?n=<script>": ""} {
		res := s.do(call{method: http.MethodGet, path: "/favicon.svg" + strings.ReplaceAll(query, "<script>", "%3Cscript%3E")})
		require.Equal(t, http.StatusOK, res.StatusCode)
		require.Equal(t, "image/svg+xml", res.Header.Get("Content-Type"))
		body := res.text
		require.NotContains(t, body, "script")
		require.Equal(t, want != "", strings.Contains(body, "<text"), query)
		require.Contains(t, body, want)
	}
	require.Equal(t, "/favicon.svg", s.do(call{method: http.MethodGet, path: "/favicon.ico"}).Header.Get("Location"))
}
