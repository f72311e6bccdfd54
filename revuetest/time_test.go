package revuetest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/memory"
	"github.com/revuehq/revue/revuetest"
	"github.com/revuehq/revue/storage/memstore"
)

// tick is the smallest step of revue's clock.
const tick = time.Microsecond

// plane is a desk in a bubble whose time is set by pass.
type plane struct {
	t     *testing.T
	store *memstore.Store
	desk  *revue.Desk
	ada   revue.Reviewer
}

// timed runs fn in a bubble with a desk that runs.
func timed(t *testing.T, fn func(t *testing.T, p plane)) { t.Helper(); bubble(t, nil, true, fn) }

// idle runs fn in a bubble with a desk that does nothing by itself, so that years pass at once.
func idle(t *testing.T, fn func(t *testing.T, p plane)) { t.Helper(); bubble(t, nil, false, fn) }

func bubble(t *testing.T, opts *revue.Options, running bool, fn func(t *testing.T, p plane)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := newPlane(t, opts)
		if running {
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan error, 1)
			go func() { done <- p.desk.Run(ctx) }()
			defer func() {
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
			}()
		}
		fn(t, p)
	})
}

func newPlane(t *testing.T, opts *revue.Options) plane {
	store := memstore.New(nil)
	desk := revue.New(store, memory.New(nil), opts)
	return plane{t: t, store: store, desk: desk, ada: desk.Reviewer(revue.Human{Workspace: "w", ID: "ada", Name: "Ada", Via: "library"})}
}

// pass lets time go by.
func (p plane) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// until lets time go by up to a moment.
func (p plane) until(at time.Time) {
	p.t.Helper()
	require.False(p.t, time.Now().After(at), "it is past %s", at)
	p.pass(time.Until(at))
}

func (p plane) agent(name string) revue.Decider {
	return p.desk.Decider(revue.Agent{Workspace: "w", Credential: name, Name: name, Thread: name, Via: "library"})
}

func (p plane) ask(d revue.Decider, ask revue.Ask, want revue.OutcomeStatus) revue.Outcome {
	p.t.Helper()
	out, err := d.Request(p.t.Context(), ask)
	require.NoError(p.t, err)
	require.Equal(p.t, want, out.Status, "%+v", out)
	return out
}

func (p plane) open() revue.Lot {
	p.t.Helper()
	page, err := p.ada.Lots(p.t.Context(), revue.LotFilter{Status: revue.StatusOpen})
	require.NoError(p.t, err)
	require.Len(p.t, page.Items, 1)
	return page.Items[0]
}

func (p plane) answer(lot revue.Lot, a revue.Answer) {
	p.t.Helper()
	a.Seen = lot.Revision
	_, err := p.ada.Answer(p.t.Context(), lot.ID, a)
	require.NoError(p.t, err)
}

// decided asks and answers as the agent "first", who gets the answer now.
func (p plane) decided(ask revue.Ask, value string) revue.Outcome {
	p.t.Helper()
	p.ask(p.agent("first"), ask, revue.OutcomePending)
	p.answer(p.open(), revue.Answer{Value: value})
	return p.ask(p.agent("first"), ask, revue.OutcomeAnswered)
}

func (p plane) correct(c revue.Correction) {
	p.t.Helper()
	_, err := p.ada.Correct(p.t.Context(), c)
	require.NoError(p.t, err)
}

// match is what a lookup says of the only decision.
func (p plane) match(text string) revue.Match {
	p.t.Helper()
	found, err := p.agent("looker").Lookup(p.t.Context(), revue.Query{Text: text})
	require.NoError(p.t, err)
	require.Len(p.t, found.Matches, 1)
	return found.Matches[0]
}

func question() revue.Ask {
	return revue.Ask{
		Question: "Which database should the billing service use?",
		Options:  []revue.Option{{Value: "postgres", Label: "postgres"}, {Value: "sqlite", Label: "sqlite"}},
	}
}

func deletion() revue.Ask {
	return revue.Ask{Kind: revue.KindApproval, Question: "Delete 2 stale branches?", Context: "No commits in 3 weeks."}
}

