package revuetest_test

import (
	"context"
	"errors"
	"iter"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/memory"
	"github.com/revuehq/revue/revuetest"
	"github.com/revuehq/revue/storage/memstore"
)

// agentFault is a Decider with one thing wrong.
type agentFault struct {
	revue.Decider
	request func(ctx context.Context, d revue.Decider, ask revue.Ask) (revue.Outcome, error)
	lookup  func(revue.Findings) revue.Findings
	share   func(revue.ContextItem) revue.ContextItem
}

func (f agentFault) Request(ctx context.Context, ask revue.Ask) (revue.Outcome, error) {
	if f.request == nil {
		return f.Decider.Request(ctx, ask)
	}
	return f.request(ctx, f.Decider, ask)
}

func (f agentFault) Lookup(ctx context.Context, q revue.Query) (revue.Findings, error) {
	found, err := f.Decider.Lookup(ctx, q)
	if f.lookup != nil {
		found = f.lookup(found)
	}
	return found, err
}

func (f agentFault) Share(ctx context.Context, item revue.ContextItem) (revue.ContextItem, error) {
	if f.share != nil {
		item = f.share(item)
	}
	return f.Decider.Share(ctx, item)
}

// humanFault is a Reviewer with one thing wrong.
type humanFault struct {
	revue.Reviewer
	answer  func(context.Context, revue.Reviewer, string, revue.Answer) (revue.Lot, error)
	dismiss func(revue.Dismissal) revue.Dismissal
	correct func(revue.Correction) revue.Correction
	event   func(revue.Event) (revue.Event, bool)
	lots    func(revue.LotFilter) revue.LotFilter
}

func (f humanFault) Answer(ctx context.Context, lotID string, a revue.Answer) (revue.Lot, error) {
	if f.answer == nil {
		return f.Reviewer.Answer(ctx, lotID, a)
	}
	return f.answer(ctx, f.Reviewer, lotID, a)
}

func (f humanFault) Dismiss(ctx context.Context, lotID string, d revue.Dismissal) (revue.Lot, error) {
	if f.dismiss != nil {
		d = f.dismiss(d)
	}
	return f.Reviewer.Dismiss(ctx, lotID, d)
}

func (f humanFault) Correct(ctx context.Context, c revue.Correction) (revue.Decision, error) {
	if f.correct != nil {
		c = f.correct(c)
	}
	return f.Reviewer.Correct(ctx, c)
}

func (f humanFault) Lots(ctx context.Context, lf revue.LotFilter) (revue.Page[revue.Lot], error) {
	if f.lots != nil {
		lf = f.lots(lf)
	}
	return f.Reviewer.Lots(ctx, lf)
}

func (f humanFault) Events(ctx context.Context, after revue.Seq) iter.Seq2[revue.Event, error] {
	if f.event == nil {
		return f.Reviewer.Events(ctx, after)
	}
	return func(yield func(revue.Event, error) bool) {
		for e, err := range f.Reviewer.Events(ctx, after) {
			e, ok := f.event(e)
			if ok && !yield(e, err) {
				return
			}
		}
	}
}

// fault is a plane with one thing wrong, and the case that must notice.
type fault struct {
	name  string
	finds string
	agent func(revue.Agent) revue.Agent
	asks  agentFault
	human humanFault
}

// asking makes a fault of what happens to an ask on its way.
func asking(change func(*revue.Ask)) agentFault {
	return agentFault{request: func(ctx context.Context, d revue.Decider, ask revue.Ask) (revue.Outcome, error) {
		change(&ask)
		return d.Request(ctx, ask)
	}}
}

// telling makes a fault of what happens to an outcome on its way.
func telling(change func(revue.Ask, *revue.Outcome, *error)) agentFault {
	return agentFault{request: func(ctx context.Context, d revue.Decider, ask revue.Ask) (revue.Outcome, error) {
		out, err := d.Request(ctx, ask)
		change(ask, &out, &err)
		return out, err
	}}
}

