package inbox

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"sort"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/memory"
	"github.com/revuehq/revue/storage/memstore"
)

// town is a workspace with a clock of its own and two planes on one store, as two processes have them.
type town struct {
	t     *testing.T
	rnd   *rand.Rand
	now   time.Time
	desks [2]*revue.Desk
	human revue.Human
}

func newTown(t *testing.T, seed uint64) *town {
	t.Helper()
	c := &town{
		t: t, rnd: rand.New(rand.NewPCG(seed, 7)), now: time.Date(2026, 3, 1, 23, 30, 0, 0, time.UTC), //nolint:gosec // a seed makes it the same each time
		human: revue.Human{Workspace: "acme", ID: "mem_1", Name: "Ada", Via: "test", Local: true},
	}
	store := memstore.New(&memstore.Options{Now: func() time.Time { return c.now }})
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	for i := range c.desks {
		c.desks[i] = revue.New(store, memory.New(nil), nil)
	}
	return c
}

func (c *town) desk() *revue.Desk { return c.desks[c.rnd.IntN(2)] }

func (c *town) pick(of ...string) string { return of[c.rnd.IntN(len(of))] }

// step does something at random.
func (c *town) step() {
	ctx := c.t.Context()
	r := c.desk().Reviewer(c.human)
	open, err := r.Lots(ctx, revue.LotFilter{Status: revue.StatusOpen})
	require.NoError(c.t, err)
	switch n := c.rnd.IntN(20); {
	case n < 10:
		agent := revue.Agent{
			Workspace: "acme", Credential: c.pick("tok_a", "tok_b", "tok_c"), Name: c.pick("one", "two"), Thread: c.pick("t1", "t2", "t3"), Via: "test",
			Call: strconv.FormatUint(c.rnd.Uint64(), 36),
		}
		ask := revue.Ask{Question: c.pick("Which %s should we use?", "Which %s should I use?", "Which %s should we not use?"), Stream: c.pick("", "web", "ops")}
		ask.Question = fmt.Sprintf(ask.Question, c.pick("database", "cache", "queue", "broker"))
		if c.rnd.IntN(6) == 0 {
			ask.Kind, ask.Context, ask.Expires = revue.KindApproval, "why", time.Duration(1+c.rnd.IntN(72))*time.Hour
		}
		_, err := c.desk().Decider(agent).Request(ctx, ask)
		require.NoError(c.t, err)
	case n < 15 && len(open.Items) > 0:
		lot := open.Items[c.rnd.IntN(len(open.Items))]
		a := revue.Answer{Text: c.pick("yes", "no"), Seen: revue.Revision(c.rnd.IntN(int(lot.Revision) + 1))}
		switch {
		case lot.Kind == revue.KindApproval:
			a = revue.Answer{Value: c.pick(revue.Approved, revue.Declined)}
		case len(lot.Pinned) > 0 && c.rnd.IntN(2) == 0:
			a = revue.Answer{Confirms: lot.Pinned[0].DecisionID}
		}
		if _, err = r.Answer(ctx, lot.ID, a); err != nil { // as where a precedent has an answer that is no option
			require.NotEqual(c.t, revue.CodeInternal, revue.CodeOf(err), err)
		}
	case n < 16 && len(open.Items) > 0:
		if lot := open.Items[c.rnd.IntN(len(open.Items))]; lot.Kind == revue.KindDecision {
			_, err := r.Dismiss(ctx, lot.ID, revue.Dismissal{Seen: revue.Revision(c.rnd.IntN(int(lot.Revision) + 1))})
			require.NoError(c.t, err)
		}
	case n < 17:
		gone, err := r.Lots(ctx, revue.LotFilter{Status: revue.StatusDismissed, Newest: true, Limit: 3})
		require.NoError(c.t, err)
		if len(gone.Items) > 0 {
			lot := gone.Items[c.rnd.IntN(len(gone.Items))]
			if c.rnd.IntN(2) == 0 { // somebody asks it meanwhile
				_, err := c.desk().Decider(revue.Agent{
					Workspace: "acme", Credential: "tok_d", Name: "three", Thread: strconv.FormatUint(c.rnd.Uint64(), 36), Via: "test",
				}).Request(ctx, revue.Ask{Question: lot.Question, Stream: "web"})
				require.NoError(c.t, err)
			}
			if _, err := r.Reopen(ctx, lot.ID); err != nil {
				require.Equal(c.t, revue.CodeConflict, revue.CodeOf(err), err)
			}
		}
	case n < 18:
		made, err := r.Decisions(ctx, revue.DecisionFilter{Limit: 5})
		require.NoError(c.t, err)
		if len(made.Items) > 0 {
			d := made.Items[c.rnd.IntN(len(made.Items))]
			cor := revue.Correction{DecisionID: d.ID, Verb: revue.Verbs()[c.rnd.IntN(4)]}
			if st := d.Standing(); len(st) > 0 && c.rnd.IntN(2) == 0 {
				cor = revue.Correction{DecisionID: d.ID, Undoes: st[0].ID}
			}
			_, err := r.Correct(ctx, cor)
			require.NoError(c.t, err)
		}
	default:
		c.now = c.now.Add(time.Duration(c.rnd.IntN(60)) * time.Hour)
	}
	c.now = c.now.Add(time.Duration(c.rnd.IntN(7200)) * time.Second)
}

