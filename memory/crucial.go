package memory

import (
	"slices"
	"strings"
)

// crucial reports whether two guarded wordings that are alike differ in something that may make them two decisions. It is
// asked when a human has said that they are one, and a no makes a wording a silent alias from then on. So it lists what
// may differ, and all else is crucial:
//
//   - what makes no difference to [Memory.Same] either: courtesies, and "environment" behind the name of one;
//   - "do we" and "should we", before a verb for what is done as a matter of course, which "do we have" is not, and
//     where neither asks when, why or how;
//   - "should we store dates in UTC" and "should dates be stored in UTC": the passive that names nobody who does it, where
//     each word keeps its part. What it is done to is a plain noun phrase, and what stands behind can belong to the
//     verb alone;
//   - a preposition said again behind "or" at the end: "in UTC or in local time".
//
// There are no synonyms: no two words mean the same in every sentence, since each may be a name. There are no other endings
// either: one replica is not all replicas. Each rule leaves all words where they are or says where they go, so that
// nothing is done to or by another thing.
func crucial(a, b *reading) bool { return !a.form.says(&b.form) }

// form is a wording without what may differ.
type form struct {
	kind  formKind
	words []string // all of them
	front []string // what is asked for, "which region"
	verb  string   // as it is
	moved []string // of the passive: what the verb is done to
	rest  []string // behind the verb
	usual bool     // by "do we"
}

type formKind uint8

const (
	plainForm   formKind = iota // any other
	activeForm                  // "should we VERB …", "do we VERB …"
	passiveForm                 // "should … be VERB …"
)

// formOf reads a wording. One that is too long has no form, and says the same as none.
func formOf(toks []token) form {
	if len(toks) > maxCompared {
		return form{}
	}
	words := reduced(toks, make([]string, 0, len(toks)), true)
	f := form{words: words}
	if slices.ContainsFunc(words, breaks) {
		return f
	}
	words = withoutRepeated(words)
	f.words = words
	at := slices.IndexFunc(words, func(s string) bool { return s == "should" || s == "do" })
	if at < 0 || at+3 > len(words) || !asksWhat(words[:at]) {
		return f
	}
	if words[at+1] == "we" {
		f.kind, f.front, f.verb, f.rest, f.usual = activeForm, words[:at], words[at+2], words[at+3:], words[at] == "do"
		return f
	}
	if be := slices.Index(words, "be"); words[at] == "should" && be > at && be+1 < len(words) {
		f.kind, f.front, f.verb, f.moved, f.rest = passiveForm, words[:at], words[be+1], words[at+1:be], words[be+2:]
	}
	return f
}

// asksWhat reports whether the words in front of "should" or "do" leave open which of the two it is.
func asksWhat(front []string) bool {
	if len(front) == 0 {
		return true
	}
	switch front[0] {
	case "which", "where", "who":
		return true
	case "how":
		return len(front) > 1 && (front[1] == "long" || front[1] == "many" || front[1] == "much" || front[1] == "often")
	}
	return false
}

// breaks reports whether a word makes it doubtful what belongs to what, or speaks of how things stand.
func breaks(s string) bool {
	switch s {
	case "only", "just", "also", "even", "too", "and", "that", "if", "when", "while", "already", "yet", "still", "ever", "currently":
		return true
	}
	return punctuation(s) || negation(s) || strings.HasPrefix(s, `"`) || strings.HasPrefix(s, "`") || strings.HasPrefix(s, "'")
}

// withoutRepeated leaves out a preposition behind "or" that is the one before, where nothing can belong to both or to
// another: "in UTC or in local time" at the end.
func withoutRepeated(words []string) []string {
	or := slices.Index(words, "or")
	if or < 2 || or+2 >= len(words) || or+4 < len(words) || words[or+1] != words[or-2] || !place(words[or+1]) {
		return words
	}
	if function(words[or-1]) || slices.ContainsFunc(words[or+2:], function) {
		return words
	}
	return slices.Concat(words[:or+1], words[or+2:])
}

// says reports whether two forms say the same.
func (f *form) says(o *form) bool {
	switch {
	case len(f.words) == 0 || len(o.words) == 0:
		return false
	case slices.Equal(f.words, o.words):
		return true
	case f.kind == plainForm || o.kind == plainForm || !slices.Equal(f.front, o.front):
		return false
	case f.kind == activeForm && o.kind == activeForm:
		return f.verb == o.verb && slices.Equal(f.rest, o.rest) && usual(f.verb)
	case f.kind == activeForm:
		return f.undergone(o)
	case o.kind == activeForm:
		return o.undergone(f)
	}
	return false
}

