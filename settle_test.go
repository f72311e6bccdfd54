package revue_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/memory"
	"github.com/revuehq/revue/storage/memstore"
	"github.com/revuehq/revue/storage/storagetest"
)

func at(a revue.Agent, thread, repo string) revue.Agent {
	a.Thread, a.Repo = thread, repo
	return a
}

func request(t *testing.T, d *revue.Desk, a revue.Agent, ask revue.Ask) revue.Outcome {
	t.Helper()
	o, err := d.Decider(a).Request(t.Context(), ask)
	require.NoError(t, err)
	return o
}

func yesNo(question string) revue.Ask {
	return revue.Ask{Question: question, Options: []revue.Option{{Value: "yes"}, {Value: "no"}}}
}

func answer(t *testing.T, d *revue.Desk, lot string, a revue.Answer) revue.Lot {
	t.Helper()
	l, err := d.Reviewer(alice).Answer(t.Context(), lot, a)
	require.NoError(t, err)
	return l
}

// A store that can't tell whether a commit happened runs the transaction again: nothing is doubled by that, and
// nothing that was done is taken for somebody else's.
func TestRerunTransactions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		desk := plane(storagetest.Rerun(memstore.New(nil)))
		human, admin := desk.Reviewer(alice), desk.Admin(local)
		_, err := admin.CreateWorkspace(t.Context(), "fresh")
		require.NoError(t, err)
		_, err = admin.CreateWorkspace(t.Context(), "fresh")
		require.ErrorIs(t, err, revue.ErrConflict)

		ask := yesNo("Which cache library should the billing service use?")
		first := request(t, desk, agent("a"), ask)
		require.Equal(t, first.LotID, request(t, desk, agent("b"), ask).LotID)
		lot := answer(t, desk, first.LotID, revue.Answer{Value: "yes"})
		require.Len(t, lot.Asks, 2)
		require.Equal(t, revue.OutcomeReused, request(t, desk, agent("c"), ask).Status)
		_, err = desk.Decider(agent("c")).Share(t.Context(), revue.ContextItem{Kind: "note", Body: "b"})
		require.NoError(t, err)
		dec, err := human.Correct(t.Context(), revue.Correction{DecisionID: lot.DecisionID, Verb: revue.VerbWrong})
		require.NoError(t, err)
		dec, err = human.Correct(t.Context(), revue.Correction{DecisionID: dec.ID, Undoes: dec.Corrections[0].ID})
		require.NoError(t, err)
		require.Len(t, dec.Corrections, 2)

		// A dismissal, taken back into the lot that asks the same by now.
		other := yesNo("Which queue should the importer use?")
		one := request(t, desk, agent("a"), other)
		_, err = human.Dismiss(t.Context(), one.LotID, revue.Dismissal{})
		require.NoError(t, err)
		two := request(t, desk, agent("b"), other)
		into, err := human.Reopen(t.Context(), one.LotID)
		require.NoError(t, err)
		require.Equal(t, two.LotID, into.ID)
		require.Len(t, into.Asks, 2)
		answer(t, desk, two.LotID, revue.Answer{Value: "yes"})
		require.NoError(t, admin.Purge(t.Context(), two.LotID))
		tok, err := admin.CreateToken(t.Context(), revue.NewToken{Kind: revue.TokenAgent, Workspace: "fresh"})
		require.NoError(t, err)
		_, err = admin.RevokeToken(t.Context(), tok.ID)
		require.NoError(t, err)

		seen := map[string]bool{}
		for _, e := range journalOf(t, desk) {
			k := fmt.Sprint(e.Kind, e.Lot, e.Asks, e.Decision, e.Ref)
			require.False(t, seen[k], "doubled: %+v", e)
			seen[k] = true
			require.False(t, e.Kind == revue.EventAskMoved && len(e.Asks) == 0, "%+v", e)
		}
	})
}

