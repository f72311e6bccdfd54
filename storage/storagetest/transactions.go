package storagetest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/revuehq/revue"
)

var errFn = errors.New("an error of the function's own")

func transactions() []clause {
	return []clause{
		{
			name:  "workspaces are separate",
			rule:  "a Tx sees and writes one workspace alone",
			check: separate,
		},
		{
			name:  "an update is seen by the next view",
			rule:  "when Update has returned, a View begun afterwards sees what it wrote",
			check: readYourWrites,
		},
		{
			name:  "an update is seen by the next view of another handle",
			rule:  "when Update has returned, a View begun afterwards, in any process, sees what it wrote",
			needs: "Place",
			check: func(e *env) error {
				open := e.place()
				a, b := open(), open()
				for i := range 20 {
					v := strconv.Itoa(i)
					if err := e.put(a, "ws", "k", v); err != nil {
						return err
					}
					if err := e.holds(b, "ws", "k", v, "after Update returned on one handle, a View of another"); err != nil {
						return err
					}
					a, b = b, a
				}
				return nil
			},
		},
		{
			name:  "data survives a restart",
			rule:  "what was committed is there when the place is opened again",
			needs: "Place",
			check: survives,
		},
		{
			name:  "an update sees its own writes",
			rule:  "Put inserts or replaces; a Tx sees what it wrote",
			check: ownWrites,
		},
		{
			name:  "a view is a snapshot",
			rule:  "View gives fn one consistent snapshot",
			check: snapshot,
		},
		{
			name:  "a write in a view fails",
			rule:  "a write in a View fails",
			check: viewCannotWrite,
		},
		{
			name:  "an error rolls back",
			rule:  "if fn returns an error nothing is written",
			check: rollsBack,
		},
		{
			name:  "an error is returned as it is",
			rule:  "if fn returns an error that error is returned as it is",
			check: sameError,
		},
		{
			name:  "a panic rolls back and releases the workspace",
			rule:  "Update is all or nothing; a panic of fn reaches the caller and holds no lock",
			check: func(e *env) error { return leaves(e, func() { panic("on purpose") }) },
		},
		{
			name:  "a goroutine that exits in fn rolls back and releases the workspace",
			rule:  "Update is all or nothing; runtime.Goexit in fn, which is what t.FailNow does, holds no lock",
			check: func(e *env) error { return leaves(e, runtime.Goexit) },
		},
		{
			name:  "no update is lost",
			rule:  "Update is serialised for each workspace; when it returns nil exactly one run took effect",
			check: func(e *env) error { return counts(e, e.open()) },
		},
		{
			name:  "no update is lost between handles",
			rule:  "Update is serialised for each workspace, by several processes where the driver says so",
			needs: "Place",
			check: func(e *env) error {
				open := e.place()
				return counts(e, open(), open())
			},
		},
		{
			name:  "updates are serialised over all they read",
			rule:  "Update is serialised for each workspace: what one run read is still so when it commits",
			check: writeSkew,
		},
		{
			name:  "an update with a context that has ended writes nothing",
			rule:  "an Update whose context has ended before the commit writes nothing and returns ctx.Err(), or an error that wraps it",
			check: cancelledBefore,
		},
		{
			name:  "an update whose context ends in fn writes nothing",
			rule:  "an Update whose context has ended before the commit writes nothing and returns ctx.Err(), or an error that wraps it",
			check: cancelledInside,
		},
		{
			name:  "an update that waits for another ends with its context",
			rule:  "an Update whose context has ended before the commit returns ctx.Err(), or an error that wraps it",
			check: cancelledWaiting,
		},
	}
}

