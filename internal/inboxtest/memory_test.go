package inboxtest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/browser"
)

// decided returns the decision on a question of the past.
func (d *demo) decided(question string) revue.Decision {
	d.tb.Helper()
	page, err := d.reviewer("test").Decisions(d.tb.Context(), revue.DecisionFilter{})
	require.NoError(d.tb, err)
	i := slices.IndexFunc(page.Items, func(dec revue.Decision) bool { return strings.Contains(dec.Question, question) })
	require.GreaterOrEqual(d.tb, i, 0, question)
	return page.Items[i]
}

func (d *demo) why(id string) revue.Explanation {
	d.tb.Helper()
	why, err := d.reviewer("test").Why(d.tb.Context(), id)
	require.NoError(d.tb, err)
	return why
}

// lookup is what an agent is told of a question.
func (d *demo) lookup(repo, text string) []revue.Match {
	d.tb.Helper()
	found, err := d.agent(claude, repo).Lookup(d.tb.Context(), revue.Query{Text: text})
	require.NoError(d.tb, err)
	return found.Matches
}

// TestSearchMemory finds what an agent would, and says what it would be told.
func TestSearchMemory(t *testing.T) {
	bothWays(t, func(t *testing.T, d *demo, tab *browser.Tab) {
		tab.Click("nav a :: Memory")
		tab.Wait("h1 :: Memory")
		require.Equal(t, len(history()), tab.Count("[data-row]"))
		const question = "Should public identifiers be UUIDs or sequential numbers?"
		tab.Fill("input[name=q]", question)
		tab.Fill("input[name=repo]", repoAPI)
		tab.Press(browser.Enter)
		tab.Wait("h2 :: What an agent is told")
		matches := d.lookup(repoAPI, question)
		require.NotEmpty(t, matches)
		require.Equal(t, revue.Apply, matches[0].ReuseGuidance)
		first := tab.Text("ol.found li")
		for _, want := range []string{question, "Uuid", "apply", "score", "confidence", "Ada", matches[0].Reason} {
			require.Contains(t, first, want)
		}
		require.Equal(t, len(matches), tab.Count("ol.found > li"))

		tab.Open("/memory?q=Should+the+web+client+retry+failed+writes+automatically%3F&repo=" + repoAPI)
		text := tab.Text("ol.found")
		require.Contains(t, text, "confirm")
		require.Contains(t, text, "retry failed reads")

		tab.Open("/memory?q=events+table+rows")
		require.Contains(t, tab.Text("main"), "310 million rows", "what agents shared is found too")

		tab.Open("/memory?q=zebra+crossing")
		require.Contains(t, tab.Text("main"), "Nothing is remembered for this")
		tab.Open("/memory?concepts=http")
		require.Equal(t, 3, tab.Count("[data-row]"))
	})
}

// TestWhy reads the story of a decision.
func TestWhy(t *testing.T) {
	bothWays(t, func(t *testing.T, d *demo, tab *browser.Tab) {
		dec := d.decided("Which HTTP status")
		tab.Open("/decisions/" + dec.ID)
		text := tab.Text("main")
		for _, want := range []string{dec.Question, "410", "Say in the body when it was cancelled.", "Decided by", "Ada", repoAPI, "clients stop asking for it", "invoices", dec.ID} {
			require.Contains(t, text, want)
		}
		why := d.why(dec.ID)
		require.Equal(t, len(why.Uses), tab.Count("[id^=u-]"))
		uses := strings.Join(tab.Texts("[id^=u-]"), "\n")
		for _, want := range []string{claude, cursor, codex, gemini, "reused", "opened the card", "joined the card"} {
			require.Contains(t, uses, want)
		}
		tab.Click("summary :: journal")
		require.Contains(t, tab.Text("details[open]"), "lot.answered")
		tab.Click("a :: the question as it was asked")
		tab.Wait("h1 :: " + dec.Question)
		tab.Click("a :: What is remembered of it")
		tab.Wait("h2 :: Uses")

		var receipt revue.Receipt
		text = browser.Eval[string](tab, `fetch($("dd a[href^='/receipts/']").href).then((r) => r.text())`)
		require.NoError(t, json.Unmarshal([]byte(text), &receipt))
		require.Equal(t, dec.ID, receipt.Decision)
		require.NotEmpty(t, receipt.JWS)
	})
}

