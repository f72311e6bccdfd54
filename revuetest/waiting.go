package revuetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/revuehq/revue"
)

func waitingCases() []testCase {
	return []testCase{
		{name: "without a wait it is pending at once", run: func(w *world) {
			out := w.pend(w.agent("first"), askDB())
			w.check(out.RetryAfter >= 0, "retry after %s", out.RetryAfter)
			l := w.open()
			w.check(l.Status == revue.StatusOpen && l.Kind == revue.KindDecision, "lot: %+v", l)
			w.check(l.Question == questionDB && slices.Equal(l.Options, optionsDB()), "lot: %+v", l)
			w.check(l.Stream == revue.DefaultStream, "stream: %q", l.Stream)
			w.check(len(l.Asks) == 1 && l.Asks[0].ID == out.AskID, "the decisionRef is not the ask's id")
			w.check(l.Asks[0].Thread == "thread-first", "thread: %q", l.Asks[0].Thread)
		}},
		{name: "the end of a wait is pending and changes nothing", run: func(w *world) {
			ask := askDB()
			ask.Wait = time.Second
			d := w.agent("first")
			out := w.request(d, ask)
			w.check(out.Status == revue.OutcomePending, "got %+v", out)
			before := w.open()
			w.check(before.Status == revue.StatusOpen, "the lot is %s", before.Status)
			again := w.request(d, ask)
			w.check(again.Status == revue.OutcomePending && again.AskID == out.AskID, "got %+v", again)
			after := w.open()
			w.check(after.ID == before.ID && after.Revision == before.Revision, "waiting changed the lot")
		}},
		{name: "an answer ends the wait", run: func(w *world) {
			c := w.start(w.agent("first"), askDB())
			l := w.asked(1)
			done := w.settle(l.ID, "sqlite")
			out := w.answered(c, "sqlite")
			w.check(out.LotID == l.ID && out.DecisionID == done.DecisionID, "outcome: %+v", out)
			w.check(!out.FreeText, "an option counts as free text")
			w.check(out.DecidedBy != nil && out.DecidedBy.Name == "Ada" && out.DecidedBy.Via != "", "decidedBy: %+v", out.DecidedBy)
			w.check(out.Receipt != nil && out.Receipt.ID != "", "no receipt")
			w.check(out.Trace != "", "no trace")
			w.check(out.Correction != nil && out.Correction.DecisionID == out.DecisionID, "correction: %+v", out.Correction)
			w.check(slices.Equal(out.Correction.Verbs, revue.Verbs()), "verbs: %v", out.Correction.Verbs)
		}},
		{name: "a dismissal ends the wait", run: func(w *world) {
			c := w.start(w.agent("first"), askDB())
			l := w.asked(1)
			_, err := w.ada.Dismiss(w.ctx, l.ID, revue.Dismissal{Reason: "not now"})
			w.need(err, "dismiss")
			out, err := w.end(c)
			w.need(err, "waiting call")
			w.check(out.Status == revue.OutcomeDismissed && out.Reason == "not now" && out.LotID == l.ID, "got %+v", out)
			w.check(out.Answer == "", "a dismissal carries an answer")
		}},
		{name: "an answer given while nobody waits is there at the next call", run: func(w *world) {
			d := w.agent("first")
			w.pend(d, askDB())
			w.settle(w.open().ID, "postgres")
			out := w.outcome(d, askDB(), revue.OutcomeAnswered)
			w.check(out.Answer == "postgres", "got %+v", out)
		}},
		{name: "silence is not consent", run: func(w *world) {
			ask := askDB()
			ask.Recommendation = "postgres"
			ask.Wait = time.Second
			out := w.request(w.agent("first"), ask)
			w.check(out.Status == revue.OutcomePending && out.Answer == "", "got %+v", out)
			w.check(w.open().Answer == nil, "the recommendation became the answer")
		}},
		{name: "a cancelled call returns the context's error and keeps the lot", run: func(w *world) {
			d := w.agent("first")
			c := w.start(d, askDB())
			l := w.asked(1)
			c.cancel()
			_, err := w.end(c)
			w.check(errors.Is(err, context.Canceled), "got %v", err)
			after := w.open()
			w.check(after.ID == l.ID && after.Revision == l.Revision && len(after.Asks) == 1, "cancelling changed the lot")
			w.settle(l.ID, "postgres")
			w.outcome(d, askDB(), revue.OutcomeAnswered)
		}},
		{name: "a call that is cancelled before it begins changes nothing", run: func(w *world) {
			d := w.agent("first")
			ctx, cancel := context.WithCancel(w.ctx)
			cancel()
			_, err := d.Request(ctx, askDB())
			w.check(errors.Is(err, context.Canceled), "request: %v", err)
			_, err = d.Lookup(ctx, revue.Query{Text: questionDB})
			w.check(errors.Is(err, context.Canceled), "lookup: %v", err)
			_, err = d.Share(ctx, revue.ContextItem{Kind: "note", Body: "b", Concepts: []string{"c"}})
			w.check(errors.Is(err, context.Canceled), "share: %v", err)
			w.untouched()
		}},
		{name: "a deadline that passes returns the context's error", run: func(w *world) {
			d := w.agent("first")
			w.pend(d, askDB())
			ctx, cancel := context.WithTimeout(w.ctx, 500*time.Millisecond)
			defer cancel()
			ask := askDB()
			ask.Wait = longWait
			_, err := d.Request(ctx, ask)
			w.check(errors.Is(err, context.DeadlineExceeded), "got %v", err)
			w.check(w.open().Status == revue.StatusOpen, "the lot changed")
		}},
		{name: "several calls of one agent wait on one ask", run: func(w *world) {
			d := w.agent("first")
			a, b := w.start(d, askDB()), w.start(d, askDB())
			l := w.asked(1)
			w.settle(l.ID, "postgres")
			x, y := w.answered(a, "postgres"), w.answered(b, "postgres")
			w.check(x.DecisionID == y.DecisionID, "two decisions")
			w.check(len(w.lot(l.ID).Asks) == 1, "two asks")
		}},
	}
}

