package revuetest

import (
	"strings"

	"github.com/revuehq/revue"
)

// calling returns a reviewer of the workspace for one write, which has an id.
func (w *world) calling(name, call string) revue.Reviewer {
	w.t.Helper()
	return w.sys.Reviewer(w.t, revue.Human{
		Workspace: w.ws, ID: "human-" + strings.ToLower(name), Name: name, Via: "library", Call: call,
	})
}

// callCases are the writes of humans that are tried again.
func callCases() []testCase {
	no := revue.Dismissal{Reason: "not now"}
	return []testCase{
		{name: "a dismissal that is tried again does not end what was reopened", unless: noCalls, run: func(w *world) {
			lot := w.pend(w.agent("first"), askDB()).LotID
			got, err := w.calling("Ada", "call-1").Dismiss(w.ctx, lot, no)
			w.need(err, "dismiss")
			w.check(got.Status == revue.StatusDismissed, "it is %s", got.Status)
			got, err = w.calling("Ada", "call-1").Dismiss(w.ctx, lot, no)
			w.need(err, "dismiss again")
			w.check(got.ID == lot && got.Status == revue.StatusDismissed, "it is %s", got.Status)
			_, err = w.human("Bob").Reopen(w.ctx, lot)
			w.need(err, "reopen")
			got, err = w.calling("Ada", "call-1").Dismiss(w.ctx, lot, no)
			w.need(err, "dismiss after it was reopened")
			w.check(got.ID == lot && got.Status == revue.StatusOpen, "it is %s", got.Status)
			w.check(w.lot(lot).Status == revue.StatusOpen, "the retry dismissed it again")
			w.check(len(w.events(revue.EventLotDismissed)) == 1, "it was dismissed twice")
		}},
		{name: "a reopening that is tried again does not take back what came later", unless: noCalls, run: func(w *world) {
			lot := w.pend(w.agent("first"), askDB()).LotID
			_, err := w.ada.Dismiss(w.ctx, lot, no)
			w.need(err, "dismiss")
			_, err = w.calling("Ada", "call-1").Reopen(w.ctx, lot)
			w.need(err, "reopen")
			_, err = w.human("Bob").Dismiss(w.ctx, lot, no)
			w.need(err, "dismiss")
			got, err := w.calling("Ada", "call-1").Reopen(w.ctx, lot)
			w.need(err, "reopen again")
			w.check(got.Status == revue.StatusDismissed, "it is %s", got.Status)
			w.check(len(w.events(revue.EventLotReopened)) == 1, "it was reopened twice")
		}},
		{name: "a correction that is tried again does not undo its undoing", unless: noCalls, run: func(w *world) {
			dec := w.decided().DecisionID
			c := revue.Correction{DecisionID: dec, Verb: revue.VerbWrong}
			got, err := w.calling("Ada", "call-1").Correct(w.ctx, c)
			w.need(err, "correct")
			_, err = w.human("Bob").Correct(w.ctx, revue.Correction{DecisionID: dec, Undoes: got.Corrections[0].ID})
			w.need(err, "undo")
			got, err = w.calling("Ada", "call-1").Correct(w.ctx, c)
			w.need(err, "correct again")
			w.check(got.ID == dec && !got.Stands(revue.VerbWrong) && len(got.Corrections) == 2, "corrections: %+v", got.Corrections)
		}},
		{name: "an answer that is tried again returns its lot", unless: noCalls, run: func(w *world) {
			lot := w.pend(w.agent("first"), askDB()).LotID
			a := revue.Answer{Value: "postgres", Note: "for now", Seen: 1}
			first, err := w.calling("Ada", "call-1").Answer(w.ctx, lot, a)
			w.need(err, "answer")
			again, err := w.calling("Ada", "call-1").Answer(w.ctx, lot, a)
			w.need(err, "answer again")
			w.check(again.DecisionID == first.DecisionID && again.Revision == first.Revision, "another answer: %+v", again)
			w.check(len(w.events(revue.EventLotAnswered)) == 1, "it was answered twice")
		}},
		{name: "the id of a call is for one write of one human", unless: noCalls, run: func(w *world) {
			lot := w.pend(w.agent("first"), askDB()).LotID
			other := w.pend(w.agent("first"), revue.Ask{Question: "Which cache should the search service use?"}).LotID
			_, err := w.calling("Ada", "call-1").Dismiss(w.ctx, lot, no)
			w.need(err, "dismiss")
			_, err = w.calling("Ada", "call-1").Dismiss(w.ctx, other, no)
			w.humanError(err, revue.ErrConflict, "the same id for another lot")
			_, err = w.calling("Ada", "call-1").Dismiss(w.ctx, lot, revue.Dismissal{Reason: "never"})
			w.humanError(err, revue.ErrConflict, "the same id for another reason")
			_, err = w.calling("Ada", "call-1").Reopen(w.ctx, lot)
			w.humanError(err, revue.ErrConflict, "the same id for another act")
			_, err = w.calling("Ada", "call-1").Answer(w.ctx, other, revue.Answer{Text: "none"})
			w.humanError(err, revue.ErrConflict, "the same id for an answer")
			w.check(w.lot(other).Status == revue.StatusOpen && w.lot(lot).Status == revue.StatusDismissed, "something changed")
			_, err = w.calling("Bob", "call-1").Reopen(w.ctx, lot)
			w.need(err, "the same id of another human")
		}},
		{name: "what failed leaves the id of its call free", unless: noCalls, run: func(w *world) {
			lot := w.pend(w.agent("first"), askDB()).LotID
			_, err := w.calling("Ada", "call-1").Answer(w.ctx, lot, revue.Answer{Value: "mysql"})
			w.humanError(err, revue.ErrInvalid, "an answer that is no option")
			_, err = w.calling("Ada", "call-1").Answer(w.ctx, lot, revue.Answer{Value: "sqlite"})
			w.need(err, "answer")
		}},
	}
}