// The outcome of an approval is claimed by a call, and taken back for a call, once, however often the transaction
// runs.
func TestRerunApprovals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		desk := plane(storagetest.Rerun(memstore.New(nil)))
		ask := revue.Ask{Kind: revue.KindApproval, Question: "Drop the table?", Context: "x", Wait: time.Hour}
		who := agent("a")
		who.Acknowledges = true
		outcomes := make(chan revue.Outcome, 2)
		for range 2 {
			go func() {
				o, _ := desk.Decider(who).Request(t.Context(), ask)
				outcomes <- o
			}()
		}
		synctest.Wait()
		answer(t, desk, onlyLot(t, desk).ID, revue.Answer{Value: revue.Approved})
		lost, got := <-outcomes, <-outcomes
		require.Equal(t, revue.Approved, lost.Answer)
		require.Equal(t, revue.Approved, got.Answer)
		returner := desk.Decider(who).(revue.Returner)
		require.NoError(t, returner.Returned(t.Context(), lost, errors.New("broken pipe")))
		require.NoError(t, returner.Returned(t.Context(), got, nil))
		time.Sleep(time.Minute) //nolint:forbidigo // fake time
		ask.Wait = 0
		require.Equal(t, revue.OutcomePending, request(t, desk, who, ask).Status, "one of the two was delivered")

		// And one that nobody was parked on is collected, though its claim is written twice.
		again := onlyLot(t, desk)
		answer(t, desk, again.ID, revue.Answer{Value: revue.Declined})
		time.Sleep(time.Minute) //nolint:forbidigo // fake time
		o := request(t, desk, who, ask)
		require.Equal(t, revue.Declined, o.Answer)
		require.NoError(t, returner.Returned(t.Context(), o, nil))
		require.Equal(t, revue.OutcomePending, request(t, desk, who, ask).Status)
	})
}

// One thread may ask the same in two repositories, in turns: each gets its own answer, and no ask is made twice.
func TestResumeInTwoRepositories(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		desk := plane(memstore.New(nil))
		one, two := at(agent("a"), "t", "github.com/acme/one"), at(agent("a"), "t", "github.com/acme/two")
		ask := yesNo("Should the legacy importer be deleted?")
		first := request(t, desk, one, ask)
		second := request(t, desk, two, ask)
		require.NotEqual(t, first.LotID, second.LotID)
		for range 3 {
			require.Equal(t, first.AskID, request(t, desk, one, ask).AskID)
			require.Equal(t, second.AskID, request(t, desk, two, ask).AskID)
		}
		answer(t, desk, first.LotID, revue.Answer{Value: "yes"})
		require.Equal(t, revue.OutcomeAnswered, request(t, desk, one, ask).Status)
		require.Equal(t, revue.OutcomePending, request(t, desk, two, ask).Status)
	})
}

func TestDecisionRefIsOfItsOptionsAndRepository(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		desk := plane(memstore.New(nil))
		here := at(agent("a"), "t", "github.com/acme/one")
		ask := yesNo("Which port should the service use?")
		o := request(t, desk, here, ask)
		answer(t, desk, o.LotID, revue.Answer{Value: "yes"})
		ask.DecisionRef = o.AskID
		require.Equal(t, revue.OutcomeAnswered, request(t, desk, here, ask).Status)
		elsewhere := at(agent("a"), "t", "github.com/acme/two")
		_, err := desk.Decider(elsewhere).Request(t.Context(), ask)
		require.ErrorIs(t, err, revue.ErrInvalid)
		ask.Options = []revue.Option{{Value: "80"}, {Value: "443"}}
		_, err = desk.Decider(here).Request(t.Context(), ask)
		require.ErrorIs(t, err, revue.ErrInvalid)
		ask.Options = nil // it need not repeat them
		require.Equal(t, revue.OutcomeAnswered, request(t, desk, here, ask).Status)
	})
}

// What was meant for once, or for its moment, is no answer to the same call much later.
func TestOnceIsReleased(t *testing.T) {
	for name, c := range map[string]struct {
		question string
		remember revue.Remember
		later    revue.OutcomeStatus
	}{
		"once":             {"Which port should the service use?", revue.RememberOnce, revue.OutcomePending},
		"a decision":       {"Which port should the service use?", revue.RememberDefault, revue.OutcomeAnswered},
		"leave":            {"May I restart the payments service?", revue.RememberDefault, revue.OutcomePending},
		"leave, as a rule": {"May I restart the payments service?", revue.RememberRule, revue.OutcomeAnswered},
		"a pointing one":   {"Should we merge this?", revue.RememberDefault, revue.OutcomePending},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				desk := plane(memstore.New(nil))
				o := request(t, desk, agent("a"), yesNo(c.question))
				answer(t, desk, o.LotID, revue.Answer{Value: "yes", Remember: c.remember})
				require.Equal(t, revue.OutcomeAnswered, request(t, desk, agent("a"), yesNo(c.question)).Status)
				time.Sleep(9 * time.Minute) //nolint:forbidigo // fake time
				require.Equal(t, revue.OutcomeAnswered, request(t, desk, agent("a"), yesNo(c.question)).Status)
				time.Sleep(100 * 24 * time.Hour) //nolint:forbidigo // fake time
				require.Equal(t, c.later, request(t, desk, agent("a"), yesNo(c.question)).Status)
			})
		})
	}
}

