package memory

import (
	"slices"
	"strings"
)

// crucial reports whether two wordings that are alike differ in something that may make them two decisions. It is
// asked when a human has said that they are one; where in doubt, it says yes.
//
// What differs in form does not count: endings, articles, courtesies, auxiliaries, tense, pronouns, the passive, and
// words that say nothing beside others ("use", "allowed to", "service"). All else has to be in both:
//
//   - what is asked for: whether, which (or where), who, when, why, how long. Where both name the choices ("tabs or
//     spaces"), which is whether;
//   - negations, numbers, versions, units and dates, environments, names and paths, quantities, "or", "must", and
//     the words for a direction, in that order where names or opposites could be swapped;
//   - each other word, by its stem. One or two of those that add little ("write", "run", "environment") may be in
//     one of the wordings alone.
func crucial(a, b *reading) bool {
	x, y := a.says, b.says
	// In front every word has a capital: the other wording may show that it is a name.
	if x.front != "" && slices.Contains(y.names, x.front) {
		x = contentsOf(a.toks, y.names)
	}
	if y.front != "" && slices.Contains(x.names, y.front) {
		y = contentsOf(b.toks, x.names)
	}
	choice := slices.Contains(x.strict, "or") && slices.Contains(y.strict, "or")
	if x.asks != y.asks && !(choice && whichOrWhether(x.asks) && whichOrWhether(y.asks)) && !x.measures(&y) && !y.measures(&x) {
		return true
	}
	if !slices.Equal(set(x.strict), set(y.strict)) {
		return true
	}
	return x.swapped(&y, choice) || x.adds(&y)
}

func whichOrWhether(asks string) bool { return asks == "" || asks == "which" }

// measures reports whether c asks which number, lifetime or person it is, and o how many, how long or who.
func (c *contents) measures(o *contents) bool {
	return c.asks == "which" && slices.ContainsFunc(c.words, func(w contentWord) bool { return measure(w.s) != "" && measure(w.s) == o.asks })
}

// measure is the question that a noun stands for.
func measure(s string) string {
	switch s {
	case "number", "count":
		return "how many"
	case "quota", "amount", "budget":
		return "how much"
	case "lifetime", "duration", "retention", "length":
		return "how long"
	case "interval", "frequency":
		return "how often"
	case "size":
		return "how large"
	case "team", "person", "role":
		return "who"
	}
	return ""
}

// contents is what a wording says, without its form.
type contents struct {
	asks   string        // what is asked for; "" is whether
	where  bool          // by "where"
	front  string        // the word in front, where its capital may be that of a name
	strict []string      // the words that always matter
	names  []string      // of these, the names, in order
	words  []contentWord // all other words, in order
	moved  bool          // a phrase of place or purpose is in front
}

type contentWord struct {
	stem, s string
	asked   bool // it says of what "which" asks
}

// contentsOf reads a wording. names are those that another wording has.
func contentsOf(toks []token, names []string) contents {
	var c contents
	asking := false // the words at hand are what "which" asks of
	for i, t := range toks {
		s := t.s
		if function(s) || punctuation(s) {
			asking = false
		}
		next := ""
		if i+1 < len(toks) {
			next = toks[i+1].s
		}
		name := t.quoted
		if !t.plain {
			s = strings.ToLower(s)
			name = name || capitals(t.s) || slices.Contains(names, s) || looksIdentifier(s) || !t.first && looksIdentifier(t.s)
			if t.first && !name {
				c.front = s
			}
		}
		switch {
		case punctuation(t.s), s == "ok":
		case unitOrDate(s):
			c.strict = append(c.strict, same(s))
		case name, hasDigit(s), looksPath(s):
			c.strict = append(c.strict, s)
			c.names = append(c.names, s)
		case questionWord(s):
			if c.asks == "" && asksHere(toks, i) {
				c.asks, c.where = asksFor(s, next), s == "where"
			}
		case always(s):
			c.strict = append(c.strict, same(s))
			if environment(s) {
				c.names = append(c.names, s)
			}
		case function(s), empty(s):
			c.moved = c.moved || i == 0 && (s == "for" || s == "in" || s == "on")
		default:
			asked := i > 0 && (toks[i-1].s == "which" || toks[i-1].s == "what") || asking
			asking = asked
			c.words = append(c.words, contentWord{stemOf(regular(expandShort(s))), s, asked})
		}
	}
	return c
}

