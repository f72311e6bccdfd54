package inboxtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/browser"
)

// bothWays runs a flow with scripts and without: everything a person reads and answers works in both.
func bothWays(t *testing.T, flow func(t *testing.T, d *demo, tab *browser.Tab)) {
	t.Helper()
	for _, c := range []struct {
		name string
		none bool
	}{{"with scripts", false}, {"without scripts", true}} {
		t.Run(c.name, func(t *testing.T) {
			d := newDemo(t)
			tab := d.profile(browser.Options{NoScript: c.none}).Tab()
			if c.none {
				tab.Open("/login")
				tab.Fill("input[name=code]", d.code("Ada"))
				tab.Click("form[action='/login'] button")
				tab.Wait("header :: Ada")
			} else {
				d.signIn(tab, "Ada")
			}
			flow(t, d, tab)
		})
	}
}

// row is the selector of a lot in the list.
func row(l revue.Lot) string { return fmt.Sprintf("[data-row=%q]", l.ID) }

// told returns what the agent gets who asks again.
func (p *plane) told(name, repo string, a revue.Ask) revue.Outcome {
	p.tb.Helper()
	a.Wait = 0
	out, err := p.agent(name, repo).Request(p.tb.Context(), a)
	require.NoError(p.tb, err)
	return out
}

// asked is the ask that a lot was made of.
func asked(l revue.Lot) revue.Ask {
	return revue.Ask{
		Kind: l.Kind, Question: l.Question, Options: l.Options, Recommendation: l.Recommendation, Context: l.Context,
		Concepts: l.Concepts, Files: l.Files, Affected: l.Affected, Stream: l.Stream,
	}
}

// byAda checks who answered.
func byAda(t *testing.T, l revue.Lot) *revue.Answered {
	t.Helper()
	require.Equal(t, revue.StatusAnswered, l.Status)
	require.Equal(t, "Ada", l.Answer.By.Name)
	require.Equal(t, "web", l.Answer.By.Via)
	return l.Answer
}

// TestInboxShowsWhatWaits reads the list.
func TestInboxShowsWhatWaits(t *testing.T) {
	bothWays(t, func(t *testing.T, d *demo, tab *browser.Tab) {
		require.Equal(t, "(12) Inbox · revue", tab.Title())
		require.Equal(t, 12, tab.Count("[data-row]"))
		var lanes []string
		for _, s := range tab.Texts("section.lane h2") {
			lanes = append(lanes, strings.TrimSpace(strings.SplitN(s, "\n", 2)[0]))
		}
		require.Len(t, lanes, 5)
		for i, want := range []string{"Infrastructure", "API", "Web app", "Data", "agents"} {
			require.Contains(t, lanes[i], want, "in the order of the settings")
		}
		of := tab.Text("#r-" + d.pagination.ID)
		for _, want := range []string{d.pagination.Question, "3 agents wait", "52 min", "Ada"} {
			require.Contains(t, of, want)
		}
		require.Contains(t, tab.Text("#r-"+d.bucket.ID), "Approval")
		require.Contains(t, tab.Text("#r-"+d.rotate.ID), "expires")
		require.Contains(t, tab.Text("#r-"+d.retry.ID), "decided before")
	})
}

// TestCardShowsEverything reads a card whole.
func TestCardShowsEverything(t *testing.T) {
	bothWays(t, func(t *testing.T, d *demo, tab *browser.Tab) {
		tab.Click(row(d.pagination))
		tab.Wait("article h1")
		text := tab.Text("article")
		for _, want := range []string{
			d.pagination.Question, "page 500", "610 ms", "https://tracker.example.com/API-482", "Offset and limit", "Stable while orders arrive",
			"recommended by the agent", "For the orders API, which pagination should we use?", "internal/orders/list.go", "The mobile app before 4.2", claude, cursor, gemini,
		} {
			require.Contains(t, text, want)
		}
		require.Equal(t, 1, tab.Count("article table"))
		tab.Open("/lots/" + d.retry.ID)
		require.Equal(t, 1, tab.Count("article pre"))
		text = tab.Text("article")
		require.Contains(t, text, "Should the web client retry failed reads automatically?", "the precedent")
		require.Contains(t, text, "differs")
		added := browser.Eval[string](tab, `getComputedStyle($$("article pre *").find((e) => e.children.length === 0 && e.textContent.startsWith("+") && !e.textContent.startsWith("+++"))).backgroundColor`)
		removed := browser.Eval[string](tab, `getComputedStyle($$("article pre *").find((e) => e.children.length === 0 && e.textContent.startsWith("-") && !e.textContent.startsWith("---"))).backgroundColor`)
		require.NotEqual(t, added, removed, "a diff has colours")
		tab.Open("/lots/" + d.bucket.ID)
		text = tab.Text("article")
		for _, want := range []string{"acme-old-exports", "412 GB", "acme-tmp-uploads", "14 months", "Approve", "Decline"} {
			require.Contains(t, text, want)
		}
	})
}

