package memory_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/memory"
)

// respelled yields spellings of a question that may mean another thing: a capital inside, punctuation inside or another
// mark at the end, an "a" behind a noun.
func respelled(text string, yield func(kind, text string)) {
	words := strings.Fields(strings.TrimRight(text, "?"))
	with := func(i int, w string) string {
		c := slices.Clone(words)
		c[i] = w
		return strings.Join(c, " ") + "?"
	}
	for i, w := range words {
		if i > 0 && w != "I" && w != "DB" {
			for _, f := range []string{strings.ToUpper(w[:1]) + w[1:], strings.ToUpper(w), strings.ToLower(w), w[:len(w)-1] + strings.ToUpper(w[len(w)-1:])} {
				if f != w && !(products[strings.ToLower(f)] && f[1:] == strings.ToLower(f[1:])) {
					yield("case", with(i, f))
				}
			}
		}
		for _, mark := range []string{",", ";", ":", ".", "?", "!", "...", " -", " ,"} {
			last, noun := i == len(words)-1, i == 1 && strings.HasPrefix(strings.ToLower(text), "wh")
			if last && (mark == "." || w == "please") || noun && strings.Contains(mark, ",") {
				continue // one sentence end, and "which database, should": nothing changes
			}
			if last {
				yield("end", strings.Join(words, " ")+mark+"?")
				if mark != "?" {
					yield("end", strings.Join(words, " ")+mark)
				}
				continue
			}
			yield("punctuation", with(i, w+mark))
		}
		if named[w] {
			yield("a", with(i, w+" a"))
		}
	}
}

// products are those in the gold questions that mean nothing else, whatever the case of their first letter.
var products = map[string]bool{
	"bcrypt": true, "postgres": true, "mysql": true, "sqlite": true, "redis": true, "mongodb": true, "kafka": true, "rabbitmq": true, "elasticsearch": true,
	"kubernetes": true, "docker": true, "terraform": true, "github": true, "gitlab": true, "nginx": true, "grafana": true, "prometheus": true, "datadog": true,
	"jira": true, "linux": true, "kotlin": true, "django": true, "webpack": true, "pytest": true, "ansible": true, "jenkins": true, "heroku": true, "azure": true,
}

// named are nouns of the gold questions behind which a letter may stand as a name.
var named = map[string]bool{
	"service": true, "database": true, "release": true, "client": true, "cluster": true, "job": true, "endpoint": true, "users": true, "user": true, "errors": true,
	"migration": true, "table": true, "module": true, "requests": true, "region": true, "backups": true, "webhook": true, "secret": true, "frontend": true,
	"branch": true, "hotfix": true, "environment": true, "staging": true, "app": true, "config": true, "data": true, "timeout": true, "dates": true,
}

func TestSpellingsThatMayMeanAnotherThing(t *testing.T) {
	m := memory.New(nil)
	byKind := map[string]int{}
	check := func(kind, a, b string) {
		t.Helper()
		byKind[kind]++
		v := m.Same(revue.Question{Text: a}, revue.Question{Text: b}).Verdict
		if v == revue.VerdictSame || v == revue.VerdictLikely {
			t.Errorf("%s: %s: %q %q", v, kind, a, b)
		}
	}
	seen := map[string]bool{}
	for _, p := range gold(t) {
		for _, base := range []string{p.base, p.text} {
			if !seen[base] {
				seen[base] = true
				respelled(base, func(kind, text string) { check(kind, base, text) })
			}
		}
	}

	nouns := []string{
		"account", "rack", "gate", "lane", "terminal", "block", "wing", "cohort", "pipeline", "squad", "namespace", "dataset", "vpc", "subnet", "customer",
		"repository", "tenant", "door", "desk", "truck", "train", "pool", "ring", "slot", "batch", "floor", "hall", "store", "unit", "link",
	}
	for _, noun := range nouns {
		for _, verb := range []string{"pay invoices", "hold the routers", "open at six", "sync nightly", "get refunds", "close the books"} {
			check("a", "Should "+noun+" "+verb+"?", "Should "+noun+" a "+verb+"?")
			check("a", "When does "+noun+" "+verb+"?", "When does "+noun+" a "+verb+"?")
		}
		check("a", "Should the job move from "+noun+" to production?", "Should the job move from "+noun+" a to production?")
		check("a", "Which "+noun+" has failed?", "Which "+noun+" has a failed?")
	}

	shorts := [][2]string{
		{"db", "database"},
		{"repo", "repository"},
		{"config", "configuration"},
		{"prod", "production"},
		{"env", "environment"},
		{"admin", "administrator"},
		{"max", "maximum"},
		{"k8s", "kubernetes"},
		{"e-mail", "email"},
	}
	literals := []string{
		"branch", "user", "role", "host", "bucket", "tag", "package", "module", "function", "flag", "default", "label", "variable", "value", "field",
		"column", "table", "folder", "namespace", "group", "command", "key", "file", "header",
	}
	for _, literal := range literals {
		for _, frame := range []string{
			"Should the NOUN be X or live?", "Should the NOUN be live or X?", "Should the X NOUN be locked?", "Should X be the NOUN?",
			"Should the NOUN X be locked?", "Should we rename the NOUN to X?", "Should the NOUN default to X?", "Which X NOUN should we keep?",
			"Should a NOUN such as X be shown?", "Should the job import X from the NOUN?", "Should the NOUN be the X or the cache?",
		} {
			for _, p := range shorts {
				if p[0] == "e-mail" && (strings.Contains(frame, "such as") || strings.Contains(frame, "import") || strings.Contains(frame, "the X or")) {
					continue // two spellings of one word
				}
				q := strings.ReplaceAll(frame, "NOUN", literal)
				check("short", strings.ReplaceAll(q, "X", p[0]), strings.ReplaceAll(q, "X", p[1]))
			}
		}
	}
	for _, p := range shorts {
		name := strings.ToUpper(p[0][:1]) + p[0][1:]
		for _, frame := range []string{"Should X be hired for refunds?", "Should we ask X to pay the invoice?", "Should TV X be blocked at work?", "Should the job X the invoices?"} {
			check("short", strings.ReplaceAll(frame, "X", name), strings.ReplaceAll(frame, "X", p[1]))
		}
	}
	total := 0
	for _, n := range byKind {
		total += n
	}
	require.GreaterOrEqual(t, total, 9000)
	t.Logf("%d spellings, none the same: %v", total, byKind)
}

