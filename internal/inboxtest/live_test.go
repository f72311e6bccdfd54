package inboxtest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/browser"
)

// live waits until a page has done what it does at first, and follows what happens or leaves that to another tab.
func live(tab *browser.Tab) {
	tab.Until(`document.readyState === "complete" && document.getElementById("away")?.hidden`)
}

// following waits until this very tab is the one that is told what happens.
func following(t *testing.T, tab *browser.Tab) {
	t.Helper()
	require.Eventually(t, func() bool {
		return slices.ContainsFunc(tab.Requests(), func(r browser.Request) bool { return strings.Contains(r.URL, "/live?") && r.Status == http.StatusOK })
	}, browser.Patience, 10*time.Millisecond)
}

// numbered is the question of one of many.
func numbered(i int) revue.Ask {
	return revue.Ask{
		Question: fmt.Sprintf("Should migration %d run before release %d.0 goes out?", 100+i, i+1),
		Options:  choice("before", "after"), Recommendation: "before", Concepts: []string{fmt.Sprintf("migration-%d", 100+i)},
	}
}

// goneAt makes a promise in the page of when an element leaves it, in milliseconds since 1970.
func goneAt(tab *browser.Tab, name, sel string) {
	browser.Eval[bool](tab, fmt.Sprintf(`(() => {
		window[%q] = new Promise((done) => {
			const look = () => document.querySelector(%q) || (done(performance.timeOrigin + performance.now()), watch.disconnect());
			const watch = new MutationObserver(look);
			watch.observe(document.documentElement, {subtree: true, childList: true, attributes: true});
		});
		return true;
	})()`, name, sel))
}

// TestSecondTab answers in one tab and sees the row leave another, and the screen of another person. It prints how long
// that takes.
func TestSecondTab(t *testing.T) {
	const times = 20
	p := newPlane(t)
	var lots []revue.Lot
	for i := range times + 1 {
		lots = append(lots, p.ask(claude, repoAPI, numbered(i)))
	}
	ada := p.profile(browser.Options{})
	one := p.signIn(ada.Tab(), "Ada")
	two := ada.Tab()
	two.Open("/")
	bo := p.signedIn("Bo", browser.Options{})
	live(two)
	live(bo)
	var own, other []time.Duration
	for i := range times {
		lot := lots[i]
		one.Open("/lots/" + lot.ID)
		one.Press("2")
		one.Until(`$any("#o-1").checked`)
		goneAt(two, "gone", row(lot))
		goneAt(bo, "gone", row(lot))
		pressed := time.Now()
		one.Press(browser.Enter)
		since := func(tab *browser.Tab) time.Duration {
			return time.UnixMicro(int64(1000 * browser.Eval[float64](tab, "window.gone"))).Sub(pressed)
		}
		own, other = append(own, since(two)), append(other, since(bo))
		require.Positive(t, own[i])
		one.Wait("article :: Answered by Ada")
	}
	for _, d := range [][]time.Duration{own, other} {
		slices.Sort(d)
	}
	t.Logf("from the press of Enter until the row has left, median of %d: %v in a second tab of the same person (worst %v), %v on the screen of another (worst %v)",
		times, own[times/2].Round(time.Millisecond), own[times-1].Round(time.Millisecond), other[times/2].Round(time.Millisecond), other[times-1].Round(time.Millisecond))
	require.Equal(t, 1, two.Count("[data-row]"))
	require.Equal(t, 1, bo.Count("[data-row]"))
	require.Equal(t, "(1) Inbox · revue", two.Title())
	require.Equal(t, "(1) Inbox · revue", bo.Title())
}