func keyCases() []testCase {
	// Each variant is asked after the base by the same agent. asks is how many asks the one lot has
	// then: 1 where the key is the same, 2 where it differs and the lot was joined.
	base := revue.Ask{
		Question: questionDB, Options: []revue.Option{
			{Value: "pg", Label: "Postgres", Consequence: "a server"},
			{Value: "lite", Label: "SQLite", Consequence: "a file"},
		},
		Recommendation: "pg", Context: "c", Concepts: []string{"billing", "storage"}, Files: []string{"a.go", "b.go"},
	}
	variant := func(name string, asks int, change func(*revue.Ask)) testCase {
		return testCase{name: name, run: func(w *world) {
			d := w.agent("first")
			first := w.pend(d, base)
			ask := base
			ask.Options = slices.Clone(base.Options)
			change(&ask)
			second := w.pend(d, ask)
			l := w.open()
			w.check(len(l.Asks) == asks, "the lot has %d asks, want %d", len(l.Asks), asks)
			w.check((first.AskID == second.AskID) == (asks == 1), "decisionRefs %q and %q", first.AskID, second.AskID)
		}}
	}
	return []testCase{
		variant("the same call is the same ask", 1, func(*revue.Ask) {}),
		variant("the order of concepts is not part of it", 1, func(a *revue.Ask) { a.Concepts = []string{"storage", "billing"} }),
		variant("a concept twice is one", 1, func(a *revue.Ask) { a.Concepts = []string{"billing", "storage", "billing"} }),
		variant("the order of files is not part of it", 1, func(a *revue.Ask) { a.Files = []string{"b.go", "a.go"} }),
		variant("a file twice is one", 1, func(a *revue.Ask) { a.Files = []string{"a.go", "b.go", "a.go"} }),
		variant("the context of a decision is not part of it", 1, func(a *revue.Ask) { a.Context = "more" }),
		variant("the stream is not part of it", 1, func(a *revue.Ask) { a.Stream = "web" }),
		variant("the wait is not part of it", 1, func(a *revue.Ask) { a.Wait = time.Second }),
		variant("the order of options is part of it", 2, func(a *revue.Ask) { slices.Reverse(a.Options) }),
		variant("the recommendation is part of it", 2, func(a *revue.Ask) { a.Recommendation = "lite" }),
		variant("concepts are part of it", 2, func(a *revue.Ask) { a.Concepts = []string{"billing"} }),
		variant("files are part of it", 2, func(a *revue.Ask) { a.Files = []string{"a.go"} }),
		variant("a consequence left out is part of it", 2, func(a *revue.Ask) { a.Options[0].Consequence = "" }),
		{name: "the thread is not part of it", run: func(w *world) {
			w.pend(w.agentAt("first", "one", ""), base)
			w.pend(w.agentAt("first", "two", ""), base)
			l := w.open()
			for _, a := range l.Asks {
				w.check(a.Key == l.Asks[0].Key, "keys differ")
			}
		}},
		{name: "CRLF is LF", run: func(w *world) {
			d := w.agent("first")
			w.pend(d, revue.Ask{Question: questionDB + "\nAnswer soon."})
			w.pend(d, revue.Ask{Question: questionDB + "\r\nAnswer soon."})
			w.check(len(w.open().Asks) == 1, "two asks")
		}},
		{name: "the kind is part of it", run: func(w *world) {
			d := w.agent("first")
			w.pend(d, revue.Ask{Question: "Delete the stale branches?", Context: "c"})
			c := w.start(d, revue.Ask{Kind: revue.KindApproval, Question: "Delete the stale branches?", Context: "c"})
			for _, l := range w.opens(2) {
				if l.Kind == revue.KindApproval {
					w.settle(l.ID, revue.Declined)
				}
			}
			w.answered(c, revue.Declined)
			w.check(w.open().Kind == revue.KindDecision, "the decision is gone")
		}},
	}
}

