package revue_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/storage/memstore"
	"github.com/revuehq/revue/storage/storagetest"
)

// calling returns a human's reviewer for one write.
func calling(d *revue.Desk, h revue.Human, call string) revue.Reviewer {
	h.Call = call
	return d.Reviewer(h)
}

var bob = revue.Human{Workspace: "w", ID: "bob", Name: "bob", Via: "test"}

func kindsOf(t *testing.T, s revue.Store) map[revue.EventKind]int {
	t.Helper()
	count := map[revue.EventKind]int{}
	for _, e := range journalIn(t, s, "w") {
		count[e.Kind]++
	}
	return count
}

// A write that is tried again is done once, whatever happened since, over every store.
func TestHumanCall(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) revue.Store{
		"memory":          func(*testing.T) revue.Store { return memstore.New(nil) },
		"memory, rerun":   func(*testing.T) revue.Store { return storagetest.Rerun(memstore.New(nil)) },
		"sqlite":          func(t *testing.T) revue.Store { return sqliteStore(t) },
		"sqlite, a rerun": func(t *testing.T) revue.Store { return storagetest.Rerun(sqliteStore(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			store := open(t)
			desk, other := plane(store), plane(store)
			ctx := t.Context()
			o := request(t, desk, agent("a"), yesNo("Should the crane be painted?"))
			far := request(t, desk, agent("a"), yesNo("Which of the barges is sold?"))

			no := revue.Dismissal{Reason: "not now", Seen: 1}
			lot, err := calling(desk, alice, "call-1").Dismiss(ctx, o.LotID, no)
			require.NoError(t, err)
			require.Equal(t, revue.StatusDismissed, lot.Status)
			again, err := calling(other, alice, "call-1").Dismiss(ctx, o.LotID, no)
			require.NoError(t, err)
			require.Equal(t, lot.Revision, again.Revision)
			_, err = calling(desk, bob, "call-1").Reopen(ctx, o.LotID) // a call of another human
			require.NoError(t, err)
			lot, err = calling(other, alice, "call-1").Dismiss(ctx, o.LotID, no)
			require.NoError(t, err)
			require.Equal(t, revue.StatusOpen, lot.Status, "a retry dismissed what somebody had reopened")
			require.Len(t, lot.Asks, 1)
			require.Equal(t, 1, kindsOf(t, store)[revue.EventLotDismissed])

			// The id is for this write alone.
			_, err = calling(desk, alice, "call-1").Dismiss(ctx, o.LotID, revue.Dismissal{Reason: "never", Seen: 1})
			require.ErrorIs(t, err, revue.ErrConflict)
			_, err = calling(desk, alice, "call-1").Dismiss(ctx, far.LotID, no)
			require.ErrorIs(t, err, revue.ErrConflict)
			_, err = calling(desk, alice, "call-1").Reopen(ctx, o.LotID)
			require.ErrorIs(t, err, revue.ErrConflict)
			_, err = calling(desk, alice, "call-1").Answer(ctx, o.LotID, revue.Answer{Value: "yes"})
			require.ErrorIs(t, err, revue.ErrConflict)
			_, err = calling(desk, alice, "call-1").Correct(ctx, revue.Correction{DecisionID: "dec_x", Verb: revue.VerbWrong})
			require.ErrorIs(t, err, revue.ErrConflict)
			lot, err = desk.Reviewer(alice).Lot(ctx, o.LotID)
			require.NoError(t, err)
			require.Equal(t, revue.StatusOpen, lot.Status)

			// A retry of the reopening does not take back a later dismissal.
			_, err = desk.Reviewer(alice).Dismiss(ctx, o.LotID, revue.Dismissal{Reason: "later"})
			require.NoError(t, err)
			lot, err = calling(desk, bob, "call-1").Reopen(ctx, o.LotID)
			require.NoError(t, err)
			require.Equal(t, revue.StatusDismissed, lot.Status)
			require.Equal(t, 1, kindsOf(t, store)[revue.EventLotReopened])

			// An answer, and a correction that was undone since.
			yes := revue.Answer{Value: "yes"}
			lot, err = calling(desk, alice, "call-2").Answer(ctx, far.LotID, yes)
			require.NoError(t, err)
			again, err = calling(other, alice, "call-2").Answer(ctx, far.LotID, yes)
			require.NoError(t, err)
			require.Equal(t, lot.DecisionID, again.DecisionID)
			_, err = calling(other, alice, "call-3").Answer(ctx, far.LotID, revue.Answer{Value: "no"})
			require.ErrorIs(t, err, revue.ErrConflict)
			wrong := revue.Correction{DecisionID: lot.DecisionID, Verb: revue.VerbWrong}
			dec, err := calling(desk, alice, "call-4").Correct(ctx, wrong)
			require.NoError(t, err)
			require.True(t, dec.Stands(revue.VerbWrong))
			_, err = desk.Reviewer(bob).Correct(ctx, revue.Correction{DecisionID: dec.ID, Undoes: dec.Corrections[0].ID})
			require.NoError(t, err)
			dec, err = calling(other, alice, "call-4").Correct(ctx, wrong)
			require.NoError(t, err)
			require.False(t, dec.Stands(revue.VerbWrong), "a retry withdrew what somebody had put back")
			expire := revue.Correction{DecisionID: dec.ID, Verb: revue.VerbExpiresAfter, After: time.Hour}
			_, err = calling(desk, alice, "call-5").Correct(ctx, expire)
			require.NoError(t, err)
			dec, err = calling(desk, alice, "call-5").Correct(ctx, expire)
			require.NoError(t, err)
			require.Len(t, dec.Corrections, 3)
			expire.After = 2 * time.Hour
			_, err = calling(desk, alice, "call-5").Correct(ctx, expire)
			require.ErrorIs(t, err, revue.ErrConflict)

			// What failed was not done: the id is free.
			third := request(t, desk, agent("a"), yesNo("Is the harbour to be dredged?"))
			_, err = calling(desk, alice, "call-6").Answer(ctx, third.LotID, revue.Answer{Value: "perhaps"})
			require.ErrorIs(t, err, revue.ErrInvalid)
			_, err = calling(desk, alice, "call-6").Answer(ctx, third.LotID, yes)
			require.NoError(t, err)
		})
	}
}