// Each asks for leave or consent: it is the same question again, and yet the answer is not applied.
func TestPermissionForms(t *testing.T) {
	for _, q := range []string{
		"May the invoices bucket be deleted?", "Can the invoices bucket be deleted?", "Could invoices be deleted?", "Shall invoices be deployed?",
		"Might the invoices bucket be emptied?", "Please, can the invoices bucket be emptied?", "For refunds, may the invoices bucket be emptied?",
		"Should I delete the invoices bucket?", "Do I get to delete the invoices bucket?", "Am I good to delete the invoices bucket?",
		"I delete the invoices bucket, is that fine with you?", "We delete the invoices bucket?",
		"Confirm deletion of the invoices database?", "Can you confirm deletion of the invoices database?", "Do you agree to delete the invoices bucket?",
		"Any objection to deleting the invoices bucket?", "Objections to dropping invoices?", "Any concerns about deleting the invoices bucket?",
		"Is there a problem with deleting the invoices bucket?", "Green light for the invoices deploy?", "Do we have a green light for the invoices deploy?",
		"Thumbs up for the invoices deploy?", "Sign off on the invoices deploy?", "Is a go for the invoices deploy given?",
		"Has the invoices deploy been approved?", "Is the invoices deploy approved?", "Is deleting the invoices bucket okay with you?",
		"Would it be ok to delete the invoices bucket?", "Is the agent allowed to delete the invoices bucket?", "Are we cleared for the invoices deploy?",
		"Do you want the invoices bucket deleted?", "Should the invoices bucket be deleted, yes or no?",
		"Delete the invoices bucket?", "Please delete the invoices bucket?", "Rotate the invoices secret?", "Quarantine the invoices hosts?",
		"Invoices are paid. Delete the bucket?", "Hello, drop the invoices table?", "Invoices bucket to be emptied for the audit?",
	} {
		s, m := newSource(), memory.New(nil)
		d := s.make(revue.Decision{Question: q, Answer: "yes"})
		s.decisions[d.ID] = func() revue.Decision { d := s.decisions[d.ID]; d.FreeText = true; return d }()
		r := recall(t, m, s, revue.Query{Text: q, Request: true})
		require.True(t, r.Permission, q)
		require.Equal(t, revue.Confirm, first(r).ReuseGuidance, q)

		s.correct(d.ID, revue.VerbTooBroad, revue.Correction{}) // the flag is about the question alone
		require.True(t, recall(t, m, s, revue.Query{Text: q, Request: true}).Permission, q)
	}
}

// A decision on leave has another wording that asks for none: the answer is no more a rule for that.
func TestAliasOfAPermission(t *testing.T) {
	for question, alias := range map[string]string{
		"Should I keep the sessions table?":        "Should we keep the sessions table?",
		"Should the old sessions table be kept?":   "Should the sessions table be kept?",
		"Should this sessions table be encrypted?": "Should the sessions table be encrypted?",
	} {
		s, m := newSource(), memory.New(nil)
		d := s.make(revue.Decision{Question: question, Answer: "yes", Aliases: []revue.Alias{{Text: alias}}})
		s.decisions[d.ID] = func() revue.Decision { d := s.decisions[d.ID]; d.FreeText = true; return d }()
		r := recall(t, m, s, revue.Query{Text: alias, Request: true})
		require.Equal(t, revue.Confirm, first(r).ReuseGuidance, question)
		require.False(t, r.Permission, alias)
		require.InDelta(t, 1, first(r).Score, 0)
	}
}

