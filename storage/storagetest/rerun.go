package storagetest

import (
	"context"

	"github.com/revuehq/revue"
)

// Rerun wraps a store for tests of code that uses one. Each Update of it that commits runs its function
// once more, in a second Update on what the first wrote: what a driver does that can't tell whether a commit
// happened. Code that keeps the contract comes to the same result as on s itself; code that inserts, counts
// or appends without looking at what is there does so twice, or fails.
//
// A function that returns an error runs once when it is the first run that fails. What the second run
// returns is what Update returns; what the first wrote then stays, as it would after a commit that was
// unknown and had happened. An Update whose context ends between the two runs returns its error, for the same
// reason. Everything else is s.
func Rerun(s revue.Store) revue.Store { return rerun{s} }

type rerun struct{ revue.Store }

func (r rerun) Update(ctx context.Context, workspace string, fn func(revue.Tx) error) error {
	if err := r.Store.Update(ctx, workspace, fn); err != nil {
		return err
	}
	return r.Store.Update(ctx, workspace, fn)
}
