package inboxtest

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/browser"
)

// TestTokens makes a token, uses it and revokes it. Its secret is on one page, once.
func TestTokens(t *testing.T) {
	bothWays(t, func(t *testing.T, d *demo, tab *browser.Tab) {
		for _, kind := range []revue.TokenKind{revue.TokenAgent, revue.TokenHuman} {
			tab.Open("/settings")
			tab.Choose("select[name=kind]", string(kind))
			tab.Fill("input[name=owner]", "Ada")
			tab.Fill("input[name=label]", "new laptop, "+string(kind))
			tab.Choose("select[name=life]", "90")
			tab.Click("button :: Make it")
			tab.Wait("h1 :: The token is made")
			secret := browser.Eval[string](tab, `$("#secret").value`)
			require.NotContains(t, tab.Path(), secret)
			p, err := d.desk.Authenticate(t.Context(), secret)
			require.NoError(t, err)
			require.Equal(t, kind, p.Kind)
			require.False(t, p.ExpiresAt.IsZero())

			tab.Click("a :: Back to the settings")
			tab.Wait("h1 :: Settings")
			require.NotContains(t, browser.Eval[string](tab, "document.documentElement.outerHTML"), secret)
			for _, entry := range tab.History() {
				require.NotContains(t, entry, secret)
			}
			row := "#k-" + p.TokenID
			require.Contains(t, tab.Text(row), "new laptop")
			tab.Click(row + " button")
			_, err = d.desk.Authenticate(t.Context(), secret)
			require.NoError(t, err, "not by one press")
			tab.Click(row + " input[name=sure]")
			tab.Click(row + " button")
			tab.Gone(row)
			_, err = d.desk.Authenticate(t.Context(), secret)
			require.ErrorIs(t, err, revue.ErrDenied)
		}
	})
}

// TestTokenPageAgain loads the page of a new token anew: there is no second token, and no secret.
func TestTokenPageAgain(t *testing.T) {
	d := newDemo(t)
	tab := d.signedIn("Ada", browser.Options{})
	refused(tab, "409")
	tab.Open("/settings")
	tab.Fill("input[name=label]", "once")
	tab.Click("button :: Make it")
	tab.Wait("h1 :: The token is made")
	secret := browser.Eval[string](tab, `$("#secret").value`)
	before, err := d.admin("Ada").Tokens(t.Context())
	require.NoError(t, err)
	tab.Reload()
	tab.Wait("h1 :: No token was made now")
	require.NotContains(t, browser.Eval[string](tab, "document.documentElement.outerHTML"), secret)
	after, err := d.admin("Ada").Tokens(t.Context())
	require.NoError(t, err)
	require.Len(t, after, len(before))
}

// TestRevokeSession ends the session of another browser from the settings.
func TestRevokeSession(t *testing.T) {
	d := newDemo(t)
	tab := d.signedIn("Ada", browser.Options{})
	phone := d.signedIn("Ada", browser.Options{Width: 360, Height: 740})
	following(t, phone)
	tab.Open("/settings")
	require.Equal(t, 2, tab.Count("section[aria-labelledby=h-sessions] li"))
	require.Equal(t, 1, tab.Count("section[aria-labelledby=h-sessions] li form"), "not its own: that is to sign out")
	tab.Click("section[aria-labelledby=h-sessions] input[name=sure]")
	tab.Click("section[aria-labelledby=h-sessions] button")
	tab.Until(`$$("section[aria-labelledby=h-sessions] li").length === 1`)
	refused(phone, "40[13]")
	phone.Wait("h1 :: Sign in")
}

// TestRemoveMember takes a person out: every session of theirs ends.
func TestRemoveMember(t *testing.T) {
	d := newDemo(t)
	tab := d.signedIn("Ada", browser.Options{})
	bo := d.signedIn("Bo", browser.Options{})
	following(t, bo)
	tab.Open("/settings")
	members, err := d.admin("Ada").Members(t.Context())
	require.NoError(t, err)
	i := slices.IndexFunc(members, func(m revue.Member) bool { return m.Name == "Bo" })
	item := "#m-" + members[i].ID
	tab.Click(item + " input[name=sure]")
	tab.Click(item + " button")
	tab.Gone(item)
	refused(bo, "40[13]")
	bo.Wait("h1 :: Sign in")
	tab.Open("/decisions/" + d.decided("timestamps in JSON").ID)
	require.Contains(t, tab.Text("main"), "Bo", "what he decided stays")
}

