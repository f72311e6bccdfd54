package inbox

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/revuehq/revue"
)

const (
	// weeksShown is how many weeks the overview counts, the current one among them.
	weeksShown = 12
	// decisionWeeks is how many weeks ago a decision was last confirmed that is still known: longer than a decision can
	// be reused without that.
	decisionWeeks = 27
	// eventsAtOnce is how many events are taken in before what they came to is kept, lotsAtOnce how many lots are read.
	eventsAtOnce = 1000
	lotsAtOnce   = 500
	// streamsCounted is how many streams of a week are told apart.
	streamsCounted = 500
	// otherStreams stands for the rest of them. It is no slug.
	otherStreams = "*"
	// fewLots is up to how many lots are read in a page of just that size.
	fewLots = 50
)

// weekNumber counts weeks that begin on Monday, UTC. Day 0 of Unix time was a Thursday.
func weekNumber(t time.Time) int64 {
	return int64(math.Floor(float64(t.Unix()+3*86400) / (7 * 86400)))
}

func weekStart(n int64) time.Time { return time.Unix(n*7*86400-3*86400, 0).UTC() }

// figures are the ledgers of the workspaces that somebody looked at.
type figures struct {
	mu          sync.Mutex
	byWorkspace map[string]*ledger
}

// of returns the ledger of a workspace.
func (f *figures) of(workspace string) *ledger {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.byWorkspace == nil {
		f.byWorkspace = map[string]*ledger{}
	}
	l := f.byWorkspace[workspace]
	if l == nil {
		l = newLedger()
		f.byWorkspace[workspace] = l
	}
	return l
}

// tally counts what happened in one week in one stream.
type tally struct {
	Asks      int // new ones, however they went on
	Cards     int // lots that were opened
	Joined    int // asks that were put into a lot that was there
	Reused    int // asks that were answered from memory
	Answered  int // asks that a human's answer settled
	Dismissed int // asks that a dismissal ended
	Expired   int // approvals that nobody answered in time

	// The same, in lots.
	AnsweredCards, DismissedCards, ExpiredCards int

	waits []time.Duration // of each lot that was answered: from when it was opened
}

// Saved is how many interruptions there were fewer than asks.
func (t tally) Saved() int { return t.Asks - t.Cards }

func (t *tally) add(o tally) {
	t.Asks += o.Asks
	t.Cards += o.Cards
	t.Joined += o.Joined
	t.Reused += o.Reused
	t.Answered += o.Answered
	t.Dismissed += o.Dismissed
	t.Expired += o.Expired
	t.AnsweredCards += o.AnsweredCards
	t.DismissedCards += o.DismissedCards
	t.ExpiredCards += o.ExpiredCards
	t.waits = append(t.waits, o.waits...)
}

// week is what happened in one week.
type week struct {
	streams     map[string]*tally
	askers      map[string]int // by credential
	corrections map[revue.Verb]int
}

// lotFacts is what the ledger knows of a lot that is not in the journal.
type lotFacts struct {
	stream  string
	opened  time.Time
	expires time.Time // zero: never
}

// keptStream is the stream of a decision, and when that was last made or confirmed.
type keptStream struct {
	stream string
	at     time.Time
}

// ledger counts what the journal of one workspace says. It reads each event once: whoever looks reads what is new. It
// holds counts of a few weeks, the lots that are open, and the streams of the decisions that can be reused.
type ledger struct {
	turn chan struct{} // holds one value; whoever took it may use the rest

	seq     revue.Seq
	ahead   map[string]lotFacts // lots that were read, and whose events come later
	cursor  string              // where to go on reading lots, where that was cut short
	weeks   map[int64]*week
	open    map[string]lotFacts
	streams map[string]keptStream // by decision
	names   map[string]string     // of askers, by credential

	// The last event that recorded an ask: an event that it was moved takes back that it is new.
	lastSeq  revue.Seq
	lastKind revue.EventKind
	lastAsk  string
	lastBy   string
	lastAt   time.Time
	lastIn   string
}

func newLedger() *ledger {
	l := &ledger{
		turn: make(chan struct{}, 1), weeks: map[int64]*week{}, ahead: map[string]lotFacts{}, open: map[string]lotFacts{},
		streams: map[string]keptStream{}, names: map[string]string{},
	}
	l.turn <- struct{}{}
	return l
}

