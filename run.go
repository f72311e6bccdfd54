package revue

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Intervals of background work.
const (
	safetyEvery = 3 * time.Second // re-read of the journals that something waits on
	watchRetry  = 50 * time.Millisecond
	watchSlow   = 5 * time.Second  // the longest pause between two tries to watch
	sweepIdle   = 30 * time.Second // between two sweeps when nothing happens
	tidyEvery   = time.Hour
	sweepGap    = 200 * time.Millisecond
)

// Run does the background work until ctx ends: it wakes waits when another process commits, settles what has
// expired, and tells the notifiers. It returns nil when ctx has ended and all of it has stopped. One
// Run a desk.
func (d *Desk) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	scan := newScanner(d)
	g.Go(func() error { d.watch(ctx, scan); return nil })
	g.Go(func() error { scan.run(ctx); return nil })
	g.Go(func() error { d.sweep(ctx); return nil })
	for name, n := range d.notifiers {
		g.Go(func() error { newDispatch(d, name, n).run(ctx); return nil })
	}
	return g.Wait()
}

// watch keeps the store's Watch going, and wakes everything each time it has to be started again.
func (d *Desk) watch(ctx context.Context, scan *scanner) {
	pause := watchRetry
	for ctx.Err() == nil {
		var once sync.Once
		inForce := false
		err := d.store.Watch(ctx, func(workspace string) {
			once.Do(func() { d.watching.Add(1); inForce = true })
			scan.wake(workspace)
		})
		once.Do(func() {}) // no wake comes after Watch returned
		if inForce {
			d.watching.Add(-1)
			pause = watchRetry
		}
		d.waiters.signalAll("") // to poll from here on
		if ctx.Err() != nil {
			return
		}
		d.log.ErrorContext(ctx, "watching the store failed; waits poll until it is back", "err", err)
		if sleep(ctx, pause+rand.N(pause)) != nil { //nolint:gosec // jitter
			return
		}
		pause = min(2*pause, watchSlow)
	}
}

// sleep waits for a time or for the end of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// scanner turns wakes into signals: it reads the journal of a workspace once for all wakes that came
// meanwhile, and signals those who wait for the lots named there.
type scanner struct {
	desk  *Desk
	ready chan struct{}
	mu    sync.Mutex
	dirty map[string]bool // "" is all
	read  map[string]Seq  // how far each journal was read; only in run
	said  map[string]bool // workspaces that were said to be half imported; only in run
}

func newScanner(d *Desk) *scanner {
	return &scanner{desk: d, ready: make(chan struct{}, 1), dirty: map[string]bool{}, read: map[string]Seq{}, said: map[string]bool{}}
}

// wake notes that a workspace may have changed. It returns at once.
func (s *scanner) wake(workspace string) {
	s.mu.Lock()
	s.dirty[workspace] = true
	s.mu.Unlock()
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

func (s *scanner) run(ctx context.Context) {
	tick := time.NewTicker(safetyEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			for _, ws := range s.desk.waiters.places() {
				s.scan(ctx, ws)
			}
		case <-s.ready:
			s.mu.Lock()
			dirty := s.dirty
			s.dirty = map[string]bool{}
			s.mu.Unlock()
			if dirty[""] {
				s.desk.waiters.signalAll("")
				delete(dirty, "")
			}
			for ws := range dirty {
				s.scan(ctx, ws)
			}
		}
	}
}

// scan signals what the journal says has changed since the last scan. On the first one, and when the
// journal can't be read, it signals everything in the workspace.
func (s *scanner) scan(ctx context.Context, workspace string) {
	after, known := s.read[workspace]
	for {
		var events []Event
		var head Event
		err := s.desk.view(ctx, workspace, func(t *tx) (err error) {
			if head, err = t.Head(); err != nil || !known || head.Seq <= after {
				return err
			}
			events, err = t.Events(after, 1000)
			return err
		})
		half := errors.Is(err, errHalfImported)
		told := half && s.said[workspace]
		if half {
			s.said[workspace] = true
		} else if err == nil {
			delete(s.said, workspace)
		}
		switch {
		case err != nil:
			if ctx.Err() == nil && !told { // an import wakes often, and is slow
				s.desk.log.ErrorContext(ctx, "the journal can't be read; everything that waits looks for itself", "workspace", workspace, "err", err)
			}
			s.desk.waiters.signalAll(workspace)
			return
		case !known || head.Seq < after: // never read, or restored from a copy
			s.read[workspace] = head.Seq
			s.desk.waiters.signalAll(workspace)
			return
		case len(events) == 0:
			return
		}
		s.desk.waiters.signal(workspace, events)
		after = events[len(events)-1].Seq
		s.read[workspace] = after
	}
}