func separate(e *env) error {
	s := e.open()
	names := []string{"", "a", "b", "A", "a\x1fb", "ä", "a%", "a_"}
	for i, name := range names {
		err := e.update(s, name, func(tx revue.Tx) error {
			own := strconv.Itoa(i)
			at := tx.Now()
			return first(
				func() error { return tx.PutRecord("test", "k", []byte(own)) },
				func() error { return tx.PutLot(revue.Lot{ID: "x", Seq: 1, Question: own, CreatedAt: at}) },
				func() error { return tx.PutAsk(revue.AskRecord{ID: "x", Seq: 1, Question: own}) },
				func() error { return tx.PutDecision(revue.Decision{ID: "x", Seq: 1, Question: own}) },
				func() error { return tx.PutContext(revue.ContextItem{ID: "x", Seq: 1, Body: own}) },
				func() error { return tx.Append(revue.Event{Seq: 1, At: at, Ref: own}) },
				func() error { return tx.DeleteRecord("test", "gone") },
			)
		})
		if err != nil {
			return fmt.Errorf("Update of workspace %q: %w", name, err)
		}
	}
	for i, name := range names {
		own := strconv.Itoa(i)
		check := func(what, got string, n int, err error) error {
			if err != nil {
				return fmt.Errorf("workspace %q: %s: %w", name, what, err)
			}
			if n != 1 || got != own {
				return fmt.Errorf("workspace %q: %s: got %d of them, one is of workspace number %s", name, what, n, got)
			}
			return nil
		}
		err := e.view(s, name, func(tx revue.Tx) error {
			lot, lotErr := tx.Lot("x")
			lots, lotsErr := tx.FindLots(revue.LotQuery{})
			ask, askErr := tx.Ask("x")
			asks, asksErr := tx.FindAsks(revue.AskQuery{})
			dec, decErr := tx.Decision("x")
			decs, decsErr := tx.FindDecisions(revue.DecisionQuery{})
			byID, byIDErr := tx.FindDecisions(revue.DecisionQuery{IDs: []string{"x"}})
			item, itemErr := tx.Context("x")
			items, itemsErr := tx.FindContexts(revue.ContextQuery{})
			head, headErr := tx.Head()
			events, eventsErr := tx.Events(0, 100)
			rec, recErr := tx.Record("test", "k")
			recs, recsErr := tx.ListRecords("test")
			return errors.Join(
				check("Lot", lot.Question, 1, lotErr), check("FindLots", at(lots, 0).Question, len(lots), lotsErr),
				check("Ask", ask.Question, 1, askErr), check("FindAsks", at(asks, 0).Question, len(asks), asksErr),
				check("Decision", dec.Question, 1, decErr), check("FindDecisions", at(decs, 0).Question, len(decs), decsErr),
				check("FindDecisions by id", at(byID, 0).Question, len(byID), byIDErr),
				check("Context", item.Body, 1, itemErr), check("FindContexts", at(items, 0).Body, len(items), itemsErr),
				check("Head", head.Ref, 1, headErr), check("Events", at(events, 0).Ref, len(events), eventsErr),
				check("Record", string(rec), 1, recErr), check("ListRecords", string(at(recs, 0).Value), len(recs), recsErr),
			)
		})
		if err != nil {
			return err
		}
	}
	// A deletion in one is none in the others.
	if err := e.update(s, "a", func(tx revue.Tx) error { return tx.DeleteRecord("test", "k") }); err != nil {
		return fmt.Errorf("DeleteRecord: %w", err)
	}
	return e.holds(s, "b", "k", "2", "after the record was deleted in another workspace")
}

// at returns the i-th element, or the zero value where there is none.
func at[T any](l []T, i int) T {
	if i < len(l) {
		return l[i]
	}
	var zero T
	return zero
}

func readYourWrites(e *env) error {
	s := e.open()
	for i := range 50 {
		v := strconv.Itoa(i)
		if err := e.put(s, "ws", "k", v); err != nil {
			return err
		}
		if err := e.holds(s, "ws", "k", v, "a View begun after Update returned"); err != nil {
			return err
		}
	}
	return nil
}

