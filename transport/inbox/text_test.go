package inbox

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
)

// hostile returns the corpus of texts that agents may send.
func hostile(t testing.TB) []string {
	t.Helper()
	f, err := os.Open("testdata/hostile.txt")
	require.NoError(t, err)
	defer f.Close()
	var out []string
	for s := bufio.NewScanner(f); s.Scan(); {
		if !strings.HasPrefix(s.Text(), `"`) {
			continue
		}
		v, err := strconv.Unquote(s.Text())
		require.NoError(t, err, s.Text())
		out = append(out, v)
	}
	require.GreaterOrEqual(t, len(out), 60)
	return out
}

// allowed is the closed set of elements and attributes that text of agents becomes.
func allowed() map[string][]string {
	return map[string][]string{
		"bdi": {"class"}, "span": {"class", "title"}, "details": {"class"}, "summary": nil, "mark": nil,
		"div": {"class", "tabindex"}, "p": {"class"}, "br": nil, "hr": nil, "h3": nil, "h4": nil, "h5": nil, "h6": nil, "blockquote": nil,
		"ul": nil, "ol": {"start"}, "li": nil, "pre": nil, "code": nil, "em": nil, "strong": nil, "del": nil,
		"table": nil, "thead": nil, "tbody": nil, "tr": nil, "th": nil, "td": nil, "a": {"href", "rel", "target"},
	}
}

var (
	classes = []string{"block", "odd", "mixed", "tag", "more", "prose", "scroll", "quiet", "target", "added", "removed", "hunk", "meta", "info", "from"}
	leads   = regexp.MustCompile(`^(https?://[a-z0-9][a-z0-9.-]*(:[0-9]{1,5})?([/?#]|$)|mailto:[A-Za-z0-9._+-]+@[A-Za-z0-9.-]+$)`)
	codeIs  = regexp.MustCompile(`^U\+([0-9A-F]{4,6})(?: ×(\d+))?$`)
	byteIs  = regexp.MustCompile(`^0x([0-9A-F]{2})$`)
	blanks  = regexp.MustCompile(`^(\d+) blank lines$`)
)

// safe checks that what a text became has no element, attribute or address outside of the set, and that each element ends.
func safe(t testing.TB, out string) {
	t.Helper()
	var open []string
	for z := html.NewTokenizer(strings.NewReader(out)); ; {
		kind := z.Next()
		tok := z.Token()
		switch kind {
		case html.ErrorToken:
			require.Empty(t, open, "these elements do not end: %s", out)
			return
		case html.TextToken:
		case html.StartTagToken:
			attrs, ok := allowed()[tok.Data]
			require.True(t, ok, "<%s> in %s", tok.Data, out)
			for _, a := range tok.Attr {
				require.Contains(t, attrs, a.Key, "in %s", out)
				switch a.Key {
				case "class":
					require.Contains(t, classes, a.Val)
				case "href":
					require.Regexp(t, leads, a.Val)
				case "rel":
					require.Equal(t, "noopener noreferrer nofollow", a.Val)
				case "target":
					require.Equal(t, "_blank", a.Val)
				case "start", "tabindex":
					require.Regexp(t, `^\d+$`, a.Val)
				}
			}
			if tok.Data == "a" {
				require.Len(t, tok.Attr, 3)
				require.NotContains(t, open, "a", "a link in a link: %s", out)
			}
			if tok.Data != "br" && tok.Data != "hr" {
				open = append(open, tok.Data)
			}
		case html.EndTagToken:
			require.NotEmpty(t, open, "</%s> in %s", tok.Data, out)
			require.Equal(t, open[len(open)-1], tok.Data, "in %s", out)
			open = open[:len(open)-1]
		default:
			t.Fatalf("%v in %s", tok, out)
		}
	}
}

