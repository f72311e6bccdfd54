package inbox

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/memory"
	"github.com/revuehq/revue/storage/memstore"
)

// openNow is what the plain list says is open.
func openNow(t *testing.T, r revue.Reviewer) []*openLot {
	t.Helper()
	out := []*openLot{}
	cursor := ""
	for {
		page, err := r.Lots(t.Context(), revue.LotFilter{Status: revue.StatusOpen, Cursor: cursor, Limit: 7})
		require.NoError(t, err)
		for _, l := range page.Items {
			out = append(out, summarize(l))
		}
		if cursor = page.NextCursor; cursor == "" {
			return out
		}
	}
}

// world is a plane with agents that ask and a human who acts, at random.
type world struct {
	t     *testing.T
	rnd   *rand.Rand
	desk  *revue.Desk
	human revue.Human
	lots  []string
}

func newWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	return &world{
		t: t, rnd: rand.New(rand.NewPCG(seed, 1)), desk: revue.New(memstore.New(nil), memory.New(nil), nil), //nolint:gosec // a seed makes it the same each time
		human: revue.Human{Workspace: "acme", ID: "mem_1", Name: "Ada", Via: "test", Local: true},
	}
}

func (w *world) ask(wait time.Duration) string {
	topics := []string{"the login page", "the billing service", "the search index", "the mail queue"}
	wordings := []string{"Which database should %s use?", "What database should %s use?", "Should %s use the old database?"}
	a := revue.Agent{
		Workspace: "acme", Credential: fmt.Sprint("tok_", w.rnd.IntN(3)), Name: fmt.Sprint("agent ", w.rnd.IntN(3)), Thread: fmt.Sprint("t", w.rnd.IntN(4)),
		Repo: []string{"", "github.com/acme/api", "github.com/acme/web"}[w.rnd.IntN(3)], Via: "test",
	}
	ask := revue.Ask{
		Question: fmt.Sprintf(wordings[w.rnd.IntN(3)], topics[w.rnd.IntN(4)]), Stream: []string{"", "ops"}[w.rnd.IntN(2)],
		Options: []revue.Option{{Value: "yes", Label: "Yes"}, {Value: "no", Label: "No"}}, Wait: wait,
	}
	if w.rnd.IntN(4) == 0 {
		ask = revue.Ask{Kind: revue.KindApproval, Question: fmt.Sprint("Deploy ", w.rnd.IntN(50)), Wait: wait, Expires: time.Duration(1+w.rnd.IntN(300)) * time.Second}
	}
	out, err := w.desk.Decider(a).Request(w.t.Context(), ask)
	require.NoError(w.t, err)
	return out.LotID
}

// act does one thing. What is refused, because the state does not allow it, is one too.
func (w *world) act() {
	r, admin := w.desk.Reviewer(w.human), w.desk.Admin(w.human)
	pick := func() string {
		if len(w.lots) == 0 {
			return "lot_none"
		}
		return w.lots[w.rnd.IntN(len(w.lots))]
	}
	ctx := w.t.Context()
	var err error
	switch w.rnd.IntN(10) {
	case 0, 1, 2, 3:
		if id := w.ask(0); id != "" {
			w.lots = append(w.lots, id)
		}
	case 4, 5:
		lot, lerr := r.Lot(ctx, pick())
		if lerr == nil {
			value := []string{"yes", "no"}[w.rnd.IntN(2)]
			if lot.Kind == revue.KindApproval {
				value = revue.Approved
			}
			_, err = r.Answer(ctx, lot.ID, revue.Answer{Value: value, Seen: revue.Revision(w.rnd.Int64N(int64(lot.Revision) + 1))})
		}
	case 6:
		_, err = r.Dismiss(ctx, pick(), revue.Dismissal{Reason: fmt.Sprint("not now ", w.rnd.Int())})
	case 7:
		_, err = r.Reopen(ctx, pick())
	case 8:
		id := pick()
		if lot, lerr := r.Lot(ctx, id); lerr == nil && lot.DecisionID != "" && w.rnd.IntN(2) == 0 {
			id = lot.DecisionID
		}
		err = admin.Purge(ctx, id)
	case 9:
		<-time.After(time.Duration(w.rnd.IntN(100)) * time.Second)
	}
	switch revue.CodeOf(err) {
	case "", revue.CodeConflict, revue.CodeInvalid, revue.CodeNotFound:
	default:
		require.NoError(w.t, err)
	}
}