// A lot that was reopened can be answered, or it is not reopened.
func TestReopenedLotsCanBeAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		desk := plane(memstore.New(nil))
		human := desk.Reviewer(alice)
		ask := yesNo("Which cache library should the billing service use?")
		one := request(t, desk, agent("a"), ask)
		_, err := human.Dismiss(t.Context(), one.LotID, revue.Dismissal{})
		require.NoError(t, err)
		two := request(t, desk, agent("b"), ask)
		for range 2 { // the second time it is where it was put
			lot, err := human.Reopen(t.Context(), one.LotID)
			require.NoError(t, err)
			require.Equal(t, two.LotID, lot.ID)
			require.Len(t, lot.Asks, 2)
		}
		answer(t, desk, two.LotID, revue.Answer{Value: "yes"})
		lot, err := human.Reopen(t.Context(), one.LotID)
		require.NoError(t, err)
		require.Equal(t, two.LotID, lot.ID)
		require.Equal(t, revue.StatusAnswered, lot.Status)
		require.Equal(t, revue.OutcomeAnswered, request(t, desk, agent("a"), ask).Status)

		gone := request(t, desk, agent("a"), yesNo("Which secret name has the host?"))
		_, err = human.Dismiss(t.Context(), gone.LotID, revue.Dismissal{})
		require.NoError(t, err)
		require.NoError(t, desk.Admin(alice).Purge(t.Context(), gone.LotID))
		_, err = human.Reopen(t.Context(), gone.LotID)
		require.ErrorIs(t, err, revue.ErrConflict, "nobody could tell what it asks")
	})
}

// Reopening puts asks together only where their repositories fit.
func TestReopenKeepsRepositoriesApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		desk := plane(memstore.New(nil))
		human := desk.Reviewer(alice)
		ask := yesNo("Which cache library should the billing service use?")
		unknown := request(t, desk, agent("a"), ask)
		one := request(t, desk, at(agent("b"), "t", "github.com/acme/one"), ask)
		require.Equal(t, unknown.LotID, one.LotID)
		_, err := human.Dismiss(t.Context(), one.LotID, revue.Dismissal{})
		require.NoError(t, err)
		two := request(t, desk, at(agent("c"), "t", "github.com/acme/two"), ask)
		_, err = human.Reopen(t.Context(), one.LotID)
		require.NoError(t, err)
		page, err := human.Lots(t.Context(), revue.LotFilter{Status: revue.StatusOpen})
		require.NoError(t, err)
		asks := 0
		for _, lot := range page.Items {
			repos := map[string]bool{}
			for _, a := range lot.Asks {
				asks++
				if a.Repo != "" {
					repos[a.Repo] = true
				}
			}
			require.LessOrEqual(t, len(repos), 1, "lot %s", lot.ID)
		}
		require.Equal(t, 3, asks, "none is lost")
		require.NotEmpty(t, two.LotID)
	})
}

// A dismissal is shown to whoever asks the same again, in whatever spelling.
func TestEarlierDismissalIsShown(t *testing.T) {
	for _, fresh := range []bool{true, false} { // a desk that followed the journal, and one that just started
		synctest.Test(t, func(t *testing.T) {
			store := memstore.New(nil)
			desk := plane(store)
			o := request(t, desk, agent("a"), yesNo("Which database should the billing service use?"))
			_, err := desk.Reviewer(alice).Dismiss(t.Context(), o.LotID, revue.Dismissal{Reason: "later"})
			require.NoError(t, err)
			if fresh {
				desk = plane(store)
			}
			again := request(t, desk, agent("b"), yesNo("which DB should the billing service use"))
			lot, err := desk.Reviewer(alice).Lot(t.Context(), again.LotID)
			require.NoError(t, err)
			require.NotNil(t, lot.Earlier)
			require.Equal(t, "later", lot.Earlier.Reason)
			require.Equal(t, o.LotID, lot.Earlier.LotID)
		})
	}
}

