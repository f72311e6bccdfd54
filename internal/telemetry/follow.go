package telemetry

import (
	"context"
	"sync"
	"time"

	"github.com/revuehq/revue"
)

const (
	// listEvery is how often workspaces are looked for that are new.
	listEvery = 5 * time.Second
	// followRetry is the pause after a journal could not be read; it doubles up to followSlowest.
	followRetry   = time.Second
	followSlowest = 30 * time.Second
	// settle is how long an ask is held back that may turn out to have moved: what says so is committed with it.
	settle = time.Second
	// skew is how far the clock of the store may be behind that of this process.
	skew = time.Minute
)

// Follower counts what the journals of all workspaces say, whichever process wrote it.
type Follower struct {
	metrics *Metrics
	plane   revue.Plane
	store   revue.Store
	human   revue.Human
	began   time.Time

	mu       sync.Mutex
	journals map[string]*journal
}

// Follow begins to count with what is committed from now on: it notes how far each journal has come. The human must be a
// local one, since it reads every workspace. Nothing is counted until Run runs. A Metrics has one Follower.
func (m *Metrics) Follow(ctx context.Context, plane revue.Plane, store revue.Store, human revue.Human) (*Follower, error) {
	f := &Follower{metrics: m, plane: plane, store: store, human: human, began: time.Now(), journals: map[string]*journal{}}
	all, err := plane.Admin(human).Workspaces(ctx)
	if err != nil {
		return nil, err
	}
	for _, ws := range all {
		head, err := f.head(ctx, ws.Name)
		if err != nil {
			return nil, err
		}
		f.journals[ws.Name] = f.journal(ws.Name, head)
	}
	m.mu.Lock()
	m.follower = f
	m.mu.Unlock()
	return f, nil
}

func (f *Follower) journal(workspace string, after revue.Seq) *journal {
	human := f.human
	human.Workspace = workspace
	return &journal{metrics: f.metrics, reviewer: f.plane.Reviewer(human), workspace: workspace, from: f.began.Add(-skew), seen: after, open: map[string]openLot{}}
}

func (f *Follower) head(ctx context.Context, workspace string) (revue.Seq, error) {
	var seq revue.Seq
	err := f.store.View(ctx, workspace, func(tx revue.Tx) error {
		head, err := tx.Head()
		seq = head.Seq
		return err
	})
	return seq, err
}

// Run follows the journals until ctx ends. A workspace that is made later is followed from its first event; what was
// imported with it happened before and is not counted. Run returns when all of it has stopped.
func (f *Follower) Run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, j := range f.list() {
		wg.Go(func() { j.run(ctx) })
	}
	tick := time.NewTicker(listEvery)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		all, err := f.plane.Admin(f.human).Workspaces(ctx)
		if err != nil {
			if !failing && ctx.Err() == nil {
				f.metrics.log.WarnContext(ctx, "the metrics don't see new workspaces for now", "err", err)
			}
			failing = true
			continue
		}
		failing = false
		for _, ws := range all {
			if j, made := f.follow(ws.Name); made {
				wg.Go(func() { j.run(ctx) })
			}
		}
	}
}

func (f *Follower) follow(workspace string) (j *journal, made bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if j, ok := f.journals[workspace]; ok {
		return j, false
	}
	j = f.journal(workspace, 0)
	f.journals[workspace] = j
	return j, true
}

func (f *Follower) list() []*journal {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]*journal, 0, len(f.journals))
	for _, j := range f.journals {
		out = append(out, j)
	}
	return out
}

// refresh brings up to date what is not counted as it happens. Where the store does not answer, the lag stays what it was.
func (f *Follower) refresh(ctx context.Context) {
	open := map[string]int{}
	for _, kind := range kindNames() {
		open[kind] = 0
	}
	lag, known := revue.Seq(0), true
	for _, j := range f.list() {
		j.tally(open)
		if known {
			head, err := f.head(ctx, j.workspace)
			known = err == nil
			lag += max(0, head-j.counted())
		}
	}
	for kind, n := range open {
		f.metrics.openLots.WithLabelValues(kind).Set(float64(n))
	}
	if known {
		f.metrics.journalLag.Set(float64(lag))
	}
}

// journal follows one workspace.
type journal struct {
	metrics   *Metrics
	reviewer  revue.Reviewer
	workspace string
	from      time.Time // what happened before is not counted

	mu      sync.Mutex
	seen    revue.Seq
	open    map[string]openLot // by id
	held    *revue.Event       // an ask that may turn out to have moved
	heldLot openLot
	heldAt  time.Time
}

// openLot is what is kept of a card that waits.
type openLot struct {
	kind string
	made time.Time
}

func (j *journal) at() revue.Seq {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.seen
}

// counted returns the last event that was counted, with all before it.
func (j *journal) counted() revue.Seq {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.held != nil { // it is the one seen last
		return j.seen - 1
	}
	return j.seen
}

// tally counts the open lots, and the ask that was held back long enough.
func (j *journal) tally(open map[string]int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, l := range j.open {
		open[l.kind]++
	}
	if j.held != nil && time.Since(j.heldAt) >= settle {
		j.release(true)
	}
}

