package memory

import (
	"context"
	"sync"
	"time"

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
	readings *readings

	// By the lock of the Memory.
	used   time.Time
	order  int64 // of use
	active int   // recalls that work with it
	bytes  int   // when it was last measured

	// reading is held by the one recall that reads the source. It is a channel, so that those
	// who wait for it can give up.
	reading chan struct{}
	mu      sync.RWMutex
	ix      *index // nil before the first read
	scratch sync.Pool
}

func newSpace(r *readings) *space {
	return &space{readings: r, reading: make(chan struct{}, 1), scratch: sync.Pool{New: func() any { return &ranking{} }}}
}

// at returns the event the index reflects, and whether there is an index.
func (sp *space) at() (seq revue.Seq, hash string, ok bool) {
	sp.mu.RLock()
	defer sp.mu.RUnlock()
	if sp.ix == nil {
		return 0, "", false
	}
	return sp.ix.seq, sp.ix.hash, true
}

// size estimates the bytes the index takes.
func (sp *space) size() int {
	sp.mu.RLock()
	defer sp.mu.RUnlock()
	if sp.ix == nil {
		return 0
	}
	return sp.ix.size()
}

// catchUp brings the index to the head of the journal, and returns the time of the store. Recalls that find it there
// do not wait for one that reads.
func (sp *space) catchUp(ctx context.Context, src revue.Source) (now time.Time, err error) {
	current := false
	err = src.View(ctx, func(s revue.Snapshot) error {
		now = s.Now()
		head, err := s.Head()
		seq, hash, ok := sp.at()
		current = ok && head.Seq == seq && head.Hash == hash
		return err
	})
	if err != nil || current {
		return now, err
	}
	select {
	case sp.reading <- struct{}{}:
		defer func() { <-sp.reading }()
	case <-ctx.Done():
		return now, ctx.Err()
	}
	for try := 0; ; try++ {
		done := false
		err := src.View(ctx, func(s revue.Snapshot) (err error) {
			now = s.Now()
			done, err = sp.follow(s)
			return err
		})
		if err != nil {
			return now, err
		}
		if done {
			sp.compact()
			return now, nil
		}
		if try == maxBuilds {
			return now, &revue.Error{Code: revue.CodeUnavailable, Message: "the journal changes while it is read; try again"}
		}
		if err := sp.build(ctx, src); err != nil {
			return now, err
		}
	}
}

// maxBuilds is how often a recall builds the index anew before it gives up.
const maxBuilds = 3

// build reads the workspace whole. It takes a snapshot a page, so that a large workspace does not hold one
// for seconds, and indexes a page while the next one is read.
func (sp *space) build(ctx context.Context, src revue.Source) error {
	ix := newIndex()
	err := src.View(ctx, func(s revue.Snapshot) error {
		head, err := s.Head()
		ix.seq, ix.hash = head.Seq, head.Hash
		return err
	})
	if err != nil {
		return err
	}
	pages := make(chan []revue.Decision)
	var wg sync.WaitGroup
	wg.Go(func() {
		for page := range pages {
			for i := range page {
				ix.put(&page[i])
			}
		}
	})
	err = readAll(ctx, src, pages)
	close(pages)
	wg.Wait()
	if err != nil {
		return err
	}
	ix.clip()
	sp.mu.Lock()
	sp.ix = ix
	sp.mu.Unlock()
	return nil
}

// readAll sends the decisions of a workspace. What is decided after the head was read is read here or by its event,
// or by both.
func readAll(ctx context.Context, src revue.Source, pages chan<- []revue.Decision) error {
	for after := revue.Seq(0); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		var page []revue.Decision
		err := src.View(ctx, func(s revue.Snapshot) (err error) {
			page, err = s.FindDecisions(revue.DecisionQuery{After: after, Limit: decisionPage})
			return err
		})
		if err != nil {
			return err
		}
		for i := range page {
			after = max(after, page[i].Seq)
		}
		pages <- page
		if len(page) < decisionPage {
			return nil
		}
	}
}

// compact makes the index anew where much of it is gone. Recalls go on with the old one meanwhile.
func (sp *space) compact() {
	sp.mu.RLock()
	ix := sp.ix
	sp.mu.RUnlock()
	if !ix.wasteful() {
		return
	}
	ix = ix.compacted() // only the holder of reading changes an index
	sp.mu.Lock()
	sp.ix = ix
	sp.mu.Unlock()
}

// follow reads on to the head of the journal in one snapshot. It is not done where there is no index, or the
// journal is not the one that was indexed: a store that was put back from a copy.
func (sp *space) follow(s revue.Snapshot) (done bool, err error) {
	seq, hash, ok := sp.at()
	if !ok {
		return false, nil
	}
	head, err := s.Head()
	if err != nil {
		return false, err
	}
	if head.Seq == seq {
		return head.Hash == hash, nil
	}
	if head.Seq < seq {
		return false, nil
	}
	for seq < head.Seq {
		events, err := s.Events(seq, eventPage)
		if err != nil {
			return false, err
		}
		if len(events) == 0 || events[0].Seq != seq+1 || events[0].Prev != hash {
			return false, nil
		}
		if err := sp.apply(s, events); err != nil {
			return false, err
		}
		last := events[len(events)-1]
		seq, hash = last.Seq, last.Hash
	}
	return true, nil
}

// apply reads again what events say has changed.
func (sp *space) apply(s revue.Snapshot, events []revue.Event) error {
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
		page, err := s.FindDecisions(revue.DecisionQuery{IDs: rest[:n]})
		if err != nil {
			return err
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
	for i := range got {
		sp.ix.put(&got[i])
	}
	sp.ix.seq, sp.ix.hash = last.Seq, last.Hash
	return nil
}
