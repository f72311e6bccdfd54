package revuetest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/revuehq/revue"
)

func contextCases() []testCase {
	note := revue.ContextItem{Kind: "finding", Body: "The billing exporter drops rows over 1 MiB.", Concepts: []string{"billing", "export"}}
	shown := func(w *world, q revue.Query) []revue.ContextItem {
		w.t.Helper()
		found, err := w.agent("second").Lookup(w.ctx, q)
		w.need(err, "lookup")
		return found.Context
	}
	bears := revue.Query{Text: "Which database should the ledger use?", Concepts: []string{"billing"}}
	return []testCase{
		{name: "a note is shown where a concept is common", run: func(w *world) {
			item, err := w.agent("first").Share(w.ctx, note)
			w.need(err, "share")
			w.check(item.ID != "", "no id")
			got := shown(w, bears)
			w.check(len(got) == 1 && got[0].ID == item.ID && got[0].Body == note.Body && got[0].Kind == "finding", "context: %+v", got)
			w.check(slices.Equal(got[0].Concepts, note.Concepts), "concepts: %q", got[0].Concepts)
			w.check(got[0].Agent != "", "nobody is named as its author")
			w.check(len(w.lots("")) == 0, "it interrupted a human")
		}},
		{name: "a note about something else is not shown", run: func(w *world) {
			_, err := w.agent("first").Share(w.ctx, note)
			w.need(err, "share")
			got := shown(w, revue.Query{Text: "Should we paint it?", Concepts: []string{"colours"}})
			w.check(len(got) == 0, "context: %+v", got)
		}},
		{name: "the same note again is the one that exists", run: func(w *world) {
			d := w.agent("first")
			a, err := d.Share(w.ctx, note)
			w.need(err, "share")
			b, err := d.Share(w.ctx, note)
			w.need(err, "share again")
			w.check(a.ID == b.ID, "two items")
			w.check(len(shown(w, bears)) == 1 && len(w.events(revue.EventContextShared)) == 1, "it exists twice")
			other := note
			other.Body += " Since May."
			c, err := d.Share(w.ctx, other)
			w.need(err, "share another")
			w.check(c.ID != a.ID && len(shown(w, bears)) == 2, "another note is not there")
		}},
		{name: "another credential's note is another", run: func(w *world) {
			a, err := w.agent("first").Share(w.ctx, note)
			w.need(err, "share")
			b, err := w.agent("third").Share(w.ctx, note)
			w.need(err, "share")
			w.check(a.ID != b.ID, "one item for two credentials")
		}},
		{name: "a human sees and removes notes", run: func(w *world) {
			item, err := w.agent("first").Share(w.ctx, note)
			w.need(err, "share")
			page, err := w.ada.Contexts(w.ctx, revue.ContextFilter{})
			w.need(err, "contexts")
			w.check(len(page.Items) == 1 && page.Items[0].ID == item.ID && page.Items[0].Body == note.Body, "contexts: %+v", page.Items)
			w.need(w.ada.RemoveContext(w.ctx, item.ID), "remove")
			w.check(len(shown(w, bears)) == 0, "it is still shown")
			page, err = w.ada.Contexts(w.ctx, revue.ContextFilter{})
			w.need(err, "contexts")
			w.check(len(page.Items) == 0, "contexts: %+v", page.Items)
			w.humanError(w.ada.RemoveContext(w.ctx, "ctx_unknown"), revue.ErrNotFound, "remove an unknown note")
			e := w.events(revue.EventContextRemoved)
			w.check(len(e) == 1 && e[0].Ref == item.ID, "events: %+v", e)
		}},
	}
}

