package revue

import (
	"context"
	"errors"
	"sync"
	"time"
)

// returns notes which outcomes reached their callers. Calls that end together are written in one
// transaction: the first of them writes for all that come while it does.
type returns struct {
	mu      sync.Mutex
	waiting map[string][]*returnedAsk // by workspace
	busy    map[string]bool
}

type returnedAsk struct {
	ask   string
	agent Agent
	claim string // of an approval
	err   error
	done  chan struct{}
}

// mark notes that the outcome of an agent's ask was returned, and waits until that is committed. It is
// noted even when ctx ends: the outcome is on its way.
func (r *returns) mark(ctx context.Context, d *Desk, agent Agent, ask, claim string) error {
	mine := &returnedAsk{ask: ask, agent: agent, claim: claim, done: make(chan struct{})}
	r.mu.Lock()
	if r.waiting == nil {
		r.waiting, r.busy = map[string][]*returnedAsk{}, map[string]bool{}
	}
	r.waiting[agent.Workspace] = append(r.waiting[agent.Workspace], mine)
	lead := !r.busy[agent.Workspace]
	r.busy[agent.Workspace] = true
	r.mu.Unlock()
	if lead {
		r.write(context.WithoutCancel(ctx), d, agent.Workspace)
	}
	<-mine.done // also when ctx ends: what is noted as returned must be returned
	return mine.err
}

// write writes batches until nobody waits.
func (r *returns) write(ctx context.Context, d *Desk, workspace string) {
	for {
		r.mu.Lock()
		batch := r.waiting[workspace]
		delete(r.waiting, workspace)
		if len(batch) == 0 {
			delete(r.busy, workspace)
			r.mu.Unlock()
			return
		}
		r.mu.Unlock()
		r.writeBatch(ctx, d, workspace, batch)
	}
}

// writeBatch writes one batch. A store that panics ends the caller's call and nobody else's.
func (r *returns) writeBatch(ctx context.Context, d *Desk, workspace string, batch []*returnedAsk) {
	err := error(&Error{Code: CodeInternal, Message: "that the answer was returned could not be noted"})
	written := false
	defer func() {
		if !written { // a panic: those who came meanwhile fail too, and the next one leads
			r.mu.Lock()
			batch = append(batch, r.waiting[workspace]...)
			delete(r.waiting, workspace)
			delete(r.busy, workspace)
			r.mu.Unlock()
		}
		for _, b := range batch {
			if err != nil {
				b.err = err
			}
			close(b.done)
		}
	}()
	err = d.writeReturned(ctx, workspace, batch)
	written = true
}

// returnedIn bounds how long noting a return may take.
const returnedIn = 30 * time.Second

func (d *Desk) writeReturned(ctx context.Context, workspace string, batch []*returnedAsk) error {
	ctx, cancel := context.WithTimeout(ctx, returnedIn)
	defer cancel()
	return d.update(ctx, workspace, func(t *tx) error {
		var marked []string
		for _, b := range batch {
			b.err = nil // of an earlier run
			rec, lot, err := t.askOf(b.agent, b.ask)
			if errors.Is(err, ErrNotFound) || errors.Is(err, ErrConflict) {
				b.err = err
				continue
			}
			if errors.Is(err, errTakenBack) {
				continue
			}
			if err != nil {
				return err
			}
			if b.claim != "" {
				if err := t.PutLot(lot.delivered(b.claim)); err != nil {
					return err
				}
			}
			if !rec.ReturnedAt.IsZero() {
				continue
			}
			rec.ReturnedAt = t.now
			if err := t.PutAsk(rec); err != nil {
				return err
			}
			marked = append(marked, rec.ID)
		}
		if len(marked) == 0 {
			return nil
		}
		_, err := t.append(Event{Kind: EventAskReturned, Asks: marked})
		return err
	})
}