// TestCorrections makes each correction and takes it back, and looks at what agents are told after each.
func TestCorrections(t *testing.T) {
	bothWays(t, func(t *testing.T, d *demo, tab *browser.Tab) {
		const question = "Should public identifiers be UUIDs or sequential numbers?"
		dec := d.decided("public identifiers")
		guidance := func(repo string) revue.Guidance {
			matches := d.lookup(repo, question)
			if len(matches) == 0 || matches[0].DecisionID != dec.ID {
				return ""
			}
			return matches[0].ReuseGuidance
		}
		require.Equal(t, revue.Apply, guidance(repoAPI))
		for _, c := range []struct {
			verb    revue.Verb
			note    string
			after   string // of expires_after
			inRepo  revue.Guidance
			outside revue.Guidance
		}{
			{verb: revue.VerbWrong, note: "It was meant for test data.", inRepo: "", outside: ""},
			{verb: revue.VerbTooBroad, inRepo: revue.Confirm, outside: revue.Confirm},
			{verb: revue.VerbOnlyThisRepo, note: "The web app has short links.", inRepo: revue.Apply, outside: revue.Confirm},
			{verb: revue.VerbAskNextTime, inRepo: revue.Confirm, outside: revue.Confirm},
			{verb: revue.VerbExpiresAfter, after: "30", inRepo: revue.Apply, outside: guidance("")},
			{verb: revue.VerbExpiresAfter, after: "date", inRepo: revue.Apply, outside: guidance("")},
		} {
			tab.Open("/decisions/" + dec.ID)
			tab.Click("label[for=v-" + string(c.verb) + "]")
			var want time.Time
			switch c.after {
			case "30":
				tab.Choose("select[name=after]", c.after)
				want = time.Now().Add(30 * day)
			case "date":
				want = time.Now().UTC().AddDate(0, 2, 0).Truncate(day)
				tab.Choose("input[name=date]", want.Format(time.DateOnly))
			}
			tab.Fill("textarea[name=note]", c.note)
			tab.Click("button :: Correct")
			tab.Wait("ol.found :: in force")
			standing := d.why(dec.ID).Standing
			require.Len(t, standing, 1, c.verb)
			require.Equal(t, c.verb, standing[0].Verb)
			require.Equal(t, c.note, standing[0].Note)
			require.Equal(t, "Ada", standing[0].By.Name)
			require.Equal(t, "web", standing[0].By.Via)
			if !want.IsZero() {
				require.WithinDuration(t, want, standing[0].Expires, day+time.Minute)
			}
			require.Equal(t, c.inRepo, guidance(repoAPI), c.verb)
			require.Equal(t, c.outside, guidance(""), c.verb)
			tab.Click("#k-" + standing[0].ID + " button")
			tab.Wait("#k-" + standing[0].ID + " :: undone")
			require.Empty(t, d.why(dec.ID).Standing)
			require.Equal(t, revue.Apply, guidance(repoAPI), "as before %s", c.verb)
		}
		require.Equal(t, 12, tab.Count("li[id^=k-]"), "nothing is edited: each correction and each undo is there")
	})
}

// TestSupersession follows the chain of a decision that another one replaced.
func TestSupersession(t *testing.T) {
	d := newDemo(t)
	old := d.decided("library should the web app use for charts")
	_, err := d.reviewer("Bo").Correct(t.Context(), revue.Correction{DecisionID: old.ID, Verb: revue.VerbAskNextTime})
	require.NoError(t, err)
	past := history()
	again := past[len(past)-2].ask
	lot := d.ask(codex, repoWeb, again)
	tab := d.signedIn("Ada", browser.Options{})
	tab.Open("/lots/" + lot.ID)
	tab.Wait(".pinned :: Which library should the web app use for charts?")
	tab.Click("label :: Uplot")
	tab.Click("[data-send]")
	tab.Wait("article :: Answered by Ada")
	tab.Click("a :: What is remembered of it")
	tab.Wait("h2 :: What it replaced")
	tab.Click(".chain a :: Which library")
	tab.Until("location.pathname === '/decisions/" + old.ID + "'")
	tab.Wait("main :: superseded")
	require.Contains(t, tab.Text(".chain"), "newer")
}

// TestRemoveNote takes back what an agent shared.
func TestRemoveNote(t *testing.T) {
	bothWays(t, func(t *testing.T, d *demo, tab *browser.Tab) {
		tab.Open("/memory/notes")
		require.Equal(t, 2, tab.Count("ul.found > li"))
		tab.Click("li button :: Remove")
		tab.Until(`$$("ul.found > li").length === 1`)
		page, err := d.reviewer("Bo").Contexts(t.Context(), revue.ContextFilter{})
		require.NoError(t, err)
		require.Len(t, page.Items, 1)
	})
}

// TestPurge blanks a text for good, and not by accident.
func TestPurge(t *testing.T) {
	d := newDemo(t)
	dec := d.decided("log retention")
	tab := d.signedIn("Ada", browser.Options{})
	tab.Open("/decisions/" + dec.ID)
	tab.Click("summary :: Purge the text for good")
	tab.Click("button :: Purge")
	require.False(t, d.why(dec.ID).Decision.Purged, "the word is missing")
	tab.Fill("input[name=confirm]", "purge")
	tab.Click("button :: Purge")
	tab.Wait("main :: was purged")
	require.True(t, d.why(dec.ID).Decision.Purged)
	require.NotContains(t, tab.Text("main"), "log retention")
	tab.Open("/lots/" + dec.LotID)
	require.NotContains(t, tab.Text("main"), "log retention")
}