func isolationCases() []testCase {
	return []testCase{
		{name: "two workspaces see nothing of each other", run: func(w *world) {
			other := newWorld(w.t, w.sys)
			made := w.decided()
			w.pend(w.agent("first"), revue.Ask{Question: "Which cache should the search service use?"})
			open := w.open()
			item, err := w.agent("first").Share(w.ctx, revue.ContextItem{Kind: "note", Body: "secret", Concepts: []string{"billing"}})
			w.need(err, "share")

			other.untouched()
			found, err := other.agent("first").Lookup(w.ctx, revue.Query{Text: questionDB, Concepts: []string{"billing"}})
			w.need(err, "lookup")
			w.check(len(found.Matches) == 0 && len(found.Context) == 0, "found %+v", found)
			decisions, err := other.ada.Decisions(w.ctx, revue.DecisionFilter{})
			w.need(err, "decisions")
			w.check(len(decisions.Items) == 0, "decisions: %+v", decisions.Items)
			notes, err := other.ada.Contexts(w.ctx, revue.ContextFilter{})
			w.need(err, "contexts")
			for _, n := range notes.Items {
				w.check(n.ID != item.ID, "the note crossed over")
			}

			_, err = other.ada.Lot(w.ctx, open.ID)
			w.humanError(err, revue.ErrNotFound, "read a lot")
			_, err = other.ada.Answer(w.ctx, open.ID, revue.Answer{Text: "x"})
			w.humanError(err, revue.ErrNotFound, "answer a lot")
			_, err = other.ada.Dismiss(w.ctx, open.ID, revue.Dismissal{})
			w.humanError(err, revue.ErrNotFound, "dismiss a lot")
			_, err = other.ada.Reopen(w.ctx, open.ID)
			w.humanError(err, revue.ErrNotFound, "reopen a lot")
			_, err = other.ada.Why(w.ctx, made.DecisionID)
			w.humanError(err, revue.ErrNotFound, "why")
			_, err = other.ada.Correct(w.ctx, revue.Correction{DecisionID: made.DecisionID, Verb: revue.VerbWrong})
			w.humanError(err, revue.ErrNotFound, "correct a decision")
			_, err = other.ada.Receipt(w.ctx, made.Receipt.ID)
			w.humanError(err, revue.ErrNotFound, "read a receipt")
			w.humanError(other.ada.RemoveContext(w.ctx, item.ID), revue.ErrNotFound, "remove a note")

			other.pend(other.agent("first"), askDB())
			w.check(other.open().ID != made.LotID, "a lot crossed over")
			w.check(w.open().ID == open.ID, "something changed")
			w.outcome(w.agent("second"), askDB(), revue.OutcomeReused)
		}},
		{name: "a decisionRef of another workspace is not found", run: func(w *world) {
			other := newWorld(w.t, w.sys)
			ask := askDB()
			ask.DecisionRef = w.pend(w.agent("first"), askDB()).AskID
			_, err := other.agent("first").Request(w.ctx, ask)
			w.agentError(err, revue.ErrNotFound, "another workspace's decisionRef")
			other.untouched()
		}},
		{name: "one question in two workspaces has two answers", run: func(w *world) {
			other := newWorld(w.t, w.sys)
			a := w.start(w.agent("first"), askDB())
			b := other.start(other.agent("first"), askDB())
			w.settle(w.asked(1).ID, "postgres")
			w.answered(a, "postgres")
			other.settle(other.asked(1).ID, "sqlite")
			other.answered(b, "sqlite")
		}},
	}
}