// TestStreams renames, orders and mutes lanes.
func TestStreams(t *testing.T) {
	bothWays(t, func(t *testing.T, d *demo, tab *browser.Tab) {
		tab.Open("/settings")
		tab.Fill("#n-agents", "Everything else")
		tab.Fill("#p-agents", "1")
		tab.Click("#s-agents input[name=muted]")
		tab.Click("#s-agents button")
		tab.Wait("#s-agents :: set by Ada")
		tab.Fill("#p-infra", "7")
		tab.Click("#s-infra button")
		tab.Until(`$("#p-infra")?.defaultValue === "7"`)
		streams, err := d.admin("Ada").Streams(t.Context())
		require.NoError(t, err)
		require.Equal(t, revue.StreamSettings{Slug: "agents", Name: "Everything else", Position: 1, Muted: true}, streams[0].StreamSettings)
		tab.Open("/")
		lanes := strings.Join(tab.Texts("section.lane h2"), ", ")
		require.Regexp(t, "(?s)API.*Web app.*Data.*Infrastructure.*Everything else", lanes, "by position, the muted ones last")
		require.Contains(t, strings.Join(tab.Texts("section.lane.muted"), " "), "Should unused parameters fail the build?", "they wait in the inbox all the same")
		refused(tab, "422")
		tab.Open("/settings")
		tab.Fill("#n-infra", "bad \u202e name")
		tab.Click("#s-infra button")
		tab.Wait("main :: bidirectional")
		tab.Open("/")
		require.Contains(t, tab.Text("nav.lanes"), "Infrastructure")
	})
}

// TestConnect has a snippet for each harness, and no token.
func TestConnect(t *testing.T) {
	bothWays(t, func(t *testing.T, d *demo, tab *browser.Tab) {
		tab.Open("/settings/connect")
		for _, name := range []string{"Claude Code", "Cursor", "Codex"} {
			require.True(t, tab.Has("h2 :: "+name), name)
		}
		snippets := browser.Eval[string](tab, `$$("pre code").map((e) => e.textContent).join("\n")`)
		require.NotContains(t, snippets, "rvu_a_")
		require.Contains(t, snippets, d.url+"/mcp")
		if tab.Scripts() {
			require.Equal(t, tab.Count("pre[data-copy]"), tab.Count("button.copy"))
		}
	})
}

// TestOverview compares the figures with what happened.
func TestOverview(t *testing.T) {
	bothWays(t, func(t *testing.T, _ *demo, tab *browser.Tab) {
		tab.Click("nav a :: Overview")
		tab.Wait("h1 :: Overview")
		var asks, joined, reused int
		for _, s := range history() {
			asks += 1 + len(s.joined) + len(s.reusedBy)
			joined += len(s.joined)
			reused += len(s.reusedBy)
		}
		asks += 1 + 12 + 2 // dismissed; open; joined in the open ones
		joined += 2
		figures := map[string]string{}
		terms, values := tab.Texts("dl.figures dt"), tab.Texts("dl.figures dd")
		for i := range terms {
			figures[terms[i]] = values[i]
		}
		require.Equal(t, strconv.Itoa(asks), figures["Asks"])
		require.Equal(t, strconv.Itoa(joined), figures["Joined a card"])
		require.Equal(t, strconv.Itoa(reused), figures["Reused"])
		require.Equal(t, strconv.Itoa(joined+reused), figures["Interruptions saved"])
		require.Equal(t, "12", figures["Open now"])
		require.Equal(t, "11 min", figures["Median until answered"])
		require.GreaterOrEqual(t, tab.Count("figure.plot svg"), 2)
		tab.Click("summary :: The same as a table")
		require.GreaterOrEqual(t, tab.Count("details[open] tbody tr"), 10)
		tab.Click("table a :: API")
		tab.Wait("h1 :: Overview of API")
	})
}