// An answer that was withdrawn before a parked call read it does not reach the call: it asks anew.
func TestWithdrawnBeforeItWasRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		raw := memstore.New(nil)
		asking, deciding := plane(raw), plane(raw) // asking polls: it reads a second later
		got := make(chan revue.Outcome, 1)
		go func() {
			ask := yesNo("Which cache library should the billing service use?")
			ask.Wait = 10 * time.Second
			o, _ := asking.Decider(agent("a")).Request(t.Context(), ask)
			got <- o
		}()
		synctest.Wait()
		lot := answer(t, deciding, onlyLot(t, deciding).ID, revue.Answer{Value: "yes"})
		_, err := deciding.Reviewer(alice).Correct(t.Context(), revue.Correction{DecisionID: lot.DecisionID, Verb: revue.VerbWrong})
		require.NoError(t, err)
		o := <-got
		require.Equal(t, revue.OutcomePending, o.Status)
		require.NotEqual(t, lot.ID, o.LotID)
	})
}

// The store's clock may be set back: a call does not wait for it to catch up.
func TestClockSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var back time.Duration
		desk := plane(memstore.New(&memstore.Options{Now: func() time.Time { return time.Now().Add(-back) }}))
		ask := revue.Ask{Kind: revue.KindApproval, Question: "Drop the table?", Context: "x"}
		o := request(t, desk, agent("a"), ask)
		answer(t, desk, o.LotID, revue.Answer{Value: revue.Approved})
		back = time.Hour
		start := time.Now()
		o = request(t, desk, agent("a"), ask)
		require.Equal(t, revue.Approved, o.Answer)
		require.Less(t, time.Since(start), 5*time.Second)
	})
}

// Credential and thread together say whose approval it is; no two pairs are taken for one.
func TestApprovalsOfAlikeCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		desk := plane(memstore.New(nil))
		ask := revue.Ask{Kind: revue.KindApproval, Question: "Drop the table?", Context: "x"}
		pair := func(credential, thread string) revue.Agent {
			a := agent(credential)
			a.Thread = thread
			return a
		}
		o := request(t, desk, pair("team", "x y"), ask)
		answer(t, desk, o.LotID, revue.Answer{Value: revue.Approved})
		time.Sleep(time.Minute) //nolint:forbidigo // fake time
		for _, other := range []revue.Agent{pair("team x", "y"), pair("team x y", ""), pair("tea", "mx y"), pair("team", "x  y")} {
			require.Equal(t, revue.OutcomePending, request(t, desk, other, ask).Status, "%+v", other)
		}
	})
}

// What is purged is gone from the other cards too.
func TestPurgeReachesOtherCards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		desk := plane(memstore.New(nil))
		human, admin := desk.Reviewer(alice), desk.Admin(alice)
		one := request(t, desk, agent("a"), yesNo("Should the hushhush importer use Kafka?"))
		lot := answer(t, desk, one.LotID, revue.Answer{Text: "hushhush yes"})
		two := request(t, desk, agent("b"), yesNo("Should the hushhush importer not use Kafka?"))
		three := request(t, desk, agent("b"), yesNo("Should the hushhush importer use RabbitMQ?"))
		_, err := human.Dismiss(t.Context(), two.LotID, revue.Dismissal{Reason: "hushhush no"})
		require.NoError(t, err)
		four := request(t, desk, agent("c"), yesNo("Should the hushhush importer not use Kafka?"))
		for _, id := range []string{lot.ID, lot.DecisionID, two.LotID} {
			require.NoError(t, admin.Purge(t.Context(), id))
		}
		for _, id := range []string{one.LotID, two.LotID} {
			l, err := human.Lot(t.Context(), id)
			require.NoError(t, err)
			require.NotContains(t, fmt.Sprintf("%+v", l), "hushhush")
		}
		for _, id := range []string{three.LotID, four.LotID} {
			l, err := human.Lot(t.Context(), id)
			require.NoError(t, err)
			require.NotContains(t, fmt.Sprintf("%+v %+v", l.Pinned, l.Earlier), "hushhush")
			for _, r := range l.Related {
				require.False(t, r.LotID == two.LotID && r.Question != "[purged]", "%+v", r)
			}
		}
	})
}

