package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/term"
)

// writeJSON writes v as indented JSON. Characters that act on a terminal are written as \uXXXX, which
// changes nothing for who reads the JSON.
func writeJSON(w io.Writer, v any) error { return encode(w, v, "  ") }

// writeJSONLine writes v as JSON on one line.
func writeJSONLine(w io.Writer, v any) error { return encode(w, v, "") }

func encode(w io.Writer, v any, indent string) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	_, err := w.Write(escapeJSON(buf.Bytes()))
	return err
}

// escapeJSON escapes what acts on a terminal. Outside of strings JSON has no such character.
func escapeJSON(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for _, r := range string(b) {
		switch {
		case !term.Acts(r):
			out = append(out, string(r)...)
		case r > 0xFFFF:
			hi, lo := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, hi, lo)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

// lotJSON is a lot as scripts read it: what they rely on is there even when it is empty.
type lotJSON struct {
	revue.Lot
	Recommendation string            `json:"recommendation"`
	Context        string            `json:"context"`
	Affected       *[]revue.Affected `json:"affected,omitempty"` // of approvals
}

func wireLot(l revue.Lot) lotJSON {
	l = filled(l)
	w := lotJSON{Lot: l, Recommendation: l.Recommendation, Context: l.Context}
	if l.Kind == revue.KindApproval {
		affected := list(l.Affected)
		w.Affected = &affected
	}
	return w
}

func wireLots(lots []revue.Lot) []lotJSON {
	out := make([]lotJSON, len(lots))
	for i, l := range lots {
		out[i] = wireLot(l)
	}
	return out
}

// filled gives a lot its lists as lists, never null, and leaves out what only the plane itself has a use for: the ids of
// calls are no business of who reads it.
func filled(l revue.Lot) revue.Lot {
	l.Claims, l.Final, l.Calls, l.Collected, l.Caller = nil, nil, nil, false, ""
	l.Options, l.Concepts, l.Files, l.Asks = list(l.Options), list(l.Concepts), list(l.Files), list(l.Asks)
	return l
}

func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// printer writes lines and keeps the first error, so that a broken pipe is reported once.
//
// Where width is set it breaks longer lines itself and puts the bar of package term before the rest: what a terminal
// wraps would begin at its edge, like a line of revue's own.
type printer struct {
	w     io.Writer
	width int
	line  strings.Builder // what has come of a line
	err   error
}

// terminalWidth is where lines are broken. The terminals that are narrower are few.
const terminalWidth = 80

// printer returns one for the output of the program.
func (a *app) printer() *printer {
	p := &printer{w: a.stdout}
	if f, ok := a.stdout.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			p.width = terminalWidth
		}
	}
	return p
}

// f writes what may hold text of others.
func (p *printer) f(format string, args ...any) { p.put(fmt.Sprintf(format, args...), p.width) }

// own writes what is revue's own or a human's, or to be copied: it is never broken.
func (p *printer) own(format string, args ...any) { p.put(fmt.Sprintf(format, args...), 0) }

func (p *printer) put(text string, width int) {
	if strings.ContainsFunc(text, controls) {
		text = harmless(text)
	}
	for part := range strings.Lines(text) {
		p.line.WriteString(part)
		if !strings.HasSuffix(part, "\n") {
			return
		}
		if p.err == nil {
			_, p.err = io.WriteString(p.w, broken(p.line.String(), width))
		}
		p.line.Reset()
	}
}

// controls reports whether r acts on a terminal. What agents and humans wrote has been through package term; this is for
// the rest of what a plane elsewhere says, its ids say.
func controls(r rune) bool {
	return unicode.Is(unicode.Cc, r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) || r == 0x2028 || r == 0x2029
}

func harmless(text string) string {
	var b strings.Builder
	for _, r := range text {
		if controls(r) {
			fmt.Fprintf(&b, `\u{%x}`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// broken returns a line as lines of at most width columns (0: any), each but the first behind a bar.
func broken(line string, width int) string {
	if width == 0 {
		return line
	}
	rest := strings.Repeat(" ", min(len(line)-len(strings.TrimLeft(line, " ")), width/4)) + term.Bar
	var b strings.Builder
	at := 0
	for i, r := range line {
		n := columns(r)
		if n == 1 && strings.HasPrefix(line[i+utf8.RuneLen(r):], "\ufe0f") {
			n = 2 // drawn as an emoji
		}
		if at+n > width && r != '\n' {
			b.WriteString("\n" + rest)
			at = len(rest)
		}
		b.WriteRune(r)
		at += n
	}
	return b.String()
}

// columns is how many columns of a terminal a character takes, at most.
func columns(r rune) int {
	switch {
	case r == '\t':
		return 8
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r >= 0x1100 && r != '…' && r != '→':
		return 2
	default:
		return 1
	}
}
