package inbox_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/harness"
	"github.com/revuehq/revue/internal/httpguard"
	"github.com/revuehq/revue/transport/inbox"
)

func (o *office) tokens() []revue.Token {
	o.t.Helper()
	all, err := o.desk.Admin(o.me).Tokens(o.t.Context())
	require.NoError(o.t, err)
	return all
}

// secretOf returns the secret that a page shows.
func secretOf(t *testing.T, r response) string {
	t.Helper()
	for n := range parsed(t, r).Descendants() {
		if attr(n, "id") == "secret" {
			return attr(n, "value")
		}
	}
	return ""
}

// The secret of a new token is in the answer to the form that made it, and nowhere else.
func TestTokenShownOnce(t *testing.T) {
	o := newOffice(t)
	for _, kind := range []revue.TokenKind{revue.TokenAgent, revue.TokenHuman} {
		form := o.get("/settings").form(t, "/settings/tokens")
		form.Set("kind", string(kind))
		form.Set("owner", "Ada")
		form.Set("label", "laptop of "+string(kind))
		form.Set("life", "90")
		before := len(o.tokens())
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, o.url+"/settings/tokens", strings.NewReader(form.Encode()))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Sec-Fetch-Site", "same-origin")
		res, err := o.client.Do(req)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, http.StatusOK, res.StatusCode)
		require.Equal(t, "no-store", res.Header.Get("Cache-Control"))
		require.Equal(t, "/settings/tokens", res.Request.URL.RequestURI(), "no redirect")
		require.Len(t, o.tokens(), before+1)

		// A reload sends the very same form: no other token, and no secret.
		again := o.post("/settings/tokens", form)
		require.Equal(t, http.StatusConflict, again.status)
		require.Contains(t, again.text(t), "No token was made now")
		require.Contains(t, again.text(t), "shown once")
		require.Empty(t, secretOf(t, again))
		require.Len(t, o.tokens(), before+1)

		// What was changed in the form is another token, whose secret works.
		form.Set("label", "another of "+string(kind))
		made := o.post("/settings/tokens", form)
		require.Equal(t, http.StatusOK, made.status)
		secret := secretOf(t, made)
		p, err := o.desk.Authenticate(t.Context(), secret)
		require.NoError(t, err)
		require.Equal(t, kind, p.Kind)
		require.WithinDuration(t, time.Now().Add(90*24*time.Hour), p.ExpiresAt, time.Minute)
		for _, path := range []string{"/settings", "/settings/connect", "/overview", "/"} {
			require.NotContains(t, o.get(path).body, secret, path)
		}
		list := o.get("/settings").text(t)
		require.Contains(t, list, "laptop of "+string(kind))
		require.Contains(t, list, "another of "+string(kind))
	}
	form := o.get("/settings").form(t, "/settings/tokens")
	for _, bad := range []url.Values{{"kind": {"session"}}, {"kind": {"agent"}, "life": {"-1"}}, {"kind": {"agent"}, "label": {"a\u202eb"}}, {}} {
		sent := url.Values{"csrf": form["csrf"], "call": form["call"]}
		for k, v := range bad {
			sent[k] = v
		}
		before := len(o.tokens())
		require.Equal(t, http.StatusUnprocessableEntity, o.post("/settings/tokens", sent).status, bad)
		require.Len(t, o.tokens(), before)
	}
}

