package revuetest_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/revuetest"
)

func TestAnswerAll(t *testing.T) {
	timed(t, func(t *testing.T, p plane) {
		ctx, cancel := context.WithCancel(t.Context())
		p.ask(p.agent("early"), revue.Ask{Question: "Which cache should the search service use?"}, revue.OutcomePending)
		var seen []string
		done := make(chan error, 1)
		go func() {
			done <- revuetest.AnswerAll(ctx, p.ada, func(l revue.Lot) (revue.Answer, bool) {
				seen = append(seen, l.Question)
				if strings.Contains(l.Question, "billing") {
					return revue.Answer{Value: "sqlite"}, true
				}
				return revue.Answer{Text: "none"}, len(l.Asks) > 1
			})
		}()
		ask := question()
		ask.Wait = time.Minute
		require.Equal(t, "sqlite", p.ask(p.agent("first"), ask, revue.OutcomeAnswered).Answer)

		// The early lot was left until another agent joined it.
		late := revue.Ask{Question: "Which cache should the search service use?", Wait: time.Minute}
		require.Equal(t, "none", p.ask(p.agent("late"), late, revue.OutcomeAnswered).Answer)
		cancel()
		require.NoError(t, <-done)
		require.Equal(t, []string{late.Question, ask.Question, late.Question}, seen)
	})
}

func TestAnswerAllPassesOverWhatOthersSettled(t *testing.T) {
	timed(t, func(t *testing.T, p plane) {
		ctx, cancel := context.WithCancel(t.Context())
		ben := p.desk.Reviewer(revue.Human{Workspace: "w", ID: "ben", Name: "Ben", Via: "library"})
		done := make(chan error, 1)
		go func() {
			done <- revuetest.AnswerAll(ctx, p.ada, func(l revue.Lot) (revue.Answer, bool) {
				if strings.Contains(l.Question, "cache") {
					_, err := ben.Answer(ctx, l.ID, revue.Answer{Text: "Ben was faster"})
					require.NoError(t, err)
				}
				return revue.Answer{Text: "Ada"}, true
			})
		}()
		for q, want := range map[string]string{"Which cache should the search service use?": "Ben was faster", "Which queue should the mail service use?": "Ada"} {
			out := p.ask(p.agent("first"), revue.Ask{Question: q, Wait: time.Minute}, revue.OutcomeAnswered)
			require.Equal(t, want, out.Answer)
		}
		cancel()
		require.NoError(t, <-done)
	})
}

func TestAnswerAllReturnsErrors(t *testing.T) {
	timed(t, func(t *testing.T, p plane) {
		p.ask(p.agent("first"), question(), revue.OutcomePending)
		err := revuetest.AnswerAll(t.Context(), p.ada, func(revue.Lot) (revue.Answer, bool) { return revue.Answer{Value: "mysql"}, true })
		require.ErrorIs(t, err, revue.ErrInvalid)
	})
}

func TestRecorder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r revuetest.Recorder
		require.Empty(t, r.Notices())
		late := errors.New("late")
		r.Fail(late)
		require.ErrorIs(t, r.Notify(t.Context(), revue.Notice{ID: "lost"}), late)
		require.Empty(t, r.Notices())

		var g sync.WaitGroup
		g.Go(func() {
			got, err := r.Wait(t.Context(), 2)
			if err != nil || len(got) < 2 {
				t.Errorf("waited for 2 notices: %v, %v", got, err)
			}
		})
		synctest.Wait()
		for _, id := range []string{"a", "b"} {
			g.Go(func() {
				if err := r.Notify(t.Context(), revue.Notice{ID: id}); err != nil {
					t.Error(err)
				}
			})
		}
		g.Wait()
		require.Len(t, r.Notices(), 2)

		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		got, err := r.Wait(ctx, 3)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Len(t, got, 2)
		require.ErrorIs(t, r.Notify(ctx, revue.Notice{ID: "c"}), context.DeadlineExceeded)
		require.Len(t, r.Notices(), 2)
	})
}