// original reads back the text that was shown, from what a browser has of it.
func original(t testing.TB, out string) string {
	t.Helper()
	var b strings.Builder
	var class []string
	for z := html.NewTokenizer(strings.NewReader(out)); ; {
		switch kind, tok := z.Next(), z.Token(); kind {
		case html.ErrorToken:
			return b.String()
		case html.StartTagToken:
			c := tok.Data
			for _, a := range tok.Attr {
				if a.Key == "class" {
					c = a.Val
				}
			}
			class = append(class, c)
		case html.EndTagToken:
			class = class[:len(class)-1]
		case html.TextToken:
			switch in := class[len(class)-1]; {
			case in == "tag", in == "summary":
			case in == "odd":
				switch {
				case codeIs.MatchString(tok.Data):
					m := codeIs.FindStringSubmatch(tok.Data)
					r, err := strconv.ParseUint(m[1], 16, 32)
					require.NoError(t, err)
					times, _ := strconv.Atoi(m[2])
					b.WriteString(strings.Repeat(string(rune(r)), max(1, times)))
				case byteIs.MatchString(tok.Data):
					r, err := strconv.ParseUint(byteIs.FindStringSubmatch(tok.Data)[1], 16, 8)
					require.NoError(t, err)
					b.WriteByte(byte(r))
				default:
					m := blanks.FindStringSubmatch(tok.Data)
					require.NotNil(t, m, tok.Data)
					n, _ := strconv.Atoi(m[1])
					b.WriteString(strings.Repeat("\n", n-1))
				}
			default:
				b.WriteString(tok.Data)
			}
		}
	}
}

// squeezed is a text with the white space dropped from its blank lines, where there are many.
func squeezed(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		b.WriteByte(s[i])
		if s[i] == '\n' {
			if blank, end := blankLines(s[i:]); blank > maxBlanks {
				b.WriteString(strings.Repeat("\n", blank))
				i += end - 1
			}
		}
	}
	return b.String()
}

func checkText(t testing.TB, s string) {
	t.Helper()
	one := string(line(s))
	safe(t, one)
	require.Equal(t, strings.NewReplacer("\n", " ", "\t", " ").Replace(s), original(t, one))
	many := string(block(s))
	safe(t, many)
	require.Equal(t, squeezed(s), squeezed(original(t, many)))
	for _, out := range []string{one, many} {
		for _, r := range html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(out, "")) {
			require.False(t, r < ' ' && r != '\n' && r != '\t' || r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069 || r == 0x200B || r == 0xFEFF,
				"%U is not shown by its name in %s", r, out)
		}
	}
	w := differs(s, "Should we <b>deploy</b>?")
	safe(t, string(w.Text))
}

func TestHostileText(t *testing.T) {
	for _, s := range hostile(t) {
		checkText(t, s)
		checkMarkdown(t, s)
	}
}

func FuzzText(f *testing.F) {
	for _, s := range hostile(f) {
		f.Add(s)
	}
	f.Add("a\xff\xc3b")
	f.Add("\xef")
	f.Fuzz(func(t *testing.T, s string) { checkText(t, s) })
}

