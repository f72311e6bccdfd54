package inbox

import (
	"fmt"
	"html/template"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Bounds of what is shown as Markdown. What goes beyond is shown whole as well, as the plain text that it is: parsing it
// could take seconds, or make many times its size.
const (
	maxDepth    = 16   // quotes and lists in each other
	maxBrackets = 2000 // "["
	maxTargets  = 500  // "]("
	maxNamed    = 1000 // "]:"
	maxEmphasis = 3000 // runs of "*" and "~", and of "_" beside a word
	maxColumns  = 32   // of a table
	maxCells    = 4000 // of all tables
	maxTarget   = 2000 // bytes of an address that is made a link
	maxGrowth   = 16   // bytes of HTML for each byte of text, beyond
	maxGrown    = 64 << 10
	maxShown    = 120 // bytes of an address that are shown beside its text, or more where the host is long
	maxPathEnds = 40  // bytes of what is after a long host that are shown, half of them of its end
)

// A markdown turns the Markdown of agents into a closed set of elements. It is safe for concurrent use.
//
// Raw HTML is no part of its language, so it is shown as text. Images are links that say so. A link leads to http, https
// or a mail address, and shows where, unless its text is just that; anything else is text. Headings begin below those of
// the page.
type markdown struct {
	parser parser.Parser
}

func newMarkdown() *markdown {
	return &markdown{parser.NewParser(
		parser.WithBlockParsers(
			util.Prioritized(parser.NewSetextHeadingParser(), 100),
			util.Prioritized(parser.NewThematicBreakParser(), 200),
			util.Prioritized(parser.NewListParser(), 300),
			util.Prioritized(parser.NewListItemParser(), 400),
			util.Prioritized(parser.NewCodeBlockParser(), 500),
			util.Prioritized(parser.NewATXHeadingParser(), 600),
			util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
			util.Prioritized(parser.NewBlockquoteParser(), 800),
			util.Prioritized(parser.NewParagraphParser(), 1000),
		),
		parser.WithInlineParsers(
			util.Prioritized(parser.NewCodeSpanParser(), 100),
			util.Prioritized(parser.NewLinkParser(), 200),
			util.Prioritized(parser.NewAutoLinkParser(), 300),
			util.Prioritized(parser.NewEmphasisParser(), 500),
			util.Prioritized(extension.NewStrikethroughParser(), 500),
			util.Prioritized(extension.NewLinkifyParser(), 999),
		),
		parser.WithParagraphTransformers(
			util.Prioritized(parser.LinkReferenceParagraphTransformer, 100),
			util.Prioritized(extension.NewTableParagraphTransformer(), 200),
		),
		parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
	)}
}

// html shows a text of an agent as Markdown, whole. It is in a frame that says whose it is, so that it is taken for no part
// of the page.
func (m *markdown) html(s string) template.HTML {
	var b strings.Builder
	b.WriteString(`<div class="prose"><p class="from">From the agent</p>`)
	if out, ok := m.rendered(s); ok {
		b.WriteString(out)
	} else {
		writeBlock(&b, s)
	}
	b.WriteString("</div>")
	return template.HTML(b.String()) //nolint:gosec // of the elements of drawing alone, with escaped text
}

func (m *markdown) rendered(s string) (string, bool) {
	if s = strings.ToValidUTF8(s, "\uFFFD"); intricate(s) {
		return "", false
	}
	src := []byte(s)
	d := drawing{src: src, most: maxGrowth*len(src) + maxGrown, heading: 2}
	d.children(m.parser.Parse(text.NewReader(src)))
	return d.b.String(), !d.over()
}

// intricate reports whether a text is over a bound of what is parsed.
func intricate(s string) bool {
	if strings.Count(s, "[") > maxBrackets || strings.Count(s, "](") > maxTargets || strings.Count(s, "]:") > maxNamed {
		return true
	}
	runs := 0
	for i := range len(s) {
		switch c := s[i]; c {
		case '*', '~':
			if i == 0 || s[i-1] != c {
				runs++
			}
		case '_':
			if i == 0 || i+1 == len(s) || !wordByte(s[i-1]) || !wordByte(s[i+1]) {
				runs++
			}
		}
	}
	if runs > maxEmphasis {
		return true
	}
	cells, columns := 0, 0 // of what could be a table, up to the next blank line
	for l := range strings.Lines(s) {
		if depthOf(l) > maxDepth {
			return true
		}
		row := strings.Trim(l, " \t\r\n>")
		switch {
		case row == "":
			columns = 0
		case strings.Trim(row, "|-: \t>*+") == "" && strings.ContainsRune(row, '-') && strings.ContainsAny(row, "|:"): // what is below the head of a table
			if columns = max(columns, cellsOf(row)); columns > maxColumns {
				return true
			}
		}
		if cells += columns; cells > maxCells {
			return true
		}
	}
	return false
}

// cellsOf returns how many cells a row of a table has.
func cellsOf(row string) int {
	n := strings.Count(row, "|") - strings.Count(row, `\|`) + 1
	if strings.HasPrefix(row, "|") {
		n--
	}
	if strings.HasSuffix(row, "|") && len(row) > 1 && !strings.HasSuffix(row, `\|`) {
		n--
	}
	return max(n, 1)
}

func wordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// depthOf returns in how many quotes and lists a line begins at most.
func depthOf(l string) int {
	depth := 0
	for i := range len(l) {
		switch c := l[i]; {
		case c == ' ' || c == '\t' || c >= '0' && c <= '9':
		case c == '>' || c == '-' || c == '*' || c == '+' || c == '.' || c == ')':
			if c == '>' || i+1 < len(l) && (l[i+1] == ' ' || l[i+1] == '\t' || l[i+1] == '\n') {
				depth++
			}
		default:
			return depth
		}
	}
	if strings.Trim(l, "-* \t\r\n") == "" || strings.Trim(l, "_ \t\r\n") == "" {
		return 0 // a rule
	}
	return depth
}

// A drawing is the HTML of one text on its way.
type drawing struct {
	src     []byte
	b       strings.Builder
	most    int // bytes
	depth   int
	deep    bool
	links   int // the links that are open
	heading int // the level of the last one
	plain   strings.Builder
	mixed   int // words in plain that are marked
}

// over reports whether the drawing is to be given up.
func (d *drawing) over() bool { return d.deep || d.b.Len() > d.most }

func (d *drawing) children(n ast.Node) {
	if d.depth++; d.depth > 4*maxDepth {
		d.deep = true
	}
	for c := n.FirstChild(); c != nil && !d.over(); c = c.NextSibling() {
		d.node(c)
	}
	d.depth--
}

// within writes the children of a node in an element.
func (d *drawing) within(tag string, n ast.Node) {
	d.b.WriteString("<" + tag + ">")
	d.children(n)
	d.b.WriteString("</" + tag + ">")
}

// inline writes the text of a block in an element, "" for none. A word whose letters of several alphabets are spread over
// several elements is remarked on at its end.
func (d *drawing) inline(tag string, n ast.Node) {
	d.plain.Reset()
	d.mixed = 0
	if tag != "" {
		d.b.WriteString("<" + tag + ">")
	}
	d.children(n)
	if s := d.plain.String(); len(mixedWords(s)) > d.mixed {
		d.b.WriteString(`<span class="tag">mixed alphabets</span>`)
	}
	if tag != "" {
		d.b.WriteString("</" + tag + ">")
	}
}

func (d *drawing) node(n ast.Node) {
	switch n := n.(type) {
	case *ast.Paragraph:
		d.inline("p", n)
	case *ast.TextBlock:
		d.inline("", n)
		if n.NextSibling() != nil {
			d.b.WriteString("<br>")
		}
	case *ast.Heading:
		d.heading = min(n.Level+2, d.heading+1, 6) // none is left out on the way down
		d.inline(fmt.Sprintf("h%d", d.heading), n)
	case *ast.ThematicBreak:
		d.b.WriteString("<hr>")
	case *ast.Blockquote:
		d.within("blockquote", n)
	case *ast.List:
		d.list(n)
	case *ast.ListItem:
		d.within("li", n)
	case *ast.CodeBlock:
		d.code(n, "", "")
	case *ast.FencedCodeBlock:
		info := ""
		if n.Info != nil {
			info = string(n.Info.Segment.Value(d.src))
		}
		d.code(n, string(n.Language(d.src)), info)
	case *ast.LinkReferenceDefinition: // it may be used nowhere, and say something
		d.plain.Reset()
		d.b.WriteString(`<p><span class="quiet">`)
		d.write("[" + string(n.Label) + "]: " + string(n.Destination))
		if len(n.Title) > 0 {
			d.write(" “" + string(n.Title) + "”")
		}
		d.b.WriteString("</span></p>")
	case *east.Table:
		d.b.WriteString(`<div class="scroll" tabindex="0"><table>`)
		d.children(n)
		d.b.WriteString("</tbody></table></div>")
	case *east.TableHeader:
		d.b.WriteString("<thead><tr>")
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			if c.HasChildren() {
				d.inline("th", c)
			} else { // a heading of nothing
				d.inline("td", c)
			}
		}
		d.b.WriteString("</tr></thead><tbody>")
	case *east.TableRow:
		if d.excess(n) {
			d.deep = true // it would not be shown
			return
		}
		d.b.WriteString("<tr>")
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			d.inline("td", c)
		}
		d.b.WriteString("</tr>")
	case *ast.Text:
		d.textNode(n)
	case *ast.String:
		d.write(string(n.Value))
	case *ast.CodeSpan:
		d.within("code", n)
	case *ast.Emphasis:
		if n.Level == 2 {
			d.within("strong", n)
		} else {
			d.within("em", n)
		}
	case *east.Strikethrough:
		d.within("del", n)
	case *ast.Link:
		d.link(n, string(n.Destination), string(n.Title), "")
	case *ast.Image:
		d.link(n, string(n.Destination), string(n.Title), "image: ")
	case *ast.AutoLink:
		d.autoLink(n)
	default: // a kind that the parser above does not make
		d.children(n)
	}
}

