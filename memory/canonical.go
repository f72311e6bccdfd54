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
const CanonicalVersion = 1

// Canonical returns the ordered canonical tokens of a question. Two questions are the same exactly when
// their tokens are equal, one by one and in order, so the rules fold what never carries meaning
// and nothing else; in doubt a difference is kept.
//
//   - Unicode NFC with width folding. Typographic quotes, apostrophes and dashes become ASCII. Not
//     NFKC: 10⁶ is not 106.
//   - A capitalised word is put in lower case. A word in capitals, in mixed case, or with a digit or a symbol
//     in it is an identifier and stays as it is.
//   - One of , . ; : and any number of ? and ! are dropped at the end of a word (? and ! only where a
//     sentence ends). Every other symbol is kept, and each one in front: -5, <5, C++, $5, .env.
//   - A quoted span is one token, kept verbatim in double quotes whatever its quotes were. Quotes
//     around an identifier without spaces make no difference.
//   - The articles and "please" are dropped where they can be nothing else.
//   - Contractions are expanded; "what" becomes "which"; "e-mail" becomes "email"; db, repo, config, prod, env,
//     max, admin and k8s become the words they stand for, except where the question is about names.
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
	plain  bool // an unquoted word of letters in lower case
	quoted bool // a quoted span
	first  bool // begins a sentence
	last   bool // something was dropped behind it: it ends a clause
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

// folded is text in NFC and folded in width, with ASCII quotes and dashes.
func folded(text string) string {
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
		case '‐', '‑', '‒', '–', '—', '―', '−', '﹘', '﹣':
			return '-'
		}
		return r
	}, text)
}

func tokenize(text string) []token {
	raw := split(folded(text))
	naming := aboutNaming(raw)
	toks := make([]token, 0, len(raw)+4)
	first := true
	for i, w := range raw {
		ends := i == len(raw)-1 || startsUpper(raw[i+1].s)
		toks, first = appendWord(toks, w, first, ends, i == len(raw)-1, naming)
	}
	return dropFillers(toks)
}

// aboutNaming reports whether the question has an abbreviation and is about names. Only then does it matter.
func aboutNaming(raw []word) bool {
	short, naming := false, false
	for _, w := range raw {
		if w.quoted {
			continue
		}
		s := w.s
		for s != "" && strings.IndexByte(",.;:?!", s[len(s)-1]) >= 0 {
			s = s[:len(s)-1]
		}
		s = strings.ToLower(s)
		short = short || expandShort(s) != s
		naming = naming || aboutNames(s)
	}
	return short && naming
}

// word is a stretch of text without white space outside quotes.
type word struct {
	s      string
	tail   string // of a quoted span: what follows the closing quote
	quoted bool
}

func split(s string) []word {
	words := make([]word, 0, len(s)/5+1)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
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

// quotedSpan reads a quoted span at the start of s: its content, the punctuation behind it, and the size of
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
		return s[1:i], s[i+1 : j], j, true
	}
	return "", "", 0, false
}

func startsUpper(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsUpper(r) || unicode.IsTitle(r)
}

// appendWord appends the tokens of one word, and says whether a sentence begins behind it.
func appendWord(toks []token, w word, first, ends, last, naming bool) ([]token, bool) {
	if w.quoted {
		tail, dropped := trimEnd(w.tail, true)
		s := w.s
		if !identifier(s) {
			s = `"` + s + `"`
		}
		return append(toks, token{s: s + tail, quoted: true, first: first, last: dropped != ""}), strings.ContainsAny(dropped, ".?!")
	}
	s, dropped := trimEnd(w.s, ends)
	if s == "" { // punctuation alone
		if last && strings.Trim(w.s, "?!") == "" {
			return toks, true
		}
		return append(toks, token{s: w.s, first: first}), false
	}
	next := strings.ContainsAny(dropped, ".?!。")
	if unspaced(s) {
		return appendUnspaced(toks, s, first, dropped != ""), next
	}
	low, plain := lowered(s, first)
	if !plain {
		if !naming && (s == "DB" || s == "DBs" || s == "k8s" || s == "K8s") {
			low, plain = expandShort(strings.ToLower(s)), true
		}
		return append(toks, token{s: low, plain: plain, first: first, last: dropped != ""}), next
	}
	// "no," and "not," say something else than "no" and "not".
	if strings.Contains(dropped, ",") && (low == "no" || low == "not" || low == "never") {
		return append(toks, token{s: low + ",", first: first, last: true}), next
	}
	if a, b, ok := expandContraction(low); ok {
		toks = append(toks, token{s: whichOf(a), plain: true, first: first}, token{s: b, plain: true, last: dropped != ""})
		return toks, next
	}
	if !naming {
		low = expandShort(low)
	}
	return append(toks, token{s: whichOf(low), plain: true, first: first, last: dropped != ""}), next
}