func TestLine(t *testing.T) {
	odd := func(code, name string) string { return `<span class="odd" title="` + name + `">` + code + `</span>` }
	mixed := func(word, why string) string {
		return `<span class="mixed" title="` + why + `">` + word + `</span><span class="tag">mixed alphabets</span>`
	}
	for _, c := range []struct{ name, in, want string }{
		{"plain", "Which <database>?", "Which &lt;database&gt;?"},
		{"bidi", "a\u202eb", "a" + odd("U+202E", "RIGHT-TO-LEFT OVERRIDE") + "b"},
		{"many of one", "a\u200b\u200b\u200bb", "a" + odd("U+200B ×3", "ZERO WIDTH SPACE") + "b"},
		{"control", "a\x1bb", "a" + odd("U+001B", "a control character") + "b"},
		{"no UTF-8", "a\xffb", "a" + odd("0xFF", "no UTF-8") + "b"},
		{"emoji", "👩\u200d💻 ❤\ufe0f", "👩\u200d💻 ❤\ufe0f"},
		{"joiner where it joins nothing", "a\u200db", "a" + odd("U+200D", "ZERO WIDTH JOINER") + "b"},
		{"Persian", "می\u200cخواهم", "می\u200cخواهم"},
		{"Cyrillic in Latin", "to р\u0440od now", "to " + mixed("ррod", "mixes letters that look alike: Cyrillic, Latin") + " now"},
		{"hidden inside", "p\u200b\u0430y", mixed("p"+odd("U+200B", "ZERO WIDTH SPACE")+"аy", "mixes letters that look alike: Latin, Cyrillic")},
		{"a word that looks Latin", "Option \u0410 or B", "Option " + mixed("\u0410", "looks Latin, but is Cyrillic") + " or B"},
		{"Russian", "Включить PDF-файл с API?", "Включить PDF-файл с API?"},
		{"Greek letters of physics", "kΩ, Δt, μs, πr", "kΩ, Δt, μs, πr"},
		{"Greek that imitates", "Α\u0392C", mixed("ΑΒC", "mixes letters that look alike: Greek, Latin")},
		{"Greek", "Να γίνει deploy;", "Να γίνει deploy;"},
		{"Japanese and Latin", "DBを選ぶ。Tシャツ", "DBを選ぶ。Tシャツ"},
		{"Korean and Latin", "API를 바꿀까요?", "API를 바꿀까요?"},
		{"German and Vietnamese", "Größe, Tiếng Việt", "Größe, Tiếng Việt"},
		{"mathematical", "\U0001d41a\U0001d41b", mixed("\U0001d41a\U0001d41b", "letters of a mathematical alphabet")},
		{"digits of others", "v\u0661x", mixed("v\u0661x", "mixes letters that look alike: Latin, digits of other scripts")},
		{"marks", "e\u0301\u0323", "e\u0301\u0323"},
		{"a pile of marks", "a" + strings.Repeat("\u0301", 30), "a\u0301\u0301\u0301\u0301" + odd("U+0301 ×26", "COMBINING ACUTE ACCENT")},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, "<bdi>"+c.want+"</bdi>", string(line(c.in))) })
	}
}

func TestBlock(t *testing.T) {
	require.Equal(t, "<bdi class=\"block\">a\n\tb</bdi>", string(block("a\n\tb")))
	require.Contains(t, string(block("a"+strings.Repeat("\n \t", 20)+"\nb")), "20 blank lines")
	long := strings.Repeat("words and words\n", 4096)
	out := string(block(long))
	require.Contains(t, out, "<summary>Show all: 56 KiB more</summary>")
	require.Equal(t, long, original(t, out))
	head, rest := cutText(strings.Repeat("€", 10), 10)
	require.Equal(t, "€€€", head)
	require.Equal(t, strings.Repeat("€", 7), rest)
	require.True(t, utf8.ValidString(head))
}

func TestDiffers(t *testing.T) {
	for _, c := range []struct {
		text, question, want string
		missing              []string
	}{
		{"Deploy to staging?", "Deploy to staging?", "Deploy to staging?", nil},
		{"Deploy to the staging environment?", "Deploy to staging?", "Deploy to <mark>the</mark> staging <mark>environment</mark>?", nil},
		{"Deploy to staging?", "Please deploy v2 to staging?", "<mark>Deploy</mark> to staging?", []string{"Please deploy v2"}},
		{"Deploy <b>", "Deploy", "Deploy <mark>&lt;b&gt;</mark>", nil},
		{"", "Deploy", "", []string{"Deploy"}},
		{"Keep 10", "Keep 100", "Keep <mark>10</mark>", []string{"100"}},
	} {
		w := differs(c.text, c.question)
		require.Equal(t, `<bdi class="block">`+c.want+`</bdi>`, string(w.Text))
		require.Equal(t, c.missing, w.Missing)
	}
}

// Comparing two wordings of any length is bounded.
func TestDiffersLong(t *testing.T) {
	a, b := strings.Repeat("a b ", 20000), strings.Repeat("c d ", 20000)
	w := differs(a, b)
	require.Len(t, w.Missing, 1)
	require.True(t, strings.HasPrefix(string(w.Text), `<bdi class="block"><mark>`))
}

func FuzzDiffers(f *testing.F) {
	f.Add("Deploy to staging?", "Deploy to the staging environment?")
	f.Add("a\xffb", "a b")
	f.Add("a", "\xef")
	f.Fuzz(func(t *testing.T, a, b string) {
		w := differs(a, b)
		safe(t, string(w.Text))
		require.Equal(t, squeezed(a), squeezed(original(t, string(w.Text))))
		same := differs(a, a)
		require.Empty(t, same.Missing)
		require.NotContains(t, string(same.Text), "<mark>")
	})
}