// excess reports whether a row of a table has something right of the last column, which the parser drops.
func (d *drawing) excess(row *east.TableRow) bool {
	from := row.Pos()
	for c := row.FirstChild(); c != nil; c = c.NextSibling() {
		if l := c.Lines(); l != nil && l.Len() > 0 {
			from = l.At(l.Len() - 1).Stop
		}
	}
	rest, _, _ := strings.Cut(string(d.src[from:]), "\n")
	return strings.Trim(rest, "| \t\r\v\f") != ""
}

// write writes a text, and keeps it for inline to look at.
func (d *drawing) write(s string) {
	d.plain.WriteString(s)
	d.mixed += len(mixedWords(s))
	writeText(&d.b, s)
}

func (d *drawing) textNode(n *ast.Text) {
	v := n.Segment.Value(d.src)
	if !n.IsRaw() {
		v = util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(v)))
	}
	d.write(string(v))
	switch {
	case n.IsRaw():
	case n.HardLineBreak(), n.SoftLineBreak():
		d.b.WriteString("<br>")
		d.plain.WriteByte('\n')
	}
}

func (d *drawing) list(n *ast.List) {
	switch {
	case !n.IsOrdered():
		d.within("ul", n)
	case n.Start == 1:
		d.within("ol", n)
	default:
		fmt.Fprintf(&d.b, `<ol start="%d">`, n.Start)
		d.children(n)
		d.b.WriteString("</ol>")
	}
}

