package revue_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/memory"
	"github.com/revuehq/revue/storage/memstore"
)

var local = revue.Human{Workspace: "w", ID: "local", Name: "root", Via: revue.LocalVia, Local: true}

func TestTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		desk := plane(memstore.New(nil))
		admin := desk.Admin(local)
		_, err := admin.CreateToken(t.Context(), revue.NewToken{Kind: revue.TokenAgent})
		require.ErrorIs(t, err, revue.ErrNotFound, "there is no workspace yet")
		_, err = admin.CreateWorkspace(t.Context(), "w")
		require.NoError(t, err)
		_, err = admin.CreateWorkspace(t.Context(), "w")
		require.ErrorIs(t, err, revue.ErrConflict)
		_, err = admin.CreateWorkspace(t.Context(), "../w")
		require.ErrorIs(t, err, revue.ErrInvalid)

		agentToken, err := admin.CreateToken(t.Context(), revue.NewToken{Kind: revue.TokenAgent, Owner: "ci", Label: "build", Life: time.Hour})
		require.NoError(t, err)
		humanToken, err := admin.CreateToken(t.Context(), revue.NewToken{Kind: revue.TokenHuman, Owner: "Ada"})
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(agentToken.Secret, "rvu_a_"))
		require.True(t, strings.HasPrefix(humanToken.Secret, "rvu_h_"))

		p, err := desk.Authenticate(t.Context(), agentToken.Secret)
		require.NoError(t, err)
		require.Nil(t, p.Human)
		require.Equal(t, "ci (build)", p.Agent.Name)
		require.Equal(t, "w", p.Agent.Workspace)
		p, err = desk.Authenticate(t.Context(), humanToken.Secret)
		require.NoError(t, err)
		require.Nil(t, p.Agent)
		require.Equal(t, "Ada", p.Human.Name)

		for _, bad := range []string{
			"", "rvu_a_", "rvu_h_" + agentToken.Secret[6:], agentToken.Secret + "x", agentToken.ID, agentToken.Secret[6:],
			strings.Repeat("rvu_a_", 100000),
		} {
			_, err := desk.Authenticate(t.Context(), bad)
			require.ErrorIs(t, err, revue.ErrDenied)
		}
		list, err := admin.Tokens(t.Context())
		require.NoError(t, err)
		require.Len(t, list, 2)
		shown, err := json.Marshal(list) //nolint:gosec // that no secret is in it is what is tested
		require.NoError(t, err)
		require.NotContains(t, string(shown), agentToken.Secret)
		require.NotContains(t, string(shown), `"hash"`)

		for _, n := range []revue.NewToken{
			{},
			{Kind: "root"},
			{Kind: revue.TokenAgent, Label: "a\x1b[2J"},
			{Kind: revue.TokenAgent, Life: -1},
			{Kind: revue.TokenAgent, Label: strings.Repeat("x", 201)},
			{Kind: revue.TokenAgent, Owner: "a\u202e"},
		} {
			_, err := admin.CreateToken(t.Context(), n)
			require.ErrorIs(t, err, revue.ErrInvalid, "%+v", n)
		}

		// A human of one workspace has no power over another.
		_, err = admin.CreateWorkspace(t.Context(), "other")
		require.NoError(t, err)
		remote := desk.Admin(revue.Human{Workspace: "other", ID: "x", Name: "x", Via: "api"})
		_, err = remote.CreateToken(t.Context(), revue.NewToken{Kind: revue.TokenHuman, Workspace: "w"})
		require.ErrorIs(t, err, revue.ErrDenied)
		_, err = remote.RevokeToken(t.Context(), agentToken.ID)
		require.ErrorIs(t, err, revue.ErrNotFound)
		_, err = remote.CreateWorkspace(t.Context(), "third")
		require.ErrorIs(t, err, revue.ErrDenied)
		seen, err := remote.Workspaces(t.Context())
		require.NoError(t, err)
		require.Len(t, seen, 1)

		time.Sleep(time.Hour) //nolint:forbidigo // fake time
		_, err = desk.Authenticate(t.Context(), agentToken.Secret)
		require.ErrorIs(t, err, revue.ErrDenied, "expired")
		_, err = admin.RevokeToken(t.Context(), humanToken.ID)
		require.NoError(t, err)
		_, err = desk.Authenticate(t.Context(), humanToken.Secret)
		require.ErrorIs(t, err, revue.ErrDenied, "revoked")
		_, err = admin.RevokeToken(t.Context(), "tok_nope")
		require.ErrorIs(t, err, revue.ErrNotFound)
	})
}

