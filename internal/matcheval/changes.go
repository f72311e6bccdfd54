package matcheval

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The four ways to change one token.
const (
	opReplace = "replace"
	opInsert  = "insert"
	opDelete  = "delete"
	opSwap    = "swap"
	opSpell   = "spelling" // quotes, lines and articles that say something else
)

// oneTokenChange is a question in which one token was changed, and how.
type oneTokenChange struct {
	text string
	op   string
	kind string // of what was replaced: "number", "environment", …
	base string // what it is a change of, where that is not the question itself
}

// alternatives are words of which each makes another decision in the place of another, by kind.
func alternatives() map[string][][]string {
	return map[string][][]string{
		"environment": {
			{"production", "staging", "development", "sandbox", "preview", "test"},
			{"local", "remote"},
			{"client", "server"},
			{"frontend", "backend"},
			{"web", "mobile"},
			{"public", "internal", "private"},
		},
		"negation": {
			{"with", "without"},
			{"should", "shouldn't"},
			{"can", "can't"},
			{"do", "don't"},
			{"does", "doesn't"},
			{"is", "isn't"},
			{"are", "aren't"},
			{"always", "never", "sometimes"},
			{"if", "unless"},
			{"skippable", "unskippable"},
			{"able", "unable"},
		},
		"direction": {
			{"from", "to", "into"},
			{"before", "after", "during"},
			{"over", "under"},
			{"above", "below"},
			{"in", "outside"},
			{"on", "off"},
			{"between", "behind"},
			{"for", "against"},
			{"through", "around"},
			{"upstream", "downstream"},
			{"directly", "indirectly"},
			{"within", "after"},
		},
		"unit": {
			{"days", "hours", "minutes", "weeks", "months"},
			{"day", "hour", "month"},
			{"daily", "weekly", "nightly", "monthly"},
			{"kB", "MB", "GB"},
			{"Monday", "Friday"},
			{"Mondays", "Fridays"},
			{"UTC", "CET"},
			{"gigabytes", "terabytes"},
			{"times", "days"},
			{"week", "year"},
		},
		"quantity": {
			{"all", "some", "most", "no", "few"},
			{"every", "any", "no"},
			{"many", "few"},
			{"one", "two", "three"},
			{"maximum", "minimum", "average"},
			{"max", "min"},
			{"most", "least"},
			{"once", "twice"},
			{"both", "either"},
			{"or", "and"},
			{"full", "partial"},
			{"single", "second"},
			{"much", "little"},
		},
		"verb": {
			{"delete", "keep", "edit", "archive"},
			{"deleted", "kept", "edited", "archived"},
			{"deploy", "revert"},
			{"deployed", "reverted"},
			{"copy", "move"},
			{"merge", "close"},
			{"merged", "closed", "reviewed"},
			{"allow", "forbid"},
			{"send", "queue", "skip"},
			{"run", "stop"},
			{"stored", "shown", "sent"},
			{"store", "show", "drop"},
			{"reject", "accept", "log"},
			{"remove", "add"},
			{"removed", "added", "hidden"},
			{"rotated", "revoked"},
			{"retried", "logged", "dropped"},
			{"lock", "drop"},
			{"locked", "dropped"},
			{"use", "avoid", "test"},
			{"support", "drop"},
			{"require", "offer"},
			{"encrypt", "sign"},
			{"hashed", "encrypted"},
			{"written", "ported"},
			{"write", "review"},
			{"approves", "reviews"},
			{"show", "hide"},
			{"invite", "remove"},
			{"start", "stop"},
			{"block", "delay"},
			{"read", "written"},
			{"rename", "alias"},
			{"upload", "download"},
			{"squash", "sign"},
			{"squashed", "signed"},
			{"paged", "emailed"},
			{"shipped", "piped"},
		},
		"entity": {
			{"users", "admins", "customers", "guests"},
			{"user", "admin", "customer"},
			{"orders", "invoices", "refunds"},
			{"order", "invoice", "refund"},
			{"database", "cache", "queue"},
			{"billing", "search", "payment"},
			{"service", "job", "library"},
			{"table", "index", "view"},
			{"email", "webhook", "survey"},
			{"backups", "logs", "exports"},
			{"request", "response"},
			{"requests", "responses"},
			{"TypeScript", "JavaScript"},
			{"bcrypt", "argon2"},
			{"Postgres", "MySQL"},
			{"Kafka", "RabbitMQ", "NATS"},
			{"Loki", "Splunk"},
			{"CPU", "memory"},
			{"CSV", "Parquet", "JSON"},
			{"Markdown", "HTML"},
			{"EU", "US"},
			{"tabs", "spaces"},
			{"Python", "Go", "SQL"},
			{"GraphQL", "REST"},
			{"OpenTofu", "Pulumi"},
			{"American", "British"},
			{"hotfix", "feature"},
			{"config", "secrets"},
			{"team", "starter"},
			{"plan", "region"},
			{"tokens", "cookies"},
			{"token", "cookie"},
			{"key", "tag"},
			{"keys", "tags"},
			{"errors", "timeouts"},
			{"new", "old"},
			{"anonymous", "authenticated"},
			{"free", "paid"},
			{"green", "red"},
			{"upper", "lower"},
			{"soft", "hard"},
			{"failed", "successful"},
			{"exported", "unexported"},
			{"unknown", "missing"},
			{"raw", "aggregated"},
			{"sentence", "title"},
			{"customer", "employee"},
			{"background", "foreground"},
		},
		"question": {
			{"which", "whose"},
			{"who", "why"},
			{"where", "when", "why"},
			{"how", "why"},
			{"should", "must", "may"},
			{"do", "did"},
			{"is", "was"},
			{"are", "were"},
			{"can", "must"},
			{"what", "whose"},
			{"whom", "why"},
			{"does", "did"},
		},
	}
}