// code writes a block of code, and what is written beside its beginning. What is a difference of files is coloured; its signs say the same.
func (d *drawing) code(n ast.Node, language, info string) {
	var b strings.Builder
	for i := range n.Lines().Len() {
		seg := n.Lines().At(i)
		b.Write(seg.Value(d.src))
	}
	s := b.String()
	d.b.WriteString("<pre>")
	if info != "" {
		d.b.WriteString(`<span class="info">`)
		writeText(&d.b, info)
		d.b.WriteString("</span>")
	}
	d.b.WriteString("<code>")
	if isDiff(s, language) {
		writeDiff(&d.b, s)
	} else {
		writeLines(&d.b, s)
	}
	d.b.WriteString("</code></pre>")
}

// isDiff reports whether a block of code is the difference of two files, as diff -u and git write it.
func isDiff(s, language string) bool {
	switch strings.ToLower(language) {
	case "diff", "patch", "udiff":
		return true
	case "":
	default:
		return false
	}
	changed := false
	hunk := false
	for l := range strings.Lines(s) {
		hunk = hunk || strings.HasPrefix(l, "@@ -")
		changed = changed || hunk && (l[0] == '+' || l[0] == '-')
	}
	return changed
}

func writeDiff(b *strings.Builder, s string) {
	for l := range strings.Lines(s) {
		class := ""
		switch {
		case strings.HasPrefix(l, "@@"):
			class = "hunk"
		case strings.HasPrefix(l, "+++ "), strings.HasPrefix(l, "--- "), strings.HasPrefix(l, "diff "), strings.HasPrefix(l, "index "):
			class = "meta"
		case l[0] == '+':
			class = "added"
		case l[0] == '-':
			class = "removed"
		}
		l, end := strings.CutSuffix(l, "\n")
		if class != "" {
			b.WriteString(`<span class="` + class + `">`)
		}
		writeLines(b, l)
		if class != "" {
			b.WriteString("</span>")
		}
		if end {
			b.WriteByte('\n')
		}
	}
}

func (d *drawing) autoLink(n *ast.AutoLink) {
	to, label := string(n.URL(d.src)), string(n.Label(d.src))
	if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(to), "mailto:") {
		to = "mailto:" + to
	}
	at := parseTarget(to)
	if at.href == "" || d.links > 0 {
		d.write(label)
		return
	}
	d.open(at)
	d.write(label)
	d.close()
	if !at.is(label) {
		d.show(at)
	}
}

