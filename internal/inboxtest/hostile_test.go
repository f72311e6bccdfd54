package inboxtest

import (
	"cmp"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/browser"
)

// vectors are what an agent may write to run, restyle, load or fake something. Those that would run set window.xss, call
// alert or reach for elsewhere.example, each of which the test sees.
func vectors() []string {
	return []string{
		// Elements that run.
		`<script>window.xss=1;alert(1)</script>`,
		`<ScRiPt>window.xss=1</sCrIpT>`,
		`<script src=http://elsewhere.example/x.js></script>`,
		`<img src=x onerror="window.xss=1;alert(1)">`,
		`<img src=x onerror=window.xss=1//`,
		`<svg onload=alert(1)>`,
		`<svg><script>window.xss=1</script></svg>`,
		`<svg><animate onbegin=alert(1) attributeName=x dur=1s>`,
		`<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert(1)&gt;">`,
		`<details open ontoggle=alert(1)><summary>x</summary></details>`,
		`<video><source onerror=alert(1)></video>`,
		`<audio src=x onerror=alert(1)>`,
		`<body onload=alert(1)>`,
		`<input autofocus onfocus=alert(1)>`,
		`<marquee onstart=alert(1)>x</marquee>`,
		`<a href="javascript:alert(1)" autofocus onfocus=alert(1)>x</a>`,
		`<iframe srcdoc="<script>parent.xss=1</script>"></iframe>`,
		`<iframe src="javascript:parent.xss=1"></iframe>`,
		`<object data="data:text/html,<script>alert(1)</script>"></object>`,
		`<embed src="http://elsewhere.example/x.swf">`,
		`<template><script>window.xss=1</script></template>`,
		`<noscript><p title="</noscript><img src=x onerror=alert(1)>"></noscript>`,
		`<x onclick=alert(1) tabindex=1 id=x>press</x>`,
		// Ways out of where the text stands.
		`"><script>window.xss=1</script>`,
		`'><img src=x onerror=alert(1)>`,
		`" onmouseover="alert(1)" x="`,
		`' autofocus onfocus='alert(1)`,
		`</textarea><script>window.xss=1</script>`,
		`</title><script>window.xss=1</script>`,
		`</style><script>window.xss=1</script>`,
		`</script><script>window.xss=1</script>`,
		`--><script>window.xss=1</script><!--`,
		`]]><script>window.xss=1</script>`,
		`<!--`,
		`<plaintext>`,
		`<xmp>`,
		`</article></main></body></html><h1>Signed out</h1>`,
		`{{.CSRF}} {{printf "%s" .}} ${window.xss=1} #{7*7} <%= 7*7 %>`,
		`&lt;script&gt;window.xss=1&lt;/script&gt; &#60;img src=x onerror=alert(1)&#62;`,
		"x\ndata: {\"id\":1}\n\nevent: end\ndata: x",
		// What changes the page around it.
		`<base href="http://elsewhere.example/">`,
		`<meta http-equiv="refresh" content="0;url=http://elsewhere.example/">`,
		`<link rel=stylesheet href=http://elsewhere.example/x.css>`,
		`<style>*{display:none!important}body{background:url(http://elsewhere.example/x)}</style>`,
		`<div style="position:fixed;inset:0;background:red;z-index:9999">Approve</div>`,
		`<form action="http://elsewhere.example/"><input name=csrf><button>Approve</button></form>`,
		`<form id=answer><input name=action><input name=csrf></form>`,
		`<dialog open><h2>Session expired</h2></dialog>`,
		`<input type=hidden name=choice value==approved><button name=choice value="=approved">Decline</button>`,
		// Markdown.
		`[press here](javascript:alert(1))`,
		`[press here](JaVaScRiPt:alert%281%29)`,
		"[press here](java\tscript:alert(1))",
		`[press here](&#106;avascript:alert(1))`,
		`[press here](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)`,
		`[press here](vbscript:msgbox(1))`,
		`[press here](file:///etc/passwd)`,
		`[press here](//elsewhere.example/x)`,
		`[press here](\\elsewhere.example\x)`,
		`[https://github.com/acme/api](https://elsewhere.example/phish)`,
		`[github.com](https://github.com@elsewhere.example/)`,
		`[login](/logout) [settings](/settings/tokens)`,
		`[a](https://elsewhere.example/" onmouseover="alert(1))`,
		`[a](<https://elsewhere.example/ "x> "title onmouseover=alert(1)")`,
		"[a][1]\n\n[1]: javascript:alert(1) \"x\"",
		`<javascript:alert(1)> <https://elsewhere.example/auto>`,
		`![an image](http://elsewhere.example/beacon.png)`,
		`![x](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+)`,
		`[![x](http://elsewhere.example/a.png)](javascript:alert(1))`,
		"```html\" onmouseover=\"alert(1)\n<script>window.xss=1</script>\n```",
		"```diff\n+<script>window.xss=1</script>\n-<img src=x onerror=alert(1)>\n@@ <b>x</b> @@\n```",
		"| <script>window.xss=1</script> | b |\n|---|---|\n| `<img src=x onerror=alert(1)>` | [x](javascript:alert(1)) |",
		"# Answered by Ada\n\n## Decided before\n\n- [x] Approved\n\n---\n\n<hr>",
		"> " + strings.Repeat("> ", 200) + "deep",
		strings.Repeat("[", 500) + "x" + strings.Repeat("](javascript:alert(1))", 200),
		strings.Repeat("*_`", 300),
		// Text that lies.
		"safe\u202Eexe.fdp",
		"a\u2066b\u2069c\u2067d\u2069",
		"app\u200Brove\u200C\u200D\u2060\uFEFF",
		"\u061C\u200E\u200Fmarks",
		"soft\u00ADhyphen and \u180E and \u3164 and \uFFA0",
		"tags \U000E0041\U000E0070\U000E0070 and variation \uFE0F\U000E0100",
		"https://аpple.com/ and https://xn--pple-43d.com/ and gооgle",
		"[https://apple.com](https://аpple.com/)",
		"Z̷̡̢̛͔̰̲̓̾͊̔͝a̸̛̛̹̗͓̓̔l̸̢̛̗̥̘̾͋̊g̵̢̛̰̤̀͂̕o̶̧̬͕͎͝" + strings.Repeat("\u0335\u0336", 100),
		"\x1b[31mred\x1b[0m \x07bell \x7f del \u0085 nel \u2028 ls \u2029 ps",
		"مرحبا بالعالم — שלום עולם",
		strings.Repeat("W", 900),
		strings.Repeat("🙂", 200),
		"\u00A0\u2003\u2000 wide \u3000 space",
	}
}

