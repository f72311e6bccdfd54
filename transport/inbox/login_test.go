package inbox

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
)

func (s *site) code(workspace string) string {
	s.t.Helper()
	in, err := s.desk.Admin(s.human(workspace, "Ada")).SignIn(s.t.Context())
	require.NoError(s.t, err)
	return in.Code
}

func (s *site) login(form url.Values, header map[string]string) result {
	s.t.Helper()
	return s.do(call{method: http.MethodPost, path: "/login", form: form, header: header})
}

func TestLogin(t *testing.T) {
	s := newSite(t, nil)
	admin := s.desk.Admin(s.human("acme", "Ada"))
	human, err := admin.CreateToken(t.Context(), revue.NewToken{Kind: revue.TokenHuman, Owner: "Ada"})
	require.NoError(t, err)
	agent, err := admin.CreateToken(t.Context(), revue.NewToken{Kind: revue.TokenAgent, Owner: "Ada"})
	require.NoError(t, err)
	session := s.session("acme", "Ada")
	used := s.code("acme")
	require.Equal(t, http.StatusSeeOther, s.login(url.Values{"code": {used}}, nil).StatusCode)
	for name, c := range map[string]struct {
		code, next, to string
		status         int
	}{
		"a code":            {code: s.code("acme"), to: "/", status: 303},
		"with spaces":       {code: " " + s.code("acme") + "\n", to: "/", status: 303},
		"the token":         {code: human.Secret, to: "/", status: 303},
		"goes on":           {code: s.code("acme"), next: "/lots/lot_x?q=1", to: "/lots/lot_x?q=1", status: 303},
		"not elsewhere":     {code: s.code("acme"), next: "https://evil.example/", to: "/", status: 303},
		"nor by two":        {code: s.code("acme"), next: "//evil.example/", to: "/", status: 303},
		"nor by backslash":  {code: s.code("acme"), next: `/\evil.example/`, to: "/", status: 303},
		"nor by a tab":      {code: s.code("acme"), next: "/\t/evil.example/", to: "/", status: 303},
		"nor round":         {code: s.code("acme"), next: "/.//evil.example/", to: "/evil.example/", status: 303},
		"used":              {code: used, status: 403},
		"an agent's token":  {code: agent.Secret, status: 403},
		"a session":         {code: session.Secret, status: 403},
		"none":              {code: "", status: 403},
		"nothing like that": {code: "rvu_h_nothing", status: 403},
	} {
		res := s.login(url.Values{"code": {c.code}, "next": {c.next}}, nil)
		body := res.text
		require.Equal(t, c.status, res.StatusCode, name)
		require.Equal(t, c.to, res.Header.Get("Location"), name)
		require.Equal(t, c.status == 303, len(res.Cookies()) == 1, name)
		if c.code != "" {
			require.NotContains(t, body, c.code, name)
		}
		if c.status == 403 {
			require.Contains(t, body, `role="alert"`, name)
		}
	}
}

// The cookie is for this server alone, and where browsers come by TLS it goes by no other way.
func TestSessionCookie(t *testing.T) {
	for base, secure := range map[string]bool{"": false, "http://plane.example": false, "https://plane.example": true} {
		s := newSite(t, &Options{BaseURL: base})
		res := s.login(url.Values{"code": {s.code("acme")}}, nil)
		require.Len(t, res.Cookies(), 1)
		c := res.Cookies()[0]
		require.Equal(t, map[bool]string{false: "revue_session", true: "__Host-revue_session"}[secure], c.Name)
		require.True(t, c.HttpOnly)
		require.Equal(t, http.SameSiteLaxMode, c.SameSite)
		require.Equal(t, secure, c.Secure)
		require.Equal(t, "/", c.Path)
		require.Empty(t, c.Domain)
		require.WithinDuration(t, time.Now().Add(revue.SessionFor), c.Expires, time.Minute)

		// One under the other name is none.
		other := map[bool]string{true: "revue_session", false: "__Host-revue_session"}[secure]
		for name, status := range map[string]int{c.Name: 200, other: 303} {
			res := s.do(call{method: http.MethodGet, path: "/", header: map[string]string{"Cookie": name + "=" + c.Value}})
			require.Equal(t, status, res.StatusCode, name)
		}
	}
}

func TestLogout(t *testing.T) {
	s := newSite(t, nil)
	me, other := s.session("acme", "Ada"), s.session("acme", "Ada")
	res := s.do(call{method: http.MethodPost, path: "/logout", cookie: me.Secret, form: url.Values{"csrf": {formToken(me.Secret)}}})
	require.Equal(t, "/login?done=signed-out", res.Header.Get("Location"))
	require.Len(t, res.Cookies(), 1)
	require.Negative(t, res.Cookies()[0].MaxAge)
	require.Empty(t, res.Cookies()[0].Value)
	require.Equal(t, http.StatusSeeOther, s.do(call{method: http.MethodGet, path: "/", cookie: me.Secret}).StatusCode, "the secret is of no more use")
	require.Equal(t, http.StatusOK, s.do(call{method: http.MethodGet, path: "/", cookie: other.Secret}).StatusCode)
	require.Contains(t, s.do(call{method: http.MethodGet, path: "/login?done=signed-out"}).text, "You are signed out.")
	require.NotContains(t, s.do(call{method: http.MethodGet, path: "/login?done=anything"}).text, "anything")
}