func TestWaitEndsOnTheDot(t *testing.T) {
	for _, c := range []struct {
		name string
		ask  revue.Ask
	}{{"decision", question()}, {"approval", deletion()}} {
		for _, wait := range []time.Duration{0, time.Millisecond, 50 * time.Second, time.Hour} {
			t.Run(c.name+" "+wait.String(), func(t *testing.T) {
				timed(t, func(t *testing.T, p plane) {
					start := time.Now()
					c.ask.Wait = wait
					p.ask(p.agent("first"), c.ask, revue.OutcomePending)
					require.Equal(t, wait, time.Since(start))
				})
			})
		}
	}
}

func TestAnswerEndsTheWaitAtOnce(t *testing.T) {
	timed(t, func(t *testing.T, p plane) {
		ask := question()
		ask.Wait = time.Hour
		var took time.Duration
		done := make(chan struct{})
		go func() {
			defer close(done)
			start := time.Now()
			p.ask(p.agent("first"), ask, revue.OutcomeAnswered)
			took = time.Since(start)
		}()
		p.pass(20 * time.Minute)
		p.answer(p.open(), revue.Answer{Value: "postgres"})
		<-done
		require.Equal(t, 20*time.Minute, took)
	})
}

// Without Run nothing tells a desk what another one on the same store has done: it looks each second.
func TestWaitPollsWithoutRun(t *testing.T) {
	idle(t, func(t *testing.T, p plane) {
		other := revue.New(p.store, memory.New(nil), nil)
		p.ada = other.Reviewer(revue.Human{Workspace: "w", ID: "ada", Name: "Ada", Via: "library"})
		ask := question()
		ask.Wait = time.Hour
		start := time.Now()
		done := make(chan struct{})
		go func() {
			defer close(done)
			p.ask(p.agent("first"), ask, revue.OutcomeAnswered)
		}()
		p.pass(90 * time.Second)
		p.pass(300 * time.Millisecond)
		answered := time.Now()
		p.answer(p.open(), revue.Answer{Value: "postgres"})
		<-done
		require.LessOrEqual(t, time.Since(answered), time.Second)
		require.Less(t, time.Since(start), 92*time.Second)
	})
}

func TestDrain(t *testing.T) {
	timed(t, func(t *testing.T, p plane) {
		ask := question()
		ask.Wait = time.Hour
		start := time.Now()
		done := make(chan struct{})
		go func() {
			defer close(done)
			p.ask(p.agent("first"), ask, revue.OutcomePending)
		}()
		p.pass(time.Minute)
		p.desk.Drain()
		<-done
		require.Equal(t, time.Minute, time.Since(start))
		p.ask(p.agent("second"), ask, revue.OutcomePending)
		require.Equal(t, time.Minute, time.Since(start), "a call after Drain waits")
		p.answer(p.open(), revue.Answer{Value: "postgres"})
		p.ask(p.agent("first"), ask, revue.OutcomeAnswered)
	})
}

func TestApprovalExpiry(t *testing.T) {
	for _, c := range []struct{ ask, want time.Duration }{
		{0, 24 * time.Hour},
		{time.Millisecond, time.Second},
		{-time.Hour, time.Second},
		{time.Second, time.Second},
		{time.Hour, time.Hour},
		{90 * 24 * time.Hour, 90 * 24 * time.Hour},
		{1000 * 24 * time.Hour, 90 * 24 * time.Hour},
	} {
		t.Run(c.ask.String(), func(t *testing.T) {
			idle(t, func(t *testing.T, p plane) {
				ask := deletion()
				ask.Expires = c.ask
				p.ask(p.agent("first"), ask, revue.OutcomePending)
				lot := p.open()
				require.Equal(t, c.want, lot.ExpiresAt.Sub(lot.CreatedAt))
			})
			if c.want > 24*time.Hour {
				return
			}
			timed(t, func(t *testing.T, p plane) {
				start := time.Now()
				ask := deletion()
				ask.Expires, ask.Wait = c.ask, 100*24*time.Hour
				out := p.ask(p.agent("first"), ask, revue.OutcomeExpired)
				require.Equal(t, c.want, time.Since(start), "it expires on the dot for the call that waits")
				require.Empty(t, out.Answer)
			})
		})
	}
}

