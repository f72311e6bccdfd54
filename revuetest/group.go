package revuetest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/revuehq/revue"
)

// settledOnce checks that the journal has one answer of this lot, and that it names each of its asks once.
func settledOnce(w *world, lotID string, asks int) {
	w.t.Helper()
	var of []revue.Event
	for _, e := range w.events(revue.EventLotAnswered) {
		if e.Lot == lotID {
			of = append(of, e)
		}
	}
	w.check(len(of) == 1, "the journal has %d answers of the lot, want 1", len(of))
	ids := slices.Clone(of[0].Asks)
	slices.Sort(ids)
	w.check(len(slices.Compact(slices.Clone(ids))) == len(ids), "an ask is named twice: %q", ids)
	w.check(len(ids) == asks, "the answer names %d asks, want %d", len(ids), asks)
}

func groupingCases() []testCase {
	joins := func(name string, first, second revue.Ask) testCase {
		return testCase{name: name, run: func(w *world) {
			a := w.start(w.agent("first"), first)
			l := w.asked(1)
			b := w.start(w.agent("second"), second)
			joined := w.asked(2)
			w.check(joined.ID == l.ID, "another lot")
			w.check(joined.Revision > l.Revision, "joining did not change the revision")
			w.settle(l.ID, first.Options[0].Value)
			x := w.answered(a, first.Options[0].Value)
			y := w.answered(b, first.Options[0].Value)
			w.check(x.DecisionID == y.DecisionID && x.LotID == y.LotID, "two decisions: %+v, %+v", x, y)
			settledOnce(w, l.ID, 2)
			w.check(len(w.events(revue.EventLotOpened)) == 1, "two lots were opened")
		}}
	}
	// apart asks both; each must have a lot of its own, and answering one must leave the other.
	apart := func(name string, pairs ...[2]revue.Ask) testCase {
		return testCase{name: name, run: func(w *world) {
			for _, p := range pairs {
				a, b := w.agent("first"), w.agent("second")
				w.pend(a, p[0])
				w.pend(b, p[1])
				lots := w.lots(revue.StatusOpen)
				w.check(len(lots) == 2, "%q and %q: %d lots, want 2", p[0].Question, p[1].Question, len(lots))
				w.settleWith(lots[0].ID, revue.Answer{Text: "one"})
				out := w.outcome(a, p[0], revue.OutcomeAnswered)
				w.check(out.Answer == "one", "got %+v", out)
				w.pend(b, p[1])
				w.settleWith(lots[1].ID, revue.Answer{Text: "two"})
				out = w.outcome(b, p[1], revue.OutcomeAnswered)
				w.check(out.Answer == "two", "got %+v", out)
			}
		}}
	}
	q := func(s string) revue.Ask { return revue.Ask{Question: s} }
	near := func(pairs ...string) (out [][2]revue.Ask) {
		for i := 0; i < len(pairs); i += 2 {
			out = append(out, [2]revue.Ask{q(pairs[i]), q(pairs[i+1])})
		}
		return out
	}
	db := with
	return []testCase{
		joins("the same question of two agents is one lot", askDB(), askDB()),
		joins("case and punctuation don't matter", askDB(), db(func(a *revue.Ask) { a.Question = "which database should the billing service use" })),
		joins("an abbreviation doesn't matter", askDB(), db(func(a *revue.Ask) { a.Question = "Which DB should the billing service use?" })),
		joins("which is what", askDB(), db(func(a *revue.Ask) { a.Question = "What database should the billing service use?" })),
		joins("the order of options doesn't matter", askDB(), db(func(a *revue.Ask) { slices.Reverse(a.Options) })),
		joins("another recommendation doesn't matter", askDB(), db(func(a *revue.Ask) { a.Recommendation = "sqlite" })),
		joins("a scope that fits doesn't matter",
			db(func(a *revue.Ask) { a.Concepts = []string{"billing", "storage"} }), db(func(a *revue.Ask) { a.Concepts = []string{"storage"} })),
		{name: "a joined ask shows its wording", run: func(w *world) {
			w.pend(w.agent("first"), askDB())
			other := "what DB should the billing service use"
			w.pend(w.agent("second"), db(func(a *revue.Ask) { a.Question = other }))
			l := w.open()
			w.check(len(l.Asks) == 2, "%d asks", len(l.Asks))
			w.check(l.Asks[1].Question == other, "shown as %q", l.Asks[1].Question)
			w.check(l.Asks[1].Verdict == revue.VerdictSame, "verdict %q", l.Asks[1].Verdict)
			w.check(l.AskCount == 2, "asks: %d", l.AskCount)
			w.check(l.Question == questionDB, "the lot's question changed to %q", l.Question)
		}},
		{name: "whoever comes late joins, and one answer settles all", run: func(w *world) {
			var calls []*call
			for i := range 4 {
				calls = append(calls, w.start(w.agent(fmt.Sprintf("agent-%d", i)), askDB()))
				w.asked(i + 1)
			}
			l := w.open()
			w.settle(l.ID, "sqlite")
			for _, c := range calls {
				w.answered(c, "sqlite")
			}
			settledOnce(w, l.ID, 4)
		}},
		apart("a negation is another question", near(
			questionDB, "Which database should the billing service not use?",
			"Should we retry errors on the client?", "Should we never retry errors on the client?")...),
		apart("a number is another question", near(
			"Should the nightly job retry 5 times?", "Should the nightly job retry 50 times?",
			"Should the nightly job run at 02:00 UTC?", "Should the nightly job run at 04:00 UTC?")...),
		apart("an environment is another question", near(
			"Should we deploy the release to staging?", "Should we deploy the release to production?",
			"Which cache should the search service use in staging?", "Which cache should the search service use?")...),
		apart("a version, a name, a direction or a path is another question", near(
			"Should we publish version v1 of the API?", "Should we publish version v2 of the API?",
			"Which queue should the billing service use?", "Which queue should the invoices service use?",
			"Should we copy data from the old cluster to the spare cluster?", "Should we copy data from the spare cluster to the old cluster?",
			"Should we edit internal/auth/token.go to fix the race?", "Should we edit internal/auth/session.go to fix the race?")...),
		apart("other options are another question",
			[2]revue.Ask{askDB(), db(func(a *revue.Ask) { a.Options = opts("postgres", "mysql") })},
			[2]revue.Ask{
				{Question: "Which cache should the search service use?", Options: opts("a", "b")},
				{Question: "Which cache should the search service use?", Options: []revue.Option{{Value: "a", Label: "a"}, {Value: "b", Label: "another"}}},
			}),
		apart("more options are another question", [2]revue.Ask{askDB(), db(func(a *revue.Ask) { a.Options = opts("postgres", "sqlite", "mysql") })}),
		apart("other concepts are another question", [2]revue.Ask{
			db(func(a *revue.Ask) { a.Concepts = []string{"billing"} }), db(func(a *revue.Ask) { a.Concepts = []string{"search"} }),
		}),
		apart("other files are another question", [2]revue.Ask{
			db(func(a *revue.Ask) { a.Files = []string{"a/x.go"} }), db(func(a *revue.Ask) { a.Files = []string{"b/x.go"} }),
		}),
		{name: "another repository is another question, unless a concept is common", run: func(w *world) {
			a, b := w.agentAt("first", "a", "github.com/acme/api"), w.agentAt("second", "b", "github.com/acme/web")
			w.pend(a, askDB())
			w.pend(b, askDB())
			w.check(len(w.lots(revue.StatusOpen)) == 2, "two repositories share a lot")
			ask := revue.Ask{Question: "Which cache should the search service use?", Concepts: []string{"caching"}}
			w.pend(a, ask)
			w.pend(b, ask)
			w.check(len(w.openFor(ask.Question).Asks) == 2, "a common concept did not join two repositories")
		}},
		{name: "an unknown repository fits", run: func(w *world) {
			w.pend(w.agentAt("first", "a", "github.com/acme/api"), askDB())
			w.pend(w.agentAt("second", "b", ""), askDB())
			w.check(len(w.open().Asks) == 2, "not joined")
		}},
	}
}

