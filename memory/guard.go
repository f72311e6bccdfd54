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
	once       string // why it is not worded as a standing policy, "" where it is
	atHand     string // what it calls "the" although there may be others, "" for nothing
	form       form
}

func read(text string) reading {
	toks := tokenize(text)
	return reading{toks: toks, stems: stemsOf(toks), hidden: hidden(text)}
}

// loose reports whether the wording alone does not say what is meant.
func (r *reading) loose() bool {
	r.guard()
	return r.deictic != "" || r.relative != "" || r.vague || r.thin
}

// pinned reports whether two questions of this wording are about the same thing: either the wording says
// it, or it speaks of files and both name the same ones in the same repository. An unknown repository pins nothing.
func (r *reading) pinned(a, b revue.Question) bool {
	if !r.loose() {
		return true
	}
	return r.pinnable && r.relative == "" && !r.vague && !r.thin && a.Repo != "" && a.Repo == b.Repo && sameFiles(a.Files, b.Files)
}

// unpinned says why two questions of this wording may be about different things.
func (r *reading) unpinned() string {
	switch {
	case r.deictic != "":
		return "both say '" + quote(r.deictic) + "': they may mean different things"
	case r.relative != "":
		return "'" + quote(r.relative) + "' may mean another thing in each"
	case r.vague:
		return "the wording does not say what it is about: they may mean different things"
	}
	return "the wording has too few words to say what it is about"
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

// guard looks for what stands against taking the wording at its word. It is left until it is needed.
func (r *reading) guard() {
	if r.guarded {
		return
	}
	r.guarded = true
	r.form = formOf(r.toks)
	v := look(r.toks)
	words := make([]string, len(v))
	for i, x := range v {
		words[i] = x.w
	}
	content, specific, unspacedRunes := 0, 0, 0
	pinnable := true // every deictic word so far is about files
	lang := languageOf(words)
	if len(words) > 0 && state(words) {
		r.relative = words[0]
	}
	for i, w := range words {
		hit, pin := deicticAt(v, words, i, content)
		if !hit && lang != inEnglish && foreignDeictic(w, lang) {
			hit, pin = true, false
		}
		if relativeAt(v, words, i, content) && !(v[i].shout && acronym(w)) {
			if r.relative == "" {
				r.relative = w
				if w == "at" && i+1 < len(words) { // of "at noon" it would say little to the human
					r.relative += " " + words[i+1]
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
		if !v[i].part {
			content++
		}
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
	switch {
	case r.deictic != "":
	case r.otherScript():
		r.deictic, pinnable = "its script", false
	case lang == inOther && unspacedRunes == 0:
		r.deictic, pinnable = "its language", false
	}
	r.pinnable = r.deictic != "" && pinnable
	r.vague = specific == 0 && !(r.pinnable && content > 0)
	r.thin = content < 2
	r.permission = r.permission || permission(words) || r.bare(words) || lang != inEnglish && foreignPermission(words)
	r.once = once(v)
	r.atHand = atHand(v)
}

// deicticAt reports whether the word at i points at what is around the asker, and whether it points at files.
func deicticAt(v []seen, words []string, i, content int) (hit, pin bool) {
	w, prev, next := words[i], wordAt(words, i-1), wordAt(words, i+1)
	if v[i].shout && acronym(w) {
		return false, false
	}
	if v[i].joined {
		// Of what a dash joins, only words that can be nothing else point: "brand-new", and not "last-write-wins".
		return joinedPointing(w) || v[i].part && (lettered(w) || hasDigit(w)) && choice(prev) || choice(w) && lettered(next) || (w == "last" || w == "next") && (unitOrDate(next) || next == "sprint" || next == "release"), false
	}
	hit, pin = deicticWord(w, prev, next, content)
	if !hit && (pointsAmong(words, i) || numberWord(w) && v[i].the && prev == "of") {
		hit, pin = true, false
	}
	if hit && fixedPhrase(v, words, i) {
		hit = false
	}
	return hit, pin
}

func wordAt(words []string, i int) string {
	if i < 0 || i >= len(words) {
		return ""
	}
	return words[i]
}

// joinedPointing reports whether a word points at something even where a dash joins it to another.
func joinedPointing(w string) bool {
	switch w {
	case "this", "that", "these", "those", "now", "today", "tomorrow", "tonight", "yesterday", "new", "newer", "newest", "newly", "current", "currently", "latest", "recent", "recently", "previous",
		"brand", "freshly", "yet", "said":
		return true
	}
	return false
}

// relativeAt reports whether the word at i may mean another thing another time or beside other words. Such a question
// is joined to an open one only in plain sight, and its answer is not applied later.
func relativeAt(v []seen, words []string, i, content int) bool {
	w, prev, next := words[i], wordAt(words, i-1), wordAt(words, i+1)
	if v[i].joined && !v[i].part && w == "just" && strings.HasSuffix(next, "ed") {
		return true
	}
	return relativeWord(w, prev, next, content) && !(v[i].joined && (w == "old" || w == "still" || w == "same" || w == "other" || w == "sat" || w == "sun" || w == "extra" || w == "long")) ||
		relativePhrase(words, i) || relativeNoun(v, words, i) || relativePerson(v, words, i) || moment(words, i) || timed(v, words, i) || participle(v, words, i)
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
func fixedPhrase(v []seen, words []string, i int) bool {
	at := func(i int) string {
		if i < 0 || i >= len(words) {
			return ""
		}
		return words[i]
	}
	prev, next := at(i-1), at(i+1)
	if v[i].the || next == "" {
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
		return prev != "" && !function(prev) && !unspaced(prev) && (v[i+1].the || v[i+1].one)
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
	case choice(w) && (lettered(next) && (next != "a" || at(i+2) == "" || function(at(i+2))) || numberWord(next)):
		return true
	case lettered(w) && w != "i" && (next == "or" || next == "and" || next == "vs" || next == "") && lettered(at(i+2)):
		return true // "A, B or C"
	case lettered(w) && w >= "a" && w != "i" && w != "c" && w != "r" && w != "a":
		return true
	case lettered(w) && choice(prev) && w != "i":
		return true
	case w == "either":
		return !slices.Contains(words[i:], "or")
	case ordinal(w):
		return choice(next) || choice(at(i+2)) || next == "one" || next == "or" || prev == "or"
	case w == "said":
		return next != "" && (i == 0 || asking(prev) || preposition(prev) || prev == "")
	case w == "such":
		return next != "as"
	}
	return false
}

// choice reports whether a noun names one of several ways: "option a".
func choice(s string) bool {
	switch strings.TrimSuffix(s, "s") {
	case "path", "route", "strategy", "strategie", "method", "way", "track", "possibility", "preset", "layout", "mockup", "sketch", "phase", "step", "stage", "round", "batch", "wave",
		"option", "plan", "choice", "variant", "alternative", "proposal", "approache", "approach", "design", "candidate", "solution", "scenario", "suggestion", "draft":
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

// relativeWord reports whether a word may mean another thing another time or beside other words.
func relativeWord(w, prev, next string, content int) bool {
	switch w {
	case "same", "other", "others":
		return content < 2
	case "another", "further", "additional", "extra":
		return w == "further" || w == "additional" || content < 2 || hasDigit(next) || numberWord(next)
	case "newer", "older", "earlier", "later":
		return next != "than" && prev != "or" && prev != "and"
	case "old":
		return !unitOrDate(prev)
	case "oldest", "existing", "ongoing", "upcoming", "incoming", "outgoing", "forthcoming", "remaining", "leftover", "proposed", "suggested", "recommended", "attached", "mentioned", "outlined", "drafted", "described",
		"discussed", "abovementioned", "referenced", "aforementioned", "foregoing", "unresolved", "overdue", "leaked", "crashed", "stuck", "newly", "freshly", "lately", "nowadays", "just-merged",
		"soon", "still", "anymore", "again", "pending", "outstanding", "unmerged", "unreleased", "immediately", "instantly", "momentarily", "shortly", "presently", "overnight", "weekend", "asap", "eod", "eom", "eoq", "eoy", "eow", "cob",
		"eob", "tmrw", "tmr", "tmw", "tonite", "midweek", "ago", "afterwards", "afterward", "thereafter", "beforehand", "meanwhile", "already", "anyway", "christmas", "xmas", "easter", "thanksgiving", "sprint", "fortnight", "hitherto", "henceforth":
		return true
	case "too":
		return next == "" || punctuation(next)
	case "instead":
		return next != "of"
	case "january", "february", "april", "june", "july", "august", "september", "october", "november", "december", "jan", "feb", "apr", "jun", "jul", "aug", "sept", "oct", "nov":
		return !year(next)
	case "march", "may", "mar", "sep", "dec":
		return (prev == "in" || prev == "by" || prev == "of" || prev == "until" || prev == "since" || prev == "this") && !year(next)
	}
	if weekday(w) {
		return w != "sun" && w != "sat" && w != "mon" && w != "wed" || preposition(prev) || prev == "" || prev == "or" || prev == "and"
	}
	return nth(w)
}

// year reports whether a word is a year.
func year(s string) bool {
	return len(s) == 4 && (strings.HasPrefix(s, "20") || strings.HasPrefix(s, "19")) && hasDigit(s[2:3]) && hasDigit(s[3:])
}

// nth reports whether a word is a number in an order: "15th".
func nth(w string) bool {
	if len(w) < 3 || !hasDigit(w[:1]) {
		return false
	}
	switch w[len(w)-2:] {
	case "st", "nd", "rd", "th":
		return !strings.ContainsFunc(w[:len(w)-2], unicode.IsLetter)
	}
	return false
}

// timed reports whether a phrase of time begins at i that counts from now, or names a time of one day: "in 5 minutes", "in an
// hour", "at 3pm", "at the moment", "by another 10%", "one more".
func timed(v []seen, words []string, i int) bool {
	next, third := wordAt(words, i+1), wordAt(words, i+2)
	switch words[i] {
	case "in":
		switch wordAt(words, i-1) {
		case "once", "twice", "times":
			return false // a rate
		}
		if (hasDigit(next) || numberWord(next) || next == "few" || next == "couple") && timeUnit(third) {
			return !slices.ContainsFunc(words, recurring)
		}
		if next == "few" || next == "couple" || next == "a" && (third == "few" || third == "couple") {
			return slices.ContainsFunc(words[i+1:min(len(words), i+6)], timeUnit)
		}
		return i+1 < len(v) && v[i+1].one && timeUnit(next) || hasDigit(next) && timeUnit(strings.TrimLeft(next, "0123456789"))
	case "at":
		switch next {
		case "moment", "present", "point", "time", "once", "last", "lunch", "lunchtime", "dawn", "dusk", "night":
			return !(next == "time" && !v[i+1].the) && !slices.ContainsFunc(words, recurring)
		}
		return clock(next) && !slices.ContainsFunc(words, recurring) && !slices.ContainsFunc(v, func(x seen) bool { return weekday(strings.TrimSuffix(x.w, "s")) && plural(x.w) })
	case "more":
		return i > 0 && (numberWord(words[i-1]) || hasDigit(words[i-1]) || v[i].one) && next != "than"
	case "for":
		return next == "now" || next == "moment"
	case "as":
		return next == "before" || next == "last" || next == "discussed" || next == "agreed" || next == "planned" || next == "usual" || next == "described" || next == "proposed" || next == "above"
	case "week", "month", "quarter", "year", "day", "hour", "minute":
		return wordAt(words, i-1) == "this" || wordAt(words, i-1) == "coming" || wordAt(words, i-1) == "past"
	}
	return false
}

func timeUnit(s string) bool {
	switch strings.TrimSuffix(s, "s") {
	case "second", "sec", "minute", "min", "hour", "hr", "h", "day", "week", "month", "quarter", "year", "bit", "while", "moment", "sprint":
		return true
	}
	return false
}

// clock reports whether a word is a time of the day.
func clock(s string) bool {
	if !strings.HasPrefix(strings.TrimLeft(s, "0123456789"), ":") {
		s = strings.TrimSuffix(strings.TrimSuffix(s, "am"), "pm")
		n := len(s)
		return n > 0 && n <= 2 && strings.Trim(s, "0123456789") == ""
	}
	return hasDigit(s[:1])
}

// participle reports whether the word at i says of "the" thing that it was pointed out elsewhere: "the given user". Behind "listed" and the
// like something else would have to be read.
func participle(v []seen, words []string, i int) bool {
	switch words[i] {
	case "given", "provided", "specified", "listed", "named", "indicated", "shown", "noted", "cited", "linked", "quoted", "agreed", "approved", "planned", "scheduled", "rejected", "reported", "updated", "changed", "modified",
		"added", "created", "fixed", "merged", "tagged", "flagged", "assigned", "detected", "found", "resulting", "corresponding", "respective", "relevant", "appropriate", "correct", "right", "intended", "desired", "present", "original",
		"failing", "failed", "broken", "affected", "offending", "faulty", "corrupted", "compromised", "urgent", "blocked", "blocking":
	default:
		return false
	}
	next := wordAt(words, i+1)
	if next == "" || function(next) && !possessive(next) || preposition(next) {
		// "the database listed in the README"
		switch words[i] {
		case "listed", "specified", "indicated", "cited", "quoted":
			return next == "in" || next == "by" || next == ""
		}
		return false
	}
	return v[i].the || wordAt(words, i-1) == "of" || i > 0 && possessive(words[i-1])
}

// relativeNoun reports whether the word at i is one of many and the asker has one in mind: "the open ticket", "our PR", "merge
// pull request". A number behind it names it.
func relativeNoun(v []seen, words []string, i int) bool {
	w, next, prev := words[i], wordAt(words, i+1), wordAt(words, i-1)
	n := oneOf(w)
	core := false // of these there are many in any case
	switch n {
	case "pr", "mr", "ticket", "incident", "outage", "hotfix", "changeset", "bugfix", "postmortem":
		core = true
	case "request":
		if core = prev == "pull" || prev == "merge"; !core {
			return false
		}
	case "branch":
		if prev != "feature" && prev != "release" && prev != "topic" && prev != "hotfix" {
			return false
		}
	case "commit", "diff", "rollback":
		core = n == w && (preposition(next) || next == "")
	case "draft", "patch", "change", "candidate", "build", "fix", "morning", "afternoon", "evening", "other", "refund", "alert", "reviewer", "attachment", "migration", "deployment", "deploy",
		"rollout", "release", "launch", "revert", "recommendation", "suggestion", "proposal", "announcement", "meeting", "discussion", "crash", "leak", "breach", "bug", "regression", "failure", "exception", "discount", "upgrade",
		"finding", "vulnerability", "blocker", "conflict", "thread", "conversation", "rewrite", "refactoring", "prototype", "milestone", "move", "cutover", "switchover", "handover":
	default:
		return false
	}
	if w != n && !core && !someAtHand(n) {
		return false
	}
	if next != "" && (hasDigit(next) || i+1 < len(v) && v[i+1].name && !v[i+1].shout) {
		return false
	}
	if next != "" && !v[i].whose && (ofBuilds(next) || ofWork(next)) {
		return false
	}
	for j := i; j >= max(0, i-3); j-- {
		switch {
		case j < i && alsoVerb(n) && (standing(oneOf(words[j])) || words[j] == "rotation") && words[j] != "billing" && words[j] != "search" && words[j] != "checkout":
			return false // "should the app crash"
		case (v[j].the || j < i && possessive(words[j])) && j < i && project(n) && !possessive(words[i-1]):
			return false // "the sessions migration": it has a name
		case v[j].the || j < i && possessive(words[j]):
			return true
		case v[j].one:
			return false
		case j < i && (function(words[j]) || words[j] == ""):
			j = 0
		}
	}
	if !core || w != n {
		return false
	}
	switch prev {
	case "each", "every", "any", "no", "per", "which", "what", "we", "i", "you", "they", "users", "to", "one", "of", "all":
		return false
	}
	if w == "request" {
		switch wordAt(words, i-2) {
		case "each", "every", "any", "no", "per", "which", "what", "one", "of":
			return false
		}
	}
	// "PR titles" are those of all.
	return next == "" || v[i].whose || function(next) || preposition(next)
}

// someAtHand reports whether "the" before the plural of a noun says that the asker has some in mind: "the alerts" are all there are, and
// "the commits" are not.
func someAtHand(n string) bool {
	switch n {
	case "change", "commit", "fix", "draft", "finding", "conflict", "blocker", "recommendation", "suggestion", "proposal", "attachment", "other", "patch", "diff", "migration", "failure", "refund", "bug":
		return true
	}
	return false
}

// project reports whether a piece of work is one that has a name, often.
func project(n string) bool {
	switch n {
	case "migration", "rollout", "cutover", "launch", "upgrade":
		return true
	}
	return false
}

// alsoVerb reports whether a noun for a piece of work is a verb too.
func alsoVerb(n string) bool {
	switch n {
	case "change", "crash", "move", "fix", "release", "launch", "patch", "draft", "alert", "leak", "upgrade", "deploy", "build", "revert", "rewrite", "commit", "refund", "discount":
		return true
	}
	return false
}

// ofWork reports whether what is named after a piece of work is that of all of them: "the release process".
func ofWork(s string) bool {
	switch oneOf(s) {
	case "process", "pipeline", "template", "policy", "title", "message", "description", "checklist", "guide", "tracker", "channel", "manager", "calendar", "schedule", "train", "cadence", "branch", "script", "tool", "job", "system",
		"service", "table", "window", "flow", "api", "page", "log", "board", "queue", "report", "code", "type", "severity", "author", "handler", "class", "version", "frequency", "target", "strategy", "review", "reviewer", "check", "comment", "history", "freeze":
		return true
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
func relativePerson(v []seen, words []string, i int) bool {
	if !v[i].the && !(i > 0 && possessive(words[i-1])) {
		return false
	}
	one := v[i].whose
	if words[i] == "owner" && wordAt(words, i+1) == "of" {
		return false
	}
	switch words[i] {
	case "merchant", "payer", "payee", "student", "person", "developer", "engineer", "intern", "teacher", "doctor", "driver", "courier", "shopper", "borrower", "lender", "creditor", "debtor", "owner", "assignee", "recipient", "attendee", "hire", "newcomer",
		"user", "customer", "tenant", "applicant", "patient", "guest", "buyer", "seller", "caller", "requester", "reporter", "vendor", "supplier",
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
		if slices.ContainsFunc(words, recurring) {
			return false
		}
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
			if next == "light" || w == "go" && (next == "ahead" || next == "live" || prev == "a" || prev == "no" || prev == "to" || next == "for") {
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
		case "resume", "carry":
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
	case "ok", "okay", "proceed", "proceeds", "proceeding", "continue", "continues", "go-ahead", "sign-off", "signoff", "greenlight", "green-light", "lgtm", "thumbs-up", "objection", "objections", "blessing", "no-go", "👍":
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
		"周", "週", "上个", "上個", "马上", "馬上", "立刻", "立即", "昨", "今", "刚", "剛", "稍后", "稍後", "待会", "待會", "下月", "上月", "来月", "先月", "先ほど", "さっき", "先日", "来年", "昨年", "去年", "明年", "直ちに", "すぐ", "这", "這", "此", "那", "现在", "現在", "当前", "當前", "目前", "今天", "今日", "明天", "昨天", "明日", "昨日", "最新", "最近", "新的", "新", "旧", "舊", "下一", "下个", "下個", "上一", "上述", "以下", "以上", "继续", "繼續", "它", "还", "還", "本",
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