func journalCases() []testCase {
	return []testCase{
		{name: "it comes in pages, up to its head", run: func(w *world) {
			for i := range 5 {
				w.pend(w.agent("first"), revue.Ask{Question: fmt.Sprintf("Which of the wharfs takes ship %d?", i)})
			}
			_, head, err := w.ada.Journal(w.ctx, revue.FromNow, 0)
			w.need(err, "head")
			var all []revue.Event
			for after := revue.Seq(0); ; {
				page, next, err := w.ada.Journal(w.ctx, after, 2)
				w.need(err, "page")
				w.check(len(page) <= 2, "a page of %d events", len(page))
				if len(page) == 0 {
					w.check(next == after, "nothing after %d, and next is %d", after, next)
					break
				}
				w.check(next == page[len(page)-1].Seq, "next is %d after event %d", next, page[len(page)-1].Seq)
				all, after = append(all, page...), next
			}
			w.need(revue.VerifyChain(revue.Event{}, all), "verify")
			w.check(len(all) >= 5 && revue.Seq(len(all)) == head, "%d events in pages, and the last is %d", len(all), head)
			_, next, err := w.ada.Journal(w.ctx, head+100, 2)
			w.check(err == nil && next == head+100, "past the head: %d, %v", next, err)
		}},
		{name: "the chain verifies and tells of ids, never of text", run: func(w *world) {
			ask := revue.Ask{
				Question: "Should Zanzibar use zebras?", Options: []revue.Option{{Value: "zvalue", Label: "zlabel", Consequence: "zconsequence"}, {Value: "zother", Label: "zother"}},
				Recommendation: "zother", Context: "zcontext", Concepts: []string{"zconcept"}, Files: []string{"zfile.go"}, Stream: "zstream",
			}
			made := w.decide(w.agent("first"), ask, revue.Answer{Value: "zvalue", Note: "znote"})
			w.outcome(w.agent("second"), ask, revue.OutcomeReused)
			w.correct(made.DecisionID, revue.Correction{Verb: revue.VerbWrong, Note: "zreason"})
			w.pend(w.agent("first"), ask)
			l := w.open()
			_, err := w.ada.Dismiss(w.ctx, l.ID, revue.Dismissal{Reason: "zdismissal", Seen: l.Revision})
			w.need(err, "dismiss")
			_, err = w.ada.Reopen(w.ctx, l.ID)
			w.need(err, "reopen")
			_, err = w.agent("first").Share(w.ctx, revue.ContextItem{Kind: "zkind", Body: "zbody", Concepts: []string{"zconcept"}})
			w.need(err, "share")

			chain := w.chain()
			w.need(revue.VerifyChain(revue.Event{}, chain), "verify")
			b, err := json.Marshal(chain)
			w.need(err, "marshal")
			for _, text := range []string{
				"Zanzibar", "zvalue", "zlabel", "zconsequence", "zother", "zcontext", "zconcept", "zfile", "zstream",
				"znote", "zreason", "zdismissal", "zkind", "zbody",
			} {
				w.check(!strings.Contains(string(b), text), "the journal holds the text %q", text)
			}
			kinds := map[revue.EventKind]int{}
			for _, e := range chain {
				kinds[e.Kind]++
				w.check(!e.At.IsZero() && e.At.Equal(e.At.Truncate(time.Microsecond)), "event at %s", e.At)
			}
			for kind, n := range map[revue.EventKind]int{
				revue.EventLotOpened: 2, revue.EventLotAnswered: 1, revue.EventDecisionMade: 1, revue.EventAskReused: 1,
				revue.EventDecisionCorrected: 1, revue.EventLotDismissed: 1, revue.EventLotReopened: 1,
			} {
				w.check(kinds[kind] == n, "%s: %d events, want %d", kind, kinds[kind], n)
			}
			for i := range chain[1:] {
				bent := slices.Clone(chain)
				bent[i].Lot += "x"
				w.check(revue.VerifyChain(revue.Event{}, bent) != nil, "a changed event verifies")
			}
		}},
		{name: "events are followed from any number on", run: func(w *world) {
			w.decided()
			head := w.chain()
			last := head[len(head)-1]
			ctx, cancel := context.WithTimeout(w.ctx, w.sys.Patience)
			defer cancel()
			got := make(chan revue.Event, 64)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				for e, err := range w.ada.Events(ctx, last.Seq) {
					if err != nil {
						return
					}
					got <- e
				}
			}()
			w.pend(w.agent("first"), revue.Ask{Question: "Which cache should the search service use?"})
			next := func() revue.Event {
				select {
				case e := <-got:
					return e
				case <-time.After(w.sys.Patience):
					w.t.Fatal("the event never came")
					return revue.Event{}
				}
			}
			e := next()
			w.check(e.Seq == last.Seq+1 && e.Prev == last.Hash, "first event: %+v after %+v", e, last)
			for e.Kind != revue.EventLotOpened {
				e = next()
			}
			w.check(e.Lot == w.open().ID, "event: %+v", e)
			cancel()
			select {
			case <-ended:
			case <-time.After(w.sys.Patience):
				w.t.Fatal("the events don't end with their context")
			}
		}},
		{name: "a consumer may stop at any event", run: func(w *world) {
			w.decided()
			n := 0
			for _, err := range w.ada.Events(w.ctx, 0) {
				w.need(err, "events")
				n++
				break
			}
			w.check(n == 1, "%d events", n)
			w.pend(w.agent("first"), revue.Ask{Question: "Which cache should the search service use?"})
		}},
		{name: "a consumer may call the plane from inside", run: func(w *world) {
			w.pend(w.agent("first"), askDB())
			for e, err := range w.ada.Events(w.ctx, 0) {
				w.need(err, "events")
				if e.Kind == revue.EventLotOpened {
					w.settle(e.Lot, "postgres")
				}
				if e.Kind == revue.EventLotAnswered {
					break
				}
			}
			w.outcome(w.agent("first"), askDB(), revue.OutcomeAnswered)
		}},
	}
}

