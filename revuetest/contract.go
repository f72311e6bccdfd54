package revuetest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/revuehq/revue"
)

// System is a plane under test, with the workspaces that the cases name.
//
// A case calls Decider and Reviewer as often as it likes, also for an agent it had before (that is
// an agent which was restarted). What they start ends with the t they are given.
type System struct {
	// Decider returns what the agent a uses. Credential is a name: calls with the same Workspace
	// and Credential are the same credential, and the first such call makes it, and the workspace. Thread and Repo must
	// reach the plane as they are.
	Decider func(t *testing.T, a revue.Agent) revue.Decider
	// Reviewer returns what the human h uses. h.Name must be what decidedBy shows.
	Reviewer func(t *testing.T, h revue.Human) revue.Reviewer

	// Library says that Decider and Reviewer are those of a plane in this process. It adds the cases
	// that no wire can express: negative waits, unknown kinds, acknowledged outcomes.
	Library bool
	// NoCodes says that an agent's errors are text without a code. Their text is still checked.
	NoCodes bool
	// NoRawText says that the agent's transport can't carry invalid UTF-8.
	NoRawText bool
	// ApprovalsBlock says that an approval waits until it is settled, whatever Ask.Wait says.
	ApprovalsBlock bool
	// Lossy says that an outcome may get lost on its way to a caller, who then asks for it again: by then it may have
	// become another.
	Lossy bool
	// CallerIsCredential says that an approval belongs to the credential whatever its thread.
	CallerIsCredential bool

	// Calls says that Human.Call of the human that Reviewer is given reaches the plane.
	Calls bool
	// Keys returns the keys of the plane, which verify its receipts. The cases on signatures are left out where it is nil.
	Keys func(t *testing.T) revue.KeySet

	// Agents is how many agents ask at once in the cases on concurrency; 0 is 32.
	Agents int
	// Patience is how long a case waits for what must happen; 0 is a minute.
	Patience time.Duration
	// Rounds is how often the racing cases race; 0 is 100.
	Rounds int
	// Likely is two wordings that the plane's memory calls likely, the first a question about databases with two
	// options; zero is a pair that the default memory does.
	Likely [2]string
	// Reworded is two wordings that the plane's memory calls related without a crucial difference, the first a question
	// about databases. Default: two that package memory calls so.
	Reworded [2]string
}

// Contract runs the whole suite as subtests of t. It calls open once.
func Contract(t *testing.T, open func(t *testing.T) System) {
	t.Helper()
	sys := open(t)
	if sys.Agents == 0 {
		sys.Agents = 32
	}
	if sys.Rounds == 0 {
		sys.Rounds = 100
	}
	if sys.Patience == 0 {
		sys.Patience = time.Minute
	}
	if sys.Reworded[0] == "" {
		sys.Reworded = [2]string{"Which database should we use for billing?", "Which database should be used for billing?"}
	}
	if sys.Likely[0] == "" {
		sys.Likely = [2]string{questionDB, "Hello, which database should the billing service use?"}
	}
	for _, g := range groups() {
		t.Run(g.name, func(t *testing.T) {
			for _, c := range g.cases {
				if c.unless != nil && c.unless(sys) {
					continue
				}
				t.Run(c.name, func(t *testing.T) { c.run(newWorld(t, sys)) })
			}
		})
	}
}

type group struct {
	name  string
	cases []testCase
}

type testCase struct {
	name   string
	run    func(w *world)
	unless func(System) bool // the system can't express it; nil is never
}

func groups() []group {
	return []group{
		{"validation", validationCases()},
		{"text", textCases()},
		{"waiting", waitingCases()},
		{"key", keyCases()},
		{"resume", resumeCases()},
		{"grouping", groupingCases()},
		{"members", memberCases()},
		{"answering", answeringCases()},
		{"dismissal", dismissalCases()},
		{"approvals", approvalCases()},
		{"reuse", reuseCases()},
		{"precedents", precedentCases()},
		{"corrections", correctionCases()},
		{"context", contextCases()},
		{"isolation", isolationCases()},
		{"journal", journalCases()},
		{"lists", listCases()},
		{"races", raceCases()},
		{"returned", returnedCases()},
		{"calls", callCases()},
		{"receipts", receiptCases()},
	}
}

// What keeps a case from a system.
func notLibrary(s System) bool         { return !s.Library }
func approvalsBlock(s System) bool     { return s.ApprovalsBlock }
func callerIsCredential(s System) bool { return s.CallerIsCredential }
func noCalls(s System) bool            { return !s.Calls }
func noKeys(s System) bool             { return s.Keys == nil }

