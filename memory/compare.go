package memory

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/revuehq/revue"
)

// Same compares the wording of two questions. Options, scopes and repositories are for the caller, apart from
// the files that pin what "this file" means.
//
//   - same: equal canonical tokens, and the wording says what it means.
//   - likely: the wording of the same question where only "I" and "we" (which asks for no leave), a courtesy, the word "environment" behind the name of one, or a place at the start or at the end
//     differs; or equal tokens that point at something ("this", "next", "the ticket") which may not be the same thing.
//   - related: half of the content words are shared.
//
// A difference is crucial unless the two are same or likely, or related and say the same in another form: see the
// package comment.
//
// Same is pure and symmetric in its verdict, and Differs names the words of a before those of b. It is safe for
// concurrent use.
func (m *Memory) Same(a, b revue.Question) revue.Comparison {
	ra := m.readings.of(a.Text)
	c := compare(ra, m.readings.of(b.Text), a, b)
	if c.verdict == revue.VerdictSame && ra.atHand != "" {
		// A human may make it a rule, but here two ask at once.
		c.verdict, c.differs = revue.VerdictLikely, "both say 'the "+quote(ra.atHand)+"': that may be another one in each"
	}
	return revue.Comparison{Verdict: c.verdict, Differs: c.differs, Crucial: c.crucial}
}

// comparison is a verdict with what the score needs to know.
type comparison struct {
	verdict revue.Verdict
	differs string
	crucial bool    // something differs that may make them two decisions
	single  bool    // one place differs and nothing else
	telling bool    // a word with content differs
	shared  float64 // share of the content words in both
}

func compare(ra, rb *reading, a, b revue.Question) comparison {
	if ra.hidden || rb.hidden {
		if a.Text == b.Text && ra.pinned(a, b) {
			return comparison{verdict: revue.VerdictSame}
		}
		if equalTokens(ra.toks, rb.toks) {
			return comparison{verdict: revue.VerdictRelated, differs: "invisible characters: what is shown may not be what was asked", crucial: true}
		}
	}
	if equalTokens(ra.toks, rb.toks) {
		if ra.pinned(a, b) {
			return comparison{verdict: revue.VerdictSame}
		}
		return comparison{verdict: revue.VerdictLikely, differs: ra.unpinned()}
	}
	shared := overlap(ra.stems, rb.stems)
	if shared < 0.5 {
		return comparison{shared: shared, crucial: true}
	}
	if len(ra.toks) > maxCompared || len(rb.toks) > maxCompared {
		return comparison{verdict: revue.VerdictRelated, differs: long(ra.toks, rb.toks), crucial: true, shared: shared}
	}
	if layout(ra.toks, rb.toks) {
		return comparison{verdict: revue.VerdictRelated, differs: "line breaks or indentation", crucial: true, single: true, shared: 1}
	}
	c := diff(ra.toks, rb.toks)
	c.shared = shared
	c.verdict = revue.VerdictRelated
	if only, telling := articles(ra.toks, rb.toks); only && !ra.hidden && !rb.hidden {
		c.crucial, c.single = telling || ra.loose() || rb.loose(), true
		return c
	}
	if !ra.hidden && !rb.hidden && !ra.loose() && !rb.loose() && harmless(ra, rb) {
		c.verdict, c.single = revue.VerdictLikely, false
		return c
	}
	ra.guard()
	rb.guard()
	c.crucial = ra.hidden || rb.hidden || crucial(ra, rb)
	return c
}

func equalTokens(a, b []token) bool {
	return slices.EqualFunc(a, b, func(x, y token) bool { return x.s == y.s })
}

// layout reports whether two wordings have the same words in other lines.
func layout(a, b []token) bool {
	return equalTokens(withoutBreaks(a), withoutBreaks(b))
}

func withoutBreaks(toks []token) []token {
	return slices.DeleteFunc(slices.Clone(toks), func(t token) bool { return lineBreak(t.s) })
}

// articles compares two wordings that have the same words but for articles. Where one has "the" and the other nothing, before one thing
// that stands, nothing crucial differs. Elsewhere it may be another decision: any user is not the user, and on a call is not
// on call.
func articles(a, b []token) (only, crucial bool) {
	i, j := 0, 0
	is := func(l []token, i int) bool {
		return i < len(l) && l[i].plain && (l[i].s == "a" || l[i].s == "an" || l[i].s == "the")
	}
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i].s == b[j].s:
			i, j = i+1, j+1
			continue
		case is(a, i) && is(b, j):
			i, j, crucial = i+1, j+1, true
		case is(a, i):
			crucial = crucial || a[i].s != "the" || !lightArticle(a, i)
			i++
		case is(b, j):
			crucial = crucial || b[j].s != "the" || !lightArticle(b, j)
			j++
		default:
			return false, false
		}
		only = true
	}
	return only, crucial
}