// The last moment to approve is the one before it expires, whether or not anything has noticed.
func TestApprovalIsOpenUntilItExpires(t *testing.T) {
	for _, running := range []bool{true, false} {
		bubble(t, nil, running, func(t *testing.T, p plane) {
			p.ask(p.agent("first"), deletion(), revue.OutcomePending)
			first := p.open()
			p.until(first.ExpiresAt.Add(-tick))
			p.answer(first, revue.Answer{Value: revue.Approved})

			p.ask(p.agent("second"), deletion(), revue.OutcomePending)
			second := p.open()
			p.until(second.ExpiresAt)
			got, err := p.ada.Lot(t.Context(), second.ID)
			require.NoError(t, err)
			require.Equal(t, revue.StatusExpired, got.Status)
			_, err = p.ada.Answer(t.Context(), second.ID, revue.Answer{Value: revue.Approved})
			require.ErrorIs(t, err, revue.ErrConflict)
		})
	}
}

func TestApprovalIsCollectedWithinAnHour(t *testing.T) {
	ends := map[string]func(p plane) revue.OutcomeStatus{
		"approved": func(p plane) revue.OutcomeStatus {
			p.answer(p.open(), revue.Answer{Value: revue.Approved})
			return revue.OutcomeAnswered
		},
		"expired": func(p plane) revue.OutcomeStatus {
			p.until(p.open().ExpiresAt)
			return revue.OutcomeExpired
		},
	}
	for name, end := range ends {
		t.Run(name+" and in time", func(t *testing.T) {
			idle(t, func(_ *testing.T, p plane) {
				p.ask(p.agent("first"), deletion(), revue.OutcomePending)
				want := end(p)
				p.pass(time.Hour)
				p.ask(p.agent("first"), deletion(), want)
				p.ask(p.agent("first"), deletion(), revue.OutcomePending)
			})
		})
		t.Run(name+" and too late", func(t *testing.T) {
			idle(t, func(_ *testing.T, p plane) {
				p.ask(p.agent("first"), deletion(), revue.OutcomePending)
				end(p)
				p.pass(time.Hour + tick)
				p.ask(p.agent("first"), deletion(), revue.OutcomePending)
			})
		})
	}
}

// An expired card is settled, and told, though nobody waits for it.
func TestExpiryIsToldWhenNobodyWaits(t *testing.T) {
	var told revuetest.Recorder
	bubble(t, &revue.Options{Notifiers: map[string]revue.Notifier{"recorder": &told}}, true, func(t *testing.T, p plane) {
		p.ask(p.agent("first"), deletion(), revue.OutcomePending)
		lot := p.open()
		p.until(lot.ExpiresAt.Add(-tick))
		require.Len(t, told.Notices(), 1)
		p.pass(time.Second)
		got := told.Notices()
		require.Len(t, got, 2)
		require.Equal(t, revue.NoticeExpired, got[1].Kind)
		require.Equal(t, lot.ID, got[1].Lot.ID)
	})
}

func TestNoticesOnlyForNewLots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told revuetest.Recorder
		told.Fail(errors.New("out of reach"), errors.New("out of reach"))
		p := newPlane(t, &revue.Options{Notifiers: map[string]revue.Notifier{"recorder": &told}})
		run(t, p.desk)
		for _, name := range []string{"first", "second", "first", "third"} {
			p.ask(p.agent(name), question(), revue.OutcomePending)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_, err := told.Wait(ctx, 1)
		require.NoError(t, err, "a notice that failed twice was not tried again")
		p.pass(time.Hour)
		got := told.Notices()
		require.Len(t, got, 1)
		require.Equal(t, revue.NoticeAsked, got[0].Kind)
		require.Len(t, got[0].Lot.Asks, 3)
		p.answer(p.open(), revue.Answer{Value: "postgres"})
		p.pass(time.Hour)
		got = told.Notices()
		require.Len(t, got, 2)
		require.Equal(t, revue.NoticeAnswered, got[1].Kind)
		require.NotEqual(t, got[0].ID, got[1].ID)
	})
}