// run follows the journal until ctx ends.
func (j *journal) run(ctx context.Context) {
	failing, pause := false, followRetry
	for {
		err := j.load(ctx)
		if err == nil {
			failing, pause = false, followRetry
			err = j.follow(ctx)
		}
		if ctx.Err() != nil {
			return
		}
		if !failing {
			j.metrics.log.WarnContext(ctx, "the metrics don't see what happens for now", "workspace", j.workspace, "err", err)
		}
		failing = true
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = min(2*pause, followSlowest)
	}
}

// load reads which lots are open. What happened since the last event seen comes again from the journal.
func (j *journal) load(ctx context.Context) error {
	open := map[string]openLot{}
	f := revue.LotFilter{Status: revue.StatusOpen, Limit: 1000}
	for {
		page, err := j.reviewer.Lots(ctx, f)
		if err != nil {
			return err
		}
		for _, l := range page.Items {
			open[l.ID] = openOf(l)
		}
		if f.Cursor = page.NextCursor; f.Cursor == "" {
			break
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.open = open
	return nil
}

func openOf(l revue.Lot) openLot {
	return openLot{kind: known(kindNames(), string(l.Kind)), made: l.CreatedAt}
}

func (j *journal) follow(ctx context.Context) error {
	for e, err := range j.reviewer.Events(ctx, j.at()) {
		if err != nil {
			return err
		}
		if e.At.Before(j.from) {
			j.skip(e)
			continue
		}
		lot, err := j.lotOf(ctx, e)
		if err != nil {
			return err
		}
		j.apply(e, lot)
	}
	return ctx.Err()
}

// lotOf returns the lot that an event is about, where it has to be known.
func (j *journal) lotOf(ctx context.Context, e revue.Event) (openLot, error) {
	switch e.Kind {
	case revue.EventLotOpened, revue.EventLotReopened, revue.EventLotAnswered, revue.EventLotDismissed, revue.EventLotExpired:
	default:
		return openLot{}, nil
	}
	j.mu.Lock()
	l, ok := j.open[e.Lot]
	j.mu.Unlock()
	if ok {
		return l, nil
	}
	lot, err := j.reviewer.Lot(ctx, e.Lot)
	if revue.CodeOf(err) == revue.CodeNotFound {
		return openLot{kind: other, made: e.At}, nil
	}
	return openOf(lot), err
}

// skip passes over an event of the past. The lots that are open since were loaded.
func (j *journal) skip(e revue.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seen = e.Seq
}

// apply counts one event.
func (j *journal) apply(e revue.Event, lot openLot) {
	j.mu.Lock()
	defer j.mu.Unlock()
	m := j.metrics
	j.seen = e.Seq
	if j.held != nil {
		j.release(e.Kind != revue.EventAskMoved || len(e.Asks) == 0 || e.Asks[0] != j.held.Asks[0])
	}
	asks := float64(len(e.Asks))
	switch e.Kind {
	case revue.EventLotOpened:
		m.lots.WithLabelValues(lot.kind, "opened").Inc()
		j.open[e.Lot] = lot
		j.hold(e, lot)
	case revue.EventAskJoined:
		lot, open := j.open[e.Lot]
		if !open { // a restarted agent takes up the answer that it never got
			lot.kind = string(revue.KindDecision)
			m.outcomes.WithLabelValues(string(revue.OutcomeAnswered)).Inc()
		}
		j.hold(e, lot)
	case revue.EventAskReused:
		m.asks.WithLabelValues(string(revue.KindDecision)).Inc()
		m.outcomes.WithLabelValues(string(revue.OutcomeReused)).Add(asks)
		m.saved.WithLabelValues("reused").Add(asks)
	case revue.EventLotAnswered:
		m.lots.WithLabelValues(lot.kind, "answered").Inc()
		m.outcomes.WithLabelValues(string(revue.OutcomeAnswered)).Add(asks)
		m.saved.WithLabelValues("grouped").Add(max(0, asks-1))
		m.toAnswer.WithLabelValues(lot.kind).Observe(max(0, e.At.Sub(lot.made).Seconds()))
		delete(j.open, e.Lot)
	case revue.EventLotDismissed:
		m.lots.WithLabelValues(lot.kind, "dismissed").Inc()
		m.outcomes.WithLabelValues(string(revue.OutcomeDismissed)).Add(asks)
		delete(j.open, e.Lot)
	case revue.EventLotExpired:
		m.lots.WithLabelValues(lot.kind, "expired").Inc()
		m.outcomes.WithLabelValues(string(revue.OutcomeExpired)).Add(asks)
		delete(j.open, e.Lot)
	case revue.EventLotReopened:
		m.lots.WithLabelValues(lot.kind, "reopened").Inc()
		j.open[e.Lot] = lot
	case revue.EventDecisionCorrected:
		verb := string(e.Verb)
		if verb == "" {
			verb = undoName
		}
		m.corrections.WithLabelValues(known(verbNames(), verb)).Inc()
	}
}

// hold keeps an ask back until the next event tells whether it is new or has moved from another lot. The mutex is held.
func (j *journal) hold(e revue.Event, lot openLot) {
	if len(e.Asks) > 0 {
		j.held, j.heldLot, j.heldAt = &e, lot, time.Now()
	}
}

// release counts the ask that was held back, where it is new. The mutex is held.
func (j *journal) release(isNew bool) {
	e, lot := j.held, j.heldLot
	j.held = nil
	if !isNew {
		return
	}
	j.metrics.asks.WithLabelValues(lot.kind).Inc()
	if e.Kind == revue.EventAskJoined && !lot.made.IsZero() {
		j.metrics.joined.Inc()
	}
}