// lightArticle reports whether the "the" at i says little: a thing that stands follows, one of its kind, and they are no phrase with a
// preposition ("on the table").
func lightArticle(toks []token, i int) bool {
	if !article(toks, i) || i > 0 && preposition(toks[i-1].s) {
		return false
	}
	next := toks[i+1]
	return next.plain && !plural(next.s) && !numberWord(next.s) && !quantity(next.s) && !function(next.s) && !ordinal(next.s) &&
		(standing(next.s) || i+2 < len(toks) && toks[i+2].plain && !plural(toks[i+2].s) && standing(toks[i+2].s))
}

// harmless reports whether two guarded wordings are equal once what may differ without harm is taken away. Who asks makes a
// difference where leave is asked for.
func harmless(ra, rb *reading) bool {
	a, b := ra.toks, rb.toks
	if d := len(a) - len(b); d > 4 || d < -4 {
		return false
	}
	leave := ra.permission || rb.permission
	var bufA, bufB [24]string
	x, y := reduced(a, bufA[:0], leave), reduced(b, bufB[:0], leave)
	if len(x) == 0 || len(y) == 0 {
		return false
	}
	return slices.Equal(x, y) || rotated(x, y) || rotated(y, x)
}

// reduced is the tokens without courtesies and the punctuation that sets them off, with one word for the asker unless leave is asked for, and without "environment" behind the
// name of one.
func reduced(toks []token, out []string, leave bool) []string {
	greeted := false
	for i, t := range toks {
		s := t.s
		if greeted && i == 1 && (s == "," || s == ":" || s == "!") {
			continue
		}
		if t.plain {
			switch s {
			case "please", "kindly":
				if i == 0 || toks[i-1].s == "you" {
					greeted = greeted || i == 0
					continue
				}
			case "hi", "hello", "hey":
				if i == 0 && (i+1 < len(toks) && asking(toks[i+1].s) || i+2 < len(toks) && punctuation(toks[i+1].s) && asking(toks[i+2].s)) {
					greeted = true
					continue
				}
			case "thanks":
				if i > 0 && i == len(toks)-1 && !quoting(toks[i-1].s) {
					if n := len(out); n > 1 && (out[n-1] == "," || out[n-1] == "?" || out[n-1] == ".") {
						out = out[:n-1]
					}
					continue
				}
			case "I":
				if !leave {
					s = "we"
				}
			case "environment":
				if i > 0 && toks[i-1].plain && environment(toks[i-1].s) && (i == len(toks)-1 || function(toks[i+1].s)) {
					continue
				}
			}
		}
		out = append(out, s)
	}
	return out
}

// rotated reports whether y is x with a phrase of place or purpose moved from the end to the start: "which
// database should we use for billing", "for billing, which database should we use". The comma belongs to it.
func rotated(x, y []string) bool {
	if len(y) != len(x) && len(y) != len(x)+1 {
		return false
	}
	if slices.ContainsFunc(x, func(s string) bool {
		return direction(s) || negation(s) || s == "or" || s == "and" || s == "that" || s == "if"
	}) {
		return false
	}
	for i := 1; i < len(x); i++ {
		switch x[i] {
		case "for", "in", "on":
		default:
			continue
		}
		if i+1 < len(x) && preposition(x[i+1]) {
			continue // "log in for audits"
		}
		// Only the rest is a question, and the phrase has no verb of one.
		if !asking(x[0]) || slices.ContainsFunc(x[i:], asking) {
			continue
		}
		rest := y[len(x)-i:]
		if len(y) > len(x) {
			if rest[0] != "," {
				continue
			}
			rest = rest[1:]
		}
		if slices.Equal(x[i:], y[:len(x)-i]) && slices.Equal(x[:i], rest) {
			return true
		}
	}
	return false
}

// overlap returns which share of the content words, by their rough stems, is in both.
func overlap(x, y []uint64) float64 {
	most := max(len(x), len(y))
	if most == 0 {
		return 0
	}
	shared := 0
	for i, j := 0, 0; i < len(x) && j < len(y); {
		switch {
		case x[i] == y[j]: // each counts once
			shared, i, j = shared+1, i+1, j+1
		case x[i] < y[j]:
			i++
		default:
			j++
		}
	}
	return float64(shared) / float64(most)
}