// counted is what a week of a stream comes to, as both ways of counting say it.
type counted struct {
	asks, cards, joined, reused, answered, dismissed, expired int
	median, p90                                               time.Duration
}

// tallied is what a workspace comes to.
type tallied struct {
	cells  map[string]counted // by week and stream
	open   map[string]int
	oldest map[string]time.Time
	askers map[string]int
	verbs  map[revue.Verb]int
}

// recount reads everything anew, and counts it by what the words mean: an ask is one id, whatever events name it.
func (c *town) recount() tallied {
	ctx, r := c.t.Context(), c.desk().Reviewer(c.human)
	out := tallied{map[string]counted{}, map[string]int{}, map[string]time.Time{}, map[string]int{}, map[revue.Verb]int{}}
	lots := map[string]revue.Lot{}
	for cursor, more := "", true; more; more = cursor != "" {
		page, err := r.Lots(ctx, revue.LotFilter{Cursor: cursor, Limit: 1000})
		require.NoError(c.t, err)
		for _, l := range page.Items {
			lots[l.ID] = l
		}
		cursor = page.NextCursor
	}
	streamOf := map[string]string{}
	seen := map[string]bool{}
	waits := map[string][]time.Duration{}
	monday := func(t time.Time) time.Time {
		t = t.Truncate(24 * time.Hour)
		for t.Weekday() != time.Monday {
			t = t.AddDate(0, 0, -1)
		}
		return t
	}
	first := monday(c.now).AddDate(0, 0, -7*11)
	for after := revue.Seq(0); ; {
		events, next, err := r.Journal(ctx, after, 1000)
		require.NoError(c.t, err)
		if len(events) == 0 {
			break
		}
		after = next
		for _, e := range events {
			stream := lots[e.Lot].Stream
			if e.Kind == revue.EventDecisionMade {
				streamOf[e.Decision] = stream
			}
			if e.Kind == revue.EventAskReused {
				stream = streamOf[e.Decision]
			}
			isNew := false
			switch e.Kind {
			case revue.EventLotOpened, revue.EventAskJoined, revue.EventAskReused:
				isNew = !seen[e.Asks[0]]
				seen[e.Asks[0]] = true
			default:
			}
			if e.At.Before(first) {
				continue
			}
			at := monday(e.At).Format(time.DateOnly) + " " + stream
			n := out.cells[at]
			if isNew {
				n.asks++
				out.askers[e.Actor]++
			}
			switch e.Kind {
			case revue.EventLotOpened:
				n.cards++
			case revue.EventAskJoined:
				if isNew {
					n.joined++
				}
			case revue.EventAskReused:
				n.reused++
			case revue.EventLotAnswered:
				n.answered += len(e.Asks)
				waits[at] = append(waits[at], e.At.Sub(lots[e.Lot].CreatedAt))
			case revue.EventLotDismissed:
				n.dismissed += len(e.Asks)
			case revue.EventLotExpired:
				n.expired += len(e.Asks)
			case revue.EventDecisionCorrected:
				out.verbs[e.Verb]++
				continue
			default:
				continue
			}
			out.cells[at] = n
		}
	}
	for at, w := range waits {
		n := out.cells[at]
		sort.Slice(w, func(i, j int) bool { return w[i] < w[j] })
		n.median = (w[(len(w)-1)/2] + w[len(w)/2]) / 2
		for _, v := range w { // the first that nine in ten do not exceed
			under := 0
			for _, o := range w {
				if o <= v {
					under++
				}
			}
			if n.p90 = v; 10*under >= 9*len(w) {
				break
			}
		}
		out.cells[at] = n
	}
	for _, l := range lots {
		if l.Status != revue.StatusOpen {
			continue
		}
		out.open[l.Stream]++
		if o := out.oldest[l.Stream]; o.IsZero() || l.CreatedAt.Before(o) {
			out.oldest[l.Stream] = l.CreatedAt
		}
	}
	return out
}