// insertions are words that make another decision wherever they stand.
func insertions() []string {
	return []string{
		"not", "never", "only", "all", "no", "some", "new", "old", "staging", "production", "5", "v2", "internal", "just", "so", "without", "again", "first", "also", "EU",
		"weekly", "failed", "external", "temporarily", "twice", "admin", "now", "MySQL", "before", "unless",
	}
}

// changer makes one-token changes. What it makes is no other spelling and no other known wording of the same question.
type changer struct {
	rng    *rand.Rand
	alts   map[string][][]string
	kinds  []string // the keys of alts, in order
	insert []string
	vocab  []string
	known  map[string]bool
}

// newChanger returns a changer that draws words from wordings, and never makes one of them.
func newChanger(rng *rand.Rand, wordings []string) *changer {
	c := &changer{rng: rng, alts: alternatives(), insert: insertions(), known: map[string]bool{}}
	for k := range c.alts {
		c.kinds = append(c.kinds, k)
	}
	slices.Sort(c.kinds)
	seen := map[string]bool{}
	for _, text := range wordings {
		c.known[plain(text)] = true
		for w := range strings.FieldsSeq(plain(text)) {
			if len(w) > 3 && !seen[w] && !strings.ContainsFunc(w, func(r rune) bool { return !unicode.IsLower(r) }) {
				seen[w] = true
				c.vocab = append(c.vocab, w)
			}
		}
	}
	slices.Sort(c.vocab)
	return c
}

// filler reports whether a word may come and go without a change.
func filler(w string) bool {
	switch strings.ToLower(strings.Trim(w, ",")) {
	case "a", "an", "the", "please":
		return true
	}
	return false
}

// of returns changes of a text: each alternative of each token, one replacement and the deletion of each, two
// insertions at each place, each swap of neighbours and one of tokens further apart.
func (c *changer) of(text string) []oneTokenChange {
	end := ""
	if t := strings.TrimRight(text, "?"); t != text {
		text, end = t, "?"
	}
	words := strings.Fields(text)
	var out []oneTokenChange
	seen := map[string]bool{plain(text): true}
	emit := func(op, kind string, w []string) {
		t := strings.Join(w, " ") + end
		if p := plain(t); len(w) > 0 && !seen[p] && !c.known[p] {
			seen[p] = true
			out = append(out, oneTokenChange{text: t, op: op, kind: kind})
		}
	}
	with := func(i int, w string) []string {
		l := slices.Clone(words)
		l[i] = w
		return l
	}
	for i, w := range words {
		core := strings.TrimRight(w, ",;:.")
		tail := w[len(core):]
		for _, kind := range c.kinds {
			for _, group := range c.alts[kind] {
				if !slices.ContainsFunc(group, func(s string) bool { return strings.EqualFold(s, core) }) {
					continue
				}
				for _, other := range group {
					if !strings.EqualFold(other, core) {
						emit(opReplace, kind, with(i, capitalAs(core, other)+tail))
					}
				}
			}
		}
		for kind, other := range mutated(core) {
			emit(opReplace, kind, with(i, other+tail))
		}
		if !filler(w) {
			emit(opDelete, "", slices.Delete(slices.Clone(words), i, i+1))
			if len(c.vocab) > 0 {
				emit(opReplace, "word", with(i, capitalAs(core, c.vocab[c.rng.IntN(len(c.vocab))])+tail))
			}
		}
		for range 2 {
			emit(opInsert, "", slices.Insert(slices.Clone(words), i, c.insert[c.rng.IntN(len(c.insert))]))
		}
		for _, j := range []int{i + 1, i + 2 + c.rng.IntN(4)} {
			if j < len(words) && !filler(w) && !filler(words[j]) && !strings.EqualFold(w, words[j]) {
				l := slices.Clone(words)
				l[i], l[j] = l[j], l[i]
				emit(opSwap, "", l)
			}
		}
	}
	for range 2 {
		emit(opInsert, "", append(slices.Clone(words), c.insert[c.rng.IntN(len(c.insert))]))
	}
	return out
}