// stemsOf are the rough stems of the content words as hashes, in order. Two words with one hash would make a
// pair of questions look more alike than it is, which costs a closer look and nothing else.
func stemsOf(toks []token) []uint64 {
	var out []uint64
	for _, t := range toks {
		if !function(t.s) && !punctuation(t.s) {
			h := fnv.New64a()
			_, _ = h.Write([]byte(rough(t)))
			out = append(out, h.Sum64())
		}
	}
	slices.Sort(out)
	return out
}

// rough cuts the commonest endings off, to see whether two questions are worth comparing at all.
func rough(t token) string {
	s := t.s
	if !t.plain {
		s = strings.ToLower(s)
	}
	s = expandShort(s)
	if !t.plain || len(s) < 5 {
		return s
	}
	for _, end := range [...]string{"ing", "ed", "es", "s", "e"} {
		if strings.HasSuffix(s, end) && len(s)-len(end) >= 3 {
			return s[:len(s)-len(end)]
		}
	}
	return s
}

// maxCompared is how many tokens two wordings may have to be compared word by word. Longer ones are the same where they
// are equal, and related at most where they are not.
const maxCompared = 96

// long names what differs between two wordings that are not aligned: what is left between what is equal at both ends.
func long(a, b []token) string {
	a, b = withoutEnds(a, b)
	return "wording: " + quote(phrase(a)) + " / " + quote(phrase(b))
}

// withoutEnds leaves out what is equal at both ends.
func withoutEnds(a, b []token) (x, y []token) {
	for len(a) > 0 && len(b) > 0 && a[0].s == b[0].s {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1].s == b[len(b)-1].s {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return a, b
}

// diff aligns two wordings and names what differs.
func diff(a, b []token) comparison {
	// Punctuation is worth naming only where nothing else differs.
	if x, y := withoutPunctuation(a), withoutPunctuation(b); !equalTokens(x, y) {
		a, b = x, y
	}
	// One order, whoever comes first, so that the alignment is the same both ways.
	if slices.CompareFunc(a, b, func(x, y token) int { return cmp.Compare(x.s, y.s) }) > 0 {
		c := diffOrdered(b, a)
		for i := range c {
			c[i].a, c[i].b = c[i].b, c[i].a
		}
		return described(c)
	}
	return described(diffOrdered(a, b))
}

func withoutPunctuation(toks []token) []token {
	if !slices.ContainsFunc(toks, func(t token) bool { return punctuation(t.s) }) {
		return toks
	}
	out := make([]token, 0, len(toks))
	for _, t := range toks {
		if !punctuation(t.s) {
			out = append(out, t)
		}
	}
	return out
}

// change is one place where two wordings differ; one side may be empty.
type change struct {
	a, b  string
	kind  string // "" is to be found out
	place int    // which stretch of words it is in
}

func diffOrdered(a, b []token) []change {
	a, b = withoutEnds(a, b)
	if len(a) == 1 && len(b) == 1 {
		return []change{{a: a[0].s, b: b[0].s}}
	}
	if len(a) == len(b) && sameBag(a, b) {
		return []change{{a: phrase(a), b: phrase(b), kind: "order of words"}}
	}
	// The longest common subsequence, backwards, so that it is read forwards.
	w := len(b) + 1
	table := make([]uint8, (len(a)+1)*w)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i].s == b[j].s {
				table[i*w+j] = table[(i+1)*w+j+1] + 1
			} else {
				table[i*w+j] = max(table[(i+1)*w+j], table[i*w+j+1])
			}
		}
	}
	var out []change
	i, j, from, to, place := 0, 0, 0, 0, 0
	flush := func() {
		for k := range max(i-from, j-to) {
			c := change{place: place}
			if from+k < i {
				c.a = a[from+k].s
			}
			if to+k < j {
				c.b = b[to+k].s
			}
			out = append(out, c)
		}
		place = len(out)
	}
	for i < len(a) && j < len(b) {
		switch {
		case a[i].s == b[j].s:
			flush()
			i, j = i+1, j+1
			from, to = i, j
		case table[(i+1)*w+j] >= table[i*w+j+1]:
			i++
		default:
			j++
		}
	}
	i, j = len(a), len(b)
	flush()
	return out
}