// talliedOf is an overview as a recount gives it.
func talliedOf(o overview) tallied {
	out := tallied{map[string]counted{}, map[string]int{}, map[string]time.Time{}, map[string]int{}, map[revue.Verb]int{}}
	for _, w := range o.Weeks {
		for stream, s := range w.By {
			out.cells[w.Start.Format(time.DateOnly)+" "+stream] = counted{s.Asks, s.Cards, s.Joined, s.Reused, s.Answered, s.Dismissed, s.Expired, s.Median, s.P90}
		}
	}
	for _, s := range o.Streams {
		if s.Open > 0 {
			out.open[s.Stream], out.oldest[s.Stream] = s.Open, s.Oldest
		}
	}
	for _, a := range o.Askers {
		out.askers[a.Credential] = a.Asks
	}
	for _, v := range o.Verbs {
		if v.N > 0 {
			out.verbs[v.Verb] = v.N
		}
	}
	return out
}

// Whatever happened, through whichever process, and however often somebody looked meanwhile: the figures are those of a
// recount. They add up, and nothing that has no place in them is kept.
func TestFigures(t *testing.T) {
	moved, merged, expired, reopened := 0, 0, 0, 0
	for seed := range uint64(12) {
		c := newTown(t, seed)
		l, late := newLedger(), newLedger()
		for range 400 {
			c.step()
			if c.rnd.IntN(12) > 0 {
				continue
			}
			got, err := l.read(t.Context(), c.desk().Reviewer(c.human), c.now, time.Time{})
			require.NoError(t, err)
			require.Equal(t, c.recount(), talliedOf(got), "seed %d", seed)
		}
		got, err := late.read(t.Context(), c.desk().Reviewer(c.human), c.now, time.Time{})
		require.NoError(t, err)
		require.Equal(t, c.recount(), talliedOf(got), "read at once, seed %d", seed)

		var sum tally
		for _, w := range got.Weeks {
			sum.add(w.All.tally)
		}
		slices.Sort(sum.waits)
		require.Equal(t, got.All.tally, sum)
		require.LessOrEqual(t, len(late.weeks), weeksShown)

		events, _, err := c.desk().Reviewer(c.human).Journal(t.Context(), 0, 1000)
		require.NoError(t, err)
		for _, e := range events {
			switch e.Kind {
			case revue.EventAskMoved:
				if e.Actor == "" { // an answer left it over
					moved++
				} else {
					merged++
				}
			case revue.EventLotExpired:
				expired++
			case revue.EventLotReopened:
				reopened++
			default:
			}
		}
	}
	require.Positive(t, moved)
	require.Positive(t, merged)
	require.Positive(t, expired)
	require.Positive(t, reopened)
}

