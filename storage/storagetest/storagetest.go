// Package storagetest is the contract of [revue.Store] as tests. A driver passes when
//
//	func TestContract(t *testing.T) {
//		storagetest.Run(t, func(t *testing.T) revue.Store {
//			return mystore.Open(t.TempDir())
//		})
//	}
//
// passes. Every sentence of the contract is a subtest of its own, whose failure says what the store did
// and what the sentence demands. A driver that keeps data for longer than a process, or shares it among
// several, or whose clock can be set, runs a [Suite] with more of its fields set.
//
// The package depends on the standard library and on revue alone.
package storagetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/revuehq/revue"
)

// Suite is how to get at the stores of a driver. Only Open is required; the clauses for which a field is
// missing are left out, and the log names the field.
type Suite struct {
	// Open returns a new, empty store. The suite closes it.
	Open func(t *testing.T) revue.Store

	// Place makes a new, empty place and returns a function that opens a store there, each time
	// another one on the same data: what another process would open, or the same after a restart.
	Place func(t *testing.T) func() revue.Store

	// OpenAt returns a new, empty store whose clock is now.
	OpenAt func(t *testing.T, now func() time.Time) revue.Store
}

// Run tests the stores that open returns, each of which must be new and empty. The suite closes them.
func Run(t *testing.T, open func(t *testing.T) revue.Store) {
	t.Helper()
	Suite{Open: open}.Run(t)
}

// Run runs every clause as a subtest.
func (s Suite) Run(t *testing.T) {
	t.Helper()
	for _, c := range clauses() {
		if !s.has(c.needs) {
			t.Logf("left out, since it needs Suite.%s: %s", c.needs, c.name)
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			if err := s.check(t, c, 20*time.Second); err != nil {
				t.Errorf("%v\nThe contract: %s", err, c.rule)
			}
		})
	}
}

// clause is one sentence of the contract.
type clause struct {
	name  string
	rule  string
	needs string // the field of Suite that it needs besides Open
	check func(*env) error
}

// has reports whether the suite has what a clause needs besides Open.
func (s Suite) has(field string) bool {
	switch field {
	case "Place":
		return s.Place != nil
	case "OpenAt":
		return s.OpenAt != nil
	}
	return true
}

func (s Suite) check(t *testing.T, c clause, patience time.Duration) error {
	return c.check(&env{t: t, suite: s, patience: patience})
}

// env is what a clause runs in.
type env struct {
	t        *testing.T
	suite    Suite
	patience time.Duration // how long the store may take for what it has to do at once
}

func (e *env) own(s revue.Store) revue.Store {
	e.t.Cleanup(func() { _ = s.Close() })
	return s
}

func (e *env) open() revue.Store { return e.own(e.suite.Open(e.t)) }

// place returns what opens stores on the same data.
func (e *env) place() func() revue.Store {
	open := e.suite.Place(e.t)
	return func() revue.Store { return e.own(open()) }
}

// ctx is the context of calls that are expected to succeed.
func (e *env) ctx() context.Context { return e.t.Context() }

// soon runs f and fails when it does not return in time.
func (e *env) soon(what string, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return e.await(what, done)
}

func (e *env) await(what string, done <-chan error) error {
	timer := time.NewTimer(e.patience)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return fmt.Errorf("%s did not return within %v", what, e.patience)
	}
}

// update and view run one transaction that is expected to succeed.
func (e *env) update(s revue.Store, workspace string, fn func(revue.Tx) error) error {
	return e.soon("Update", func() error { return s.Update(e.ctx(), workspace, fn) })
}

func (e *env) view(s revue.Store, workspace string, fn func(revue.Tx) error) error {
	return e.soon("View", func() error { return s.View(e.ctx(), workspace, fn) })
}

// put writes one record.
func (e *env) put(s revue.Store, workspace, k, v string) error {
	if err := e.update(s, workspace, func(tx revue.Tx) error { return tx.PutRecord("test", k, []byte(v)) }); err != nil {
		return fmt.Errorf("Update: %w", err)
	}
	return nil
}

// get reads one record; what is not there is "absent".
func (e *env) get(s revue.Store, workspace, k string) (string, error) {
	var got string
	err := e.view(s, workspace, func(tx revue.Tx) error {
		var err error
		got, err = read(tx, k)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("View: %w", err)
	}
	return got, nil
}

func read(tx revue.Tx, k string) (string, error) {
	v, err := tx.Record("test", k)
	if errors.Is(err, revue.ErrNotFound) {
		return "absent", nil
	}
	return string(v), err
}

// holds fails unless the record has this value.
func (e *env) holds(s revue.Store, workspace, k, want, why string) error {
	got, err := e.get(s, workspace, k)
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("%s: the record is %q, want %q", why, got, want)
	}
	return nil
}

// first returns the first error of a list of steps, each run only if those before it succeeded.
func first(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func clauses() []clause {
	var all []clause
	for _, group := range [][]clause{transactions(), clock(), values(), queries(), journal(), records(), watching(), closing()} {
		all = append(all, group...)
	}
	return all
}