func resumeCases() []testCase {
	return []testCase{
		{name: "an answered ask stays answered however often it is called", run: func(w *world) {
			out := w.decided()
			for range 3 {
				again := w.outcome(w.agent("first"), askDB(), revue.OutcomeAnswered)
				w.check(again.Answer == out.Answer && again.LotID == out.LotID && again.DecisionID == out.DecisionID, "got %+v", again)
				w.check(again.Receipt != nil && out.Receipt != nil && again.Receipt.ID == out.Receipt.ID, "another receipt")
			}
			w.check(len(w.events(revue.EventLotAnswered)) == 1, "the answer is in the journal more than once")
			w.check(len(w.lots("")) == 1, "more than one lot")
		}},
		{name: "a restarted agent on its thread takes up its ask", run: func(w *world) {
			first := w.pend(w.newAgent("first", "t", ""), askDB())
			second := w.pend(w.newAgent("first", "t", ""), askDB())
			w.check(first.AskID == second.AskID, "another ask")
			w.settle(w.open().ID, "sqlite")
			out := w.outcome(w.newAgent("first", "t", ""), askDB(), revue.OutcomeAnswered)
			w.check(out.Answer == "sqlite", "got %+v", out)
		}},
		{name: "the same credential on another thread gets an answer nobody got", run: func(w *world) {
			w.pend(w.agentAt("first", "one", ""), askDB())
			w.settleWith(w.open().ID, revue.Answer{Value: "postgres", Remember: revue.RememberOnce})
			out := w.outcome(w.agentAt("first", "two", ""), askDB(), revue.OutcomeAnswered)
			w.check(out.Answer == "postgres", "got %+v", out)
			if w.sys.Library { // elsewhere the acknowledgement may still be on its way
				w.pend(w.agentAt("first", "three", ""), askDB())
			}
		}},
		{name: "another credential never gets an answer that was meant for once", run: func(w *world) {
			w.pend(w.agent("first"), askDB())
			w.settleWith(w.open().ID, revue.Answer{Value: "postgres", Remember: revue.RememberOnce})
			w.pend(w.agent("second"), askDB())
			w.outcome(w.agent("first"), askDB(), revue.OutcomeAnswered)
		}},
		{name: "a decisionRef resumes its ask", run: func(w *world) {
			d := w.agent("first")
			first := w.pend(d, askDB())
			ask := askDB()
			ask.DecisionRef = first.AskID
			second := w.pend(d, ask)
			w.check(second.AskID == first.AskID && len(w.open().Asks) == 1, "another ask")
			ask.Question = "which DB should the billing service use" // the same, spelled otherwise
			third := w.pend(d, ask)
			w.check(third.AskID == first.AskID && len(w.open().Asks) == 1, "another spelling made another ask")
			w.settle(w.open().ID, "sqlite")
			out := w.outcome(d, ask, revue.OutcomeAnswered)
			w.check(out.Answer == "sqlite", "got %+v", out)
		}},
		{name: "a decisionRef is valid for its credential alone", run: func(w *world) {
			ref := w.pend(w.agent("first"), askDB()).AskID
			ask := askDB()
			ask.DecisionRef = ref
			before := len(w.journal())
			_, err := w.agent("second").Request(w.ctx, ask)
			w.agentError(err, revue.ErrNotFound, "another credential's decisionRef")
			w.check(len(w.open().Asks) == 1 && len(w.journal()) == before, "it opened or joined something")
			out := w.pend(w.agentAt("first", "elsewhere", ""), ask)
			w.check(out.AskID == ref, "the credential's other thread did not get its ask")
		}},
		{name: "an unknown decisionRef opens nothing", run: func(w *world) {
			for _, ref := range []string{"ask_unknown", "lot_unknown", "../x", "ü", strings.Repeat("a", 300)} {
				ask := askDB()
				ask.DecisionRef = ref
				_, err := w.agent("first").Request(w.ctx, ask)
				w.check(err != nil, "decisionRef %q: no error", clip(ref))
				if !w.sys.NoCodes {
					code := revue.CodeOf(err)
					w.check(code == revue.CodeNotFound || code == revue.CodeInvalid && len(ref) > 256, "decisionRef %q: %s", clip(ref), code)
				}
			}
			w.untouched()
		}},
		{name: "a decisionRef with another question is refused", run: func(w *world) {
			d := w.agent("first")
			ref := w.pend(d, askDB()).AskID
			before := len(w.journal())
			for _, q := range []string{
				"Should the nightly job run at 02:00 UTC?",
				"Which database should the billing service not use?",
			} {
				ask := askDB()
				ask.Question, ask.DecisionRef = q, ref
				_, err := d.Request(w.ctx, ask)
				w.agentError(err, revue.ErrInvalid, q)
			}
			w.check(len(w.journal()) == before, "it left events")
		}},
	}
}
