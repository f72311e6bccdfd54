package revuetest

import (
	"errors"
	"strings"

	"github.com/revuehq/revue"
)

func answeringCases() []testCase {
	return []testCase{
		{name: "free text is taken and says so", run: func(w *world) {
			d := w.agent("first")
			w.pend(d, askDB())
			l := w.settleWith(w.open().ID, revue.Answer{Text: "mysql, as ever", Note: "ask Ben"})
			w.check(l.Answer != nil && l.Answer.FreeText && l.Answer.Value == "mysql, as ever", "lot: %+v", l.Answer)
			out := w.outcome(d, askDB(), revue.OutcomeAnswered)
			w.check(out.FreeText && out.Answer == "mysql, as ever" && out.Note == "ask Ben", "got %+v", out)
		}},
		{name: "a lot shows how it was answered", run: func(w *world) {
			out := w.decided()
			l := w.lot(out.LotID)
			w.check(l.Status == revue.StatusAnswered && l.DecisionID == out.DecisionID, "lot: %+v", l)
			w.check(l.Answer != nil && l.Answer.Value == "postgres" && !l.Answer.FreeText, "answer: %+v", l.Answer)
			w.check(l.Answer.By.Name == "Ada" && !l.Answer.At.IsZero(), "by: %+v", l.Answer)
			w.check(l.Answer.Remember == revue.RememberDefault, "remember: %q", l.Answer.Remember)
		}},
		{name: "the same answer again by the same human is no error", run: func(w *world) {
			w.pend(w.agent("first"), askDB())
			l := w.open()
			a := revue.Answer{Value: "postgres", Seen: l.Revision}
			first, err := w.ada.Answer(w.ctx, l.ID, a)
			w.need(err, "answer")
			again, err := w.ada.Answer(w.ctx, l.ID, a)
			w.need(err, "the same answer again")
			w.check(again.ID == first.ID && again.DecisionID == first.DecisionID && again.Answer.Value == "postgres", "got %+v", again)
			w.check(len(w.events(revue.EventLotAnswered)) == 1 && len(w.events(revue.EventDecisionMade)) == 1, "it is in the journal twice")
		}},
		{name: "another answer by the same human is a conflict", run: func(w *world) {
			out := w.decided()
			_, err := w.ada.Answer(w.ctx, out.LotID, revue.Answer{Value: "sqlite"})
			w.humanError(err, revue.ErrConflict, "another answer")
			w.check(strings.Contains(revue.MessageOf(err), "Ada"), "the message %q does not say who decided", revue.MessageOf(err))
			w.check(w.lot(out.LotID).Answer.Value == "postgres", "the answer changed")
		}},
		{name: "another human gets a conflict that names the winner", run: func(w *world) {
			out := w.decided()
			for _, v := range []string{"postgres", "sqlite"} {
				_, err := w.human("Ben").Answer(w.ctx, out.LotID, revue.Answer{Value: v})
				w.humanError(err, revue.ErrConflict, "an answer by another human")
				w.check(strings.Contains(revue.MessageOf(err), "Ada"), "the message %q does not say who decided", revue.MessageOf(err))
			}
			w.check(w.lot(out.LotID).Answer.By.Name == "Ada", "the winner changed")
		}},
		{name: "an unknown lot is not found", run: func(w *world) {
			for _, id := range []string{"lot_unknown", "ask_unknown", "x", "ü"} {
				_, err := w.ada.Answer(w.ctx, id, revue.Answer{Value: "postgres"})
				w.humanError(err, revue.ErrNotFound, "answer "+id)
				_, err = w.ada.Lot(w.ctx, id)
				w.humanError(err, revue.ErrNotFound, "read "+id)
				_, err = w.ada.Dismiss(w.ctx, id, revue.Dismissal{})
				w.humanError(err, revue.ErrNotFound, "dismiss "+id)
				_, err = w.ada.Reopen(w.ctx, id)
				w.humanError(err, revue.ErrNotFound, "reopen "+id)
			}
			w.untouched()
		}},
		{name: "a receipt states how the lot ended", run: func(w *world) {
			out := w.decided()
			w.check(out.Receipt != nil, "no receipt")
			r, err := w.ada.Receipt(w.ctx, out.Receipt.ID)
			w.need(err, "receipt")
			w.check(r.Kind == "answered" && r.Lot == out.LotID && r.Decision == out.DecisionID, "receipt: %+v", r)
			w.check(r.Answer == "postgres" && r.DecidedBy.Name == "Ada" && len(r.QuestionDigest) == 64, "receipt: %+v", r)
			found := false
			for _, e := range w.chain() {
				found = found || e.Seq == r.Seq && e.Hash == r.JournalHash && e.Hash != ""
			}
			w.check(found, "the receipt names no event of the journal: %+v", r)
			_, err = w.ada.Receipt(w.ctx, "rcpt_unknown")
			w.humanError(err, revue.ErrNotFound, "an unknown receipt")
		}},
		{name: "confirming what was not pinned is refused", run: func(w *world) {
			other := w.decided()
			w.pend(w.agent("first"), revue.Ask{Question: "Which cache should the search service use?", Options: opts("redis", "none")})
			l := w.open()
			for _, id := range []string{other.DecisionID, "dec_unknown"} {
				_, err := w.ada.Answer(w.ctx, l.ID, revue.Answer{Confirms: id, Seen: l.Revision})
				w.check(errors.Is(err, revue.ErrInvalid) || errors.Is(err, revue.ErrNotFound), "confirms %s: %v", id, err)
			}
			w.check(w.open().ID == l.ID, "it settled the lot")
		}},
	}
}

