package inboxtest

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/browser"
)

// refused allows what Chromium says on the console of a page that came with such a status.
func refused(tab *browser.Tab, status string) {
	tab.Allow(`^network error: Failed to load resource: the server responded with a status of ` + status)
}

// TestOneTimeLink opens the link that a terminal printed.
func TestOneTimeLink(t *testing.T) {
	p := newPlane(t)
	code := p.code("Ada")
	profile := p.profile(browser.Options{})
	tab := profile.Tab()
	tab.Open("/login#code=" + code)
	tab.Until(`location.pathname === "/"`)
	require.Equal(t, "/", tab.Path(), "nothing of the code stays in the address bar")
	tab.Wait("header :: Ada")
	for _, r := range tab.Requests() {
		u, err := url.Parse(r.URL)
		require.NoError(t, err)
		require.NotContains(t, u.RequestURI(), code, "no request has it in its address")
	}
	for _, entry := range tab.History() {
		require.NotContains(t, entry, code, "nor has the history")
	}
	cookies := tab.Cookies()
	require.Len(t, cookies, 1)
	require.True(t, cookies[0].HTTPOnly)
	require.Contains(t, []string{"Lax", "Strict"}, string(cookies[0].SameSite))
	require.NotContains(t, browser.Eval[string](tab, "document.cookie + JSON.stringify({...localStorage}) + JSON.stringify({...sessionStorage})"), cookies[0].Value)

	// Another tab of the same person needs no code, and another person does.
	again := profile.Tab()
	again.Open("/")
	again.Wait("header :: Ada")
	stranger := p.profile(browser.Options{}).Tab()
	stranger.Open("/")
	stranger.Wait("h1 :: Sign in")

	t.Run("used", func(t *testing.T) {
		refused(stranger, "403")
		stranger.Open("/login#code=" + code)
		require.Contains(t, stranger.Text("[role=alert]"), "this link was used")
		require.NotContains(t, stranger.Path(), code)
		require.Empty(t, stranger.Cookies())
	})
}

// TestCodeByHand types what stands for a human.
func TestCodeByHand(t *testing.T) {
	p := newPlane(t)
	human, err := p.admin("Ada").CreateToken(t.Context(), revue.NewToken{Kind: revue.TokenHuman, Owner: "Ada"})
	require.NoError(t, err)
	agent, err := p.admin("Ada").CreateToken(t.Context(), revue.NewToken{Kind: revue.TokenAgent, Owner: "Ada"})
	require.NoError(t, err)
	for _, c := range []struct {
		name, code string
		script     bool
		want       string // "" where it signs in
	}{
		{name: "a code", code: p.code("Ada"), script: true},
		{name: "a code without scripts", code: p.code("Ada")},
		{name: "a human's token", code: human.Secret},
		{name: "an agent's token", code: agent.Secret, want: "agents do not answer"},
		{name: "wrong", code: "wrong", want: "this link was used, or is too old"},
		{name: "blank", code: " ", want: "this link was used, or is too old"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := *p
			p.tb = t
			tab := p.profile(browser.Options{NoScript: !c.script}).Tab()
			refused(tab, "403")
			tab.Open("/")
			tab.Fill("input[name=code]", c.code)
			tab.Press(browser.Enter)
			if c.want == "" {
				tab.Wait("header :: Ada")
				require.Equal(t, "/", tab.Path())
				return
			}
			require.Contains(t, tab.Text("[role=alert]"), c.want)
			require.Empty(t, tab.Cookies())
			require.Empty(t, browser.Eval[string](tab, `$("input[name=code]").value`), "the page does not send it back")
		})
	}
}

// TestWhereToAfterSigningIn follows a deep link as somebody who is not signed in yet.
func TestWhereToAfterSigningIn(t *testing.T) {
	p := newPlane(t)
	for _, c := range []struct{ link, want string }{
		{"/memory?q=pagination", "/memory?q=pagination"},
		{"/login?next=" + url.QueryEscape("//elsewhere.example/x"), "/"},
		{"/login?next=" + url.QueryEscape(`/\elsewhere.example`), "/"},
		{"/login?next=" + url.QueryEscape("https://elsewhere.example"), "/"},
		{"/login?next=" + url.QueryEscape("javascript:alert(1)"), "/"},
	} {
		t.Run(c.want+strings.Map(func(r rune) rune { // a name of a test has no slashes
			if r == '/' {
				return '_'
			}
			return r
		}, c.link), func(t *testing.T) {
			p := *p
			p.tb = t
			tab := p.profile(browser.Options{}).Tab()
			tab.Open(c.link)
			tab.Fill("input[name=code]", p.code("Bo"))
			tab.Press(browser.Enter)
			tab.Wait("header :: Bo")
			require.Equal(t, c.want, tab.Path())
		})
	}
}

// TestSignOut ends the session for good, in every tab.
func TestSignOut(t *testing.T) {
	p := newPlane(t)
	profile := p.profile(browser.Options{})
	tab := p.signIn(profile.Tab(), "Ada")
	other := profile.Tab()
	other.Open("/")
	kept := tab.Cookies()[0]
	tab.Click("button :: Sign out")
	tab.Wait("h1 :: Sign in")
	require.Empty(t, tab.Cookies())
	refused(other, "40[13]")
	other.Wait("h1 :: Sign in")
	// Whoever has kept the cookie has nothing.
	_, err := p.desk.Session(t.Context(), kept.Value)
	require.ErrorIs(t, err, revue.ErrDenied)
	tab.Back()
	require.False(t, tab.Has("header :: Ada"), "the page before is not kept")
}
