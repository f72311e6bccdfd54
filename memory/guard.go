package memory

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/revuehq/revue"
)

// reading is what the guards know of one wording. All but the tokens and hidden is found out by guard.
type reading struct {
	toks       []token
	stems      []uint64 // see stemsOf
	guarded    bool
	hidden     bool   // it has characters that hide or reorder text
	deictic    string // the word that means something only where and when it was asked, "" for none
	pinnable   bool   // that word is about files ("this file"), so that the files of the scope pin it
	relative   string // a word that may mean another thing another time ("existing", "friday"), "" for none
	vague      bool   // no word says what it is about: "merge the branch"
	thin       bool   // fewer than two content words
	permission bool   // it asks for leave to do something
	says       contents
}

func read(text string) reading {
	toks := tokenize(text)
	return reading{toks: toks, stems: stemsOf(toks), hidden: hidden(text)}
}

// loose reports whether the wording alone does not say what is meant.
func (r *reading) loose() bool {
	r.guard()
	return r.deictic != "" || r.vague
}

// pinned reports whether two questions of this wording are about the same thing: either the wording says
// it, or it speaks of files and both name the same ones in the same repository.
func (r *reading) pinned(a, b revue.Question) bool {
	if !r.loose() {
		return true
	}
	return r.pinnable && !r.vague && a.Repo == b.Repo && sameFiles(a.Files, b.Files)
}

// sameFiles reports whether two lists name the same files, and some.
func sameFiles(a, b []string) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	return slices.Equal(set(a), set(b))
}

func set(l []string) []string {
	s := slices.Clone(l)
	slices.Sort(s)
	return slices.Compact(s)
}

// bare is a token as the guards look at it: in lower case, without symbols at its edges.
func bare(t token) string {
	s := t.s
	if !t.plain {
		s = strings.ToLower(strings.TrimFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }))
	}
	return s
}

// guard looks for what stands against taking the wording at its word. It is left until it is needed.
func (r *reading) guard() {
	if r.guarded {
		return
	}
	r.guarded = true
	r.says = contentsOf(r.toks, nil)
	words := make([]string, len(r.toks))
	for i, t := range r.toks {
		words[i] = bare(t)
	}
	at := func(i int) string {
		if i < 0 || i >= len(words) {
			return ""
		}
		return words[i]
	}
	content, specific, unspacedRunes := 0, 0, 0
	pinnable := true // every deictic word so far is about files
	foreign := r.foreign(words)
	if len(words) > 0 && state(words) {
		r.relative = words[0]
	}
	for i, w := range words {
		prev, next := at(i-1), at(i+1)
		hit, pin := deicticWord(w, prev, next, content)
		if !hit && (pointsAmong(words, i) || numberWord(w) && r.toks[i].the && prev == "of") {
			hit, pin = true, false
		}
		if hit && capitals(r.toks[i].s) && !pointing(w) {
			hit = false // REST, IT, ME
		}
		if hit && r.fixedPhrase(words, i) {
			hit = false
		}
		if !hit && foreign {
			hit = foreignDeictic(w)
		}
		if !hit && strings.IndexByte(w, '/') > 0 { // this/that
			if a, b, _ := strings.Cut(w, "/"); !strings.ContainsAny(b, "/.") {
				x, _ := deicticWord(a, "", "", content)
				y, _ := deicticWord(b, "", "", content)
				hit = x || y
			}
		}
		if (relativeWord(w, prev, next, content) || relativePhrase(words, i) || r.relativeNoun(words, i) || r.relativePerson(words, i) || moment(words, i)) && (!capitals(r.toks[i].s) || pointing(w)) {
			if r.relative == "" {
				r.relative = w
				if w == "at" { // of "at noon" it would say little to the human
					r.relative += " " + next
				}
			}
			continue
		}
		if hit {
			if r.deictic == "" {
				r.deictic = w
			}
			pinnable = pinnable && pin
			continue
		}
		if unspaced(w) {
			unspacedRunes++
			continue
		}
		if w == "" || function(w) {
			continue
		}
		content++
		if !generic(w) && strings.ContainsFunc(w, unicode.IsLetter) {
			specific++
		}
	}
	content += unspacedRunes / 2
	specific += unspacedRunes / 2
	if unspacedRunes > 0 {
		if w := unspacedDeictic(r.toks); w != "" {
			r.deictic, pinnable = w, false
		}
		r.permission = unspacedPermission(r.toks)
	}
	if r.deictic == "" && r.otherScript() {
		r.deictic, pinnable = "its script", false
	}
	r.pinnable = r.deictic != "" && pinnable
	r.vague = specific == 0 && !(r.pinnable && content > 0)
	r.thin = content < 2
	r.permission = r.permission || permission(words) || r.bare(words) || foreign && foreignPermission(words)
}

