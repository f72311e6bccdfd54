package revuetest

import (
	"errors"
	"time"

	"github.com/revuehq/revue"
)

// correct appends a correction and returns its id.
func (w *world) correct(decisionID string, c revue.Correction) string {
	w.t.Helper()
	c.DecisionID = decisionID
	d, err := w.ada.Correct(w.ctx, c)
	w.need(err, "correct")
	w.check(d.ID == decisionID && len(d.Corrections) > 0, "decision: %+v", d)
	last := d.Corrections[len(d.Corrections)-1]
	w.check(last.ID != "" && last.Verb == c.Verb && last.Undoes == c.Undoes && last.By.Name == "Ada", "correction: %+v", last)
	return last.ID
}

// guided checks what a lookup says of a decision. want "" is that it does not match at all; a decision that
// may be confirmed at most may also not match.
func (w *world) guided(decisionID string, q revue.Query, want revue.Guidance) {
	w.t.Helper()
	m, ok := w.find(w.agent("looker"), q, decisionID)
	switch {
	case want == "":
		w.check(!ok, "it still matches: %+v", m)
	case want == revue.Confirm && !ok:
	default:
		w.check(ok && m.ReuseGuidance == want, "guidance: found %v, %q (%s), want %s", ok, m.ReuseGuidance, m.Reason, want)
		w.check(want == revue.Apply || m.Reason != "", "no reason")
	}
}

