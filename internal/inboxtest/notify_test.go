package inboxtest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/browser"
)

// A browser whose notifications are written down, and whose tab is hidden when the test says so.
const notifications = `(() => {
window.hiddenNow = false;
Object.defineProperty(document, "hidden", { get: () => window.hiddenNow });
window.shown = [];
window.asked = 0;
window.Notification = class extends EventTarget {
  static permission = sessionStorage.permission ?? "default";
  static async requestPermission() { window.asked++; sessionStorage.permission = "granted"; return (Notification.permission = "granted"); }
  constructor(title, options) { super(); window.shown.push({ title, ...options }); window.newest = this; }
  close() { this.closed = true; }
};
document.dispatchEvent(new Event("revue:shown")); // the button says what it does now
return true;
})()`

// TestNotifications presses the button that asks for leave, and has questions come while nobody looks.
func TestNotifications(t *testing.T) {
	p := newPlane(t)
	p.ask("claude", repoAPI, revue.Ask{Question: "Which colour should the first button have?", Options: choice("red", "blue")})
	tab := p.signedIn("Ada", browser.Options{})
	browser.Eval[bool](tab, notifications)
	require.Equal(t, "Notify me of new questions", tab.Text("#notify"))
	count := func() int { return browser.Eval[int](tab, "shown.length") }
	hide := func(hidden string) { browser.Eval[bool](tab, "(() => { hiddenNow = "+hidden+"; return true })()") }

	hide("true")
	p.ask("claude", repoAPI, revue.Ask{Question: "Which door should be green?", Options: choice("red", "blue")})
	tab.Wait(".asks :: be green?")
	require.Zero(t, count(), "nobody gave leave")
	require.Zero(t, browser.Eval[int](tab, "asked"), "nor was asked for it")

	hide("false")
	tab.Click("#notify")
	tab.Wait("#notify :: Stop notifying me")
	require.Equal(t, 1, browser.Eval[int](tab, "asked"))
	p.ask("claude", repoAPI, revue.Ask{Question: "Which window should open first?", Options: choice("red", "blue")})
	tab.Wait(".asks :: open first?")
	require.Zero(t, count(), "they look at it")
	tab.Until(`document.getElementById("said").textContent === "1 new question"`)

	// A muted stream tells nobody: neither alone, nor as one of several, nor on a page without its row.
	hide("true")
	_, err := p.admin("Ada").SetStream(t.Context(), revue.StreamSettings{Slug: "noise", Muted: true})
	require.NoError(t, err)
	p.ask("claude", repoAPI, revue.Ask{Question: "Which noise is the loudest?", Stream: "noise", Options: choice("red", "blue")})
	tab.Wait(".lane.muted .asks :: is the loudest?")
	require.Zero(t, count())
	require.Equal(t, "1 new question", browser.Eval[string](tab, `document.getElementById("said").textContent`), "nothing else was said")

	lot := p.ask("claude", repoAPI, revue.Ask{Question: "Which <b>table</b> \u202egets the lamp?", Options: choice("red", "blue")})
	tab.Until("shown.length === 1")
	require.Equal(t, "A question waits", browser.Eval[string](tab, "shown[0].title"))
	require.Equal(t, "Which <b>table</b> U+202Egets the lamp?", browser.Eval[string](tab, "shown[0].body"), "plain text, in which nothing acts")
	require.Equal(t, lot.ID, browser.Eval[string](tab, "shown[0].tag"))

	// What was answered elsewhere makes no noise, and what moves up on the page for it neither.
	_, err = p.reviewer("Bo").Answer(t.Context(), lot.ID, revue.Answer{Value: "red"})
	require.NoError(t, err)
	tab.Gone(".asks :: gets the lamp?")
	require.Equal(t, 1, count())

	browser.Eval[bool](tab, `newest.dispatchEvent(new Event("click"))`)
	tab.Until(`location.pathname === "/lots/` + lot.ID + `"`)
	tab.Open("/")
	browser.Eval[bool](tab, notifications)
	tab.Click("#notify")
	tab.Wait("#notify :: Notify me")
	hide("true")
	p.ask("claude", repoAPI, revue.Ask{Question: "Which roof should be flat?", Options: choice("red", "blue")})
	tab.Wait(".asks :: be flat?")
	require.Zero(t, count(), "they want no more of it")
}

// TestKeysOff turns the single keys off, in this browser and for good, and on again: whoever speaks to their computer
// types letters that nobody meant.
func TestKeysOff(t *testing.T) {
	p := newPlane(t)
	p.ask("claude", repoAPI, revue.Ask{Question: "Which colour should the first button have?", Options: choice("red", "blue")})
	tab := p.signedIn("Ada", browser.Options{})
	turn := func() {
		tab.Click("#keys")
		tab.Click("#keys-on")
		tab.Press(browser.Escape)
	}
	onRow := func() bool { return browser.Eval[bool](tab, `document.activeElement.matches("[data-row]")`) }
	turn()
	tab.Press("j")
	require.False(t, onRow())
	tab.Reload()
	tab.Press("j", "?")
	require.False(t, onRow())
	require.False(t, browser.Eval[bool](tab, `document.getElementById("help").open`))
	turn()
	tab.Press("j")
	require.True(t, onRow())
}