func TestRevokeToken(t *testing.T) {
	o := newOffice(t)
	tok, err := o.desk.Admin(revue.Human{Workspace: "default", ID: "local", Name: "Ada", Via: "cli", Local: true}).CreateToken(t.Context(), revue.NewToken{Kind: revue.TokenAgent, Owner: "Ada", Label: "ci"})
	require.NoError(t, err)
	_, err = o.desk.Authenticate(t.Context(), tok.Secret)
	require.NoError(t, err)
	path := "/settings/tokens/" + tok.ID + "/revoke"
	page := o.get("/settings")
	require.Contains(t, page.text(t), "ci agent of Ada "+tok.ID)
	form := page.form(t, path)
	unsure := o.post(path, form)
	require.Equal(t, http.StatusUnprocessableEntity, unsure.status)
	require.Contains(t, unsure.text(t), "nothing was done")
	_, err = o.desk.Authenticate(t.Context(), tok.Secret)
	require.NoError(t, err)

	form.Set("sure", "yes")
	done := o.post(path, form)
	require.Equal(t, "/settings", done.at.Path)
	require.Contains(t, done.text(t), "opens nothing any more")
	require.Contains(t, done.text(t), "Tokens that ended (1)")
	_, err = o.desk.Authenticate(t.Context(), tok.Secret)
	require.ErrorIs(t, err, revue.ErrDenied)
	form.Set("sure", "yes")
	require.Equal(t, http.StatusNotFound, o.post("/settings/tokens/tok_none/revoke", form).status)
}

// A token of another workspace is not there.
func TestTokensElsewhere(t *testing.T) {
	o := newOffice(t)
	root := o.desk.Admin(revue.Human{Workspace: "other", ID: "local", Name: "Eve", Via: "cli", Local: true})
	_, err := root.CreateWorkspace(t.Context(), "other")
	require.NoError(t, err)
	tok, err := root.CreateToken(t.Context(), revue.NewToken{Kind: revue.TokenAgent, Owner: "Eve", Label: "hers"})
	require.NoError(t, err)
	page := o.get("/settings")
	require.NotContains(t, page.body, tok.ID)
	require.NotContains(t, page.body, "Eve")
	form := page.form(t, "/settings/tokens")
	form.Set("sure", "yes")
	require.Equal(t, http.StatusNotFound, o.post("/settings/tokens/"+tok.ID+"/revoke", form).status)
	_, err = o.desk.Authenticate(t.Context(), tok.Secret)
	require.NoError(t, err)
}

func TestSessionsList(t *testing.T) {
	o := newOffice(t)
	other := o.signIn("Grace")
	page := o.get("/settings")
	require.Equal(t, 1, strings.Count(page.text(t), "this one"))
	var mine, hers string
	for _, tok := range o.tokens() {
		switch {
		case tok.Kind == revue.TokenSession && tok.Owner == "Grace":
			hers = tok.ID
		case tok.Kind == revue.TokenSession:
			mine = tok.ID
		}
	}
	path := "/settings/tokens/" + hers + "/revoke"
	form := page.form(t, path)
	form.Set("sure", "yes")
	require.Equal(t, http.StatusOK, o.post(path, form).status)
	was := o.client
	o.client = other
	require.Equal(t, "/login", o.get("/settings").at.Path, "her session has ended")
	o.client = was
	require.Equal(t, "/settings", o.get("/settings").at.Path)

	form = o.get("/settings").form(t, "/settings/tokens")
	require.Equal(t, "/login", o.post("/settings/tokens/"+mine+"/revoke", form).at.Path, "one's own is to sign out")
}

func TestMembersList(t *testing.T) {
	o := newOffice(t)
	other := o.signIn("Grace")
	members, err := o.desk.Admin(o.me).Members(t.Context())
	require.NoError(t, err)
	require.Len(t, members, 2)
	path := "/settings/members/" + members[1].ID + "/remove"
	form := o.get("/settings").form(t, path)
	require.Equal(t, http.StatusUnprocessableEntity, o.post(path, form).status)
	form.Set("sure", "yes")
	done := o.post(path, form)
	require.Contains(t, done.text(t), "That member is removed")
	require.NotContains(t, done.body, path)
	require.Contains(t, done.text(t), "1 removed")
	o.client = other
	require.Equal(t, "/login", o.get("/settings").at.Path)
}

