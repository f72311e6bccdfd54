package storagetest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/revuehq/revue"
)

func watching() []clause {
	return []clause{
		{
			name: "watch wakes all once it is in force", check: wakesAtStart,
			rule: "Watch calls wake(\"\") once watching is in force",
		},
		{
			name: "watch wakes after each commit", check: func(e *env) error { s := e.open(); return wakes(e, s, s) },
			rule: "Watch calls wake with the workspace after each commit; lost wakes are not fine",
		},
		{
			name: "watch wakes after each commit of another handle", needs: "Place",
			check: func(e *env) error { open := e.place(); return wakes(e, open(), open()) },
			rule:  "Watch calls wake with the workspace after each commit, of this process or another",
		},
		{
			name: "watch misses nothing in a burst", check: burst,
			rule: "Watch calls wake with the workspace after each commit; lost wakes are not fine",
		},
		{
			name: "watch misses nothing while it starts", check: startRace,
			rule: "Watch calls wake(\"\") once watching is in force: what was committed before is read then, what comes after wakes",
		},
		{
			name: "several watches are all woken", check: severalWatches,
			rule: "several Watch calls may run at the same time",
		},
		{
			name: "watch ends with its context", check: watchEnds,
			rule: "Watch blocks until ctx ends",
		},
	}
}

// watch is one running Watch. Its reader reacts as the desk does: it looks at what is there each time it
// is woken, and only then.
type watch struct {
	e     *env
	store revue.Store

	mu     sync.Mutex
	woken  int
	due    map[string]bool // what was woken for and not looked at
	wakes  chan struct{}   // one slot: there is something to look at
	once   sync.Once
	begun  chan struct{} // closed at the first wake("")
	ended  chan error
	cancel context.CancelFunc
}

func (e *env) watch(s revue.Store) *watch {
	ctx, cancel := context.WithCancel(e.ctx())
	w := &watch{
		e: e, store: s, due: map[string]bool{}, cancel: cancel,
		wakes: make(chan struct{}, 1), begun: make(chan struct{}), ended: make(chan error, 1),
	}
	e.t.Cleanup(cancel)
	go func() { w.ended <- s.Watch(ctx, w.wake) }()
	return w
}

func (w *watch) wake(workspace string) {
	w.mu.Lock()
	w.woken++
	w.due[workspace] = true
	w.mu.Unlock()
	if workspace == "" {
		w.once.Do(func() { close(w.begun) })
	}
	select {
	case w.wakes <- struct{}{}:
	default:
	}
}

// start waits until watching is in force.
func (w *watch) start() error {
	select {
	case <-w.begun:
		return nil
	case err := <-w.ended:
		return fmt.Errorf("Watch returned %w instead of blocking", errOr(err))
	case <-time.After(w.e.patience):
		return fmt.Errorf("Watch did not call wake(\"\") within %v", w.e.patience)
	}
}

// take reports whether a wake for the workspace, or for all, came since the last call.
func (w *watch) take(workspace string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	due := w.due[workspace] || w.due[""]
	clear(w.due)
	return due
}

// until waits for wakes of the workspace, and after each looks whether the record has the value.
func (w *watch) until(workspace, k, want string) error {
	deadline := time.After(w.e.patience)
	got := "not looked at: no wake came"
	for {
		select {
		case <-w.wakes:
		case err := <-w.ended:
			return fmt.Errorf("Watch returned %w instead of blocking", errOr(err))
		case <-deadline:
			return fmt.Errorf("a commit set a record to %q; no wake came after it within %v (when last woken for the workspace the record was %s)", want, w.e.patience, got)
		}
		if !w.take(workspace) {
			continue
		}
		var err error
		if got, err = w.e.get(w.store, workspace, k); err != nil {
			return err
		}
		if got == want {
			return nil
		}
	}
}

func wakesAtStart(e *env) error { return e.watch(e.open()).start() }

func wakes(e *env, watched, written revue.Store) error {
	w := e.watch(watched)
	if err := w.start(); err != nil {
		return err
	}
	for i := range 30 {
		ws := "ws" + strconv.Itoa(i%3)
		v := strconv.Itoa(i)
		done := make(chan error, 1)
		go func() { done <- e.put(written, ws, "k", v) }() // beside it: a wake before the commit is none
		if err := first(
			func() error { return w.until(ws, "k", v) },
			func() error { return e.await("Update", done) },
		); err != nil {
			return err
		}
	}
	return nil
}

