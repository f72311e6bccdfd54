package inbox

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/unicode/runenames"

	"github.com/revuehq/revue/internal/term"
)

// Bounds of how a text is shown. Nothing is left out by them: what is beyond is folded or counted.
const (
	maxStack  = 4       // marks above or below one letter, more than any script of today wants
	maxMarks  = 8       // marks of any kind on one letter
	maxBlanks = 3       // blank lines in a row
	maxBlock  = 8 << 10 // bytes of a block that are shown unfolded
	maxNames  = 200     // remarks in one text on what a mark of it stands for; the marks beyond have none
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

// block shows a text as line does, with its line ends. One that is long is folded after its beginning.
func block(s string) template.HTML {
	var b strings.Builder
	head, rest := cutText(s, maxBlock)
	writeBlock(&b, head)
	if rest != "" {
		b.WriteString(`<details class="more"><summary>Show all: `)
		b.WriteString(size(len(rest)))
		b.WriteString(` more</summary>`)
		writeBlock(&b, rest)
		b.WriteString("</details>")
	}
	return template.HTML(b.String()) //nolint:gosec // escaped above
}

func writeBlock(b *strings.Builder, s string) {
	b.WriteString(`<bdi class="block">`)
	writeLines(b, s)
	b.WriteString("</bdi>")
}

// cutText cuts a text in two after at most limit bytes: at the end of a line where there is one in the last quarter, else
// at a space, else between two letters.
func cutText(s string, limit int) (head, rest string) {
	if len(s) <= limit {
		return s, ""
	}
	at := limit
	for at > 0 && !utf8.RuneStart(s[at]) {
		at--
	}
	for _, sep := range []string{"\n", " "} {
		if i := strings.LastIndex(s[:at], sep); i >= limit*3/4 {
			at = i + 1
			break
		}
	}
	return s[:at], s[at:]
}

// size says a number of bytes.
func size(n int) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%d KiB", (n+1<<9)>>10)
}

// writeText escapes a text, and names the characters that act. Line ends become spaces.
func writeText(b *strings.Builder, s string) { write(b, s, false) }

// writeLines is writeText with line ends and tabs kept.
func writeLines(b *strings.Builder, s string) { write(b, s, true) }

// write escapes a text and shows what hides in it. The elements it writes are of three kinds, all spans: "odd" stands for
// characters that act, by their code points; "mixed" is around a word of look-alike letters; "tag" is the remark on such a
// word, and no part of the text.
func write(b *strings.Builder, s string, lines bool) {
	if plain(s, lines) {
		b.WriteString(template.HTMLEscapeString(s))
		return
	}
	words := mixedWords(s)
	start, prev, stack, marks := 0, rune(0), 0, 0
	remarks := 0
	remark := func(what string) string {
		if remarks++; remarks > maxNames {
			return ""
		}
		return what
	}
	flush := func(end int) { b.WriteString(template.HTMLEscapeString(s[start:end])) }
	for i := 0; i < len(s); {
		if len(words) > 0 && i == words[0].start {
			flush(i)
			start = i
			if why := remark(words[0].why); why != "" {
				b.WriteString(`<span class="mixed" title="` + template.HTMLEscapeString(why) + `">`)
			} else {
				b.WriteString(`<span class="mixed">`)
			}
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		next, _ := utf8.DecodeRuneInString(s[i+n:])
		if unicode.Is(unicode.M, r) {
			marks++
			if norm.NFC.PropertiesString(s[i:]).CCC() >= 200 { // above or below, where they pile up
				stack++
			}
		} else {
			stack, marks = 0, 0
		}
		end := i + n
		switch {
		case r == utf8.RuneError && n == 1:
			flush(i)
			odd(b, fmt.Sprintf("0x%02X", s[i]), remark("no UTF-8"))
			start = end
		case r == '\n' && lines:
			if blank, after := blankLines(s[i:]); blank > maxBlanks {
				flush(i)
				b.WriteByte('\n')
				odd(b, fmt.Sprintf("%d blank lines", blank), "left out here")
				b.WriteByte('\n')
				end = i + after
				start = end
			}
		case r == '\n' || r == '\t' && !lines:
			flush(i)
			b.WriteByte(' ')
			start = end
		case stack > maxStack, marks > maxMarks, term.Acts(r) && !belongs(prev, r, next):
			flush(i)
			times := 1
			for end < len(s) && strings.HasPrefix(s[end:], s[i:i+n]) {
				times++
				end += n
			}
			what := fmt.Sprintf("U+%04X", r)
			if times > 1 {
				what += fmt.Sprintf(" ×%d", times)
			}
			odd(b, what, remark(runeName(r)))
			start = end
		}
		prev = r
		i = end
		if len(words) > 0 && i >= words[0].end {
			flush(i)
			start = i
			b.WriteString(`</span>`)
			if remarks <= maxNames {
				b.WriteString(`<span class="tag">mixed alphabets</span>`)
			}
			words = words[1:]
		}
	}
	flush(len(s))
}

// plain reports whether a text has nothing to be shown otherwise than escaped.
func plain(s string, lines bool) bool {
	breaks := 0
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\n' && lines:
			if breaks++; breaks > maxBlanks {
				return false
			}
		case c == '\t' && lines || c == ' ':
		case c <= ' ' || c >= 0x7F:
			return false
		default:
			breaks = 0
		}
	}
	return true
}