func TestAgo(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for d, want := range map[time.Duration]string{time.Second: "just now", 59 * time.Second: "59 s", time.Hour - 1: "59 min", 47 * time.Hour: "47 h", 72 * time.Hour: "3 d"} {
		require.Equal(t, want, ago(now.Add(-d), now))
	}
}

func checkMarkdown(t testing.TB, s string) {
	t.Helper()
	out := string(newMarkdown().html(s))
	safe(t, out)
	require.LessOrEqual(t, len(out), growth(s), "it grew too much")
	shown := strings.ToLower(visible(out))
	for _, at := range words.FindAllStringIndex(s, -1) {
		if at[0] == 0 || !strings.ContainsRune("&#", rune(s[at[0]-1])) { // a character by its name
			require.Contains(t, shown, strings.ToLower(s[at[0]:at[1]]), "something of %q is not shown in %s", s, out)
		}
	}
}

// words are what is looked for in what is shown.
var words = regexp.MustCompile(`[A-Za-z]{3,}`)

// visible is what can be read of a page.
func visible(out string) string {
	var b strings.Builder
	for z := html.NewTokenizer(strings.NewReader(out)); ; {
		switch kind, tok := z.Next(), z.Token(); kind {
		case html.ErrorToken:
			return b.String()
		case html.TextToken:
			b.WriteString(tok.Data)
		}
	}
}

// growth is how long the HTML of a text may be: a name for each character that acts is the worst there is.
func growth(s string) int { return 120*len(s) + 128<<10 }

func FuzzMarkdown(f *testing.F) {
	for _, s := range slices.Concat(hostile(f), pathological(1<<10)) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { checkMarkdown(t, s) })
}