// odd matches characters that act on text or hide in it. Arabic and Hebrew letters are letters.
func odd(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case unicode.Is(unicode.Cc, r), unicode.Is(unicode.Cf, r), r == '\u2028', r == '\u2029', r == '\u3164', r == '\uFFA0':
		return true
	}
	return false
}

// plainly is a vector for the fields that take no control or bidirectional characters.
func plainly(v string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if odd(r) || r == '\n' || r == '\t' {
			return -1
		}
		return r
	}, v))
}

func cut(s string, limit int) string {
	if len(s) > limit {
		return strings.ToValidUTF8(s[:limit], "")
	}
	return s
}

// survey looks at a page for what text of agents must not have become. It returns one line for each thing that is wrong.
const survey = `(() => {
	const wrong = [];
	if ("xss" in window) wrong.push("a script ran");
	const allowed = new Set(("html head body meta title link script a header nav main aside div section article form input button label select option optgroup textarea fieldset legend details summary p span strong b em i del ins s code pre kbd samp mark small sub sup br hr blockquote ul ol li dl dt dd table thead tbody tfoot tr th td caption time bdi img h1 h2 h3 h4 h5 h6 dialog figure figcaption svg rect line text circle desc g path polyline noscript output wbr abbr q cite").split(" "));
	const ids = new Map();
	for (const e of document.querySelectorAll("*")) {
		const tag = e.localName;
		if (!allowed.has(tag)) wrong.push("an element <" + tag + ">: " + e.outerHTML.slice(0, 80));
		for (const a of e.attributes) {
			if (a.name.startsWith("on") || a.name === "style" || a.name === "srcdoc" || a.name === "formaction" && !a.value.startsWith("/"))
				wrong.push("an attribute " + a.name + "=" + a.value.slice(0, 60) + " of <" + tag + ">");
			if (["href", "src", "action", "formaction", "poster", "data", "xlink:href"].includes(a.name)) {
				let u;
				try { u = new URL(a.value, location.href); } catch { wrong.push("no address: " + a.value.slice(0, 60)); continue; }
				const outside = u.origin !== location.origin;
				if (tag === "a" && outside) {
					if (!["http:", "https:", "mailto:"].includes(u.protocol)) wrong.push("a link to " + u.href.slice(0, 60));
					if (!/noopener/.test(e.rel) || !/noreferrer/.test(e.rel)) wrong.push("a link that takes the page along: " + u.href.slice(0, 60));
					const around = (e.textContent + " " + (e.nextSibling?.textContent ?? "") + " " + (e.nextElementSibling?.textContent ?? ""));
					if (u.hostname && !around.includes(u.hostname)) wrong.push("a link that hides where it leads: " + u.href.slice(0, 60) + " shown as " + around.slice(0, 80));
				} else if (outside) wrong.push("<" + tag + " " + a.name + "> to " + u.href.slice(0, 60));
			}
			if (a.name !== "value" && a.name !== "content" && /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2028\u2029\u2060-\u206f\ufeff\u3164\uffa0]|\udb40[\udc00-\udc7f]/.test(a.value))
				wrong.push("an odd character in " + a.name + " of <" + tag + ">");
		}
		if (e.id) ids.set(e.id, (ids.get(e.id) ?? 0) + 1);
		if (tag === "script" && !e.src.startsWith(location.origin + "/static/")) wrong.push("a script " + e.outerHTML.slice(0, 80));
		if (tag === "img" && !e.src.startsWith(location.origin + "/static/")) wrong.push("an image " + e.src.slice(0, 80));
	}
	for (const [id, n] of ids) if (n > 1) wrong.push("the id " + id + " " + n + " times");
	const walker = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_TEXT);
	for (let n; (n = walker.nextNode()); ) {
		if (n.parentElement.closest("script, style")) continue;
		const m = n.data.match(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2028\u2029\u2060-\u206f\ufeff\u3164\uffa0]|\udb40[\udc00-\udc7f]/);
		if (m) wrong.push("an invisible U+" + m[0].codePointAt(0).toString(16) + " in <" + n.parentElement.localName + ">: " + JSON.stringify(n.data.slice(0, 60)));
	}
	if (document.documentElement.scrollWidth > innerWidth) wrong.push("it scrolls sideways: " + document.documentElement.scrollWidth + " > " + innerWidth);
	return wrong;
})()`

