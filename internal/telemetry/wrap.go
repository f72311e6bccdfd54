package telemetry

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/revuehq/revue"
)

// Store is a store whose failures are counted and that knows whether it is watched.
type Store struct {
	revue.Store
	metrics  *Metrics
	watching atomic.Int32
}

// Store wraps a store.
func (m *Metrics) Store(s revue.Store) *Store { return &Store{Store: s, metrics: m} }

// Watching reports whether a Watch of the store is in force: what other processes commit is seen at once.
func (s *Store) Watching() bool { return s.watching.Load() > 0 }

// View implements [revue.Store].
func (s *Store) View(ctx context.Context, workspace string, fn func(revue.Tx) error) error {
	var own error
	err := s.Store.View(ctx, workspace, func(tx revue.Tx) error {
		own = fn(tx)
		return own
	})
	s.count(ctx, "view", err, own)
	return err
}

// Update implements [revue.Store].
func (s *Store) Update(ctx context.Context, workspace string, fn func(revue.Tx) error) error {
	var own error
	err := s.Store.Update(ctx, workspace, func(tx revue.Tx) error {
		own = fn(tx)
		return own
	})
	s.count(ctx, "update", err, own)
	return err
}

// Watch implements [revue.Store].
func (s *Store) Watch(ctx context.Context, wake func(workspace string)) error {
	var inForce atomic.Bool
	err := s.Store.Watch(ctx, func(workspace string) {
		if !inForce.Swap(true) {
			s.watching.Add(1)
		}
		wake(workspace)
	})
	if inForce.Load() {
		s.watching.Add(-1)
	}
	s.count(ctx, "watch", err, nil)
	return err
}

// count counts a failure of the store. What the function in a transaction returned is the store's where it says that the
// store is out of reach.
func (s *Store) count(ctx context.Context, op string, err, own error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	code := revue.CodeOf(err)
	if own != nil && errors.Is(err, own) && code != revue.CodeUnavailable {
		return
	}
	s.metrics.storeErrors.WithLabelValues(op, codeName(code)).Inc()
}

func codeName(code revue.Code) string {
	switch code {
	case revue.CodeInvalid, revue.CodeNotFound, revue.CodeConflict, revue.CodeDenied, revue.CodeTooLarge,
		revue.CodeRateLimited, revue.CodeUnavailable, revue.CodeInternal:
		return string(code)
	}
	return other
}

// memory is a memory whose recalls are timed.
type memory struct {
	revue.Memory
	metrics *Metrics
}

// Memory wraps a memory.
func (m *Metrics) Memory(inner revue.Memory) revue.Memory { return &memory{Memory: inner, metrics: m} }

// Recall implements [revue.Memory].
func (m *memory) Recall(ctx context.Context, src revue.Source, q revue.Query) (revue.Recalled, error) {
	began := time.Now()
	got, err := m.Memory.Recall(ctx, src, q)
	m.metrics.recall.Observe(time.Since(began).Seconds())
	return got, err
}