func TestMarkdown(t *testing.T) {
	link := func(to, text string) string {
		return `<a href="` + to + `" rel="noopener noreferrer nofollow" target="_blank">` + text + `</a>`
	}
	to := func(s string) string { return ` <span class="target"><bdi>` + s + `</bdi></span>` }
	for _, c := range []struct{ name, in, want string }{
		{"paragraph", "a *b* **c** ~~d~~ `e`\nf", "<p>a <em>b</em> <strong>c</strong> <del>d</del> <code>e</code><br>f</p>"},
		{"headings", "### a\n# b\n###### c\n## d", "<h3>a</h3><h3>b</h3><h4>c</h4><h4>d</h4>"},
		{"lists", "- a\n- b\n\n3. c", "<ul><li>a</li><li>b</li></ul><ol start=\"3\"><li>c</li></ol>"},
		{"quote", "> a", "<blockquote><p>a</p></blockquote>"},
		{"raw HTML", "<b>a</b>\n\n<div>\nb", "<p>&lt;b&gt;a&lt;/b&gt;</p><p>&lt;div&gt;<br>b</p>"},
		{"entities", "&lt;b&gt; &#x202e;", `<p>&lt;b&gt; <span class="odd" title="RIGHT-TO-LEFT OVERRIDE">U+202E</span></p>`},
		{"table", "|a|b|\n|-|:-:|\n|c|", `<div class="scroll" tabindex="0"><table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>c</td><td></td></tr></tbody></table></div>`},
		{"code", "```go\nif a < b {\n\tc\n}\n```", "<pre><span class=\"info\">go</span><code>if a &lt; b {\n\tc\n}\n</code></pre>"},
		{"what is beside code", "```go hidden <b>\n```", "<pre><span class=\"info\">go hidden &lt;b&gt;</span><code></code></pre>"},
		{"a definition that nothing uses", "[hidden]: https://x.example 'a title'", `<p><span class="quiet">[hidden]: https://x.example “a title”</span></p>`},
		{"code that acts", "```\na\u202eb\n```", "<pre><code>a<span class=\"odd\" title=\"RIGHT-TO-LEFT OVERRIDE\">U+202E</span>b\n</code></pre>"},
		{"difference", "```diff\n--- a\n+++ b\n@@ -1 +1 @@\n-x\n+<y>\n z\n```", "<pre><span class=\"info\">diff</span><code><span class=\"meta\">--- a</span>\n<span class=\"meta\">+++ b</span>\n<span class=\"hunk\">@@ -1 +1 @@</span>\n<span class=\"removed\">-x</span>\n<span class=\"added\">+&lt;y&gt;</span>\n z\n</code></pre>"},
		{"what looks like a difference", "```\n@@ -1 +1 @@\n-x\n+y\n```", "<pre><code><span class=\"hunk\">@@ -1 +1 @@</span>\n<span class=\"removed\">-x</span>\n<span class=\"added\">+y</span>\n</code></pre>"},
		{"a list is no difference", "```\n- x\n+ y\n```", "<pre><code>- x\n+ y\n</code></pre>"},
		{"link", "[docs](https://Go.dev/doc?a=1&b=2)", "<p>" + link("https://go.dev/doc?a=1&amp;b=2", "<bdi>docs</bdi>") + to("https://go.dev/doc?a=1&amp;b=2") + "</p>"},
		{"link that says where it leads", "[go.dev/doc](https://go.dev/doc)", "<p>" + link("https://go.dev/doc", "<bdi>go.dev/doc</bdi>") + "</p>"},
		{"link that says otherwise", "[https://go.dev](https://evil.example)", "<p>" + link("https://evil.example", "<bdi>https://go.dev</bdi>") + to("https://evil.example") + "</p>"},
		{"autolink", "see https://go.dev/x.", "<p>see " + link("https://go.dev/x", "https://go.dev/x") + ".</p>"},
		{"mail", "<a@b.example>", "<p>" + link("mailto:a@b.example", "a@b.example") + "</p>"},
		{"image", "![a chart](https://x.example/a.png)", "<p>" + link("https://x.example/a.png", "<bdi>image: a chart</bdi>") + to("https://x.example/a.png") + "</p>"},
		{"script", "[a](javascript:alert(1))", "<p><bdi>a</bdi>" + to("javascript:alert(1)") + "</p>"},
		{"local", "[a](/logout)", "<p><bdi>a</bdi>" + to("/logout") + "</p>"},
		{"name before a host", "[a](https://go.dev@evil.example)", "<p><bdi>a</bdi>" + to("https://go.dev@evil.example") + "</p>"},
		{"host in other letters", "[go.dev](https://gо.dev)", "<p><bdi>go.dev</bdi>" + to(`https://<span class="mixed" title="mixes letters that look alike: Latin, Cyrillic">gо</span><span class="tag">mixed alphabets</span>.dev`) + "</p>"},
		{"host in its ASCII form", "[a](https://xn--bcher-kva.example)", "<p>" + link("https://xn--bcher-kva.example", "<bdi>a</bdi>") + to("https://xn--bcher-kva.example") + "</p>"},
		{"link without text", "[](https://go.dev)", "<p>" + link("https://go.dev", "<bdi>(no text)</bdi>") + to("https://go.dev") + "</p>"},
		{"image in a link", "[![a](https://x.example)](https://go.dev)", "<p>" + link("https://go.dev", `<bdi><bdi>image: a</bdi>`+to("https://x.example")+`</bdi>`) + to("https://go.dev") + "</p>"},
		{"alphabets mixed over elements", "p**а**y", `<p>p<strong>а</strong>y<span class="tag">mixed alphabets</span></p>`},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, framed(c.want), string(newMarkdown().html(c.in)))
			safe(t, string(newMarkdown().html(c.in)))
		})
	}
}

// What Markdown would leave out is shown as the text that it is.
func TestMarkdownPlain(t *testing.T) {
	for _, s := range []string{
		"|a|b|\n|-|-|\n|c|d|hidden|", "a|b\n-|-\nc|d|hidden", "> a|b\n> :-:|-\n> c|d|hidden|", strings.Repeat("> ", 20) + "deep", "|" + strings.Repeat("a|", 40) + "\n|" + strings.Repeat("-|", 40),
	} {
		require.Equal(t, framed(string(block(s))), string(newMarkdown().html(s)))
	}
}

// framed is what is around every text of an agent that may look like a page.
func framed(s string) string {
	return `<div class="prose"><p class="from">From the agent</p>` + s + `</div>`
}

