package revuetest

import (
	"slices"

	"github.com/revuehq/revue"
)

// precedent is a decision, a request of another agent, and whether the decision answers it.
type precedent struct {
	name   string
	made   revue.Ask
	answer revue.Answer
	repo   string // where it was made
	asked  revue.Ask
	in     string // the repository that asks
	reused bool
}

func (p precedent) testCase() testCase {
	return testCase{name: p.name, run: func(w *world) {
		out := w.decide(w.agentAt("first", "a", p.repo), p.made, p.answer)
		d := w.agentAt("second", "b", p.in)
		if p.reused {
			got := w.outcome(d, p.asked, revue.OutcomeReused)
			w.check(got.Answer == out.Answer && got.DecisionID == out.DecisionID, "got %+v, want the answer of %+v", got, out)
			w.check(len(w.lots(revue.StatusOpen)) == 0, "a human was interrupted")
			return
		}
		w.pend(d, p.asked)
		w.check(w.open().Question == p.asked.Question, "another question is open")
		w.check(len(w.events(revue.EventAskReused)) == 0, "the journal says that it was reused")
	}}
}

func reuseCases() []testCase {
	db := askDB()
	pg := revue.Answer{Value: "postgres"}
	q := func(s string, values ...string) revue.Ask { return revue.Ask{Question: s, Options: opts(values...)} }
	rule := revue.Answer{Value: "yes", Remember: revue.RememberRule}
	yes := revue.Answer{Value: "yes"}
	may := q("May I edit internal/auth/token.go to fix the race?", "yes", "no")
	all := []precedent{
		{name: "another agent gets it", made: db, answer: pg, asked: db, reused: true},
		{name: "spelling doesn't matter", made: db, answer: pg, asked: q("which DB should the billing service use", "postgres", "sqlite"), reused: true},
		{name: "the order of options doesn't matter", made: db, answer: pg, asked: q(questionDB, "sqlite", "postgres"), reused: true},
		{name: "fewer options with the answer among them", made: q(questionDB, "postgres", "sqlite", "mysql"), answer: pg, asked: q(questionDB, "mysql", "postgres"), reused: true},
		{name: "not without the answer among the options", made: q(questionDB, "postgres", "sqlite", "mysql"), answer: pg, asked: q(questionDB, "mysql", "sqlite")},
		{name: "not with an option the human did not have", made: db, answer: pg, asked: q(questionDB, "postgres", "sqlite", "mysql")},
		{name: "not with another label", made: db, answer: pg, asked: with(func(a *revue.Ask) { a.Options[0].Label = "PostgreSQL 17" })},
		{
			name: "not with another consequence", answer: pg,
			made:  with(func(a *revue.Ask) { a.Options[0].Consequence = "costs 5" }),
			asked: with(func(a *revue.Ask) { a.Options[0].Consequence = "costs 50" }),
		},
		{name: "a consequence one side leaves out doesn't matter", made: with(func(a *revue.Ask) { a.Options[0].Consequence = "costs 5" }), answer: pg, asked: db, reused: true},
		{name: "not where options were and none are", made: db, answer: pg, asked: revue.Ask{Question: questionDB}},
		{name: "free text where no options are", made: revue.Ask{Question: questionDB}, answer: revue.Answer{Text: "mysql"}, asked: revue.Ask{Question: questionDB}, reused: true},
		{name: "not free text where options are", made: db, answer: revue.Answer{Text: "mysql"}, asked: db},
		{name: "a common concept", made: with(func(a *revue.Ask) { a.Concepts = []string{"billing", "storage"} }), answer: pg, asked: with(func(a *revue.Ask) { a.Concepts = []string{"storage"} }), reused: true},
		{name: "concepts on one side alone", made: with(func(a *revue.Ask) { a.Concepts = []string{"billing"} }), answer: pg, asked: db, reused: true},
		{name: "not with other concepts", made: with(func(a *revue.Ask) { a.Concepts = []string{"billing"} }), answer: pg, asked: with(func(a *revue.Ask) { a.Concepts = []string{"search"} })},
		{name: "a common file", made: with(func(a *revue.Ask) { a.Files = []string{"a.go", "b.go"} }), answer: pg, asked: with(func(a *revue.Ask) { a.Files = []string{"b.go", "c.go"} }), reused: true},
		{name: "not with other files", made: with(func(a *revue.Ask) { a.Files = []string{"a.go"} }), answer: pg, asked: with(func(a *revue.Ask) { a.Files = []string{"c.go"} })},
		{name: "the same repository", made: db, answer: pg, repo: "github.com/acme/api", asked: db, in: "github.com/acme/api", reused: true},
		{name: "not in another repository", made: db, answer: pg, repo: "github.com/acme/api", asked: db, in: "github.com/acme/web"},
		{name: "an unknown repository", made: db, answer: pg, repo: "github.com/acme/api", asked: db, reused: true},
		{
			name: "another repository with a common concept", answer: pg, repo: "github.com/acme/api", in: "github.com/acme/web", reused: true,
			made: with(func(a *revue.Ask) { a.Concepts = []string{"billing"} }), asked: with(func(a *revue.Ask) { a.Concepts = []string{"billing"} }),
		},
		{name: "not for a near question", made: q("Should the nightly job retry 5 times?", "yes", "no"), answer: yes, asked: q("Should the nightly job retry 50 times?", "yes", "no")},
		{name: "not for a negated question", made: db, answer: pg, asked: q("Which database should the billing service not use?", "postgres", "sqlite")},
		{name: "not for another environment", made: q("Should we deploy the release to staging?", "yes", "no"), answer: yes, asked: q("Should we deploy the release to production?", "yes", "no")},
		{name: "not for words in another order", made: q("Should we copy data from the old cluster to the spare cluster?", "yes", "no"), answer: yes, asked: q("Should we copy data from the spare cluster to the old cluster?", "yes", "no")},
		{name: "not for a deictic question", made: q("Should we delete this branch?", "yes", "no"), answer: yes, asked: q("Should we delete this branch?", "yes", "no")},
		{name: "not for a deictic question as a rule", made: q("Should we delete this branch?", "yes", "no"), answer: rule, asked: q("Should we delete this branch?", "yes", "no")},
		{name: "not for a permission", made: may, answer: yes, asked: may},
		{name: "a permission that is a rule", made: may, answer: rule, asked: may, reused: true},
		{name: "not what was meant for once", made: db, answer: revue.Answer{Value: "postgres", Remember: revue.RememberOnce}, asked: db},
	}
	cases := make([]testCase, 0, len(all)+4)
	for _, p := range all {
		cases = append(cases, p.testCase())
	}
	return append(
		cases,
		testCase{name: "a reused outcome tells everything", run: func(w *world) {
			made := w.decided()
			out := w.outcome(w.agent("second"), askDB(), revue.OutcomeReused)
			w.check(out.DecisionID == made.DecisionID && out.Answer == "postgres" && !out.FreeText, "outcome: %+v", out)
			w.check(out.DecidedBy != nil && out.DecidedBy.Name == "Ada", "decidedBy: %+v", out.DecidedBy)
			w.check(out.Trace != "", "no trace")
			w.check(out.Correction != nil && out.Correction.DecisionID == made.DecisionID && slices.Equal(out.Correction.Verbs, revue.Verbs()), "correction: %+v", out.Correction)
			w.check(out.Receipt != nil && out.Receipt.ID != "" && out.Receipt.ID != made.Receipt.ID, "receipt: %+v", out.Receipt)
			r, err := w.ada.Receipt(w.ctx, out.Receipt.ID)
			w.need(err, "receipt")
			w.check(r.Kind == "reused" && r.Decision == made.DecisionID && r.Ask != "" && r.Answer == "postgres", "receipt: %+v", r)
			used := w.events(revue.EventAskReused)
			w.check(len(used) == 1 && used[0].Decision == made.DecisionID && len(used[0].Asks) == 1, "events: %+v", used)
			w.check(len(w.lots("")) == 1, "it made a lot")
		}},
		testCase{name: "a reused ask called again is the same use", run: func(w *world) {
			w.decided()
			d := w.agent("second")
			first := w.outcome(d, askDB(), revue.OutcomeReused)
			again, err := d.Request(w.ctx, askDB())
			w.need(err, "request")
			w.check(again.Answer == first.Answer && again.DecisionID == first.DecisionID, "got %+v", again)
			w.check(len(w.events(revue.EventAskReused)) == 1, "it is in the journal twice")
		}},
		testCase{name: "two live answers to one question are put to the human", run: func(w *world) {
			w.decide(w.agentAt("first", "a", "github.com/acme/api"), askDB(), revue.Answer{Value: "postgres"})
			w.decide(w.agentAt("second", "b", "github.com/acme/web"), askDB(), revue.Answer{Value: "sqlite"})
			w.pend(w.agent("third"), askDB())
			w.check(len(w.open().Pinned) > 0, "the answers are not shown")
		}},
		testCase{name: "the note comes with the answer", run: func(w *world) {
			w.decide(w.agent("first"), askDB(), revue.Answer{Value: "postgres", Note: "version 17"})
			out := w.outcome(w.agent("second"), askDB(), revue.OutcomeReused)
			w.check(out.Note == "version 17", "note: %q", out.Note)
		}},
	)
}