// A parked call whose token is revoked gets no answer any more, and hears of it at once.
func TestRevokedWhileParked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		desk := plane(memstore.New(nil))
		running(t, desk)
		admin := desk.Admin(local)
		_, err := admin.CreateWorkspace(t.Context(), "w")
		require.NoError(t, err)
		tok, err := admin.CreateToken(t.Context(), revue.NewToken{Kind: revue.TokenAgent})
		require.NoError(t, err)
		p, err := desk.Authenticate(t.Context(), tok.Secret)
		require.NoError(t, err)
		result := make(chan error, 1)
		go func() {
			_, err := desk.Decider(*p.Agent).Request(t.Context(), databaseAsk(time.Hour))
			result <- err
		}()
		synctest.Wait()
		start := time.Now()
		_, err = admin.RevokeToken(t.Context(), tok.ID)
		require.NoError(t, err)
		require.ErrorIs(t, <-result, revue.ErrDenied)
		require.Less(t, time.Since(start), time.Second)
	})
}

func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(nil)
		desk := plane(store)
		running(t, desk)
		const calls = 1000
		refs := make(chan string, calls)
		for i := range calls {
			go func() {
				a := agent("a")
				a.Thread = "t" + string(rune('a'+i%26)) + strings.Repeat("x", i/26)
				o, err := desk.Decider(a).Request(t.Context(), databaseAsk(time.Hour))
				if err != nil || o.Status != revue.OutcomePending {
					refs <- "failed"
					return
				}
				refs <- o.LotID
			}()
		}
		synctest.Wait()
		require.Equal(t, calls, desk.Parked())
		start := time.Now()
		desk.Drain()
		lot := onlyLot(t, desk)
		for range calls {
			require.Equal(t, lot.ID, <-refs)
		}
		require.Zero(t, time.Since(start), "at once")
		require.Equal(t, calls, lot.AskCount)
		o, err := desk.Decider(agent("b")).Request(t.Context(), databaseAsk(time.Hour))
		require.NoError(t, err)
		require.Equal(t, revue.OutcomePending, o.Status, "and from then on")

		next := plane(store) // after the restart
		_, err = next.Reviewer(alice).Answer(t.Context(), lot.ID, revue.Answer{Value: "sqlite"})
		require.NoError(t, err)
		o, err = next.Decider(agent("b")).Request(t.Context(), databaseAsk(time.Hour))
		require.NoError(t, err)
		require.Equal(t, revue.OutcomeAnswered, o.Status)
		require.Equal(t, lot.ID, o.LotID)
	})
}

// told is a notifier that fails as often as it is told to.
type told struct {
	mu    sync.Mutex
	fail  int
	calls int
	got   []revue.Notice
}

func (n *told) Notify(_ context.Context, notice revue.Notice) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls++
	if n.fail > 0 {
		n.fail--
		return errors.New("out of reach")
	}
	n.got = append(n.got, notice)
	return nil
}

func (n *told) notices() []revue.Notice {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.got)
}

func (n *told) tries() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.calls
}

func (n *told) ids() map[string]int {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := map[string]int{}
	for _, x := range n.got {
		out[x.ID]++
	}
	return out
}

func ask(t *testing.T, d *revue.Desk, who, question string) revue.Outcome {
	t.Helper()
	o, err := d.Decider(agent(who)).Request(t.Context(), revue.Ask{Question: question})
	require.NoError(t, err)
	return o
}

func withNotifier(s revue.Store, n revue.Notifier) *revue.Desk {
	return revue.New(s, memory.New(nil), &revue.Options{Notifiers: map[string]revue.Notifier{"n": n}})
}

func TestNoticesAreNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(nil)
		ask(t, plane(store), "a", "Which colour has the first door?") // before anyone was there to tell
		n := &told{fail: 3}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		desk := withNotifier(store, n)
		go func() { done <- desk.Run(ctx) }()
		time.Sleep(time.Minute) //nolint:forbidigo // fake time
		require.Len(t, n.ids(), 1, "it was tried until it went through")
		require.Equal(t, 4, n.tries())
		ask(t, desk, "b", "which color has the first door") // joined or not, see below
		ask(t, desk, "c", "Which colour has the first door?")
		synctest.Wait()
		cancel()
		require.NoError(t, <-done)

		ask(t, plane(store), "d", "Which colour has the second door?") // while nobody runs
		before := len(n.ids())
		again := withNotifier(store, n)
		running(t, again)
		time.Sleep(time.Second) //nolint:forbidigo // fake time
		require.Len(t, n.ids(), before+1, "what came while it was down is told, and nothing again")
		for id, times := range n.ids() {
			require.Equal(t, 1, times, id)
		}
		lots, err := again.Reviewer(alice).Lots(t.Context(), revue.LotFilter{})
		require.NoError(t, err)
		require.Len(t, n.ids(), len(lots.Items), "one a lot")
	})
}