// A table whose rows have more cells than its head is shown as text, wherever something else looks like a wider head.
func TestMarkdownShowsEveryCell(t *testing.T) {
	for _, s := range []string{
		"| step | target |\n|---|---|\n|---|---|---|---|\n| build | web | then drop | PRODUCTION |",
		"```\n|-|-|-|-|-|\n```\n| step |\n|---|\n| build | SECRETLY | DROP |",
		"# |-|-|-|-|\n| a |\n|-|\n| x | HIDDEN | TWICE |",
		"a\n:-\nx | HIDDEN", "a\n-:\nx | HIDDEN", "| a\n| -\nx | HIDDEN", "a |\n- |\nx | HIDDEN",
		"* | a |\n  |---|\n  | x | HIDDEN |", "1. | a |\n   |---|\n   | x | HIDDEN |", "> | a |\n> |---|\n> | x | HIDDEN |",
		"> |-|-|-|\n> | a |\n> |---|\n> | x | HIDDEN |", "| a | b |\n|---|---|\n| | | HIDDEN |", "| a |\n|---|\n||HIDDEN|",
		"| a | b |\n|---|---|\n| x | y \\\\| HIDDEN | TWICE |", "| a |\n|-|\n| `x | HIDDEN` |", "| a |\n|-|\n| x |\\| HIDDEN |",
		"| a |\n|-|\n|\tx\t|\tHIDDEN", "| a |\r\n|-|\r\n| x | HIDDEN |\r\n", "| a |\n|-|\n| x |\n| y | HIDDEN",
	} {
		checkMarkdown(t, s)
	}
	for _, s := range []string{"|a|b|\n|-|-|\n|c|d|", "|a|b|\n|-|-|\n|c||", "a|b\n-|-\nc|d \nc \n|", "> |a|\n> |-|\n> |c `\\|` d|"} {
		require.Contains(t, string(newMarkdown().html(s)), "<table>", s)
	}
}

// Texts that are put together from what has a meaning in Markdown lose no word.
func TestMarkdownShowsEveryWord(t *testing.T) {
	parts := []string{
		"\n", "\n", "\n\n", " ", "W", "W", "W", "|", "|", "|-|\n", "|-|-|\n", "|-|-|-|-|\n", "| W | W |\n", "|W|\n", ":-\n", "\\|", "*", "_", "`", "```", "~~", "[", "](", ")", "]",
		": ", "> ", "- ", "1. ", "# ", "\t", "    ", "<", ">", "http://x.y/", "\\", "&amp;", "![", "\"", "***\n", "===\n", "<W", "<http://W>", "W@a.b", "![W](W)", "[W](http://W \"W\")",
		"[W]: http://W \"W\"\n", "[W][W]", "~~~ W\n", "``` W W\n", "www.W.com/", "<!-- W -->", "\r",
	}
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 7))
		var b strings.Builder
		for range 5 + r.IntN(40) {
			for i, piece := range strings.Split(parts[r.IntN(len(parts))], "W") {
				if i > 0 {
					b.WriteString("q" + strings.Repeat(string(rune('a'+r.IntN(26))), 2) + string(rune('a'+r.IntN(26))) + "z")
				}
				b.WriteString(piece)
			}
		}
		checkMarkdown(t, b.String())
	}
}

// Of an address, however long, the host is shown whole.
func TestMarkdownShowsTheHost(t *testing.T) {
	long := strings.Repeat("github.com.signin.", 20)
	for _, host := range []string{"x.example", long + "evil.example", long + "evil.example:8443"} {
		for _, rest := range []string{"", "/", "?q=" + strings.Repeat("y", 400) + "END", "/" + strings.Repeat("a/", 300) + "END", "#" + strings.Repeat("é", 200) + "END"} {
			out := string(newMarkdown().html("[docs](https://" + host + rest + ")"))
			_, shown, ok := strings.Cut(out, `<span class="target"><bdi>`)
			require.True(t, ok, out)
			shown, _, _ = strings.Cut(shown, "</bdi>")
			require.True(t, strings.HasPrefix(shown, "https://"+host), shown)
			require.LessOrEqual(t, len(shown), len(host)+220)
			if strings.HasSuffix(rest, "END") {
				require.True(t, strings.HasSuffix(shown, "END"), shown)
				require.Contains(t, shown, "…")
			}
		}
	}
	at := "https://" + strings.Repeat("a", 200) + "@evil.example"
	require.Contains(t, string(newMarkdown().html("[docs]("+at+")")), at, "no link: it may have its host anywhere")
}