// signed checks the receipt of an outcome, as the agent has it and as a human reads it.
func (w *world) signed(o revue.Outcome, kind string) {
	w.t.Helper()
	w.check(o.Receipt != nil, "an outcome that is %s has no receipt", o.Status)
	keys := w.sys.Keys(w.t)
	w.need(keys.VerifyReceipt(*o.Receipt), "verify the receipt of the outcome")
	r, err := w.ada.Receipt(w.ctx, o.Receipt.ID)
	w.need(err, "read the receipt")
	w.need(keys.VerifyReceipt(r), "verify the receipt that was read")
	w.check(r.ID == o.Receipt.ID && r.Kind == kind && r.Answer == o.Answer && r.Workspace == w.ws, "the receipt says %+v", r)
	w.check(o.Receipt.Answer == r.Answer && o.Receipt.Seq == r.Seq && o.Receipt.JournalHash == r.JournalHash, "two receipts: %+v and %+v", o.Receipt, r)
	for _, e := range w.chain() {
		if e.Seq == r.Seq {
			w.check(e.Hash == r.JournalHash, "the receipt names another event")
			return
		}
	}
	w.t.Fatalf("the receipt names event %d, which is not in the journal", r.Seq)
}

// receiptCases are the signatures of receipts.
func receiptCases() []testCase {
	return []testCase{
		{name: "an answer and a reuse are signed", unless: noKeys, run: func(w *world) {
			w.signed(w.decided(), "answered")
			w.signed(w.outcome(w.agent("second"), askDB(), revue.OutcomeReused), "reused")
		}},
		{name: "a dismissal is signed", unless: noKeys, run: func(w *world) {
			w.pend(w.agent("first"), askDB())
			_, err := w.ada.Dismiss(w.ctx, w.open().ID, revue.Dismissal{Reason: "not now"})
			w.need(err, "dismiss")
			w.signed(w.outcome(w.agent("first"), askDB(), revue.OutcomeDismissed), "dismissed")
		}},
		{name: "an approval is signed", unless: func(s System) bool { return s.Keys == nil || s.NoCodes }, run: func(w *world) {
			c := w.start(w.agent("first"), askApproval())
			w.settle(w.opens(1)[0].ID, revue.Declined)
			w.signed(w.answered(c, revue.Declined), "answered")
		}},
		{name: "an expiry is signed", unless: func(s System) bool { return s.Keys == nil || s.NoCodes }, run: func(w *world) {
			ask := askApproval()
			ask.Expires = revue.MinExpiry
			out, err := w.end(w.start(w.agent("first"), ask))
			w.need(err, "request")
			w.check(out.Status == revue.OutcomeExpired, "it is %s", out.Status)
			w.signed(out, "expired")
		}},
		{name: "a receipt that was changed does not verify", unless: noKeys, run: func(w *world) {
			r := *w.decided().Receipt
			r.Answer = "sqlite"
			w.humanError(w.sys.Keys(w.t).VerifyReceipt(r), revue.ErrInvalid, "another answer")
			r.JWS = ""
			w.humanError(w.sys.Keys(w.t).VerifyReceipt(r), revue.ErrInvalid, "no signature")
		}},
	}
}
