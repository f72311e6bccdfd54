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
	// An article before a plural says something, so what differs in it is no trivial variant for the canonical form.
	require.GreaterOrEqual(t, count['='][revue.VerdictSame], 50, "of 105: passives, plurals, their articles and what points at something are not expected")
}

// Few paraphrases of the gold set are learned by "same decision", and no change.
func TestCrucialGold(t *testing.T) {
	m := memory.New(nil)
	related, plain := map[byte]int{}, map[byte]int{}
	for _, p := range gold(t) {
		c := m.Same(revue.Question{Text: p.base}, revue.Question{Text: p.text})
		require.Equal(t, c.Crucial, differCrucially(t, m, p.base, p.text))
		if c.Verdict == revue.VerdictRelated {
			related[p.kind]++
			if !c.Crucial {
				plain[p.kind]++
				t.Logf("%c %q %q", p.kind, p.base, p.text)
			}
		}
	}
	t.Logf("related: %v, of these without crucial difference: %v", related, plain)
	require.GreaterOrEqual(t, 100*plain['~'], 3*related['~'], "of what is the same decision in other words")
	require.Zero(t, plain['!'])
}