func questionWord(s string) bool {
	switch s {
	case "which", "what", "who", "whom", "whose", "when", "where", "why", "how":
		return true
	}
	return false
}

// asksHere reports whether the question word at i begins a question and no clause: it is in front, or behind a preposition that
// is, or behind a colon or a comma.
func asksHere(toks []token, i int) bool {
	if i > 0 && preposition(toks[i-1].s) {
		i--
	}
	if i > 0 {
		return toks[i-1].s == ":" || toks[i-1].s == ","
	}
	// "When the file is missing, do we stop?" asks no when.
	return toks[0].s != "when" || len(toks) < 2 || asking(toks[1].s)
}

// asksFor is what a question word asks for.
func asksFor(s, next string) string {
	switch s {
	case "what", "where":
		return "which"
	case "whom", "whose":
		return "who"
	case "how":
		switch next {
		case "many", "much", "long", "large", "big", "soon", "old":
			return "how " + next
		case "often", "frequently":
			return "how often"
		}
	}
	return s
}

// always reports whether a word matters wherever it stands.
func always(s string) bool {
	switch s {
	case "must", "might", "or", "unless", "while", "outside", "just", "so", "also", "too", "from", "before", "after", "over", "under", "than", "above", "below", "behind",
		"between", "through", "instead", "until", "since", "against", "off", "versus", "vs", "rather", "upstream", "downstream", "again", "still", "yet", "already":
		return true
	case "live", "often", "many", "much":
		return false // as verbs, and behind "how"
	case "once":
		return true
	}
	return negation(s) || environment(s) || looksVersion(s) || numberWord(s) || unitOrDate(s) || quantity(s)
}

// same gives words that always matter one form.
func same(s string) string {
	switch s {
	case "every":
		return "all"
	case "daily":
		return "day"
	case "hourly", "weekly", "monthly", "yearly":
		return strings.TrimSuffix(s, "ly")
	case "none", "neither", "nor":
		return "not"
	}
	if unitOrDate(s) && len(s) > 3 {
		return strings.TrimSuffix(s, "s")
	}
	return s
}

// regular gives the commonest irregular forms their infinitive.
func regular(s string) string {
	switch s {
	case "sent":
		return "send"
	case "written", "wrote":
		return "write"
	case "frozen", "froze":
		return "freeze"
	case "kept":
		return "keep"
	case "held":
		return "hold"
	case "made":
		return "make"
	case "built":
		return "build"
	case "chosen", "chose":
		return "choose"
	case "shown", "showed":
		return "show"
	case "run", "ran", "running":
		return "run"
	case "found":
		return "find"
	case "hidden":
		return "hide"
	case "taken", "took":
		return "take"
	case "given", "gave":
		return "give"
	case "cancelled", "canceled", "cancelling", "canceling":
		return "cancel"
	case "vars", "var":
		return "variable"
	case "skippable":
		return "skip"
	}
	return s
}

// empty reports whether a word says nothing beside others.
func empty(s string) bool {
	switch s {
	case "use", "uses", "used", "using", "gets", "got", "allowed", "allow", "allows", "able", "acceptable", "possible", "supposed", "meant", "give", "gives", "given",
		"needs", "needed", "pick", "choose", "go", "goes", "come", "comes", "place", "placed", "service", "set", "put", "done", "want", "accept", "accepted", "open", "frequently", "often", "many", "much", "long", "large", "being", "how":
		return true
	}
	return false
}