// sweep settles expired approvals on time, so that the journal and the notifiers hear of them even when
// nobody waits.
func (d *Desk) sweep(ctx context.Context) {
	w := d.waiters.add(topic{})
	defer d.waiters.remove(topic{}, w)
	var tidied time.Time
	for {
		next := sweepIdle
		all, err := d.workspaces(ctx)
		tidy := time.Since(tidied) > tidyEvery
		if tidy {
			tidied = time.Now()
		}
		if err == nil && tidy {
			if err = d.forgetCalls(ctx, ""); err == nil {
				err = d.forgetSignIns(ctx)
			}
		}
		for _, ws := range all {
			if err != nil {
				break
			}
			var in time.Duration
			if in, err = d.sweepOne(ctx, ws.Name); in > 0 {
				next = min(next, in)
			}
			if err == nil && tidy {
				err = d.forgetCalls(ctx, ws.Name)
			}
			if errors.Is(err, errHalfImported) {
				err = nil // it waits for its import, the others do not
			}
		}
		if err != nil && ctx.Err() == nil {
			d.log.ErrorContext(ctx, "expired approvals can't be settled; trying again", "err", err)
			next = watchSlow
		}
		// A busy plane is swept a few times a second, not once a commit.
		if sleep(ctx, sweepGap) != nil {
			return
		}
		timer := time.NewTimer(next)
		select {
		case <-w.ch:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// sweepOne settles a workspace and returns when its next approval expires, 0 for none.
func (d *Desk) sweepOne(ctx context.Context, workspace string) (time.Duration, error) {
	var next time.Duration
	due := false
	err := d.view(ctx, workspace, func(t *tx) error {
		next, due = 0, false
		open, err := t.FindLots(LotQuery{Status: StatusOpen, Kind: KindApproval, ExpiresBefore: t.now.Add(sweepIdle)})
		for _, lot := range open {
			if in := lot.ExpiresAt.Sub(t.now); in <= 0 {
				due = true
			} else if next == 0 || in < next {
				next = in
			}
		}
		return err
	})
	if err == nil && due {
		err = d.update(ctx, workspace, func(*tx) error { return nil })
	}
	return next, err
}

// dispatch tells one notifier what happens, in the order of each workspace's journal.
type dispatch struct {
	desk     *Desk
	name     string
	notifier Notifier
	owner    string               // this dispatch among those of other processes
	retry    map[string]time.Time // when to try a workspace again
	failures map[string]int
	seen     map[string]Seq  // read so far and found to hold no notice
	leased   map[string]bool // where this dispatch is the one that sends
}

func newDispatch(d *Desk, name string, n Notifier) *dispatch {
	return &dispatch{
		desk: d, name: name, notifier: n, owner: newID(""),
		retry: map[string]time.Time{}, failures: map[string]int{}, seen: map[string]Seq{}, leased: map[string]bool{},
	}
}

// Bounds of dispatch.
const (
	notifyWithin  = 30 * time.Second // one call of a notifier
	leaseFor      = time.Minute      // how long one process keeps the others from sending
	notifyRetry   = time.Second
	notifySlowest = time.Minute
)

// notifierCursor is where a notifier is in a workspace's journal, and which process sends.
type notifierCursor struct {
	Seq   Seq       `json:"seq"`
	Old   Seq       `json:"old,omitempty"` // up to here the journal is older than the notifier
	Owner string    `json:"owner,omitempty"`
	Until time.Time `json:"until,omitzero"`
}

func (n *dispatch) run(ctx context.Context) {
	w := n.desk.waiters.add(topic{})
	defer n.desk.waiters.remove(topic{}, w)
	defer n.release(context.WithoutCancel(ctx))
	started := false
	for ctx.Err() == nil {
		next := sweepIdle
		all, err := n.desk.workspaces(ctx)
		if err == nil && !started {
			err = n.start(ctx, all)
			started = err == nil
		}
		if err != nil && ctx.Err() == nil {
			n.desk.log.ErrorContext(ctx, "notices can't be read; trying again", "notifier", n.name, "err", err)
			next, all = notifyRetry, nil
		}
		for _, ws := range all {
			if wait := time.Until(n.retry[ws.Name]); wait > 0 {
				next = min(next, wait)
				continue
			}
			if wait := n.workspace(ctx, ws.Name); wait > 0 {
				n.retry[ws.Name] = time.Now().Add(wait)
				next = min(next, wait)
			}
		}
		timer := time.NewTimer(next)
		select {
		case <-w.ch:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// workspace sends what a workspace has to tell. It returns how long to wait before it is tried again, 0
// when all is sent.
func (n *dispatch) workspace(ctx context.Context, workspace string) time.Duration {
	for {
		e, ok, err := n.next(ctx, workspace)
		if errors.Is(err, errHalfImported) {
			return sweepIdle
		}
		var held time.Duration
		if err == nil && ok {
			held, err = n.send(ctx, workspace, e)
		}
		if err != nil {
			if ctx.Err() != nil {
				return 0
			}
			n.failures[workspace]++
			n.desk.log.WarnContext(ctx, "a notice was not delivered; it will be tried again",
				"notifier", n.name, "workspace", workspace, "tries", n.failures[workspace], "err", err)
			wait := min(notifyRetry<<min(n.failures[workspace]-1, 10), notifySlowest)
			return wait/2 + rand.N(wait/2) //nolint:gosec // jitter
		}
		delete(n.failures, workspace)
		if held > 0 || !ok {
			return held
		}
	}
}

// noticeOf says which notice an event makes, if any.
func noticeOf(k EventKind) (NoticeKind, bool) {
	switch k {
	case EventLotOpened:
		return NoticeAsked, true
	case EventLotAnswered:
		return NoticeAnswered, true
	case EventLotDismissed:
		return NoticeDismissed, true
	case EventLotExpired:
		return NoticeExpired, true
	case EventLotReopened:
		return NoticeReopened, true
	default:
		return "", false
	}
}

// next finds the first event after the notifier's cursor that makes a notice.
func (n *dispatch) next(ctx context.Context, workspace string) (found Event, ok bool, err error) {
	err = n.desk.view(ctx, workspace, func(t *tx) error {
		ok = false
		cur, err := n.cursor(t)
		if err != nil {
			return err
		}
		head, err := t.Head()
		if err != nil {
			return err
		}
		if n.seen[workspace] > head.Seq {
			n.seen[workspace] = 0 // the store was put back from a copy
		}
		after := max(cur.Seq, n.seen[workspace])
		for {
			events, err := t.Events(after, 500)
			if err != nil || len(events) == 0 {
				n.seen[workspace] = after
				return err
			}
			for _, e := range events {
				tells, err := t.tells(e, cur)
				if err != nil {
					return err
				}
				if tells {
					found, ok = e, true
					return nil
				}
				after = e.Seq
			}
		}
	})
	return found, ok, err
}

// tells reports whether an event makes a notice for a notifier. Of what happened before there was this notifier it
// is told of the lots that still wait, and of nothing else.
func (t *tx) tells(e Event, cur notifierCursor) (bool, error) {
	kind, is := noticeOf(e.Kind)
	if !is || e.Seq > cur.Old {
		return is, nil
	}
	if kind != NoticeAsked {
		return false, nil
	}
	lot, err := t.Lot(e.Lot)
	return lot.At(t.now).Status == StatusOpen, err
}

// start writes down where a notifier begins that is new to workspaces that have a history: with the oldest
// lot that still waits for a human. In a workspace made later it begins with the first event.
func (n *dispatch) start(ctx context.Context, all []Workspace) error {
	for _, ws := range all {
		err := n.desk.update(ctx, ws.Name, func(t *tx) error {
			_, err := t.Record(recordNotifier, n.name)
			if !errors.Is(err, ErrNotFound) {
				return err
			}
			open, err := t.FindLots(LotQuery{Status: StatusOpen, Limit: 1})
			if err != nil {
				return err
			}
			head, err := t.Head()
			if err != nil {
				return err
			}
			cur := notifierCursor{Seq: head.Seq}
			if len(open) == 1 {
				cur.Seq, cur.Old = open[0].Seq-1, head.Seq
			}
			return putJSON(t, recordNotifier, n.name, cur)
		})
		if err != nil && !errors.Is(err, errHalfImported) {
			return err
		}
	}
	return nil
}

// cursor reads where the notifier is. What was imported is older than the notifier.
func (n *dispatch) cursor(t *tx) (notifierCursor, error) {
	var cur notifierCursor
	err := readJSON(t, recordNotifier, n.name, &cur)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return cur, err
	}
	mark, _, err := readImportMark(t)
	cur.Old = max(cur.Old, mark.Head.Seq)
	return cur, err
}

// send hands one notice to the notifier, if no other process does, and moves the cursor when it was taken.
// It returns how long another process keeps the right to send, 0 where this one has it.
func (n *dispatch) send(ctx context.Context, workspace string, e Event) (held time.Duration, err error) {
	var notice Notice
	taken := false
	err = n.desk.update(ctx, workspace, func(t *tx) error {
		held, taken = 0, false
		cur, err := n.cursor(t)
		if err != nil {
			return err
		}
		if cur.Seq >= e.Seq {
			return nil // another process sent it
		}
		if cur.Owner != "" && cur.Owner != n.owner && t.now.Before(cur.Until) {
			held = cur.Until.Sub(t.now)
			return nil
		}
		kind, _ := noticeOf(e.Kind)
		lot, err := t.whole(e.Lot)
		if err != nil {
			return err
		}
		muted, err := t.muted(lot.Stream)
		if err != nil {
			return err
		}
		if muted {
			cur.Seq = e.Seq
			return putJSON(t, recordNotifier, n.name, cur)
		}
		taken = true
		notice = Notice{ID: "ntc_" + e.Hash[:26], Kind: kind, Workspace: workspace, Seq: e.Seq, Lot: lot, At: e.At}
		cur.Owner, cur.Until = n.owner, t.now.Add(leaseFor)
		return putJSON(t, recordNotifier, n.name, cur)
	})
	if err != nil || !taken {
		return held, err
	}
	n.leased[workspace] = true
	if err := n.notify(ctx, notice); err != nil {
		return 0, err
	}
	// It was sent: that is noted even when this process is about to stop.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), watchSlow)
	defer cancel()
	return 0, n.desk.update(ctx, workspace, func(t *tx) error {
		cur, err := n.cursor(t)
		if err != nil {
			return err
		}
		cur.Seq, cur.Owner, cur.Until = max(cur.Seq, e.Seq), n.owner, t.now.Add(leaseFor)
		return putJSON(t, recordNotifier, n.name, cur)
	})
}

// release lets other processes send at once when this one stops.
func (n *dispatch) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, watchSlow)
	defer cancel()
	for ws := range n.leased {
		err := n.desk.update(ctx, ws, func(t *tx) error {
			cur, err := n.cursor(t)
			if err != nil || cur.Owner != n.owner {
				return err
			}
			cur.Owner, cur.Until = "", time.Time{}
			return putJSON(t, recordNotifier, n.name, cur)
		})
		if err != nil {
			n.desk.log.WarnContext(ctx, "the right to send notices was not handed on; others wait a minute", "notifier", n.name, "err", err)
		}
	}
}

func (n *dispatch) notify(ctx context.Context, notice Notice) error {
	ctx, cancel := context.WithTimeout(ctx, notifyWithin)
	defer cancel()
	return n.notifier.Notify(ctx, notice)
}