func TestHumanCallID(t *testing.T) {
	store := memstore.New(nil)
	desk := plane(store)
	o := request(t, desk, agent("a"), yesNo("Should the crane be painted?"))
	for _, call := range []string{" ", "\u200b", "a\x00b", "a\nb", "a\u202eb", "\xff", strings.Repeat("x", revue.MaxCall+1)} {
		_, err := calling(desk, alice, call).Answer(t.Context(), o.LotID, revue.Answer{Value: "yes"})
		require.ErrorIs(t, err, revue.ErrInvalid, "%q", call)
		a := agent("a")
		a.Call = call
		_, err = desk.Decider(a).Request(t.Context(), revue.Ask{Kind: revue.KindApproval, Question: "Go?"})
		require.ErrorIs(t, err, revue.ErrInvalid, "%q", call)
	}
	require.Equal(t, revue.StatusOpen, onlyLot(t, desk).Status)
	_, err := calling(desk, alice, strings.Repeat("x", revue.MaxCall)).Answer(t.Context(), o.LotID, revue.Answer{Value: "yes"})
	require.NoError(t, err)
}

// Of one call that comes many times at once, one is done.
func TestHumanCallAtOnce(t *testing.T) {
	store := memstore.New(nil)
	desks := []*revue.Desk{plane(store), plane(store)}
	o := request(t, desks[0], agent("a"), yesNo("Should the crane be painted?"))
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			if _, err := calling(desks[i%2], alice, "one").Dismiss(t.Context(), o.LotID, revue.Dismissal{Reason: "x"}); err != nil {
				t.Error(err)
			}
			_, _ = desks[i%2].Reviewer(bob).Reopen(t.Context(), o.LotID)
		})
	}
	wg.Wait()
	require.Equal(t, 1, kindsOf(t, store)[revue.EventLotDismissed])
	require.Equal(t, revue.StatusOpen, onlyLot(t, desks[0]).Status)
}