func listCases() []testCase {
	names := []string{"billing", "search", "orders", "invoices", "mail", "export", "login"}
	ask := func(name string) revue.Ask {
		return revue.Ask{Question: "Which database should the " + name + " service use?", Context: "context of " + name, Options: optionsDB()}
	}
	pages := func(w *world, f revue.LotFilter) (ids []string, sizes []int) {
		w.t.Helper()
		for {
			page, err := w.ada.Lots(w.ctx, f)
			w.need(err, "lots")
			sizes = append(sizes, len(page.Items))
			for _, l := range page.Items {
				ids = append(ids, l.Question)
				w.check(l.Context == "", "a list has contexts")
			}
			if page.NextCursor == "" || len(sizes) > 20 {
				return ids, sizes
			}
			f.Cursor = page.NextCursor
		}
	}
	return []testCase{
		{name: "lots come in pages, oldest first or newest first", run: func(w *world) {
			want := make([]string, 0, len(names))
			for _, n := range names {
				w.pend(w.agent("first"), ask(n))
				want = append(want, ask(n).Question)
			}
			got, sizes := pages(w, revue.LotFilter{Limit: 3})
			w.check(slices.Equal(got, want), "got %q", got)
			w.check(len(sizes) >= 3 && slices.Max(sizes) <= 3, "pages of %v", sizes)
			got, _ = pages(w, revue.LotFilter{Limit: 3, Newest: true})
			slices.Reverse(want)
			w.check(slices.Equal(got, want), "newest first: got %q", got)
			_, err := w.ada.Lots(w.ctx, revue.LotFilter{Cursor: "no cursor"})
			w.humanError(err, revue.ErrInvalid, "a bad cursor")
			l := w.openFor(want[0])
			w.check(strings.HasPrefix(l.Context, "context of "), "a lot read whole has the context %q", l.Context)
		}},
		{name: "lots are filtered by status, stream and kind", run: func(w *world) {
			d := w.agent("first")
			w.decide(d, ask("billing"), revue.Answer{Value: "postgres"})
			w.pend(d, ask("search"))
			l := w.open()
			_, err := w.ada.Dismiss(w.ctx, l.ID, revue.Dismissal{})
			w.need(err, "dismiss")
			a := ask("orders")
			a.Stream = "web-app"
			w.pend(d, a)
			c := w.start(d, askApproval())
			w.opens(2)
			for _, f := range []struct {
				filter revue.LotFilter
				want   []string
			}{
				{revue.LotFilter{Status: revue.StatusAnswered}, []string{ask("billing").Question}},
				{revue.LotFilter{Status: revue.StatusDismissed}, []string{ask("search").Question}},
				{revue.LotFilter{Status: revue.StatusOpen, Kind: revue.KindDecision}, []string{a.Question}},
				{revue.LotFilter{Kind: revue.KindApproval}, []string{askApproval().Question}},
				{revue.LotFilter{Stream: "web-app"}, []string{a.Question}},
				{revue.LotFilter{Status: revue.StatusOpen, Stream: revue.DefaultStream}, []string{askApproval().Question}},
				{revue.LotFilter{Stream: "nowhere"}, nil},
			} {
				got, _ := pages(w, f.filter)
				w.check(slices.Equal(got, f.want), "%+v: got %q, want %q", f.filter, got, f.want)
			}
			for _, l := range w.lots(revue.StatusOpen) {
				if l.Kind == revue.KindApproval {
					w.settle(l.ID, revue.Declined)
				}
			}
			w.answered(c, revue.Declined)
		}},
		{name: "decisions come in pages, newest first, or by text", run: func(w *world) {
			var want []string
			for _, n := range names[:4] {
				out := w.decide(w.agent("first"), ask(n), revue.Answer{Value: "postgres"})
				want = append([]string{out.DecisionID}, want...)
			}
			var got []string
			f := revue.DecisionFilter{Limit: 3}
			for {
				page, err := w.ada.Decisions(w.ctx, f)
				w.need(err, "decisions")
				for _, d := range page.Items {
					got = append(got, d.ID)
				}
				w.check(len(page.Items) <= 3, "a page of %d", len(page.Items))
				if page.NextCursor == "" {
					break
				}
				f.Cursor = page.NextCursor
			}
			w.check(slices.Equal(got, want), "got %q, want %q", got, want)
			page, err := w.ada.Decisions(w.ctx, revue.DecisionFilter{Text: ask("orders").Question})
			w.need(err, "decisions")
			w.check(len(page.Items) > 0 && page.Items[0].Question == ask("orders").Question, "by text: %+v", page.Items)
		}},
	}
}