// Text of an agent that looks like the sections of a card is in a frame with the name of whose it is.
func TestMarkdownIsFramed(t *testing.T) {
	for _, s := range []string{"---\n## Affected 1\n- nothing\n\n## Your answer\n> **Approved** by maria", "plain", strings.Repeat("> ", 20) + "## Your answer", "</div></section><h2>Your answer</h2>"} {
		doc, err := html.Parse(strings.NewReader(string(newMarkdown().html(s))))
		require.NoError(t, err)
		body := doc.LastChild.LastChild
		require.Same(t, body.FirstChild, body.LastChild, "something is outside of the frame: %q", s)
		from := body.FirstChild.FirstChild
		require.Equal(t, "from", attrOf(from, "class"))
		require.Equal(t, "From the agent", from.FirstChild.Data)
		require.NotContains(t, string(newMarkdown().html(s)), "<h2")
	}
}

// pathological returns texts of about n bytes that are slow to parse, or grow, or are deep.
func pathological(n int) []string {
	rep := func(s string) string { return strings.Repeat(s, n/len(s)+1) }
	grow := func(f func(i int) string) string {
		var b strings.Builder
		for i := 1; b.Len() < n; i++ {
			b.WriteString(f(i))
		}
		return b.String()
	}
	out := []string{
		"|" + strings.Repeat("a|", n/8) + "\n|" + strings.Repeat("-|", n/8) + "\n" + strings.Repeat("|\n", n/8),
		"> |" + strings.Repeat("a|", n/8) + "\n> |" + strings.Repeat("-|", n/8) + "\n" + strings.Repeat("> |\n", n/8),
		strings.Repeat("[", n/2) + strings.Repeat("]", n/2),
		"a**b" + rep("c* "),
		"[a]: https://x.example/" + strings.Repeat("y", n/2) + "\n\n" + strings.Repeat("[a]", n/6),
		grow(func(i int) string { return strings.Repeat("  ", i) + "- a\n" }),
		grow(func(i int) string { return strings.Repeat("> ", i) + "a\n" }),
		grow(func(i int) string { return "e" + strings.Repeat("`", i) }),
		grow(func(i int) string { return fmt.Sprintf("[a%d]: b\n", i) }),
		grow(func(i int) string { return fmt.Sprintf("|a%d|b|\n|-|-|\n|c|d|\n\n", i) }),
	}
	for _, s := range []string{
		"[", "![", "[a](", "[](", "[a](<b", "![[]()", "[a](b 'c", "*a ", "**a", "a*", "_a_ ", "*_", "***a", "~~a", "~a~", "`a``b", "<", "<a ", "<http://a ", "<!--",
		"&amp;", "&#", ">", "> ", "- ", "1. ", "+ ", "> - ", "-\n", ">\n", "- a\n\n", "\n", "a\n", "a\n=\n", "# ", "#\n", "    a\n", "\t", "```\n", "~~~\n", "\\",
		"www.", "www.a ", "http://", "a@b.", "aaaa.bbb@", "a:", "[a]: b\n", "[a]: ", "|", "|-|-|\n", "|a|b|\n", "\u0301", "\u200b\u200c", "p\u0430 ", "\x01", "-|", ":-|",
	} {
		out = append(out, rep(s))
	}
	return out
}

// The longest texts that are taken in stay within their bound, and are shown whole.
func TestMarkdownBounds(t *testing.T) {
	for _, s := range pathological(64 << 10) {
		start := time.Now()
		out := string(newMarkdown().html(s))
		safe(t, out)
		require.LessOrEqual(t, len(out), growth(s))
		t.Logf("%.20q: %d KiB to %d KiB in %v", s, len(s)>>10, len(out)>>10, time.Since(start).Round(time.Millisecond))
	}
}
