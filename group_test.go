package revue_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/storage/memstore"
)

// A desk groups by what it has followed of the journal. Whatever happens in whatever order, at this desk or at
// another on the same store, it puts an ask where a desk that has just started would.
func TestGroupingFollowsTheJournal(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a test's
			store := memstore.New(nil)
			desks := []*revue.Desk{plane(store), plane(store)}
			question := func() string {
				return fmt.Sprintf("Which colour has door number %d of the house?", rnd.IntN(8))
			}
			for i := range 120 {
				desk := desks[rnd.IntN(2)]
				human := desk.Reviewer(alice)
				page, err := human.Lots(t.Context(), revue.LotFilter{})
				require.NoError(t, err)
				var lot revue.Lot
				if len(page.Items) > 0 {
					lot = page.Items[rnd.IntN(len(page.Items))]
				}
				switch rnd.IntN(6) {
				case 0:
					if lot.Status == revue.StatusOpen {
						_, err = human.Answer(t.Context(), lot.ID, revue.Answer{Text: fmt.Sprint("colour ", i), Seen: lot.Revision, Remember: revue.RememberOnce})
					}
				case 1:
					if lot.Status == revue.StatusOpen {
						_, err = human.Dismiss(t.Context(), lot.ID, revue.Dismissal{})
					}
				case 2:
					if lot.Status == revue.StatusDismissed {
						_, err = human.Reopen(t.Context(), lot.ID)
					}
				default:
					ask := revue.Ask{Question: question(), Concepts: [][]string{nil, {"a"}, {"b"}}[rnd.IntN(3)]}
					who := agent(fmt.Sprintf("agent %d", i))
					open := map[string]revue.Lot{}
					for _, l := range page.Items {
						if l.Status == revue.StatusOpen {
							open[l.ID] = l
						}
					}
					var o revue.Outcome
					o, err = desk.Decider(who).Request(t.Context(), ask)
					require.NoError(t, err)
					key, err := ask.Key()
					require.NoError(t, err)
					fits, likes := "", "" // the very same ask goes before one that is alike, the oldest first
					for _, l := range page.Items {
						if _, ok := open[l.ID]; !ok || l.Question != ask.Question || !fitsEvery(l.Scopes, ask.Concepts) {
							continue
						}
						if l.Key == key && fits == "" {
							fits = l.ID
						}
						if likes == "" {
							likes = l.ID
						}
					}
					if fits == "" {
						fits = likes
					}
					if fits != "" {
						require.Equal(t, fits, o.LotID, "seed %d, step %d", seed, i)
					} else {
						require.NotContains(t, open, o.LotID, "seed %d, step %d", seed, i)
					}
				}
				require.NoError(t, err, "seed %d, step %d", seed, i)
			}
			journalOf(t, desks[0])
		})
	}
}

func fitsEvery(scopes []revue.Scope, concepts []string) bool {
	for _, s := range scopes {
		if !s.Fits(revue.Scope{Concepts: concepts}) {
			return false
		}
	}
	return true
}