// link writes a link: its text, and where it leads unless the text is just that. What is no link that can be followed
// here is written as text with its address.
func (d *drawing) link(n ast.Node, to, title, prefix string) {
	at := parseTarget(string(util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations([]byte(to))))))
	anchor := at.href != "" && d.links == 0
	if anchor {
		d.open(at)
	}
	d.links++
	from := d.plain.Len()
	d.b.WriteString("<bdi>")
	d.write(prefix)
	d.children(n)
	label := d.plain.String()[from:]
	if strings.TrimSpace(label) == "" || label == prefix {
		d.write("(no text)")
	}
	d.b.WriteString("</bdi>")
	d.links--
	if anchor {
		d.close()
	}
	if prefix != "" || !at.is(label) {
		d.show(at)
	}
	if title != "" {
		d.b.WriteString(` <span class="quiet">`)
		d.write("“" + title + "”")
		d.b.WriteString("</span>")
	}
}

func (d *drawing) open(at target) {
	d.b.WriteString(`<a href="` + template.HTMLEscapeString(at.href) + `" rel="noopener noreferrer nofollow" target="_blank">`)
}

func (d *drawing) close() { d.b.WriteString("</a>") }

// show writes where a link leads. Of a long one the middle of what is after the host is left out, never of the host.
func (d *drawing) show(at target) {
	head, tail := at.cut()
	d.b.WriteString(` <span class="target"><bdi>`)
	writeText(&d.b, head)
	if tail != "" {
		d.b.WriteString("…")
		writeText(&d.b, tail)
	}
	d.b.WriteString("</bdi></span>")
}

// A target is where a link leads.
type target struct {
	href  string // "" where it is not to be followed
	shown string
}

// cut returns an address in two parts around what is left out of it, or whole. What is no link may have its host anywhere, so
// it is whole too.
func (t target) cut() (head, tail string) {
	u, err := url.Parse(t.href)
	if t.href == "" || err != nil || u.Host == "" {
		return t.shown, ""
	}
	host := len(u.Scheme) + len("://") + len(u.Host)
	if len(t.shown) <= max(maxShown, host+maxPathEnds) {
		return t.shown, ""
	}
	head, _ = cutText(t.shown[host:], max(maxShown-host, maxPathEnds)-maxPathEnds/2)
	end := len(t.shown) - maxPathEnds/2
	for end < len(t.shown) && !utf8.RuneStart(t.shown[end]) {
		end++
	}
	return t.shown[:host] + head, t.shown[end:]
}

// is reports whether a text is just the address.
func (t target) is(label string) bool {
	label = strings.TrimSuffix(strings.TrimSpace(label), "/")
	to := strings.TrimSuffix(t.shown, "/")
	if t.href == "" {
		return label == to
	}
	for _, scheme := range []string{"", "https://", "http://", "mailto:"} {
		if scheme+label == to {
			return true
		}
	}
	return false
}

// plainHost reports whether a host, with a port or without, is written in the letters that every reader of addresses takes
// alike.
func plainHost(s string) bool {
	host, port, has := strings.Cut(s, ":")
	if has && (port == "" || len(port) > 5 || strings.Trim(port, "0123456789") != "") {
		return false
	}
	return host != "" && !strings.HasPrefix(host, "-") && !strings.HasPrefix(host, ".") && plainBytes(host, ".-")
}

func plainMail(s string) bool {
	local, host, ok := strings.Cut(s, "@")
	return ok && local != "" && plainBytes(local, "._+-") && plainHost(host) && !strings.Contains(host, ":")
}

// plainBytes reports whether a text is of ASCII letters, digits, and others that are named.
func plainBytes(s, others string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 || !wordByte(s[i]) && strings.IndexByte(others, s[i]) < 0 {
			return false
		}
	}
	return true
}

// parseTarget reads an address. One that browsers may read in another way than this does, or whose host is not written in
// ASCII, is not followed; a host in its ASCII form is shown in it.
func parseTarget(to string) target {
	out := target{shown: to}
	if len(to) > maxTarget || strings.ContainsAny(to, "\\\"'<>`") || strings.ContainsFunc(to, func(r rune) bool { return r <= ' ' || r == 0x7F }) {
		return out
	}
	u, err := url.Parse(to)
	if err != nil || u.User != nil {
		return out
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
		if !plainHost(u.Host) || u.Opaque != "" {
			return out
		}
	case "mailto": // without what it would put into the mail
		if !plainMail(u.Opaque) {
			return out
		}
		out.href = "mailto:" + u.Opaque
		return out
	default:
		return out
	}
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	out.href = u.String()
	out.shown = u.String()
	return out
}