// A key is released ten minutes after the answer was returned, where something calls for a new one.
func TestKeyIsReleasedAfterTenMinutes(t *testing.T) {
	branch := revue.Ask{Question: "Should we delete this branch?", Options: []revue.Option{{Value: "yes", Label: "yes"}, {Value: "no", Label: "no"}}}
	for _, c := range []struct {
		name  string
		ask   revue.Ask
		value string
		then  func(p plane, dec string)
	}{
		{"ask_next_time", question(), "postgres", func(p plane, dec string) {
			p.correct(revue.Correction{DecisionID: dec, Verb: revue.VerbAskNextTime})
		}},
		{"expired", question(), "postgres", func(p plane, dec string) {
			p.correct(revue.Correction{DecisionID: dec, Verb: revue.VerbExpiresAfter, After: time.Minute})
		}},
		{"deictic", branch, "yes", func(plane, string) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			idle(t, func(t *testing.T, p plane) {
				out := p.decided(c.ask, c.value)
				returned := time.Now()
				c.then(p, out.DecisionID)
				p.ask(p.agent("first"), c.ask, revue.OutcomeAnswered)
				p.until(returned.Add(10*time.Minute - tick))
				p.ask(p.agent("first"), c.ask, revue.OutcomeAnswered)
				p.until(returned.Add(10 * time.Minute))
				p.ask(p.agent("first"), c.ask, revue.OutcomePending)
				require.NotEqual(t, out.LotID, p.open().ID)
			})
		})
		t.Run(c.name+" not before it was returned", func(t *testing.T) {
			idle(t, func(t *testing.T, p plane) {
				p.ask(p.agent("first"), c.ask, revue.OutcomePending)
				lot := p.open()
				p.answer(lot, revue.Answer{Value: c.value})
				lot, err := p.ada.Lot(t.Context(), lot.ID)
				require.NoError(t, err)
				c.then(p, lot.DecisionID)
				p.pass(24 * time.Hour)
				out := p.ask(p.agent("first"), c.ask, revue.OutcomeAnswered)
				require.Equal(t, c.value, out.Answer)
				p.pass(10*time.Minute - tick)
				p.ask(p.agent("first"), c.ask, revue.OutcomeAnswered)
				p.pass(tick)
				p.ask(p.agent("first"), c.ask, revue.OutcomePending)
			})
		})
	}
	t.Run("stale", func(t *testing.T) {
		idle(t, func(_ *testing.T, p plane) {
			p.decided(question(), "postgres")
			p.pass(revue.StaleAfter)
			p.ask(p.agent("first"), question(), revue.OutcomeAnswered)
			p.pass(tick)
			p.ask(p.agent("first"), question(), revue.OutcomePending)
		})
	})
	t.Run("wrong at once", func(t *testing.T) {
		idle(t, func(_ *testing.T, p plane) {
			out := p.decided(question(), "postgres")
			p.correct(revue.Correction{DecisionID: out.DecisionID, Verb: revue.VerbWrong})
			p.ask(p.agent("first"), question(), revue.OutcomePending)
		})
	})
	t.Run("not where nothing calls for it", func(t *testing.T) {
		idle(t, func(_ *testing.T, p plane) {
			p.decided(question(), "postgres")
			p.pass(29 * 24 * time.Hour)
			p.ask(p.agent("first"), question(), revue.OutcomeAnswered)
		})
	})
	t.Run("not after a dismissal", func(t *testing.T) {
		idle(t, func(t *testing.T, p plane) {
			p.ask(p.agent("first"), question(), revue.OutcomePending)
			_, err := p.ada.Dismiss(t.Context(), p.open().ID, revue.Dismissal{})
			require.NoError(t, err)
			p.ask(p.agent("first"), question(), revue.OutcomeDismissed)
			p.pass(29 * 24 * time.Hour)
			p.ask(p.agent("first"), question(), revue.OutcomeDismissed)
		})
	})
}

func TestLateAnswer(t *testing.T) {
	idle(t, func(t *testing.T, p plane) {
		p.ask(p.agent("first"), question(), revue.OutcomePending)
		p.pass(365 * 24 * time.Hour)
		p.answer(p.open(), revue.Answer{Value: "sqlite"})
		p.pass(29 * 24 * time.Hour)
		out := p.ask(p.agent("first"), question(), revue.OutcomeAnswered)
		require.Equal(t, "sqlite", out.Answer)
	})
}