// likelyLot opens a lot with a likely member and returns the lot, whole, and the second wording.
func likelyLot(w *world) (lot revue.Lot, first, second revue.Ask) {
	w.t.Helper()
	first = revue.Ask{Question: w.sys.Likely[0], Options: optionsDB()}
	second = revue.Ask{Question: w.sys.Likely[1], Options: optionsDB()}
	w.pend(w.agent("first"), first)
	w.pend(w.agent("second"), second)
	lots := w.lots(revue.StatusOpen)
	w.check(len(lots) == 1, "%q did not join %q: System.Likely must be a pair that the memory calls likely", second.Question, first.Question)
	lot = w.lot(lots[0].ID)
	w.check(len(lot.Asks) == 2, "%d asks", len(lot.Asks))
	m := lot.Asks[1]
	w.check(m.Verdict == revue.VerdictLikely, "the member is %q, want likely: set System.Likely", m.Verdict)
	w.check(m.Question == second.Question, "the wording is shown as %q", m.Question)
	w.check(m.Differs != "", "nothing says what differs")
	return lot, first, second
}

// apartFrom checks that the second agent's ask is in an open lot of its own that can be answered.
func apartFrom(w *world, settled revue.Lot, second revue.Ask) {
	w.t.Helper()
	w.pend(w.agent("second"), second)
	own := w.open()
	w.check(own.ID != settled.ID, "the lot is still open")
	w.check(own.Question == second.Question, "the lot of its own asks %q", own.Question)
	w.check(len(own.Asks) == 1 && own.Asks[0].Verdict == revue.VerdictSame, "asks: %+v", own.Asks)
	w.check(len(w.events(revue.EventAskMoved)) == 1, "the journal doesn't say that the ask moved")
	w.settle(own.ID, "sqlite")
	out := w.outcome(w.agent("second"), second, revue.OutcomeAnswered)
	w.check(out.Answer == "sqlite", "got %+v", out)
}