// TestAnswerWithTheMouse picks an option, with a note, as a rule.
func TestAnswerWithTheMouse(t *testing.T) {
	bothWays(t, func(t *testing.T, d *demo, tab *browser.Tab) {
		tab.Click(row(d.pagination))
		tab.Click("label :: Offset and limit")
		tab.Fill("textarea[name=note]", "Until the mobile app is at 4.2.\nThen we talk again.")
		tab.Click("label :: as a rule")
		tab.Click("[data-send]")
		tab.Wait("article :: Answered by Ada")
		require.Contains(t, tab.Text("article"), "just now")
		a := byAda(t, d.lot(d.pagination.ID))
		require.Equal(t, "offset", a.Value)
		require.False(t, a.FreeText)
		require.Equal(t, "Until the mobile app is at 4.2.\nThen we talk again.", a.Note)
		require.Equal(t, revue.RememberRule, a.Remember)
		for name, ask := range map[string]revue.Ask{claude: asked(d.pagination), cursor: asked(d.pagination)} {
			out := d.told(name, repoAPI, ask)
			require.Equal(t, revue.OutcomeAnswered, out.Status)
			require.Equal(t, "offset", out.Answer)
			require.Equal(t, a.Note, out.Note)
			require.Equal(t, "Ada", out.DecidedBy.Name)
		}
		tab.Open("/")
		require.Equal(t, 0, tab.Count(row(d.pagination)))
		require.Equal(t, "(11) Inbox · revue", tab.Title())
	})
}

