package revuemcp_test

import (
	"context"
	"sync"

	"github.com/revuehq/revue"
)

// fakePlane lets a test decide what an agent gets, and sees what was asked.
type fakePlane struct {
	revue.Plane // nil: nothing else may be called

	lookup  func(context.Context, revue.Query) (revue.Findings, error)
	request func(context.Context, revue.Ask) (revue.Outcome, error)
	share   func(context.Context, revue.ContextItem) (revue.ContextItem, error)

	mu       sync.Mutex
	agents   []revue.Agent
	returned []returned
	told     chan returned // each of returned, where it is set
}

type returned struct {
	outcome revue.Outcome
	err     error
}

func (p *fakePlane) Decider(a revue.Agent) revue.Decider {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.agents = append(p.agents, a)
	return fakeDecider{p}
}

func (p *fakePlane) lastAgent() revue.Agent {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.agents[len(p.agents)-1]
}

type fakeDecider struct{ p *fakePlane }

func (d fakeDecider) Lookup(ctx context.Context, q revue.Query) (revue.Findings, error) {
	return d.p.lookup(ctx, q)
}

func (d fakeDecider) Request(ctx context.Context, ask revue.Ask) (revue.Outcome, error) {
	return d.p.request(ctx, ask)
}

func (d fakeDecider) Share(ctx context.Context, item revue.ContextItem) (revue.ContextItem, error) {
	return d.p.share(ctx, item)
}

func (d fakeDecider) Returned(_ context.Context, o revue.Outcome, err error) error {
	d.p.mu.Lock()
	d.p.returned = append(d.p.returned, returned{o, err})
	d.p.mu.Unlock()
	if d.p.told != nil {
		d.p.told <- returned{o, err}
	}
	return nil
}