func memberCases() []testCase {
	return []testCase{
		{name: "a likely member that was seen is settled", run: func(w *world) {
			l, first, second := likelyLot(w)
			w.settleWith(l.ID, revue.Answer{Value: "postgres", Seen: l.Revision})
			a := w.outcome(w.agent("first"), first, revue.OutcomeAnswered)
			b := w.outcome(w.agent("second"), second, revue.OutcomeAnswered)
			w.check(a.Answer == "postgres" && b.Answer == "postgres" && a.DecisionID == b.DecisionID, "got %+v, %+v", a, b)
			settledOnce(w, l.ID, 2)
		}},
		{name: "a likely member that was settled is an alias from then on", run: func(w *world) {
			l, _, second := likelyLot(w)
			done := w.settleWith(l.ID, revue.Answer{Value: "postgres", Seen: l.Revision})
			out := w.outcome(w.agent("third"), second, revue.OutcomeReused)
			w.check(out.DecisionID == done.DecisionID && out.Answer == "postgres", "got %+v", out)
			why, err := w.ada.Why(w.ctx, done.DecisionID)
			w.need(err, "why")
			w.check(len(why.Decision.Aliases) == 1 && why.Decision.Aliases[0].Text == second.Question, "aliases: %+v", why.Decision.Aliases)
		}},
		{name: "without Seen a likely member is not settled", run: func(w *world) {
			l, first, second := likelyLot(w)
			_, err := w.ada.Answer(w.ctx, l.ID, revue.Answer{Value: "postgres"})
			w.need(err, "answer")
			w.outcome(w.agent("first"), first, revue.OutcomeAnswered)
			settledOnce(w, l.ID, 1)
			apartFrom(w, l, second)
		}},
		{name: "a likely member that came after Seen is not settled", run: func(w *world) {
			l, first, second := likelyLot(w)
			_, err := w.ada.Answer(w.ctx, l.ID, revue.Answer{Value: "postgres", Seen: l.Asks[1].Revision - 1})
			w.need(err, "answer")
			w.outcome(w.agent("first"), first, revue.OutcomeAnswered)
			apartFrom(w, l, second)
		}},
		{name: "a member that is not ticked is not settled", run: func(w *world) {
			l, first, second := likelyLot(w)
			_, err := w.ada.Answer(w.ctx, l.ID, revue.Answer{Value: "postgres", Seen: l.Revision, Members: []string{l.Asks[0].ID}})
			w.need(err, "answer")
			w.outcome(w.agent("first"), first, revue.OutcomeAnswered)
			apartFrom(w, l, second)
		}},
		{name: "a member nobody could have seen is not settled by naming it", run: func(w *world) {
			l, _, second := likelyLot(w)
			_, err := w.ada.Answer(w.ctx, l.ID, revue.Answer{
				Value: "postgres", Seen: l.Asks[1].Revision - 1, Members: []string{l.Asks[0].ID, l.Asks[1].ID},
			})
			w.check(err == nil || revue.CodeOf(err) == revue.CodeInvalid || revue.CodeOf(err) == revue.CodeConflict, "got %v", err)
			w.pend(w.agent("second"), second)
		}},
		{name: "an unknown member is refused", run: func(w *world) {
			l, first, _ := likelyLot(w)
			_, err := w.ada.Answer(w.ctx, l.ID, revue.Answer{Value: "postgres", Seen: l.Revision, Members: []string{l.Asks[0].ID, "ask_unknown"}})
			code := revue.CodeOf(err)
			w.check(code == revue.CodeInvalid || code == revue.CodeNotFound, "got %v", err)
			w.pend(w.agent("first"), first)
			w.check(w.open().ID == l.ID, "the lot changed")
		}},
		{name: "an answer or a dismissal of nobody is refused", run: func(w *world) {
			l, first, _ := likelyLot(w)
			_, err := w.ada.Answer(w.ctx, l.ID, revue.Answer{Value: "postgres", Seen: l.Revision, Members: []string{}})
			w.check(errors.Is(err, revue.ErrInvalid), "members that are empty, not absent: %v", err)
			_, err = w.ada.Dismiss(w.ctx, l.ID, revue.Dismissal{Seen: l.Revision, Members: []string{}})
			w.check(errors.Is(err, revue.ErrInvalid), "members that are empty, not absent: %v", err)
			w.pend(w.agent("first"), first)
			w.check(w.open().ID == l.ID, "the lot changed")
		}},
		{name: "a same ask is settled whenever it came", run: func(w *world) {
			w.pend(w.agent("first"), askDB())
			seen := w.open().Revision
			w.pend(w.agent("second"), askDB())
			l := w.open()
			_, err := w.ada.Answer(w.ctx, l.ID, revue.Answer{Value: "postgres", Seen: seen})
			w.need(err, "answer")
			w.outcome(w.agent("second"), askDB(), revue.OutcomeAnswered)
			settledOnce(w, l.ID, 2)
		}},
		{name: "a same ask that is not ticked is not settled", run: func(w *world) {
			w.pend(w.agent("first"), askDB())
			ref := w.pend(w.agent("second"), askDB()).AskID
			l := w.open()
			i := slices.IndexFunc(l.Asks, func(a revue.AskRecord) bool { return a.ID != ref })
			_, err := w.ada.Answer(w.ctx, l.ID, revue.Answer{Value: "postgres", Seen: l.Revision, Members: []string{l.Asks[i].ID}})
			w.need(err, "answer")
			settledOnce(w, l.ID, 1)
			w.outcome(w.agent("first"), askDB(), revue.OutcomeAnswered)
			again := askDB()
			again.DecisionRef = ref
			w.check(w.pend(w.agent("second"), again).AskID == ref, "the ask is another one")
			w.pend(w.agent("second"), askDB())
			own := w.open()
			w.check(own.ID != l.ID && len(own.Asks) == 1 && own.Asks[0].ID == ref, "lot: %+v", own)
			w.settle(own.ID, "sqlite")
			out := w.outcome(w.agent("second"), askDB(), revue.OutcomeAnswered)
			w.check(out.Answer == "sqlite", "got %+v", out)
		}},
		{name: "an ask that moved while its call waits is answered in its new lot", run: func(w *world) {
			first := revue.Ask{Question: w.sys.Likely[0], Options: optionsDB()}
			second := revue.Ask{Question: w.sys.Likely[1], Options: optionsDB()}
			a := w.start(w.agent("first"), first)
			w.asked(1)
			b := w.start(w.agent("second"), second)
			l := w.asked(2)
			_, err := w.ada.Answer(w.ctx, l.ID, revue.Answer{Value: "postgres"})
			w.need(err, "answer")
			w.answered(a, "postgres")
			own := w.asked(1)
			w.check(own.ID != l.ID, "the lot is still open")
			w.settle(own.ID, "sqlite")
			out := w.answered(b, "sqlite")
			w.check(out.LotID == own.ID, "got %+v", out)
		}},
		{name: "a likely member settled for once is no alias", run: func(w *world) {
			l, _, second := likelyLot(w)
			w.settleWith(l.ID, revue.Answer{Value: "postgres", Seen: l.Revision, Remember: revue.RememberOnce})
			w.outcome(w.agent("second"), second, revue.OutcomeAnswered)
			w.pend(w.agent("third"), second)
		}},
		{name: "a dismissal spares the likely member nobody saw", run: func(w *world) {
			l, first, second := likelyLot(w)
			_, err := w.ada.Dismiss(w.ctx, l.ID, revue.Dismissal{Reason: "no"})
			w.need(err, "dismiss")
			w.outcome(w.agent("first"), first, revue.OutcomeDismissed)
			apartFrom(w, l, second)
		}},
		{name: "a dismissal ends the likely member that was seen", run: func(w *world) {
			l, first, second := likelyLot(w)
			_, err := w.ada.Dismiss(w.ctx, l.ID, revue.Dismissal{Reason: "no", Seen: l.Revision})
			w.need(err, "dismiss")
			w.outcome(w.agent("first"), first, revue.OutcomeDismissed)
			out := w.outcome(w.agent("second"), second, revue.OutcomeDismissed)
			w.check(out.Reason == "no" && out.LotID == l.ID, "got %+v", out)
		}},
	}
}
