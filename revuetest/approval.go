package revuetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/revuehq/revue"
)

func askApproval() revue.Ask {
	return revue.Ask{
		Kind: revue.KindApproval, Question: "Delete 2 stale branches?",
		Context:  "No commits in 3 weeks and no open requests.",
		Affected: []revue.Affected{{Label: "feature/old", Meta: "3 weeks"}, {Label: "fix/legacy"}},
	}
}

func approvalCases() []testCase {
	ends := func(answer string) testCase {
		return testCase{name: answer, run: func(w *world) {
			c := w.start(w.agent("first"), askApproval())
			l := w.asked(1)
			w.check(l.Kind == revue.KindApproval && l.Title == askApproval().Question, "lot: %+v", l)
			w.check(l.Context == askApproval().Context && slices.Equal(l.Affected, askApproval().Affected), "lot: %+v", l)
			w.settle(l.ID, answer)
			w.answered(c, answer)
			w.check(w.lot(l.ID).Status == revue.StatusAnswered, "the lot is still open")
		}}
	}
	return []testCase{
		ends(revue.Approved),
		ends(revue.Declined),
		{name: "expired", run: func(w *world) {
			ask := askApproval()
			ask.Expires = time.Second
			out, err := w.end(w.start(w.agent("first"), ask))
			w.need(err, "request")
			w.check(out.Status == revue.OutcomeExpired && out.Answer != revue.Approved, "got %+v", out)
			l := w.lots("")[0]
			w.check(l.Status == revue.StatusExpired, "the lot is %s", l.Status)
			_, err = w.ada.Answer(w.ctx, l.ID, revue.Answer{Value: revue.Approved})
			w.humanError(err, revue.ErrConflict, "approving what has expired")
		}},
		{name: "expires by default after 24 hours, at most after 90 days", run: func(w *world) {
			for i, c := range []struct{ ask, want time.Duration }{
				{0, revue.DefaultExpiry}, {time.Hour, time.Hour}, {91 * 24 * time.Hour, revue.MaxExpiry},
			} {
				ask := askApproval()
				ask.Question = fmt.Sprintf("Delete stale branch number %d?", i)
				ask.Expires = c.ask
				call := w.start(w.agent("first"), ask)
				l := w.asked(1)
				w.check(l.ExpiresAt.Sub(l.CreatedAt) == c.want, "asked %s: it expires after %s, want %s", c.ask, l.ExpiresAt.Sub(l.CreatedAt), c.want)
				w.settle(l.ID, revue.Declined)
				w.answered(call, revue.Declined)
			}
		}},
		{name: "takes its two words alone", run: func(w *world) {
			c := w.start(w.agent("first"), askApproval())
			l := w.asked(1)
			for _, a := range []revue.Answer{{Value: "yes"}, {Value: "Approved"}, {Value: "expired"}, {Text: "sure"}, {Text: "approved, but only one"}, {}} {
				_, err := w.ada.Answer(w.ctx, l.ID, a)
				w.humanError(err, revue.ErrInvalid, fmt.Sprintf("answer %+v", a))
			}
			w.check(w.open().ID == l.ID, "it settled the card")
			w.settle(l.ID, revue.Approved)
			w.answered(c, revue.Approved)
		}},
		{name: "answered twice is no error for the same human, a conflict for another", run: func(w *world) {
			c := w.start(w.agent("first"), askApproval())
			l := w.asked(1)
			w.settle(l.ID, revue.Declined)
			w.answered(c, revue.Declined)
			again, err := w.ada.Answer(w.ctx, l.ID, revue.Answer{Value: revue.Declined, Seen: l.Revision})
			w.need(err, "the same answer again")
			w.check(again.ID == l.ID && again.Answer != nil && again.Answer.Value == revue.Declined, "lot: %+v", again)
			_, err = w.human("Ben").Answer(w.ctx, l.ID, revue.Answer{Value: revue.Approved, Seen: l.Revision})
			w.humanError(err, revue.ErrConflict, "approving what was declined")
			w.check(strings.Contains(revue.MessageOf(err), "Ada"), "the message %q does not say who decided", revue.MessageOf(err))
			w.check(len(w.events(revue.EventLotAnswered)) == 1, "it is in the journal twice")
		}},
		{name: "is declined, not dismissed", run: func(w *world) {
			c := w.start(w.agent("first"), askApproval())
			l := w.asked(1)
			_, err := w.ada.Dismiss(w.ctx, l.ID, revue.Dismissal{Seen: l.Revision})
			w.check(errors.Is(err, revue.ErrInvalid) || errors.Is(err, revue.ErrConflict), "dismiss: %v", err)
			w.check(w.open().ID == l.ID, "it ended the card")
			w.settle(l.ID, revue.Declined)
			w.answered(c, revue.Declined)
		}},
		{name: "waits on the same card for the same caller", run: func(w *world) {
			d := w.agent("first")
			a := w.start(d, askApproval())
			l := w.asked(1)
			b := w.start(d, askApproval())
			if !w.sys.ApprovalsBlock {
				w.pend(d, askApproval())
			}
			w.check(w.open().ID == l.ID, "another card")
			w.settle(l.ID, revue.Approved)
			// The second call may reach the plane after the answer; then it is a new card.
			w.answered(a, revue.Approved)
			w.eventually("the second call returns or opens a new card", func() bool {
				select {
				case <-b.done:
					return true
				default:
					return len(w.lots(revue.StatusOpen)) == 1
				}
			})
			select {
			case <-b.done:
				w.answered(b, revue.Approved)
			default:
				w.settle(w.open().ID, revue.Declined)
				w.answered(b, revue.Declined)
			}
		}},
		{name: "is never shared between credentials", run: func(w *world) {
			a := w.start(w.agent("first"), askApproval())
			first := w.asked(1)
			b := w.start(w.agent("second"), askApproval())
			lots := w.opens(2)
			other := lots[0].ID
			if other == first.ID {
				other = lots[1].ID
			}
			w.settle(first.ID, revue.Approved)
			w.answered(a, revue.Approved)
			w.check(w.open().ID == other, "one answer settled both")
			w.settle(other, revue.Declined)
			w.answered(b, revue.Declined)
		}},
		{name: "is never shared between threads", unless: callerIsCredential, run: func(w *world) {
			a := w.start(w.agentAt("first", "one", ""), askApproval())
			first := w.asked(1)
			b := w.start(w.agentAt("first", "two", ""), askApproval())
			w.opens(2)
			w.settle(first.ID, revue.Approved)
			w.answered(a, revue.Approved)
			w.settle(w.open().ID, revue.Declined)
			w.answered(b, revue.Declined)
		}},
		{name: "is another card where context or affected differ", run: func(w *world) {
			d := w.agent("first")
			var calls []*call
			for i, change := range []func(*revue.Ask){
				func(*revue.Ask) {},
				func(a *revue.Ask) { a.Context = "Other reasons." },
				func(a *revue.Ask) { a.Affected = a.Affected[:1] },
				func(a *revue.Ask) { a.Question = "Delete 3 stale branches?" },
			} {
				ask := askApproval()
				change(&ask)
				calls = append(calls, w.start(d, ask))
				w.opens(i + 1)
			}
			for _, l := range w.lots(revue.StatusOpen) {
				w.settle(l.ID, revue.Declined)
			}
			for _, c := range calls {
				w.answered(c, revue.Declined)
			}
		}},
		{name: "given to a call is never given to the next", run: func(w *world) {
			d := w.agent("first")
			for range 3 {
				c := w.start(d, askApproval())
				l := w.asked(1)
				w.settle(l.ID, revue.Approved)
				w.answered(c, revue.Approved)
			}
			w.check(len(w.lots("")) == 3, "%d cards, want 3", len(w.lots("")))
		}},
		{name: "that no call waited for is collected once, by the same caller", unless: approvalsBlock, run: func(w *world) {
			d := w.agent("first")
			w.pend(d, askApproval())
			l := w.open()
			w.settle(l.ID, revue.Approved)
			w.pend(w.agent("second"), askApproval())
			other := w.open()
			out := w.outcome(d, askApproval(), revue.OutcomeAnswered)
			w.check(out.Answer == revue.Approved && out.LotID == l.ID, "got %+v", out)
			w.pend(d, askApproval())
			w.check(len(w.lots(revue.StatusOpen)) == 2, "no new card")
			w.check(w.lot(other.ID).Status == revue.StatusOpen, "the other caller's card changed")
		}},
		{name: "that expired unseen is collected once", unless: approvalsBlock, run: func(w *world) {
			d := w.agent("first")
			ask := askApproval()
			ask.Expires = time.Second
			out := w.request(d, ask)
			if w.sys.Lossy && out.Status == revue.OutcomeExpired {
				return // the first outcome was lost, and this is the second: there is nothing left to collect
			}
			w.check(out.Status == revue.OutcomePending, "got %+v", out)
			w.eventually("the card expires", func() bool { return len(w.lots(revue.StatusOpen)) == 0 })
			ask.Expires = 0
			out = w.outcome(d, ask, revue.OutcomeExpired)
			w.check(out.Answer != revue.Approved, "got %+v", out)
			w.pend(d, ask)
		}},
		{name: "is never a precedent", run: func(w *world) {
			c := w.start(w.agent("first"), askApproval())
			l := w.asked(1)
			_, err := w.ada.Answer(w.ctx, l.ID, revue.Answer{Value: revue.Approved, Remember: revue.RememberRule})
			if err != nil { // a plane may refuse to remember it, or take no notice
				w.humanError(err, revue.ErrInvalid, "approve as a rule")
				w.settle(l.ID, revue.Approved)
			}
			w.answered(c, revue.Approved)
			found, err := w.agent("second").Lookup(w.ctx, revue.Query{Text: askApproval().Question})
			w.need(err, "lookup")
			for _, m := range found.Matches {
				w.check(m.ReuseGuidance != revue.Apply, "an approval is to be applied: %+v", m)
			}
			w.pend(w.agent("second"), revue.Ask{Question: askApproval().Question, Options: opts(revue.Approved, revue.Declined)})
			again := w.start(w.agent("second"), askApproval())
			for _, l := range w.opens(2) {
				w.settle(l.ID, revue.Declined)
			}
			w.answered(again, revue.Declined)
		}},
	}
}
