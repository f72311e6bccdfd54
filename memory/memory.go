package memory

import (
	"context"
	"sync"

	"github.com/revuehq/revue"
)

// Options changes how a [Memory] works. The zero value, and nil, mean the defaults.
type Options struct {
	// MaxWorkspaces is how many workspaces are kept indexed; the one used least recently is dropped, and
	// read again at its next recall. Default 64.
	MaxWorkspaces int
}

// Memory is the default [revue.Memory].
type Memory struct {
	max      int
	readings readings

	mu     sync.Mutex
	spaces map[string]*space
	uses   int64
}

var _ revue.Memory = (*Memory)(nil)

// New returns an empty memory. It belongs to one store: workspaces are told apart by their name alone.
func New(opts *Options) *Memory {
	m := &Memory{max: 64, spaces: map[string]*space{}}
	if opts != nil && opts.MaxWorkspaces > 0 {
		m.max = opts.MaxWorkspaces
	}
	return m
}

// Recall finds the decisions that bear on q, best first. See the package comment for what is found, how
// it is scored and when it says [revue.Apply].
//
// It reads the workspace whole at first, and after that only what the journal says has changed. Errors of
// src are returned as they are, and leave the index as it was.
func (m *Memory) Recall(ctx context.Context, src revue.Source, q revue.Query) (revue.Recalled, error) {
	sp := m.space(src.Workspace())
	now, err := sp.catchUp(ctx, src)
	if err != nil {
		return revue.Recalled{}, err
	}
	return sp.search(q, now), nil
}

// space returns the index of a workspace, a new one where there is none.
func (m *Memory) space(name string) *space {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.uses++
	if sp, ok := m.spaces[name]; ok {
		sp.used = m.uses
		return sp
	}
	for len(m.spaces) >= m.max {
		oldest := ""
		for n, sp := range m.spaces {
			if oldest == "" || sp.used < m.spaces[oldest].used {
				oldest = n
			}
		}
		delete(m.spaces, oldest) // a recall that still holds it finishes with it
	}
	sp := newSpace(&m.readings)
	sp.used = m.uses
	m.spaces[name] = sp
	return sp
}