const (
	// longWait is for requests that are expected to end by an answer. Whole seconds, and below the
	// cap of every transport.
	longWait = 40 * time.Second

	questionDB = "Which database should the billing service use?"
)

func optionsDB() []revue.Option { return opts("postgres", "sqlite") }

// opts makes options whose label is their value.
func opts(values ...string) []revue.Option {
	out := make([]revue.Option, 0, len(values))
	for _, v := range values {
		out = append(out, revue.Option{Value: v, Label: v})
	}
	return out
}

func askDB() revue.Ask { return revue.Ask{Question: questionDB, Options: optionsDB()} }

// world is one case's workspace and those in it.
type world struct {
	t      *testing.T
	sys    System
	ctx    context.Context //nolint:containedctx // the case's own, for its helpers
	ws     string
	ada    revue.Reviewer
	agents map[string]revue.Decider
	marks  map[string]bool
	calls  []*call
}

func newWorld(t *testing.T, sys System) *world {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), longWait+3*sys.Patience)
	t.Cleanup(cancel)
	w := &world{
		t: t, sys: sys, ctx: ctx, ws: "case-" + random(),
		agents: map[string]revue.Decider{}, marks: map[string]bool{},
	}
	w.ada = w.human("Ada")
	return w
}

func random() string {
	b := make([]byte, 6)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// human returns a reviewer of the workspace by name.
func (w *world) human(name string) revue.Reviewer {
	w.t.Helper()
	return w.sys.Reviewer(w.t, revue.Human{Workspace: w.ws, ID: "human-" + strings.ToLower(name), Name: name, Via: "library"})
}

// agent returns the agent with this credential, on a thread of its own.
func (w *world) agent(credential string) revue.Decider {
	w.t.Helper()
	return w.agentAt(credential, "thread-"+credential, "")
}

// agentAt returns the agent with this credential, thread and repository, the same one each time.
func (w *world) agentAt(credential, thread, repo string) revue.Decider {
	w.t.Helper()
	id := credential + "\x00" + thread + "\x00" + repo
	if d, ok := w.agents[id]; ok {
		return d
	}
	d := w.newAgent(credential, thread, repo)
	w.agents[id] = d
	return d
}

// newAgent returns the agent anew, as after a restart.
func (w *world) newAgent(credential, thread, repo string) revue.Decider {
	w.t.Helper()
	return w.sys.Decider(w.t, revue.Agent{
		Workspace: w.ws, Credential: credential, Name: credential, Thread: thread, Repo: repo, Via: "library",
	})
}

// check fails the case unless ok.
func (w *world) check(ok bool, format string, args ...any) {
	w.t.Helper()
	if !ok {
		w.t.Fatalf(format, args...)
	}
}

// need fails the case on an error.
func (w *world) need(err error, doing string) {
	w.t.Helper()
	if err != nil {
		w.t.Fatalf("%s: %v", doing, err)
	}
}

// eventually polls until cond holds. It gives up at once when a request on its way has failed.
func (w *world) eventually(what string, cond func() bool) {
	w.t.Helper()
	deadline := time.NewTimer(w.sys.Patience)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
			for _, c := range w.calls {
				if err := c.failed(); err != nil {
					w.t.Fatalf("%s: a request failed: %v", what, err)
				}
			}
		case <-deadline.C:
			w.t.Fatalf("never came about: %s", what)
		}
	}
}

// agentError checks an error that an agent got: its code, where the transport has codes.
func (w *world) agentError(err error, want *revue.Error, doing string) {
	w.t.Helper()
	if err == nil {
		w.t.Fatalf("%s: no error, want %s", doing, want.Code)
	}
	if !w.sys.NoCodes && !errors.Is(err, want) {
		w.t.Fatalf("%s: got %q (%s), want %s", doing, err, revue.CodeOf(err), want.Code)
	}
}

// agentInvalid checks that an agent's input was refused with the name of one of these fields.
func (w *world) agentInvalid(err error, doing string, fields ...string) {
	w.t.Helper()
	w.agentError(err, revue.ErrInvalid, doing)
	w.names(err, doing, fields...)
}

// humanError checks the code of an error that a human got.
func (w *world) humanError(err error, want *revue.Error, doing string) {
	w.t.Helper()
	if !errors.Is(err, want) {
		w.t.Fatalf("%s: got %v (%s), want %s", doing, err, revue.CodeOf(err), want.Code)
	}
}

// humanInvalid is agentInvalid for humans.
func (w *world) humanInvalid(err error, doing string, fields ...string) {
	w.t.Helper()
	w.humanError(err, revue.ErrInvalid, doing)
	w.names(err, doing, fields...)
}