// frame counts what only the page itself has: nothing of an agent's text adds to it.
const frame = `(() => {
	const count = {};
	for (const s of ["form", "button", "input", "textarea", "select", "h1", "dialog", "[role=alert]", "[role=status]", "[role=dialog]", "fieldset", "legend", "label", "summary", "script", "link", "meta", "img", "header", "nav", "main", "aside", "article", ".dot", ".primary", ".danger", "[data-approve]", "[data-decline]", "[data-same]"])
		count[s] = [...document.querySelectorAll(s)].filter((e) => !e.closest(".beside")).length; // the list grows meanwhile
	const r = document.getElementById("rail").getBoundingClientRect();
	count.rail = [r.left, r.top, r.width, r.height].map(Math.round).join(" ");
	return JSON.stringify(count);
})()`

// plant puts a vector into every field that an agent writes: a question with its options, an approval, a shared note, and
// the names of the agent, its thread and its lane. It returns the two lots.
func plant(t *testing.T, p *plane, i int, v string) (question, approval revue.Lot) {
	t.Helper()
	ctx := t.Context()
	plain := plainly(v)
	topic := fmt.Sprintf("topic-%d", i)
	noSpace := strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \\?#", r) {
			return -1
		}
		return r
	}, cut(plain, 300))
	agent := p.desk.Decider(revue.Agent{
		Workspace: workspace, Credential: fmt.Sprintf("tok %d", i), Name: cut(v, 400), Thread: cut(v, 1000),
		Repo: cmp.Or(revue.NormalizeRepo("host.example/"+topic+"/"+noSpace), "github.com/acme/"+topic), Via: "mcp http",
	})
	clip := func(s string) string { return cut(s, 900) }
	out, err := agent.Request(ctx, revue.Ask{
		Question: fmt.Sprintf("Vector %d: %s?", i, cut(v, 1900)), Context: fmt.Sprintf("Before.\n\n%s\n\nAfter.", v), Stream: "hostile",
		Options: []revue.Option{
			{Value: clip(fmt.Sprintf("v%d %s", i, plain)), Label: clip("one " + v), Consequence: clip(v)},
			{Value: "other", Label: clip("two " + v), Consequence: clip(v)},
		},
		Recommendation: clip(fmt.Sprintf("v%d %s", i, plain)), Concepts: []string{topic, clip(v)}, Files: []string{clip(v)},
	})
	require.NoError(t, err, "vector %d", i)
	question = p.lot(out.LotID)
	out, err = agent.Request(ctx, revue.Ask{
		Kind: revue.KindApproval, Question: fmt.Sprintf("Approve %d: %s", i, cut(v, 1900)), Context: v, Stream: "hostile",
		Affected: []revue.Affected{{Label: clip("thing " + v), Meta: clip(v)}},
	})
	require.NoError(t, err, "vector %d", i)
	approval = p.lot(out.LotID)
	_, err = agent.Share(ctx, revue.ContextItem{Kind: cut(plain, 60) + "k", Body: v, Concepts: []string{topic}})
	require.NoError(t, err, "vector %d", i)
	return question, approval
}