func correctionCases() []testCase {
	q := revue.Query{Text: questionDB}
	billing := func(more ...string) revue.Ask {
		return with(func(a *revue.Ask) { a.Concepts = append([]string{"billing"}, more...) })
	}
	return []testCase{
		{name: "wrong withdraws it and releases the key", run: func(w *world) {
			made := w.decided()
			w.outcome(w.agent("second"), askDB(), revue.OutcomeReused)
			w.correct(made.DecisionID, revue.Correction{Verb: revue.VerbWrong})
			w.guided(made.DecisionID, q, "")
			for _, c := range []string{"first", "second", "third"} {
				w.pend(w.agent(c), askDB())
			}
			l := w.open()
			w.check(l.ID != made.LotID && len(l.Asks) == 3, "lot: %+v", l)
			w.settle(l.ID, "sqlite")
			for _, c := range []string{"first", "second", "third"} {
				out := w.outcome(w.agent(c), askDB(), revue.OutcomeAnswered)
				w.check(out.Answer == "sqlite" && out.DecisionID != made.DecisionID, "%s: %+v", c, out)
			}
			why, err := w.ada.Why(w.ctx, made.DecisionID)
			w.need(err, "why")
			w.check(!why.Live && len(why.Uses) == 2, "live %v, uses %+v", why.Live, why.Uses)
		}},
		{name: "wrong releases every ask of the lot", run: func(w *world) {
			w.pend(w.agent("first"), askDB())
			w.pend(w.agent("second"), askDB())
			done := w.settle(w.open().ID, "postgres")
			w.outcome(w.agent("first"), askDB(), revue.OutcomeAnswered)
			w.correct(done.DecisionID, revue.Correction{Verb: revue.VerbWrong})
			w.pend(w.agent("first"), askDB())
			w.pend(w.agent("second"), askDB()) // who never had its answer
			w.check(len(w.open().Asks) == 2, "two lots")
		}},
		{name: "only_this_repo of what has no repository applies nowhere", run: func(w *world) {
			made := w.decided()
			w.correct(made.DecisionID, revue.Correction{Verb: revue.VerbOnlyThisRepo})
			w.guided(made.DecisionID, q, revue.Confirm)
			w.pend(w.agentAt("second", "b", "github.com/acme/api"), askDB())
		}},
		{name: "wrong can be undone", run: func(w *world) {
			made := w.decided()
			id := w.correct(made.DecisionID, revue.Correction{Verb: revue.VerbWrong})
			w.guided(made.DecisionID, q, "")
			w.correct(made.DecisionID, revue.Correction{Undoes: id})
			w.guided(made.DecisionID, q, revue.Apply)
			w.outcome(w.agent("second"), askDB(), revue.OutcomeReused)
			out := w.outcome(w.agent("first"), askDB(), revue.OutcomeAnswered)
			w.check(out.DecisionID == made.DecisionID, "got %+v", out)
		}},
		{name: "too_broad holds it to the very same request", run: func(w *world) {
			made := w.decide(w.agent("first"), billing(), revue.Answer{Value: "postgres"})
			w.outcome(w.agent("second"), billing("storage"), revue.OutcomeReused)
			id := w.correct(made.DecisionID, revue.Correction{Verb: revue.VerbTooBroad})
			w.guided(made.DecisionID, q, revue.Confirm)
			w.outcome(w.agent("third"), billing(), revue.OutcomeReused)
			w.pend(w.agent("third"), billing("ledger"))
			w.check(len(w.open().Pinned) == 1, "it is not shown")
			w.correct(made.DecisionID, revue.Correction{Undoes: id})
			w.guided(made.DecisionID, q, revue.Apply)
			w.outcome(w.agent("third"), billing("archive"), revue.OutcomeReused)
		}},
		{name: "only_this_repo holds it to its repository", run: func(w *world) {
			made := w.decide(w.agentAt("first", "a", "github.com/acme/api"), billing(), revue.Answer{Value: "postgres"})
			w.outcome(w.agentAt("second", "b", "github.com/acme/web"), billing(), revue.OutcomeReused)
			id := w.correct(made.DecisionID, revue.Correction{Verb: revue.VerbOnlyThisRepo})
			w.guided(made.DecisionID, q, revue.Confirm) // the looker's repository is unknown
			w.outcome(w.agentAt("third", "c", "github.com/acme/api"), billing(), revue.OutcomeReused)
			w.pend(w.agentAt("fourth", "d", "github.com/acme/app"), billing())
			w.pend(w.agentAt("fifth", "e", ""), billing())
			w.correct(made.DecisionID, revue.Correction{Undoes: id})
			w.guided(made.DecisionID, q, revue.Apply)
		}},
		{name: "ask_next_time asks the human, and the new answer supersedes", run: func(w *world) {
			made := w.decided()
			w.correct(made.DecisionID, revue.Correction{Verb: revue.VerbAskNextTime})
			w.guided(made.DecisionID, q, revue.Confirm)
			w.outcome(w.agent("first"), askDB(), revue.OutcomeAnswered)
			w.pend(w.agent("second"), askDB())
			l := w.open()
			w.check(len(l.Pinned) == 1 && l.Pinned[0].DecisionID == made.DecisionID, "pinned: %+v", l.Pinned)
			done := w.settle(l.ID, "sqlite")
			out := w.outcome(w.agent("second"), askDB(), revue.OutcomeAnswered)
			w.check(out.Answer == "sqlite", "got %+v", out)
			why, err := w.ada.Why(w.ctx, made.DecisionID)
			w.need(err, "why")
			w.check(why.Decision.SupersededBy == done.DecisionID && !why.Live, "decision: %+v", why.Decision)
			out = w.outcome(w.agent("third"), askDB(), revue.OutcomeReused)
			w.check(out.Answer == "sqlite" && out.DecisionID == done.DecisionID, "got %+v", out)
		}},
		{name: "ask_next_time and the same answer: the next agents reuse it", run: func(w *world) {
			made := w.decided()
			w.correct(made.DecisionID, revue.Correction{Verb: revue.VerbAskNextTime})
			w.pend(w.agent("second"), askDB())
			w.settle(w.open().ID, "postgres")
			w.outcome(w.agent("second"), askDB(), revue.OutcomeAnswered)
			out := w.outcome(w.agent("third"), askDB(), revue.OutcomeReused)
			w.check(out.Answer == "postgres", "got %+v", out)
		}},
		{name: "ask_next_time can be undone", run: func(w *world) {
			made := w.decided()
			id := w.correct(made.DecisionID, revue.Correction{Verb: revue.VerbAskNextTime})
			w.correct(made.DecisionID, revue.Correction{Undoes: id})
			w.guided(made.DecisionID, q, revue.Apply)
			w.outcome(w.agent("second"), askDB(), revue.OutcomeReused)
		}},
		{name: "expires_after ends it, and can be undone", run: func(w *world) {
			made := w.decided()
			id := w.correct(made.DecisionID, revue.Correction{Verb: revue.VerbExpiresAfter, After: time.Second})
			w.eventually("the decision expires", func() bool {
				why, err := w.ada.Why(w.ctx, made.DecisionID)
				w.need(err, "why")
				return why.Freshness == revue.Expired
			})
			w.guided(made.DecisionID, q, revue.Confirm)
			w.pend(w.agent("second"), askDB())
			w.correct(made.DecisionID, revue.Correction{Undoes: id})
			w.guided(made.DecisionID, q, revue.Apply)
		}},
		{name: "expires_after a date to come changes nothing yet", run: func(w *world) {
			made := w.decided()
			w.correct(made.DecisionID, revue.Correction{Verb: revue.VerbExpiresAfter, Expires: time.Now().Add(time.Hour)})
			w.guided(made.DecisionID, q, revue.Apply)
			w.outcome(w.agent("second"), askDB(), revue.OutcomeReused)
		}},
		{name: "a correction stands beside another", run: func(w *world) {
			made := w.decided()
			broad := w.correct(made.DecisionID, revue.Correction{Verb: revue.VerbTooBroad})
			w.correct(made.DecisionID, revue.Correction{Verb: revue.VerbAskNextTime})
			w.correct(made.DecisionID, revue.Correction{Undoes: broad})
			w.guided(made.DecisionID, q, revue.Confirm)
			why, err := w.ada.Why(w.ctx, made.DecisionID)
			w.need(err, "why")
			w.check(len(why.Standing) == 1 && why.Standing[0].Verb == revue.VerbAskNextTime, "standing: %+v", why.Standing)
			w.check(len(why.Decision.Corrections) == 3, "corrections were edited: %+v", why.Decision.Corrections)
		}},
		{name: "what is unknown can't be corrected or undone", run: func(w *world) {
			_, err := w.ada.Correct(w.ctx, revue.Correction{DecisionID: "dec_unknown", Verb: revue.VerbWrong})
			w.humanError(err, revue.ErrNotFound, "correct an unknown decision")
			made := w.decided()
			before := len(w.journal())
			_, err = w.ada.Correct(w.ctx, revue.Correction{DecisionID: made.DecisionID, Undoes: "cor_unknown"})
			w.check(errors.Is(err, revue.ErrNotFound) || errors.Is(err, revue.ErrInvalid), "undo of an unknown correction: %v", err)
			w.check(len(w.journal()) == before, "it left events")
			w.guided(made.DecisionID, q, revue.Apply)
		}},
		{name: "the journal names the correction", run: func(w *world) {
			made := w.decided()
			id := w.correct(made.DecisionID, revue.Correction{Verb: revue.VerbWrong})
			e := w.events(revue.EventDecisionCorrected)
			w.check(len(e) == 1 && e[0].Decision == made.DecisionID && e[0].Ref == id && e[0].Verb == revue.VerbWrong, "events: %+v", e)
		}},
	}
}