// Whatever happens, and however seldom a board is looked at, it shows what the plain list does.
func TestBoardIsTheList(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, seed)
				r := w.desk.Reviewer(w.human)
				always, seldom, small := newBoard(maxOnBoard), newBoard(maxOnBoard), newBoard(5)
				check := func(b *board) {
					t.Helper()
					got, err := b.current(t.Context(), r)
					require.NoError(t, err)
					want := openNow(t, r)
					if b == small && len(want) != len(got.lots) {
						require.True(t, got.more)
						require.Greater(t, len(b.lots), b.room*3/4) // what has expired takes up room until somebody writes that down
						require.LessOrEqual(t, len(got.lots), len(want))
						want = want[:len(got.lots)]
					} else if b != small {
						require.False(t, got.more)
					}
					require.Equal(t, want, append([]*openLot{}, got.lots...))
					_, head, err := r.Journal(t.Context(), revue.FromNow, 0)
					require.NoError(t, err)
					require.Equal(t, head, got.seq)
				}
				for i := range 250 {
					w.act()
					check(always)
					if w.rnd.IntN(3) == 0 {
						check(small)
					}
					if i%40 == 0 {
						check(seldom)
					}
				}
				check(seldom)
				require.NotEmpty(t, w.lots)
			})
		})
	}
}

// A purge takes text out of open lots that its event does not name.
func TestBoardPurgedPrecedent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		ctx, r := t.Context(), w.desk.Reviewer(w.human)
		agent := w.desk.Decider(revue.Agent{Workspace: "acme", Credential: "tok_1", Name: "agent", Thread: "t1"})
		options := []revue.Option{{Value: "yes", Label: "Yes"}, {Value: "no", Label: "No"}}
		out, err := agent.Request(ctx, revue.Ask{Question: "Which database should the login page use?", Options: options})
		require.NoError(t, err)
		lot, err := r.Answer(ctx, out.LotID, revue.Answer{Value: "yes"})
		require.NoError(t, err)
		out, err = agent.Request(ctx, revue.Ask{Question: "Which database should the signup page use?", Options: options})
		require.NoError(t, err)
		b := newBoard(10)
		now, err := b.current(ctx, r)
		require.NoError(t, err)
		require.NotNil(t, now.find(out.LotID))
		require.Equal(t, 1, now.find(out.LotID).Precedents)
		require.NoError(t, w.desk.Admin(w.human).Purge(ctx, lot.DecisionID))
		now, err = b.current(ctx, r)
		require.NoError(t, err)
		require.Equal(t, 0, now.find(out.LotID).Precedents)
	})
}

// What was read of one workspace is in no other, and another journal under the same name is noticed.
func TestBoardsAreApart(t *testing.T) {
	ctx := t.Context()
	w, other := newWorld(t, 1), newWorld(t, 2)
	for _, w := range []*world{w, other} {
		for range 5 {
			w.ask(0)
		}
	}
	var b boards
	t.Cleanup(b.close)
	mine := w.desk.Reviewer(w.human)
	got, err := b.current(ctx, "acme", mine)
	require.NoError(t, err)
	require.NotEmpty(t, got.lots)
	elsewhere := w.human
	elsewhere.Workspace = "umbrella"
	empty, err := b.current(ctx, "umbrella", w.desk.Reviewer(elsewhere))
	require.NoError(t, err)
	require.Empty(t, empty.lots)
	replaced, err := b.current(ctx, "acme", other.desk.Reviewer(w.human))
	require.NoError(t, err)
	require.Equal(t, openNow(t, other.desk.Reviewer(w.human)), replaced.lots)
}

// Boards are few, and those that nobody looks at are dropped.
func TestBoardsAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b boards
		for i := range 2 * maxBoards {
			b.board(fmt.Sprint("w", i))
			<-time.After(time.Millisecond)
		}
		require.Len(t, b.of, maxBoards)
		require.Contains(t, b.of, fmt.Sprint("w", 2*maxBoards-1))
		<-time.After(boardIdle / 2)
		b.board("used")
		<-time.After(boardIdle/2 + time.Second)
		synctest.Wait()
		b.mu.Lock()
		require.Len(t, b.of, 1)
		require.NotNil(t, b.timer)
		b.mu.Unlock()
		<-time.After(boardIdle)
		synctest.Wait()
		b.mu.Lock()
		require.Empty(t, b.of)
		require.Nil(t, b.timer)
		b.mu.Unlock()
		b.board("late")
		b.close()
		require.Nil(t, b.timer)
	})
}