// A notifier that is new to a workspace hears of what waits, and of nothing that is over.
func TestNewNotifierHearsOfWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(nil)
		desk := plane(store)
		waits := request(t, desk, agent("a"), yesNo("Which colour has the first door?"))
		for i := range 10 {
			o := request(t, desk, agent("a"), yesNo(fmt.Sprintf("Which colour has door %d?", i+2)))
			answer(t, desk, o.LotID, revue.Answer{Value: "yes"})
		}
		n := &told{}
		running(t, withNotifier(store, n))
		time.Sleep(time.Minute) //nolint:forbidigo // fake time
		got := n.notices()
		require.Len(t, got, 1)
		require.Equal(t, waits.LotID, got[0].Lot.ID)
		answer(t, desk, waits.LotID, revue.Answer{Value: "yes"})
		time.Sleep(time.Minute) //nolint:forbidigo // fake time
		require.Len(t, n.notices(), 2, "what happens from now on is told")
	})
}

// panicking panics in the first transactions that are to note a return.
type panicking struct {
	revue.Store
	times int
}

func (s *panicking) Update(ctx context.Context, ws string, fn func(revue.Tx) error) error {
	if s.times > 0 {
		s.times--
		panic("the store is broken")
	}
	return s.Store.Update(ctx, ws, fn)
}

// A store that panics once does not stop later answers from being returned.
func TestPanicWhileNotingAReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &panicking{Store: memstore.New(nil)}
		desk := revue.New(store, memory.New(nil), nil)
		ask := yesNo("Which colour has the first door?")
		o := request(t, desk, agent("a"), ask)
		answer(t, desk, o.LotID, revue.Answer{Value: "yes"})
		store.times = 1
		require.Panics(t, func() { _, _ = desk.Decider(agent("a")).Request(t.Context(), ask) })
		require.Equal(t, revue.OutcomeAnswered, request(t, desk, agent("a"), ask).Status)
	})
}

// Nobody can say of another credential's ask that its outcome was returned.
func TestReturnedOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		desk := plane(memstore.New(nil))
		o := request(t, desk, agent("a"), yesNo("Which colour has the first door?"))
		o.Status = revue.OutcomeAnswered
		err := desk.Decider(agent("b")).(revue.Returner).Returned(t.Context(), o, nil)
		require.ErrorIs(t, err, revue.ErrNotFound)
	})
}

// A reference to an ask that no longer answers does not ask for ever: what was asked and answered since counts.
func TestDecisionRefToReleasedAsk(t *testing.T) {
	for name, release := range map[string]func(t *testing.T, d *revue.Desk, lot revue.Lot){
		"once, long ago": func(*testing.T, *revue.Desk, revue.Lot) {},
		"withdrawn": func(t *testing.T, d *revue.Desk, lot revue.Lot) {
			_, err := d.Reviewer(alice).Correct(t.Context(), revue.Correction{DecisionID: lot.DecisionID, Verb: revue.VerbWrong})
			require.NoError(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				desk := plane(memstore.New(nil))
				ask := yesNo("Which port should the service use?")
				first := request(t, desk, agent("a"), ask)
				lot := answer(t, desk, first.LotID, revue.Answer{Value: "yes", Remember: revue.RememberOnce})
				ask.DecisionRef = first.AskID
				require.Equal(t, revue.OutcomeAnswered, request(t, desk, agent("a"), ask).Status)
				time.Sleep(time.Hour) //nolint:forbidigo // fake time
				release(t, desk, lot)
				second := request(t, desk, agent("a"), ask)
				require.Equal(t, revue.OutcomePending, second.Status)
				for range 3 {
					require.Equal(t, second.AskID, request(t, desk, agent("a"), ask).AskID)
				}
				require.Equal(t, 1, onlyLot(t, desk).AskCount)
				answer(t, desk, second.LotID, revue.Answer{Value: "no"})
				require.Equal(t, "no", request(t, desk, agent("a"), ask).Answer)
			})
		})
	}
}