// undergone reports whether p is f in the passive.
func (f *form) undergone(p *form) bool {
	if p.kind != passiveForm || f.usual && !usual(f.verb) || !participleOf(f.verb, p.verb) {
		return false
	}
	n := len(p.moved)
	if len(f.rest) != n+len(p.rest) || !slices.Equal(f.rest[:n], p.moved) || !slices.Equal(f.rest[n:], p.rest) {
		return false
	}
	if n == 0 { // "which invoices should be archived"
		return len(p.front) > 1 && p.front[0] == "which" && !slices.Contains(p.rest, "by")
	}
	return !slices.ContainsFunc(p.moved, notNoun) && ofVerb(f.verb, p.rest)
}

// notNoun reports whether a word is none of a plain noun phrase.
func notNoun(s string) bool {
	switch s {
	case "a", "an", "the", "all", "every", "each":
		return false
	}
	return function(s) || preposition(s) || strings.HasSuffix(s, "'s") || strings.HasSuffix(s, "s'") || strings.HasSuffix(s, "ly")
}

// ofVerb reports whether what is behind the noun can belong to the verb alone. "Notify users in the EU" may be about
// where the users are, and "delete orders before 2020" about which orders.
func ofVerb(verb string, rest []string) bool {
	if len(rest) == 0 {
		return true
	}
	if len(rest) == 1 && strings.HasSuffix(rest[0], "ly") && !unitOrDate(rest[0]) {
		return true // "automatically"
	}
	if slices.ContainsFunc(rest[1:], func(s string) bool { return preposition(s) || asking(s) }) {
		return false
	}
	if rest[0] == "every" {
		return true // no thing is every day
	}
	if slices.ContainsFunc(rest, func(s string) bool { return hasDigit(s) || numberWord(s) || unitOrDate(s) }) {
		return false
	}
	switch verb {
	case "store", "save", "put", "place", "host", "write", "name":
		return rest[0] == "in"
	case "copy", "move", "send", "ship", "deploy", "merge", "rename", "push", "upload", "export", "migrate", "convert":
		return rest[0] == "to" || rest[0] == "into"
	case "treat":
		return rest[0] == "as"
	case "use":
		return rest[0] == "for" || rest[0] == "as"
	}
	return false
}

// usual reports whether a verb is one for what is done as a matter of course, so that "do we" asks what "should we" asks.
// What we have, need or know is a state.
func usual(s string) bool {
	switch s {
	case "archive", "backfill", "block", "bundle", "cache", "compress", "convert", "copy", "delete", "deploy", "disable", "document", "drop", "enable", "encrypt",
		"enforce", "export", "filter", "format", "freeze", "hash", "hide", "host", "import", "index", "invalidate", "keep", "limit", "lint", "log", "mask", "merge", "migrate", "mirror",
		"name", "notify", "page", "paginate", "partition", "pin", "place", "prefix", "publish", "purge", "push", "queue", "redact", "reject", "remove", "rename", "render", "replicate",
		"require", "retry", "rotate", "sample", "save", "scan", "send", "shard", "ship", "sign", "skip", "sort", "split", "squash", "store", "support", "sync", "tag", "target",
		"throttle", "translate", "treat", "trim", "truncate", "upload", "use", "validate", "vendor", "verify", "version", "wrap", "write":
		return true
	}
	return false
}

// participleOf reports whether p is the participle of a verb. Of irregular verbs it knows the commonest.
func participleOf(verb, p string) bool {
	switch verb {
	case "keep":
		return p == "kept"
	case "hold":
		return p == "held"
	case "send":
		return p == "sent"
	case "build":
		return p == "built"
	case "write":
		return p == "written"
	case "freeze":
		return p == "frozen"
	case "hide":
		return p == "hidden"
	case "show":
		return p == "shown"
	case "set", "put", "cut", "run", "split":
		return p == verb
	}
	if len(verb) < 3 || !strings.HasPrefix(p, verb[:len(verb)-1]) {
		return false
	}
	n := len(verb)
	vowel := func(i int) bool { return strings.IndexByte("aeiou", verb[i]) >= 0 }
	switch last := verb[n-1]; {
	case last == 'e':
		return p == verb+"d"
	case last == 'y' && !vowel(n-2):
		return p == verb[:n-1]+"ied"
	case !vowel(n-1) && vowel(n-2) && !vowel(n-3) && strings.IndexByte("wxy", last) < 0:
		// Whether the last letter is doubled follows the stress, which is not written. In one syllable it always is: "plan" is
		// planned, "plane" is planed.
		return p == verb+string(last)+"ed" || strings.ContainsAny(verb[:n-2], "aeiou") && p == verb+"ed"
	}
	return p == verb+"ed"
}
