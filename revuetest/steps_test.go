package revuetest_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/memory"
)

// steps is a Store that stops before and after each transaction, so that something else can be
// committed there.
type steps struct {
	revue.Store
	now int
	at  int // the step where do is called
	do  func() bool
}

// step calls do at its step, and at the next ones as long as it says that it was too early.
func (s *steps) step() {
	if s.do != nil && s.now >= s.at {
		do := s.do
		s.do = nil // what do commits is no step
		if !do() {
			s.do = do
		}
	}
	s.now++
}

func (s *steps) View(ctx context.Context, workspace string, fn func(revue.Tx) error) error {
	s.step()
	defer s.step()
	return s.Store.View(ctx, workspace, fn)
}

func (s *steps) Update(ctx context.Context, workspace string, fn func(revue.Tx) error) error {
	s.step()
	defer s.step()
	return s.Store.Update(ctx, workspace, fn)
}

// everyStep runs fn once for each step of the request that it makes: before and after each transaction. fn
// sets do and makes the request. The planes have a store in common; the first one stops at the steps.
func everyStep(t *testing.T, fn func(t *testing.T, stopping, other plane, s *steps)) {
	t.Helper()
	done := false
	for at := 0; !done; at++ {
		require.Less(t, at, 200, "the request has no end")
		t.Run(strconv.Itoa(at), func(t *testing.T) {
			idle(t, func(t *testing.T, other plane) {
				s := &steps{Store: other.store, at: at}
				stopping := other
				stopping.desk = revue.New(s, memory.New(nil), nil)
				fn(t, stopping, other, s)
				done = s.do != nil // the request was over before this step
			})
		})
	}
	require.True(t, done)
}

// answerOpen answers the open lot, if there is one.
func answerOpen(p plane, value string) bool {
	p.t.Helper()
	page, err := p.ada.Lots(p.t.Context(), revue.LotFilter{Status: revue.StatusOpen})
	require.NoError(p.t, err)
	if len(page.Items) == 0 {
		return false
	}
	p.answer(page.Items[0], revue.Answer{Value: value})
	return true
}

// sequence returns the number of the last event of a kind, 0 for none.
func sequence(p plane, kind revue.EventKind) revue.Seq {
	p.t.Helper()
	var found revue.Seq
	err := p.store.View(p.t.Context(), "w", func(tx revue.Tx) error {
		events, err := tx.Events(0, 1000)
		for _, e := range events {
			if e.Kind == kind {
				found = e.Seq
			}
		}
		return err
	})
	require.NoError(p.t, err)
	return found
}

func TestAnswerAtEveryStep(t *testing.T) {
	for name, c := range map[string]struct {
		ask   revue.Ask
		value string
	}{"decision": {question(), "postgres"}, "approval": {deletion(), revue.Approved}} {
		t.Run(name, func(t *testing.T) {
			everyStep(t, func(t *testing.T, stopping, other plane, s *steps) {
				s.do = func() bool { return answerOpen(other, c.value) }
				start := time.Now()
				ask := c.ask
				ask.Wait = 5 * time.Second
				out, err := stopping.agent("first").Request(t.Context(), ask)
				require.NoError(t, err)
				if s.do != nil { // nobody answered in time
					require.Equal(t, revue.OutcomePending, out.Status)
					return
				}
				if out.Status == revue.OutcomePending { // answered after the last look: it is there at the next call
					require.GreaterOrEqual(t, time.Since(start), 5*time.Second)
					out, err = stopping.agent("first").Request(t.Context(), c.ask)
					require.NoError(t, err)
				}
				require.Equal(t, revue.OutcomeAnswered, out.Status)
				require.Equal(t, c.value, out.Answer)
				require.LessOrEqual(t, time.Since(start), 8*time.Second)
			})
		})
	}
}

// A decision that is committed while a request is on its way is reused, unless the request was recorded
// first; then it is in the lot that the decision answered, or in one of its own that came before.
func TestDecisionAtEveryStep(t *testing.T) {
	everyStep(t, func(t *testing.T, stopping, other plane, s *steps) {
		joined := false
		s.do = func() bool {
			out := other.ask(other.agent("other"), question(), revue.OutcomePending)
			lot, err := other.ada.Lot(t.Context(), out.LotID)
			require.NoError(t, err)
			joined = len(lot.Asks) == 2
			return answerOpen(other, "sqlite")
		}
		out, err := stopping.agent("first").Request(t.Context(), question())
		require.NoError(t, err)
		switch {
		case s.do != nil:
			require.Equal(t, revue.OutcomePending, out.Status)
		case joined:
			out, err = stopping.agent("first").Request(t.Context(), question())
			require.NoError(t, err)
			require.Equal(t, revue.OutcomeAnswered, out.Status)
			require.Equal(t, "sqlite", out.Answer)
		default:
			require.Equal(t, revue.OutcomeReused, out.Status, "a human was asked what was decided before")
			require.Equal(t, "sqlite", out.Answer)
			require.Greater(t, sequence(other, revue.EventAskReused), sequence(other, revue.EventDecisionMade))
		}
	})
}

// A correction that is committed while a request is on its way holds for it, unless the reuse was recorded
// first.
func TestCorrectionAtEveryStep(t *testing.T) {
	for _, verb := range []revue.Verb{revue.VerbWrong, revue.VerbAskNextTime} {
		t.Run(string(verb), func(t *testing.T) {
			everyStep(t, func(t *testing.T, stopping, other plane, s *steps) {
				made := other.decided(question(), "postgres")
				s.do = func() bool {
					other.correct(revue.Correction{DecisionID: made.DecisionID, Verb: verb})
					return true
				}
				out, err := stopping.agent("second").Request(t.Context(), question())
				require.NoError(t, err)
				reused := sequence(other, revue.EventAskReused)
				require.Equal(t, reused > 0, out.Status == revue.OutcomeReused)
				if s.do == nil && reused > 0 {
					require.Less(t, reused, sequence(other, revue.EventDecisionCorrected), "it was reused after the correction")
				}
			})
		})
	}
}

// A dismissal, a reopening and an answer at every step of a wait: the caller learns how the lot is.
func TestDismissalAtEveryStep(t *testing.T) {
	everyStep(t, func(t *testing.T, stopping, other plane, s *steps) {
		s.do = func() bool {
			page, err := other.ada.Lots(t.Context(), revue.LotFilter{Status: revue.StatusOpen})
			require.NoError(t, err)
			if len(page.Items) == 0 {
				return false
			}
			_, err = other.ada.Dismiss(t.Context(), page.Items[0].ID, revue.Dismissal{Reason: "no"})
			require.NoError(t, err)
			return true
		}
		ask := question()
		ask.Wait = 5 * time.Second
		out, err := stopping.agent("first").Request(t.Context(), ask)
		require.NoError(t, err)
		if s.do != nil {
			require.Equal(t, revue.OutcomePending, out.Status)
			return
		}
		out, err = stopping.agent("first").Request(t.Context(), question())
		require.NoError(t, err)
		require.Equal(t, revue.OutcomeDismissed, out.Status)
		require.Equal(t, "no", out.Reason)
	})
}