func whichOf(s string) string {
	if s == "what" {
		return "which"
	}
	return s
}

// trimEnd takes the punctuation of sentences off the end of a word. ".." and "::" stay, since they
// mean something in paths and code.
func trimEnd(s string, ends bool) (kept, dropped string) {
	all := s
	for s != "" {
		r, n := utf8.DecodeLastRuneInString(s)
		rest := s[:len(s)-n]
		switch r {
		case '?', '!', '؟':
			if !ends {
				return s, all[len(s):]
			}
		case '.':
			if strings.HasSuffix(rest, "..") && !strings.HasSuffix(rest, "...") {
				rest = rest[:len(rest)-2]
			} else if strings.HasSuffix(rest, ".") {
				return s, all[len(s):]
			}
		case ',', ';', ':':
			if l, _ := utf8.DecodeLastRuneInString(rest); l == r {
				return s, all[len(s):]
			}
		case '。', '、', '،', '।':
		default:
			return s, all[len(s):]
		}
		s = rest
	}
	return s, all
}

// lowered returns a word in lower case where its capital is only that of a sentence or a name, and whether
// it is a plain word. All else is an identifier and returned as it is.
func lowered(s string, first bool) (string, bool) {
	letters := 0
	firstUpper := false
	for i, r := range s {
		switch {
		case unicode.IsUpper(r) || unicode.IsTitle(r):
			if i > 0 {
				return s, false
			}
			firstUpper = true
			letters++
		case unicode.IsLetter(r):
			letters++
		case unicode.IsMark(r):
		case (r == '\'' || r == '-') && i > 0:
		default:
			return s, false
		}
	}
	if letters == 0 {
		return s, false
	}
	if !firstUpper {
		return s, true
	}
	if letters == 1 && s != "I" && (s != "A" || !first) {
		return s, false
	}
	r, n := utf8.DecodeRuneInString(s)
	l := unicode.ToLower(r)
	if unicode.ToUpper(l) != r {
		return s, false
	}
	return string(l) + s[n:], true
}

// identifier reports whether a quoted span means the same without its quotes: it has no white space, starts
// with a letter or an underscore and ends with one or a digit, has a small letter, and would be kept verbatim
// anyway. "10" and "NULL" are not 10 and NULL.
func identifier(s string) bool {
	if len(s) < 2 || strings.ContainsFunc(s, unicode.IsSpace) || strings.ContainsAny(s, "\"'`") || unspaced(s) {
		return false
	}
	edge := func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	f, _ := utf8.DecodeRuneInString(s)
	l, _ := utf8.DecodeLastRuneInString(s)
	if !edge(f) || !edge(l) || unicode.IsDigit(f) || !strings.ContainsFunc(s, unicode.IsLower) || s == "DBs" || s == "k8s" || s == "K8s" {
		return false
	}
	_, plain := lowered(s, false)
	return !plain
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
func appendUnspaced(toks []token, s string, first, ends bool) []token {
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
	if ends && len(toks) > 0 {
		toks[len(toks)-1].last = true
	}
	return toks
}

// dropFillers drops articles and "please" where they can be nothing else.
func dropFillers(toks []token) []token {
	out := toks[:0]
	var prev token // the token before, dropped or not
	for i, t := range toks {
		drop := false
		if t.plain {
			switch t.s {
			case "a", "an":
				drop = i+1 < len(toks) && !t.last && noun(toks[i+1]) && !afterLetter(toks[i+1]) && !(prev.plain && labelled(prev.s))
			case "the":
				drop = i+1 < len(toks) && !t.last && noun(toks[i+1])
			case "please":
				drop = (i == 0 || i == len(toks)-1 || prev.s == "you") && !(prev.plain && quoting(prev.s))
			}
		}
		prev = t
		if drop {
			continue
		}
		out = append(out, t)
	}
	return out
}

// noun reports whether an article may stand before a token: it is no symbol alone.
func noun(t token) bool {
	return t.quoted || strings.ContainsFunc(t.s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}
