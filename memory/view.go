package memory

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// seen is one word as the guards look at a wording: in lower case, without quotes, dashes, slashes and the 's of a
// genitive, and without the article before it. So no dress of a word hides it.
type seen struct {
	w      string // "" for punctuation
	the    bool   // "the" stands before it
	one    bool   // "a" or "an" stands before it
	whose  bool   // it has the 's of a genitive
	part   bool   // it is not the first of what one token was split in
	joined bool   // it was joined with others by a dash or a slash
	shout  bool   // more than one letter, all of them capitals
	name   bool   // it looks like a name: quoted, with a digit or a symbol, or with a capital
	ends   bool   // of punctuation: more than a comma
}

// look returns the words of a wording as the guards look at it.
func look(toks []token) []seen {
	out := make([]seen, 0, len(toks)+4)
	the, one := false, false
	for i, t := range toks {
		if article(toks, i) {
			the, one = the || t.s == "the", one || t.s != "the"
			continue
		}
		if punctuation(t.s) {
			out = append(out, seen{ends: t.s != "," && t.s != "、" && t.s != "،"})
			the, one = false, false
			continue
		}
		n := len(out)
		out = appendSeen(out, t)
		if n == len(out) { // a symbol alone
			out = append(out, seen{})
		}
		out[n].the, out[n].one = the || t.the, one
		the, one = false, false
	}
	return out
}

func appendSeen(out []seen, t token) []seen {
	n := len(out)
	for _, s := range strings.FieldsFunc(t.s, func(r rune) bool { return unicode.IsSpace(r) || r == '"' || r == '`' }) {
		theirs := strings.HasSuffix(strings.TrimRight(s, ",.;:?!"), "s'")
		s = strings.TrimFunc(s, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && !unspacedRune(r)
		})
		parts := []string{s}
		if joint := splitWord(s); joint != nil {
			parts = joint
		}
		for _, p := range parts {
			if p == "" {
				continue
			}
			low := strings.ToLower(p)
			v := seen{w: low, part: len(out) > n, joined: len(parts) > 1, shout: capitals(p)}
			v.name = t.quoted || hasDigit(p) || strings.ContainsAny(p, "/_.@#\\") || low != p && p != "I" && !(t.first && !capitals(p)) || v.shout
			if w, ok := strings.CutSuffix(low, "'s"); ok && w != "" && w != "let" && w != "it" {
				v.w, v.whose = w, true
			} else if theirs {
				v.whose = true
			}
			out = append(out, v)
		}
	}
	return out
}

// splitWord splits words that dashes, slashes and the like join; nil where s is one, or a path, a version or an
// address.
func splitWord(s string) []string {
	parts := strings.FieldsFunc(s, func(r rune) bool {
		return unicode.Is(unicode.Dash, r) || r == '~' || r == '/' || r == '|' || r == '+' || r == '&' || r == ',' || r == ';' || r == '(' || r == ')' || r == '…'
	})
	if len(parts) < 2 {
		return nil
	}
	for i, p := range parts {
		digits := strings.IndexFunc(p, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) && r != '\'' }) >= 0
		if digits && (i == 0 || !choice(strings.ToLower(parts[i-1]))) {
			return nil
		}
	}
	return parts
}

// one is a noun without the ending of a plural.
func oneOf(s string) string {
	switch {
	case strings.HasSuffix(s, "ies") && len(s) > 4:
		return s[:len(s)-3] + "y"
	case strings.HasSuffix(s, "sses"), strings.HasSuffix(s, "ches"), strings.HasSuffix(s, "shes"), strings.HasSuffix(s, "xes"):
		return s[:len(s)-2]
	case plural(s):
		return s[:len(s)-1]
	}
	return s
}

// plural reports whether a word looks like a plural.
func plural(s string) bool {
	switch s {
	case "people", "data", "criteria", "children":
		return s != "data"
	case "always", "sometimes", "perhaps", "dns", "https", "css", "tls", "aws", "kubernetes", "redis", "sms", "gps", "rds", "sqs", "eks", "cors", "ios", "macos", "js", "ts", "news",
		"sales", "postgres", "jenkins", "analytics", "jobs'", "hours", "days", "minutes", "weeks", "months", "seconds", "years", "times":
		return false
	}
	if len(s) < 3 || !strings.HasSuffix(s, "s") {
		return false
	}
	switch s[len(s)-2] {
	case 's', 'u', 'i', '\'':
		return false
	}
	return true
}

// capitals reports whether a token has more than one letter, all of them capitals.
func capitals(s string) bool {
	n := 0
	for _, r := range s {
		if unicode.IsLower(r) {
			return false
		}
		if unicode.IsUpper(r) {
			n++
		}
	}
	return n > 1
}

// acronym reports whether a pointing word in capitals is something else.
func acronym(w string) bool {
	switch w {
	case "it", "me", "his", "her", "sat", "sun", "mon", "one", "mar", "dec":
		return true
	}
	return false
}

// startsLetter reports whether a word begins with a letter.
func startsLetter(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLetter(r)
}