// TestHostileText plants every vector in every field and looks at each page that shows them, with scripts on. A tab that runs
// something, asks for something elsewhere, or violates the policy fails the test by itself.
func TestHostileText(t *testing.T) {
	p := newPlane(t)
	all := vectors()
	require.GreaterOrEqual(t, len(all), 60)
	tab := p.signedIn("Ada", browser.Options{})
	check := func(where string) {
		t.Helper()
		for _, w := range browser.Eval[[]string](tab, survey) {
			t.Errorf("%s: %s", where, w)
		}
	}

	// Tokens of agents have names that a member chose for them.
	for i, v := range all {
		plain := cut(plainly(v), 150)
		if _, err := p.admin("Ada").CreateToken(t.Context(), revue.NewToken{Kind: revue.TokenAgent, Owner: plain, Label: fmt.Sprintf("%d %s", i, plain)}); err != nil {
			require.ErrorIs(t, err, revue.ErrInvalid)
		}
	}

	// What a card of harmless text has, two of each kind: with and without a second one that is alike.
	questions, approvals := make([]revue.Lot, len(all)), make([]revue.Lot, len(all))
	q, a := plant(t, p, 1000, "harmless")
	tab.Open("/lots/" + q.ID + "?whole=1")
	questionFrame := browser.Eval[string](tab, frame)
	tab.Open("/lots/" + a.ID + "?whole=1")
	approvalFrame := browser.Eval[string](tab, frame)
	_, err := p.reviewer("Bo").Dismiss(t.Context(), q.ID, revue.Dismissal{})
	require.NoError(t, err)
	_, err = p.reviewer("Bo").Answer(t.Context(), a.ID, revue.Answer{Value: revue.Declined})
	require.NoError(t, err)

	for i, v := range all {
		questions[i], approvals[i] = plant(t, p, i, v)
		where := fmt.Sprintf("vector %d %.60q", i, v)
		tab.Open("/lots/" + questions[i].ID + "?whole=1")
		check(where + " on a card")
		require.Equal(t, questionFrame, browser.Eval[string](tab, frame), where)
		if v == plainly(v) && len(v) < 800 && !strings.ContainsFunc(v, func(r rune) bool { return r > unicode.MaxASCII }) {
			require.Equal(t, "one "+v, browser.Eval[string](tab, `$any("label[for=o-0] strong").textContent`), where)
		}
		tab.Open("/lots/" + approvals[i].ID + "?whole=1")
		check(where + " on an approval")
		require.Equal(t, approvalFrame, browser.Eval[string](tab, frame), where)
	}
	lists := func(when string) {
		for _, path := range []string{"/", "/?sort=newest&stream=hostile", "/history", "/memory", "/memory/notes", "/overview", "/settings", "/memory?q=vector", "/lots/answer?lot=" + questions[0].ID + "&lot=" + questions[1].ID} {
			for _, width := range []int{1280, 360} {
				tab.Look(width, 800, false)
				tab.Open(path)
				check(fmt.Sprintf("%s at %d, %s", path, width, when))
			}
		}
	}
	lists("while everything waits")
	for i, v := range all {
		answered, err := p.reviewer("Bo").Answer(t.Context(), questions[i].ID, revue.Answer{Value: questions[i].Options[0].Value, Note: cut(v, 4000)})
		require.NoError(t, err)
		tab.Open("/decisions/" + answered.DecisionID)
		check(fmt.Sprintf("vector %d %.60q as a decision", i, v))
		if i%2 == 0 {
			_, err = p.reviewer("Bo").Answer(t.Context(), approvals[i].ID, revue.Answer{Value: revue.Approved})
			require.NoError(t, err)
		}
	}
	lists("when it was answered")
	tab.Open("/lots/" + questions[len(all)-1].ID)
	check("an answered card")
	t.Logf("%d vectors in each of 18 fields, on %d pages", len(all), 3*len(all)+37)
}

