package memory

import (
	"context"
	"sync"
	"time"

	"github.com/revuehq/revue"
)

// Options changes how a [Memory] works. The zero value, and nil, mean the defaults.
type Options struct {
	// MaxWorkspaces is how many workspaces are kept indexed; the one used least recently is dropped, and
	// read again at its next recall. Default 64.
	MaxWorkspaces int
	// MaxBytes is how much memory the indexes may take together, as estimated; beyond it those used least
	// recently are dropped. The last one used is kept whatever its size. Default 1 GiB.
	MaxBytes int64
	// Idle is how long an index is kept that no recall uses. Default 30 minutes; negative: forever.
	Idle time.Duration

	// Embedder, where there is one, orders what was found lexically anew. It never makes a match [revue.Apply].
	Embedder Embedder
	// EmbedTimeout is how long a recall waits for the Embedder before it goes on without. Default 300 ms.
	EmbedTimeout time.Duration
	// MaxVectorBytes is how much memory the vectors of wordings may take that were embedded before. Default 64 MiB.
	MaxVectorBytes int64
}

// Defaults of [Options].
const (
	defaultWorkspaces   = 64
	defaultBytes        = 1 << 30
	defaultIdle         = 30 * time.Minute
	defaultEmbedTimeout = 300 * time.Millisecond
	defaultVectorBytes  = 64 << 20
)

// Memory is the default [revue.Memory].
type Memory struct {
	max      int
	maxBytes int64
	idle     time.Duration
	readings readings
	vectors  *vectors // nil without an Embedder

	mu      sync.Mutex
	spaces  map[string]*space
	uses    int64
	waiting bool // a timer will look for idle indexes
}

var _ revue.Memory = (*Memory)(nil)

// New returns an empty memory. It belongs to one store: workspaces are told apart by their name alone.
func New(opts *Options) *Memory {
	var o Options
	if opts != nil {
		o = *opts
	}
	m := &Memory{max: defaultWorkspaces, maxBytes: defaultBytes, idle: defaultIdle, spaces: map[string]*space{}}
	if o.MaxWorkspaces > 0 {
		m.max = o.MaxWorkspaces
	}
	if o.MaxBytes > 0 {
		m.maxBytes = o.MaxBytes
	}
	if o.Idle != 0 {
		m.idle = o.Idle
	}
	if o.Embedder != nil {
		m.vectors = newVectors(o)
	}
	return m
}

// Recall finds the decisions that bear on q, best first. See the package comment for what is found, how
// it is scored and when it says [revue.Apply].
//
// It reads the workspace whole at first, and after that only what the journal says has changed. Errors of
// src are returned as they are, and leave the index as it was. An [Embedder] that fails is no error.
func (m *Memory) Recall(ctx context.Context, src revue.Source, q revue.Query) (revue.Recalled, error) {
	sp := m.enter(src.Workspace())
	defer m.leave(sp)
	now, err := sp.catchUp(ctx, src)
	if err != nil {
		return revue.Recalled{}, err
	}
	limit := q.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	limit = min(limit, maxLimit)
	r := read(q.Text)
	f := sp.find(q, &r, max(minCandidates, 2*limit)) // the same with an Embedder and without
	if m.vectors != nil {
		m.vectors.rerank(ctx, q.Text, f.alike)
	}
	return f.judge(&m.readings, q, &r, limit, now), nil
}

// Bytes returns how much memory the indexes take, and the vectors of an [Embedder], as estimated: within a third of
// what the runtime counts for a workspace of more than a thousand decisions.
func (m *Memory) Bytes() int64 {
	m.mu.Lock()
	total := int64(0)
	for _, sp := range m.spaces {
		total += int64(sp.bytes)
	}
	m.mu.Unlock()
	if m.vectors != nil {
		total += m.vectors.size()
	}
	return total
}

// enter returns the index of a workspace, a new one where there is none.
func (m *Memory) enter(name string) *space {
	m.mu.Lock()
	defer m.mu.Unlock()
	sp := m.spaces[name]
	if sp == nil {
		sp = newSpace(&m.readings)
		m.spaces[name] = sp
	}
	m.uses++
	sp.order = m.uses
	sp.active++
	for len(m.spaces) > m.max {
		m.dropOldest()
	}
	return sp
}

// leave measures an index that was used, and drops others where there is too much.
func (m *Memory) leave(sp *space) {
	bytes := sp.size()
	m.mu.Lock()
	defer m.mu.Unlock()
	sp.active--
	sp.used = time.Now()
	sp.bytes = bytes
	total := int64(0)
	for _, sp := range m.spaces {
		total += int64(sp.bytes)
	}
	for total > m.maxBytes && len(m.spaces) > 1 {
		total -= int64(m.dropOldest())
	}
	if m.idle > 0 && !m.waiting {
		m.waiting = true
		time.AfterFunc(m.idle, m.dropIdle) // no goroutine waits for it
	}
}

// dropOldest drops the index used least recently, and returns what it took. A recall that still holds it finishes
// with it.
func (m *Memory) dropOldest() int {
	oldest := ""
	for n, sp := range m.spaces {
		if oldest == "" || sp.order < m.spaces[oldest].order {
			oldest = n
		}
	}
	bytes := m.spaces[oldest].bytes
	delete(m.spaces, oldest)
	return bytes
}

// dropIdle drops the indexes that were not used for long, and looks again when the next one may be.
func (m *Memory) dropIdle() {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	next := m.idle
	for n, sp := range m.spaces {
		if sp.active > 0 {
			continue
		}
		left := m.idle - now.Sub(sp.used)
		if left <= 0 {
			delete(m.spaces, n)
		} else {
			next = min(next, left)
		}
	}
	m.waiting = len(m.spaces) > 0
	if m.waiting {
		time.AfterFunc(next, m.dropIdle)
	}
}
