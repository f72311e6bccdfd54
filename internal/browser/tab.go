package browser

import (
	"context"
	_ "embed"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// The keys that have no letter, for [Tab.Press].
const (
	Enter  = kb.Enter
	Escape = kb.Escape
	TabKey = kb.Tab
	Space  = " "
	Down   = kb.ArrowDown
	Up     = kb.ArrowUp
)

//go:embed page.js
var helpers string

// Tab is one page on screen.
type Tab struct {
	tb      testing.TB
	profile *Profile
	ctx     context.Context //nolint:containedctx // chromedp knows a tab by its context
	dialogs chan struct{}

	look struct {
		width, height int
		dark          bool
	}

	mu       sync.Mutex
	faults   []string
	allowed  []*regexp.Regexp
	requests []Request
	byID     map[network.RequestID]int
}

// Tab opens a tab in a window of its own, so that it is on screen whatever other tabs there are.
func (p *Profile) Tab() *Tab {
	p.tb.Helper()
	t := &Tab{tb: p.tb, profile: p, dialogs: make(chan struct{}, 1), byID: map[network.RequestID]int{}}
	ctx, cancel := chromedp.NewContext(p.root,
		chromedp.WithExistingBrowserContext(p.id.BrowserContextID), chromedp.WithNewWindow(true), chromedp.WithListener(t.observe))
	t.ctx = ctx
	var dismissing sync.WaitGroup
	p.tb.Cleanup(func() {
		if p.tb.Failed() {
			t.keepPicture()
		}
		if faults := t.Faults(); len(faults) > 0 {
			p.tb.Errorf("the page did what it must not:\n  %s", strings.Join(faults, "\n  "))
		}
		cancel()
		dismissing.Wait()
	})
	t.must("open a tab", chromedp.Do(ctx))
	// A dialog stops its page until somebody answers it.
	dismissing.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-t.dialogs:
				_, _ = chromedp.Call(ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true}) // it may be gone
			}
		}
	})
	t.Look(p.opts.Width, p.opts.Height, p.opts.Dark)
	if p.opts.NoScript {
		_, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		t.must("turn scripts off", err)
	}
	return t
}

// keepPicture writes what is on screen where a test failed.
func (t *Tab) keepPicture() {
	dir := t.profile.opts.Failures
	if dir == "" {
		return
	}
	ctx, cancel := context.WithTimeout(t.ctx, 5*time.Second)
	defer cancel()
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.MkdirAll(dir, 0o750)
	}
	if err != nil {
		t.tb.Logf("no picture of the failure: %v", err)
		return
	}
	name := filepath.Join(dir, "failed-"+regexp.MustCompile(`[^\w-]+`).ReplaceAllString(t.tb.Name(), "_")+".png")
	if err := os.WriteFile(name, png, 0o600); err != nil {
		t.tb.Logf("no picture of the failure: %v", err)
		return
	}
	where, _ := chromedp.Run(ctx, chromedp.Location())
	t.tb.Logf("what was on screen at %s: %s", where, name)
}

func (t *Tab) must(what string, err error) {
	t.tb.Helper()
	if err != nil {
		t.tb.Fatalf("%s: %v", what, err)
	}
}

// patient bounds one wait.
func (t *Tab) patient() (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.ctx, Patience)
}

// Look sets the viewport and the colours that the person prefers.
func (t *Tab) Look(width, height int, dark bool) {
	t.tb.Helper()
	_, err := chromedp.Call(t.ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: int64(width), Height: int64(height), DeviceScaleFactor: max(1, t.profile.opts.Scale), Mobile: width <= 480,
	})
	t.must("set the viewport", err)
	scheme, motion := "light", "no-preference"
	if dark {
		scheme = "dark"
	}
	if t.profile.opts.Reduced {
		motion = "reduce"
	}
	_, err = chromedp.Call(t.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: motion},
	}})
	t.must("set the preferences", err)
	t.look.width, t.look.height, t.look.dark = width, height, dark
}

