package memory_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/matcheval"
	"github.com/revuehq/revue/memory"
)

type goldPair struct {
	base, text, category string
	kind                 byte // '=', '~' or '!'
}

// topics is the gold set; gold is the same in pairs.
func topics(t testing.TB) []matcheval.Topic {
	t.Helper()
	f, err := os.Open("testdata/gold.txt")
	require.NoError(t, err)
	defer f.Close()
	all, err := matcheval.ReadGold(f)
	require.NoError(t, err)
	return all
}

func gold(t testing.TB) []goldPair {
	t.Helper()
	var pairs []goldPair
	for _, topic := range topics(t) {
		for _, text := range topic.Variants {
			pairs = append(pairs, goldPair{base: topic.Question, kind: '=', text: text})
		}
		for _, text := range topic.Paraphrases {
			pairs = append(pairs, goldPair{base: topic.Question, kind: '~', text: text})
		}
		for _, c := range topic.Changes {
			pairs = append(pairs, goldPair{base: topic.Question, kind: '!', text: c.Text, category: c.Kind})
		}
	}
	require.NotEmpty(t, pairs)
	return pairs
}

// The gold set is as large as what is claimed of it, and no wording is in two topics.
func TestGoldSet(t *testing.T) {
	all := topics(t)
	require.GreaterOrEqual(t, len(all), 60)
	require.GreaterOrEqual(t, len(gold(t)), 300)
	of := map[string]string{}
	for _, topic := range all {
		for _, text := range topic.Wordings() {
			require.NotContains(t, of, text)
			of[text] = topic.Question
		}
	}
	for _, topic := range all {
		require.NotEmpty(t, topic.Changes, topic.Question)
		for _, c := range topic.Changes {
			require.NotEmpty(t, c.Kind, c.Text)
			require.NotContains(t, of, c.Text, "a change is another decision")
		}
	}
}

func TestGold(t *testing.T) {
	m := memory.New(nil)
	count := map[byte]map[revue.Verdict]int{'=': {}, '~': {}, '!': {}}
	for _, p := range gold(t) {
		a, b := revue.Question{Text: p.base}, revue.Question{Text: p.text}
		c := m.Same(a, b)
		require.Equal(t, c.Verdict, m.Same(b, a).Verdict, "not symmetric: %q %q", p.base, p.text)
		count[p.kind][c.Verdict]++
		t.Logf("%c %-8s %-40s | %s | %s", p.kind, c.Verdict, c.Differs, p.base, p.text)
		switch p.kind {
		case '!':
			require.NotContains(t, []revue.Verdict{revue.VerdictSame, revue.VerdictLikely}, c.Verdict, "%q %q", p.base, p.text)
		case '~':
			require.NotEqual(t, revue.VerdictSame, c.Verdict, "%q %q", p.base, p.text)
		}
	}
	t.Logf("verdicts: = %v, ~ %v, ! %v", count['='], count['~'], count['!'])
	require.GreaterOrEqual(t, count['='][revue.VerdictSame], 85, "of 105: passives, plurals and what points at something are not expected")
}

// What differs in form alone is not crucial; what may be another decision is, also where it is put in another form.
func TestCrucial(t *testing.T) {
	m := memory.New(nil)
	for _, c := range []struct {
		a, b    string
		crucial bool
	}{
		{"Should errors be retried on the client?", "Does the client retry on errors?", false},
		{"Which database should the billing service use?", "For the billing service, which database do we pick?", false},
		{"Should dates be stored in UTC or local time?", "Do we store dates in UTC or in local time?", false},
		{"Who approves changes to the payment module?", "Who has to approve a change in the payment module?", false},
		{"Should exports be CSV or Parquet by default?", "What is the default format of exports, CSV or Parquet?", false},
		{"Do we write the user documentation in American or British English?", "American or British English for the user documentation?", false},
		{"How many seats does the starter plan include?", "What number of seats comes with the starter plan?", false},
		{"Which region should the EU backups be stored in?", "Where are the EU backups to be stored?", false},
		{"Should errors be retried on the client?", "Hello, should errors be retried on the client?", false},

		{"Should errors be retried on the client?", "Does the client never retry on errors?", true},
		{"Should errors be retried on the client?", "Does the server retry on errors?", true},
		{"Should errors be retried on the client?", "Does the client retry on errors in staging?", true},
		{"Should errors be retried on the client?", "When does the client retry on errors?", true},
		{"Should errors be retried 5 times on the client?", "Does the client retry 50 times on errors?", true},
		{"Should sessions be kept for 30 days?", "Do we keep sessions for 30 hours?", true},
		{"Should all requests be logged?", "Do we log some requests?", true},
		{"Should we read config.yaml for the limits?", "Are limits read from config.json?", true},
		{"Should we move to Node 20?", "Do we go to Node 22?", true},
		{"Should invoices be stored in Kafka?", "Do we store invoices in RabbitMQ?", true},
		{"Should invoices be sent before the payment?", "Do we send invoices after the payment?", true},
		{"Should data be copied from the old cluster to the new cluster?", "Do we copy data from the new cluster to the old cluster?", true},
		{"Should I rename UserService to AccountService?", "Is AccountService to be renamed to UserService?", true},
		{"Should the gateway call the ledger?", "Does the ledger call the gateway?", true},
		{"Should tabs or spaces be used in SQL files?", "Do we use tabs and spaces in SQL files?", true},
		{"How much disk may a preview environment use?", "How much disk must a preview environment use?", true},
		{"Should a user be an owner of invoices?", "Should the user be an owner of invoices?", true},
		{"Should invoices be public?", "Do we bake bread on Sundays?", true},
	} {
		x, y := revue.Question{Text: c.a}, revue.Question{Text: c.b}
		require.Equal(t, c.crucial, m.Same(x, y).Crucial, "%q %q: %+v", c.a, c.b, m.Same(x, y))
		require.Equal(t, c.crucial, m.Same(y, x).Crucial, "%q %q", c.b, c.a)
	}
	related, plain := map[byte]int{}, map[byte]int{}
	for _, p := range gold(t) {
		x, y := revue.Question{Text: p.base}, revue.Question{Text: p.text}
		c := m.Same(x, y)
		require.Equal(t, c.Crucial, m.Same(y, x).Crucial, "not symmetric: %q %q", p.base, p.text)
		if c.Verdict == revue.VerdictRelated {
			related[p.kind]++
			if !c.Crucial {
				plain[p.kind]++
			}
		}
	}
	t.Logf("related: %v, of these without crucial difference: %v", related, plain)
	require.GreaterOrEqual(t, 100*plain['~'], 50*related['~'])
	require.LessOrEqual(t, 100*plain['!'], related['!'])
}
