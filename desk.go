package revue

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Options tune a [Desk]. The zero value of each field is its default.
type Options struct {
	// Notifiers are told of what happens, at least once for each notice, while Run runs. The name
	// keys the notifier's durable cursor: keep it stable.
	Notifiers map[string]Notifier
	// Log receives what can't be returned to anyone: failures of background work. Default: discarded.
	Log *slog.Logger
}

// Desk is the one implementation of what asking, grouping, waiting, remembering and correcting mean. It is a
// [Plane]. It keeps nothing that a restart would lose: every answer is committed before anyone
// hears of it. All methods are safe for concurrent use, and several desks, in one process or many,
// may share a store.
type Desk struct {
	store     Store
	memory    Memory
	notifiers map[string]Notifier
	log       *slog.Logger
	waiters   *waiters
	returns   returns
	open      openLots
	keys      atomic.Pointer[keyring]
	used      sync.Map      // by token: when its use was last noted
	known     sync.Map      // workspaces, and streams of workspaces, that are known to be listed
	draining  chan struct{} // closed by Drain
	drainOnce sync.Once
	watching  atomic.Int32 // how many Watch calls are in force
}

// New returns a desk over a store and a memory. Call Run to have waits woken by other processes, notices
// sent and expiries settled on time; without it waits look at the store once a second. Both a store and a
// memory are required: New panics without.
func New(store Store, memory Memory, opts *Options) *Desk {
	if store == nil || memory == nil {
		panic("revue.New: a store and a memory are required")
	}
	if opts == nil {
		opts = &Options{}
	}
	d := &Desk{
		store:     store,
		memory:    memory,
		notifiers: opts.Notifiers,
		log:       opts.Log,
		waiters:   newWaiters(),
		draining:  make(chan struct{}),
	}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	return d
}

// Decider binds an agent.
func (d *Desk) Decider(a Agent) Decider { return &decider{desk: d, agent: a} }

// Reviewer binds a human.
func (d *Desk) Reviewer(h Human) Reviewer { return &reviewer{desk: d, human: h} }

// Admin binds a human to the plane itself.
func (d *Desk) Admin(h Human) Admin { return &admin{desk: d, human: h} }

// Drain makes every parked call return pending, and every later call return without waiting. It is for
// a server that is about to stop: nothing asked is changed, and the callers take it up again.
func (d *Desk) Drain() { d.drainOnce.Do(func() { close(d.draining) }) }

// Parked returns how many calls are waiting for a human in this desk now.
func (d *Desk) Parked() int { return d.waiters.parked() }

func (d *Desk) drained() bool {
	select {
	case <-d.draining:
		return true
	default:
		return false
	}
}

// tx is one run of a transaction: the store's Tx, its one time, and the journal it is writing.
type tx struct {
	Tx
	workspace string
	now       time.Time
	ids       *ids
	head      *Event
	events    []Event
	asked     map[string]bool // by key: see askedBefore
}

// headEvent is the last event, as this transaction has it.
func (t *tx) headEvent() (Event, error) {
	if t.head == nil {
		head, err := t.Head()
		if err != nil {
			return Event{}, err
		}
		t.head = &head
	}
	return *t.head, nil
}

// append adds an event to the journal.
func (t *tx) append(e Event) (Event, error) {
	head, err := t.headEvent()
	if err != nil {
		return e, err
	}
	e = e.chained(head, t.now)
	if err := t.Append(e); err != nil {
		return e, err
	}
	t.head = &e
	t.events = append(t.events, e)
	return e, nil
}

func (d *Desk) view(ctx context.Context, workspace string, fn func(*tx) error) error {
	return d.store.View(ctx, workspace, func(s Tx) error {
		if err := whole(s, workspace); err != nil {
			return err
		}
		return fn(&tx{Tx: s, workspace: workspace, now: s.Now()})
	})
}

// update runs one transaction and, once it is committed, tells those who wait for what it changed.
func (d *Desk) update(ctx context.Context, workspace string, fn func(*tx) error) error {
	var made ids
	var events []Event
	err := d.store.Update(ctx, workspace, func(s Tx) error {
		made.rewind()
		events = nil
		t := &tx{Tx: s, workspace: workspace, now: s.Now(), ids: &made}
		if err := whole(s, workspace); err != nil {
			return err
		}
		if err := t.settleExpired(); err != nil {
			return err
		}
		if err := fn(t); err != nil {
			return err
		}
		events = t.events
		return nil
	})
	if err == nil && len(events) > 0 {
		d.waiters.signal(workspace, events)
	}
	return err
}

// settleExpired writes down what has expired, so that no transaction sees a state that reads already
// call expired.
func (t *tx) settleExpired() error {
	if t.workspace == "" {
		return nil
	}
	due, err := t.FindLots(LotQuery{Status: StatusOpen, ExpiresBefore: t.now})
	if err != nil {
		return err
	}
	for _, lot := range due {
		lot, ok := lot.expire(t.now)
		if !ok {
			continue
		}
		asks, err := t.FindAsks(AskQuery{Lot: lot.ID})
		if err != nil {
			return err
		}
		who := Who{Name: "revue", Via: "expiry"}
		e, err := t.append(Event{Kind: EventLotExpired, Lot: lot.ID, Asks: askIDs(asks), Via: who.Via, Digest: lot.digest()})
		if err != nil {
			return err
		}
		lot, err = t.receipt(lot, e, Receipt{Kind: "expired", DecidedBy: who, At: lot.ExpiresAt})
		if err != nil {
			return err
		}
		if err := t.PutLot(lot); err != nil {
			return err
		}
	}
	return nil
}

// list makes sure that the workspace is listed, so that background work finds it.
func (d *Desk) list(ctx context.Context, workspace string) error {
	if _, ok := d.known.Load(workspace); ok {
		return nil
	}
	err := d.update(ctx, "", func(t *tx) error {
		_, err := t.ensureWorkspace(workspace, t.ids.new("ws_"))
		return err
	})
	if err == nil {
		d.known.Store(workspace, true)
	}
	return err
}

func askIDs(asks []AskRecord) []string {
	out := make([]string, len(asks))
	for i, a := range asks {
		out[i] = a.ID
	}
	return out
}

// notFound makes the store's ErrNotFound one that can be shown.
func notFound(err error, id, what string) error {
	if errors.Is(err, ErrNotFound) {
		return &Error{Code: CodeNotFound, ID: id, Message: "there is no " + what + " " + clip(id, 80) + " in this workspace"}
	}
	return err
}

// clip shortens what a caller sent before it is repeated to them.
func clip(s string, limit int) string {
	if !shownWhole(s) || badText(s) != "" {
		return "of that name"
	}
	if len(s) > limit {
		return strings.ToValidUTF8(s[:limit], "") + "…"
	}
	return s
}

// source is the window of a workspace that a Memory reads through.
type source struct {
	desk      *Desk
	workspace string
}

func (s source) Workspace() string { return s.workspace }

func (s source) View(ctx context.Context, fn func(Snapshot) error) error {
	return s.desk.view(ctx, s.workspace, func(t *tx) error { return fn(t) })
}