// deicticWord reports whether a word points at what is around the asker in place or time, and whether it
// points at files.
func deicticWord(w, prev, next string, content int) (hit, pin bool) {
	switch w {
	case "this", "these", "those":
		return true, filesWord(next)
	case "that":
		if filesWord(next) {
			return true, true
		}
		// "the service that is …" needs no pointing finger.
		switch next {
		case "is", "are", "was", "were", "has", "have", "had", "can", "could", "will", "would", "should", "must", "may", "does", "do", "did",
			"we", "they", "i", "it", "you", "not":
			return content == 0 || function(prev), false
		}
		return true, false
	case "it", "its", "they", "them", "their", "one", "ones", "he", "she", "him", "his", "her":
		if w == "it" && (prev == "is" || prev == "be" || prev == "was") {
			switch next {
			case "ok", "okay", "fine", "safe", "acceptable", "alright", "possible", "allowed", "permitted", "worth", "necessary":
				return false, false // it is not a thing here
			}
		}
		// What was named before in the same question may be meant. "one" may also be a number.
		if w == "one" || w == "ones" {
			return prev == "which" || next == "" && content < 2, false
		}
		return content < 2, false
	case "here", "there":
		return w == "here" || prev != "is" && prev != "are" && next != "is" && next != "are" && next != "be", false
	case "above", "below":
		// "above 5 MB" and "below the limit" point at nothing.
		return next == "" || function(next), false
	case "next", "previous", "prior", "last", "following", "preceding", "former", "latter", "aforementioned",
		"current", "currently", "presently", "new", "newest", "latest", "recent", "recently",
		"aforesaid", "selected", "chosen", "requested", "stated", "staged", "unstaged", "uncommitted", "affected",
		"today", "today's", "tomorrow", "tomorrow's", "yesterday", "yesterday's", "tonight", "now", "nowadays", "yet",
		"my", "mine", "myself", "your", "yours", "yourself", "me":
		return true, false
	}
	return false, false
}

// fixedPhrase reports whether the pointing word at i is part of a phrase that points at nothing: "next to", "prior to",
// "last 14 days" as what something does, "new users" as all there will be, and a "that" before "the" or "a", which begins a
// clause.
func (r *reading) fixedPhrase(words []string, i int) bool {
	at := func(i int) string {
		if i < 0 || i >= len(words) {
			return ""
		}
		return words[i]
	}
	prev, next := at(i-1), at(i+1)
	if r.toks[i].the || next == "" {
		return false
	}
	switch words[i] {
	case "next":
		return next == "to" && at(i+2) != "" && at(i+2) != "last" && at(i+2) != "none"
	case "prior":
		return next == "to" && at(i+2) != ""
	case "last":
		// "of last 14 days" is when it is asked.
		return i >= 2 && asking(words[0]) && prev != "" && !function(prev) && (numberWord(next) || hasDigit(next)) && unitOrDate(at(i+2))
	case "new":
		return (prev == "" || prev == "for" || prev == "of" || prev == "by" || prev == "to" || asking(prev)) && newPeople(next)
	case "that":
		return prev != "" && !function(prev) && !unspaced(prev) && (r.toks[i+1].the || r.toks[i+1].one)
	}
	return false
}