// What is too old is forgotten, and what is open is not, however old.
func TestFiguresForget(t *testing.T) {
	c := newTown(t, 1)
	agent := c.desk().Decider(revue.Agent{Workspace: "acme", Credential: "tok_a", Name: "one", Via: "test"})
	_, err := agent.Request(t.Context(), revue.Ask{Question: "Which database should we use?"})
	require.NoError(t, err)
	_, err = agent.Request(t.Context(), revue.Ask{Question: "Which broker should we use?"})
	require.NoError(t, err)
	r := c.desk().Reviewer(c.human)
	open, err := r.Lots(t.Context(), revue.LotFilter{})
	require.NoError(t, err)
	_, err = r.Answer(t.Context(), open.Items[0].ID, revue.Answer{Text: "SQLite"})
	require.NoError(t, err)

	l := newLedger()
	got, err := l.read(t.Context(), r, c.now, time.Time{})
	require.NoError(t, err)
	require.Equal(t, 2, got.All.Asks)
	require.Len(t, l.streams, 1)

	c.now = c.now.Add(weeksShown * 7 * 24 * time.Hour)
	got, err = l.read(t.Context(), r, c.now, time.Time{})
	require.NoError(t, err)
	require.Zero(t, got.All.Asks)
	require.Empty(t, l.weeks)
	require.Len(t, l.streams, 1, "it can still be reused")
	require.Equal(t, []streamSum{{Stream: "agents", Open: 1, Oldest: open.Items[1].CreatedAt}}, got.Streams)

	c.now = c.now.Add(decisionWeeks * 7 * 24 * time.Hour)
	_, err = l.read(t.Context(), r, c.now, time.Time{})
	require.NoError(t, err)
	require.Empty(t, l.streams)
	require.Len(t, l.open, 1)
}

// Many may look at once, while things happen.
func TestFiguresTogether(t *testing.T) {
	c := newTown(t, 3)
	for range 200 {
		c.step()
	}
	want := c.recount()
	var all figures
	var looking sync.WaitGroup
	got := make([]overview, 8)
	errs := make([]error, 8)
	r := c.desks[0].Reviewer(c.human)
	for i := range got {
		looking.Go(func() { got[i], errs[i] = all.of("acme").read(t.Context(), r, c.now, time.Time{}) })
	}
	looking.Wait()
	for i := range got {
		require.NoError(t, errs[i])
		require.Equal(t, want, talliedOf(got[i]))
	}
	require.Len(t, all.byWorkspace, 1)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	<-all.of("acme").turn // somebody reads, and takes long
	_, err := all.of("acme").read(ctx, r, c.now, time.Time{})
	require.ErrorIs(t, err, context.Canceled)
}

// ledgerOf is a journal and its lots, made up, that counts what is read of it.
type ledgerOf struct {
	events []revue.Event
	lots   []revue.Lot
	read   int // events
	single int // lots

	lotsRead int // in pages
}

func (j *ledgerOf) Journal(_ context.Context, after revue.Seq, limit int) ([]revue.Event, revue.Seq, error) {
	if after == revue.FromNow {
		return nil, revue.Seq(len(j.events)), nil
	}
	from := j.events[min(int(after), len(j.events)):]
	from = from[:min(limit, len(from))]
	j.read += len(from)
	return from, after + revue.Seq(len(from)), nil
}

func (j *ledgerOf) Lots(_ context.Context, f revue.LotFilter) (revue.Page[revue.Lot], error) {
	at, _ := strconv.Atoi(f.Cursor)
	end := min(at+f.Limit, len(j.lots))
	var page revue.Page[revue.Lot]
	for i := at; i < end; i++ { // the newest first
		page.Items = append(page.Items, j.lots[len(j.lots)-1-i])
	}
	if end < len(j.lots) {
		page.NextCursor = strconv.Itoa(end)
	}
	j.lotsRead += len(page.Items)
	return page, nil
}