func raceCases() []testCase {
	number := func(i int) string { return fmt.Sprintf("Should job number %d retry on timeouts?", i) }
	yesNo := opts("yes", "no")
	return []testCase{
		{name: "many agents, one question, one answer", run: func(w *world) {
			var agents []revue.Decider
			for i := range w.sys.Agents {
				agents = append(agents, w.agent(fmt.Sprintf("agent-%d", i)))
			}
			var calls []*call
			for _, d := range agents {
				calls = append(calls, w.start(d, askDB()))
			}
			l := w.asked(len(agents))
			w.settle(l.ID, "postgres")
			for _, c := range calls {
				out := w.answered(c, "postgres")
				w.check(out.LotID == l.ID, "another lot: %+v", out)
			}
			settledOnce(w, l.ID, len(agents))
			w.check(len(w.events(revue.EventLotOpened)) == 1 && len(w.lots("")) == 1, "more than one lot")
		}},
		{name: "of two reviewers exactly one wins", run: func(w *world) {
			ada, ben := w.ada, w.human("Ben")
			for i := range min(w.sys.Rounds, 20) {
				ask := revue.Ask{Question: number(i), Options: yesNo}
				w.pend(w.agent("first"), ask)
				l := w.openFor(ask.Question)
				errs := make(chan error, 1)
				go func() {
					_, err := ben.Answer(w.ctx, l.ID, revue.Answer{Value: "no", Seen: l.Revision})
					errs <- err
				}()
				_, adas := ada.Answer(w.ctx, l.ID, revue.Answer{Value: "yes", Seen: l.Revision})
				bens := <-errs
				w.check((adas == nil) != (bens == nil), "round %d: Ada %v, Ben %v", i, adas, bens)
				want, winner, lost := "yes", "Ada", bens
				if adas != nil {
					want, winner, lost = "no", "Ben", adas
				}
				w.humanError(lost, revue.ErrConflict, "the loser")
				w.check(strings.Contains(revue.MessageOf(lost), winner), "the message %q does not say that %s decided", revue.MessageOf(lost), winner)
				out := w.outcome(w.agent("first"), ask, revue.OutcomeAnswered)
				w.check(out.Answer == want && out.DecidedBy != nil && out.DecidedBy.Name == winner, "round %d: %+v", i, out)
			}
		}},
		{name: "an answer that lands at any moment is never lost", run: func(w *world) {
			ctx, cancel := context.WithCancel(w.ctx)
			defer cancel()
			done := make(chan error, 1)
			go func() {
				done <- AnswerAll(ctx, w.ada, func(revue.Lot) (revue.Answer, bool) { return revue.Answer{Value: "yes"}, true })
			}()
			d := w.agent("first")
			for i := range w.sys.Rounds {
				ask := revue.Ask{Question: number(i), Options: yesNo}
				w.answered(w.start(d, ask), "yes")
			}
			cancel()
			w.need(<-done, "the answering human")
		}},
		{name: "an agent that comes while the answer lands gets one", run: func(w *world) {
			ctx, cancel := context.WithCancel(w.ctx)
			defer cancel()
			done := make(chan error, 1)
			go func() {
				done <- AnswerAll(ctx, w.ada, func(revue.Lot) (revue.Answer, bool) { return revue.Answer{Value: "yes"}, true })
			}()
			a, b := w.agent("first"), w.agent("second")
			for i := range w.sys.Rounds {
				ask := revue.Ask{Question: number(i), Options: yesNo}
				first, second := w.start(a, ask), w.start(b, ask)
				for _, c := range []*call{first, second} {
					out, err := w.end(c)
					w.need(err, "request")
					w.check(out.Answer == "yes" && (out.Status == revue.OutcomeAnswered || out.Status == revue.OutcomeReused), "round %d: %+v", i, out)
				}
			}
			cancel()
			w.need(<-done, "the answering human")
			// The order of the two does not matter: each question has one lot.
			w.check(len(w.lots("")) == w.sys.Rounds, "%d lots, want %d", len(w.lots("")), w.sys.Rounds)
		}},
		{name: "a wait that ends while the answer lands loses nothing", run: func(w *world) {
			d := w.agent("first")
			for i := range min(w.sys.Rounds, 3) {
				ask := revue.Ask{Question: number(i), Options: yesNo, Wait: time.Second}
				got := make(chan revue.Outcome, 1)
				go func() {
					out, _ := d.Request(w.ctx, ask)
					got <- out
				}()
				l := w.asked(1)
				// Wait until the call's second is nearly over, by what the lot says, then answer.
				w.eventually("the wait is about to end", func() bool { return time.Since(l.CreatedAt) > 995*time.Millisecond })
				w.settle(l.ID, "yes")
				if out := <-got; out.Status != revue.OutcomePending {
					w.check(out.Status == revue.OutcomeAnswered && out.Answer == "yes", "got %+v", out)
				}
				out := w.outcome(d, ask, revue.OutcomeAnswered)
				w.check(out.Answer == "yes", "got %+v", out)
			}
		}},
		{name: "parallel corrections and requests never reuse what was withdrawn", run: func(w *world) {
			d := w.agent("second")
			for i := range min(w.sys.Rounds, 20) {
				ask := revue.Ask{Question: number(i), Options: yesNo}
				made := w.decide(w.agent("first"), ask, revue.Answer{Value: "yes"})
				errs := make(chan error, 1)
				go func() {
					_, err := w.ada.Correct(w.ctx, revue.Correction{DecisionID: made.DecisionID, Verb: revue.VerbWrong})
					errs <- err
				}()
				out := w.request(d, ask)
				w.need(<-errs, "correct")
				withdrawn, used := revue.Seq(0), revue.Seq(0)
				why, err := w.ada.Why(w.ctx, made.DecisionID)
				w.need(err, "why")
				for _, e := range why.Events {
					switch e.Kind {
					case revue.EventDecisionCorrected:
						withdrawn = e.Seq
					case revue.EventAskReused:
						used = e.Seq
					}
				}
				if reused := out.Status == revue.OutcomeReused; reused || !w.sys.Lossy {
					w.check(reused == (used > 0), "round %d: %s, reused at %d", i, out.Status, used)
				}
				w.check(used < withdrawn, "round %d: reused at %d, withdrawn at %d", i, used, withdrawn)
				for _, l := range w.lots(revue.StatusOpen) {
					w.settle(l.ID, "no")
				}
			}
		}},
	}
}