// newPeople reports whether "new" before this word means all that will come.
func newPeople(s string) bool {
	switch s {
	case "users", "members", "customers", "employees", "hires", "signups", "tenants", "subscribers", "contributors":
		return true
	}
	return false
}

// pointsAmong reports whether the word at i points at one of several that the wording does not name: "plan A or plan B",
// "the second option", "of the two", "said bucket", "this-week".
func pointsAmong(words []string, i int) bool {
	at := func(i int) string {
		if i < 0 || i >= len(words) {
			return ""
		}
		return words[i]
	}
	w, prev, next := words[i], at(i-1), at(i+1)
	switch {
	case choice(w) && (lettered(next) || numberWord(next)):
		return true
	case lettered(w) && w != "i" && next == "or" && lettered(at(i+2)):
		return true
	case ordinal(w):
		return choice(next) || choice(at(i+2)) || next == "one" || next == "or" || prev == "or"
	case w == "said":
		return next != "" && (i == 0 || asking(prev) || preposition(prev) || prev == "")
	case w == "such":
		return next != "as"
	}
	head, tail, ok := strings.Cut(w, "-")
	if !ok {
		return false
	}
	switch head {
	case "this", "that", "these", "those":
		return true
	case "last", "next":
		return unitOrDate(tail) || tail == "sprint" || tail == "release"
	}
	return false
}

// choice reports whether a noun names one of several ways: "option a".
func choice(s string) bool {
	switch strings.TrimSuffix(s, "s") {
	case "option", "plan", "choice", "variant", "alternative", "proposal", "approache", "approach", "design", "candidate", "solution", "scenario", "suggestion", "draft":
		return true
	}
	return false
}

// lettered reports whether a word is one letter or digit.
func lettered(s string) bool {
	return len(s) == 1 && (s[0] >= 'a' && s[0] <= 'z' || s[0] >= '0' && s[0] <= '9')
}

func ordinal(s string) bool {
	switch s {
	case "first", "second", "third", "fourth", "fifth", "1st", "2nd", "3rd", "4th", "5th":
		return true
	}
	return false
}

// relativeWord reports whether a word may mean another thing another time or beside other words. Such a question
// is grouped like any other, since those who ask at once mean the same, but its answer is not applied later.
func relativeWord(w, prev, next string, content int) bool {
	switch w {
	case "same", "another", "other", "others":
		return content < 2
	case "newer", "older", "earlier", "later":
		return next != "than" && prev != "or" && prev != "and"
	case "old":
		return !unitOrDate(prev)
	case "oldest", "existing", "ongoing", "upcoming", "remaining", "proposed", "suggested", "attached", "mentioned", "outlined", "drafted",
		"soon", "still", "anymore", "again", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
		"pending", "unmerged", "unreleased", "immediately", "instantly", "asap", "eod", "eow", "cob", "ago", "afterwards", "afterward", "thereafter", "meanwhile", "already", "anyway":
		return true
	case "too":
		return next == "" || punctuation(next)
	case "instead":
		return next != "of"
	case "1st", "2nd", "3rd", "4th", "5th":
		return true
	}
	head, _, ok := strings.Cut(w, "-")
	return ok && (head == "current" || head == "latest" || head == "recent")
}

// relativeNoun reports whether the word at i is one of many and "the" says that the asker has one in mind: "the open
// ticket", "the draft". A number behind it names it.
func (r *reading) relativeNoun(words []string, i int) bool {
	switch words[i] {
	case "draft", "rollback", "pr", "prs", "ticket", "tickets", "incident", "outage", "commit", "commits", "patch", "diff", "changeset", "changes", "candidate",
		"build", "failing", "failed", "broken", "morning", "afternoon", "evening", "other", "others", "refund", "alert", "reviewer", "attachment":
	default:
		return false
	}
	if i+1 < len(words) && hasDigit(words[i+1]) {
		return false
	}
	if words[i] == "build" && i+1 < len(words) && ofBuilds(words[i+1]) {
		return false
	}
	for j := i; j >= max(0, i-2); j-- {
		if r.toks[j].the {
			return true
		}
		if j < i && (function(words[j]) || words[j] == "") {
			return false
		}
	}
	return false
}