// journalReader is what the ledger reads.
type journalReader interface {
	Journal(ctx context.Context, after revue.Seq, limit int) ([]revue.Event, revue.Seq, error)
	Lots(ctx context.Context, f revue.LotFilter) (revue.Page[revue.Lot], error)
	Lot(ctx context.Context, id string) (revue.Lot, error)
}

// read takes in what is new, and returns what the weeks up to now come to. What was taken in stays where it fails, and
// where it ends because it is late: then the overview says that it is behind, and the next call goes on. The zero time is
// never.
func (l *ledger) read(ctx context.Context, from journalReader, now, late time.Time) (overview, error) {
	select {
	case <-l.turn:
	case <-ctx.Done():
		return overview{}, ctx.Err()
	}
	defer func() { l.turn <- struct{}{} }()
	behind := false
	for !behind {
		events, next, err := from.Journal(ctx, l.seq, eventsAtOnce)
		if err != nil {
			return overview{}, err
		}
		if len(events) == 0 {
			break
		}
		lots, done, err := l.lotsOf(ctx, from, events, now, late)
		if err != nil {
			return overview{}, err
		}
		if done {
			for _, e := range events {
				l.take(e, lots, now)
			}
			l.seq = next
		}
		behind = !done || isPast(late)
	}
	l.forget(now)
	if behind {
		_, head, err := from.Journal(ctx, revue.FromNow, 0)
		if err != nil || head > l.seq {
			return overview{Seq: l.seq, Head: head, Behind: true}, err
		}
	}
	return l.sum(now), nil
}

func isPast(late time.Time) bool { return !late.IsZero() && time.Now().After(late) }

// needs returns the lots of which events want more than the journal has: those of what is counted, and those that are
// open afterwards. Of the others nothing is read, so that an old journal costs little.
func needs(events []revue.Event, now time.Time) map[string]bool {
	closed := map[string]revue.Seq{}
	for _, e := range events {
		switch e.Kind {
		case revue.EventLotAnswered, revue.EventLotDismissed, revue.EventLotExpired:
			closed[e.Lot] = e.Seq
		default:
		}
	}
	out := map[string]bool{}
	oldest := weekNumber(now) - decisionWeeks
	for _, e := range events {
		recent := weekNumber(e.At) > oldest
		switch e.Kind {
		case revue.EventLotOpened, revue.EventLotReopened:
			recent = recent || closed[e.Lot] < e.Seq
		case revue.EventAskJoined, revue.EventLotAnswered, revue.EventLotDismissed, revue.EventLotExpired,
			revue.EventDecisionMade, revue.EventDecisionConfirmed:
		default:
			continue
		}
		if recent && e.Lot != "" {
			out[e.Lot] = true
		}
	}
	return out
}

// lotsOf returns what has to be known of the lots that events name. It is not done where that gets late.
func (l *ledger) lotsOf(ctx context.Context, from journalReader, events []revue.Event, now, late time.Time) (map[string]lotFacts, bool, error) {
	facts := map[string]lotFacts{}
	missing := map[string]bool{}
	opened := map[string]bool{}
	for _, e := range events {
		if e.Kind == revue.EventLotOpened {
			opened[e.Lot] = true
		}
	}
	newer := 0
	for id := range needs(events, now) {
		if known, ok := l.open[id]; ok {
			facts[id] = known
		} else if known, ok := l.ahead[id]; ok {
			facts[id] = known
		} else {
			missing[id] = true
			if opened[id] {
				newer++
			}
		}
	}
	if done, err := l.lotPages(ctx, from, missing, newer, late); err != nil || !done {
		return nil, false, err
	}
	for id := range missing {
		known, ok := l.ahead[id]
		if !ok { // it was opened before all this
			lot, err := from.Lot(ctx, id)
			if err != nil && revue.CodeOf(err) != revue.CodeNotFound {
				return nil, false, err
			}
			known = l.learn(lot)
		}
		facts[id] = known
	}
	return facts, true, nil
}

// lotPages reads the lots whose events come next, the newest first, down to the ones that are missing. It is not done
// where that gets late, and goes on the next time.
func (l *ledger) lotPages(ctx context.Context, from journalReader, missing map[string]bool, newer int, late time.Time) (bool, error) {
	for newer > 0 {
		limit := lotsAtOnce
		if newer <= fewLots {
			limit = newer
		}
		page, err := from.Lots(ctx, revue.LotFilter{Newest: true, Cursor: l.cursor, Limit: limit})
		if err != nil {
			return false, err
		}
		for _, lot := range page.Items {
			if lot.Seq <= l.seq { // nothing new is below
				page.NextCursor = ""
				break
			}
			if _, ok := l.ahead[lot.ID]; !ok && missing[lot.ID] {
				newer--
			}
			l.ahead[lot.ID] = l.learn(lot)
		}
		if l.cursor = page.NextCursor; l.cursor == "" {
			return true, nil
		}
		if newer > 0 && isPast(late) {
			return false, nil
		}
	}
	l.cursor = ""
	return true, nil
}

