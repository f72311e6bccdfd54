package inboxtest

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/browser"
)

// TestWhatNobodySaw has a wording join a card that nobody has touched, and then presses each button that settles it: only what
// was on the screen when the human loaded it is settled, and the card says that there is more.
func TestWhatNobodySaw(t *testing.T) {
	for name, press := range map[string]func(*browser.Tab){
		"same answer": func(tab *browser.Tab) { tab.Click("button :: Same answer") },
		"dismiss": func(tab *browser.Tab) {
			tab.Click("[data-dismiss]")
			tab.Click("button.danger :: Dismiss")
		},
		"answer": func(tab *browser.Tab) {
			tab.Click("label :: No")
			tab.Click("[data-send]")
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDemo(t)
			tab := d.signedIn("Ada", browser.Options{})
			tab.Open("/lots/" + d.retry.ID)
			live(tab)
			seen := browser.Eval[string](tab, `document.querySelector("#answer [name=seen]").value`)
			other := asked(d.retry)
			other.Question = "Hello, should the web client retry failed writes automatically?"
			joined := d.ask(gemini, repoAPI, other)
			require.Equal(t, d.retry.ID, joined.ID, "it joins")
			tab.Until(`document.querySelector("#card").dataset.revision === "` + revision(joined) + `"`) // the page has what came
			tab.Wait("[data-changed]")
			require.Equal(t, seen, browser.Eval[string](tab, `document.querySelector("#answer [name=seen]").value`))
			require.NotContains(t, tab.Text("#answer"), "Hello, should the web client")
			press(tab)
			tab.Wait("article .ended")
			require.Equal(t, revue.OutcomePending, d.told(gemini, repoAPI, other).Status, "nobody saw that wording")
		})
	}
}

// TestCardLoadedAgain shows and settles what joined once the human has loaded the card again.
func TestCardLoadedAgain(t *testing.T) {
	d := newDemo(t)
	tab := d.signedIn("Ada", browser.Options{})
	tab.Open("/lots/" + d.retry.ID)
	live(tab)
	other := asked(d.retry)
	other.Question = "Hello, should the web client retry failed writes automatically?"
	joined := d.ask(gemini, repoAPI, other)
	tab.Wait("[data-changed]")
	tab.Click("[data-changed] a")
	tab.Wait("#answer .wording")
	require.Equal(t, revision(joined), browser.Eval[string](tab, `document.querySelector("#answer [name=seen]").value`))
	require.True(t, browser.Eval[bool](tab, `document.querySelector("[data-changed]").hidden`))
	require.True(t, browser.Eval[bool](tab, `$("#answer .wordings").getBoundingClientRect().bottom <= $("[data-same]").getBoundingClientRect().top`))
	tab.Click("button :: Same answer")
	tab.Wait("article :: Answered by Ada")
	require.Equal(t, "yes", d.told(gemini, repoAPI, other).Answer)
}

// TestLinkWhileSignedIn opens a one-time link of another on each kind of page: the code leaves the address, is not used, and
// the page says who is signed in.
func TestLinkWhileSignedIn(t *testing.T) {
	p := newPlane(t)
	tab := p.signedIn("Ada", browser.Options{})
	for _, path := range []string{"/login", "/", "/history", "/memory", "/settings", "/lots/" + p.ask(claude, repoAPI, numbered(1)).ID} {
		code := p.code("Bo")
		tab.Open("/history?status=expired") // another document, so that the next is loaded
		tab.Open(path + "#code=" + code)
		tab.Wait("#linked :: You are signed in as Ada already")
		require.NotContains(t, browser.Eval[string](tab, "location.href"), "code")
		for i, entry := range tab.History() {
			if i%2 == 0 { // else it is what was typed, of which a browser tells no page
				require.NotContains(t, entry, code)
			}
		}
		_, err := p.desk.OpenSession(t.Context(), code, "another browser")
		require.NoError(t, err, "the code is unused")
	}
	tab.Wait("header :: Ada")
}

func revision(l revue.Lot) string { return strconv.FormatInt(int64(l.Revision), 10) }