// ofBuilds reports whether what is named after a build is that of all builds: "the build image".
func ofBuilds(s string) bool {
	switch s {
	case "image", "cache", "server", "pipeline", "tool", "system":
		return true
	}
	return false
}

// relativePerson reports whether the word at i is a person of whom there are many, and "the" says that the asker has one
// in mind: "the customer", "the user's request". "The user passwords" are those of all users.
func (r *reading) relativePerson(words []string, i int) bool {
	if !r.toks[i].the {
		return false
	}
	w, one := strings.CutSuffix(words[i], "'s")
	switch w {
	case "user", "customer", "tenant", "applicant", "patient", "guest", "buyer", "seller", "caller", "requester", "reporter", "vendor", "supplier",
		"employee", "member", "subscriber", "visitor", "contractor", "colleague", "author", "contributor", "stakeholder", "manager":
		return one || i+1 == len(words) || !ofAll(words[i+1])
	}
	return false
}

// ofAll reports whether what is named after a person is that of all of them: "the user table".
func ofAll(s string) bool {
	switch s {
	case "service", "services", "ui", "api", "apis", "table", "tables", "database", "schema", "schemas", "model", "models", "module", "page", "pages", "portal",
		"interface", "interfaces", "documentation", "docs", "guide", "manual", "agreement", "password", "passwords", "data", "record", "records", "account", "accounts",
		"id", "ids", "name", "names", "email", "emails", "role", "roles", "group", "groups", "profile", "profiles", "session", "sessions", "settings", "preferences",
		"support", "facing", "experience", "journey", "list", "index", "cache", "store", "type", "object", "objects", "class", "entity", "endpoint", "endpoints",
		"resource", "dashboard", "app", "import", "export", "form", "forms", "input", "inputs", "uploads", "management", "onboarding", "feedback", "story", "stories":
		return true
	}
	return false
}

// moment reports whether the word at i stands for a time or a state that is another one later: "at noon", "Q3 targets",
// "the default branch", "the version in production". What happens every day at noon is always the same.
func moment(words []string, i int) bool {
	next := ""
	if i+1 < len(words) {
		next = words[i+1]
	}
	switch words[i] {
	case "at":
		return (next == "noon" || next == "midnight") && !slices.ContainsFunc(words, recurring)
	case "q1", "q2", "q3", "q4":
		return !slices.ContainsFunc(words, func(s string) bool { return len(s) == 4 && strings.HasPrefix(s, "20") && hasDigit(s[2:]) })
	case "default":
		return next == "branch"
	case "version", "versions":
		return next == "in" || next == "on"
	}
	return false
}

// recurring reports whether a word says that something happens again and again.
func recurring(s string) bool {
	switch s {
	case "every", "each", "always", "daily", "nightly", "weekly", "monthly", "hourly", "weekdays", "cron", "recurring":
		return true
	}
	return false
}

// relativePhrase reports whether the phrase that begins at i is relative as [relativeWord] has it.
func relativePhrase(words []string, i int) bool {
	at := func(i int) string {
		if i < 0 || i >= len(words) {
			return ""
		}
		return words[i]
	}
	next, third := at(i+1), at(i+2)
	switch words[i] {
	case "right", "straight":
		return next == "away" || next == "now"
	case "at":
		return next == "once"
	case "once":
		return next == "more"
	case "one":
		return next == "more" && (third == "time" || third == "")
	case "as":
		return next == "well" && third != "as"
	case "open":
		return workItem(next)
	case "end":
		return next == "of" && (unitOrDate(third) || third == "sprint")
	case "within":
		return unitOrDate(next) || next == "the" && unitOrDate(third)
	case "then":
		return i > 0 && !slices.Contains(words[:i], "if") && !slices.Contains(words[:i], "when")
	case "both":
		return !slices.Contains(words[i:], "and")
	}
	return false
}

