package memory

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/width"
)

// CanonicalVersion names the rules of [Canonical]. It changes whenever they do. Nothing canonical is
// stored, so a new version needs no migration.
const CanonicalVersion = 3

// Canonical returns the ordered canonical tokens of a question. Two questions are the same only when
// their tokens are equal, one by one and in order, so the rules fold what never carries meaning
// and nothing else; in doubt a difference is kept. [Memory.Same] says what else it takes.
//
//   - Unicode NFC with width folding. Typographic forms of one mark become that mark: quotes, apostrophes and hyphens.
//     A dash is no hyphen, and a backtick is no quote. Not NFKC: 10⁶ is not 106.
//   - The capital of a function word, of a question word or of a common verb is folded where a sentence begins, and
//     that of a listed product that means nothing else (Postgres, Redis) beside no
//     noun that it could name. All other capitals stay: Main is not main, Go is not go, and I is not i.
//   - One ? or . at the very end of the text is dropped. Punctuation at the end of a word inside is a token
//     of its own: "stop. Deploy" is not "stop deploy". It is dropped only behind "please" and "question" in front,
//     before "please" at the end, and where one comma stands between "which" with its noun and the verb. Every
//     other symbol is kept: save!, int?, -5, <5, C++, $5, .env.
//   - A quoted span is one token, kept verbatim with its kind of quotes: 'user', "user", `user` and user are four things.
//   - White space between words counts as one space. A line break inside the text is a token, with the indentation of the
//     line that follows.
//   - "please" is dropped at the start, at the end and behind "you", and "the" before one part of a system ("the API", "the
//     billing service"). All other articles are words: "the 3 replicas" are not "3 replicas", the columns are
//     not all columns, and "on a call" is not "on call".
//   - Contractions are expanded; "what" in front becomes "which"; "e-mail" becomes "email"; db, config, prod
//     and env become the words they stand for behind an article or "which", where no noun follows them;
//     so does prod behind a preposition, and "the max size". None of that where the question is
//     about names or wording.
//   - Scripts written without spaces give one token for each character.
//
// Question words, modals, plurals, "just", "so" and the order of words are kept. Canonical is
// deterministic and never fails; of text that is not UTF-8 the broken bytes count as U+FFFD.
func Canonical(text string) []string {
	toks := tokenize(text)
	out := make([]string, len(toks))
	for i, t := range toks {
		out[i] = t.s
	}
	return out
}

// token is one canonical token and what the guards need to know of where it came from.
type token struct {
	s      string
	plain  bool // an unquoted word of letters in lower case, or the pronoun I
	quoted bool // a quoted span
	first  bool // begins a sentence
	the    bool // "the" was dropped before it
}

// hidden reports whether s has a character that hides or reorders text, so that what a human saw may
// not be what is compared. Joiners and variation selectors are part of emoji and of some scripts.
func hidden(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || c < ' ' && c != '\n' && c != '\t' && c != '\r' || c == 0x7F {
			return hiddenRunes(s)
		}
	}
	return false
}

func hiddenRunes(s string) bool {
	for _, r := range s {
		switch {
		case r == '\n', r == '\t', r == '\r', r == 0x200C, r == 0x200D, r == 0xFE0E, r == 0xFE0F:
			continue
		case r == 0x115F, r == 0x1160, r == 0x17B4, r == 0x17B5, r == 0x2800, r == 0x3164, r == 0xFFA0, r == utf8.RuneError:
			return true
		}
		if r >= 0x80 || r < 0x20 || r == 0x7F {
			if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) {
				return true
			}
		}
	}
	return false
}

// folded is text in NFC and folded in width, with ASCII quotes and hyphens and one kind of line break.
func folded(text string) string {
	if strings.IndexByte(text, '\r') >= 0 {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	}
	ascii := true
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			ascii = false
			break
		}
	}
	if ascii {
		return text
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = norm.NFC.String(width.Fold.String(norm.NFC.String(text)))
	return strings.Map(func(r rune) rune {
		switch r {
		case '‘', '’', '‚', '‛', 'ʼ':
			return '\''
		case '“', '”', '„', '‟', '«', '»':
			return '"'
		case '‐', '‑', '−', '﹣':
			return '-'
		case '―', '﹘':
			return '—'
		case 0x0085, 0x2028, 0x2029:
			return '\n'
		}
		return r
	}, text)
}

