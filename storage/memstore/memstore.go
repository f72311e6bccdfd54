// Package memstore keeps everything in memory: a [revue.Store] for tests, for examples and for planes
// that may forget.
//
//	store := memstore.New(nil)
//	defer store.Close()
//	desk := revue.New(store, memory, nil)
//
// Each Update works on a copy of its workspace that shares what it doesn't change, and puts the copy in
// place when it commits. So a View is a snapshot that blocks nobody and that nobody blocks, and Updates
// of different workspaces run side by side. What is put is copied in and what is read is copied out: a
// caller may do with either what it likes.
//
// The store uses no goroutine of its own and no clock but the one in [Options], so it works inside a
// testing/synctest bubble.
package memstore

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/stored"
)

// Options configures a [Store]. Nil and the zero value are the defaults.
type Options struct {
	// Now is the clock; default time.Now. Transactions see it cut to microseconds, and never see it
	// run backwards.
	Now func() time.Time
}

// Store is a [revue.Store] in memory. It is safe for concurrent use.
type Store struct {
	now    func() time.Time
	closed chan struct{}

	mu       sync.Mutex
	spaces   map[string]*space
	watchers map[*watcher]bool
	shut     bool
}

var _ revue.Store = (*Store)(nil)

// space is one workspace.
type space struct {
	writer chan struct{} // holds a token while an Update runs; a channel, so that waiting ends with a context
	state  atomic.Pointer[state]
}

// New returns an empty store.
func New(opts *Options) *Store {
	s := &Store{
		now:      time.Now,
		closed:   make(chan struct{}),
		spaces:   map[string]*space{},
		watchers: map[*watcher]bool{},
	}
	if opts != nil && opts.Now != nil {
		s.now = opts.Now
	}
	return s
}

func errClosed() error {
	return &revue.Error{Code: revue.CodeUnavailable, Message: "the store is closed"}
}

func (s *Store) space(name string) (*space, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return nil, errClosed()
	}
	sp := s.spaces[name]
	if sp == nil {
		sp = &space{writer: make(chan struct{}, 1)}
		sp.state.Store(&state{})
		s.spaces[name] = sp
	}
	return sp, nil
}

// View implements [revue.Store].
func (s *Store) View(ctx context.Context, workspace string, fn func(revue.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	sp, err := s.space(workspace)
	if err != nil {
		return err
	}
	t := &tx{state: *sp.state.Load(), view: true}
	t.stamp(s.now())
	defer t.end()
	return fn(t)
}

// Update implements [revue.Store].
func (s *Store) Update(ctx context.Context, workspace string, fn func(revue.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	sp, err := s.space(workspace)
	if err != nil {
		return err
	}
	select {
	case sp.writer <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.closed:
		return errClosed()
	}
	defer func() { <-sp.writer }()

	t := &tx{state: *sp.state.Load()}
	t.stamp(s.now())
	defer t.end()
	if err := fn(t); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return errClosed()
	}
	committed := t.state
	sp.state.Store(&committed)
	for w := range s.watchers {
		w.note(workspace)
	}
	return nil
}

// watcher collects the workspaces that one Watch has to wake.
type watcher struct {
	mu      sync.Mutex
	changed map[string]bool
	ready   chan struct{}
}

func (w *watcher) note(workspace string) {
	w.mu.Lock()
	w.changed[workspace] = true
	w.mu.Unlock()
	select {
	case w.ready <- struct{}{}:
	default:
	}
}

func (w *watcher) take() map[string]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	changed := w.changed
	w.changed = map[string]bool{}
	return changed
}

// Watch implements [revue.Store]. It returns ctx.Err() when ctx ends, and CodeUnavailable when the store
// is closed.
func (s *Store) Watch(ctx context.Context, wake func(workspace string)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w := &watcher{changed: map[string]bool{}, ready: make(chan struct{}, 1)}
	s.mu.Lock()
	if s.shut {
		s.mu.Unlock()
		return errClosed()
	}
	s.watchers[w] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.watchers, w)
		s.mu.Unlock()
	}()

	wake("")
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.closed:
			return errClosed()
		case <-w.ready:
			for name := range w.take() {
				wake(name)
			}
		}
	}
}

// Close implements [revue.Store]. What was stored is gone.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.shut {
		s.shut = true
		s.spaces = nil
		close(s.closed)
	}
	return nil
}

// stamp sets the time of the transaction: the later of the clock and the last one's.
func (t *tx) stamp(now time.Time) {
	if now = stored.Time(now); now.After(t.last) {
		t.last = now
	}
}
