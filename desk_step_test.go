package revue_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/memory"
	"github.com/revuehq/revue/storage/memstore"
)

// stepStore runs an act of somebody else before the nth use of the store. Since every use counts twice,
// once before it begins and once after it ended, the act lands between any two steps of a call.
type stepStore struct {
	revue.Store
	mu   sync.Mutex
	n    int
	at   int // -1: only count
	act  func()
	done bool      // the act has happened
	when time.Time // it was done
}

// arm starts counting: from here on the act of somebody else happens.
func (s *stepStore) arm(act func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n, s.act = 0, act
}

// late makes the act happen after a while where no step made it: then the call is parked.
func (s *stepStore) late(t *testing.T) {
	t.Helper()
	timer := time.AfterFunc(10*time.Second, func() {
		s.mu.Lock()
		missed, act := !s.done, s.act
		s.done = true
		if missed {
			s.when = time.Now()
		}
		s.mu.Unlock()
		if missed {
			act()
		}
	})
	t.Cleanup(func() { timer.Stop() })
}

// count is how often the store was used, twice each time.
func (s *stepStore) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n
}

// acted is when the act happened.
func (s *stepStore) acted() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.when
}

func (s *stepStore) step() {
	s.mu.Lock()
	n := s.n
	s.n++
	run := s.act != nil && n == s.at && !s.done
	s.done = s.done || run
	act := s.act
	if run {
		s.when = time.Now()
	}
	s.mu.Unlock()
	if run {
		act()
	}
}

func (s *stepStore) View(ctx context.Context, ws string, fn func(revue.Tx) error) error {
	s.step()
	defer s.step()
	return s.Store.View(ctx, ws, fn)
}

func (s *stepStore) Update(ctx context.Context, ws string, fn func(revue.Tx) error) error {
	s.step()
	defer s.step()
	return s.Store.Update(ctx, ws, fn)
}

// plane is a desk with its own memory over a store that others use too, as another process has it.
func plane(s revue.Store) *revue.Desk { return revue.New(s, memory.New(nil), nil) }

func agent(name string) revue.Agent {
	return revue.Agent{Workspace: "w", Credential: name, Name: name, Thread: name + "-1", Via: "test"}
}

var alice = revue.Human{Workspace: "w", ID: "alice", Name: "alice", Via: "test"}

func databaseAsk(wait time.Duration) revue.Ask {
	return revue.Ask{
		Question: "Which database should the billing service use?",
		Options:  []revue.Option{{Value: "postgres"}, {Value: "sqlite"}},
		Wait:     wait,
	}
}

// everyStep runs a scenario once to count the steps of the call under test, and then once for each step with the
// act of somebody else placed there.
func everyStep(t *testing.T, scenario func(t *testing.T, raw revue.Store, step *stepStore)) {
	t.Helper()
	steps := 0
	synctest.Test(t, func(t *testing.T) {
		raw := memstore.New(nil)
		s := &stepStore{Store: raw, at: -1}
		scenario(t, raw, s)
		steps = s.count()
	})
	require.Greater(t, steps, 4, "the call under test uses the store")
	for at := range steps {
		t.Run(fmt.Sprintf("step %d of %d", at, steps), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				raw := memstore.New(nil)
				scenario(t, raw, &stepStore{Store: raw, at: at})
			})
		})
	}
}

// running runs a desk's background work for the length of a test.
func running(t *testing.T, d *revue.Desk) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
}

func onlyLot(t *testing.T, d *revue.Desk) revue.Lot {
	t.Helper()
	page, err := d.Reviewer(alice).Lots(t.Context(), revue.LotFilter{Status: revue.StatusOpen})
	require.NoError(t, err)
	require.Len(t, page.Items, 1)
	return page.Items[0]
}

func journalOf(t *testing.T, d *revue.Desk) []revue.Event {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var events []revue.Event
	time.AfterFunc(time.Millisecond, cancel)
	for e, err := range d.Reviewer(alice).Events(ctx, 0) {
		if err != nil {
			break
		}
		events = append(events, e)
	}
	require.NoError(t, revue.VerifyChain(revue.Event{}, events))
	return events
}

// An answer that lands between any two steps of a request is never missed, whether the desk that asks hears of
// it through Watch, or polls.
func TestAnswerAtEveryStep(t *testing.T) {
	for _, watched := range []bool{true, false} {
		t.Run(fmt.Sprintf("watched %v", watched), func(t *testing.T) {
			everyStep(t, func(t *testing.T, raw revue.Store, s *stepStore) {
				other := plane(raw)
				first, err := other.Decider(agent("first")).Request(t.Context(), databaseAsk(0))
				require.NoError(t, err)
				require.Equal(t, revue.OutcomePending, first.Status)
				answer := func() {
					_, err := other.Reviewer(alice).Answer(t.Context(), first.LotID, revue.Answer{Value: "postgres"})
					require.NoError(t, err)
					synctest.Wait() // all wakes have come before the next step: whoever is not registered misses them
				}
				desk := plane(s)
				if watched {
					running(t, plane(raw)) // wakes nobody of ours: desk has a Run of its own below
					running(t, desk)
					synctest.Wait()
				}
				s.arm(answer)
				s.late(t)
				o, err := desk.Decider(agent("second")).Request(t.Context(), databaseAsk(50*time.Second))
				require.NoError(t, err)
				require.Contains(t, []revue.OutcomeStatus{revue.OutcomeAnswered, revue.OutcomeReused}, o.Status)
				require.Equal(t, "postgres", o.Answer)
				wake := time.Second // a poll
				if watched {
					wake = 50 * time.Millisecond // long before the safety re-read
				}
				require.LessOrEqual(t, time.Since(s.acted()), wake)
				page, err := other.Reviewer(alice).Lots(t.Context(), revue.LotFilter{})
				require.NoError(t, err)
				require.Len(t, page.Items, 1, "no other lot was made")
			})
		})
	}
}