// TestAnswerWithTheKeyboard never touches the mouse.
func TestAnswerWithTheKeyboard(t *testing.T) {
	d := newDemo(t)
	tab := d.signedIn("Ada", browser.Options{})
	first := tab.Attr("[data-row]", "data-row")
	tab.Press("j")
	tab.Until(`document.activeElement?.dataset.row === "` + first + `"`)
	tab.Press("j", "j", "k")
	second := browser.Eval[string](tab, `$$("[data-row]")[1].dataset.row`)
	tab.Until(`document.activeElement?.dataset.row === "` + second + `"`)
	tab.Press("/")
	tab.Until(`document.activeElement?.matches("[data-search]")`)
	tab.Press("j", "1") // are text there
	require.Equal(t, "j1", browser.Eval[string](tab, "document.activeElement.value"))
	tab.Press(browser.Escape)
	tab.Open("/")

	for range 20 {
		tab.Press("j")
		if browser.Eval[string](tab, `document.activeElement?.dataset.row ?? ""`) == d.partition.ID {
			break
		}
	}
	tab.Press(browser.Enter)
	tab.Wait("article h1 :: " + d.partition.Question)
	tab.Press("2")
	tab.Until(`$any("#o-1").checked && document.activeElement?.id === "o-1"`)
	require.Equal(t, revue.StatusOpen, d.lot(d.partition.ID).Status, "a single key decides nothing")
	tab.Press(browser.Enter)
	tab.Wait("article :: Answered by Ada")
	require.Equal(t, "month", byAda(t, d.lot(d.partition.ID)).Value)
	tab.Press("u")
	tab.Until(`location.pathname === "/"`)

	t.Run("approve", func(t *testing.T) {
		tab.Open("/lots/" + d.bucket.ID)
		tab.Press("a")
		tab.Until(`document.activeElement?.textContent.trim() === "Approve"`)
		require.Equal(t, revue.StatusOpen, d.lot(d.bucket.ID).Status)
		tab.Press(browser.Enter)
		tab.Wait("article :: Answered by Ada")
		require.Equal(t, revue.Approved, byAda(t, d.lot(d.bucket.ID)).Value)
	})
	t.Run("decline", func(t *testing.T) {
		tab.Open("/lots/" + d.rotate.ID)
		tab.Press("d")
		tab.Until(`document.activeElement?.textContent.trim() === "Decline"`)
		require.Equal(t, revue.StatusOpen, d.lot(d.rotate.ID).Status)
		tab.Press(browser.Enter)
		tab.Wait("article :: Answered by Ada")
		require.Equal(t, revue.Declined, byAda(t, d.lot(d.rotate.ID)).Value)
	})
	t.Run("dismiss", func(t *testing.T) {
		tab.Open("/lots/" + d.theme.ID)
		tab.Press("e")
		tab.Until(`document.activeElement?.matches("[data-dismiss], #reason")`)
		require.Equal(t, revue.StatusOpen, d.lot(d.theme.ID).Status)
	})
	t.Run("help", func(t *testing.T) {
		tab.Open("/")
		tab.PressShift("?")
		tab.Wait("dialog[open] :: Keys")
		tab.Press("j") // is for nobody while it is open
		require.Empty(t, browser.Eval[string](tab, `document.activeElement?.dataset.row ?? ""`))
		tab.Press(browser.Escape)
		tab.Gone("dialog[open]")
	})
	t.Run("places", func(*testing.T) {
		for key, path := range map[string]string{"m": "/memory", "o": "/overview", "s": "/settings", "h": "/history", "i": "/"} {
			tab.Press("g", key)
			tab.Until("location.pathname === '" + path + "' && document.readyState === 'complete'")
		}
	})
	t.Run("skip link", func(t *testing.T) {
		tab.Open("/")
		tab.Press(browser.TabKey)
		require.Contains(t, tab.Focused(), "Skip to content")
		require.True(t, tab.Has("a.skip"), "it is shown once it has the focus")
		tab.Press(browser.Enter)
		tab.Until(`document.activeElement?.id === "main"`)
	})
}

// TestOwnWords answers a question that has no options, and one that has.
func TestOwnWords(t *testing.T) {
	bothWays(t, func(t *testing.T, d *demo, tab *browser.Tab) {
		tab.Open("/lots/" + d.naming.ID)
		tab.Fill("textarea[name=text]", "Saved search.\n\nNothing shorter: \"view\" is taken & <b>means</b> another thing.")
		tab.Fill("textarea[name=note]", "Docs too, please.")
		tab.Click("label :: once")
		tab.Click("[data-send]")
		tab.Wait("article :: Answered by Ada")
		a := byAda(t, d.lot(d.naming.ID))
		require.True(t, a.FreeText)
		require.Equal(t, "Saved search.\n\nNothing shorter: \"view\" is taken & <b>means</b> another thing.", a.Value)
		require.Equal(t, "Docs too, please.", a.Note)
		require.Equal(t, revue.RememberOnce, a.Remember)
		require.Contains(t, tab.Text("article"), "<b>means</b>", "what a human types is text too")

		tab.Open("/lots/" + d.theme.ID)
		tab.Click("label :: In your own words")
		tab.Fill("textarea[name=text]", "Keep it until June, then remove it.")
		tab.Click("[data-send]")
		tab.Wait("article :: Answered by Ada")
		a = byAda(t, d.lot(d.theme.ID))
		require.True(t, a.FreeText)
		require.Equal(t, "Keep it until June, then remove it.", a.Value)
		out := d.told(gemini, repoWeb, asked(d.theme))
		require.Equal(t, "Keep it until June, then remove it.", out.Answer)
		require.True(t, out.FreeText)
	})
}

