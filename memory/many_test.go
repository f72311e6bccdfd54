package memory_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/memory"
)

const often = "Should services use Postgres for billing data?"

// oftenDecided is a store with n decisions on one question, each about another concept.
func oftenDecided(n int, change func(i int, d *revue.Decision)) *source {
	s := newSource()
	for i := range n {
		d := revue.Decision{ID: fmt.Sprintf("dec_%d", i), Question: often, Answer: "yes", AnswerLabel: "yes", Options: options("yes", "no"), Concepts: []string{fmt.Sprintf("c%d", i)}, Remember: revue.RememberRule}
		if change != nil {
			change(i, &d)
		}
		s.make(d)
	}
	return s
}

func askOften(concepts ...string) revue.Query {
	return revue.Query{Text: often, Concepts: concepts, Options: options("yes", "no"), Request: true}
}

// However many decisions there are on one question, a recall reads a bounded number of them.
func TestManyDecisionsOnOneQuestion(t *testing.T) {
	type size struct{ times, bytes uint64 }
	of := map[int]size{}
	for _, n := range []int{1_000, 20_000} {
		for name, change := range map[string]func(i int, d *revue.Decision){
			"one answer": nil,
			"many answers": func(i int, d *revue.Decision) {
				d.Answer, d.AnswerLabel, d.Options = fmt.Sprint("answer ", i), "", nil
			},
			"withdrawn": func(_ int, d *revue.Decision) {
				d.Corrections = []revue.Correction{{ID: "cor_1", Verb: revue.VerbWrong, At: start}}
			},
		} {
			s, m := oftenDecided(n, change), memory.New(nil)
			recall(t, m, s, askOften("c7"))
			times, bytes := allocated(3, func() { recall(t, m, s, askOften("c7")) })
			t.Logf("%6d decisions, %s: %d allocations, %d kB", n, name, times, bytes>>10)
			require.Less(t, times, uint64(20_000), name)
			require.Less(t, bytes, uint64(2<<20), name)
			if name == "one answer" {
				of[n] = size{times, bytes}
			}
		}
	}
	require.Less(t, of[20_000].times, of[1_000].times*5/4)
	require.Less(t, of[20_000].bytes, of[1_000].bytes*5/4)
}

// What stands against a decision is found among many, or there are too many to say that nothing does. It is never
// applied because they were not read.
func TestContradictionAmongMany(t *testing.T) {
	wrong := func(d *revue.Decision, at time.Time) {
		d.Corrections = []revue.Correction{{ID: "cor_1", Verb: revue.VerbWrong, At: at}}
	}
	for _, n := range []int{1, 2, 250, 400, 401, 1_000} {
		last := fmt.Sprintf("c%d", n-1)
		s, m := oftenDecided(n, nil), memory.New(nil)
		got := recall(t, m, s, askOften(last))
		require.Equal(t, revue.Apply, got.Matches[0].ReuseGuidance, "%d that agree: %s", n, got.Matches[0].Reason)
		require.Equal(t, fmt.Sprintf("dec_%d", n-1), got.Matches[0].DecisionID)

		for _, at := range []int{0, n / 2, n - 2} {
			if at < 0 || at == n-1 {
				continue
			}
			for name, change := range map[string]func(d *revue.Decision){
				"another answer":         func(d *revue.Decision) { d.Answer, d.AnswerLabel = "no", "no" },
				"another label":          func(d *revue.Decision) { d.AnswerLabel = "yes!" },
				"free text":              func(d *revue.Decision) { d.Options = nil }, // the same text, not chosen
				"withdrawn as wrong":     func(d *revue.Decision) { wrong(d, start.Add(time.Hour)) },
				"another one, elsewhere": func(d *revue.Decision) { d.Answer, d.AnswerLabel, d.Concepts = "no", "no", nil },
			} {
				for _, alias := range []bool{false, true} {
					if alias && at != n/2 {
						continue
					}
					s := oftenDecided(n, func(i int, d *revue.Decision) {
						if i == at {
							d.Concepts = append(d.Concepts, last)
							change(d)
							if alias {
								d.Question, d.Aliases = "Do services use Postgres for billing data?", []revue.Alias{{ID: "als_1", Text: often}}
							}
						}
					})
					got := recall(t, memory.New(nil), s, askOften(last))
					require.NotEmpty(t, got.Matches)
					for _, match := range got.Matches {
						require.Equal(t, revue.Confirm, match.ReuseGuidance, "%d decisions, %s at %d: %s by %s", n, name, at, match.Reason, match.DecisionID)
					}
				}
			}
		}
	}
}

// Of many decisions the newest are judged, in whatever order they became known: an index that followed changes says the same
// as a fresh one.
func TestManyInAnyOrder(t *testing.T) {
	const n = 900
	s := oftenDecided(n, func(i int, d *revue.Decision) {
		d.Concepts = []string{fmt.Sprintf("c%d", i%300)}
		if i%100 == 3 {
			d.Answer, d.AnswerLabel = "no", "no"
		}
	})
	m := memory.New(nil)
	for seed := range uint64(4) {
		for _, concept := range []string{"c7", "c3", "c299"} {
			q := askOften(concept)
			q.Limit = 100
			want := recall(t, memory.New(nil), s, q)
			require.Len(t, want.Matches, 100)
			require.Equal(t, want, recall(t, m, s, q))
		}
		for _, i := range rand.New(rand.NewPCG(seed, 2)).Perm(n) {
			s.change(fmt.Sprintf("dec_%d", i), revue.EventDecisionConfirmed, func(d *revue.Decision) { d.Confirmations++ })
		}
	}
}

func BenchmarkManyOnOneQuestion(b *testing.B) {
	for _, n := range []int{1_000, 100_000} {
		for name, change := range map[string]func(i int, d *revue.Decision){
			"one-answer": nil,
			"two-answers": func(i int, d *revue.Decision) {
				if i%2 == 0 {
					d.Answer, d.AnswerLabel = "no", "no"
				}
			},
		} {
			b.Run(fmt.Sprintf("decisions=%d/%s", n, name), func(b *testing.B) {
				s, m := oftenDecided(n, change), memory.New(nil)
				q := askOften("c7")
				_, err := m.Recall(b.Context(), s, q)
				require.NoError(b, err)
				b.ReportAllocs()
				for b.Loop() {
					_, err := m.Recall(b.Context(), s, q)
					require.NoError(b, err)
				}
			})
		}
	}
}