// learn notes who asks in a lot.
func (l *ledger) learn(lot revue.Lot) lotFacts {
	for _, a := range lot.Asks {
		l.names[a.Credential] = a.Agent
	}
	return lotFacts{stream: lot.Stream, opened: lot.CreatedAt, expires: lot.ExpiresAt}
}

// at returns the week of a time, nil where it is none that is counted.
func (l *ledger) at(t, now time.Time) *week {
	n := weekNumber(t)
	if n <= weekNumber(now)-weeksShown {
		return nil
	}
	w := l.weeks[n]
	if w == nil {
		w = &week{streams: map[string]*tally{}, askers: map[string]int{}, corrections: map[revue.Verb]int{}}
		l.weeks[n] = w
	}
	return w
}

// in returns the tally of a stream, one that nobody reads for no week.
func (w *week) in(stream string) *tally {
	if w == nil {
		return &tally{}
	}
	t := w.streams[stream]
	if t == nil && len(w.streams) >= streamsCounted {
		stream = otherStreams
		t = w.streams[stream]
	}
	if t == nil {
		t = &tally{}
		w.streams[stream] = t
	}
	return t
}

func (w *week) asked(by string, n int) {
	if w == nil || by == "" {
		return
	}
	if w.askers[by] += n; w.askers[by] <= 0 {
		delete(w.askers, by)
	}
}

// take counts one event.
func (l *ledger) take(e revue.Event, lots map[string]lotFacts, now time.Time) {
	w := l.at(e.At, now)
	lot := lots[e.Lot]
	t := func() *tally { return w.in(lot.stream) }
	switch e.Kind {
	case revue.EventLotOpened:
		l.open[e.Lot] = lot
		delete(l.ahead, e.Lot)
		t().Cards++
		l.ask(e, w, lot.stream, 1)
	case revue.EventAskJoined:
		t().Joined++
		l.ask(e, w, lot.stream, 1)
	case revue.EventAskReused:
		lot.stream = l.streams[e.Decision].stream
		t().Reused++
		l.ask(e, w, lot.stream, 1)
	case revue.EventAskMoved:
		l.moved(e, now)
	case revue.EventLotAnswered:
		delete(l.open, e.Lot)
		t().Answered += len(e.Asks)
		t().AnsweredCards++
		if !lot.opened.IsZero() {
			t().waits = append(t().waits, max(0, e.At.Sub(lot.opened)))
		}
	case revue.EventLotDismissed:
		delete(l.open, e.Lot)
		t().Dismissed += len(e.Asks)
		t().DismissedCards++
	case revue.EventLotExpired:
		delete(l.open, e.Lot)
		t().Expired += len(e.Asks)
		t().ExpiredCards++
	case revue.EventLotReopened:
		l.open[e.Lot] = lot
	case revue.EventDecisionMade, revue.EventDecisionConfirmed:
		stream := lot.stream
		if have, ok := l.streams[e.Decision]; ok { // it stays that of the card it was made from
			stream = have.stream
		}
		l.streams[e.Decision] = keptStream{stream, e.At}
	case revue.EventDecisionCorrected:
		if w != nil {
			w.corrections[e.Verb]++
		}
	default:
	}
}

// ask counts a new ask.
func (l *ledger) ask(e revue.Event, w *week, stream string, n int) {
	w.in(stream).Asks += n
	w.asked(e.Actor, n)
	if len(e.Asks) == 1 {
		l.lastSeq, l.lastKind, l.lastAsk, l.lastBy, l.lastAt, l.lastIn = e.Seq, e.Kind, e.Asks[0], e.Actor, e.At, stream
	}
}

// moved takes back that an ask was new which an answer to other wordings left over: it was recorded again in the lot
// where it is now, right before this event.
func (l *ledger) moved(e revue.Event, now time.Time) {
	if e.Seq != l.lastSeq+1 || len(e.Asks) != 1 || e.Asks[0] != l.lastAsk {
		return
	}
	w := l.at(l.lastAt, now)
	w.in(l.lastIn).Asks--
	w.asked(l.lastBy, -1)
	if l.lastKind == revue.EventAskJoined {
		w.in(l.lastIn).Joined--
	}
}