// A request that is cancelled while another reads does not wait for it, and a failure leaves the board as it was.
func TestBoardWaits(t *testing.T) {
	w := newWorld(t, 3)
	w.ask(0)
	r := w.desk.Reviewer(w.human)
	b := newBoard(10)
	before, err := b.current(t.Context(), r)
	require.NoError(t, err)
	b.turn <- struct{}{}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = b.current(gone, r)
	require.ErrorIs(t, err, context.Canceled)
	<-b.turn
	w.ask(0)
	_, err = b.current(t.Context(), failing{r})
	require.ErrorIs(t, err, revue.ErrUnavailable)
	require.Equal(t, before.lots, b.lots)
	now, err := b.current(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, openNow(t, r), now.lots)
}

// failing is a reviewer whose lots can't be read.
type failing struct{ revue.Reviewer }

func (failing) Lot(context.Context, string) (revue.Lot, error) {
	return revue.Lot{}, &revue.Error{Code: revue.CodeUnavailable}
}

// Many may look at once, while lots come and go.
func TestBoardTogether(t *testing.T) {
	w := newWorld(t, 4)
	r := w.desk.Reviewer(w.human)
	var b boards
	t.Cleanup(b.close)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 30 {
				got, err := b.current(t.Context(), "acme", r)
				if err != nil {
					t.Error(err)
					return
				}
				for _, l := range got.lots {
					_ = strings.Contains(l.search, "x")
				}
			}
		})
	}
	for range 60 {
		w.act0()
	}
	all.Wait()
	got, err := b.current(t.Context(), "acme", r)
	require.NoError(t, err)
	require.Equal(t, openNow(t, r), got.lots)
}

// act0 asks, and answers the oldest now and then.
func (w *world) act0() {
	if id := w.ask(0); id != "" {
		w.lots = append(w.lots, id)
	}
	if w.rnd.IntN(3) == 0 && len(w.lots) > 0 {
		_, err := w.desk.Reviewer(w.human).Dismiss(w.t.Context(), w.lots[0], revue.Dismissal{})
		if err == nil || revue.CodeOf(err) == revue.CodeConflict || revue.CodeOf(err) == revue.CodeInvalid {
			w.lots = w.lots[1:]
		}
	}
}

func TestFirstLine(t *testing.T) {
	for in, want := range map[string]string{
		"":                       "",
		"one":                    "one",
		"  one  ":                "one",
		"\n\none\ntwo":           "one …",
		"one\n  \n":              "one",
		strings.Repeat("é", 240): strings.Repeat("é", 240),
		strings.Repeat("é", 241): strings.Repeat("é", 240) + " …",
	} {
		require.Equal(t, want, firstLine(in, 240))
	}
	require.Equal(t, "é", upToBytes("éé", 3))
	require.Empty(t, upToBytes("éé", 1))
}

func TestAlike(t *testing.T) {
	of := func(question string, options ...string) [32]byte {
		l := revue.Lot{Kind: revue.KindDecision, Question: question}
		for _, o := range options {
			l.Options = append(l.Options, revue.Option{Value: o, Label: o})
		}
		return alike(l)
	}
	require.Equal(t, of("Which  one?\n", "a", "b"), of("Which one?", "b", "a"))
	for _, other := range [][32]byte{of("Which one?", "a"), of("Which One?", "a", "b"), of("Which one", "a", "b"), of("Which one?", "a\x00a", "b"), of("Which one? a", "b")} {
		require.NotEqual(t, of("Which one?", "a", "b"), other)
	}
}

// BenchmarkBoard looks at a workspace where 1,000 lots are open: the first time, when nothing happened since, and after
// one more ask.
func BenchmarkBoard(b *testing.B) {
	desk := revue.New(memstore.New(nil), memory.New(nil), nil)
	human := revue.Human{Workspace: "acme", ID: "mem_1", Name: "Ada", Via: "test"}
	n := 0
	ask := func() {
		n++
		_, err := desk.Decider(revue.Agent{Workspace: "acme", Credential: "tok_1", Name: "agent", Thread: "t1"}).Request(b.Context(), revue.Ask{
			Kind: revue.KindApproval, Question: fmt.Sprintf("Deploy build %d of the service to the machines of the third region", n),
		})
		require.NoError(b, err)
	}
	for range 1000 {
		ask()
	}
	r := desk.Reviewer(human)
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			_, err := newBoard(maxOnBoard).current(b.Context(), r)
			require.NoError(b, err)
		}
	})
	at := newBoard(maxOnBoard)
	b.Run("quiet", func(b *testing.B) {
		for b.Loop() {
			_, err := at.current(b.Context(), r)
			require.NoError(b, err)
		}
	})
	b.Run("one more", func(b *testing.B) {
		for b.Loop() {
			ask()
			_, err := at.current(b.Context(), r)
			require.NoError(b, err)
		}
	})
}