func (j *ledgerOf) Lot(_ context.Context, id string) (revue.Lot, error) {
	j.single++
	n, err := strconv.Atoi(id[len("lot_"):])
	return j.lots[n], err
}

// add makes a card that is answered.
func (j *ledgerOf) add(at time.Time) {
	n := len(j.lots)
	id, ask, dec := fmt.Sprint("lot_", n), fmt.Sprint("ask_", n), fmt.Sprint("dec_", n)
	j.lots = append(j.lots, revue.Lot{
		ID: id, Seq: revue.Seq(len(j.events) + 1), Stream: fmt.Sprint("s", n%5), CreatedAt: at, Asks: []revue.AskRecord{{ID: ask, Credential: "tok_a", Agent: "one"}},
	})
	for _, e := range []revue.Event{
		{Kind: revue.EventLotOpened, Lot: id, Asks: []string{ask}, Actor: "tok_a", At: at},
		{Kind: revue.EventLotAnswered, Lot: id, Asks: []string{ask}, Decision: dec, At: at.Add(time.Minute)},
		{Kind: revue.EventDecisionMade, Lot: id, Decision: dec, At: at.Add(time.Minute)},
		{Kind: revue.EventAskReused, Decision: dec, Asks: []string{ask + "r"}, Actor: "tok_b", At: at.Add(time.Hour)},
	} {
		e.Seq = revue.Seq(len(j.events) + 1)
		j.events = append(j.events, e)
	}
}

func longJournal(events int, now time.Time) *ledgerOf {
	j := &ledgerOf{}
	for n := events / 4; len(j.lots) < n; {
		j.add(now.Add(-time.Duration(n-len(j.lots)) * 10 * time.Minute))
	}
	return j
}

// The journal is read once, and then only what is new.
func TestFiguresReadOnce(t *testing.T) {
	now := time.Date(2026, 6, 3, 12, 0, 0, 0, time.UTC)
	j := longJournal(10_000, now)
	l := newLedger()
	got, err := l.read(t.Context(), j, now, time.Time{})
	require.NoError(t, err)
	require.Equal(t, 10_000, j.read)
	require.Equal(t, 5000, got.All.Asks)
	require.LessOrEqual(t, j.lotsRead, len(j.lots)+lotsAtOnce)
	require.Zero(t, j.single)
	require.Empty(t, l.ahead)

	j.read, j.lotsRead = 0, 0
	_, err = l.read(t.Context(), j, now, time.Time{})
	require.NoError(t, err)
	require.Zero(t, j.read+j.lotsRead+j.single)

	j.add(now)
	got, err = l.read(t.Context(), j, now, time.Time{})
	require.NoError(t, err)
	require.Equal(t, 4, j.read)
	require.Equal(t, 1, j.lotsRead)
	require.Zero(t, j.single)
	require.Equal(t, 5002, got.All.Asks)
}

// Of what is too old to be counted only the lots that are still open are read.
func TestFiguresOld(t *testing.T) {
	now := time.Date(2026, 6, 3, 12, 0, 0, 0, time.UTC)
	j := longJournal(10_000, now)
	j.events[41].Kind = revue.EventAskReturned // the eleventh is never answered
	l := newLedger()
	later := now.AddDate(2, 0, 0)
	got, err := l.read(t.Context(), j, later, time.Time{})
	require.NoError(t, err)
	require.Zero(t, got.All.Asks)
	require.Equal(t, []streamSum{{Stream: "s0", Open: 1, Oldest: j.lots[10].CreatedAt}}, got.Streams)
	require.Empty(t, l.streams)
	require.Empty(t, l.weeks)
}

