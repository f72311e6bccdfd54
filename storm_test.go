package revue_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/storage/memstore"
)

// Many agents at two desks, and a human who answers in part, dismisses, reopens and corrects meanwhile: everyone
// gets an outcome, nobody's ask is settled twice, and every open lot can be answered.
func TestStorm(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { storm(t, seed) })
		})
	}
}

func storm(t *testing.T, seed uint64) {
	store := memstore.New(nil)
	desks := []*revue.Desk{plane(store), plane(store)}
	for _, d := range desks {
		running(t, d)
	}
	source := func(n uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, n)) } //nolint:gosec // a test's
	over := make(chan struct{})
	var human, agents sync.WaitGroup
	human.Go(func() {
		rnd := source(0)
		for {
			select {
			case <-over:
				return
			case <-time.After(5 * time.Millisecond):
				meddle(t, desks[rnd.IntN(2)].Reviewer(alice), rnd)
			}
		}
	})
	forms := []string{"Which port should service%d use?", "which port should service%d use", "Please, which port should service%d use?", "Which port should the service%d use?"}
	for i := range 48 {
		agents.Go(func() {
			rnd := source(uint64(i + 1))
			who := agent(fmt.Sprint("agent ", i%9))
			who.Thread = fmt.Sprint("thread ", i)
			for range 6 {
				ask := yesNo(fmt.Sprintf(forms[rnd.IntN(len(forms))], rnd.IntN(5)))
				for {
					ask.Wait = time.Duration(rnd.IntN(80)) * time.Millisecond
					o, err := desks[rnd.IntN(2)].Decider(who).Request(t.Context(), ask)
					if err != nil {
						t.Error(err)
						return
					}
					if o.Status != revue.OutcomePending {
						if o.Status != revue.OutcomeDismissed && (o.Answer == "" || o.DecisionID == "" || o.Receipt == nil) {
							t.Errorf("%+v", o)
						}
						break
					}
					time.Sleep(time.Millisecond) //nolint:forbidigo // fake time
				}
			}
		})
	}
	agents.Wait()
	close(over)
	human.Wait()

	settled := map[string]string{}
	for _, e := range journalOf(t, desks[0]) {
		if e.Kind == revue.EventLotAnswered {
			for _, a := range e.Asks {
				require.Empty(t, settled[a], "ask %s was settled twice", a)
				settled[a] = e.Lot
			}
		}
	}
	page, err := desks[0].Reviewer(alice).Lots(t.Context(), revue.LotFilter{Limit: 1000})
	require.NoError(t, err)
	require.NotEmpty(t, page.Items)
	for _, lot := range page.Items {
		require.Len(t, lot.Asks, lot.AskCount, lot.ID)
		if lot.Status == revue.StatusOpen {
			_, err := desks[1].Reviewer(alice).Answer(t.Context(), lot.ID, revue.Answer{Value: "yes", Seen: lot.Revision})
			require.NoError(t, err)
		}
	}
	_, err = revue.VerifyWorkspace(t.Context(), store, "w", nil)
	require.NoError(t, err)
}

// meddle does something to each open lot; what comes too late is refused, and that is all.
func meddle(t *testing.T, human revue.Reviewer, rnd *rand.Rand) {
	page, err := human.Lots(t.Context(), revue.LotFilter{Status: revue.StatusOpen})
	if err != nil {
		t.Error(err)
		return
	}
	for _, lot := range page.Items {
		switch rnd.IntN(6) {
		case 0:
			_, _ = human.Dismiss(t.Context(), lot.ID, revue.Dismissal{Seen: lot.Revision})
			_, _ = human.Reopen(t.Context(), lot.ID)
		case 1:
			_, _ = human.Answer(t.Context(), lot.ID, revue.Answer{Value: "yes"})
		case 2:
			_, _ = human.Answer(t.Context(), lot.ID, revue.Answer{Value: "yes", Seen: revue.Revision(1 + rnd.Int64N(int64(lot.Revision)))})
		case 3:
			_, _ = human.Answer(t.Context(), lot.ID, revue.Answer{Value: "no", Seen: lot.Revision, Members: []string{lot.Asks[rnd.IntN(len(lot.Asks))].ID}})
		case 4:
			decisions, _ := human.Decisions(t.Context(), revue.DecisionFilter{Limit: 5})
			for _, d := range decisions.Items {
				_, _ = human.Correct(t.Context(), revue.Correction{DecisionID: d.ID, Verb: revue.Verbs()[rnd.IntN(4)]})
			}
		}
	}
}
