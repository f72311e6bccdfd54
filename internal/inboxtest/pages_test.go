package inboxtest

import (
	"bytes"
	"flag"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/browser"
)

// sight is one page to look at, and how to get there.
type sight struct {
	name string
	open func(d *demo, tab *browser.Tab)
}

func at(name string, path func(d *demo) string) sight {
	return sight{name, func(d *demo, tab *browser.Tab) { tab.Open(path(d)) }}
}

// sights are all pages, in an order in which each has what it shows. What is done for the one is there for the next.
func sights() []sight {
	fixed := func(path string) func(*demo) string { return func(*demo) string { return path } }
	lot := func(which func(d *demo) revue.Lot) func(*demo) string {
		return func(d *demo) string { return "/lots/" + which(d).ID }
	}
	return []sight{
		at("inbox", fixed("/")),
		at("inbox-found", fixed("/?q=orders")),
		at("inbox-nothing-fits", fixed("/?q=zebra")),
		{"inbox-keys", func(_ *demo, tab *browser.Tab) {
			tab.Open("/")
			tab.PressShift("?")
			tab.Wait("dialog[open]")
		}},
		at("card-question", lot(func(d *demo) revue.Lot { return d.pagination })),
		at("card-diff", lot(func(d *demo) revue.Lot { return d.retry })),
		at("card-own-words", lot(func(d *demo) revue.Lot { return d.naming })),
		at("card-approval", lot(func(d *demo) revue.Lot { return d.bucket })),
		{"card-refused", func(d *demo, tab *browser.Tab) {
			tab.Open("/lots/" + d.naming.ID)
			tab.Fill("textarea[name=text]", " ")
			tab.Click("[data-send]")
			tab.Wait("[role=alert]")
		}},
		at("together", func(d *demo) string { return "/lots/answer?like=" + d.lint[0].ID }),
		{"together-answered", func(d *demo, tab *browser.Tab) {
			if d.lot(d.lint[0].ID).Status == revue.StatusOpen {
				tab.Open("/lots/answer?like=" + d.lint[0].ID)
				tab.Click("label :: Warn")
				tab.Click("button.primary")
			}
			tab.Wait("h1 :: answered by you")
		}},
		{"card-ended", func(d *demo, tab *browser.Tab) {
			tab.Open("/lots/" + d.theme.ID)
			tab.Click("label :: Remove")
			tab.Fill("textarea[name=note]", "Nobody will miss it.")
			_, err := d.reviewer("Bo").Answer(d.tb.Context(), d.theme.ID, revue.Answer{Value: "keep"})
			require.NoError(d.tb, err)
			tab.Wait("[data-over] :: Answered by Bo")
		}},
		{"card-too-late", func(_ *demo, tab *browser.Tab) { // as where the press comes before the news
			browser.Eval[bool](tab, `(document.getElementById("answer").submit(), true)`)
			tab.Wait("[role=alert]")
		}},
		at("card-answered", lot(func(d *demo) revue.Lot { return d.theme })),
		at("card-dismissed", lot(func(d *demo) revue.Lot { return d.dismissed })),
		at("history", fixed("/history")),
		at("memory", fixed("/memory")),
		at("memory-search", fixed("/memory?q=Should+the+web+client+retry+failed+writes+automatically%3F&repo="+repoAPI)),
		{"decision", func(d *demo, tab *browser.Tab) {
			dec := d.decided("Which HTTP status")
			if len(dec.Corrections) == 0 {
				for _, c := range []revue.Correction{{Verb: revue.VerbTooBroad, Note: "Only for invoices, not for orders."}, {Verb: revue.VerbExpiresAfter, After: 90 * day}} {
					c.DecisionID = dec.ID
					_, err := d.reviewer("Bo").Correct(d.tb.Context(), c)
					require.NoError(d.tb, err)
				}
			}
			tab.Open("/decisions/" + dec.ID)
		}},
		at("notes", fixed("/memory/notes")),
		at("overview", fixed("/overview")),
		at("settings", fixed("/settings")),
		at("connect", fixed("/settings/connect")),
		{"token", func(_ *demo, tab *browser.Tab) {
			tab.Open("/settings")
			tab.Fill("input[name=label]", "laptop")
			tab.Click("button :: Make it")
			tab.Wait("h1 :: The token is made")
		}},
		at("not-found", fixed("/nowhere")),
	}
}