func phrase(toks []token) string {
	words := make([]string, 0, 6)
	for i, t := range toks {
		if i == 6 {
			words = append(words, "…")
			break
		}
		words = append(words, t.s)
	}
	return strings.Join(words, " ")
}

// sameBag reports whether two lists have the same tokens in another order.
func sameBag(a, b []token) bool {
	var used [maxCompared]bool
next:
	for _, x := range a {
		for j, y := range b {
			if !used[j] && x.s == y.s {
				used[j] = true
				continue next
			}
		}
		return false
	}
	return true
}

// Limits of what is quoted, in bytes.
const (
	maxQuoted  = 60
	maxDiffers = 300
)

// described names the differences in one line, what matters most first.
func described(changes []change) comparison {
	c := comparison{single: len(changes) > 0 && changes[0].place == changes[len(changes)-1].place}
	var parts [len(kinds)][]change
	for _, ch := range changes {
		k := slices.Index(kinds[:], cmp.Or(ch.kind, kindOf(ch.a, ch.b)))
		parts[k] = append(parts[k], ch)
		c.telling = c.telling || !idle(ch)
	}
	var sb strings.Builder
	for k, list := range parts {
		said := false
		for _, ch := range list {
			if c.telling && idle(ch) {
				continue // "for" and "we" tell little beside what else differs
			}
			part := quote(ch.a) + " / " + quote(ch.b)
			switch {
			case said:
				part = ", " + part
			case sb.Len() > 0:
				part = "; " + kinds[k] + ": " + part
			default:
				part = kinds[k] + ": " + part
			}
			if sb.Len()+len(part) > maxDiffers-len(" …") {
				sb.WriteString(" …")
				c.differs = sb.String()
				return c
			}
			sb.WriteString(part)
			said = true
		}
	}
	c.differs = sb.String()
	return c
}

// kinds are what differences are called, in the order of the line.
var kinds = [...]string{
	"negation", "environment", "number", "version", "unit or date", "path", "name", "opposite", "order of words", "direction", "quantity", "words", "wording", "question", "punctuation",
}

// idle reports whether a difference is in words without content.
func idle(ch change) bool {
	plain := func(s string) bool {
		return s == "" || punctuation(s) || function(s) && !negation(s) && !quantity(s) && !direction(s)
	}
	return plain(ch.a) && plain(ch.b)
}

// quote shortens a word at a rune boundary.
func quote(s string) string {
	switch {
	case s == "":
		return "(nothing)"
	case lineBreak(s):
		return "(line break)"
	}
	if len(s) <= maxQuoted {
		return s
	}
	n := maxQuoted - len("…")
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// kindOf names what sort of difference two words make.
func kindOf(a, b string) string {
	either := func(f func(string) bool) bool { return a != "" && f(a) || b != "" && f(b) }
	switch {
	case either(negation):
		return "negation"
	case either(environment):
		return "environment"
	case either(looksPath):
		return "path"
	case either(looksVersion):
		return "version"
	case either(hasDigit), either(numberWord):
		return "number"
	case either(unitOrDate):
		return "unit or date"
	case a != "" && b != "" && opposites(a, b):
		return "opposite"
	case either(direction):
		return "direction"
	case either(quantity):
		return "quantity"
	case either(asking):
		return "question"
	case either(punctuation):
		return "punctuation"
	case either(looksIdentifier):
		return "name"
	}
	return "words"
}

func hasDigit(s string) bool { return strings.ContainsFunc(s, unicode.IsDigit) }

func looksPath(s string) bool {
	if strings.ContainsAny(s, `/\`) {
		return true
	}
	i := strings.LastIndexByte(s, '.')
	return i > 0 && i+1 < len(s) && len(s)-i <= 6 && !hasDigit(s[i+1:])
}

func looksVersion(s string) bool {
	s = strings.ToLower(s)
	if len(s) > 1 && s[0] == 'v' && s[1] >= '0' && s[1] <= '9' {
		return true
	}
	i := strings.IndexByte(s, '.')
	return i > 0 && i+1 < len(s) && s[i-1] >= '0' && s[i-1] <= '9' && s[i+1] >= '0' && s[i+1] <= '9'
}

func looksIdentifier(s string) bool {
	if s == "I" {
		return false
	}
	for _, r := range s {
		if unicode.IsUpper(r) || !unicode.IsLetter(r) && !unicode.IsMark(r) && r != '\'' && r != '-' {
			return true
		}
	}
	return false
}
