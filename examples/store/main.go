// Command store puts a store of its own under a plane: one that measures another.
//
// A store is four methods, so what is true of any store fits around it: measuring, tracing, limiting. This one
// counts transactions and times them, and leaves the rest to the store in it.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/memory"
	"github.com/revuehq/revue/storage/memstore"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Measured is a store that measures the store in it. Watch and Close are those of that store.
type Measured struct {
	revue.Store

	mu    sync.Mutex
	stats Stats
}

// Stats is what was measured so far.
type Stats struct {
	Views, Updates int           // transactions that ended well
	Failed         int           // transactions that did not
	Slowest        time.Duration // the longest transaction
}

// Stats returns what was measured so far.
func (m *Measured) Stats() Stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stats
}

// View reads.
func (m *Measured) View(ctx context.Context, workspace string, fn func(revue.Tx) error) error {
	began := time.Now()
	err := m.Store.View(ctx, workspace, fn)
	m.note(time.Since(began), err, func(s *Stats) { s.Views++ })
	return err
}

// Update writes.
func (m *Measured) Update(ctx context.Context, workspace string, fn func(revue.Tx) error) error {
	began := time.Now()
	err := m.Store.Update(ctx, workspace, fn)
	m.note(time.Since(began), err, func(s *Stats) { s.Updates++ })
	return err
}

func (m *Measured) note(took time.Duration, err error, count func(*Stats)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		m.stats.Failed++
	} else {
		count(&m.stats)
	}
	m.stats.Slowest = max(m.stats.Slowest, took)
}

// run asks and answers one question, and prints what that took.
func run(ctx context.Context, out io.Writer) error {
	store := &Measured{Store: memstore.New(nil)}
	defer store.Close() //nolint:errcheck // it is memory
	desk := revue.New(store, memory.New(nil), nil)

	agent := desk.Decider(revue.Agent{Workspace: "demo", Credential: "builder", Name: "builder", Thread: "t1", Via: "library"})
	human := desk.Reviewer(revue.Human{Workspace: "demo", ID: "ada", Name: "Ada", Via: "library"})
	ask := revue.Ask{Question: "Which queue do we use?", Options: []revue.Option{{Value: "nats"}, {Value: "none"}}}
	o, err := agent.Request(ctx, ask)
	if err != nil {
		return err
	}
	if _, err := human.Answer(ctx, o.LotID, revue.Answer{Value: "nats"}); err != nil {
		return err
	}
	if o, err = agent.Request(ctx, ask); err != nil {
		return err
	}
	s := store.Stats()
	_, err = fmt.Fprintf(out, "%s: %s, after %d reads and %d writes, the slowest in %s\n", o.Status, o.Answer, s.Views, s.Updates, s.Slowest)
	return err
}