// Several processes with the same notifier send each notice once.
func TestOneProcessSends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(nil)
		n := &told{}
		for range 4 {
			running(t, withNotifier(store, n))
		}
		synctest.Wait()
		for i := range 20 {
			ask(t, plane(store), "a", "Which colour has door number "+string(rune('a'+i))+" of the house?")
		}
		time.Sleep(5 * time.Minute) //nolint:forbidigo // fake time
		lots, err := plane(store).Reviewer(alice).Lots(t.Context(), revue.LotFilter{})
		require.NoError(t, err)
		require.Len(t, n.ids(), len(lots.Items))
		require.Equal(t, len(lots.Items), n.tries())
	})
}

func TestPurge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		desk := plane(memstore.New(nil))
		human, admin := desk.Reviewer(alice), desk.Admin(alice)
		const secret = "hunter2"
		question := revue.Ask{
			Question: "Which password should the " + secret + " database have?", Context: secret, Concepts: []string{secret}, Files: []string{secret},
			Options: []revue.Option{{Value: secret, Label: secret + "!", Consequence: secret}, {Value: "none"}}, Recommendation: secret,
		}
		o, err := desk.Decider(agent("a")).Request(t.Context(), question)
		require.NoError(t, err)
		require.ErrorIs(t, admin.Purge(t.Context(), o.LotID), revue.ErrConflict, "it is open")
		lot, err := human.Answer(t.Context(), o.LotID, revue.Answer{Value: secret, Note: secret})
		require.NoError(t, err)
		reused, err := desk.Decider(agent("b")).Request(t.Context(), question)
		require.NoError(t, err)
		require.Equal(t, revue.OutcomeReused, reused.Status)
		_, err = human.Correct(t.Context(), revue.Correction{DecisionID: lot.DecisionID, Verb: revue.VerbTooBroad, Note: secret})
		require.NoError(t, err)
		note, err := desk.Decider(agent("a")).Share(t.Context(), revue.ContextItem{Kind: "note", Body: secret, Concepts: []string{secret}})
		require.NoError(t, err)

		require.ErrorIs(t, admin.Purge(t.Context(), "lot_nope"), revue.ErrNotFound)
		other := desk.Admin(revue.Human{Workspace: "other", ID: "x", Name: "x", Via: "api"})
		require.ErrorIs(t, other.Purge(t.Context(), lot.ID), revue.ErrNotFound)
		for _, id := range []string{lot.ID, lot.DecisionID, note.ID} {
			require.NoError(t, admin.Purge(t.Context(), id))
		}
		why, err := human.Why(t.Context(), lot.DecisionID)
		require.NoError(t, err)
		whole, err := human.Lot(t.Context(), lot.ID)
		require.NoError(t, err)
		found, err := desk.Decider(agent("a")).Lookup(t.Context(), revue.Query{Text: question.Question, Concepts: question.Concepts})
		require.NoError(t, err)
		receipt, err := human.Receipt(t.Context(), lot.ReceiptID)
		require.NoError(t, err)
		reuse, err := human.Receipt(t.Context(), reused.Receipt.ID)
		require.NoError(t, err)
		left, err := json.Marshal([]any{why, whole, found, receipt, reuse, journalOf(t, desk)})
		require.NoError(t, err)
		require.NotContains(t, string(left), secret)

		// The same question is asked anew.
		again, err := desk.Decider(agent("a")).Request(t.Context(), question)
		require.NoError(t, err)
		require.Equal(t, revue.OutcomePending, again.Status)
	})
}

// An outcome that did not reach its caller is not returned: another thread of the credential gets it.
func TestReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		desk := plane(memstore.New(nil))
		asker := agent("a")
		asker.Acknowledges = true
		first := desk.Decider(asker)
		o, err := first.Request(t.Context(), databaseAsk(0))
		require.NoError(t, err)
		_, err = desk.Reviewer(alice).Answer(t.Context(), o.LotID, revue.Answer{Value: "sqlite", Remember: revue.RememberOnce})
		require.NoError(t, err)
		o, err = first.Request(t.Context(), databaseAsk(0))
		require.NoError(t, err)
		require.Equal(t, revue.OutcomeAnswered, o.Status)
		require.NoError(t, first.(revue.Returner).Returned(t.Context(), o, errors.New("broken pipe")))

		restarted := asker
		restarted.Thread = "a-2"
		second := desk.Decider(restarted)
		o, err = second.Request(t.Context(), databaseAsk(0))
		require.NoError(t, err)
		require.Equal(t, revue.OutcomeAnswered, o.Status, "it was never returned")
		require.NoError(t, second.(revue.Returner).Returned(t.Context(), o, nil))

		third := asker
		third.Thread = "a-3"
		o, err = desk.Decider(third).Request(t.Context(), databaseAsk(0))
		require.NoError(t, err)
		require.Equal(t, revue.OutcomePending, o.Status, "it was returned, and was for once")
	})
}