// A correction that lands between recall and record is never overlooked: nothing is reused after it.
func TestCorrectionAtEveryStep(t *testing.T) {
	everyStep(t, func(t *testing.T, raw revue.Store, s *stepStore) {
		other := plane(raw)
		_, err := other.Decider(agent("first")).Request(t.Context(), databaseAsk(0))
		require.NoError(t, err)
		lot, err := other.Reviewer(alice).Answer(t.Context(), onlyLot(t, other).ID, revue.Answer{Value: "postgres"})
		require.NoError(t, err)
		s.arm(func() {
			_, err := other.Reviewer(alice).Correct(t.Context(), revue.Correction{DecisionID: lot.DecisionID, Verb: revue.VerbWrong})
			require.NoError(t, err)
		})
		o, err := plane(s).Decider(agent("second")).Request(t.Context(), databaseAsk(0))
		require.NoError(t, err)
		var reused, corrected revue.Seq
		for _, e := range journalOf(t, other) {
			switch e.Kind {
			case revue.EventAskReused:
				reused = e.Seq
			case revue.EventDecisionCorrected:
				corrected = e.Seq
			}
		}
		if o.Status == revue.OutcomeReused {
			require.NotZero(t, reused)
			require.True(t, corrected == 0 || reused < corrected, "reused at %d, corrected at %d", reused, corrected)
		} else {
			require.Equal(t, revue.OutcomePending, o.Status)
			require.NotZero(t, corrected)
			require.Zero(t, reused)
		}
	})
}

// A decision that is made on the same question between recall and record is never missed.
func TestDecisionAtEveryStep(t *testing.T) {
	everyStep(t, func(t *testing.T, raw revue.Store, s *stepStore) {
		other := plane(raw)
		s.arm(func() {
			asked := databaseAsk(0)
			asked.Question = "which DB should the billing service use" // another key, the same question
			o, err := other.Decider(agent("first")).Request(t.Context(), asked)
			require.NoError(t, err)
			_, err = other.Reviewer(alice).Answer(t.Context(), o.LotID, revue.Answer{Value: "postgres"})
			require.NoError(t, err)
		})
		o, err := plane(s).Decider(agent("second")).Request(t.Context(), databaseAsk(0))
		require.NoError(t, err)
		if s.at < 0 {
			require.Equal(t, revue.OutcomePending, o.Status)
			return
		}
		events := journalOf(t, other)
		var made, opened revue.Seq
		for _, e := range events {
			switch {
			case e.Kind == revue.EventDecisionMade:
				made = e.Seq
			case e.Kind == revue.EventLotOpened && e.Lot == o.LotID:
				opened = e.Seq
			}
		}
		if o.Status == revue.OutcomePending {
			require.True(t, made == 0 || opened < made, "a human was asked at %d what was decided at %d", opened, made)
		}
	})
}

// An approval that is given between any two steps reaches the call, and only one of two calls that were not
// parked together.
func TestApprovalAtEveryStep(t *testing.T) {
	everyStep(t, func(t *testing.T, raw revue.Store, s *stepStore) {
		other := plane(raw)
		ask := revue.Ask{Kind: revue.KindApproval, Question: "Delete 4 branches?", Context: "stale", Wait: time.Minute}
		quick := ask
		quick.Wait = 0
		first, err := other.Decider(agent("a")).Request(t.Context(), quick)
		require.NoError(t, err)
		approve := func() {
			_, err := other.Reviewer(alice).Answer(t.Context(), first.LotID, revue.Answer{Value: revue.Approved})
			require.NoError(t, err)
		}
		s.arm(approve)
		s.late(t)
		o, err := plane(s).Decider(agent("a")).Request(t.Context(), ask)
		require.NoError(t, err)
		require.Equal(t, revue.OutcomeAnswered, o.Status)
		require.Equal(t, revue.Approved, o.Answer)
		require.Equal(t, first.LotID, o.LotID)
		again, err := other.Decider(agent("a")).Request(t.Context(), quick)
		require.NoError(t, err)
		require.Equal(t, revue.OutcomePending, again.Status, "an approval is not given twice")
		require.NotEqual(t, first.LotID, again.LotID)
	})
}