// state reports whether a question is about how things stand, which changes: "has the vendor signed?", "are
// invoices ready?".
func state(words []string) bool {
	switch words[0] {
	case "has", "have", "did", "was", "were":
		return true
	case "is", "are":
		return slices.ContainsFunc(words, func(s string) bool {
			switch s {
			case "ready", "done", "finished", "complete", "completed", "deployed", "merged", "live", "running", "up", "down":
				return true
			}
			return false
		})
	}
	return false
}

// workItem reports whether a noun names a piece of work that is open for a time.
func workItem(s string) bool {
	switch strings.TrimSuffix(s, "s") {
	case "pr", "mr", "pull", "merge", "ticket", "issue", "incident", "bug", "task", "question", "review", "change", "branch", "branche", "order", "request":
		return true
	}
	return false
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

// pointing reports whether a word points at something even when it is shouted.
func pointing(w string) bool {
	switch w {
	case "pr", "prs", "eod", "eow", "cob", "asap",
		"this", "these", "those", "that", "here", "now", "today", "current", "new", "latest", "next", "previous", "yet", "my", "your":
		return true
	}
	return false
}

func filesWord(s string) bool {
	switch s {
	case "file", "files", "path", "paths":
		return true
	}
	return false
}

// permission reports whether a question asks for leave or consent: "may I", "ok to", "proceed", "any objection". It
// errs on the side of yes.
func permission(words []string) bool {
	open := false  // after a question word: "how long shall we" asks for no leave
	clause := true // a clause begins
	for i, w := range words {
		prev, next, third := "", "", ""
		if i > 0 {
			prev = words[i-1]
		}
		if i+1 < len(words) {
			next = words[i+1]
		}
		if i+2 < len(words) {
			third = words[i+2]
		}
		if next == "not" {
			next, third = third, ""
			if i+3 < len(words) {
				third = words[i+3]
			}
		}
		begins := clause
		clause = w == "" || w == "and" || w == "or" || w == "so" || w == "please" || w == "kindly" || w == "hello" || w == "hi" || w == "hey"
		self := next == "i" || next == "we" || next == "you" || next == "agent" || next == "agents"
		if next == "i" && !open && asking(w) { // "should I", "do I", "am I"
			return true
		}
		if consent(w) {
			return true
		}
		switch w {
		case "which", "what", "who", "whom", "whose", "when", "where", "why", "how":
			open = true
		case "may":
			if !open {
				return true
			}
		case "can", "could", "shall", "might", "would":
			if !open && (self || begins) {
				return true
			}
		case "am", "are":
			if self && leave(third) {
				return true
			}
		case "fine", "alright", "acceptable", "safe", "comfortable", "happy":
			switch next {
			case "to", "if", "with", "for", "that", "":
				return true
			}
			if i == 0 {
				return true
			}
		case "green", "go":
			if next == "light" || w == "go" && (next == "ahead" || prev == "a" || prev == "to" || next == "for") {
				return true
			}
		case "thumbs":
			if next == "up" {
				return true
			}
		case "sign", "signed", "signing":
			if next == "off" {
				return true
			}
		case "yes":
			if next == "or" && third == "no" {
				return true
			}
		case "ahead":
			if prev == "go" || prev == "going" || prev == "move" || prev == "moving" {
				return true
			}
		case "approve", "authorise", "authorize", "confirm", "agree", "accept", "consent", "object", "endorse", "permit":
			if i == 0 || prev == "you" || prev == "i" || prev == "we" || prev == "anyone" || prev == "please" || prev == "" {
				return true
			}
		case "approved", "authorised", "authorized", "confirmed", "agreed", "cleared":
			switch words[0] {
			case "has", "have", "had", "is", "are", "am", "was", "were":
				return true
			}
		case "permission", "approval", "clearance", "leave":
			if i == 0 || next == "to" || next == "for" || prev == "your" || prev == "my" || prev == "have" {
				return true
			}
		case "concern", "concerns", "problem", "problems", "issue", "issues", "worries", "thoughts", "harm", "reason", "reasons", "blocker", "blockers", "risk", "risks":
			if prev == "any" || prev == "a" || prev == "the" || prev == "there" || prev == "no" || i == 0 {
				switch next {
				case "with", "on", "about", "in", "if", "not", "to", "against", "":
					return true
				}
			}
		case "mind":
			if prev == "you" || next == "if" {
				return true
			}
		case "allowed", "permitted":
			if next == "to" || next == "" {
				return true
			}
		case "continue", "resume", "carry":
			if i == 0 || prev == "i" || prev == "we" || prev == "you" || prev == "to" {
				return true
			}
		case "let":
			if next == "me" || next == "us" {
				return true
			}
		case "want", "like", "prefer", "need":
			if next == "me" || next == "us" || prev == "you" && !open && (w == "want" || w == "like") {
				return true
			}
		}
	}
	return false
}

// consent reports whether a word is about consent wherever it stands.
func consent(s string) bool {
	switch s {
	case "ok", "okay", "proceed", "proceeding", "go-ahead", "sign-off", "signoff", "greenlight", "green-light", "lgtm", "thumbs-up", "objection", "objections", "blessing", "no-go", "👍":
		return true
	}
	return false
}

// bare reports whether the wording has not the form of a question or begins with the name of an act:
// "delete the payments bucket?" asks for leave.
func (r *reading) bare(words []string) bool {
	asks, first := false, ""
	for i, w := range words {
		if first == "" && w != "" && !courtesy(w) && w != "kindly" && w != "hello" && w != "hi" && w != "hey" && w != "question" {
			if otherWord(w) || foreignAsking(w) {
				return false // other languages have lists of their own
			}
			first = w
		}
		if i > 0 && words[i-1] == "" && !asking(w) && (generic(w) || imperative(w)) {
			return true // "The invoices are paid. Delete the bucket?"
		}
		asks = asks || asking(w)
	}
	choice := slices.Contains(words, "or") // "tabs or spaces?"
	switch {
	case first == "":
		return false
	case !asks && len(words) > 2 && !choice, first == "i", first == "we", first == "i'll", first == "we'll":
		return true
	case asking(first), function(first):
		return false
	}
	return generic(first) || imperative(first) || len(words) > 2 && !choice
}

// otherWord reports whether a word begins in another script than Latin.
func otherWord(w string) bool {
	c, _ := utf8.DecodeRuneInString(w)
	return c >= 0x250 && unicode.IsLetter(c)
}

func leave(s string) bool {
	switch s {
	case "allowed", "permitted", "free", "authorised", "authorized", "clear", "cleared", "good", "ok", "okay", "supposed":
		return true
	}
	return false
}

// foreign reports whether the wording is in a Latin or Cyrillic script but has no word by which English
// questions are known.
func (r *reading) foreign(words []string) bool {
	for i, w := range words {
		if i == 0 && generic(w) {
			return false
		}
		switch w {
		case "the", "and", "of", "should", "which", "how", "is", "are", "do", "does", "what", "when", "where", "who", "why", "can", "may", "we", "with", "for", "to":
			return false
		}
	}
	return true
}

// foreignDeictic has the pointing words of the more spoken European languages. It is consulted only where no word
// is English, so that "die" and "now" do not get mixed up.
func foreignDeictic(w string) bool {
	switch w {
	// German, Dutch
	case "dies", "diese", "dieser", "dieses", "diesen", "diesem", "das", "jene", "jener", "jenes", "hier", "dort", "jetzt", "nun", "heute", "morgen", "gestern", "aktuell", "aktuelle", "aktuellen", "aktueller",
		"neu", "neue", "neuen", "neuer", "neues", "nächste", "nächsten", "nächster", "letzte", "letzten", "weiter", "fortfahren", "weitermachen", "noch", "schon", "es", "deze", "dit", "dat", "nu", "vandaag", "huidige", "nieuwe", "volgende",
		// French
		"ce", "cet", "cette", "ces", "ceci", "cela", "ça", "ici", "là", "maintenant", "aujourd'hui", "demain", "actuel", "actuelle", "actuels", "nouveau", "nouvelle", "nouvel", "nouveaux", "prochain", "prochaine", "dernier", "dernière", "continuer", "encore", "déjà",
		// Spanish, Portuguese, Italian
		"este", "esta", "esto", "estos", "estas", "ese", "esa", "eso", "esos", "esas", "aquí", "aqui", "ahora", "hoy", "mañana", "ayer", "actual", "nuevo", "nueva", "nuevos", "próximo", "próxima", "último", "última", "seguir", "todavía", "ya",
		"isto", "isso", "esse", "essa", "agora", "hoje", "atual", "novo", "nova", "amanhã", "questo", "questa", "questi", "queste", "quello", "quella", "qui", "ora", "adesso", "oggi", "attuale", "nuovo", "nuova", "prossimo", "prossima", "ultimo", "ultima", "procedere", "proceder", "continuar", "continuare",
		// Russian
		"это", "этот", "эта", "эти", "этого", "этом", "этой", "эту", "здесь", "тут", "сейчас", "теперь", "сегодня", "завтра", "вчера", "текущий", "текущую", "текущая", "новый", "новую", "новая", "новое", "следующий", "последний", "последнюю", "продолжать", "продолжить", "ещё", "еще", "уже":
		return true
	}
	return false
}

func foreignPermission(words []string) bool {
	for _, w := range words {
		switch w {
		case "darf", "dürfen", "kann", "können", "soll", "erlaubt", "okay", "mag", "kan", "zal", "puis-je", "peux-je", "peut-on", "peux", "pouvons-nous", "puedo", "podemos", "puede", "posso", "possiamo", "pode", "può",
			"можно", "могу", "можем", "разрешено", "fortfahren", "weitermachen":
			return true
		}
	}
	return false
}

func unspacedText(toks []token) string {
	var b strings.Builder
	for _, t := range toks {
		b.WriteString(t.s)
	}
	return b.String()
}

// unspacedDeictic finds the pointing words of Chinese, Japanese and Thai.
func unspacedDeictic(toks []token) string {
	s := unspacedText(toks)
	for _, w := range [...]string{
		"这", "這", "此", "那", "现在", "現在", "当前", "當前", "目前", "今天", "今日", "明天", "昨天", "明日", "昨日", "最新", "最近", "新的", "新", "旧", "舊", "下一", "下个", "下個", "上一", "上述", "以下", "以上", "继续", "繼續", "它", "还", "還", "本",
		"この", "これ", "その", "それ", "あの", "あれ", "ここ", "そこ", "今", "次", "前の", "続", "進め", "まだ", "もう", "現",
		"นี้", "นั้น", "ที่นี่", "ตอนนี้", "วันนี้", "พรุ่งนี้", "ใหม่", "ล่าสุด", "ถัดไป", "ต่อ", "มัน",
	} {
		if strings.Contains(s, w) {
			return w
		}
	}
	return ""
}

func unspacedPermission(toks []token) bool {
	s := unspacedText(toks)
	for _, w := range [...]string{"可以", "能否", "可否", "能不能", "允许", "允許", "同意", "批准", "てもいい", "てもよい", "ていい", "てよい", "でもいい", "できますか", "許可", "承認", "ได้ไหม", "ได้หรือไม่", "อนุญาต"} {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

// otherScript reports whether most letters are of a script whose pointing words are not known here.
func (r *reading) otherScript() bool {
	known, other := 0, 0
	for _, t := range r.toks {
		for _, c := range t.s {
			switch {
			case c < 0x250:
				if unicode.IsLetter(c) {
					known++
				}
			case unicode.In(c, unicode.Latin, unicode.Cyrillic, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai):
				known++
			case unicode.IsLetter(c):
				other++
			}
		}
	}
	return other > known
}