// Whoever is signed in already goes on.
func TestLoginSignedIn(t *testing.T) {
	s := newSite(t, nil)
	res := s.do(call{method: http.MethodGet, path: "/login?next=/history", cookie: s.session("acme", "Ada").Secret})
	require.Equal(t, "/history", res.Header.Get("Location"))
	res = s.do(call{method: http.MethodGet, path: "/history?q=a+b&x=%22"})
	require.Equal(t, "/login?next="+url.QueryEscape("/history?q=a+b&x=%22"), res.Header.Get("Location"))
	require.Contains(t, s.do(call{method: http.MethodGet, path: res.Header.Get("Location")}).text, `name="next" value="/history?q=a&#43;b&amp;x=%22"`)
}

// An address that sends many bad codes is told to wait; a good one from there is let in all the same.
func TestBadCodes(t *testing.T) {
	s := newSite(t, nil)
	for range 10 {
		require.Equal(t, http.StatusForbidden, s.login(url.Values{"code": {"bad"}}, nil).StatusCode)
	}
	res := s.login(url.Values{"code": {"bad"}}, nil)
	require.Equal(t, http.StatusTooManyRequests, res.StatusCode)
	require.NotEmpty(t, res.Header.Get("Retry-After"))
	require.Equal(t, http.StatusSeeOther, s.login(url.Values{"code": {s.code("acme")}}, nil).StatusCode)
}

func TestAddressOf(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.1:80": "192.0.2.1", "[2001:db8:1:2:3:4:5:6]:80": "2001:db8:1:2::", "[2001:db8:1:2::7]:80": "2001:db8:1:2::", "odd": "odd",
	} {
		require.Equal(t, want, addressOf(&http.Request{RemoteAddr: remote}))
	}
}

// A server on another port of the host can set cookies of the name: they let nobody in, and shut nobody out.
func TestSeveralCookies(t *testing.T) {
	s := newSite(t, nil)
	mine := s.session("acme", "Ada")
	ended := s.session("acme", "Bo")
	_, err := s.desk.Admin(s.human("acme", "Ada")).RevokeToken(t.Context(), ended.ID)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		values []string
		status int
	}{
		"its own":           {[]string{mine.Secret}, 200},
		"one before":        {[]string{"other", mine.Secret}, 200},
		"one after":         {[]string{mine.Secret, "other"}, 200},
		"one of each":       {[]string{"", ended.Secret, mine.Secret, "rvu_s_other"}, 200},
		"none that is good": {[]string{"other", ended.Secret, "rvu_s_other", ""}, 303},
		"very many":         {append(slices.Repeat([]string{"other"}, 1000), mine.Secret), 303},
	} {
		var cookie []string
		for _, v := range c.values {
			cookie = append(cookie, "revue_session="+v)
		}
		header := map[string]string{"Cookie": strings.Join(cookie, "; ")}
		require.Equal(t, c.status, s.do(call{method: http.MethodGet, path: "/", header: header}).StatusCode, name)
		if c.status != 200 {
			continue
		}
		// The forms are of the session that was taken.
		res := s.do(call{method: http.MethodPost, path: "/settings/streams", header: header, form: url.Values{"slug": {"web"}, "csrf": {formToken(mine.Secret)}}})
		require.NotEqual(t, http.StatusForbidden, res.StatusCode, name)
		res = s.do(call{method: http.MethodPost, path: "/settings/streams", header: header, form: url.Values{"slug": {"web"}, "csrf": {formToken("other")}}})
		require.Equal(t, http.StatusForbidden, res.StatusCode, name)
	}
}

// What is opened in a browser with a token ends with that token.
func TestBrowserEndsWithItsToken(t *testing.T) {
	s := newSite(t, nil)
	admin := s.desk.Admin(s.human("acme", "Ada"))
	tok, err := admin.CreateToken(t.Context(), revue.NewToken{Kind: revue.TokenHuman, Owner: "Eve", Life: time.Hour})
	require.NoError(t, err)
	res := s.login(url.Values{"code": {tok.Secret}}, nil)
	require.Len(t, res.Cookies(), 1)
	c := res.Cookies()[0]
	require.WithinDuration(t, tok.ExpiresAt, c.Expires, time.Minute)
	require.Equal(t, http.StatusOK, s.do(call{method: http.MethodGet, path: "/", cookie: c.Value}).StatusCode)
	_, err = admin.RevokeToken(t.Context(), tok.ID)
	require.NoError(t, err)
	require.Equal(t, http.StatusSeeOther, s.do(call{method: http.MethodGet, path: "/", cookie: c.Value}).StatusCode)
}