func survives(e *env) error {
	open := e.place()
	s := open()
	var now time.Time
	err := e.update(s, "ws", func(tx revue.Tx) error {
		now = tx.Now()
		return first(
			func() error { return tx.PutRecord("test", "k", []byte("v")) },
			func() error { return tx.PutLot(revue.Lot{ID: "lot", Seq: 1, Status: revue.StatusOpen}) },
			func() error { return tx.Append(revue.Event{Seq: 1, At: now}) },
		)
	})
	if err != nil {
		return fmt.Errorf("Update: %w", err)
	}
	if err := e.soon("Close", s.Close); err != nil {
		return fmt.Errorf("Close: %w", err)
	}
	s = open()
	if err := e.holds(s, "ws", "k", "v", "after the place was opened again"); err != nil {
		return err
	}
	return e.update(s, "ws", func(tx revue.Tx) error {
		if tx.Now().Before(now) {
			return fmt.Errorf("after a restart Now is %v, before the last commit at %v", tx.Now(), now)
		}
		lots, err := tx.FindLots(revue.LotQuery{Status: revue.StatusOpen})
		if err != nil || len(lots) != 1 {
			return fmt.Errorf("after a restart FindLots returns %d lots and error %v, want 1", len(lots), err)
		}
		if err := tx.Append(revue.Event{Seq: 2, At: tx.Now()}); err != nil {
			return fmt.Errorf("after a restart the journal does not go on at 2: %w", err)
		}
		return nil
	})
}

func ownWrites(e *env) error {
	s := e.open()
	return e.update(s, "ws", func(tx revue.Tx) error {
		for _, v := range []string{"one", "two"} {
			err := first(
				func() error { return tx.PutRecord("test", "k", []byte(v)) },
				func() error { return tx.PutLot(revue.Lot{ID: "x", Seq: 1, Question: v}) },
			)
			if err != nil {
				return err
			}
			got, err := read(tx, "k")
			if err != nil || got != v {
				return fmt.Errorf("in the Update that put %q Record returns %q and error %v", v, got, err)
			}
			lots, err := tx.FindLots(revue.LotQuery{})
			if err != nil || len(lots) != 1 || lots[0].Question != v {
				return fmt.Errorf("in the Update that put lot %q FindLots returns %+v and error %v", v, lots, err)
			}
		}
		if err := tx.DeleteRecord("test", "k"); err != nil {
			return err
		}
		if got, err := read(tx, "k"); err != nil || got != "absent" {
			return fmt.Errorf("in the Update that deleted a record it is still %q (error %v)", got, err)
		}
		return nil
	})
}

