package browser_test

import (
	"bytes"
	"fmt"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue/internal/browser"
)

var chromium browser.Chromium

func TestMain(m *testing.M) {
	code := m.Run()
	chromium.Close()
	os.Exit(code)
}

// recorder is a testing.TB that notes errors instead of failing, and whose end the test decides.
type recorder struct {
	testing.TB

	errors   []string
	cleanups []func()
}

func (r *recorder) Helper()      {}
func (r *recorder) Failed() bool { return false }
func (r *recorder) Errorf(format string, a ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, a...))
}
func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }

func (r *recorder) end() {
	for i := len(r.cleanups) - 1; i >= 0; i-- {
		r.cleanups[i]()
	}
}

const strict = "default-src 'none'; img-src data:; script-src 'self'; style-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'"

// site serves pages by path, each with its content security policy and its scripts in files.
func site(t *testing.T, csp string, files map[string]string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("drives a browser: not in a short run")
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		kind := "text/html; charset=utf-8"
		switch {
		case strings.HasSuffix(r.URL.Path, ".js"):
			kind = "text/javascript"
		case strings.HasSuffix(r.URL.Path, ".css"):
			kind = "text/css"
		}
		w.Header().Set("Content-Type", kind)
		if csp != "" {
			w.Header().Set("Content-Security-Policy", csp)
		}
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

func page(body string) string {
	return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A page</title><link rel="icon" href="data:,">` +
		`<meta name="viewport" content="width=device-width"></head><body>` + body + `</body></html>`
}

// TestWatched provokes each thing that no page may do, and one page that does none of them.
func TestWatched(t *testing.T) {
	for _, c := range []struct {
		name, csp, body, script string
		want                    string // "" for nothing
	}{
		{name: "a page that is well", csp: strict, body: `<p>hello</p>`, script: `console.log("fine"); document.body.dataset.done = 1`},
		{name: "console error", body: `<p>x</p>`, script: `console.error("broken", {a: 1}); document.body.dataset.done = 1`, want: `console.error: "broken"`},
		{name: "console warning", body: `<p>x</p>`, script: `console.warn("odd"); document.body.dataset.done = 1`, want: `console.warning: "odd"`},
		{name: "exception", body: `<p>x</p>`, script: `document.body.dataset.done = 1; null.x`, want: "uncaught: Uncaught TypeError"},
		{name: "rejection", body: `<p>x</p>`, script: `document.body.dataset.done = 1; Promise.reject(new Error("left"))`, want: "Error: left"},
		{name: "inline script", csp: strict, body: `<script>document.title = "ran"</script>`, script: `document.body.dataset.done = 1`, want: "Content Security Policy"},
		{name: "inline style", csp: strict, body: `<p style="color: red">x</p>`, script: `document.body.dataset.done = 1`, want: "Content Security Policy"},
		{name: "event handler", csp: strict, body: `<img alt="" src="data:," onerror="document.title = 'ran'">`, script: `document.body.dataset.done = 1`, want: "Content Security Policy"},
		{name: "image from elsewhere", body: `<img alt="" src="http://elsewhere.example/x.png">`, script: `document.body.dataset.done = 1`, want: "a request elsewhere: GET http://elsewhere.example/x.png"},
		{name: "image from elsewhere under a policy", csp: strict, body: `<img alt="" src="http://elsewhere.example/x.png">`, script: `document.body.dataset.done = 1`, want: "Content Security Policy"},
		{name: "another port of this machine", body: `<img alt="" src="http://127.0.0.1:9/x.png">`, script: `document.body.dataset.done = 1`, want: "a request elsewhere"},
		{name: "fetch from elsewhere", body: `<p>x</p>`, script: `fetch("http://elsewhere.example/y").catch(() => {}).then(() => document.body.dataset.done = 1)`, want: "a request elsewhere: GET http://elsewhere.example/y"},
		{name: "alert", body: `<p>x</p>`, script: `setTimeout(() => { alert("hi"); document.body.dataset.done = 1 }, 0)`, want: `dialog alert: "hi"`},
		{name: "confirm", body: `<p>x</p>`, script: `setTimeout(() => { confirm("sure?"); document.body.dataset.done = 1 }, 0)`, want: `dialog confirm: "sure?"`},
		{name: "window", body: `<p>x</p>`, script: `open("/other.html"); document.body.dataset.done = 1`, want: "a window was opened"},
		{name: "a file that is not there", body: `<link rel="stylesheet" href="/gone.css">`, script: `document.body.dataset.done = 1`, want: "gone.css"},
	} {
		t.Run(c.name, func(t *testing.T) {
			origin := site(t, c.csp, map[string]string{"/": page(c.body + `<script src="/x.js"></script>`), "/x.js": c.script, "/other.html": page("")})
			r := &recorder{TB: t}
			tab := chromium.Profile(r, origin, nil).Tab()
			tab.Open("/")
			tab.Until("document.body.dataset.done")
			if c.want != "" {
				require.Eventually(t, func() bool { return len(tab.Faults()) > 0 }, browser.Patience, 10*time.Millisecond)
			}
			r.end()
			if c.want == "" {
				require.Empty(t, r.errors)
				return
			}
			require.Len(t, r.errors, 1)
			require.Contains(t, r.errors[0], c.want)
		})
	}
}

func TestAllow(t *testing.T) {
	origin := site(t, "", map[string]string{"/": page(`<script src="/x.js"></script>`), "/x.js": `console.error("meant"); console.error("not meant")`})
	r := &recorder{TB: t}
	tab := chromium.Profile(r, origin, nil).Tab()
	tab.Open("/")
	require.Eventually(t, func() bool { return len(tab.Faults()) == 2 }, browser.Patience, 10*time.Millisecond)
	tab.Allow(`^console\.error: "meant"`)
	require.Equal(t, []string{`console.error: "not meant"`}, tab.Faults())
	tab.Allow(`not meant`)
	r.end()
	require.Empty(t, r.errors)
}

// TestDriving does what a person does: look, press, type, and go back.
func TestDriving(t *testing.T) {
	origin := site(t, strict, map[string]string{
		"/": page(`<h1>One</h1>
<p hidden id="hidden">secret</p>
<form action="/two.html"><label>Name <input name="name"></label>
<label>Kind <select name="kind"><option value="a">A<option value="b">B</select></label>
<label><input type="checkbox" name="tick"> tick me</label>
<button disabled>Not yet</button> <button aria-label="Go on">&gt;</button></form>
<ul><li>first</li><li>second <b>thing</b></li></ul><p id="keys"></p><script src="/x.js"></script>`),
		"/two.html": page(`<h1>Two</h1><a href="/">home</a>`),
		"/x.js":     `addEventListener("keydown", (e) => { document.querySelector("#keys").textContent += (e.shiftKey ? "+" : "") + e.key + " " })`,
	})
	p := chromium.Profile(t, origin, nil)
	tab := p.Tab()
	tab.Open("/")
	require.Equal(t, "A page", tab.Title())
	require.Equal(t, "One", tab.Text("h1"))
	require.False(t, tab.Has("#hidden"))
	require.Equal(t, 1, tab.Count("#hidden"))
	require.Equal(t, []string{"first", "second thing"}, tab.Texts("li"))
	require.True(t, tab.Has("li :: second"))
	require.Equal(t, "name", tab.Attr("input", "name"))
	tab.Press("j", browser.Escape)
	tab.PressShift("?")
	tab.Until(`$("#keys").textContent.trim() === "j Escape +?"`)
	tab.Fill("[name=name]", "Ada & co")
	require.Equal(t, "input[name] Ada & co", tab.Focused())
	tab.Choose("[name=kind]", "b")
	tab.Click("[name=tick]")
	tab.Click("button :: Go on")
	tab.Wait("h1 :: Two")
	require.Equal(t, "/two.html?name=Ada+%26+co&kind=b&tick=on", tab.Path())
	tab.Back()
	tab.Wait("h1 :: One")
	tab.Reload()
	tab.Wait("h1 :: One")

	second := p.Tab()
	second.Open("/two.html")
	require.Equal(t, "visible", browser.Eval[string](tab, "document.visibilityState"))
	require.Equal(t, "visible", browser.Eval[string](second, "document.visibilityState"))
}

// TestLook sees what a page sees of its reader's device.
func TestLook(t *testing.T) {
	origin := site(t, strict, map[string]string{"/": page(`<p>x</p>`)})
	p := chromium.Profile(t, origin, &browser.Options{Width: 360, Height: 640, Dark: true, Reduced: true})
	tab := p.Tab()
	tab.Open("/")
	look := `[innerWidth, matchMedia("(prefers-color-scheme: dark)").matches, matchMedia("(prefers-reduced-motion: reduce)").matches].join(" ")`
	require.Equal(t, "360 true true", browser.Eval[string](tab, look))
	img, err := png.Decode(bytes.NewReader(tab.Picture()))
	require.NoError(t, err)
	require.Equal(t, 360, img.Bounds().Dx())
	require.Equal(t, 640, img.Bounds().Dy())
	tab.Look(1024, 700, false)
	require.Equal(t, "1024 false true", browser.Eval[string](tab, look))
}

func TestNoScript(t *testing.T) {
	origin := site(t, strict, map[string]string{"/": page(`<noscript><p id="none">no scripts here</p></noscript><script src="/x.js"></script>`), "/x.js": `document.title = "ran"`})
	tab := chromium.Profile(t, origin, &browser.Options{NoScript: true}).Tab()
	tab.Open("/")
	require.Equal(t, "no scripts here", tab.Text("#none"))
	require.Equal(t, "A page", tab.Title())
}

// TestRequests counts what came over the wire.
func TestRequests(t *testing.T) {
	origin := site(t, strict, map[string]string{"/": page(`<link rel="stylesheet" href="/a.css">`), "/a.css": "/*" + strings.Repeat("x", 5000) + "*/"})
	tab := chromium.Profile(t, origin, nil).Tab()
	tab.Open("/")
	var css browser.Request
	require.Eventually(t, func() bool {
		for _, r := range tab.Requests() {
			if r.URL == origin+"/a.css" && r.Bytes > 0 {
				css = r
			}
		}
		return css.Bytes > 5000
	}, browser.Patience, 10*time.Millisecond)
	require.Equal(t, int64(200), css.Status)
	require.Less(t, css.Bytes, int64(6000))
	tab.ForgetRequests()
	require.Empty(t, tab.Requests())
}

// TestProfilesAreApart sets a cookie in one.
func TestProfilesAreApart(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", "who=ada; HttpOnly; SameSite=Strict")
		_, err := r.Cookie("who")
		w.Header().Set("Content-Type", "text/html")
		known := "<p>known: false</p>"
		if err == nil {
			known = "<p>known: true</p>"
		}
		_, _ = w.Write([]byte(page(known)))
	}))
	t.Cleanup(srv.Close)
	one := chromium.Profile(t, srv.URL, nil)
	tab := one.Tab()
	tab.Open("/")
	require.Equal(t, "known: false", tab.Text("p"))
	again := one.Tab()
	again.Open("/")
	require.Equal(t, "known: true", again.Text("p"))
	require.Len(t, again.Cookies(), 1)
	other := chromium.Profile(t, srv.URL, nil).Tab()
	other.Open("/")
	require.Equal(t, "known: false", other.Text("p"))
}

// TestAudit shows axe-core a page that is well and one that is not, both under a strict policy.
func TestAudit(t *testing.T) {
	axe := browser.Axe(t, "../..")
	origin := site(t, strict, map[string]string{
		"/good":     page(`<main><h1>Good</h1><p>text</p></main>`),
		"/bad":      page(`<main><h1>Bad</h1><input name="x"><p class="pale">text</p></main><link rel="stylesheet" href="/pale.css">`),
		"/pale.css": ".pale { color: #bbb; background: #fff }",
	})
	tab := chromium.Profile(t, origin, nil).Tab()
	tab.Open("/good")
	good := tab.Audit(axe)
	require.Empty(t, good.Violations)
	require.Positive(t, good.Passes)
	tab.Open("/bad")
	var ids []string
	for _, v := range tab.Audit(axe).Violations {
		ids = append(ids, v.ID)
		require.Contains(t, v.String(), v.ID)
	}
	require.ElementsMatch(t, []string{"label", "color-contrast"}, ids)
}