// failingMemory cannot recall.
type failingMemory struct{ *memory.Memory }

func (failingMemory) Recall(context.Context, revue.Source, revue.Query) (revue.Recalled, error) {
	return revue.Recalled{}, errors.New("no memory")
}

func TestMemoryThatFailsCostsAQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		desk := revue.New(memstore.New(nil), failingMemory{memory.New(nil)}, nil)
		o, err := desk.Decider(agent("a")).Request(t.Context(), databaseAsk(0))
		require.NoError(t, err)
		require.Equal(t, revue.OutcomePending, o.Status)
	})
}

// eagerMemory says apply to whatever it is asked, the way a careless third-party memory might.
type eagerMemory struct{ *memory.Memory }

func (m eagerMemory) Recall(ctx context.Context, src revue.Source, q revue.Query) (revue.Recalled, error) {
	got, err := m.Memory.Recall(ctx, src, q)
	var all []revue.Decision
	_ = src.View(ctx, func(s revue.Snapshot) (err error) {
		all, err = s.FindDecisions(revue.DecisionQuery{})
		return err
	})
	got.Matches = nil
	for _, d := range all {
		got.Matches = append(got.Matches, revue.Match{DecisionID: d.ID, ReuseGuidance: revue.Apply})
	}
	return got, err
}

// Whatever a memory says, the desk reuses nothing that a correction, the scope, the options or age stand against.
func TestDeskChecksTheMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		desk := revue.New(memstore.New(nil), eagerMemory{memory.New(nil)}, nil)
		o, err := desk.Decider(agent("a")).Request(t.Context(), databaseAsk(0))
		require.NoError(t, err)
		lot, err := desk.Reviewer(alice).Answer(t.Context(), o.LotID, revue.Answer{Value: "sqlite"})
		require.NoError(t, err)

		more := databaseAsk(0)
		more.Options = append(more.Options, revue.Option{Value: "mysql"})
		o, err = desk.Decider(agent("b")).Request(t.Context(), more)
		require.NoError(t, err)
		require.Equal(t, revue.OutcomePending, o.Status, "an option more")

		_, err = desk.Reviewer(alice).Correct(t.Context(), revue.Correction{DecisionID: lot.DecisionID, Verb: revue.VerbAskNextTime})
		require.NoError(t, err)
		o, err = desk.Decider(agent("c")).Request(t.Context(), databaseAsk(0))
		require.NoError(t, err)
		require.Equal(t, revue.OutcomePending, o.Status, "corrected")
	})
}

// brokenWatch fails to watch a few times before it works.
type brokenWatch struct {
	revue.Store
	fails atomic.Int32
}

func (s *brokenWatch) Watch(ctx context.Context, wake func(string)) error {
	if s.fails.Add(-1) >= 0 {
		return errors.New("no watch")
	}
	return s.Store.Watch(ctx, wake)
}

// While watching fails waits poll, and nothing that came in between is missed.
func TestWatchFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &brokenWatch{Store: memstore.New(nil)}
		store.fails.Store(1000)
		desk, other := plane(store), plane(store)
		running(t, desk)
		o, err := other.Decider(agent("a")).Request(t.Context(), databaseAsk(0))
		require.NoError(t, err)
		got := make(chan revue.Outcome, 1)
		go func() {
			o, _ := desk.Decider(agent("a")).Request(t.Context(), databaseAsk(time.Hour))
			got <- o
		}()
		synctest.Wait()
		_, err = other.Reviewer(alice).Answer(t.Context(), o.LotID, revue.Answer{Value: "sqlite"})
		require.NoError(t, err)
		answered := time.Now()
		require.Equal(t, "sqlite", (<-got).Answer)
		require.LessOrEqual(t, time.Since(answered), time.Second)
	})
}

// FromNow begins with what is committed after the call, however late it is ranged over.
func TestEventsFromNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		desk := plane(memstore.New(nil))
		ask(t, desk, "a", "Which colour has the first door?")
		ctx, cancel := context.WithCancel(t.Context())
		events := desk.Reviewer(alice).Events(ctx, revue.FromNow)
		second := ask(t, desk, "a", "Which colour has the second door?")
		for range 2 {
			for e, err := range events {
				require.NoError(t, err)
				require.Equal(t, second.LotID, e.Lot)
				break
			}
		}
		cancel()
		for _, err := range events {
			require.ErrorIs(t, err, context.Canceled)
		}
	})
}