func faults() []fault {
	return []fault{
		{name: "silence is consent", finds: "waiting/silence", asks: telling(func(ask revue.Ask, o *revue.Outcome, _ *error) {
			if o.Status == revue.OutcomePending && ask.Recommendation != "" {
				o.Status, o.Answer = revue.OutcomeAnswered, ask.Recommendation
			}
		})},
		{name: "the wait is ignored", finds: "waiting/an_answer_ends", asks: asking(func(a *revue.Ask) { a.Wait = 0 })},
		{name: "a cancelled call is pending", finds: "waiting/a_cancelled", asks: telling(func(_ revue.Ask, o *revue.Outcome, err *error) {
			if errors.Is(*err, context.Canceled) {
				*o, *err = revue.Outcome{Status: revue.OutcomePending, AskID: "ask_x"}, nil
			}
		})},
		{name: "values are trimmed", finds: "text/option_values", asks: asking(func(a *revue.Ask) {
			for i := range a.Options {
				a.Options[i].Value = strings.TrimSpace(a.Options[i].Value)
			}
		})},
		{name: "a bad option is dropped", finds: "validation/option_values", asks: asking(func(a *revue.Ask) {
			for i, o := range a.Options {
				if strings.TrimSpace(o.Value) == "" {
					a.Options = a.Options[:i]
				}
			}
		})},
		{name: "a long text is cut", finds: "validation/context", asks: asking(func(a *revue.Ask) {
			a.Context = a.Context[:min(len(a.Context), revue.MaxContext)]
		})},
		{name: "not is a stop word", finds: "grouping/a_negation", asks: asking(func(a *revue.Ask) {
			a.Question = strings.ReplaceAll(a.Question, " not ", " ")
		})},
		{name: "labels don't count", finds: "reuse/not_with_another_label", asks: asking(func(a *revue.Ask) {
			for i := range a.Options {
				a.Options[i].Label = ""
			}
		})},
		{name: "concepts don't count", finds: "reuse/not_with_other_concepts", asks: asking(func(a *revue.Ask) { a.Concepts = nil })},
		{name: "decisionRef is ignored", finds: "resume/an_unknown", asks: asking(func(a *revue.Ask) { a.DecisionRef = "" })},
		{name: "there is one credential", finds: "resume/a_decisionRef_is_valid", agent: func(a revue.Agent) revue.Agent {
			a.Credential = "all"
			return a
		}},
		{name: "approvals have one caller", finds: "approvals/is_never_shared_between_credentials", agent: func(a revue.Agent) revue.Agent {
			a.Credential, a.Thread = "all", "all"
			return a
		}},
		{name: "each call is a thread", finds: "resume/a_restarted", agent: func() func(revue.Agent) revue.Agent {
			n := 0
			return func(a revue.Agent) revue.Agent {
				n++
				a.Thread += strings.Repeat("x", n)
				return a
			}
		}()},
		{name: "there is one workspace", finds: "isolation/two", agent: func(a revue.Agent) revue.Agent {
			a.Workspace = "all"
			return a
		}},
		{name: "confirm is apply", finds: "precedents/a_lookup_never", asks: agentFault{lookup: func(f revue.Findings) revue.Findings {
			for i := range f.Matches {
				f.Matches[i].ReuseGuidance = revue.Apply
			}
			return f
		}}},
		{name: "notes are lost", finds: "context/a_note_is_shown", asks: agentFault{lookup: func(f revue.Findings) revue.Findings {
			f.Context = nil
			return f
		}}},
		{name: "a retry shares again", finds: "context/the_same_note", asks: agentFault{share: func() func(revue.ContextItem) revue.ContextItem {
			n := 0
			return func(c revue.ContextItem) revue.ContextItem {
				n++
				c.Body += strings.Repeat(".", n)
				return c
			}
		}()}},
		{name: "no receipt", finds: "waiting/an_answer_ends", asks: telling(func(_ revue.Ask, o *revue.Outcome, _ *error) { o.Receipt = nil })},
		{name: "decidedBy is lost", finds: "reuse/a_reused_outcome", asks: telling(func(_ revue.Ask, o *revue.Outcome, _ *error) { o.DecidedBy = nil })},
		{name: "reused looks answered", finds: "reuse/another_agent", asks: telling(func(_ revue.Ask, o *revue.Outcome, _ *error) {
			if o.Status == revue.OutcomeReused {
				o.Status = revue.OutcomeAnswered
			}
		})},
		{name: "the loser hears nothing", finds: "races/of_two_reviewers", human: humanFault{
			answer: func(ctx context.Context, r revue.Reviewer, id string, a revue.Answer) (revue.Lot, error) {
				l, err := r.Answer(ctx, id, a)
				if errors.Is(err, revue.ErrConflict) {
					return r.Lot(ctx, id)
				}
				return l, err
			},
		}},
		{name: "everything was seen", finds: "members/without_Seen", human: humanFault{
			answer: func(ctx context.Context, r revue.Reviewer, id string, a revue.Answer) (revue.Lot, error) {
				a.Seen = 1 << 40
				return r.Answer(ctx, id, a)
			},
		}},
		{name: "ticks are ignored", finds: "members/a_member_that_is_not_ticked", human: humanFault{
			answer: func(ctx context.Context, r revue.Reviewer, id string, a revue.Answer) (revue.Lot, error) {
				a.Members = nil
				return r.Answer(ctx, id, a)
			},
		}},
		{name: "an unknown value is free text", finds: "validation/answers", human: humanFault{
			answer: func(ctx context.Context, r revue.Reviewer, id string, a revue.Answer) (revue.Lot, error) {
				l, err := r.Answer(ctx, id, a)
				if errors.Is(err, revue.ErrInvalid) && a.Value != "" {
					return r.Answer(ctx, id, revue.Answer{Text: a.Value})
				}
				return l, err
			},
		}},
		{name: "the reason is lost", finds: "dismissal/a_dismissed_ask", human: humanFault{dismiss: func(d revue.Dismissal) revue.Dismissal {
			d.Reason = ""
			return d
		}}},
		{name: "every correction is wrong", finds: "corrections/too_broad", human: humanFault{correct: func(c revue.Correction) revue.Correction {
			if c.Undoes == "" {
				c.Verb = revue.VerbWrong
			}
			return c
		}}},
		{name: "an event is dropped", finds: "journal/the_chain", human: humanFault{event: func(e revue.Event) (revue.Event, bool) {
			return e, e.Seq != 3
		}}},
		{name: "times are cut to seconds", finds: "journal/the_chain", human: humanFault{event: func(e revue.Event) (revue.Event, bool) {
			e.At = e.At.Truncate(1e9)
			return e, true
		}}},
		{name: "the filter is ignored", finds: "lists/lots_are_filtered", human: humanFault{lots: func(f revue.LotFilter) revue.LotFilter {
			return revue.LotFilter{Status: f.Status, Cursor: f.Cursor}
		}}},
	}
}

