package memory_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/memory"
)

// swaps are pairs of words that make two decisions of one question, by kind.
var swaps = map[string][][2]string{
	"environment": {{"staging", "production"}, {"production", "staging"}, {"client", "server"}, {"frontend", "backend"}, {"EU", "US"}, {"local", "remote"}},
	"negation":    {{"with", "without"}, {"without", "with"}, {"should", "shouldn't"}, {"can", "can't"}, {"do", "don't"}, {"is", "isn't"}},
	"opposite": {
		{"new", "old"},
		{"old", "new"},
		{"soft", "hard"},
		{"maximum", "minimum"},
		{"allow", "forbid"},
		{"upload", "download"},
		{"anonymous", "authenticated"},
		{"read", "write"},
		{"nightly", "weekly"},
		{"green", "red"},
		{"synchronously", "asynchronously"},
		{"missing", "invalid"},
		{"requests", "responses"},
		{"support", "drop"},
	},
	"verb": {
		{"use", "drop"},
		{"deploy", "revert"},
		{"copy", "move"},
		{"edit", "delete"},
		{"store", "delete"},
		{"run", "stop"},
		{"merge", "close"},
		{"merged", "closed"},
		{"retried", "logged"},
		{"logged", "blocked"},
		{"send", "queue"},
		{"lock", "drop"},
		{"rename", "alias"},
		{"written", "ported"},
		{"stored", "shown"},
		{"rotated", "revoked"},
		{"accept", "reject"},
	},
	"entity": {
		{"billing", "invoices"},
		{"database", "cache"},
		{"search", "user"},
		{"user", "admin"},
		{"customer", "order"},
		{"avatars", "attachments"},
		{"config", "secrets"},
		{"welcome", "reset"},
		{"users", "orders"},
		{"payment", "search"},
		{"backups", "logs"},
		{"webhook", "API"},
		{"TypeScript", "JavaScript"},
		{"bcrypt", "argon2"},
		{"UserService", "AccountService"},
		{"hotfix", "feature"},
		{"errors", "timeouts"},
		{"dates", "times"},
		{"UTC", "CET"},
		{"IE11", "IE10"},
		{"GPL-3.0", "LGPL-3.0"},
		{"HTTP", "gRPC"},
		{"internal/auth/token.go", "internal/auth/session.go"},
		{"table", "index"},
		{"role", "group"},
		{"service", "job"},
	},
	"direction": {{"from", "to"}, {"to", "from"}, {"into", "from"}, {"before", "after"}, {"on", "off"}, {"in", "outside"}, {"for", "against"}},
	"quantity":  {{"all", "some"}, {"every", "any"}, {"all", "most"}, {"a", "every"}, {"the", "all"}, {"the", "no"}},
	"question":  {{"which", "whose"}, {"what", "whose"}, {"should", "must"}, {"should", "may"}, {"can", "must"}, {"do", "did"}, {"who", "why"}, {"is", "was"}},
	"number":    {{"30", "90"}, {"30", "3"}, {"30", "-30"}, {"30", "300"}, {"02:00", "04:00"}, {"02:00", "14:00"}, {"days", "minutes"}, {"days", "weeks"}},
}

var insertions = []string{"not", "never", "only", "all", "no", "new", "old", "staging", "production", "5", "v2", "internal", "just", "so", "without", "again", "now", "first", "also", "EU"}

// changed yields every one-word change of a question: swaps of words, insertions, deletions, and two
// neighbours that change places.
func changed(text string, yield func(kind, text string)) {
	words := strings.Fields(strings.TrimRight(text, "?"))
	emit := func(kind string, w []string) { yield(kind, strings.Join(w, " ")+"?") }
	filler := func(w string) bool {
		switch strings.ToLower(w) {
		case "a", "an", "the", "please":
			return true
		}
		return false
	}
	for i, w := range words {
		for kind, pairs := range swaps {
			for _, p := range pairs {
				if strings.EqualFold(w, p[0]) {
					c := slices.Clone(words)
					c[i] = p[1]
					emit(kind, c)
				}
			}
		}
		if !filler(w) {
			emit("deletion", slices.Delete(slices.Clone(words), i, i+1))
			for _, other := range []string{"quux", "staging", "users"} {
				if !strings.EqualFold(strings.Trim(w, ",."), other) {
					c := slices.Clone(words)
					c[i] = other
					emit("replacement", c)
				}
			}
			c := slices.Clone(words)
			c[i] += "x"
			emit("suffix", c)
		}
		if i+1 < len(words) && !filler(w) && !filler(words[i+1]) && !strings.EqualFold(w, words[i+1]) {
			c := slices.Clone(words)
			c[i], c[i+1] = c[i+1], c[i]
			emit("neighbours", c)
		}
		for _, in := range insertions {
			emit("insertion", slices.Insert(slices.Clone(words), i, in))
		}
	}
	for _, in := range insertions {
		emit("insertion", append(slices.Clone(words), in))
	}
}

// To claim 99.9 percent at 95 percent confidence, 3,000 changes without one false match are needed.
func TestChangesAreNeverTheSame(t *testing.T) {
	m := memory.New(nil)
	seen := map[string]bool{}
	byKind := map[string]int{}
	likely := map[string]int{}
	n := 0
	for _, p := range gold(t) {
		for _, base := range []string{p.base, p.text} {
			if seen[base] || p.kind == '!' && base == p.text {
				continue
			}
			seen[base] = true
			s := newSource()
			s.make(revue.Decision{Question: base, Answer: "yes", Remember: revue.RememberRule})
			changed(base, func(kind, text string) {
				n++
				byKind[kind]++
				switch m.Same(revue.Question{Text: base}, revue.Question{Text: text}).Verdict {
				case revue.VerdictSame:
					t.Errorf("%s: %q is the same as %q", kind, base, text)
				case revue.VerdictLikely:
					likely[kind]++
					t.Errorf("%s: %q is likely %q", kind, base, text)
				}
				if n%7 == 0 {
					for _, match := range recall(t, m, s, revue.Query{Text: text}).Matches {
						if match.ReuseGuidance == revue.Apply {
							t.Errorf("%s: the answer to %q is applied to %q", kind, base, text)
						}
					}
					m = memory.New(nil)
				}
			})
		}
	}
	require.GreaterOrEqual(t, n-byKind["insertion"], 3000)
	t.Logf("%d changes, none the same: %v; likely: %v", n, byKind, likely)
}