// names checks that the message of err names one of these fields.
func (w *world) names(err error, doing string, fields ...string) {
	w.t.Helper()
	msg := strings.ToLower(err.Error())
	if len(fields) > 0 && !slices.ContainsFunc(fields, func(f string) bool { return strings.Contains(msg, f) }) {
		w.t.Fatalf("%s: the error %q names none of %q", doing, err, fields)
	}
}

// request asks, and fails the case on an error.
func (w *world) request(d revue.Decider, ask revue.Ask) revue.Outcome {
	w.t.Helper()
	out, err := d.Request(w.ctx, ask)
	w.need(err, "request "+clip(ask.Question))
	return out
}

// outcome asks without waiting and checks how it comes out.
func (w *world) outcome(d revue.Decider, ask revue.Ask, want revue.OutcomeStatus) revue.Outcome {
	w.t.Helper()
	ask.Wait = 0
	out := w.request(d, ask)
	w.check(out.Status == want, "request %q: got %s, want %s (%+v)", clip(ask.Question), out.Status, want, out)
	return out
}

// pend asks without waiting; the outcome must be pending.
func (w *world) pend(d revue.Decider, ask revue.Ask) revue.Outcome {
	w.t.Helper()
	out := w.outcome(d, ask, revue.OutcomePending)
	w.check(out.AskID != "", "a pending outcome has no decisionRef")
	w.check(out.Answer == "" && out.DecisionID == "", "a pending outcome carries an answer: %+v", out)
	return out
}

// call is a request on its way.
type call struct {
	done   chan struct{}
	cancel context.CancelFunc
	out    revue.Outcome
	err    error
}

// start asks in the background, waiting for an answer.
func (w *world) start(d revue.Decider, ask revue.Ask) *call {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.ctx)
	w.t.Cleanup(cancel)
	c := &call{done: make(chan struct{}), cancel: cancel}
	w.calls = append(w.calls, c)
	ask.Wait = longWait
	go func() {
		defer close(c.done)
		c.out, c.err = d.Request(ctx, ask)
	}()
	return c
}

// failed returns the error of a call that has ended with one.
func (c *call) failed() error {
	select {
	case <-c.done:
		return c.err
	default:
		return nil
	}
}

// end waits for the end of a call.
func (w *world) end(c *call) (revue.Outcome, error) {
	w.t.Helper()
	select {
	case <-c.done:
		return c.out, c.err
	case <-time.After(w.sys.Patience + longWait):
		w.t.Fatal("a call never returned")
		return revue.Outcome{}, nil
	}
}

// answered waits for a call, which must end with this answer.
func (w *world) answered(c *call, answer string) revue.Outcome {
	w.t.Helper()
	out, err := w.end(c)
	w.need(err, "waiting call")
	w.check(out.Status == revue.OutcomeAnswered && out.Answer == answer, "waiting call: got %+v, want the answer %q", out, answer)
	return out
}

// lots returns every lot in this state ("" for all), oldest first.
func (w *world) lots(status revue.Status) []revue.Lot {
	w.t.Helper()
	var all []revue.Lot
	f := revue.LotFilter{Status: status}
	for {
		page, err := w.ada.Lots(w.ctx, f)
		w.need(err, "list lots")
		all = append(all, page.Items...)
		if page.NextCursor == "" {
			return all
		}
		f.Cursor = page.NextCursor
	}
}

// lot reads one lot whole.
func (w *world) lot(id string) revue.Lot {
	w.t.Helper()
	l, err := w.ada.Lot(w.ctx, id)
	w.need(err, "read lot")
	return l
}

// open returns the one open lot, whole.
func (w *world) open() revue.Lot {
	w.t.Helper()
	lots := w.lots(revue.StatusOpen)
	w.check(len(lots) == 1, "%d lots are open, want 1: %s", len(lots), questions(lots))
	return w.lot(lots[0].ID)
}

// openFor returns the one open lot that has an ask with this wording, whole.
func (w *world) openFor(question string) revue.Lot {
	w.t.Helper()
	var found []revue.Lot
	for _, l := range w.lots(revue.StatusOpen) {
		l = w.lot(l.ID)
		if slices.ContainsFunc(l.Asks, func(a revue.AskRecord) bool { return a.Question == question }) {
			found = append(found, l)
		}
	}
	w.check(len(found) == 1, "%d open lots ask %q, want 1", len(found), clip(question))
	return found[0]
}

// opens waits until n lots are open and returns them, oldest first.
func (w *world) opens(n int) []revue.Lot {
	w.t.Helper()
	var lots []revue.Lot
	w.eventually(fmt.Sprintf("%d open lots", n), func() bool {
		lots = w.lots(revue.StatusOpen)
		return len(lots) == n
	})
	return lots
}