// Open goes to a path of the profile's origin and waits until the page has loaded.
func (t *Tab) Open(path string) {
	t.tb.Helper()
	ctx, cancel := t.patient()
	defer cancel()
	t.must("open "+path, chromedp.Do(ctx, chromedp.Navigate(t.profile.origin+path)))
}

// Reload loads the page again.
func (t *Tab) Reload() {
	t.tb.Helper()
	ctx, cancel := t.patient()
	defer cancel()
	t.must("reload", chromedp.Do(ctx, chromedp.Reload()))
}

// Back goes to the page before, which the browser may have kept as it was.
func (t *Tab) Back() {
	t.tb.Helper()
	here := Eval[string](t, "location.href")
	entries, err := chromedp.Run(t.ctx, chromedp.NavigationEntries())
	t.must("read the history", err)
	if entries.CurrentIndex == 0 {
		t.tb.Fatalf("there is no page before %s", here)
	}
	_, err = chromedp.Call(t.ctx, page.NavigateToHistoryEntry, page.NavigateToHistoryEntryParams{EntryID: entries.Entries[entries.CurrentIndex-1].ID})
	t.must("go back", err)
	t.until("location.href !== "+quote(here)+" && document.readyState === 'complete'", "the page before")
}

// Scripts reports whether the scripts of pages run in this tab.
func (t *Tab) Scripts() bool { return !t.profile.opts.NoScript }

// Path returns the address of the page below the origin, fragment and all.
func (t *Tab) Path() string {
	t.tb.Helper()
	return Eval[string](t, "location.href.slice(location.origin.length)")
}

// Title returns the title of the page.
func (t *Tab) Title() string {
	t.tb.Helper()
	return Eval[string](t, "document.title")
}

// History returns the addresses that the tab has been at, fragments and all.
func (t *Tab) History() []string {
	t.tb.Helper()
	entries, err := chromedp.Run(t.ctx, chromedp.NavigationEntries())
	t.must("read the history", err)
	var out []string
	for _, e := range entries.Entries {
		out = append(out, e.URL, e.UserTypedURL)
	}
	return out
}

// Eval evaluates an expression in the page, and a promise to what it becomes.
func Eval[T any](t *Tab, js string) T {
	t.tb.Helper()
	ctx, cancel := t.patient()
	defer cancel()
	v, err := evaluate[T](ctx, js)
	t.must("evaluate "+js, err)
	return v
}

// evaluate evaluates an expression that may use what is in page.js.
func evaluate[T any](ctx context.Context, js string) (T, error) {
	var out T
	raw, err := chromedp.Run(ctx, chromedp.Evaluate[[]byte]("(async () => {"+helpers+"\nreturn (\n"+js+"\n)})()", chromedp.EvalAwaitPromise))
	if err != nil {
		return out, err
	}
	if len(raw) == 0 || string(raw) == "undefined" {
		raw = []byte("null")
	}
	return out, json.Unmarshal(raw, &out)
}