// weak groups words that add little: 0 for all others. A word of a group below synonyms may be in one wording alone;
// in those above, one word stands for another.
func weak(stem string) int {
	switch stem {
	case "write", "render", "support", "work":
		return 1
	case "run", "start", "happen", "take", "host":
		return 2
	case "keep", "hold", "store", "stay", "sit":
		return 3
	case "contain", "includ", "part", "number", "repositori":
		return 4
	case "environ", "databas", "file", "code", "data", "length", "field", "list":
		return 5
	case "last", "count", "treat", "amount", "find", "fill":
		return 6
	case "staff", "user", "team", "peopl", "somebodi", "anybodi":
		return 7
	case "cloud", "format", "kind", "type", "status", "condit", "attempt", "time", "quota", "interv", "retent", "frequenc", "durat", "size":
		return 9
	case "chang", "edit", "modifi", "switch", "adjust":
		return synonyms + 1
	case "read", "load":
		return synonyms + 2
	case "cancel", "end", "termin":
		return synonyms + 3
	case "live", "lifetim", "valid", "expir":
		return synonyms + 4
	case "show", "see", "display":
		return synonyms + 5
	case "call", "talk":
		return synonyms + 6
	case "anoth", "differ", "other":
		return synonyms + 7
	case "block", "stop", "prevent":
		return synonyms + 8
	case "requir", "mandatori":
		return synonyms + 11
	case "own", "owner", "respons":
		return synonyms + 9
	case "roll", "deploy", "ship", "releas":
		return synonyms + 10
	}
	return 0
}

const synonyms = 100

// swapped reports whether the two say the same of things in another order where that may matter: names, what goes from
// one place to another, what has an opposite beside it, or all words as they are.
func (c *contents) swapped(o *contents, choice bool) bool {
	if !choice && !slices.Equal(c.names, o.names) && slices.Equal(set(c.names), set(o.names)) {
		return true
	}
	// What has the same form in both keeps its place; a verb that is in the passive does not.
	kept := func(c, o *contents) []string {
		var out []string
		for _, w := range c.words {
			if slices.ContainsFunc(o.words, func(v contentWord) bool { return v.s == w.s }) {
				out = append(out, w.s)
			}
		}
		return out
	}
	x, y := kept(c, o), kept(o, c)
	if slices.Equal(x, y) {
		return false
	}
	if len(x) == len(c.words) && len(y) == len(o.words) && !choice && !movedPhrase(x, y, c.moved || o.moved) {
		return true
	}
	if slices.Contains(c.strict, "from") || slices.Contains(o.strict, "from") {
		return true
	}
	for i, w := range x {
		for _, v := range x[i+1:] {
			if opposites(w, v) {
				return true
			}
		}
	}
	return false
}

// movedPhrase reports whether y is x with a stretch of words moved from one end to the other. Where a preposition shows it, one
// word will do.
func movedPhrase(x, y []string, one bool) bool {
	least := 2
	if one { // a preposition shows it
		least = 1
	}
	for i := least; i <= len(x)-least; i++ {
		if slices.Equal(y, slices.Concat(x[i:], x[:i])) {
			return true
		}
	}
	return false
}

// adds reports whether a wording has words that the other has not, beyond what may be left out.
func (c *contents) adds(o *contents) bool {
	x, y := c.without(o), o.without(c)
	for i := 0; i < len(x); i++ {
		j := slices.IndexFunc(y, func(s string) bool { return weak(s) != 0 && weak(s) == weak(x[i]) })
		if j >= 0 {
			x, y = slices.Delete(x, i, i+1), slices.Delete(y, j, j+1)
			i--
		}
	}
	// What is left on both sides is one word in the place of another.
	if len(x) > 0 && len(y) > 0 || len(x)+len(y) > 2 {
		return true
	}
	return slices.ContainsFunc(append(x, y...), func(s string) bool { return weak(s) == 0 || weak(s) > synonyms })
}

// without returns the stems of the words that o has not. What "which" asks of may be missing where the other says "where".
func (c *contents) without(o *contents) []string {
	rest := make([]string, 0, len(o.words))
	for _, w := range o.words {
		rest = append(rest, w.stem)
	}
	var out []string
	for _, w := range c.words {
		if i := slices.Index(rest, w.stem); i >= 0 {
			rest = slices.Delete(rest, i, i+1)
		} else if !w.asked || !o.where {
			out = append(out, w.stem)
		}
	}
	return out
}