func snapshot(e *env) error {
	s := e.open()
	write := func(v string) error {
		return s.Update(e.ctx(), "ws", func(tx revue.Tx) error {
			head, err := tx.Head()
			if err != nil {
				return err
			}
			return first(
				func() error { return tx.PutRecord("test", "a", []byte(v)) },
				func() error { return tx.PutRecord("test", "b", []byte(v)) },
				func() error { return tx.PutRecord("test", v, []byte(v)) },
				func() error { return tx.PutLot(revue.Lot{ID: v, Seq: head.Seq + 1, Status: revue.StatusOpen}) },
				func() error { return tx.Append(revue.Event{Seq: head.Seq + 1, At: tx.Now()}) },
			)
		})
	}
	if err := e.soon("Update", func() error { return write("old") }); err != nil {
		return fmt.Errorf("Update: %w", err)
	}
	look := func(tx revue.Tx) (string, error) {
		a, errA := read(tx, "a")
		b, errB := read(tx, "b")
		recs, errC := tx.ListRecords("test")
		lots, errD := tx.FindLots(revue.LotQuery{Status: revue.StatusOpen})
		head, errE := tx.Head()
		events, errF := tx.Events(0, 100)
		return fmt.Sprintf("a=%s b=%s records=%d lots=%d head=%d events=%d now=%v", a, b, len(recs), len(lots), head.Seq, len(events), tx.Now()),
			errors.Join(errA, errB, errC, errD, errE, errF)
	}
	written := make(chan error, 1)
	err := e.view(s, "ws", func(tx revue.Tx) error {
		before, err := look(tx)
		if err != nil {
			return err
		}
		done := make(chan struct{})
		go func() {
			written <- write("new")
			close(done)
		}()
		select {
		case <-done:
		case <-time.After(min(e.patience, 200*time.Millisecond)): // a store may make the Update wait for the View
		}
		after, err := look(tx)
		if err != nil {
			return err
		}
		if after != before {
			return fmt.Errorf("a View saw first %s, then %s: an Update that ran meanwhile shows", before, after)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := e.await("the Update beside the View", written); err != nil {
		return fmt.Errorf("Update beside a View: %w", err)
	}
	return e.holds(s, "ws", "b", "new", "after the View and the Update beside it")
}

func viewCannotWrite(e *env) error {
	s := e.open()
	if err := e.put(s, "ws", "k", "v"); err != nil {
		return err
	}
	writes := map[string]func(revue.Tx) error{
		"PutLot":       func(tx revue.Tx) error { return tx.PutLot(revue.Lot{ID: "x", Seq: 1}) },
		"PutAsk":       func(tx revue.Tx) error { return tx.PutAsk(revue.AskRecord{ID: "x", Seq: 1}) },
		"PutDecision":  func(tx revue.Tx) error { return tx.PutDecision(revue.Decision{ID: "x", Seq: 1}) },
		"PutContext":   func(tx revue.Tx) error { return tx.PutContext(revue.ContextItem{ID: "x", Seq: 1}) },
		"Append":       func(tx revue.Tx) error { return tx.Append(revue.Event{Seq: 1}) },
		"PutRecord":    func(tx revue.Tx) error { return tx.PutRecord("test", "k", []byte("changed")) },
		"DeleteRecord": func(tx revue.Tx) error { return tx.DeleteRecord("test", "k") },
	}
	for name, write := range writes {
		var got error
		err := e.view(s, "ws", func(tx revue.Tx) error { got = write(tx); return nil })
		if got == nil && err == nil {
			return fmt.Errorf("%s in a View returned nil", name)
		}
	}
	return first(
		func() error { return e.holds(s, "ws", "k", "v", "after writes in Views") },
		func() error {
			return e.view(s, "ws", func(tx revue.Tx) error {
				_, lot := tx.Lot("x")
				_, ask := tx.Ask("x")
				_, dec := tx.Decision("x")
				_, item := tx.Context("x")
				head, err := tx.Head()
				if lot == nil || ask == nil || dec == nil || item == nil || err != nil || head.Seq != 0 {
					return errors.New("a write in a View took effect")
				}
				return nil
			})
		},
	)
}

// everything writes one of each.
func everything(tx revue.Tx) error {
	return first(
		func() error { return tx.PutLot(revue.Lot{ID: "x", Seq: 1}) },
		func() error { return tx.PutAsk(revue.AskRecord{ID: "x", Seq: 1}) },
		func() error { return tx.PutDecision(revue.Decision{ID: "x", Seq: 1}) },
		func() error { return tx.PutContext(revue.ContextItem{ID: "x", Seq: 1}) },
		func() error { return tx.Append(revue.Event{Seq: 1, At: tx.Now()}) },
		func() error { return tx.PutRecord("test", "new", []byte("v")) },
		func() error { return tx.PutRecord("test", "k", []byte("changed")) },
		func() error { return tx.DeleteRecord("test", "d") },
	)
}

// nothing fails unless none of what everything wrote is there.
func (e *env) nothing(s revue.Store, when string) error {
	return e.view(s, "ws", func(tx revue.Tx) error {
		_, lot := tx.Lot("x")
		_, ask := tx.Ask("x")
		_, dec := tx.Decision("x")
		_, item := tx.Context("x")
		head, headErr := tx.Head()
		fresh, err1 := read(tx, "new")
		kept, err2 := read(tx, "k")
		deleted, err3 := read(tx, "d")
		if err := errors.Join(headErr, err1, err2, err3); err != nil {
			return err
		}
		for what, wrote := range map[string]bool{
			"PutLot": lot == nil, "PutAsk": ask == nil, "PutDecision": dec == nil, "PutContext": item == nil,
			"Append": head.Seq != 0, "PutRecord of a new one": fresh != "absent",
			"PutRecord of an old one": kept != "v", "DeleteRecord": deleted != "v",
		} {
			if wrote {
				return fmt.Errorf("%s: %s took effect", when, what)
			}
		}
		return nil
	})
}

// prepared is a store with the two records that everything changes.
func (e *env) prepared() (revue.Store, error) {
	s := e.open()
	return s, first(
		func() error { return e.put(s, "ws", "k", "v") },
		func() error { return e.put(s, "ws", "d", "v") },
	)
}

func rollsBack(e *env) error {
	s, err := e.prepared()
	if err != nil {
		return err
	}
	err = e.update(s, "ws", func(tx revue.Tx) error {
		if err := everything(tx); err != nil {
			return err
		}
		return errFn
	})
	if err == nil {
		return errors.New("Update returned nil though fn returned an error")
	}
	if !errors.Is(err, errFn) {
		return fmt.Errorf("Update: %w", err)
	}
	return first(
		func() error { return e.nothing(s, "after fn returned an error") },
		// The journal goes on where it was.
		func() error { return e.update(s, "ws", everything) },
	)
}

// twice is an error that is not comparable to anything but itself.
type twice struct{ n int }

func (t *twice) Error() string { return "error " + strconv.Itoa(t.n) }

func sameError(e *env) error {
	s := e.open()
	for _, want := range []error{
		&twice{1}, errFn, context.Canceled,
		&revue.Error{Code: revue.CodeConflict, ID: "lot_1", Message: "another was faster"},
		fmt.Errorf("wrapped: %w", revue.ErrUnavailable),
	} {
		if got := e.update(s, "ws", func(revue.Tx) error { return want }); got != want { //nolint:errorlint // the very same
			return fmt.Errorf("fn of an Update returned %#v, Update returned %#v", want, got)
		}
		if got := e.view(s, "ws", func(revue.Tx) error { return want }); got != want { //nolint:errorlint // the very same
			return fmt.Errorf("fn of a View returned %#v, View returned %#v", want, got)
		}
	}
	return nil
}

// leaves runs Updates whose fn is left by other means than a return.
func leaves(e *env, leave func()) error {
	s, err := e.prepared()
	if err != nil {
		return err
	}
	for range 10 { // more than any pool of connections has
		for _, call := range []func(context.Context, string, func(revue.Tx) error) error{s.Update, s.View} {
			ended := make(chan error, 1)
			go func() {
				returned := true
				var failure error
				defer func() {
					_ = recover()
					if returned {
						ended <- nil
					} else {
						ended <- fmt.Errorf("it returned %w instead", errOr(failure))
					}
				}()
				failure = call(e.ctx(), "ws", func(tx revue.Tx) error {
					if err := everything(tx); err != nil && errors.Is(err, revue.ErrUnavailable) {
						return err
					}
					leave()
					return nil
				})
				returned = false
			}()
			if err := e.await("a transaction whose fn was left", ended); err != nil {
				return fmt.Errorf("a panic or exit of fn did not reach the caller: %w", err)
			}
		}
	}
	return first(
		func() error { return e.nothing(s, "after fn was left by a panic or an exit") },
		func() error {
			if err := e.update(s, "ws", everything); err != nil {
				return fmt.Errorf("an Update after one that was left by a panic or an exit: %w", err)
			}
			return nil
		},
	)
}

func errOr(err error) error {
	if err == nil {
		return errors.New("nil")
	}
	return err
}

// counts has many goroutines, on one or several stores of the same data, add to one counter and to one
// journal.
func counts(e *env, stores ...revue.Store) error {
	const workers, rounds = 8, 10
	var wg sync.WaitGroup
	failures := make(chan error, workers)
	for w := range workers {
		wg.Go(func() {
			s := stores[w%len(stores)]
			for range rounds {
				if err := s.Update(e.ctx(), "ws", increment); err != nil {
					failures <- fmt.Errorf("Update: %w", err)
					return
				}
			}
		})
	}
	err := e.soon("many Updates at once", func() error {
		wg.Wait()
		close(failures)
		return <-failures
	})
	if err != nil {
		return err
	}
	for _, s := range stores {
		err := e.view(s, "ws", func(tx revue.Tx) error {
			got, err := read(tx, "n")
			if err != nil {
				return err
			}
			if want := strconv.Itoa(workers * rounds); got != want {
				return fmt.Errorf("%s Updates that add one returned nil, the counter is %s", want, got)
			}
			events, err := tx.Events(0, workers*rounds+1)
			if err != nil {
				return err
			}
			if len(events) != workers*rounds {
				return fmt.Errorf("%d Updates that append an event returned nil, the journal has %d", workers*rounds, len(events))
			}
			return revue.VerifyChain(revue.Event{}, events)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// increment adds one to the counter and an event to the chain.
func increment(tx revue.Tx) error {
	v, err := read(tx, "n")
	if err != nil {
		return err
	}
	n, _ := strconv.Atoi(v) // absent is 0
	head, err := tx.Head()
	if err != nil {
		return err
	}
	runtime.Gosched()
	next := revue.Event{Seq: head.Seq + 1, At: tx.Now(), Ref: strconv.Itoa(n + 1), Prev: head.Hash}
	next.Hash = next.Sum()
	if err := tx.Append(next); err != nil {
		return err
	}
	return tx.PutRecord("test", "n", []byte(strconv.Itoa(n+1)))
}

// writeSkew has each of many Updates add a record only where the workspace has fewer than a limit: each
// reads what the others write, and writes what no other does.
func writeSkew(e *env) error {
	s := e.open()
	const workers, limit = 12, 5
	var wg sync.WaitGroup
	failures := make(chan error, workers)
	for w := range workers {
		wg.Go(func() {
			failures <- s.Update(e.ctx(), "ws", func(tx revue.Tx) error {
				recs, err := tx.ListRecords("seat")
				if err != nil {
					return err
				}
				runtime.Gosched()
				if len(recs) >= limit {
					return nil
				}
				return tx.PutRecord("seat", strconv.Itoa(w), nil)
			})
		})
	}
	err := e.soon("many Updates at once", func() error {
		wg.Wait()
		close(failures)
		for err := range failures {
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return e.view(s, "ws", func(tx revue.Tx) error {
		recs, err := tx.ListRecords("seat")
		if err != nil {
			return err
		}
		if len(recs) != limit {
			return fmt.Errorf("each of %d Updates wrote only if there were fewer than %d records; there are %d", workers, limit, len(recs))
		}
		return nil
	})
}

func wantEnded(err, want error) error {
	switch {
	case err == nil:
		return errors.New("Update returned nil though its context had ended")
	case !errors.Is(err, want):
		return fmt.Errorf("Update returned %#v, which does not wrap %w", err, want)
	}
	return nil
}

func cancelledBefore(e *env) error {
	s, err := e.prepared()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(e.ctx())
	cancel()
	err = e.soon("Update", func() error { return s.Update(ctx, "ws", everything) })
	return first(
		func() error { return wantEnded(err, context.Canceled) },
		func() error { return e.nothing(s, "after an Update with a context that had ended") },
	)
}

func cancelledInside(e *env) error {
	s, err := e.prepared()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(e.ctx())
	defer cancel()
	err = e.soon("Update", func() error {
		return s.Update(ctx, "ws", func(tx revue.Tx) error {
			if err := everything(tx); err != nil {
				return err
			}
			cancel()
			return nil
		})
	})
	return first(
		func() error { return wantEnded(err, context.Canceled) },
		func() error { return e.nothing(s, "after an Update whose context ended in fn") },
		func() error { return e.update(s, "ws", everything) },
	)
}

func cancelledWaiting(e *env) error {
	s, err := e.prepared()
	if err != nil {
		return err
	}
	inside, release, held := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		var once sync.Once
		held <- s.Update(e.ctx(), "ws", func(revue.Tx) error {
			once.Do(func() { close(inside) })
			<-release
			return nil
		})
	}()
	letGo := sync.OnceFunc(func() { close(release) })
	defer letGo()
	select {
	case <-inside:
	case err := <-held:
		return fmt.Errorf("Update: %w", errOr(err))
	}
	ctx, cancel := context.WithTimeout(e.ctx(), 20*time.Millisecond)
	defer cancel()
	err = e.soon("an Update that waits for another, though its context ended,", func() error {
		return s.Update(ctx, "ws", everything)
	})
	letGo()
	return first(
		func() error { return wantEnded(err, context.DeadlineExceeded) },
		func() error { return e.await("the Update that was waited for", held) },
		func() error { return e.nothing(s, "after an Update whose context ended while it waited") },
	)
}
