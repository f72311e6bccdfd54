package revue

import (
	"context"
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
	ask  string
	err  error
	done chan struct{}
}

// mark notes that the outcome of an ask was returned, and waits until that is committed. It goes on
// when ctx ends: the outcome is on its way.
func (r *returns) mark(ctx context.Context, d *Desk, workspace, ask string) error {
	mine := &returnedAsk{ask: ask, done: make(chan struct{})}
	r.mu.Lock()
	if r.waiting == nil {
		r.waiting, r.busy = map[string][]*returnedAsk{}, map[string]bool{}
	}
	r.waiting[workspace] = append(r.waiting[workspace], mine)
	lead := !r.busy[workspace]
	r.busy[workspace] = true
	r.mu.Unlock()
	if lead {
		r.write(context.WithoutCancel(ctx), d, workspace)
	}
	<-mine.done
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
		err := d.writeReturned(ctx, workspace, batch)
		for _, b := range batch {
			b.err = err
			close(b.done)
		}
	}
}

// returnedIn bounds how long noting a return may take.
const returnedIn = 30 * time.Second

func (d *Desk) writeReturned(ctx context.Context, workspace string, batch []*returnedAsk) error {
	ctx, cancel := context.WithTimeout(ctx, returnedIn)
	defer cancel()
	return d.update(ctx, workspace, func(t *tx) error {
		var marked []string
		for _, b := range batch {
			rec, err := t.Ask(b.ask)
			if err != nil {
				return notFound(err, b.ask, "ask")
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