// What a memory that failed could not read of a question binds as little as it may.
func TestAnswerToAQuestionNobodyRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		desk := revue.New(memstore.New(nil), failingMemory{memory.New(nil)}, nil)
		ask := yesNo("Should we merge this?")
		answer(t, desk, request(t, desk, agent("a"), ask).LotID, revue.Answer{Value: "yes"})
		require.Equal(t, revue.OutcomeAnswered, request(t, desk, agent("a"), ask).Status)
		time.Sleep(time.Hour) //nolint:forbidigo // fake time
		require.Equal(t, revue.OutcomePending, request(t, desk, agent("a"), ask).Status)
	})
}

// A call that is cancelled while its answer is noted as returned gets the answer, or the answer is still there for
// another thread: it is never both gone.
func TestCancelledWhileReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for i := range 40 {
			desk := plane(memstore.New(nil))
			ask := yesNo("Which port should the service use?")
			o := request(t, desk, agent("a"), ask)
			answer(t, desk, o.LotID, revue.Answer{Value: "yes", Remember: revue.RememberOnce})
			ctx, cancel := context.WithCancel(t.Context())
			go cancel()
			o, err := desk.Decider(agent("a")).Request(ctx, ask)
			if err == nil {
				require.Equal(t, revue.OutcomeAnswered, o.Status, i)
				continue
			}
			require.ErrorIs(t, err, context.Canceled)
			restarted := agent("a")
			restarted.Thread = "a-2"
			require.Equal(t, revue.OutcomeAnswered, request(t, desk, restarted, ask).Status, i)
		}
	})
}

// A dismissal that was taken back, into another lot too, is not shown as one; and what was merged and dismissed
// again is reopened where it is.
func TestDismissalTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(nil)
		desk := plane(store)
		human := desk.Reviewer(alice)
		ask := yesNo("Which port should the service use?")
		one := request(t, desk, agent("a"), ask)
		_, err := human.Dismiss(t.Context(), one.LotID, revue.Dismissal{Reason: "no"})
		require.NoError(t, err)
		two := request(t, desk, agent("b"), ask)
		_, err = human.Reopen(t.Context(), one.LotID)
		require.NoError(t, err)
		_, err = human.Dismiss(t.Context(), two.LotID, revue.Dismissal{Reason: "not yet"})
		require.NoError(t, err)
		lot, err := human.Reopen(t.Context(), one.LotID)
		require.NoError(t, err)
		require.Equal(t, two.LotID, lot.ID)
		require.Equal(t, revue.StatusOpen, lot.Status)
		answer(t, desk, two.LotID, revue.Answer{Value: "yes", Remember: revue.RememberOnce})
		for _, d := range []*revue.Desk{desk, plane(store)} {
			three := request(t, d, agent("c"), ask)
			lot, err = human.Lot(t.Context(), three.LotID)
			require.NoError(t, err)
			require.Nil(t, lot.Earlier)
		}
	})
}

// A purged dismissal is shown by no desk, whether it followed the journal or has just started.
func TestPurgedDismissalIsNotShown(t *testing.T) {
	for _, fresh := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			store := memstore.New(nil)
			desk := plane(store)
			ask := yesNo("Which port should the service use?")
			o := request(t, desk, agent("a"), ask)
			_, err := desk.Reviewer(alice).Dismiss(t.Context(), o.LotID, revue.Dismissal{Reason: "no"})
			require.NoError(t, err)
			require.NoError(t, desk.Admin(alice).Purge(t.Context(), o.LotID))
			if fresh {
				desk = plane(store)
			}
			lot, err := desk.Reviewer(alice).Lot(t.Context(), request(t, desk, agent("b"), ask).LotID)
			require.NoError(t, err)
			require.Nil(t, lot.Earlier)
		})
	}
}

// A notice that was handed over while the process was told to stop is not sent again by the next one.
func TestStopWhileANoticeIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(nil)
		ctx, stop := context.WithCancel(t.Context())
		n := &told{}
		stopping := revue.NotifierFunc(func(ctx context.Context, notice revue.Notice) error {
			stop()
			return n.Notify(ctx, notice)
		})
		desk := withNotifier(store, stopping)
		request(t, desk, agent("a"), yesNo("Which port should the service use?"))
		require.NoError(t, desk.Run(ctx))
		require.Len(t, n.notices(), 1)
		running(t, withNotifier(store, n))
		time.Sleep(5 * time.Minute) //nolint:forbidigo // fake time
		require.Len(t, n.notices(), 1)
	})
}