// TestNothingIsSentByAccident presses the button of a form that says nothing.
func TestNothingIsSentByAccident(t *testing.T) {
	bothWays(t, func(t *testing.T, d *demo, tab *browser.Tab) {
		tab.Open("/lots/" + d.partition.ID)
		require.Zero(t, tab.Count("input[name=choice]:checked"), "nothing is chosen beforehand, the recommendation neither")
		tab.Click("[data-send]")
		tab.Open("/lots/" + d.naming.ID)
		refused(tab, "422")
		tab.Fill("textarea[name=text]", "  \n ")
		tab.Click("[data-send]")
		tab.Wait("[role=alert] :: blank")
		for _, l := range []revue.Lot{d.partition, d.naming} {
			require.Equal(t, revue.StatusOpen, d.lot(l.ID).Status)
		}
	})
}

// TestUntick leaves out a wording that does not mean the same.
func TestUntick(t *testing.T) {
	bothWays(t, func(t *testing.T, d *demo, tab *browser.Tab) {
		tab.Open("/lots/" + d.pagination.ID)
		require.Equal(t, 1, tab.Count("input[name=member]"))
		require.Equal(t, 1, tab.Count("input[name=member]:checked"))
		tab.Click("input[name=member]")
		tab.Click("label :: Cursor")
		tab.Click("[data-send]")
		tab.Wait("article :: Answered by Ada")
		require.Contains(t, tab.Text("article"), "Still open")
		require.Equal(t, "cursor", byAda(t, d.lot(d.pagination.ID)).Value)
		other := asked(d.pagination)
		other.Question = "For the orders API, which pagination should we use?"
		require.Equal(t, revue.OutcomePending, d.told(gemini, repoAPI, other).Status)
		require.Equal(t, revue.OutcomeAnswered, d.told(cursor, repoAPI, asked(d.pagination)).Status)
		tab.Click("section a :: For the orders API")
		tab.Wait("h1 :: For the orders API")
		tab.Click("label :: Both, offset deprecated")
		tab.Click("[data-send]")
		tab.Wait("article :: Answered by Ada")
		require.Equal(t, "both", d.told(gemini, repoAPI, other).Answer)
	})
}

// TestTicked settles another wording with the card.
func TestTicked(t *testing.T) {
	bothWays(t, func(t *testing.T, d *demo, tab *browser.Tab) {
		tab.Open("/lots/" + d.pagination.ID)
		tab.Click("label :: Cursor")
		tab.Click("[data-send]")
		tab.Wait("article :: Answered by Ada")
		other := asked(d.pagination)
		other.Question = "For the orders API, which pagination should we use?"
		require.Equal(t, "cursor", d.told(gemini, repoAPI, other).Answer)
	})
}

// TestSameAnswer says that an earlier decision holds here too.
func TestSameAnswer(t *testing.T) {
	bothWays(t, func(t *testing.T, d *demo, tab *browser.Tab) {
		tab.Open("/lots/" + d.retry.ID)
		tab.Click(".pinned a :: retry failed reads")
		tab.Wait("h1 :: retry failed reads")
		tab.Back()
		tab.Click("button :: Same answer")
		tab.Wait("article :: Answered by Ada")
		a := byAda(t, d.lot(d.retry.ID))
		require.Equal(t, "yes", a.Value)
		require.Equal(t, d.retry.Pinned[0].DecisionID, a.Confirms)
	})
}

// TestApprovals approves and declines with the mouse.
func TestApprovals(t *testing.T) {
	bothWays(t, func(t *testing.T, d *demo, tab *browser.Tab) {
		tab.Click(row(d.bucket))
		tab.Fill("textarea[name=note]", "Only after the backup of tonight.")
		tab.Click("button :: Approve")
		tab.Wait("article :: Answered by Ada")
		a := byAda(t, d.lot(d.bucket.ID))
		require.Equal(t, revue.Approved, a.Value)
		require.Equal(t, "Only after the backup of tonight.", a.Note)
		tab.Open("/lots/" + d.rotate.ID)
		tab.Click("button :: Decline")
		tab.Wait("article :: Answered by Ada")
		require.Equal(t, revue.Declined, byAda(t, d.lot(d.rotate.ID)).Value)
		require.Equal(t, revue.Approved, d.told(claude, repoInfra, asked(d.bucket)).Answer)
	})
}

