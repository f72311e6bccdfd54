package revuetest

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/revuehq/revue"
)

// AnswerAll plays a human: it follows the journal from its start and, after each event of a lot that is
// open, asks fn for an answer. With true the answer is given, as to the revision that fn saw unless the
// answer says otherwise; with false the lot is left, and fn is asked again when it changes.
//
// A lot that somebody else settled in between is passed over. AnswerAll returns nil when ctx ends, and
// the first other error. fn is called by one goroutine.
func AnswerAll(ctx context.Context, r revue.Reviewer, fn func(revue.Lot) (revue.Answer, bool)) error {
	err := follow(ctx, r, fn)
	if ctx.Err() != nil {
		err = nil
	}
	return err
}

func follow(ctx context.Context, r revue.Reviewer, fn func(revue.Lot) (revue.Answer, bool)) error {
	for e, err := range r.Events(ctx, 0) {
		if err != nil {
			return err
		}
		switch e.Kind {
		case revue.EventLotOpened, revue.EventAskJoined, revue.EventAskMoved, revue.EventLotReopened:
		default:
			continue
		}
		lot, err := r.Lot(ctx, e.Lot)
		if err != nil {
			return err
		}
		if lot.Status != revue.StatusOpen {
			continue
		}
		answer, ok := fn(lot)
		if !ok {
			continue
		}
		if answer.Seen == 0 {
			answer.Seen = lot.Revision
		}
		if _, err := r.Answer(ctx, lot.ID, answer); err != nil && !errors.Is(err, revue.ErrConflict) {
			return err
		}
	}
	return nil
}

// Recorder is a [revue.Notifier] that keeps what it is told. The zero value is ready, and takes every
// notice. It is safe for concurrent use.
type Recorder struct {
	mu      sync.Mutex
	notices []revue.Notice
	failing []error
	changed chan struct{}
}

// Notify records n, or returns the next error given to Fail and records nothing.
func (r *Recorder) Notify(ctx context.Context, n revue.Notice) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.failing) > 0 {
		err := r.failing[0]
		r.failing = r.failing[1:]
		return err
	}
	r.notices = append(r.notices, n)
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
	return nil
}

// Fail makes the next calls of Notify fail, one with each of these errors.
func (r *Recorder) Fail(errs ...error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failing = append(r.failing, errs...)
}

// Notices returns what was recorded, in order.
func (r *Recorder) Notices() []revue.Notice {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.notices)
}

// Wait returns what was recorded once that is at least n notices, or ctx.Err() and what there is.
func (r *Recorder) Wait(ctx context.Context, n int) ([]revue.Notice, error) {
	for {
		r.mu.Lock()
		if len(r.notices) >= n {
			got := slices.Clone(r.notices)
			r.mu.Unlock()
			return got, nil
		}
		if r.changed == nil {
			r.changed = make(chan struct{})
		}
		changed := r.changed
		r.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return r.Notices(), ctx.Err()
		}
	}
}