func tokenize(text string) []token {
	raw := withoutEnd(split(strings.TrimSpace(folded(text))))
	naming := aboutNaming(raw)
	toks := make([]token, 0, len(raw)+4)
	start := true
	for i, w := range raw {
		next := ""
		if i+1 < len(raw) {
			next = raw[i+1].s
		}
		toks, start = appendWord(toks, w, start, next, naming)
	}
	if !naming {
		expandShorts(toks)
	}
	return withoutStrayComma(withoutFillers(toks))
}

// withoutEnd takes the one ? or . off that ends a text. Of two, one may be part of what is asked about: "int??".
func withoutEnd(words []word) []word {
	if len(words) == 0 {
		return words
	}
	last := &words[len(words)-1]
	end := &last.s
	if last.quoted {
		end = &last.tail
	}
	r, n := utf8.DecodeLastRuneInString(*end)
	rest := (*end)[:len(*end)-n]
	switch r {
	case '?', '؟':
		if rest == "" && !last.quoted {
			if len(words) == 1 {
				return words
			}
			return words[:len(words)-1]
		}
	case '.', '。', '।':
		if rest == "" && !last.quoted || strings.HasSuffix(rest, ".") {
			return words
		}
	case '!':
		if !courtesy(strings.ToLower(rest)) {
			return words
		}
	default:
		return words
	}
	*end = rest
	return words
}

// courtesy reports whether a word is one that asks for nothing.
func courtesy(s string) bool { return s == "please" || s == "thanks" }

// aboutNaming reports whether the question is about names or wording. Only where something would be spelled
// out does it matter.
func aboutNaming(raw []word) bool {
	short, naming := false, false
	for _, w := range raw {
		if w.quoted {
			continue
		}
		s := strings.ToLower(strings.TrimRight(w.s, ",.;:?!"))
		short = short || shortFor(s) != "" || strings.IndexByte(s, '\'') >= 0 || s == "cannot"
		naming = naming || aboutNames(s)
	}
	return short && naming
}

// word is a stretch of text without white space outside quotes.
type word struct {
	s      string
	tail   string // of a quoted span: what follows the closing quote
	quoted bool
	broken bool // a line break, and the indentation behind it
}

func split(s string) []word {
	words := make([]word, 0, len(s)/5+1)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == '\n' {
			j := i + 1
			for j < len(s) && (s[j] == ' ' || s[j] == '\t') {
				j++
			}
			end := j
			if j < len(s) && s[j] == '\n' {
				end = i + 1 // an empty line has no indentation
			}
			words = append(words, word{s: s[i:end], broken: true})
			i = j
			continue
		}
		if unicode.IsSpace(r) {
			i += n
			continue
		}
		if r == '"' || r == '`' || r == '\'' {
			if span, tail, size, ok := quotedSpan(s[i:], byte(r)); ok {
				words = append(words, word{s: span, tail: tail, quoted: true})
				i += size
				continue
			}
		}
		j := i
		for j < len(s) {
			r, n := utf8.DecodeRuneInString(s[j:])
			if unicode.IsSpace(r) {
				break
			}
			j += n
		}
		words = append(words, word{s: s[i:j]})
		i = j
	}
	return words
}

// quotedSpan reads a quoted span at the start of s: it with its quotes, the punctuation behind it, and the size of
// all. A closing quote has white space, punctuation or nothing behind it.
func quotedSpan(s string, quote byte) (span, tail string, size int, ok bool) {
	for i := 1; i < len(s); i++ {
		if s[i] != quote {
			continue
		}
		j := i + 1
		for j < len(s) && strings.IndexByte(",.;:?!)", s[j]) >= 0 {
			j++
		}
		if j < len(s) {
			if r, _ := utf8.DecodeRuneInString(s[j:]); !unicode.IsSpace(r) {
				continue
			}
		}
		return s[:i+1], s[i+1 : j], j, true
	}
	return "", "", 0, false
}