// TestDismissAndReopen takes back a wrong press.
func TestDismissAndReopen(t *testing.T) {
	bothWays(t, func(t *testing.T, d *demo, tab *browser.Tab) {
		tab.Open("/lots/" + d.modal.ID)
		tab.Click("summary :: Dismiss without an answer")
		tab.Fill("textarea[name=reason]", "The feature is not planned.")
		tab.Click("button[formaction] :: Dismiss")
		tab.Wait("article :: Dismissed")
		lot := d.lot(d.modal.ID)
		require.Equal(t, revue.StatusDismissed, lot.Status)
		require.Equal(t, "The feature is not planned.", lot.Dismissed.Reason)
		require.Equal(t, "Ada", lot.Dismissed.By.Name)
		tab.Click("button :: Reopen")
		tab.Wait("[data-send]")
		require.Equal(t, revue.StatusOpen, d.lot(d.modal.ID).Status)
		require.Contains(t, tab.Text("article"), "The feature is not planned.", "why it was dismissed is still there")
		tab.Click("label :: Undo")
		tab.Click("[data-send]")
		tab.Wait("article :: Answered by Ada")
		require.Equal(t, "undo", byAda(t, d.lot(d.modal.ID)).Value)
	})
}

// TestAnswerTogether answers the same question of four repositories with one form.
func TestAnswerTogether(t *testing.T) {
	bothWays(t, func(t *testing.T, d *demo, tab *browser.Tab) {
		tab.Click("a :: Answer 4 alike together")
		tab.Wait("h1 :: Answer 4 questions together")
		tab.Click("label :: Warn")
		tab.Fill("textarea[name=note]", "From 1 December on.")
		tab.Click("button :: Answer 4 questions")
		tab.Wait("h1 :: 4 of 4 answered by you")
		for _, l := range d.lint {
			a := byAda(t, d.lot(l.ID))
			require.Equal(t, "warn", a.Value)
			require.Equal(t, "From 1 December on.", a.Note)
		}
		tab.Open("/")
		require.Equal(t, 8, tab.Count("[data-row]"))
	})
}

// TestTickSome answers those that were ticked, one of which somebody else has answered meanwhile.
func TestTickSome(t *testing.T) {
	bothWays(t, func(t *testing.T, d *demo, tab *browser.Tab) {
		for _, l := range d.lint[:3] {
			tab.Click("#r-" + l.ID + " input[type=checkbox]")
		}
		tab.Click("button :: Answer the ticked ones together")
		tab.Wait("h1 :: Answer 3 questions together")
		_, err := d.reviewer("Bo").Answer(t.Context(), d.lint[1].ID, revue.Answer{Value: "fail"})
		require.NoError(t, err)
		tab.Click("label :: Warn")
		tab.Click("button.primary")
		tab.Wait("h1 :: 2 of 3 answered by you")
		require.Contains(t, tab.Text("#t-"+d.lint[1].ID), "answered by Bo")
		require.Equal(t, "fail", d.lot(d.lint[1].ID).Answer.Value)
		require.Equal(t, "warn", byAda(t, d.lot(d.lint[0].ID)).Value)
		require.Equal(t, "warn", byAda(t, d.lot(d.lint[2].ID)).Value)
		require.Equal(t, revue.StatusOpen, d.lot(d.lint[3].ID).Status)
	})
}