// spellings returns changes that no list of words shows: the kind of quotes around a word, the indentation of a line, and "the" before a
// number or a plural. Most are changes of the question with a quoted word, some lines or a number in it.
func (c *changer) spellings(text string) []oneTokenChange {
	end := ""
	if t := strings.TrimRight(text, "?"); t != text {
		text, end = t, "?"
	}
	words := strings.Fields(text)
	var out []oneTokenChange
	emit := func(kind string, base, changed []string) {
		b, t := strings.Join(base, " ")+end, strings.Join(changed, " ")+end
		if !c.known[plain(t)] || kind != "article" {
			out = append(out, oneTokenChange{text: t, op: opSpell, kind: kind, base: b})
		}
	}
	with := func(i int, w ...string) []string { return slices.Concat(words[:i], w, words[i+1:]) }
	var named []int
	for i, w := range words {
		if i > 0 && len(w) > 3 && !filler(w) && !strings.ContainsAny(w, ",;:.'\"`") {
			named = append(named, i)
		}
	}
	if len(named) > 0 {
		i := named[c.rng.IntN(len(named))]
		quotes := []string{"`", "'", "\"", ""}
		c.rng.Shuffle(len(quotes), func(i, j int) { quotes[i], quotes[j] = quotes[j], quotes[i] })
		if quotes[1] == "" { // that is the question itself
			quotes[0], quotes[1] = quotes[1], quotes[0]
		}
		emit("quotes", with(i, quotes[0]+words[i]+quotes[0]), with(i, quotes[1]+words[i]+quotes[1]))
	}
	lines := "\nprod:\n  replicas: 3\n"
	for _, changed := range []string{lines + "  debug: true", "\nprod:\nreplicas: 3\ndebug: true", " prod: replicas: 3 debug: true"} {
		out = append(out, oneTokenChange{text: text + ":" + changed, op: opSpell, kind: "layout", base: text + ":" + lines + "debug: true"})
	}
	for i, w := range words {
		if i == 0 || !strings.HasSuffix(w, "s") || strings.HasSuffix(w, "ss") || len(w) < 5 || filler(words[i-1]) {
			continue
		}
		emit("article", with(i, "3", w), with(i, "the", "3", w))
		emit("article", with(i, "a", "few", w), with(i, "few", w))
		if strings.ToLower(w) == w {
			emit("article", words, with(i, "the", w))
		}
	}
	return out
}

// capitalAs gives a word in front the capital of the one it stands for.
func capitalAs(old, word string) string {
	r, _ := utf8.DecodeRuneInString(old)
	if unicode.IsUpper(r) && len(old) > 1 && strings.ToUpper(old) != old {
		return strings.ToUpper(word[:1]) + word[1:]
	}
	return word
}

// mutated yields other numbers, versions and identifiers for a token that is one, in a fixed order.
func mutated(w string) func(yield func(kind, other string) bool) {
	return func(yield func(kind, other string) bool) {
		i := strings.IndexFunc(w, unicode.IsDigit)
		letters := strings.ContainsFunc(w, unicode.IsLetter)
		symbols := strings.ContainsAny(w, "_/.=#") || len(w) > 1 && strings.ContainsFunc(w[1:], unicode.IsUpper)
		if i >= 0 {
			j := i
			for j < len(w) && w[j] >= '0' && w[j] <= '9' {
				j++
			}
			n, err := strconv.Atoi(w[i:j])
			if err != nil {
				return
			}
			kind := "number"
			if letters || strings.Contains(w, ".") {
				kind = "version"
			}
			for _, other := range []string{strconv.Itoa(n + 1), strconv.Itoa(n*10 + 10), "-" + w[i:j], strconv.Itoa(n + 7)} {
				if !yield(kind, w[:i]+other+w[j:]) {
					return
				}
			}
		}
		if symbols && letters {
			for _, other := range []string{w + "2", "x" + w, w + "_old", w[:len(w)-1]} {
				if !yield("identifier", other) {
					return
				}
			}
		}
	}
}