func burst(e *env) error {
	s := e.open()
	w := e.watch(s)
	if err := w.start(); err != nil {
		return err
	}
	for round := range 5 {
		failed := make(chan error, 1)
		last := strconv.Itoa(round*40 + 39)
		go func() {
			for i := range 40 {
				if err := e.put(s, "ws", "k", strconv.Itoa(round*40+i)); err != nil {
					failed <- err
					return
				}
			}
			failed <- nil
		}()
		if err := first(
			func() error { return w.until("ws", "k", last) },
			func() error { return e.await("the Updates of a burst", failed) },
		); err != nil {
			return err
		}
	}
	return nil
}

func startRace(e *env) error {
	s := e.open()
	for i := range 40 {
		v := strconv.Itoa(i)
		written := make(chan error, 1)
		w := e.watch(s)
		go func() { written <- e.put(s, "ws", "k", v) }()
		if err := first(
			func() error { return w.until("ws", "k", v) },
			func() error { return e.await("Update", written) },
		); err != nil {
			return fmt.Errorf("a commit beside the start of Watch: %w", err)
		}
		w.cancel()
		if err := w.end(); err != nil {
			return err
		}
	}
	return nil
}

func severalWatches(e *env) error {
	s := e.open()
	var all []*watch
	for range 3 {
		w := e.watch(s)
		if err := w.start(); err != nil {
			return err
		}
		all = append(all, w)
	}
	for i := range 10 {
		if i == 5 { // one that ends takes none of the others with it
			all[0].cancel()
			if err := all[0].end(); err != nil {
				return err
			}
			all = all[1:]
		}
		if err := e.put(s, "ws", "k", strconv.Itoa(i)); err != nil {
			return err
		}
		for n, w := range all {
			if err := w.until("ws", "k", strconv.Itoa(i)); err != nil {
				return fmt.Errorf("watch %d of %d: %w", n+1, len(all), err)
			}
		}
	}
	return nil
}

// end waits for Watch to return after its context ended.
func (w *watch) end() error {
	select {
	case err := <-w.ended:
		if err != nil && !errors.Is(err, context.Canceled) {
			return fmt.Errorf("the context of Watch ended and it returned %w", err)
		}
		return nil
	case <-time.After(w.e.patience):
		return fmt.Errorf("the context of Watch ended and it did not return within %v", w.e.patience)
	}
}

func watchEnds(e *env) error {
	s := e.open()
	w := e.watch(s)
	if err := w.start(); err != nil {
		return err
	}
	w.cancel()
	if err := w.end(); err != nil {
		return err
	}
	// A wake after Watch has returned would reach a caller that is gone.
	w.mu.Lock()
	before := w.woken
	w.mu.Unlock()
	if err := e.put(s, "ws", "k", "v"); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.woken != before {
		return errors.New("Watch called wake after it had returned")
	}
	return nil
}

func closing() []clause {
	return []clause{
		{
			name: "a closed store is unavailable", check: closed,
			rule: "Close releases the store; later calls fail with CodeUnavailable",
		},
		{
			name: "close ends a watch", check: closeEndsWatch,
			rule: "Watch returns an error when it can't go on",
		},
	}
}

func closed(e *env) error {
	s := e.open()
	if err := e.put(s, "ws", "k", "v"); err != nil {
		return err
	}
	if err := e.soon("Close", s.Close); err != nil {
		return fmt.Errorf("Close: %w", err)
	}
	ran := false
	fn := func(revue.Tx) error { ran = true; return nil }
	for what, call := range map[string]func() error{
		"View":   func() error { return s.View(e.ctx(), "ws", fn) },
		"Update": func() error { return s.Update(e.ctx(), "ws", fn) },
		"Watch":  func() error { return s.Watch(e.ctx(), func(string) {}) },
	} {
		if err := e.soon(what+" after Close", call); revue.CodeOf(err) != revue.CodeUnavailable {
			return fmt.Errorf("%s after Close returned %#v, whose code is %q", what, err, revue.CodeOf(err))
		}
	}
	if ran {
		return errors.New("a transaction ran after Close")
	}
	return nil
}

func closeEndsWatch(e *env) error {
	s := e.open()
	w := e.watch(s)
	if err := w.start(); err != nil {
		return err
	}
	if err := e.soon("Close beside a Watch", s.Close); err != nil {
		return fmt.Errorf("Close: %w", err)
	}
	select {
	case err := <-w.ended:
		if err == nil {
			return errors.New("the store was closed and Watch returned nil")
		}
		return nil
	case <-time.After(e.patience):
		return fmt.Errorf("the store was closed and Watch did not return within %v", e.patience)
	}
}