// quote makes a text a JavaScript literal.
func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""` // a string always marshals
	}
	return string(b)
}

// Until waits until an expression is true.
func (t *Tab) Until(js string) {
	t.tb.Helper()
	t.until(js, js)
}

func (t *Tab) until(js, what string) {
	t.tb.Helper()
	ctx, cancel := t.patient()
	defer cancel()
	var last error
	every := time.NewTicker(10 * time.Millisecond)
	defer every.Stop()
	for {
		// The page may be on its way to another: whatever fails then is asked again.
		ok, err := evaluate[bool](ctx, "!!("+js+")")
		if ok && err == nil {
			return
		}
		if ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			t.tb.Fatalf("waited %s for %s (last error: %v); the page has: %s", Patience, what, last, t.glimpse())
		case <-every.C:
		}
	}
}

// glimpse is the beginning of the text of the page, for the message of a failure.
func (t *Tab) glimpse() string {
	ctx, cancel := context.WithTimeout(t.ctx, 5*time.Second)
	defer cancel()
	text, err := evaluate[string](ctx, `location.href + " | " + (document.body?.innerText ?? "").replace(/\s+/g, " ").slice(0, 600)`)
	if err != nil {
		return err.Error()
	}
	return text
}

// Wait waits until the element is there and shown, and the page with its scripts has loaded.
func (t *Tab) Wait(sel string) {
	t.tb.Helper()
	t.until("document.readyState === 'complete' && $("+quote(sel)+")", sel)
}

// Gone waits until no such element is shown.
func (t *Tab) Gone(sel string) {
	t.tb.Helper()
	t.until("!$("+quote(sel)+")", "the end of "+sel)
}

// Has reports whether the element is there now and shown.
func (t *Tab) Has(sel string) bool {
	t.tb.Helper()
	return Eval[bool](t, "!!$("+quote(sel)+")")
}

// Count returns how many such elements there are now, shown or not.
func (t *Tab) Count(sel string) int {
	t.tb.Helper()
	return Eval[int](t, "$$("+quote(sel)+").length")
}

// Text waits for an element and returns its text, as it is shown.
func (t *Tab) Text(sel string) string {
	t.tb.Helper()
	t.Wait(sel)
	return strings.TrimSpace(Eval[string](t, "$any("+quote(sel)+").innerText"))
}

// Texts returns the text of each such element.
func (t *Tab) Texts(sel string) []string {
	t.tb.Helper()
	return Eval[[]string](t, "$$("+quote(sel)+").map((e) => e.innerText.trim())")
}

// Attr returns an attribute of an element, "" for none.
func (t *Tab) Attr(sel, name string) string {
	t.tb.Helper()
	t.until("$any("+quote(sel)+")", sel)
	return Eval[string](t, "$any("+quote(sel)+").getAttribute("+quote(name)+") ?? ''")
}

// spot is where an element can be pressed, or why it can't.
type spot struct {
	X, Y float64
	Why  string
}

// Click presses an element with the mouse, once it is shown, enabled and covered by nothing.
func (t *Tab) Click(sel string) {
	t.tb.Helper()
	ctx, cancel := t.patient()
	defer cancel()
	every := time.NewTicker(10 * time.Millisecond)
	defer every.Stop()
	for {
		s, err := evaluate[spot](ctx, "$spot("+quote(sel)+")")
		if err == nil && s.Why == "" {
			t.must("press "+sel, chromedp.Do(ctx, chromedp.MouseClickXY(s.X, s.Y)))
			return
		}
		select {
		case <-ctx.Done():
			t.tb.Fatalf("waited %s to press %s: %s (%v); the page has: %s", Patience, sel, s.Why, err, t.glimpse())
		case <-every.C:
		}
	}
}

// Press sends keys to the page, one after the other: letters, or a constant of this package.
func (t *Tab) Press(keys ...string) {
	t.tb.Helper()
	for _, k := range keys {
		t.press(k, 0)
	}
}

// PressShift sends a key while Shift is held.
func (t *Tab) PressShift(key string) {
	t.tb.Helper()
	t.press(key, int64(chromedp.ModifierShift))
}

// press sends what a keyboard does. What a key types belongs to its going down, so that a page that handles the key also
// keeps its letter from being typed.
func (t *Tab) press(key string, modifiers int64) {
	t.tb.Helper()
	ctx, cancel := t.patient()
	defer cancel()
	for _, r := range key {
		events := kb.Encode(r)
		down, up := *events[0], *events[len(events)-1]
		for _, e := range events {
			if e.Text != "" {
				down.Type, down.Text, down.UnmodifiedText = input.DispatchKeyEventTypeKeyDown, e.Text, e.UnmodifiedText
			}
		}
		for _, e := range []input.DispatchKeyEventParams{down, up} {
			e.Modifiers |= modifiers
			_, err := chromedp.Call(ctx, input.DispatchKeyEvent, e)
			t.must("press the key "+quote(key), err)
		}
	}
}

// Fill puts a text in place of what a field has, as typing or pasting does.
func (t *Tab) Fill(sel, text string) {
	t.tb.Helper()
	t.Wait(sel)
	Eval[bool](t, "(() => { const e = $("+quote(sel)+"); e.focus(); e.select?.(); return document.activeElement === e })()")
	ctx, cancel := t.patient()
	defer cancel()
	_, err := chromedp.Call(ctx, input.InsertText, input.InsertTextParams{Text: text})
	t.must("type into "+sel, err)
}

// Choose picks the option of a select by its value, as a person who does it with the keyboard.
func (t *Tab) Choose(sel, value string) {
	t.tb.Helper()
	t.Wait(sel)
	if !Eval[bool](t, "(() => { const e = $("+quote(sel)+"); e.value = "+quote(value)+
		"; e.dispatchEvent(new Event('input', {bubbles: true})); e.dispatchEvent(new Event('change', {bubbles: true})); return e.value === "+quote(value)+" })()") {
		t.tb.Fatalf("%s has no option %q", sel, value)
	}
}

// Focused describes the element that has the focus: its tag, its id or name, and its words.
func (t *Tab) Focused() string {
	t.tb.Helper()
	return Eval[string](t, `(() => { const e = document.activeElement; return e.tagName.toLowerCase() + (e.id ? "#" + e.id : "") + (e.name ? "[" + e.name + "]" : "") + " " + $named(e).slice(0, 80) })()`)
}

// Cookies returns the cookies of the profile for its origin.
func (t *Tab) Cookies() []*network.Cookie {
	t.tb.Helper()
	out, err := chromedp.Call(t.ctx, network.GetCookies, network.GetCookiesParams{URLs: []string{t.profile.origin + "/"}})
	t.must("read the cookies", err)
	return out.Cookies
}

// Offline cuts the tab from the network, or takes it back.
func (t *Tab) Offline(off bool) {
	t.tb.Helper()
	p := network.EmulateNetworkConditionsByRuleParams{}
	if off {
		p.MatchedNetworkConditions = []*network.Conditions{{DownloadThroughput: -1, UploadThroughput: -1, Offline: true}}
	}
	_, err := chromedp.Call(t.ctx, network.EmulateNetworkConditionsByRule, p)
	t.must("cut the network", err)
}

// NoCache makes the tab load everything anew each time.
func (t *Tab) NoCache() {
	t.tb.Helper()
	_, err := chromedp.Call(t.ctx, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true})
	t.must("turn the cache off", err)
}

// Screen returns a PNG of what is in the viewport.
func (t *Tab) Screen() []byte {
	t.tb.Helper()
	ctx, cancel := t.patient()
	defer cancel()
	picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	t.must("take a picture", err)
	return picture
}

// BeforePages runs a script in each page that the tab opens from now on, before any of the page's own.
func (t *Tab) BeforePages(js string) {
	t.tb.Helper()
	_, err := chromedp.Call(t.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: js})
	t.must("add a script", err)
}

// tallest is how much of a long page a picture shows, in CSS pixels.
const tallest = 6000

// Picture returns a PNG of the whole page, or of as much as is sensible, on a screen that is as high, after everything has
// come to rest.
func (t *Tab) Picture() []byte {
	t.tb.Helper()
	look := t.look
	if tall := Eval[int](t, "document.documentElement.scrollHeight"); tall > look.height {
		t.Look(look.width, min(tall, tallest), look.dark)
		defer t.Look(look.width, look.height, look.dark)
	}
	Eval[bool](t, "document.fonts.ready.then(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true)))))")
	return t.Screen()
}