func odd(b *strings.Builder, what, title string) {
	if title == "" {
		b.WriteString(`<span class="odd">` + what + `</span>`)
		return
	}
	b.WriteString(`<span class="odd" title="` + template.HTMLEscapeString(title) + `">` + what + `</span>`)
}

func runeName(r rune) string {
	if unicode.IsControl(r) {
		return "a control character"
	}
	if name := runenames.Name(r); name != "" {
		return name
	}
	return "a character without a name"
}

// blankLines returns how many blank lines begin after the line end that s begins with, and up to where in s they reach.
func blankLines(s string) (blank, end int) {
	end = 1
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\n':
			blank++
			end = i + 1
		case ' ', '\t':
		default:
			return blank, end
		}
	}
	return blank, end
}

// belongs reports whether a character that acts is part of what is drawn between its neighbours, as [term.Safe] has it: a
// joiner in a word of a script that uses joiners, or in an emoji.
func belongs(prev, r, next rune) bool {
	switch r {
	case 0x200C, 0x200D, 0xFE0F:
		return strings.ContainsRune(term.Safe(string([]rune{prev, r, next})), r)
	}
	return false
}

// A mixedWord is a word that is written in letters of several alphabets, or that looks as if it were written in another
// one than it is.
type mixedWord struct {
	start, end int
	why        string
}

// mixedWords finds the words that may be taken for others.
func mixedWords(s string) []mixedWord {
	var out []mixedWord
	imitates := imitation(s)
	start := -1
	end := func(i int) {
		if start >= 0 {
			if why := mixture(s[start:i], imitates); why != "" {
				out = append(out, mixedWord{start, i, why})
			}
		}
		start = -1
	}
	for i, r := range s {
		if wordRune(r) {
			if start < 0 {
				start = i
			}
			continue
		}
		end(i)
	}
	end(len(s))
	return out
}

// wordRune reports whether a character is inside a word: what is drawn as nothing does not end one.
func wordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	}
	return unicode.In(r, unicode.L, unicode.M, unicode.N) || unicode.Is(unicode.Cf, r)
}

// An alphabet is a set of letters that those of others are taken for.
type alphabet string

const (
	latin        alphabet = "Latin"
	greek        alphabet = "Greek"
	cyrillic     alphabet = "Cyrillic"
	phonetic     alphabet = "phonetic"
	wide         alphabet = "full-width"
	mathematical alphabet = "mathematical"
	digits       alphabet = "digits of other scripts"
)

// Letters of other alphabets that are drawn like Latin ones.
const (
	cyrillicLookalikes = "АВЕЅІЈКМНОРСТУХҮԌԚԜаеѕіјорсуухһԁԛԝӏүѵґ"
	greekLookalikes    = "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαγηικνορτυχωϲϳ"
)