func precedentCases() []testCase {
	// wider offers an option more than the decision had, so a human is asked and the decision pinned.
	wider := func() revue.Ask { return with(func(a *revue.Ask) { a.Options = opts("postgres", "sqlite", "mysql") }) }
	pinned := func(w *world) (made revue.Outcome, lot revue.Lot) {
		w.t.Helper()
		made = w.decided()
		w.pend(w.agent("second"), wider())
		lot = w.open()
		w.check(len(lot.Pinned) == 1 && lot.Pinned[0].DecisionID == made.DecisionID, "pinned: %+v", lot.Pinned)
		p := lot.Pinned[0]
		w.check(p.ReuseGuidance == revue.Confirm && p.Answer == "postgres" && p.Question == questionDB && p.Reason != "", "pinned: %+v", p)
		return made, lot
	}
	return []testCase{
		{name: "a lookup says apply for the same question", run: func(w *world) {
			made := w.decided()
			for _, text := range []string{questionDB, "which DB should the billing service use"} {
				m, ok := w.find(w.agent("second"), revue.Query{Text: text}, made.DecisionID)
				w.check(ok, "%q finds nothing", text)
				w.check(m.ReuseGuidance == revue.Apply, "%q: %s, %s", text, m.ReuseGuidance, m.Reason)
				w.check(m.Question == questionDB && m.Answer == "postgres" && m.Freshness == revue.Fresh, "match: %+v", m)
				w.check(m.Score > 0 && m.Score <= 1 && m.Confidence > 0 && m.Confidence <= 1, "score %v, confidence %v", m.Score, m.Confidence)
				w.check(m.DecidedBy.Name == "Ada", "decidedBy: %+v", m.DecidedBy)
			}
		}},
		{name: "a lookup never says apply for a near question", run: func(w *world) {
			made := w.decided()
			for _, text := range []string{
				"Which database should the billing service not use?", "Which database should the invoices service use?",
				"Which database should the billing service use in staging?", "Which cache should the billing service use?", "billing database",
			} {
				m, ok := w.find(w.agent("second"), revue.Query{Text: text}, made.DecisionID)
				w.check(!ok || m.ReuseGuidance == revue.Confirm && m.Reason != "" && m.Score < 1, "%q: %+v", text, m)
			}
		}},
		{name: "a lookup minds the scope", run: func(w *world) {
			out := w.decide(w.agent("first"), with(func(a *revue.Ask) { a.Concepts = []string{"billing"}; a.Files = []string{"a.go"} }), revue.Answer{Value: "postgres"})
			for _, c := range []struct {
				q    revue.Query
				want revue.Guidance
			}{
				{revue.Query{Text: questionDB}, revue.Apply},
				{revue.Query{Text: questionDB, Concepts: []string{"billing"}, Files: []string{"a.go"}}, revue.Apply},
				{revue.Query{Text: questionDB, Concepts: []string{"search"}}, revue.Confirm},
				{revue.Query{Text: questionDB, Files: []string{"z.go"}}, revue.Confirm},
			} {
				m, ok := w.find(w.agent("second"), c.q, out.DecisionID)
				w.check(ok && m.ReuseGuidance == c.want || !ok && c.want == revue.Confirm, "%+v: found %v, %s (%s), want %s", c.q, ok, m.ReuseGuidance, m.Reason, c.want)
				if ok {
					w.check(slices.Equal(m.Concepts, []string{"billing"}) && slices.Equal(m.Files, []string{"a.go"}), "match: %+v", m)
				}
			}
		}},
		{name: "a lookup finds nothing for something else", run: func(w *world) {
			w.decided()
			found, err := w.agent("second").Lookup(w.ctx, revue.Query{Text: "How many reviewers does a pull request need?"})
			w.need(err, "lookup")
			w.check(len(found.Matches) == 0, "matches: %+v", found.Matches)
		}},
		{name: "a lookup records nothing and interrupts nobody", run: func(w *world) {
			w.decided()
			before := len(w.journal())
			_, _ = w.find(w.agent("second"), revue.Query{Text: questionDB}, "")
			_, _ = w.find(w.agent("second"), revue.Query{Text: "Which cache should the search service use?"}, "")
			w.check(len(w.journal()) == before && len(w.lots("")) == 1, "it left something")
		}},
		{name: "a lookup returns at most as many as asked for", run: func(w *world) {
			for _, n := range []string{"billing", "search", "invoices", "orders"} {
				w.decide(w.agent("first"), revue.Ask{Question: "Which database should the " + n + " service use?", Options: optionsDB()}, revue.Answer{Value: "postgres"})
			}
			found, err := w.agent("second").Lookup(w.ctx, revue.Query{Text: "Which database should the search service use?", Limit: 2})
			w.need(err, "lookup")
			w.check(len(found.Matches) >= 1 && len(found.Matches) <= 2, "%d matches", len(found.Matches))
			w.check(found.Matches[0].Question == "Which database should the search service use?", "the best is not first: %+v", found.Matches)
		}},
		{name: "a precedent that can't be applied is pinned", run: func(w *world) { pinned(w) }},
		{name: "same decision takes over the answer", run: func(w *world) {
			made, lot := pinned(w)
			w.settleWith(lot.ID, revue.Answer{Confirms: made.DecisionID})
			out := w.outcome(w.agent("second"), wider(), revue.OutcomeAnswered)
			w.check(out.Answer == "postgres" && !out.FreeText && out.DecisionID != "", "got %+v", out)
			l := w.lot(lot.ID)
			w.check(l.Answer != nil && l.Answer.Confirms == made.DecisionID, "lot: %+v", l.Answer)
			w.outcome(w.agent("third"), wider(), revue.OutcomeReused)
		}},
		{name: "same decision confirms the precedent", run: func(w *world) {
			may := revue.Ask{Question: "May I edit internal/auth/token.go to fix the race?", Options: opts("yes", "no")}
			made := w.decide(w.agent("first"), may, revue.Answer{Value: "yes"})
			w.pend(w.agent("second"), may)
			lot := w.open()
			w.check(len(lot.Pinned) == 1 && lot.Pinned[0].DecisionID == made.DecisionID, "pinned: %+v", lot.Pinned)
			w.settleWith(lot.ID, revue.Answer{Confirms: made.DecisionID})
			out := w.outcome(w.agent("second"), may, revue.OutcomeAnswered)
			w.check(out.Answer == "yes" && out.DecisionID == made.DecisionID, "got %+v", out)
			why, err := w.ada.Why(w.ctx, made.DecisionID)
			w.need(err, "why")
			w.check(why.Decision.Confirmations == 1 && !why.Decision.ConfirmedAt.Before(why.Decision.CreatedAt), "decision: %+v", why.Decision)
			w.check(len(why.Uses) == 2, "uses: %+v", why.Uses)
			e := w.events(revue.EventDecisionConfirmed)
			w.check(len(e) == 1 && e[0].Decision == made.DecisionID && e[0].Lot == lot.ID, "events: %+v", e)
			w.check(len(w.events(revue.EventDecisionMade)) == 1, "it made another decision")
		}},
		{name: "same decision makes another wording an alias", run: func(w *world) {
			made := w.decide(w.agent("first"), revue.Ask{Question: w.sys.Likely[0], Options: optionsDB()}, revue.Answer{Value: "postgres"})
			other := revue.Ask{Question: w.sys.Likely[1], Options: optionsDB()}
			w.pend(w.agent("second"), other)
			l := w.open()
			w.check(len(l.Pinned) == 1 && l.Pinned[0].DecisionID == made.DecisionID, "pinned: %+v", l.Pinned)
			w.settleWith(l.ID, revue.Answer{Confirms: made.DecisionID})
			w.outcome(w.agent("second"), other, revue.OutcomeAnswered)
			out := w.outcome(w.agent("third"), other, revue.OutcomeReused)
			w.check(out.Answer == "postgres", "got %+v", out)
		}},
		{name: "same decision makes no alias of a crucial difference", run: func(w *world) {
			made := w.decide(w.agent("first"), revue.Ask{Question: "Should the nightly job retry 5 times?", Options: opts("yes", "no")}, revue.Answer{Value: "yes"})
			other := revue.Ask{Question: "Should the nightly job retry 50 times?", Options: opts("yes", "no")}
			w.pend(w.agent("second"), other)
			l := w.open()
			if len(l.Pinned) == 0 { // not pinned, it can't be confirmed at all
				_, err := w.ada.Answer(w.ctx, l.ID, revue.Answer{Confirms: made.DecisionID, Seen: l.Revision})
				w.check(err != nil, "a precedent that is not shown was confirmed")
				return
			}
			w.settleWith(l.ID, revue.Answer{Confirms: made.DecisionID})
			w.outcome(w.agent("second"), other, revue.OutcomeAnswered)
			why, err := w.ada.Why(w.ctx, made.DecisionID)
			w.need(err, "why")
			w.check(len(why.Decision.Aliases) == 0, "aliases: %+v", why.Decision.Aliases)
			// What is decided of one from now on does not change the other.
			_, err = w.ada.Correct(w.ctx, revue.Correction{DecisionID: made.DecisionID, Verb: revue.VerbWrong})
			w.need(err, "correct")
			out := w.outcome(w.agent("third"), other, revue.OutcomeReused)
			w.check(out.Answer == "yes" && out.DecisionID != made.DecisionID, "got %+v", out)
		}},
		{name: "same decision makes other words an alias, which goes with the decision", run: func(w *world) {
			made, other := reworded(w)
			out := w.outcome(w.agent("third"), other, revue.OutcomeReused)
			w.check(out.Answer == "postgres" && out.DecisionID == made.DecisionID, "got %+v", out)
			why, err := w.ada.Why(w.ctx, made.DecisionID)
			w.need(err, "why")
			w.check(len(why.Decision.Aliases) == 1, "aliases: %+v", why.Decision.Aliases)
			a := why.Decision.Aliases[0]
			w.check(a.ID != "" && a.Text == other.Question && a.By.Name == "Ada" && !a.At.IsZero(), "alias: %+v", a)
			w.check(len(w.events(revue.EventDecisionMade)) == 1, "it made another decision")
			_, err = w.ada.Correct(w.ctx, revue.Correction{DecisionID: made.DecisionID, Verb: revue.VerbWrong})
			w.need(err, "correct")
			w.pend(w.agent("fourth"), other)
		}},
		{name: "another answer to an alias supersedes the decision", run: func(w *world) {
			made, other := reworded(w)
			_, err := w.ada.Correct(w.ctx, revue.Correction{DecisionID: made.DecisionID, Verb: revue.VerbAskNextTime})
			w.need(err, "correct")
			w.pend(w.agent("third"), other)
			done := w.settle(w.open().ID, "sqlite")
			why, err := w.ada.Why(w.ctx, made.DecisionID)
			w.need(err, "why")
			w.check(!why.Live && why.Decision.SupersededBy == done.DecisionID, "decision: %+v", why.Decision)
			out := w.outcome(w.agent("fourth"), other, revue.OutcomeReused)
			w.check(out.Answer == "sqlite", "got %+v", out)
		}},
		{name: "an alias can be taken back", run: func(w *world) {
			made, other := reworded(w)
			why, err := w.ada.Why(w.ctx, made.DecisionID)
			w.need(err, "why")
			w.check(len(why.Decision.Aliases) == 1 && why.Decision.Aliases[0].ID != "", "aliases: %+v", why.Decision.Aliases)
			alias := why.Decision.Aliases[0].ID
			id := w.correct(made.DecisionID, revue.Correction{Undoes: alias})
			e := w.events(revue.EventDecisionCorrected)
			w.check(len(e) == 1 && e[0].Decision == made.DecisionID && e[0].Ref == id, "events: %+v", e)
			_, err = w.ada.Correct(w.ctx, revue.Correction{DecisionID: made.DecisionID, Undoes: alias})
			w.check(err != nil, "it was taken back twice")

			// The question itself is answered as before; the wording is asked anew, also by the one who was answered.
			out := w.outcome(w.agent("third"), revue.Ask{Question: w.sys.Reworded[0], Options: optionsDB()}, revue.OutcomeReused)
			w.check(out.DecisionID == made.DecisionID, "got %+v", out)
			w.pend(w.agent("second"), other)
			w.pend(w.agent("third"), other)
			l := w.open()
			w.check(len(l.Asks) == 2 && l.Question == other.Question, "lot: %+v", l)
			w.settle(l.ID, "sqlite")
			out = w.outcome(w.agent("fourth"), other, revue.OutcomeReused)
			w.check(out.Answer == "sqlite" && out.DecisionID != made.DecisionID, "got %+v", out)
			why, err = w.ada.Why(w.ctx, made.DecisionID)
			w.need(err, "why")
			w.check(why.Live && len(why.Standing) == 0 && len(why.Decision.Aliases) == 1, "the decision changed: %+v", why)
		}},
		{name: "another answer where the scope is equal supersedes", run: func(w *world) {
			made, lot := pinned(w)
			done := w.settle(lot.ID, "mysql")
			why, err := w.ada.Why(w.ctx, made.DecisionID)
			w.need(err, "why")
			w.check(why.Decision.SupersededBy == done.DecisionID && !why.Live, "decision: %+v", why.Decision)
			next, err := w.ada.Why(w.ctx, done.DecisionID)
			w.need(err, "why")
			w.check(slices.Equal(next.Decision.Supersedes, []string{made.DecisionID}), "supersedes: %q", next.Decision.Supersedes)
			e := w.events(revue.EventDecisionSuperseded)
			w.check(len(e) == 1 && e[0].Decision == made.DecisionID && e[0].Ref == done.DecisionID, "events: %+v", e)
			_, ok := w.find(w.agent("third"), revue.Query{Text: questionDB}, made.DecisionID)
			w.check(!ok, "what was superseded still matches")
			out := w.outcome(w.agent("third"), wider(), revue.OutcomeReused)
			w.check(out.Answer == "mysql", "got %+v", out)
		}},
		{name: "another answer where the scope differs supersedes nothing", run: func(w *world) {
			made := w.decided()
			ask := wider()
			ask.Concepts = []string{"billing"}
			w.pend(w.agent("second"), ask)
			w.settle(w.open().ID, "mysql")
			why, err := w.ada.Why(w.ctx, made.DecisionID)
			w.need(err, "why")
			w.check(why.Decision.SupersededBy == "" && why.Live, "decision: %+v", why.Decision)
		}},
		{name: "why tells the whole story", run: func(w *world) {
			made := w.decided()
			w.outcome(w.agent("second"), askDB(), revue.OutcomeReused)
			w.outcome(w.agent("third"), askDB(), revue.OutcomeReused)
			_, err := w.ada.Correct(w.ctx, revue.Correction{DecisionID: made.DecisionID, Verb: revue.VerbTooBroad, Note: "mind the scope"})
			w.need(err, "correct")
			why, err := w.ada.Why(w.ctx, made.DecisionID)
			w.need(err, "why")
			w.check(why.Decision.ID == made.DecisionID && why.Decision.Answer == "postgres" && why.Decision.By.Name == "Ada", "decision: %+v", why.Decision)
			w.check(len(why.Uses) == 3, "%d uses, want 3", len(why.Uses))
			for _, u := range why.Uses {
				w.check(u.DecisionID == made.DecisionID && u.Question == questionDB, "use: %+v", u)
			}
			w.check(len(why.Standing) == 1 && why.Standing[0].Verb == revue.VerbTooBroad && why.Standing[0].Note == "mind the scope" && why.Standing[0].By.Name == "Ada", "standing: %+v", why.Standing)
			w.check(why.Live && why.Freshness == revue.Fresh, "live %v, %s", why.Live, why.Freshness)
			w.check(why.Lot != nil && why.Lot.ID == made.LotID, "lot: %+v", why.Lot)
			kinds := map[revue.EventKind]int{}
			for _, e := range why.Events {
				kinds[e.Kind]++
			}
			w.check(kinds[revue.EventDecisionMade] == 1 && kinds[revue.EventDecisionCorrected] == 1 && kinds[revue.EventAskReused] == 2, "events: %v", kinds)
			_, err = w.ada.Why(w.ctx, "dec_unknown")
			w.humanError(err, revue.ErrNotFound, "why of an unknown decision")
		}},
	}
}

// reworded makes a decision, and confirms it for the same question in other words.
func reworded(w *world) (made revue.Outcome, other revue.Ask) {
	w.t.Helper()
	made = w.decide(w.agent("first"), revue.Ask{Question: w.sys.Reworded[0], Options: optionsDB()}, revue.Answer{Value: "postgres"})
	other = revue.Ask{Question: w.sys.Reworded[1], Options: optionsDB()}
	w.pend(w.agent("second"), other)
	l := w.open()
	w.check(len(l.Pinned) == 1 && l.Pinned[0].DecisionID == made.DecisionID, "pinned: %+v", l.Pinned)
	w.settleWith(l.ID, revue.Answer{Confirms: made.DecisionID})
	out := w.outcome(w.agent("second"), other, revue.OutcomeAnswered)
	w.check(out.Answer == "postgres" && out.DecisionID == made.DecisionID, "it is another decision: %+v; System.Reworded must be a pair without a crucial difference", out)
	return made, other
}