// Who is late is told so, keeps what was done, and comes to the same in the end.
func TestFiguresLate(t *testing.T) {
	now := time.Date(2026, 6, 3, 12, 0, 0, 0, time.UTC)
	want, err := newLedger().read(t.Context(), longJournal(10_000, now), now, time.Time{})
	require.NoError(t, err)
	j := longJournal(10_000, now)
	l := newLedger()
	times := 0
	for {
		got, err := l.read(t.Context(), j, now, time.Unix(1, 0))
		require.NoError(t, err)
		times++
		if !got.Behind {
			require.Equal(t, want, got)
			break
		}
		require.Equal(t, revue.Seq(10_000), got.Head)
		require.Less(t, got.Seq, got.Head)
		require.Empty(t, got.Weeks)
		require.Less(t, times, 30, "each call comes further")
	}
	require.Greater(t, times, 10)
	require.LessOrEqual(t, j.lotsRead, len(j.lots)+lotsAtOnce)
}

// However many streams there are, a week has a bounded number of them, and counts all asks.
func TestFiguresStreams(t *testing.T) {
	now := time.Date(2026, 6, 3, 12, 0, 0, 0, time.UTC)
	j := longJournal(4*3000, now)
	for i := range j.lots {
		j.lots[i].Stream = "s" + strconv.Itoa(i)
	}
	l := newLedger()
	got, err := l.read(t.Context(), j, now, time.Time{})
	require.NoError(t, err)
	require.Equal(t, 2*len(j.lots), got.All.Asks)
	require.Equal(t, len(j.lots), got.All.Answered)
	for _, w := range l.weeks {
		require.LessOrEqual(t, len(w.streams), streamsCounted+1)
	}
	page := overviewOf(got, nil, otherStreams)
	require.Equal(t, "(others)", page.Name)
	require.Positive(t, page.Total.Asks)
	require.Len(t, page.By, streamsShown)
}

// While the figures are behind, the page says how far they are, and shows none.
func TestOverviewBehind(t *testing.T) {
	desk := revue.New(memstore.New(nil), memory.New(nil), nil)
	w := httptest.NewRecorder()
	v := &visit{w: w, r: httptest.NewRequest(http.MethodGet, "/overview", nil)}
	data := overviewPage{overview: overview{Seq: 3000, Head: 100_000, Behind: true}}
	require.NoError(t, New(desk, desk, nil).render(v, http.StatusOK, "overview", page{Title: "Overview", Data: data}))
	require.Contains(t, w.Body.String(), "event 3000 of 100000")
	require.NotContains(t, w.Body.String(), "Interruptions")
}

func TestWeeks(t *testing.T) {
	for at, want := range map[string]string{
		"1970-01-01T00:00:00Z": "1969-12-29", "1969-12-28T23:59:59Z": "1969-12-22", "2026-11-30T00:00:00Z": "2026-11-30",
		"2026-11-29T23:59:59.999Z": "2026-11-23", "2026-12-06T23:00:00-02:00": "2026-12-07",
	} {
		v, err := time.Parse(time.RFC3339Nano, at)
		require.NoError(t, err)
		require.Equal(t, want, weekStart(weekNumber(v)).Format(time.DateOnly), at)
	}
}

// BenchmarkFirstOverview reads a journal of 100,000 events for the first time.
func BenchmarkFirstOverview(b *testing.B) {
	now := time.Date(2026, 6, 3, 12, 0, 0, 0, time.UTC)
	j := longJournal(100_000, now)
	for b.Loop() {
		_, err := newLedger().read(b.Context(), j, now, time.Time{})
		require.NoError(b, err)
	}
}

// BenchmarkNextOverview looks again, when four events are new.
func BenchmarkNextOverview(b *testing.B) {
	now := time.Date(2026, 6, 3, 12, 0, 0, 0, time.UTC)
	j := longJournal(100_000, now)
	l := newLedger()
	_, err := l.read(b.Context(), j, now, time.Time{})
	require.NoError(b, err)
	for b.Loop() {
		j.add(now)
		_, err := l.read(b.Context(), j, now, time.Time{})
		require.NoError(b, err)
	}
}