// forget drops what is too old to be counted or used.
func (l *ledger) forget(now time.Time) {
	current := weekNumber(now)
	maps.DeleteFunc(l.weeks, func(n int64, _ *week) bool { return n <= current-weeksShown })
	maps.DeleteFunc(l.streams, func(_ string, k keptStream) bool { return weekNumber(k.at) <= current-decisionWeeks })
}

// overview is what the weeks of a workspace come to.
type overview struct {
	Seq     revue.Seq
	Head    revue.Seq // of the journal, where the overview is behind it
	Behind  bool      // nothing below is filled in
	Weeks   []weekSum // weeksShown of them, the oldest first
	All     sums      // all streams, all weeks
	Streams []streamSum
	Askers  []asker // the most first
	Verbs   []verbSum
}

// sums is a tally with its waits summed up.
type sums struct {
	tally

	Waited      int // lots that were answered
	Median, P90 time.Duration
}

// weekSum is one week: all streams, and each.
type weekSum struct {
	Start time.Time
	All   sums
	By    map[string]sums
}

// streamSum is all weeks of one stream, and what is open in it now.
type streamSum struct {
	Stream string
	sums

	Open   int
	Oldest time.Time // zero: nothing is open
}

// asker is who asked how much.
type asker struct {
	Credential, Name string
	Asks             int
}

type verbSum struct {
	Verb revue.Verb // "" for undoing
	N    int
}

// summed closes a tally.
func summed(t tally) sums {
	slices.Sort(t.waits)
	return sums{tally: t, Waited: len(t.waits), Median: median(t.waits), P90: rank(t.waits, 0.9)}
}

// median is the middle of sorted values, between the two that are there where their number is even.
func median(sorted []time.Duration) time.Duration {
	n := len(sorted)
	if n == 0 {
		return 0
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// rank is the least of sorted values that a part p of all do not exceed.
func rank(sorted []time.Duration, p float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, int(math.Ceil(p*float64(len(sorted))))-1)]
}

// sum makes the overview.
func (l *ledger) sum(now time.Time) overview {
	out := overview{Seq: l.seq}
	var all tally
	streams := map[string]*tally{}
	askers := map[string]int{}
	verbs := map[revue.Verb]int{}
	for n := weekNumber(now) - weeksShown + 1; n <= weekNumber(now); n++ {
		ws := weekSum{Start: weekStart(n), By: map[string]sums{}}
		var total tally
		if w := l.weeks[n]; w != nil {
			for stream, t := range w.streams {
				total.add(*t)
				if streams[stream] == nil {
					streams[stream] = &tally{}
				}
				streams[stream].add(*t)
				one := *t
				one.waits = slices.Clone(t.waits)
				ws.By[stream] = summed(one)
			}
			for who, n := range w.askers {
				askers[who] += n
			}
			for verb, n := range w.corrections {
				verbs[verb] += n
			}
		}
		all.add(total)
		ws.All = summed(total)
		out.Weeks = append(out.Weeks, ws)
	}
	out.All = summed(all)
	bySlug := map[string]*streamSum{}
	for stream, t := range streams {
		bySlug[stream] = &streamSum{Stream: stream, sums: summed(*t)}
	}
	for _, lot := range l.open {
		if !lot.expires.IsZero() && !now.Before(lot.expires) {
			continue
		}
		s := bySlug[lot.stream]
		if s == nil {
			s = &streamSum{Stream: lot.stream}
			bySlug[lot.stream] = s
		}
		s.Open++
		if s.Oldest.IsZero() || lot.opened.Before(s.Oldest) {
			s.Oldest = lot.opened
		}
	}
	for _, s := range bySlug {
		out.Streams = append(out.Streams, *s)
	}
	slices.SortFunc(out.Streams, func(a, b streamSum) int {
		return cmp.Or(cmp.Compare(b.Asks, a.Asks), cmp.Compare(b.Open, a.Open), cmp.Compare(a.Stream, b.Stream))
	})
	for who, n := range askers {
		out.Askers = append(out.Askers, asker{who, l.names[who], n})
	}
	slices.SortFunc(out.Askers, func(a, b asker) int {
		return cmp.Or(cmp.Compare(b.Asks, a.Asks), cmp.Compare(a.Credential, b.Credential))
	})
	for _, verb := range append(revue.Verbs(), "") {
		out.Verbs = append(out.Verbs, verbSum{verb, verbs[verb]})
	}
	return out
}