func dismissalCases() []testCase {
	dismissed := func(w *world) revue.Lot {
		w.t.Helper()
		w.pend(w.agent("first"), askDB())
		l := w.open()
		l, err := w.ada.Dismiss(w.ctx, l.ID, revue.Dismissal{Reason: "of no account", Seen: l.Revision})
		w.need(err, "dismiss")
		w.check(l.Status == revue.StatusDismissed && l.Dismissed != nil && l.Dismissed.Reason == "of no account" && l.Dismissed.By.Name == "Ada", "lot: %+v", l)
		return l
	}
	return []testCase{
		{name: "a dismissed ask stays dismissed on its thread", run: func(w *world) {
			l := dismissed(w)
			for range 2 {
				out := w.outcome(w.agent("first"), askDB(), revue.OutcomeDismissed)
				w.check(out.LotID == l.ID && out.Reason == "of no account" && out.Answer == "", "got %+v", out)
				w.check(out.Receipt != nil && out.Receipt.ID != "", "no receipt")
				w.check(out.DecidedBy != nil && out.DecidedBy.Name == "Ada", "decidedBy: %+v", out.DecidedBy)
			}
			w.check(len(w.lots("")) == 1, "it opened another lot")
		}},
		{name: "another thread gets a new lot that shows the dismissal", run: func(w *world) {
			l := dismissed(w)
			w.pend(w.agent("second"), askDB())
			next := w.open()
			w.check(next.ID != l.ID, "the same lot")
			w.check(next.Earlier != nil && next.Earlier.LotID == l.ID && next.Earlier.Reason == "of no account", "earlier: %+v", next.Earlier)
			w.settle(next.ID, "postgres")
			w.outcome(w.agent("second"), askDB(), revue.OutcomeAnswered)
			w.outcome(w.agent("first"), askDB(), revue.OutcomeDismissed)
		}},
		{name: "the same credential on another thread asks anew", run: func(w *world) {
			l := dismissed(w)
			w.pend(w.agentAt("first", "elsewhere", ""), askDB())
			next := w.open()
			w.check(next.ID != l.ID && next.Earlier != nil && next.Earlier.LotID == l.ID, "lot: %+v", next)
		}},
		{name: "one dismissal ends every ask of the lot", run: func(w *world) {
			a := w.start(w.agent("first"), askDB())
			w.asked(1)
			b := w.start(w.agent("second"), askDB())
			l := w.asked(2)
			_, err := w.ada.Dismiss(w.ctx, l.ID, revue.Dismissal{Reason: "no", Seen: l.Revision})
			w.need(err, "dismiss")
			for _, c := range []*call{a, b} {
				out, err := w.end(c)
				w.need(err, "waiting call")
				w.check(out.Status == revue.OutcomeDismissed && out.Reason == "no" && out.LotID == l.ID, "got %+v", out)
			}
			e := w.events(revue.EventLotDismissed)
			w.check(len(e) == 1 && len(e[0].Asks) == 2, "events: %+v", e)
		}},
		{name: "a dismissal is not remembered as an answer", run: func(w *world) {
			dismissed(w)
			found, err := w.agent("second").Lookup(w.ctx, revue.Query{Text: questionDB})
			w.need(err, "lookup")
			w.check(len(found.Matches) == 0, "matches: %+v", found.Matches)
		}},
		{name: "a dismissed lot can't be answered", run: func(w *world) {
			l := dismissed(w)
			_, err := w.ada.Answer(w.ctx, l.ID, revue.Answer{Value: "postgres"})
			w.humanError(err, revue.ErrConflict, "answer")
			w.outcome(w.agent("first"), askDB(), revue.OutcomeDismissed)
		}},
		{name: "an answered lot can't be dismissed", run: func(w *world) {
			out := w.decided()
			_, err := w.ada.Dismiss(w.ctx, out.LotID, revue.Dismissal{})
			w.humanError(err, revue.ErrConflict, "dismiss")
			w.outcome(w.agent("first"), askDB(), revue.OutcomeAnswered)
		}},
		{name: "a reason is not needed", run: func(w *world) {
			w.pend(w.agent("first"), askDB())
			_, err := w.ada.Dismiss(w.ctx, w.open().ID, revue.Dismissal{})
			w.need(err, "dismiss")
			out := w.outcome(w.agent("first"), askDB(), revue.OutcomeDismissed)
			w.check(out.Reason == "", "reason: %q", out.Reason)
		}},
		{name: "reopening takes a dismissal back", run: func(w *world) {
			l := dismissed(w)
			r, err := w.ada.Reopen(w.ctx, l.ID)
			w.need(err, "reopen")
			w.check(r.ID == l.ID && r.Status == revue.StatusOpen && r.Dismissed == nil, "lot: %+v", r)
			w.check(r.Revision > l.Revision, "reopening did not change the revision")
			w.pend(w.agent("first"), askDB())
			w.settle(l.ID, "sqlite")
			out := w.outcome(w.agent("first"), askDB(), revue.OutcomeAnswered)
			w.check(out.Answer == "sqlite", "got %+v", out)
			w.check(len(w.events(revue.EventLotReopened)) == 1, "the journal doesn't say so")
		}},
		{name: "reopening joins the lot that is open by now", run: func(w *world) {
			l := dismissed(w)
			w.pend(w.agent("second"), askDB())
			next := w.open()
			r, err := w.ada.Reopen(w.ctx, l.ID)
			w.need(err, "reopen")
			w.check(r.ID == next.ID, "reopened %s, want the open %s", r.ID, next.ID)
			w.check(len(w.open().Asks) == 2, "the asks are not together")
			w.settle(next.ID, "sqlite")
			for _, c := range []string{"first", "second"} {
				out := w.outcome(w.agent(c), askDB(), revue.OutcomeAnswered)
				w.check(out.Answer == "sqlite" && out.LotID == next.ID, "%s: %+v", c, out)
			}
		}},
		{name: "an answered lot can't be reopened", run: func(w *world) {
			out := w.decided()
			_, err := w.ada.Reopen(w.ctx, out.LotID)
			w.humanError(err, revue.ErrConflict, "reopen")
			w.outcome(w.agent("first"), askDB(), revue.OutcomeAnswered)
		}},
	}
}
