package memory

import (
	"context"
	"sync"

	"github.com/revuehq/revue"
)

// Sizes of the pages that are read from a source.
const (
	decisionPage = 1000
	eventPage    = 1000
	idPage       = 500
)

// space is the index of one workspace and what keeps it current.
type space struct {
	used int64 // by the lock of the Memory

	// reading is held by the one recall that reads the source. It is a channel, so that those
	// who wait for it can give up.
	reading chan struct{}
	mu      sync.RWMutex
	ix      *index // nil before the first read
	scratch sync.Pool
}

func newSpace() *space {
	return &space{reading: make(chan struct{}, 1), scratch: sync.Pool{New: func() any { return &scratch{} }}}
}

// at returns the event the index reflects, and whether there is one.
func (sp *space) at() (revue.Seq, bool) {
	sp.mu.RLock()
	defer sp.mu.RUnlock()
	if sp.ix == nil {
		return 0, false
	}
	return sp.ix.seq, true
}

// catchUp brings the index to the head of the journal.
func (sp *space) catchUp(ctx context.Context, src revue.Source) error {
	head, err := src.Head(ctx)
	if err != nil {
		return err
	}
	if seq, ok := sp.at(); ok && seq == head {
		return nil
	}
	select {
	case sp.reading <- struct{}{}:
		defer func() { <-sp.reading }()
	case <-ctx.Done():
		return ctx.Err()
	}
	// Another recall may have read on since; nobody does now.
	if head, err = src.Head(ctx); err != nil {
		return err
	}
	seq, ok := sp.at()
	if !ok || head < seq { // a journal that got shorter is another one: the store was put back
		if seq, err = sp.build(ctx, src); err != nil {
			return err
		}
	}
	for seq < head {
		next, err := sp.follow(ctx, src, seq)
		if err != nil {
			return err
		}
		if next <= seq { // the journal is not the one that was indexed
			if next, err = sp.build(ctx, src); err != nil {
				return err
			}
			if next <= seq && next < head {
				return &revue.Error{Code: revue.CodeUnavailable, Message: "the journal could not be read to its end; try again"}
			}
		}
		seq = next
	}
	return nil
}

// build reads the workspace whole, and returns the event the new index reflects.
func (sp *space) build(ctx context.Context, src revue.Source) (revue.Seq, error) {
	ix := newIndex()
	head, err := src.Head(ctx)
	if err != nil {
		return 0, err
	}
	if head > 0 {
		last, err := src.Events(ctx, head-1, 1)
		if err != nil {
			return 0, err
		}
		if len(last) != 1 || last[0].Seq != head {
			return 0, &revue.Error{Code: revue.CodeUnavailable, Message: "the journal could not be read to its end; try again"}
		}
		ix.hash = last[0].Hash
	}
	ix.seq = head
	// What is decided after head was read is read here or by its event, or by both.
	for after := revue.Seq(0); ; {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		page, err := src.Decisions(ctx, revue.DecisionQuery{After: after, Limit: decisionPage})
		if err != nil {
			return 0, err
		}
		for _, d := range page {
			ix.put(d)
			after = max(after, d.Seq)
		}
		if len(page) < decisionPage {
			break
		}
	}
	sp.mu.Lock()
	sp.ix = ix
	sp.mu.Unlock()
	return head, nil
}

// follow reads one page of events after seq and what they changed. It returns the event the index then
// reflects, or seq where the journal does not go on from what was indexed.
func (sp *space) follow(ctx context.Context, src revue.Source, seq revue.Seq) (revue.Seq, error) {
	// The event that was indexed last is read again: it tells whether this is still the same journal.
	events, err := src.Events(ctx, max(0, seq-1), eventPage)
	if err != nil {
		return 0, err
	}
	sp.mu.RLock()
	hash := sp.ix.hash
	sp.mu.RUnlock()
	if seq > 0 {
		if len(events) == 0 || events[0].Seq != seq || events[0].Hash != hash {
			return seq, nil
		}
		events = events[1:]
	}
	if len(events) == 0 {
		return seq, nil
	}
	changed := map[string]bool{}
	var ids []string
	add := func(id string) {
		if id != "" && !changed[id] {
			changed[id] = true
			ids = append(ids, id)
		}
	}
	for _, e := range events {
		if !e.Kind.OfDecision() {
			continue
		}
		add(e.Decision)
		if e.Kind == revue.EventPurged {
			add(e.Ref)
			sp.mu.RLock()
			of := sp.ix.ofLot(e.Ref)
			sp.mu.RUnlock()
			for _, id := range of {
				add(id)
			}
		} else if e.Kind == revue.EventDecisionSuperseded {
			add(e.Ref)
		}
	}
	var got []revue.Decision
	for rest := ids; len(rest) > 0; {
		n := min(idPage, len(rest))
		page, err := src.Decisions(ctx, revue.DecisionQuery{IDs: rest[:n]})
		if err != nil {
			return 0, err
		}
		got = append(got, page...)
		rest = rest[n:]
	}
	last := events[len(events)-1]
	sp.mu.Lock()
	defer sp.mu.Unlock()
	for _, id := range ids {
		sp.ix.remove(id)
	}
	for _, d := range got {
		sp.ix.put(d)
	}
	sp.ix.seq, sp.ix.hash = last.Seq, last.Hash
	return last.Seq, nil
}