func TestStreamForms(t *testing.T) {
	o := newOffice(t)
	o.ask("claude", revue.Ask{Question: "Which colour?", Stream: "web-app"})
	path := "/settings/streams"
	form := o.get("/settings").form(t, path)
	require.Equal(t, "web-app", form.Get("slug"))
	form.Set("name", "The web app")
	form.Set("position", "3")
	form.Set("muted", "yes")
	done := o.post(path, form)
	require.Contains(t, done.text(t), "The stream is set")
	streams, err := o.desk.Admin(o.me).Streams(t.Context())
	require.NoError(t, err)
	require.Equal(t, revue.StreamSettings{Slug: "web-app", Name: "The web app", Position: 3, Muted: true}, streams[0].StreamSettings)
	require.Equal(t, "Ada", streams[0].ChangedBy.Name)
	require.Contains(t, done.body, `value="The web app"`)

	for _, bad := range []string{"x", "-1", "1001", "99999999999999999999", strings.Repeat("9", 500)} {
		form.Set("position", bad)
		res := o.post(path, form)
		require.Equal(t, http.StatusUnprocessableEntity, res.status, bad)
		require.Contains(t, res.text(t), "position")
	}
	form.Set("position", "")
	form.Del("muted")
	require.Equal(t, http.StatusOK, o.post(path, form).status)
	streams, err = o.desk.Admin(o.me).Streams(t.Context())
	require.NoError(t, err)
	require.Equal(t, revue.StreamSettings{Slug: "web-app", Name: "The web app"}, streams[0].StreamSettings)
}

func TestSettingsPlane(t *testing.T) {
	o := newOffice(t)
	keys, err := o.desk.Keys(t.Context())
	require.NoError(t, err)
	text := o.get("/settings").text(t)
	for _, k := range keys {
		require.Contains(t, text, k.ID)
	}
	require.Contains(t, text, "Workspace default")
	require.Contains(t, text, "curl -fsS "+o.url+"/.well-known/jwks.json")
	require.Contains(t, text, "revue verify receipt.json --keys keys.json")
}

// No credential of an agent, nor a human's in a header, opens the settings: they are for sessions alone.
func TestSettingsWantASession(t *testing.T) {
	o := newOffice(t)
	admin := o.desk.Admin(revue.Human{Workspace: "default", ID: "local", Name: "Ada", Via: "cli", Local: true})
	for _, kind := range []revue.TokenKind{revue.TokenAgent, revue.TokenHuman} {
		tok, err := admin.CreateToken(t.Context(), revue.NewToken{Kind: kind, Owner: "Ada", Label: "x"})
		require.NoError(t, err)
		for _, path := range []string{"/settings", "/settings/connect", "/overview", "/memory", "/memory/notes", "/decisions/x", "/receipts/x"} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, o.url+path, nil)
			require.NoError(t, err)
			req.Header.Set("Authorization", "Bearer "+tok.Secret)
			req.AddCookie(&http.Cookie{Name: "revue_session", Value: tok.Secret, HttpOnly: true, Secure: true, SameSite: http.SameSiteLaxMode})
			res := o.do(&http.Client{}, req)
			require.Equal(t, "/login", res.at.Path, path)
		}
	}
}