// TestNewQuestion appears in the list, the title and the icon, and disturbs nothing.
func TestNewQuestion(t *testing.T) {
	d := newDemo(t)
	tab := d.signedIn("Ada", browser.Options{})
	live(tab)
	icon := tab.Attr("#icon", "href")
	tab.Fill("[data-search]", "half a word")
	browser.Eval[bool](tab, `(window.same = true)`)
	lot := d.ask(cursor, repoWeb, numbered(1))
	tab.Wait(row(lot))
	require.Equal(t, "(13) Inbox · revue", tab.Title())
	require.NotEqual(t, icon, tab.Attr("#icon", "href"))
	require.True(t, browser.Eval[bool](tab, "window.same"), "the page was not loaded again")
	require.Equal(t, "half a word", browser.Eval[string](tab, `$("[data-search]").value`))
	require.True(t, browser.Eval[bool](tab, `document.activeElement.matches("[data-search]")`))
	require.Equal(t, "1 new question", browser.Eval[string](tab, `document.querySelector("[aria-live]").textContent`))
	svg := browser.Eval[string](tab, `fetch(document.getElementById("icon").href).then((r) => r.text())`)
	require.Contains(t, svg, "13", "the icon has the count")
	_, err := d.reviewer("Bo").Answer(t.Context(), lot.ID, revue.Answer{Value: "before"})
	require.NoError(t, err)
	tab.Gone(row(lot))
	tab.Until(`document.title.startsWith("(12)")`)
	require.Equal(t, icon, tab.Attr("#icon", "href"))
}

// TestCardChanges while somebody writes: what is typed stays, and what was not on screen is not settled.
func TestCardChanges(t *testing.T) {
	d := newDemo(t)
	tab := d.signedIn("Ada", browser.Options{})
	tab.Open("/lots/" + d.partition.ID)
	live(tab)
	tab.Click("label :: Month")
	tab.Fill("textarea[name=note]", "half a sent")
	other := asked(d.partition)
	other.Question = "Hello, should the events table be partitioned by day or by month?"
	joined := d.ask(codex, repoData, other)
	require.Equal(t, d.partition.ID, joined.ID, "it joins")
	tab.Wait("[data-changed]")
	require.Equal(t, "half a sent", browser.Eval[string](tab, `$("textarea[name=note]").value`))
	require.True(t, browser.Eval[bool](tab, `$any("#o-1").checked`))
	require.Equal(t, "textarea#note[note]", tab.Focused()[:len("textarea#note[note]")], "the caret stays")
	tab.Press("e", "n", "c", "e")
	tab.Click("[data-send]")
	tab.Wait("article :: Answered by Ada")
	require.Equal(t, "half a sentence", byAda(t, d.lot(d.partition.ID)).Note)
	require.Equal(t, revue.OutcomePending, d.told(codex, repoData, other).Status, "nobody saw that wording")
	tab.Click("section a :: Hello, should the events table")
	tab.Wait("[data-send]")
}

// TestCardEnds while somebody writes: what was typed stays to be read, and nothing says that it would be sent.
func TestCardEnds(t *testing.T) {
	d := newDemo(t)
	tab := d.signedIn("Ada", browser.Options{})
	tab.Open("/lots/" + d.partition.ID)
	live(tab)
	tab.Click("label :: Month")
	tab.Fill("textarea[name=note]", "half a sent")
	_, err := d.reviewer("Bo").Answer(t.Context(), d.partition.ID, revue.Answer{Value: d.partition.Options[0].Value})
	require.NoError(t, err)
	tab.Wait("[data-over] :: Answered by Bo just now; what you send is not recorded.")
	require.False(t, tab.Has("[data-changed]"), "it settles nothing")
	require.True(t, browser.Eval[bool](tab, `$any("[data-send]").disabled`))
	require.Equal(t, "half a sent", browser.Eval[string](tab, `$("textarea[name=note]").value`))
}