func startsUpper(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsUpper(r) || unicode.IsTitle(r)
}

// appendWord appends the tokens of one word, and says whether a sentence begins behind it. next is the word behind.
func appendWord(toks []token, w word, start bool, next string, naming bool) ([]token, bool) {
	if w.broken {
		return append(toks, token{s: w.s}), start
	}
	if w.quoted {
		kept, end := cutEnd(`"`+w.tail, next)
		toks = append(toks, token{s: w.s + kept[1:], quoted: true, first: start})
		return appendEnd(toks, end), sentenceEnd(end)
	}
	s, end := cutEnd(w.s, next)
	if unspaced(s) {
		return appendEnd(appendUnspaced(toks, s, start), end), sentenceEnd(end)
	}
	s, plain := lowered(s, start, before(toks), next)
	begins := sentenceEnd(end) || start && plain && (s == "please" || s == "question" && end == ":")
	if plain && !naming {
		if a, b, ok := expandContraction(s, start); ok {
			toks = append(toks, token{s: whichOf(a, start), plain: true, first: start}, token{s: b, plain: true})
			return appendEnd(toks, end), begins
		}
	}
	if plain {
		s = whichOf(s, start)
	}
	return appendEnd(append(toks, token{s: s, plain: plain, first: start}), end), begins
}

func appendEnd(toks []token, end string) []token {
	if end == "" {
		return toks
	}
	return append(toks, token{s: end})
}

func sentenceEnd(end string) bool {
	switch end {
	case ".", "?", "!", "。", "।", "؟":
		return true
	}
	return false
}

// before is the word that the next token follows.
func before(toks []token) string {
	if len(toks) == 0 {
		return ""
	}
	return toks[len(toks)-1].s
}

// whichOf takes "what" for "which" where a sentence begins with it: "return what users typed" is something else.
func whichOf(s string, start bool) string {
	if start && s == "what" {
		return "which"
	}
	return s
}

// cutEnd splits the punctuation of sentences from the end of a word inside the text. ".." and "::" stay, since they
// mean something in paths and code, and ? and ! stay where no sentence begins behind them: "int? or".
func cutEnd(s, next string) (kept, end string) {
	r, n := utf8.DecodeLastRuneInString(s)
	rest := s[:len(s)-n]
	if rest == "" {
		return s, ""
	}
	prev, _ := utf8.DecodeLastRuneInString(rest)
	switch r {
	case ',', ';', ':', '.', '。', '、', '،', '।':
		if prev == r || next == "" {
			return s, ""
		}
	case '?', '!', '؟':
		if prev == '?' || prev == '!' || !startsUpper(next) {
			return s, ""
		}
	default:
		return s, ""
	}
	return rest, s[len(rest):]
}

// lowered returns a word without the capital that it has only because a sentence begins, and whether
// it is a plain word. All else stays as it is.
func lowered(s string, start bool, prev, next string) (string, bool) {
	low, capital, ok := wordlike(s)
	switch {
	case !ok:
		return s, false
	case !capital:
		return s, true
	case s == "I":
		return s, true
	case strings.HasPrefix(s, "I'"):
		return s, true
	case start && foldable(low, next):
		return low, true
	case product(low) && !literal(prev) && !literal(strings.TrimRight(next, ",.;:?!")):
		return low, true
	}
	return s, false
}

// wordlike reports whether s is letters in lower case, but for the first. low is all of it in lower case.
func wordlike(s string) (low string, capital, ok bool) {
	letters := 0
	for i, r := range s {
		switch {
		case unicode.IsUpper(r) || unicode.IsTitle(r):
			if i > 0 {
				return s, false, false
			}
			capital = true
			letters++
		case unicode.IsLetter(r):
			letters++
		case unicode.IsMark(r):
		case (r == '\'' || r == '-') && i > 0:
		default:
			return s, false, false
		}
	}
	if letters == 0 || capital && letters == 1 && s != "I" && s != "A" {
		return s, false, false
	}
	if !capital {
		return s, false, true
	}
	r, n := utf8.DecodeRuneInString(s)
	l := unicode.ToLower(r)
	if unicode.ToUpper(l) != r {
		return s, false, false
	}
	return string(l) + s[n:], true, true
}

