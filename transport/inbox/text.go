package inbox

import (
	"fmt"
	"html/template"
	"strings"
	"time"

	"golang.org/x/text/unicode/runenames"

	"github.com/revuehq/revue/internal/term"
)

// line shows a text of an agent in one line of a page: escaped, set apart from the direction of what is around it, and
// with every character that acts on text shown by its name.
func line(s string) template.HTML {
	var b strings.Builder
	b.WriteString("<bdi>")
	writeText(&b, s)
	b.WriteString("</bdi>")
	return template.HTML(b.String()) //nolint:gosec // escaped above
}

// writeText escapes a text, and names the characters that act. Line ends become spaces.
func writeText(b *strings.Builder, s string) {
	start := 0
	flush := func(end int) { b.WriteString(template.HTMLEscapeString(s[start:end])) }
	for i, r := range s {
		switch {
		case r == '\n' || r == '\t':
			flush(i)
			b.WriteByte(' ')
			start = i + 1
		case term.Acts(r):
			flush(i)
			fmt.Fprintf(b, `<span class="odd" title="%s">U+%04X</span>`, template.HTMLEscapeString(runenames.Name(r)), r)
			start = i + len(string(r))
		}
	}
	flush(len(s))
}

// ago says how long ago a time was, roughly.
func ago(t, now time.Time) string {
	d := now.Sub(t)
	switch {
	case d < 10*time.Second:
		return "just now"
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	default:
		return fmt.Sprintf("%d d", int(d.Hours()/24))
	}
}