// A call is remembered for a day, and then no longer.
func TestHumanCallIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(nil)
		desk := plane(store)
		running(t, desk)
		o := request(t, desk, agent("a"), yesNo("Should the crane be painted?"))
		dismiss := func() revue.Status {
			t.Helper()
			lot, err := calling(desk, alice, "one").Dismiss(t.Context(), o.LotID, revue.Dismissal{Reason: "x"})
			require.NoError(t, err)
			return lot.Status
		}
		kept := func() (n int) {
			require.NoError(t, store.View(t.Context(), "w", func(tx revue.Tx) error {
				found, err := tx.ListRecords("call")
				n = len(found)
				return err
			}))
			return n
		}
		require.Equal(t, revue.StatusDismissed, dismiss())
		_, err := desk.Reviewer(bob).Reopen(t.Context(), o.LotID)
		require.NoError(t, err)
		time.Sleep(24 * time.Hour) //nolint:forbidigo // fake time
		require.Equal(t, 1, kept())
		require.Equal(t, revue.StatusOpen, dismiss())
		time.Sleep(90 * time.Minute) //nolint:forbidigo // fake time
		require.Zero(t, kept())
		require.Equal(t, revue.StatusDismissed, dismiss())
	})
}

// approving asks for one approval under the id of a call.
func approving(t *testing.T, d *revue.Desk, call string, wait time.Duration) revue.Outcome {
	t.Helper()
	a := agent("a")
	a.Call = call
	o, err := d.Decider(a).Request(t.Context(), revue.Ask{Kind: revue.KindApproval, Question: "Drop the table?", Wait: wait, Expires: time.Hour})
	require.NoError(t, err)
	return o
}

func TestAgentCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		desk := plane(memstore.New(nil))
		running(t, desk)
		synctest.Wait()
		parked := func(call string) <-chan revue.Outcome {
			out := make(chan revue.Outcome, 1)
			go func() { out <- approving(t, desk, call, 30*time.Minute) }()
			synctest.Wait()
			return out
		}
		approve := func() revue.Lot {
			t.Helper()
			page, err := desk.Reviewer(alice).Lots(t.Context(), revue.LotFilter{Status: revue.StatusOpen})
			require.NoError(t, err)
			require.Len(t, page.Items, 1)
			return answer(t, desk, page.Items[0].ID, revue.Answer{Value: revue.Approved})
		}
		open := func(o revue.Outcome, not ...string) {
			t.Helper()
			require.Equal(t, revue.OutcomePending, o.Status)
			require.NotContains(t, not, o.LotID, "it is a new card")
		}
		got := func(o revue.Outcome, lot string) {
			t.Helper()
			require.Equal(t, revue.OutcomeAnswered, o.Status)
			require.Equal(t, revue.Approved, o.Answer)
			require.Equal(t, lot, o.LotID)
		}

		// Two calls wait, and one is between two polls when the answer comes: each gets it.
		open(approving(t, desk, "polls", 0))
		first, second := parked("one"), parked("two")
		lot := approve()
		got(<-first, lot.ID)
		got(<-second, lot.ID)
		got(approving(t, desk, "polls", 0), lot.ID)
		// Each of them gets it again within the hour, however often, and nobody else does.
		time.Sleep(59 * time.Minute) //nolint:forbidigo // fake time
		for _, call := range []string{"one", "two", "polls", "one"} {
			got(approving(t, desk, call, 0), lot.ID)
		}
		open(approving(t, desk, "three", 0), lot.ID)
		open(approving(t, desk, "", 0), lot.ID)
		next := approve()
		require.NotEqual(t, lot.ID, next.ID)
		got(approving(t, desk, "three", 0), next.ID)
		got(approving(t, desk, "one", 0), lot.ID)
		// After that it is old news, to whoever had it.
		time.Sleep(2 * time.Minute) //nolint:forbidigo // fake time
		got(approving(t, desk, "three", 0), next.ID)
		open(approving(t, desk, "one", 0), lot.ID, next.ID)
		open(approving(t, desk, "polls", 0), lot.ID, next.ID)
	})
}