// faultVariable names the fault that a child process has.
const faultVariable = "REVUETEST_FAULT"

// TestFaultyPlane is what the child processes of TestContractFindsFaults run; by itself it runs nothing.
func TestFaultyPlane(t *testing.T) {
	for _, f := range faults() {
		if os.Getenv(faultVariable) != f.name {
			continue
		}
		revuetest.Contract(t, func(t *testing.T) revuetest.System {
			desk := revue.New(memstore.New(nil), memory.New(nil), nil)
			run(t, desk)
			sys := system(desk)
			sys.Patience = 2 * time.Second
			sys.Decider = func(_ *testing.T, a revue.Agent) revue.Decider {
				if f.agent != nil {
					a = f.agent(a)
				}
				d := f.asks
				d.Decider = desk.Decider(a)
				return d
			}
			sys.Reviewer = func(_ *testing.T, h revue.Human) revue.Reviewer {
				if f.agent != nil {
					h.Workspace = f.agent(revue.Agent{Workspace: h.Workspace}).Workspace
				}
				r := f.human
				r.Reviewer = desk.Reviewer(h)
				return r
			}
			return sys
		})
	}
}

// A suite is worth what it finds: each of these planes must fail the case that is about its fault.
func TestContractFindsFaults(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	for _, f := range faults() {
		t.Run(f.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestFaultyPlane$/"+f.finds, "-test.v", "-test.timeout=60s")
			cmd.Env = append(os.Environ(), faultVariable+"="+f.name)
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit, "the suite passed a faulty plane:\n%s", out)
			require.Equal(t, 1, exit.ExitCode())
			require.Contains(t, string(out), "--- FAIL: TestFaultyPlane/"+f.finds[:strings.IndexByte(f.finds, '/')+3], "%s", out)
			require.NotContains(t, string(out), "panic:")
		})
	}
}