// asked waits until the one open lot holds n asks.
func (w *world) asked(n int) revue.Lot {
	w.t.Helper()
	var lot revue.Lot
	w.eventually(fmt.Sprintf("one open lot with %d asks", n), func() bool {
		lots := w.lots(revue.StatusOpen)
		if len(lots) != 1 {
			return false
		}
		lot = w.lot(lots[0].ID)
		return len(lot.Asks) == n
	})
	return lot
}

// settle answers a lot with an option, as it is on screen now.
func (w *world) settle(lotID, value string) revue.Lot {
	w.t.Helper()
	return w.settleWith(lotID, revue.Answer{Value: value})
}

// settleWith answers a lot as it is on screen now.
func (w *world) settleWith(lotID string, a revue.Answer) revue.Lot {
	w.t.Helper()
	if a.Seen == 0 {
		a.Seen = w.lot(lotID).Revision
	}
	l, err := w.ada.Answer(w.ctx, lotID, a)
	w.need(err, "answer")
	w.check(l.Status == revue.StatusAnswered, "an answered lot is %s", l.Status)
	return l
}

// decide asks as d, answers as Ada and returns the answered outcome.
func (w *world) decide(d revue.Decider, ask revue.Ask, a revue.Answer) revue.Outcome {
	w.t.Helper()
	w.pend(d, ask)
	w.settleWith(w.openFor(ask.Question).ID, a)
	out := w.outcome(d, ask, revue.OutcomeAnswered)
	w.check(out.Answer != "", "an answered outcome has no answer")
	return out
}

// decided is decide for the question about databases, by the agent "first".
func (w *world) decided() revue.Outcome {
	w.t.Helper()
	out := w.decide(w.agent("first"), askDB(), revue.Answer{Value: "postgres"})
	w.check(out.DecisionID != "", "an answered outcome names no decision: %+v", out)
	return out
}

// find looks a question up and returns the match for a decision.
func (w *world) find(d revue.Decider, q revue.Query, decisionID string) (revue.Match, bool) {
	w.t.Helper()
	found, err := d.Lookup(w.ctx, q)
	w.need(err, "lookup")
	for _, m := range found.Matches {
		if m.DecisionID == decisionID {
			return m, true
		}
	}
	return revue.Match{}, false
}

// chain returns the journal up to now. It shares a note and reads up to it, so that whatever happened
// before has its place in front of it.
func (w *world) chain() []revue.Event {
	w.t.Helper()
	item, err := w.agent("marker").Share(w.ctx, revue.ContextItem{
		Kind: "note", Body: "mark " + random(), Concepts: []string{"marks-" + w.ws},
	})
	w.need(err, "share a mark")
	w.marks[item.ID] = true
	ctx, cancel := context.WithTimeout(w.ctx, w.sys.Patience)
	defer cancel()
	var all []revue.Event
	for e, err := range w.ada.Events(ctx, 0) {
		w.need(err, "read events")
		all = append(all, e)
		if e.Kind == revue.EventContextShared && e.Ref == item.ID {
			return all
		}
	}
	w.t.Fatal("the events ended before the last one")
	return nil
}

// journal returns what happened up to now, less marks, credentials and the people they make members, and less the
// acknowledgements, which a transport may send long after their outcome.
func (w *world) journal() []revue.Event {
	w.t.Helper()
	return slices.DeleteFunc(w.chain(), func(e revue.Event) bool {
		return w.marks[e.Ref] || e.Kind == revue.EventTokenCreated || e.Kind == revue.EventTokenRevoked ||
			e.Kind == revue.EventMemberAdded || e.Kind == revue.EventAskReturned
	})
}

// events returns the events of one kind up to now.
func (w *world) events(kind revue.EventKind) []revue.Event {
	w.t.Helper()
	return slices.DeleteFunc(w.journal(), func(e revue.Event) bool { return e.Kind != kind })
}

// untouched checks that nothing at all has happened in the workspace.
func (w *world) untouched() {
	w.t.Helper()
	w.check(len(w.lots("")) == 0, "a refused call left lots: %s", questions(w.lots("")))
	if j := w.journal(); len(j) > 0 {
		w.t.Fatalf("a refused call left events: %+v", j)
	}
}

func clip(s string) string {
	if len(s) > 80 {
		return fmt.Sprintf("%q… (%d bytes)", s[:80], len(s))
	}
	return s
}

func questions(lots []revue.Lot) string {
	var b strings.Builder
	for _, l := range lots {
		fmt.Fprintf(&b, "\n  %s %s %q", l.ID, l.Status, clip(l.Question))
	}
	return b.String()
}