// TestTooLate shows who was first, and loses nothing of what was written.
func TestTooLate(t *testing.T) {
	bothWays(t, func(t *testing.T, d *demo, tab *browser.Tab) {
		refused(tab, "409")
		tab.Open("/lots/" + d.theme.ID)
		tab.Click("label :: Remove")
		tab.Fill("textarea[name=note]", "Nobody will miss it.")
		_, err := d.reviewer("Bo").Answer(t.Context(), d.theme.ID, revue.Answer{Value: "keep", Note: "212 people do."})
		require.NoError(t, err)
		if tab.Scripts() {
			tab.Wait("article :: Answered by Bo") // it is shown while the form is still there
			tab.Wait("[data-over] :: not recorded")
			require.Equal(t, "Nobody will miss it.", browser.Eval[string](tab, `$("textarea[name=note]").value`))
			require.True(t, browser.Eval[bool](tab, `$any("[data-send]").disabled`), "there is nothing to send it to")
			require.Equal(t, "/", tab.Attr("nav [aria-current=page]", "href"), "they are where they were")
		} else {
			tab.Click("[data-send]")
			tab.Wait("[role=alert]")
			require.Contains(t, tab.Text("article"), "Nobody will miss it.")
		}
		text := tab.Text("article")
		for _, want := range []string{"Answered by Bo", "just now", "Keep", "212 people do.", "not recorded"} {
			require.Contains(t, text, want)
		}
		require.Equal(t, "keep", d.lot(d.theme.ID).Answer.Value)
		require.Equal(t, "keep", d.told(gemini, repoWeb, asked(d.theme)).Answer)
	})
}

// TestFindWhatWaits filters and searches.
func TestFindWhatWaits(t *testing.T) {
	bothWays(t, func(t *testing.T, d *demo, tab *browser.Tab) {
		tab.Fill("[data-search]", "partitioned")
		tab.Press(browser.Enter)
		tab.Until(`$$("[data-row]").length === 1`)
		require.Equal(t, d.partition.ID, tab.Attr("[data-row]", "data-row"))
		require.Contains(t, tab.Path(), "q=partitioned", "the search has an address of its own")
		tab.Fill("[data-search]", "nothing like it")
		tab.Press(browser.Enter)
		tab.Wait("a :: Show all")
		tab.Click("a :: Show all")
		tab.Until(`$$("[data-row]").length === 12`)
		tab.Click("nav.lanes a :: Web app")
		tab.Until(`$$("[data-row]").length === 3`)
		tab.Click(row(d.modal))
		tab.Wait("h1 :: " + d.modal.Question)
		tab.Click("[data-back]")
		tab.Until(`$$("[data-row]").length === 3`)
		tab.Open("/")
		tab.Click("summary :: Filter")
		tab.Choose("select[name=kind]", "approval")
		tab.Click("form[role=search] button")
		tab.Until(`$$("[data-row]").length === 2`)
		tab.Open("/?agent=" + strings.ReplaceAll(gemini, " ", "+"))
		require.Equal(t, 3, tab.Count("[data-row]"))
	})
}

// TestHistory finds what has ended.
func TestHistory(t *testing.T) {
	bothWays(t, func(t *testing.T, d *demo, tab *browser.Tab) {
		tab.Click("nav a :: History")
		tab.Wait("h1 :: History")
		require.Equal(t, len(history())+1, tab.Count("[data-row]"))
		tab.Choose("select[name=status]", "dismissed")
		tab.Click("button :: Show")
		tab.Until(`$$("[data-row]").length === 1`)
		require.Contains(t, tab.Text("main"), "Not before it is released.")
		tab.Click("[data-row]")
		tab.Wait("h1 :: " + d.dismissed.Question)
		tab.Wait("button :: Reopen")
	})
}

// TestDeepLink is opened by somebody who is signed in, and one that leads nowhere.
func TestDeepLink(t *testing.T) {
	bothWays(t, func(_ *testing.T, d *demo, tab *browser.Tab) {
		tab.Open("/lots/" + d.partition.ID)
		tab.Wait("h1 :: " + d.partition.Question)
		refused(tab, "404")
		tab.Open("/lots/lot_that_never_was")
		tab.Wait("a :: Back to the inbox")
		tab.Open("/nowhere")
		tab.Click("a :: Back to the inbox")
		tab.Until(`location.pathname === "/"`)
	})
}

// TestNobodyWaits teaches whoever sees the inbox for the first time.
func TestNobodyWaits(t *testing.T) {
	p := newPlane(t)
	tab := p.signedIn("Ada", browser.Options{})
	require.Equal(t, "Inbox · revue", tab.Title())
	require.Contains(t, tab.Text("main"), "Nothing waits for you")
	tab.Click("a :: Connect an agent")
	tab.Wait("h1 :: Connect an agent")
}