// TestNextQuestion goes on after an answer, by the key and by the link, and keeps the place of the list beside.
func TestNextQuestion(t *testing.T) {
	p := newPlane(t)
	var lots []revue.Lot
	for i := range 40 {
		lots = append(lots, p.ask(claude, repoAPI, numbered(i)))
	}
	tab := p.signedIn("Ada", browser.Options{Width: 1440})
	tab.Open("/lots/" + lots[30].ID)
	inSight := `(() => { const b = $(".beside").getBoundingClientRect(), r = $("[data-current]").getBoundingClientRect(); return r.top >= b.top && r.bottom <= b.bottom })()`
	require.True(t, browser.Eval[bool](tab, inSight))
	require.Zero(t, browser.Eval[int](tab, "window.scrollY"))
	tab.Press("1")
	tab.Press(browser.Enter)
	tab.Wait("article :: Answered by Ada")
	tab.Until(`document.activeElement.matches(".done")`)
	require.Equal(t, "/", tab.Attr("nav [aria-current=page]", "href"))
	tab.Press("j")
	tab.Until(`location.pathname === "/lots/` + lots[31].ID + `" && document.activeElement.matches("#card h1")`)
	tab.Press("2")
	tab.Press(browser.Enter)
	tab.Wait("article :: Answered by Ada")
	tab.Click("[data-next]")
	tab.Until(`location.pathname === "/lots/` + lots[32].ID + `"`)
	require.Equal(t, "#content", tab.Attr("a.skip", "href"))
	tab.Press("?")
	tab.Until(`document.activeElement.textContent === "Close"`)
}

// TestTwoReviewersRace has two people press at the same time. One of them is heard, the other is told, and the agent gets
// one answer.
func TestTwoReviewersRace(t *testing.T) {
	p := newPlane(t)
	ada, bo := p.signedIn("Ada", browser.Options{}), p.signedIn("Bo", browser.Options{})
	won := map[string]int{}
	for i := range 6 {
		ask := numbered(i)
		lot := p.ask(claude, repoAPI, ask)
		first, second := ada, bo
		if i%2 == 1 {
			first, second = bo, ada
		}
		for _, tab := range []*browser.Tab{ada, bo} {
			refused(tab, "409")
			tab.Open("/lots/" + lot.ID)
		}
		ada.Press("1")
		bo.Press("2")
		ada.Until(`$any("#o-0").checked`)
		bo.Until(`$any("#o-1").checked`)
		first.Press(browser.Enter)
		second.Press(browser.Enter)
		ada.Wait("article :: Answered by")
		bo.Wait("article :: Answered by")
		answered := p.lot(lot.ID)
		require.Equal(t, revue.StatusAnswered, answered.Status)
		by := answered.Answer.By.Name
		won[by]++
		require.Equal(t, map[string]string{"Ada": "before", "Bo": "after"}[by], answered.Answer.Value)
		loser := map[string]*browser.Tab{"Ada": bo, "Bo": ada}[by]
		loser.Wait("[role=alert]")
		for _, tab := range []*browser.Tab{ada, bo} {
			require.Contains(t, tab.Text("article"), "Answered by "+by)
		}
		require.Contains(t, loser.Text("article"), "What you had sent, which was not recorded")
		require.Equal(t, answered.Answer.Value, p.told(claude, repoAPI, ask).Answer)
	}
	t.Logf("races won: %v", won)
}

// TestSignedOutElsewhere ends a session while its page is on screen: one that follows what happens, and one that was away
// when it was told, as a laptop that sleeps.
func TestSignedOutElsewhere(t *testing.T) {
	revoke := func(t *testing.T, p *plane) {
		t.Helper()
		tokens, err := p.admin("Ada").Tokens(t.Context())
		require.NoError(t, err)
		require.Len(t, tokens, 1)
		require.Equal(t, revue.TokenSession, tokens[0].Kind)
		_, err = p.admin("Ada").RevokeToken(t.Context(), tokens[0].ID)
		require.NoError(t, err)
	}
	t.Run("followed", func(t *testing.T) {
		p := newPlane(t)
		tab := p.signedIn("Ada", browser.Options{})
		following(t, tab)
		revoke(t, p)
		refused(tab, "40[13]")
		tab.Wait("h1 :: Sign in")
	})
	t.Run("away", func(t *testing.T) {
		p := newPlane(t)
		tab := p.signedIn("Ada", browser.Options{})
		following(t, tab)
		tab.Allow("net::ERR|40[13]")
		tab.Offline(true)
		p.cut()
		revoke(t, p)
		tab.Wait("#away")
		tab.Offline(false)
		tab.Wait("h1 :: Sign in")
	})
}