func TestFreshness(t *testing.T) {
	idle(t, func(t *testing.T, p plane) {
		p.decided(question(), "postgres")
		made := time.Now()
		confidence := 1.1
		for _, c := range []struct {
			age       time.Duration
			freshness revue.Freshness
			guidance  revue.Guidance
		}{
			{0, revue.Fresh, revue.Apply},
			{revue.FreshFor, revue.Fresh, revue.Apply},
			{revue.FreshFor + tick, revue.Aging, revue.Apply},
			{revue.StaleAfter, revue.Aging, revue.Apply},
			{revue.StaleAfter + tick, revue.Stale, revue.Confirm},
			{10 * revue.StaleAfter, revue.Stale, revue.Confirm},
		} {
			p.until(made.Add(c.age))
			m := p.match(question().Question)
			require.Equal(t, c.freshness, m.Freshness, "after %s", c.age)
			require.Equal(t, c.guidance, m.ReuseGuidance, "after %s", c.age)
			require.LessOrEqual(t, m.Confidence, confidence, "confidence rises with age")
			confidence = m.Confidence
		}
		p.ask(p.agent("second"), question(), revue.OutcomePending)
	})
}

func TestConfirmingMakesFresh(t *testing.T) {
	idle(t, func(t *testing.T, p plane) {
		may := revue.Ask{Question: "May I edit internal/auth/token.go to fix the race?", Options: []revue.Option{{Value: "yes", Label: "yes"}, {Value: "no", Label: "no"}}}
		out := p.decided(may, "yes")
		p.pass(100 * 24 * time.Hour)
		require.Equal(t, revue.Aging, p.match(may.Question).Freshness)
		p.ask(p.agent("second"), may, revue.OutcomePending)
		p.answer(p.open(), revue.Answer{Confirms: out.DecisionID})
		require.Equal(t, revue.Fresh, p.match(may.Question).Freshness)
	})
}

func TestExpiresAfter(t *testing.T) {
	for name, c := range map[string]func(now time.Time) revue.Correction{
		"a duration": func(time.Time) revue.Correction { return revue.Correction{After: 30 * time.Hour} },
		"a date":     func(now time.Time) revue.Correction { return revue.Correction{Expires: now.Add(30 * time.Hour)} },
	} {
		t.Run(name, func(t *testing.T) {
			idle(t, func(t *testing.T, p plane) {
				out := p.decided(question(), "postgres")
				correction := c(time.Now())
				correction.DecisionID, correction.Verb = out.DecisionID, revue.VerbExpiresAfter
				p.correct(correction)
				at := time.Now().Add(30 * time.Hour)

				p.until(at.Add(-tick))
				require.Equal(t, revue.Apply, p.match(question().Question).ReuseGuidance)
				p.ask(p.agent("second"), question(), revue.OutcomeReused)

				p.until(at)
				m := p.match(question().Question)
				require.Equal(t, revue.Confirm, m.ReuseGuidance)
				require.Equal(t, revue.Expired, m.Freshness)
				p.ask(p.agent("third"), question(), revue.OutcomePending)
			})
		})
	}
}

func TestContextExpires(t *testing.T) {
	idle(t, func(t *testing.T, p plane) {
		item, err := p.agent("first").Share(t.Context(), revue.ContextItem{Kind: "note", Body: "mind the exporter", Concepts: []string{"billing"}})
		require.NoError(t, err)
		shown := func() int {
			found, err := p.agent("second").Lookup(t.Context(), revue.Query{Text: "exporter", Concepts: []string{"billing"}})
			require.NoError(t, err)
			return len(found.Context)
		}
		shared := time.Now()
		p.until(shared.Add(30*24*time.Hour - tick))
		require.Equal(t, 1, shown())
		p.until(shared.Add(30 * 24 * time.Hour))
		require.Zero(t, shown())
		again, err := p.agent("first").Share(t.Context(), revue.ContextItem{Kind: "note", Body: "mind the exporter", Concepts: []string{"billing"}})
		require.NoError(t, err)
		require.NotEqual(t, item.ID, again.ID, "a note that has expired is not the one that exists")
		require.Equal(t, 1, shown())
	})
}

func TestLookupDoesNotWaitForAnything(t *testing.T) {
	timed(t, func(t *testing.T, p plane) {
		p.decided(question(), "postgres")
		start := time.Now()
		p.match(question().Question)
		p.ask(p.agent("second"), question(), revue.OutcomeReused)
		require.Zero(t, time.Since(start))
	})
}