// settle waits until what moves has come to rest.
func settle(tab *browser.Tab) {
	tab.Until(`document.getAnimations().every((a) => a.playState !== "running")`)
}

// tooSmall finds what is pressed and is smaller than 24 by 24, apart from links in a line of text.
const tooSmall = `[...document.querySelectorAll("button, input:not([type=hidden]), select, textarea, summary, nav a, a.button, a.open, a.brand")].filter($shown).flatMap((e) => {
	const box = (x) => x.getBoundingClientRect();
	const all = [e, ...(e.labels ?? [])].map(box); // pressing the label presses it
	const w = Math.max(...all.map((r) => r.width)), h = Math.max(...all.map((r) => r.height));
	return w >= 24 && h >= 24 ? [] : [e.outerHTML.slice(0, 100) + " is " + w + " by " + h];
})`

// save keeps a picture.
func save(t testing.TB, dir, name string, picture []byte) image.Image {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(picture))
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o644))
	return img
}

// TestPages looks at every page at 360, 1024, 1280 and 2560 pixels, in both themes: axe-core finds nothing, nothing scrolls
// sideways, everything that is pressed is large enough. It keeps the pictures.
func TestPages(t *testing.T) {
	axe := browser.Axe(t, root)
	d := newDemo(t)
	audits, rules, pictures := 0, 0, 0
	look := func(name string, tab *browser.Tab) {
		for _, dark := range []bool{false, true} {
			for _, width := range []int{360, 1024, 1280, 2560} {
				theme := map[bool]string{false: "light", true: "dark"}[dark]
				where := fmt.Sprintf("%s-%d-%s", name, width, theme)
				tab.Look(width, map[bool]int{true: 740, false: 900}[width < 500], dark)
				settle(tab)
				if wide := browser.Eval[int](tab, "document.documentElement.scrollWidth - innerWidth"); wide > 0 {
					t.Errorf("%s scrolls sideways by %d", where, wide)
				}
				for _, small := range browser.Eval[[]string](tab, tooSmall) {
					t.Errorf("%s: %s", where, small)
				}
				if width == 360 || width == 1280 {
					audit := tab.Audit(axe)
					audits++
					rules += audit.Passes
					for _, v := range audit.Violations {
						t.Errorf("%s: %s", where, v)
					}
				}
				if width != 1280 {
					img := save(t, screenshots(), where, tab.Picture())
					require.Equal(t, width, img.Bounds().Dx())
					pictures++
				}
			}
		}
		tab.Look(1280, 800, false)
	}
	out := d.profile(browser.Options{Reduced: true}).Tab()
	out.Open("/login")
	look("login", out)
	refused(out, "403")
	out.Fill("input[name=code]", "wrong")
	out.Press(browser.Enter)
	out.Wait("[role=alert]")
	look("login-refused", out)

	tab := d.signedIn("Ada", browser.Options{Reduced: true})
	refused(tab, "4(04|09|22)")
	for _, s := range sights() {
		s.open(d, tab)
		look(s.name, tab)
	}
	empty := newPlane(t)
	first := empty.signedIn("Ada", browser.Options{Reduced: true})
	for name, path := range map[string]string{"inbox": "/", "history": "/history", "memory": "/memory", "notes": "/memory/notes", "overview": "/overview", "settings": "/settings"} {
		first.Open(path)
		look(name+"-empty", first)
	}
	t.Logf("axe-core %s: %d audits of %d pages in two themes and at two widths, %d rules that had something to check; %d pictures in %s",
		browser.AxeVersion, audits, audits/4, rules, pictures, screenshots())
}