// unspaced reports whether s has a character of a script that is written without spaces.
func unspaced(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return strings.ContainsFunc(s, unspacedRune)
		}
	}
	return false
}

func unspacedRune(r rune) bool {
	return r >= 0x0E00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// appendUnspaced appends one token for each character of the scripts without spaces, with the marks on it,
// and one for each stretch between them, as it is.
func appendUnspaced(toks []token, s string, first bool) []token {
	start := -1
	flush := func(end int) {
		if start >= 0 {
			toks = append(toks, token{s: s[start:end], first: first})
			first = false
			start = -1
		}
	}
	prev := false // the character before is one of those scripts
	for i, r := range s {
		switch {
		case prev && (unicode.IsMark(r) || r == 0x200C || r == 0x200D):
		case unspacedRune(r):
			flush(i)
			start, prev = i, true
		case prev:
			flush(i)
			start, prev = i, false
		case start < 0:
			start = i
		}
	}
	flush(len(s))
	return toks
}

// expandShorts spells out what stands for one thing alone where it can be no name and no value.
func expandShorts(toks []token) {
	word := func(i int) string {
		if i < 0 || i >= len(toks) {
			return ""
		}
		if toks[i].quoted {
			return `"`
		}
		return toks[i].s
	}
	for i, t := range toks {
		s := t.s
		if s == "DB" || s == "DBs" {
			s = "db" + s[2:]
		} else if !t.plain {
			continue
		}
		long := shortFor(s)
		if long == "" {
			continue
		}
		if strings.HasPrefix(s, "e-") {
			if !listed(word(i-1)) && !listed(word(i+1)) && word(i-1) != "to" && !literal(word(i-1)) && !literal(word(i+1)) {
				toks[i].s = long
			}
			continue
		}
		next := word(i + 1)
		if s == "max" || s == "min" {
			// "the max upload size", and neither "the max" nor "the max function".
			if determiner(word(i-1)) && i+1 < len(toks) && toks[i+1].plain && !function(next) && !literal(next) && !listed(next) {
				toks[i].s = long
			}
			continue
		}
		follows := i == len(toks)-1 || asking(next) || preposition(next) || word(i-1) == "which" && singular(s) && verb(next)
		noun := determiner(word(i-1)) && !listed(word(i-2)) || s == "prod" && place(word(i-1)) && !listed(word(i-2)) && !literal(word(i-2)) && (word(i-1) != "to" || shipping(toks))
		if noun && follows {
			toks[i].s, toks[i].plain = long, true
		}
	}
}

// singular reports whether a noun does not look like a plural.
func singular(s string) bool { return !strings.HasSuffix(s, "s") }

// verb reports whether a word behind a singular noun looks like its verb.
func verb(s string) bool {
	return len(s) > 3 && strings.HasSuffix(s, "s") && !strings.HasSuffix(s, "ss") && !literal(s) && !literal(s[:len(s)-1])
}

// withoutStrayComma drops the one comma between the noun of "which" and its verb, where grammar has none and
// it can divide nothing: "Which database, holds the orders?"
func withoutStrayComma(toks []token) []token {
	if len(toks) < 4 || toks[0].s != "which" || !toks[1].plain || toks[2].s != "," || !toks[3].plain {
		return toks
	}
	aux := asking(toks[3].s)
	switch toks[3].s {
	case "which", "what", "who", "whom", "whose", "when", "where", "why", "how", "whether":
		aux = false
	}
	if function(toks[1].s) || !aux && !(singular(toks[1].s) && verb(toks[3].s) && !function(toks[3].s)) {
		return toks
	}
	for _, t := range toks[3:] {
		if t.s == "or" || t.s == "and" || punctuation(t.s) {
			return toks
		}
	}
	return append(toks[:2], toks[3:]...)
}

// punctuation reports whether a token is the punctuation of a sentence.
func punctuation(s string) bool {
	switch s {
	case ",", ".", ";", ":", "?", "!", "。", "、", "،", "।", "؟":
		return true
	}
	return lineBreak(s)
}

// lineBreak reports whether a token is a line break.
func lineBreak(s string) bool { return s != "" && s[0] == '\n' }

// withoutFillers drops "please", the colon behind "question" in front, and "the" before a part of a system.
func withoutFillers(toks []token) []token {
	out := toks[:0]
	var prev token // the token before
	for i, t := range toks {
		drop := false
		switch {
		case t.plain && t.s == "please":
			drop = (i == 0 || i == len(toks)-1 || prev.s == "you") && !(prev.plain && quoting(prev.s))
			if drop && i == len(toks)-1 && i > 0 && len(out) > 1 && out[len(out)-1].s == "," {
				out = out[:len(out)-1]
			}
		case t.plain && t.s == "the":
			drop = theSystem(toks, i)
		case !t.plain && i == 1 && (t.s == ":" || t.s == ","):
			drop = prev.plain && (prev.s == "please" || t.s == ":" && prev.s == "question")
		}
		t.the = i > 0 && prev.plain && prev.s == "the" && theSystem(toks, i-1)
		prev = t
		if !drop {
			out = append(out, t)
		}
	}
	return out
}

// theSystem reports whether the "the" at i stands before one part of a system, at most one word in between: "the orders table". Before a plural, a
// number, a quantity or what may be a phrase ("on the table", "take the lead") it is kept.
func theSystem(toks []token, i int) bool {
	word := func(i int) string {
		if i < 0 || i >= len(toks) || !toks[i].plain && !(capitals(toks[i].s) && partOfSystem(toks[i].s)) {
			return ""
		}
		return toks[i].s
	}
	next, second := word(i+1), word(i+2)
	if partOfSystem(next) {
		switch word(i - 1) {
		case "on", "off", "at", "under", "by", "a", "an", "the":
			return false
		}
		return true
	}
	if next == "" || !toks[i+1].plain || !partOfSystem(second) || function(next) || quantity(next) || numberWord(next) || ordinal(next) || negation(next) || strings.Contains(next, "'") ||
		plural(next) && !thingOnly(second) {
		return false
	}
	switch next {
	case "same", "other", "others", "last", "next", "whole", "very", "own", "best", "worst", "right", "wrong", "remaining", "following", "previous", "above", "below", "rest", "two", "pair":
		return false
	}
	return true
}

// partOfSystem reports whether a noun names a part of a system of which a sentence says "the" or nothing.
func partOfSystem(s string) bool {
	switch s {
	case "api", "service", "database", "table", "cache", "queue", "bucket", "cluster", "server", "gateway", "proxy", "firewall", "frontend", "backend", "app", "website", "dashboard", "portal", "ui", "cli", "sdk",
		"library", "module", "package", "monorepo", "codebase", "pipeline", "environment", "endpoint", "warehouse", "registry", "linter", "formatter", "parser", "compiler", "scheduler", "crawler", "importer", "exporter",
		"changelog", "configuration", "schema", "index", "API", "UI", "CLI", "SDK", "CI", "broker", "daemon", "worker", "repository":
		return true
	}
	return false
}

// thingOnly reports whether a part of a system is no verb too: "the workers cache" may be about what workers do.
func thingOnly(s string) bool {
	switch s {
	case "api", "service", "database", "table", "bucket", "cluster", "server", "dashboard", "module", "schema", "warehouse", "registry", "repository", "endpoint", "gateway":
		return true
	}
	return false
}

// article reports whether the token at i can be nothing but an article.
func article(toks []token, i int) bool {
	t := toks[i]
	if !t.plain || i+1 == len(toks) || !noun(toks[i+1]) {
		return false
	}
	next, prev := toks[i+1], token{}
	if i > 0 {
		prev = toks[i-1]
	}
	switch t.s {
	case "the":
		return true
	case "an":
		return !afterLetter(next) && !(prev.plain && labelled(prev.s))
	case "a":
		return !afterLetter(next) && (i == 0 && singular(next.s) || prev.plain && beforeArticle(prev.s)) && !(being(prev.s) && strings.HasSuffix(next.s, "ing"))
	}
	return false
}

// noun reports whether an article may stand before a token: it is no symbol alone.
func noun(t token) bool {
	return t.quoted || strings.ContainsFunc(t.s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}