// Each points at something that may be another thing by now, or for somebody else.
func TestPointingForms(t *testing.T) {
	for _, q := range []string{
		"Should said invoices bucket be deleted?", "Should the aforesaid invoices bucket be deleted?", "Should such invoices rows be deleted?",
		"Should the selected invoices rows be deleted?", "Should the requested invoices refund be issued?", "Should the chosen invoices vendor be paid?",
		"Should the staged invoices files be deleted?", "Should the uncommitted invoices work be discarded?", "Should the affected invoices rows be fixed?",
		"Should the pending invoices migration run?", "Should the open PR for invoices be merged?", "Should the PR be merged into invoices?",
		"Should the ticket for invoices be closed?", "Should the invoices draft be sent?", "Should the failing invoices test be skipped?",
		"Should the incident in invoices be escalated?", "Should the rollback of invoices start?", "Should the build for invoices be promoted?",
		"Should the invoices backup from 5 minutes ago be restored?", "Should the invoices deploy go out right away?", "Should the invoices deploy happen at once?",
		"Should the invoices freeze begin immediately?", "Should the invoices release go out this-week?", "Should invoices ship by EOD?",
		"Should invoices ship by end of day?", "Should invoices ship within the hour?", "Should invoices ship in the morning?",
		"Should the invoices job run once more?", "Should the invoices job be retried one more time?", "Should the invoices bucket be deleted too?",
		"Should the invoices bucket be deleted as well?", "Should the invoices bucket be deleted instead?", "Should the invoices bucket be deleted then?",
		"Should the other invoices bucket be deleted?", "Should the 2nd invoices bucket be deleted?", "Should the second invoices option be used?",
		"Should both invoices buckets be deleted?", "Which of the two invoices designs should we use?", "Which approach for invoices is better, first or second?",
		"Which is better for invoices, option A or option B?", "Should we follow plan A or plan B for invoices?", "Should invoices use A or B?",
		"Should option 2 be used for invoices?", "Has the invoices migration run?", "Did the invoices vendor sign?", "Are invoices ready for the audit?",
		"Should invoices go out at noon?", "Should the invoices freeze end at midnight?", "Should invoices merge into the default branch?",
		"Should we publish the Q3 targets for invoices?", "Should the user's invoices be deleted?", "Should the customer get invoices by mail?",
		"Should we delete invoices of the last 14 days?", "Do invoices of last 14 days need a check?", "Should the next to last invoices page be kept?", "Should the invoices go to the next page?",
		"Should the prior invoices run be kept?", "Should that invoices bucket be deleted?", "Should we email the new users about invoices?", "Should the new invoices page be public?",
		"Should invoices go in the build?", "Should the build notes name invoices?",
		"Should the vendor be paid for invoices?", "Should we refund the customer for invoices?", "Should the invoices version in production be kept?",
	} {
		s, m := newSource(), memory.New(nil)
		d := s.make(revue.Decision{Question: q, Answer: "yes", Remember: revue.RememberRule})
		s.decisions[d.ID] = func() revue.Decision { d := s.decisions[d.ID]; d.FreeText = true; return d }()
		r := recall(t, m, s, revue.Query{Text: q, Request: true})
		require.True(t, r.Deictic, q)
		require.Equal(t, revue.Confirm, first(r).ReuseGuidance, q)
	}
}

// What asks how things are to be done is no permission and points at nothing.
func TestDecisionFormsAreApplied(t *testing.T) {
	for _, q := range []string{
		"Should we delete invoices after seven years?", "Should the invoices bucket be public?", "Which bucket should invoices go to?",
		"How long shall we keep invoices?", "Do we encrypt invoices at rest?",
		"Should invoices be retried first in the client or in the gateway?",
		"When may users download invoices?", "Should refunds over 50 need an approval of two people?",
		"Should we use last-write-wins for invoices?", "Should invoices in the export be sorted by date, and by number if both the dates and the names are equal?",
		"Should the invoices report run at noon every weekday?", "Should the Q3 2026 targets for invoices be public?", "Should the user passwords be hashed with bcrypt?",
		"Should the invoices trial last 14 days?", "Should invoices files sit next to the code they test?", "Do we archive invoices prior to a migration?",
		"Do we encrypt invoices with a key that the platform manages?", "Should notifications of invoices be on for new users?", "Do we put invoices into the build image?",
		"Should users see their own invoices?", "Should a customer see invoices of others?", "Should the customer API return invoices?", "Which version of Go do we use for invoices?",
		"Must invoices have a number?", "For invoices, which database should we use?", "Should invoices be too large for mail?",
	} {
		s, m := newSource(), memory.New(nil)
		d := s.make(revue.Decision{Question: q, Answer: "yes"})
		s.decisions[d.ID] = func() revue.Decision { d := s.decisions[d.ID]; d.FreeText = true; return d }()
		r := recall(t, m, s, revue.Query{Text: q, Request: true})
		require.Equal(t, revue.Apply, first(r).ReuseGuidance, "%s: %s", q, first(r).Reason)
		require.False(t, r.Permission, q)
		require.False(t, r.Deictic, q)
	}
}