// alphabetOf returns which alphabet a letter is of, "" for one that is taken for no other.
func alphabetOf(r rune) alphabet {
	switch {
	case r < utf8.RuneSelf:
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return latin
		}
		return ""
	case r >= 0xFF10 && r <= 0xFF5A:
		return wide
	case r >= 0x1D400 && r <= 0x1D7FF, r >= 0x2100 && r <= 0x214F && unicode.IsLetter(r):
		return mathematical
	case unicode.Is(unicode.Latin, r):
		if r >= 0x0250 && r <= 0x02AF || r >= 0x1D00 && r <= 0x1DBF || r >= 0xA720 {
			return phonetic
		}
		return latin
	case unicode.Is(unicode.Cyrillic, r):
		return cyrillic
	case unicode.Is(unicode.Greek, r):
		return greek
	case unicode.Is(unicode.Nd, r):
		return digits
	case r >= 0x3000 && r < 0xA4D0, r >= 0xAC00 && r < 0xD7B0: // kana, Han, Hangul
		return ""
	}
	for _, script := range [...]struct {
		name  alphabet
		table *unicode.RangeTable
	}{
		{"Armenian", unicode.Armenian},
		{"Cherokee", unicode.Cherokee},
		{"Coptic", unicode.Coptic},
		{"Georgian", unicode.Georgian},
		{"Lisu", unicode.Lisu},
		{"Deseret", unicode.Deseret},
		{"Old Italic", unicode.Old_Italic},
		{"Gothic", unicode.Gothic},
		{"Carian", unicode.Carian},
		{"Lycian", unicode.Lycian},
		{"Lydian", unicode.Lydian},
		{"Runic", unicode.Runic},
		{"Osage", unicode.Osage},
	} {
		if unicode.Is(script.table, r) {
			return script.name
		}
	}
	return ""
}

// mixture says which alphabets a word mixes, "" for one that mixes none. Han, kana, Hangul and the scripts of which no
// letter looks like a Latin one may stand beside any other.
func mixture(word string, imitates bool) string {
	var seen []alphabet
	imitated := true // so far
	letters := 0
	for _, r := range word {
		a := alphabetOf(r)
		if a == "" {
			continue
		}
		letters++
		imitated = imitated && lookalike(r)
		if !slices.Contains(seen, a) {
			seen = append(seen, a)
		}
	}
	switch {
	case len(seen) == 0:
		return ""
	case len(seen) == 1 && seen[0] == mathematical && letters > 1:
		return "letters of a mathematical alphabet"
	case len(seen) == 1:
		if imitates && imitated && (seen[0] == cyrillic || letters > 1) {
			return "looks Latin, but is " + string(seen[0])
		}
		return ""
	case len(seen) == 2 && slices.Contains(seen, greek) && slices.Contains(seen, latin) && !strings.ContainsAny(word, greekLookalikes):
		return "" // kΩ, Δt
	}
	names := make([]string, len(seen))
	for i, a := range seen {
		names[i] = string(a)
	}
	return "mixes letters that look alike: " + strings.Join(names, ", ")
}

func lookalike(r rune) bool {
	return strings.ContainsRune(cyrillicLookalikes, r) || strings.ContainsRune(greekLookalikes, r)
}

// imitation reports whether a text may have words that look Latin and are not: it has Latin letters, and of Cyrillic or
// Greek ones none but look-alikes.
func imitation(s string) bool {
	hasLatin, hasAlike := false, false
	for _, r := range s {
		switch a := alphabetOf(r); a {
		case latin:
			hasLatin = true
		case cyrillic, greek:
			if !lookalike(r) {
				return false
			}
			hasAlike = true
		}
	}
	return hasLatin && hasAlike
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

// since says how long ago a time was, in words that stand for themselves.
func since(t, now time.Time) string {
	if d := ago(t, now); d != "just now" {
		return d + " ago"
	}
	return "just now"
}

// titleDrops reports whether a character has no place where it can't be shown by its name.
func titleDrops(r rune) bool { return term.Acts(r) }

// share says a part of one in percent.
func share(part float64) string { return fmt.Sprintf("%.0f %%", 100*part) }