// Calls that asked and did not stay are later calls: one of them collects the outcome, once.
func TestAgentCallsThatLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		desk := plane(memstore.New(nil))
		running(t, desk)
		for _, call := range []string{"one", "two", ""} {
			require.Equal(t, revue.OutcomePending, approving(t, desk, call, 0).Status)
		}
		time.Sleep(10 * time.Second) //nolint:forbidigo // fake time
		lot := answer(t, desk, onlyLot(t, desk).ID, revue.Answer{Value: revue.Approved})
		time.Sleep(10 * time.Second) //nolint:forbidigo // fake time
		o := approving(t, desk, "two", 0)
		require.Equal(t, revue.OutcomeAnswered, o.Status)
		require.Equal(t, lot.ID, o.LotID)
		for _, call := range []string{"one", "", "three"} {
			require.Equal(t, revue.OutcomePending, approving(t, desk, call, 0).Status, "call %q", call)
		}
		require.Equal(t, lot.ID, approving(t, desk, "two", 0).LotID, "the call that has it")
		// A call that is told an hour later is asked for anew, and so is one whose card nobody collected in time.
		other := answer(t, desk, onlyLot(t, desk).ID, revue.Answer{Value: revue.Approved})
		time.Sleep(61 * time.Minute) //nolint:forbidigo // fake time
		for _, call := range []string{"one", "two", "three"} {
			o := approving(t, desk, call, 0)
			require.Equal(t, revue.OutcomePending, o.Status)
			require.NotContains(t, []string{lot.ID, other.ID}, o.LotID)
		}
	})
}

// What a call said it has is not given back, and nobody else says so for it.
func TestReturnedIsFinal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		desk := plane(memstore.New(nil))
		running(t, desk)
		returned := func(a revue.Agent, o revue.Outcome, err error) error {
			r, ok := desk.Decider(a).(revue.Returner)
			require.True(t, ok)
			return r.Returned(t.Context(), o, err)
		}
		a := agent("a")
		a.Call, a.Acknowledges = "one", true
		ask := revue.Ask{Kind: revue.KindApproval, Question: "Drop the table?"}
		o, err := desk.Decider(a).Request(t.Context(), ask)
		require.NoError(t, err)
		early := o
		early.Status = revue.OutcomeAnswered
		require.ErrorIs(t, returned(a, early, nil), revue.ErrConflict, "it has no outcome yet")
		lot := answer(t, desk, onlyLot(t, desk).ID, revue.Answer{Value: revue.Approved})
		o, err = desk.Decider(a).Request(t.Context(), ask)
		require.NoError(t, err)
		require.Equal(t, revue.Approved, o.Answer)

		thread, credential := a, a
		thread.Thread, credential.Credential = "elsewhere", "b"
		for _, other := range []revue.Agent{thread, credential} {
			require.ErrorIs(t, returned(other, o, errors.New("broken pipe")), revue.ErrNotFound)
			require.ErrorIs(t, returned(other, o, nil), revue.ErrNotFound)
		}
		next := a
		next.Call = "two"
		require.NoError(t, returned(a, o, nil))
		for range 3 {
			require.NoError(t, returned(a, o, errors.New("broken pipe")), "too late")
			raw := o
			raw.Claim = "one"
			require.NoError(t, returned(a, raw, errors.New("broken pipe")), "too late")
			again, err := desk.Decider(next).Request(t.Context(), ask)
			require.NoError(t, err)
			require.Equal(t, revue.OutcomePending, again.Status)
			require.NotEqual(t, lot.ID, again.LotID)
		}
	})
}

// An answer to a decision that was said to be returned before it was there is there for whoever asks next.
func TestReturnedTooEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		desk := plane(memstore.New(nil))
		running(t, desk)
		a := agent("a")
		o := request(t, desk, a, yesNo("Should I delete this now?"))
		require.Equal(t, revue.OutcomePending, o.Status)
		r, ok := desk.Decider(a).(revue.Returner)
		require.True(t, ok)
		early := o
		early.Status = revue.OutcomeAnswered
		require.ErrorIs(t, r.Returned(t.Context(), early, nil), revue.ErrConflict)
		time.Sleep(11 * time.Minute) //nolint:forbidigo // fake time
		answer(t, desk, o.LotID, revue.Answer{Value: "no"})
		got := request(t, desk, a, yesNo("Should I delete this now?"))
		require.Equal(t, revue.OutcomeAnswered, got.Status)
		require.Equal(t, "no", got.Answer)
	})
}