// TestLiesAreShown reads what the page says of text that lies.
func TestLiesAreShown(t *testing.T) {
	p := newPlane(t)
	lot := p.ask("Ada\u202e (claude)", repoAPI, revue.Ask{
		Question: "Run safe\u202eexe.fdp and app\u200brove gооgle?", Options: choice("yes: soft\u00adly", "no"), Concepts: []string{"tag\U000e0041"}, Files: []string{"a\u2066.go"},
		Context: "[https://apple.com](https://аpple.com/x) and [read](https://github.com@elsewhere.example/) and ![look](https://elsewhere.example/beacon.png) and zero\u200bwidth",
	})
	tab := p.signedIn("Ada", browser.Options{})
	for _, path := range []string{"/", "/lots/" + lot.ID} {
		tab.Open(path)
		text := tab.Text("#main")
		for _, want := range []string{"safeU+202Eexe.fdp", "appU+200Brove", "mixed alphabets"} {
			require.Contains(t, text, want, path)
		}
	}
	text := tab.Text("article")
	for _, want := range []string{"softU+00ADly", "tagU+E0041", "aU+2066.go", "AdaU+202E (claude)", "zeroU+200Bwidth", "https://apple.com https://аpplemixed alphabets.com/x", "https://github.com@elsewhere.example/", "https://elsewhere.example/beacon.png"} {
		require.Contains(t, text, want)
	}
	require.Equal(t, 0, tab.Count("article img"))
	require.Equal(t, 0, tab.Count("article a[href*=pple]"), "no link leads to a host that looks like another")
	require.Equal(t, "U+202E", tab.Text("h1 .odd"))
	require.Contains(t, tab.Attr("h1 .odd", "title"), "RIGHT-TO-LEFT OVERRIDE")
	require.NotEqual(t, browser.Eval[string](tab, `getComputedStyle($("h1")).backgroundColor`), browser.Eval[string](tab, `getComputedStyle($("h1 .odd")).backgroundColor`))
	require.NotContains(t, tab.Title(), "\u202e")
}

// TestNamesThatAreNoText tries the vectors as lanes and repositories, which are refused or become plain names.
func TestNamesThatAreNoText(t *testing.T) {
	p := newPlane(t)
	for i, v := range vectors() {
		ask := numbered(i)
		ask.Stream = v
		if _, err := p.agent(claude, "").Request(t.Context(), ask); err != nil {
			require.ErrorIs(t, err, revue.ErrInvalid)
			require.Contains(t, err.Error(), "stream")
		}
		require.False(t, strings.ContainsFunc(revue.NormalizeRepo("host.example/"+v), func(r rune) bool { return odd(r) || unicode.IsSpace(r) }))
	}
	for _, l := range p.open() {
		require.Regexp(t, `^[a-z0-9][a-z0-9._-]*$`, l.Stream)
	}
}

