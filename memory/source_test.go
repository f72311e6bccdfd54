package memory_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/memory"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// source is a store in a slice.
type source struct {
	mu        sync.Mutex
	workspace string
	now       time.Time
	events    []revue.Event
	decisions map[string]revue.Decision
	order     []string
	reads     int                                 // decisions handed out
	hook      func(context.Context, string) error // called before each read, without the lock
}

func newSource() *source {
	return &source{workspace: "w", now: start, decisions: map[string]revue.Decision{}}
}

func (s *source) Workspace() string { return s.workspace }

func (s *source) before(ctx context.Context, what string) error {
	if s.hook != nil {
		if err := s.hook(ctx, what); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (s *source) View(ctx context.Context, fn func(revue.Snapshot) error) error {
	if err := s.before(ctx, "view"); err != nil {
		return err
	}
	return fn(snapshot{s, ctx})
}

// snapshot is a source as one View sees it.
type snapshot struct {
	*source
	ctx context.Context //nolint:containedctx // it lives as long as the View
}

func (s snapshot) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s snapshot) Head() (revue.Event, error) {
	err := s.before(s.ctx, "head")
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.events) == 0 {
		return revue.Event{}, err
	}
	return s.events[len(s.events)-1], err
}

func (s snapshot) Events(after revue.Seq, limit int) ([]revue.Event, error) {
	err := s.before(s.ctx, "events")
	s.mu.Lock()
	defer s.mu.Unlock()
	rest := s.events[min(int(after), len(s.events)):]
	return slices.Clone(rest[:min(limit, len(rest))]), err
}

func (s snapshot) FindDecisions(q revue.DecisionQuery) ([]revue.Decision, error) {
	return s.source.find(s.ctx, q)
}

func (s *source) find(ctx context.Context, q revue.DecisionQuery) ([]revue.Decision, error) {
	if err := s.before(ctx, "decisions"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := q.IDs
	if ids == nil {
		i, _ := slices.BinarySearchFunc(s.order, q.After, func(id string, after revue.Seq) int {
			if s.decisions[id].Seq <= after {
				return -1
			}
			return 1
		})
		ids = s.order[i:]
	}
	var out []revue.Decision
	for _, id := range ids {
		if d, ok := s.decisions[id]; ok {
			out = append(out, d)
		}
		if q.Limit > 0 && len(out) == q.Limit {
			break
		}
	}
	slices.SortFunc(out, func(a, b revue.Decision) int { return int(a.Seq - b.Seq) })
	s.reads += len(out)
	return out, nil
}

func (s *source) event(e revue.Event) revue.Seq {
	e.Seq = revue.Seq(len(s.events) + 1)
	e.At = s.now
	if n := len(s.events); n > 0 {
		e.Prev = s.events[n-1].Hash
	}
	e.Hash = e.Sum()
	s.events = append(s.events, e)
	return e.Seq
}

// make adds a decision; what it leaves out is filled in.
func (s *source) make(d revue.Decision) revue.Decision {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.ID == "" {
		d.ID = fmt.Sprintf("dec_%d", len(s.order)+1)
	}
	d.Seq = s.event(revue.Event{Kind: revue.EventDecisionMade, Decision: d.ID})
	if d.CreatedAt.IsZero() {
		d.CreatedAt = s.now
	}
	if d.ConfirmedAt.IsZero() {
		d.ConfirmedAt = d.CreatedAt
	}
	if d.Remember == "" {
		d.Remember = revue.RememberDefault
	}
	if d.By.Name == "" {
		d.By = revue.Who{Name: "ann", Via: "web"}
	}
	d.FreeText = len(d.Options) == 0
	s.decisions[d.ID] = d
	s.order = append(s.order, d.ID)
	return d
}

func (s *source) change(id string, kind revue.EventKind, f func(*revue.Decision)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.decisions[id]
	f(&d)
	s.decisions[id] = d
	e := revue.Event{Kind: kind, Decision: id}
	if kind == revue.EventPurged {
		e.Decision, e.Ref = "", id
	}
	s.event(e)
}

func (s *source) correct(id string, v revue.Verb, c revue.Correction) {
	s.change(id, revue.EventDecisionCorrected, func(d *revue.Decision) {
		c.ID = fmt.Sprintf("cor_%d", len(s.events))
		c.Verb = v
		if c.At.IsZero() {
			c.At = s.now
		}
		d.Corrections = append(slices.Clone(d.Corrections), c)
	})
}

func recall(t testing.TB, m *memory.Memory, s *source, q revue.Query) revue.Recalled {
	t.Helper()
	r, err := m.Recall(t.Context(), s, q)
	require.NoError(t, err)
	require.EqualValues(t, len(s.events), r.Seq)
	seen := map[string]bool{}
	for i, match := range r.Matches {
		require.False(t, seen[match.DecisionID], "twice")
		seen[match.DecisionID] = true
		require.GreaterOrEqual(t, match.Score, memory.MinScore)
		require.LessOrEqual(t, match.Score, 1.0)
		require.GreaterOrEqual(t, match.Confidence, 0.0)
		require.LessOrEqual(t, match.Confidence, 1.0)
		require.NotNil(t, match.Concepts)
		require.NotNil(t, match.Files)
		require.NotEmpty(t, match.Reason)
		require.NotEmpty(t, match.Freshness)
		if match.ReuseGuidance == revue.Apply {
			require.Equal(t, revue.VerdictSame, match.Verdict)
		}
		if i > 0 && r.Matches[i-1].ReuseGuidance == match.ReuseGuidance {
			require.GreaterOrEqual(t, r.Matches[i-1].Score, match.Score)
		}
	}
	return r
}

func options(values ...string) []revue.Option {
	var out []revue.Option
	for _, v := range values {
		out = append(out, revue.Option{Value: v, Label: strings.ToUpper(v[:1]) + v[1:]})
	}
	return out
}