// TestFocusIsVisible goes through pages with the Tab key: each stop is marked, is on screen, and none is a trap.
func TestFocusIsVisible(t *testing.T) {
	d := newDemo(t)
	for _, dark := range []bool{false, true} {
		tab := d.signedIn("Ada", browser.Options{Dark: dark, Reduced: true})
		for _, path := range []string{"/", "/lots/" + d.pagination.ID, "/memory", "/decisions/" + d.decided("public identifiers").ID, "/settings"} {
			tab.Open(path)
			seen, before := map[string]bool{}, ""
			for range 40 {
				tab.Press(browser.TabKey)
				if browser.Eval[bool](tab, `document.activeElement === document.body`) {
					break // around
				}
				stop := browser.Eval[struct{ What, Wrong string }](tab, `(() => {
					const e = document.activeElement, r = e.getBoundingClientRect();
					const what = e.outerHTML.slice(0, 120);
					const marked = [e, ...(e.labels ?? [])].map((x) => getComputedStyle(x)).some((s) => s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2 || s.boxShadow !== "none");
					const inside = r.bottom > 0 && r.top < innerHeight && r.right > 0 && r.left < innerWidth;
					return {What: what, Wrong: [marked || "it is not marked", inside || "it is not on screen"].filter((x) => x !== true).join(", ")};
				})()`)
				if stop.What == before && strings.Contains(stop.What, `type="date"`) {
					continue // its parts are stops of their own, which the browser marks inside it
				}
				before = stop.What
				require.Empty(t, stop.Wrong, "%s: %s", path, stop.What)
				seen[stop.What] = true
			}
			require.Greater(t, len(seen), 8, path)
		}
	}
}

// TestReducedMotion has nothing that moves for who wants that.
func TestReducedMotion(t *testing.T) {
	d := newDemo(t)
	tab := d.signedIn("Ada", browser.Options{Reduced: true})
	for _, path := range []string{"/", "/lots/" + d.bucket.ID, "/overview"} {
		tab.Open(path)
		require.Empty(t, browser.Eval[[]string](tab, `[...document.querySelectorAll("*")].filter((e) => {
			const s = getComputedStyle(e), long = (x) => x.split(",").some((v) => parseFloat(v) > 0.01);
			return s.animationName !== "none" && long(s.animationDuration) || s.transitionProperty !== "none" && long(s.transitionDuration) || s.scrollBehavior === "smooth";
		}).map((e) => e.outerHTML.slice(0, 80))`), path)
	}
}

// TestAmberIsForWhatWaits looks for the colour of the dot anywhere else.
func TestAmberIsForWhatWaits(t *testing.T) {
	d := newDemo(t)
	tab := d.signedIn("Ada", browser.Options{})
	for _, path := range []string{"/", "/lots/" + d.pagination.ID, "/memory", "/overview", "/settings", "/history"} {
		tab.Open(path)
		require.Empty(t, browser.Eval[[]string](tab, `(() => {
			const dot = document.createElement("span");
			dot.className = "dot";
			document.getElementById("main").append(dot);
			const amber = getComputedStyle(dot).backgroundColor;
			dot.remove();
			return [...document.querySelectorAll("body *:not(.dot)")].filter($shown).filter((e) => {
				const s = getComputedStyle(e);
				return [s.color, s.backgroundColor, s.borderTopColor, s.borderLeftColor, s.fill].includes(amber) && !e.closest(".dot");
			}).map((e) => e.outerHTML.slice(0, 80));
		})()`), path)
	}
}

var pictures = flag.String("pictures", "", "the folder for the pictures of the documents; without it they are taken and thrown away")

// TestPictures takes the pictures of the documents from a running revue.
func TestPictures(t *testing.T) {
	prog := build(t)
	past := &clock{}
	past.set(76 * day)
	d := &demo{plane: prog.beside(past)}
	_, err := d.admin("Ada").CreateWorkspace(t.Context(), workspace)
	require.NoError(t, err)
	d.seed()
	prog.start()
	dir := *pictures
	if dir == "" {
		dir = t.TempDir()
	}
	tab := d.signIn(d.profile(browser.Options{Scale: 1.5, Reduced: true}).Tab(), "Ada")
	tab.Wait(row(d.modal))
	for _, s := range []struct {
		name, path string
		height     int
	}{{"inbox", "/", 760}, {"card", "/lots/" + d.pagination.ID, 1240}} {
		tab.Look(1200, s.height, false)
		tab.Open(s.path)
		tab.Wait("#main")
		settle(tab)
		img := save(t, dir, s.name, tab.Screen())
		require.Equal(t, image.Pt(1800, s.height*3/2), img.Bounds().Size())
	}
	if strings.HasPrefix(dir, os.TempDir()) {
		return
	}
	t.Logf("wrote %s and %s", filepath.Join(dir, "inbox.png"), filepath.Join(dir, "card.png"))
}