// TestHostileLinks sends every vector by the address, as somebody who wants a reader of the inbox to follow a link.
func TestHostileLinks(t *testing.T) {
	p := newPlane(t)
	p.ask(claude, repoAPI, numbered(1))
	tab := p.signedIn("Ada", browser.Options{})
	out := p.profile(browser.Options{}).Tab()
	for _, x := range []*browser.Tab{tab, out} {
		refused(x, "4[0-9][0-9]")
	}
	for i, v := range vectors() {
		at := url.QueryEscape(cut(v, 500))
		paths := []string{
			"/?q=" + at + "&stream=" + at + "&repo=" + at + "&agent=" + at + "&kind=" + at + "&cursor=" + at,
			"/memory?q=" + at + "&concepts=" + at + "&files=" + at + "&repo=" + at + "&cursor=" + at,
			"/history?q=" + at + "&agent=" + at + "&status=" + at + "&stream=" + at + "&cursor=" + at,
			"/overview?stream=" + at,
			"/lots/answer?lot=" + at + "&like=" + at,
			"/lots/" + url.PathEscape(cut(v, 300)) + "?done=" + at + "&left=" + at,
		}
		path := paths[i%len(paths)]
		tab.Open(path)
		require.Empty(t, browser.Eval[[]string](tab, survey), path)
		require.True(t, strings.HasPrefix(tab.Path(), "/"), path)
		out.Open("/login?next=" + at)
		require.Empty(t, browser.Eval[[]string](out, survey), v)
		next := browser.Eval[string](out, `document.querySelector("input[name=next]").value`)
		require.True(t, strings.HasPrefix(next, "/") && !strings.HasPrefix(next, "//") && !strings.ContainsAny(next, "\\\n\t"), "%q", next)
	}
}

// TestHugeText is a card of the largest sizes there are, on a telephone.
func TestHugeText(t *testing.T) {
	p := newPlane(t)
	word := func(n int) string { return strings.Repeat("W", n) }
	ask := revue.Ask{Question: word(revue.MaxQuestion - 1), Context: word(revue.MaxContext), Stream: word(revue.MaxStream)}
	ask.Stream = strings.ToLower(ask.Stream)
	for i := range revue.MaxOptions {
		n := fmt.Sprintf("%02d", i)
		ask.Options = append(ask.Options, revue.Option{Value: n + word(revue.MaxOptionText-2), Label: n + word(revue.MaxOptionText-2), Consequence: word(revue.MaxOptionText)})
	}
	for i := range revue.MaxConcepts {
		ask.Concepts = append(ask.Concepts, fmt.Sprintf("%03d", i)+word(revue.MaxTerm-3))
	}
	for i := range revue.MaxFiles {
		ask.Files = append(ask.Files, fmt.Sprintf("%03d", i)+word(revue.MaxTerm-3))
	}
	lot := p.ask(word(190), repoAPI, ask)
	approval := revue.Ask{Question: word(revue.MaxQuestion), Context: strings.Repeat("a\n\n", revue.MaxContext/3)}
	for i := range revue.MaxAffected {
		approval.Affected = append(approval.Affected, revue.Affected{Label: strconv.Itoa(i) + word(1000), Meta: word(1000)})
	}
	other := p.approval(word(190), repoAPI, approval)
	tab := p.signedIn("Ada", browser.Options{Width: 360, Height: 740})
	for _, path := range []string{"/", "/lots/" + lot.ID, "/lots/" + lot.ID + "?whole=1", "/lots/" + other.ID, "/lots/" + other.ID + "?whole=1"} {
		tab.Open(path)
		require.Empty(t, browser.Eval[[]string](tab, survey), path)
	}
	tab.Open("/lots/" + other.ID)
	require.False(t, tab.Has("[data-approve]"), "nobody approves what is not on screen")
	tab.Click("a :: Open it whole")
	tab.Wait("[data-approve]")
	following(t, tab)
	p.ask(claude, repoAPI, numbered(1)) // what happens elsewhere does not stop a page of 20,000 paragraphs
	tab.Until(`document.getElementById("said").textContent === "1 new question"`)
	tab.Click("[data-approve]")
	tab.Wait("article :: Answered by Ada")
}