// What was approved for one repository is no leave for another, nor for one that is not known.
func TestApprovalIsOfOneRepository(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		desk := plane(memstore.New(nil))
		running(t, desk)
		lots := map[string]string{}
		ask := revue.Ask{Kind: revue.KindApproval, Question: "Run the migration?"}
		repos := []string{"github.com/acme/staging", "github.com/acme/billing-prod", ""}
		at := func(repo string) revue.Outcome {
			a := agent("a")
			a.Repo = repo
			return request(t, desk, a, ask)
		}
		for _, repo := range repos {
			lots[repo] = at(repo).LotID
		}
		require.NotEqual(t, lots[repos[0]], lots[repos[1]])
		require.NotEqual(t, lots[repos[0]], lots[repos[2]])
		answer(t, desk, lots[repos[0]], revue.Answer{Value: revue.Approved})
		time.Sleep(time.Minute) //nolint:forbidigo // fake time
		require.Equal(t, revue.OutcomePending, at(repos[1]).Status)
		require.Equal(t, revue.OutcomePending, at(repos[2]).Status)
		require.Equal(t, revue.Approved, at(repos[0]).Answer)
	})
}

// An outcome that did not reach its call is there for the next one, and for the same.
func TestAgentCallFails(t *testing.T) {
	for _, again := range []string{"one", "two", ""} {
		t.Run(fmt.Sprintf("then %q", again), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				desk := plane(memstore.New(nil))
				running(t, desk)
				synctest.Wait()
				a := agent("a")
				a.Call, a.Acknowledges = "one", true
				ask := revue.Ask{Kind: revue.KindApproval, Question: "Drop the table?", Wait: time.Hour}
				out := make(chan revue.Outcome, 1)
				go func() {
					o, err := desk.Decider(a).Request(t.Context(), ask)
					if err != nil {
						t.Error(err)
					}
					out <- o
				}()
				synctest.Wait()
				lot := answer(t, desk, onlyLot(t, desk).ID, revue.Answer{Value: revue.Declined})
				o := <-out
				require.Equal(t, revue.Declined, o.Answer)
				returner, ok := desk.Decider(a).(revue.Returner)
				require.True(t, ok)
				require.NoError(t, returner.Returned(t.Context(), o, errors.New("broken pipe")))
				time.Sleep(time.Minute) //nolint:forbidigo // fake time
				o = approving(t, desk, again, 0)
				require.Equal(t, revue.OutcomeAnswered, o.Status)
				require.Equal(t, lot.ID, o.LotID)
				// It was given away: another call is a new card.
				require.Equal(t, revue.OutcomePending, approving(t, desk, "other", 0).Status)
			})
		})
	}
}

// The secret of a token is shown once: a call that is tried again is told so, and makes no second token.
func TestHumanCallToken(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) revue.Store{
		"memory":        func(*testing.T) revue.Store { return memstore.New(nil) },
		"memory, rerun": func(*testing.T) revue.Store { return storagetest.Rerun(memstore.New(nil)) },
	} {
		t.Run(name, func(t *testing.T) {
			desk := newPlane(t, open(t))
			newToken(t, desk, revue.TokenHuman, "Ann") // makes the workspace
			h := local
			h.Call = "call-1"
			n := revue.NewToken{Kind: revue.TokenAgent, Label: "builder"}
			first, err := desk.Admin(h).CreateToken(t.Context(), n)
			require.NoError(t, err)
			require.NotEmpty(t, first.Secret)
			_, err = desk.Admin(h).CreateToken(t.Context(), n)
			require.ErrorIs(t, err, revue.ErrConflict)
			require.ErrorContains(t, err, first.ID)
			h.Call = "call-2"
			second, err := desk.Admin(h).CreateToken(t.Context(), n)
			require.NoError(t, err)
			tokens, err := desk.Admin(local).Tokens(t.Context())
			require.NoError(t, err)
			require.Len(t, tokens, 3)
			for _, tok := range []revue.Token{first, second} {
				_, err := desk.Authenticate(t.Context(), tok.Secret)
				require.NoError(t, err)
			}
		})
	}
}