// returnedCases are about a transport that says which outcomes reached their caller.
func returnedCases() []testCase {
	agent := func(w *world, thread string) revue.Decider {
		w.t.Helper()
		return w.sys.Decider(w.t, revue.Agent{
			Workspace: w.ws, Credential: "first", Name: "first", Thread: thread, Via: "library", Acknowledges: true,
		})
	}
	returned := func(w *world, d revue.Decider, out revue.Outcome, err error) {
		w.t.Helper()
		r, ok := d.(revue.Returner)
		w.check(ok, "%T is no Returner", d)
		w.need(r.Returned(w.ctx, out, err), "returned")
	}
	broken := context.DeadlineExceeded // a write that failed
	return []testCase{
		{name: "an answer that did not reach its caller waits for another thread", unless: notLibrary, run: func(w *world) {
			one, two, three := agent(w, "one"), agent(w, "two"), agent(w, "three")
			w.pend(one, askDB())
			w.settleWith(w.open().ID, revue.Answer{Value: "postgres", Remember: revue.RememberOnce})
			returned(w, one, w.outcome(one, askDB(), revue.OutcomeAnswered), broken)
			returned(w, two, w.outcome(two, askDB(), revue.OutcomeAnswered), nil)
			w.pend(three, askDB())
			w.outcome(one, askDB(), revue.OutcomeAnswered)
		}},
		{name: "an approval whose every write failed is collected, once", unless: notLibrary, run: func(w *world) {
			d := agent(w, "one")
			c := w.start(d, askApproval())
			l := w.asked(1)
			w.settle(l.ID, revue.Approved)
			out := w.answered(c, revue.Approved)
			returned(w, d, out, broken)
			again := w.outcome(d, askApproval(), revue.OutcomeAnswered)
			w.check(again.Answer == revue.Approved && again.LotID == l.ID, "got %+v", again)
			returned(w, d, again, nil)
			w.pend(d, askApproval())
		}},
		{name: "an approval that was written is not collected", unless: notLibrary, run: func(w *world) {
			d := agent(w, "one")
			c := w.start(d, askApproval())
			w.settle(w.asked(1).ID, revue.Approved)
			returned(w, d, w.answered(c, revue.Approved), nil)
			w.pend(d, askApproval())
		}},
		{name: "an approval whose write is still going on is not given to another call", unless: notLibrary, run: func(w *world) {
			d := agent(w, "one")
			c := w.start(d, askApproval())
			w.settle(w.asked(1).ID, revue.Approved)
			out := w.answered(c, revue.Approved)
			w.pend(d, askApproval())
			returned(w, d, out, nil)
		}},
	}
}