// Each harness has its snippets, which name the plane as it is reached, and no token.
func TestConnectPage(t *testing.T) {
	o := newOffice(t)
	page := o.get("/settings/connect")
	require.Equal(t, http.StatusOK, page.status)
	var shown []string
	for n := range parsed(t, page).Descendants() {
		if n.Data == "code" && n.Parent.Data == "pre" {
			require.NotNil(t, n.FirstChild)
			shown = append(shown, n.FirstChild.Data)
		}
	}
	i := 0
	for _, h := range harness.All() {
		require.Contains(t, page.text(t), h.Name)
		for _, way := range h.Ways() {
			s, err := h.Snippet(way, o.url)
			require.NoError(t, err)
			require.Equal(t, strings.TrimSpace(s.Text), shown[i])
			i++
		}
	}
	require.Len(t, shown, i)
	require.NotRegexp(t, `rvu_[ahs]_`, page.body)
	clean(t, page)

	// The address that the plane was told it has goes before that of the request.
	srv := httptest.NewServer(httpguard.New(nil)(inbox.New(o.desk, o.desk, &inbox.Options{BaseURL: "http://10.0.0.7:7433/team/"}).Handler()))
	t.Cleanup(srv.Close)
	o.url = srv.URL
	o.client = o.signIn("Ada")
	got := o.get("/settings/connect")
	require.Contains(t, got.body, "http://10.0.0.7:7433/team/mcp")
	require.NotContains(t, got.body, srv.URL)
	require.Contains(t, got.text(t), "This address is without TLS")
}

// Every stream that an agent can make can be set, whatever its slug would be as a part of an address.
func TestOddStreams(t *testing.T) {
	o := newOffice(t)
	for _, slug := range []string{"a..", "a-", "a.b", "a_b", "9", strings.Repeat("x", revue.MaxStream)} {
		o.ask("claude", revue.Ask{Question: "Which colour is " + slug + "?", Stream: slug})
	}
	page := o.get("/settings")
	streams, err := o.desk.Admin(o.me).Streams(t.Context())
	require.NoError(t, err)
	require.Len(t, streams, 6)
	for _, st := range streams {
		form := url.Values{"csrf": page.form(t, "/settings/streams")["csrf"], "slug": {st.Slug}, "name": {"named " + st.Slug}, "muted": {"yes"}}
		require.Contains(t, page.body, `name="slug" value="`+st.Slug+`"`)
		require.Equal(t, http.StatusOK, o.post("/settings/streams", form).status, st.Slug)
	}
	streams, err = o.desk.Admin(o.me).Streams(t.Context())
	require.NoError(t, err)
	require.Len(t, streams, 6)
	for _, st := range streams {
		require.Equal(t, "named "+st.Slug, st.Name)
		require.True(t, st.Muted)
		one := o.get("/overview?" + url.Values{"stream": {st.Slug}}.Encode())
		require.Contains(t, one.text(t), "Asks 1")
	}
}

// What browsers and members are called is shown whole and does nothing.
func TestHostileSettings(t *testing.T) {
	o := newOffice(t)
	admin := o.desk.Admin(revue.Human{Workspace: "default", ID: "local", Name: "Ada", Via: "cli", Local: true})
	for _, kind := range []revue.TokenKind{revue.TokenAgent, revue.TokenHuman} {
		_, err := admin.CreateToken(t.Context(), revue.NewToken{Kind: kind, Owner: "<img src=x onerror=alert(1)>", Label: plainNasty})
		require.NoError(t, err)
	}
	in, err := admin.SignIn(t.Context())
	require.NoError(t, err)
	_, err = o.desk.OpenSession(t.Context(), in.Code, "\u202eMozilla"+plainNasty)
	require.NoError(t, err)
	_, err = admin.SetStream(t.Context(), revue.StreamSettings{Slug: "web", Name: `"><script>alert(1)</script>`})
	require.NoError(t, err)
	page := o.get("/settings")
	clean(t, page)
	require.Contains(t, page.text(t), "<img src=x onerror=alert(1)>")
	require.Contains(t, page.text(t), "Mozilla"+plainNasty)
	require.NotContains(t, page.body, "\u202e")
	o.ask("claude", revue.Ask{Question: "Which colour?", Stream: "web"})
	clean(t, o.get("/overview"))

	form := page.form(t, "/settings/tokens")
	form.Set("kind", "agent")
	form.Set("owner", plainNasty)
	form.Set("label", "<b>")
	made := o.post("/settings/tokens", form)
	require.Equal(t, http.StatusOK, made.status)
	clean(t, made)
	require.Contains(t, made.text(t), plainNasty)
}
