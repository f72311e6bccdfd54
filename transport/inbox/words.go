package inbox

import (
	"html/template"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/revuehq/revue"
)

// maxCompared bounds the words of two wordings that are compared with each other: the one number times the other.
const maxCompared = 1 << 20

// A wording is a text beside another one that says nearly the same.
type wording struct {
	Text    template.HTML // verbatim, with the words marked that the other has not
	Missing []string      // what the other has in their place, or beside them
}

// differs shows in which words a wording differs from the question of its card.
func differs(text, question string) wording {
	have, other := tokens(text), tokens(question)
	keep, kept := common(have, other)
	var w wording
	var b strings.Builder
	b.WriteString(`<bdi class="block">`)
	at := 0
	for i := 0; i < len(have); {
		if keep[i] {
			i++
			continue
		}
		j := i
		for j < len(have) && !keep[j] {
			j++
		}
		writeLines(&b, text[at:have[i].start])
		b.WriteString("<mark>")
		writeLines(&b, text[have[i].start:have[j-1].end])
		b.WriteString("</mark>")
		at = have[j-1].end
		i = j
	}
	writeLines(&b, text[at:])
	b.WriteString("</bdi>")
	for i := 0; i < len(other); {
		j := i
		for j < len(other) && !kept[j] {
			j++
		}
		if j > i {
			w.Missing = append(w.Missing, question[other[i].start:other[j-1].end])
		}
		i = j + 1
	}
	w.Text = template.HTML(b.String()) //nolint:gosec // escaped above
	return w
}

// A token is a word, or a sign between words.
type token struct {
	text       string
	start, end int
}

func tokens(s string) []token {
	var out []token
	start := -1
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		inside := wordRune(r) || r == '_'
		if start >= 0 && !inside {
			out = append(out, token{s[start:i], start, i})
			start = -1
		}
		switch {
		case inside && start < 0:
			start = i
		case !inside && !unicode.IsSpace(r):
			out = append(out, token{s[i : i+n], i, i + n})
		}
		i += n
	}
	if start >= 0 {
		out = append(out, token{s[start:], start, len(s)})
	}
	return out
}

// common reports which tokens of a and of b are in a longest common sequence. Where the two are too long to compare, it
// holds what they begin and end with alone.
func common(a, b []token) (inA, inB []bool) {
	inA, inB = make([]bool, len(a)), make([]bool, len(b))
	from := 0
	for from < len(a) && from < len(b) && a[from].text == b[from].text {
		inA[from], inB[from] = true, true
		from++
	}
	n, m := len(a), len(b)
	for n > from && m > from && a[n-1].text == b[m-1].text {
		n--
		m--
		inA[n], inB[m] = true, true
	}
	x, y := a[from:n], b[from:m]
	if len(x) == 0 || len(y) == 0 || len(x)*len(y) > maxCompared {
		return inA, inB
	}
	// best[i][j] is the length of the longest common sequence of x[i:] and y[j:].
	width := len(y) + 1
	best := make([]uint16, (len(x)+1)*width)
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			if x[i].text == y[j].text {
				best[i*width+j] = best[(i+1)*width+j+1] + 1
			} else {
				best[i*width+j] = max(best[(i+1)*width+j], best[i*width+j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(x) && j < len(y); {
		switch {
		case x[i].text == y[j].text:
			inA[from+i], inB[from+j] = true, true
			i++
			j++
		case best[(i+1)*width+j] >= best[i*width+j+1]:
			i++
		default:
			j++
		}
	}
	return inA, inB
}

// pathPart is an id as one part of a path, whatever it is made of. What would mean another place is none.
func pathPart(id string) string {
	if strings.Trim(id, ".") == "" {
		return "-"
	}
	return url.PathEscape(id)
}

// freshClass is what the style sheet calls how fresh a decision is.
func freshClass(f revue.Freshness) string {
	switch f {
	case revue.Fresh, revue.Aging, revue.Stale, revue.Expired:
		return string(f)
	default:
		return "unknown"
	}
}

// statusClass is what the style sheet calls how a lot stands.
func statusClass(s revue.Status) string {
	switch s {
	case revue.StatusOpen, revue.StatusAnswered, revue.StatusDismissed, revue.StatusExpired:
		return string(s)
	default:
		return "unknown"
	}
}
