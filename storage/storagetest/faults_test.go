package storagetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/storage/memstore"
)

// faulty is a good store with one thing wrong. A nil field is as it should be.
type faulty struct {
	revue.Store

	update func(ctx context.Context, ws string, fn func(revue.Tx) error) error
	view   func(ctx context.Context, ws string, fn func(revue.Tx) error) error
	watch  func(ctx context.Context, wake func(string)) error
	close  func() error
	tx     func(*faultyTx)
}

func (f *faulty) wrap(fn func(revue.Tx) error) func(revue.Tx) error {
	if f.tx == nil {
		return fn
	}
	return func(tx revue.Tx) error {
		w := &faultyTx{Tx: tx}
		f.tx(w)
		return fn(w)
	}
}

func (f *faulty) Update(ctx context.Context, ws string, fn func(revue.Tx) error) error {
	if f.update != nil {
		return f.update(ctx, ws, f.wrap(fn))
	}
	return f.Store.Update(ctx, ws, f.wrap(fn))
}

func (f *faulty) View(ctx context.Context, ws string, fn func(revue.Tx) error) error {
	if f.view != nil {
		return f.view(ctx, ws, f.wrap(fn))
	}
	return f.Store.View(ctx, ws, f.wrap(fn))
}

func (f *faulty) Watch(ctx context.Context, wake func(string)) error {
	if f.watch != nil {
		return f.watch(ctx, wake)
	}
	return f.Store.Watch(ctx, wake)
}

func (f *faulty) Close() error {
	if f.close != nil {
		return f.close()
	}
	return f.Store.Close()
}

// faultyTx is a transaction some of whose methods are replaced.
type faultyTx struct {
	revue.Tx

	now         func() time.Time
	lot         func(string) (revue.Lot, error)
	putLot      func(revue.Lot) error
	findLots    func(revue.LotQuery) ([]revue.Lot, error)
	putAsk      func(revue.AskRecord) error
	findAsks    func(revue.AskQuery) ([]revue.AskRecord, error)
	putDecision func(revue.Decision) error
	findDecs    func(revue.DecisionQuery) ([]revue.Decision, error)
	putContext  func(revue.ContextItem) error
	findItems   func(revue.ContextQuery) ([]revue.ContextItem, error)
	head        func() (revue.Event, error)
	appendEvent func(revue.Event) error
	events      func(revue.Seq, int) ([]revue.Event, error)
	record      func(kind, key string) ([]byte, error)
	putRecord   func(kind, key string, v []byte) error
	deleteRec   func(kind, key string) error
	listRecords func(kind string) ([]revue.Record, error)
}

func or[F any](f, otherwise F, set bool) F {
	if set {
		return f
	}
	return otherwise
}

func (t *faultyTx) Now() time.Time { return or(t.now, t.Tx.Now, t.now != nil)() }
func (t *faultyTx) Lot(id string) (revue.Lot, error) {
	return or(t.lot, t.Tx.Lot, t.lot != nil)(id)
}

func (t *faultyTx) PutLot(l revue.Lot) error { return or(t.putLot, t.Tx.PutLot, t.putLot != nil)(l) }

func (t *faultyTx) FindLots(q revue.LotQuery) ([]revue.Lot, error) {
	return or(t.findLots, t.Tx.FindLots, t.findLots != nil)(q)
}

func (t *faultyTx) PutAsk(a revue.AskRecord) error {
	return or(t.putAsk, t.Tx.PutAsk, t.putAsk != nil)(a)
}

func (t *faultyTx) FindAsks(q revue.AskQuery) ([]revue.AskRecord, error) {
	return or(t.findAsks, t.Tx.FindAsks, t.findAsks != nil)(q)
}

func (t *faultyTx) PutDecision(d revue.Decision) error {
	return or(t.putDecision, t.Tx.PutDecision, t.putDecision != nil)(d)
}

func (t *faultyTx) FindDecisions(q revue.DecisionQuery) ([]revue.Decision, error) {
	return or(t.findDecs, t.Tx.FindDecisions, t.findDecs != nil)(q)
}

func (t *faultyTx) PutContext(c revue.ContextItem) error {
	return or(t.putContext, t.Tx.PutContext, t.putContext != nil)(c)
}

func (t *faultyTx) FindContexts(q revue.ContextQuery) ([]revue.ContextItem, error) {
	return or(t.findItems, t.Tx.FindContexts, t.findItems != nil)(q)
}
func (t *faultyTx) Head() (revue.Event, error) { return or(t.head, t.Tx.Head, t.head != nil)() }
func (t *faultyTx) Append(e revue.Event) error {
	return or(t.appendEvent, t.Tx.Append, t.appendEvent != nil)(e)
}

func (t *faultyTx) Events(after revue.Seq, limit int) ([]revue.Event, error) {
	return or(t.events, t.Tx.Events, t.events != nil)(after, limit)
}

func (t *faultyTx) Record(kind, key string) ([]byte, error) {
	return or(t.record, t.Tx.Record, t.record != nil)(kind, key)
}

func (t *faultyTx) PutRecord(kind, key string, v []byte) error {
	return or(t.putRecord, t.Tx.PutRecord, t.putRecord != nil)(kind, key, v)
}

func (t *faultyTx) DeleteRecord(kind, key string) error {
	return or(t.deleteRec, t.Tx.DeleteRecord, t.deleteRec != nil)(kind, key)
}

func (t *faultyTx) ListRecords(kind string) ([]revue.Record, error) {
	return or(t.listRecords, t.Tx.ListRecords, t.listRecords != nil)(kind)
}

// handle is one of several on the same store: to close it leaves the others open.
type handle struct {
	revue.Store

	done   context.Context //nolint:containedctx // what Close ends
	closed context.CancelFunc
}

func newHandle(s revue.Store) *handle {
	ctx, cancel := context.WithCancel(context.Background())
	return &handle{s, ctx, cancel}
}

func (h *handle) err() error {
	if h.done.Err() != nil {
		return revue.ErrUnavailable
	}
	return nil
}

func (h *handle) Update(ctx context.Context, ws string, fn func(revue.Tx) error) error {
	if err := h.err(); err != nil {
		return err
	}
	return h.Store.Update(ctx, ws, fn)
}

func (h *handle) View(ctx context.Context, ws string, fn func(revue.Tx) error) error {
	if err := h.err(); err != nil {
		return err
	}
	return h.Store.View(ctx, ws, fn)
}

func (h *handle) Close() error { h.closed(); return nil }

// good is a suite whose every clause passes.
func good() Suite {
	return Suite{
		Open: func(*testing.T) revue.Store { return memstore.New(nil) },
		Place: func(*testing.T) func() revue.Store {
			s := memstore.New(nil)
			return func() revue.Store { return newHandle(s) }
		},
		OpenAt: func(_ *testing.T, now func() time.Time) revue.Store {
			return memstore.New(&memstore.Options{Now: now})
		},
	}
}

// TestGoodStore shows that no clause asks for what a good store does not do.
func TestGoodStore(t *testing.T) { good().Run(t) }

// inTx is a fault of the transactions.
func inTx(spoil func(*faultyTx)) func(*memstore.Store) revue.Store {
	return func(m *memstore.Store) revue.Store { return &faulty{Store: m, tx: spoil} }
}

// inStore is a fault of the store.
func inStore(spoil func(*faulty)) func(*memstore.Store) revue.Store {
	return func(m *memstore.Store) revue.Store {
		f := &faulty{Store: m}
		spoil(f)
		return f
	}
}

// unserialised runs the function on a snapshot and writes afterwards, as a store does that forgets to
// lock. It lets other Updates in between.
func unserialised(f *faulty) {
	f.update = func(ctx context.Context, ws string, fn func(revue.Tx) error) error {
		var writes []func(revue.Tx) error
		err := f.Store.View(ctx, ws, func(tx revue.Tx) error {
			return fn(&faultyTx{
				Tx: tx,
				putRecord: func(kind, k string, v []byte) error {
					writes = append(writes, func(tx revue.Tx) error { return tx.PutRecord(kind, k, v) })
					return nil
				},
				appendEvent: func(e revue.Event) error {
					writes = append(writes, func(tx revue.Tx) error {
						head, err := tx.Head()
						e.Seq, e.Prev = head.Seq+1, head.Hash
						e.Hash = e.Sum()
						return errors.Join(err, tx.Append(e))
					})
					return nil
				},
			})
		})
		if err != nil {
			return err
		}
		<-time.After(2 * time.Millisecond)
		return f.Store.Update(ctx, ws, func(tx revue.Tx) error {
			for _, w := range writes {
				if err := w(tx); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

func TestFaultsAreFound(t *testing.T) {
	faults := []struct {
		clause string
		fault  string
		spoil  func(*memstore.Store) revue.Store
	}{
		{"workspaces are separate", "all workspaces are one", inStore(func(f *faulty) {
			f.update = func(ctx context.Context, _ string, fn func(revue.Tx) error) error {
				return f.Store.Update(ctx, "one", fn)
			}
			f.view = func(ctx context.Context, _ string, fn func(revue.Tx) error) error {
				return f.Store.View(ctx, "one", fn)
			}
		})},
		{"workspaces are separate", "workspaces differ in case alone", inStore(func(f *faulty) {
			f.update = func(ctx context.Context, ws string, fn func(revue.Tx) error) error {
				return f.Store.Update(ctx, strings.ToLower(ws), fn)
			}
			f.view = func(ctx context.Context, ws string, fn func(revue.Tx) error) error {
				return f.Store.View(ctx, strings.ToLower(ws), fn)
			}
		})},
		{"an update is seen by the next view", "a View lags by one Update", inStore(func(f *faulty) {
			lagging := memstore.New(nil)
			before := func(context.Context) error { return nil }
			f.update = func(ctx context.Context, ws string, fn func(revue.Tx) error) error {
				if err := before(ctx); err != nil {
					return err
				}
				before = func(ctx context.Context) error { return lagging.Update(ctx, ws, fn) }
				return f.Store.Update(ctx, ws, fn)
			}
			f.view = lagging.View
		})},
		{"an update sees its own writes", "reads are of what is committed", inStore(func(f *faulty) {
			f.update = func(ctx context.Context, ws string, fn func(revue.Tx) error) error {
				return f.Store.Update(ctx, ws, func(tx revue.Tx) error {
					return f.Store.View(ctx, ws, func(old revue.Tx) error {
						return fn(&faultyTx{Tx: tx, record: old.Record, findLots: old.FindLots})
					})
				})
			}
		})},
		{"a view is a snapshot", "each read of a View is of the latest", inStore(func(f *faulty) {
			f.view = func(ctx context.Context, ws string, fn func(revue.Tx) error) error {
				return f.Store.View(ctx, ws, func(tx revue.Tx) error {
					return fn(&faultyTx{Tx: tx, record: func(kind, k string) (v []byte, err error) {
						err = f.Store.View(ctx, ws, func(tx revue.Tx) error { v, err = tx.Record(kind, k); return err })
						return v, err
					}})
				})
			}
		})},
		{"a write in a view fails", "a View can write", inStore(func(f *faulty) { f.view = f.Store.Update })},
		{"a write in a view fails", "a write in a View is silently ignored", inStore(func(f *faulty) {
			f.view = func(ctx context.Context, ws string, fn func(revue.Tx) error) error {
				return f.Store.View(ctx, ws, func(tx revue.Tx) error {
					return fn(&faultyTx{Tx: tx, putLot: func(revue.Lot) error { return nil }})
				})
			}
		})},
		{"an error rolls back", "an error commits", inStore(func(f *faulty) {
			f.update = func(ctx context.Context, ws string, fn func(revue.Tx) error) error {
				var failed error
				err := f.Store.Update(ctx, ws, func(tx revue.Tx) error { failed = fn(tx); return nil })
				return cmp.Or(err, failed)
			}
		})},
		{"an error rolls back", "records are written at once", inStore(func(f *faulty) {
			f.update = func(ctx context.Context, ws string, fn func(revue.Tx) error) error {
				var late []func(revue.Tx) error
				err := f.Store.Update(ctx, ws, func(tx revue.Tx) error {
					return fn(&faultyTx{Tx: tx, deleteRec: func(kind, k string) error {
						late = append(late, func(tx revue.Tx) error { return tx.DeleteRecord(kind, k) })
						return nil
					}})
				})
				for _, l := range late {
					err = cmp.Or(err, f.Store.Update(ctx, ws, l))
					_ = f.Store.Update(ctx, ws, l)
				}
				return err
			}
		})},
		{"an error is returned as it is", "errors are wrapped", inStore(func(f *faulty) {
			f.update = func(ctx context.Context, ws string, fn func(revue.Tx) error) error {
				if err := f.Store.Update(ctx, ws, fn); err != nil {
					return fmt.Errorf("update: %w", err)
				}
				return nil
			}
		})},
		{"an error is returned as it is", "errors of a View are given a code", inStore(func(f *faulty) {
			f.view = func(ctx context.Context, ws string, fn func(revue.Tx) error) error {
				if err := f.Store.View(ctx, ws, fn); err != nil {
					return &revue.Error{Code: revue.CodeInternal, Err: err}
				}
				return nil
			}
		})},
		{"a panic rolls back and releases the workspace", "a panic keeps the lock", inStore(func(f *faulty) {
			var mu sync.Mutex
			f.update = func(ctx context.Context, ws string, fn func(revue.Tx) error) error {
				mu.Lock()
				err := f.Store.Update(ctx, ws, fn)
				mu.Unlock()
				return err
			}
		})},
		{"a panic rolls back and releases the workspace", "a panic commits", inStore(func(f *faulty) {
			f.update = func(ctx context.Context, ws string, fn func(revue.Tx) error) error {
				var caught any
				err := f.Store.Update(ctx, ws, func(tx revue.Tx) error {
					defer func() { caught = recover() }()
					return fn(tx)
				})
				if caught != nil {
					panic(caught)
				}
				return err
			}
		})},
		{"a panic rolls back and releases the workspace", "a panic is swallowed", inStore(func(f *faulty) {
			f.update = func(ctx context.Context, ws string, fn func(revue.Tx) error) (err error) {
				defer func() {
					if recover() != nil {
						err = nil
					}
				}()
				return f.Store.Update(ctx, ws, fn)
			}
		})},
		{"a goroutine that exits in fn rolls back and releases the workspace", "an exit keeps the lock", inStore(func(f *faulty) {
			var mu sync.Mutex
			f.update = func(ctx context.Context, ws string, fn func(revue.Tx) error) error {
				mu.Lock()
				err := f.Store.Update(ctx, ws, fn)
				mu.Unlock()
				return err
			}
		})},
		{"no update is lost", "updates are not serialised", inStore(unserialised)},
		{"updates are serialised over all they read", "only what is written is serialised", inStore(unserialised)},
		{"an update with a context that has ended writes nothing", "the context is ignored", inStore(func(f *faulty) {
			f.update = func(ctx context.Context, ws string, fn func(revue.Tx) error) error {
				return f.Store.Update(context.WithoutCancel(ctx), ws, fn)
			}
		})},
		{"an update whose context ends in fn writes nothing", "the context is looked at first alone", inStore(func(f *faulty) {
			f.update = func(ctx context.Context, ws string, fn func(revue.Tx) error) error {
				return cmp.Or(ctx.Err(), f.Store.Update(context.WithoutCancel(ctx), ws, fn))
			}
		})},
		{"an update whose context ends in fn writes nothing", "it commits and returns ctx.Err()", inStore(func(f *faulty) {
			f.update = func(ctx context.Context, ws string, fn func(revue.Tx) error) error {
				return cmp.Or(f.Store.Update(context.WithoutCancel(ctx), ws, fn), ctx.Err())
			}
		})},
		{"an update whose context ends in fn writes nothing", "the error says nothing of the context", inStore(func(f *faulty) {
			f.update = func(ctx context.Context, ws string, fn func(revue.Tx) error) error {
				err := f.Store.Update(ctx, ws, fn)
				if errors.Is(err, context.Canceled) {
					return &revue.Error{Code: revue.CodeUnavailable}
				}
				return err
			}
		})},
		{"an update that waits for another ends with its context", "waiting ignores the context", inStore(func(f *faulty) {
			var mu sync.Mutex
			f.update = func(ctx context.Context, ws string, fn func(revue.Tx) error) error {
				mu.Lock()
				defer mu.Unlock()
				return f.Store.Update(ctx, ws, fn)
			}
		})},

		{"a lot comes back equal", "times are local", inTx(func(t *faultyTx) {
			t.lot = func(id string) (revue.Lot, error) {
				l, err := t.Tx.Lot(id)
				l.CreatedAt = l.CreatedAt.In(time.FixedZone("here", 3600))
				return l, err
			}
		})},
		{"a lot comes back equal", "lists lose a field", inTx(func(t *faultyTx) {
			t.findLots = func(q revue.LotQuery) ([]revue.Lot, error) {
				found, err := t.Tx.FindLots(q)
				for i := range found {
					found[i].Pinned = nil
				}
				return found, err
			}
		})},
		{"a lot comes back equal", "a nested field is lost", inTx(func(t *faultyTx) {
			t.putLot = func(l revue.Lot) error {
				l.Options = slices.Clone(l.Options)
				for i := range l.Options {
					l.Options[i].Consequence = ""
				}
				return t.Tx.PutLot(l)
			}
		})},
		{"an ask comes back equal", "text is trimmed", inTx(func(t *faultyTx) {
			t.putAsk = func(a revue.AskRecord) error {
				a.Question = strings.TrimLeft(a.Question, " ")
				return t.Tx.PutAsk(a)
			}
		})},
		{"an ask comes back equal", "long text is cut", inTx(func(t *faultyTx) {
			t.putAsk = func(a revue.AskRecord) error {
				a.Context = a.Context[:min(len(a.Context), 65_000)]
				return t.Tx.PutAsk(a)
			}
		})},
		{"a decision comes back equal", "numbers go through a float64", inTx(func(t *faultyTx) {
			t.putDecision = func(d revue.Decision) error {
				d.Confirmations = int(float64(d.Confirmations))
				return t.Tx.PutDecision(d)
			}
		})},
		{"a decision comes back equal", "times are kept to the millisecond", inTx(func(t *faultyTx) {
			t.putDecision = func(d revue.Decision) error {
				d.ConfirmedAt = d.ConfirmedAt.Truncate(time.Millisecond)
				return t.Tx.PutDecision(d)
			}
		})},
		{"a context item comes back equal", "line ends are normalised", inTx(func(t *faultyTx) {
			t.putContext = func(c revue.ContextItem) error {
				c.Body = strings.ReplaceAll(c.Body, "\r\n", "\n")
				return t.Tx.PutContext(c)
			}
		})},
		{"a context item comes back equal", "a zero time becomes 1970", inTx(func(t *faultyTx) {
			t.putContext = func(c revue.ContextItem) error {
				if c.ExpiresAt.IsZero() {
					c.ExpiresAt = time.Unix(0, 0)
				}
				return t.Tx.PutContext(c)
			}
		})},
		{"an event comes back equal", "a list loses its order", inTx(func(t *faultyTx) {
			t.appendEvent = func(e revue.Event) error {
				e.Asks = slices.Clone(e.Asks)
				slices.Reverse(e.Asks)
				return t.Tx.Append(e)
			}
		})},
		{"the asks of a lot are not stored with it", "asks come back with the lot", func(m *memstore.Store) revue.Store {
			with := map[string][]revue.AskRecord{}
			return inTx(func(t *faultyTx) {
				t.putLot = func(l revue.Lot) error { with[l.ID] = l.Asks; return t.Tx.PutLot(l) }
				t.lot = func(id string) (revue.Lot, error) {
					l, err := t.Tx.Lot(id)
					l.Asks = with[id]
					return l, err
				}
			})(m)
		}},
		{"put replaces by id", "a second put is ignored", inTx(func(t *faultyTx) {
			t.putLot = func(l revue.Lot) error {
				if _, err := t.Tx.Lot(l.ID); err == nil {
					return nil
				}
				return t.Tx.PutLot(l)
			}
		})},
		{"put replaces by id", "an index keeps the old value", func(m *memstore.Store) revue.Store {
			threads := map[string]string{}
			return inTx(func(t *faultyTx) {
				t.putAsk = func(a revue.AskRecord) error {
					if threads[a.ID] == "" {
						threads[a.ID] = a.Thread
					}
					return t.Tx.PutAsk(a)
				}
				t.findAsks = func(q revue.AskQuery) ([]revue.AskRecord, error) {
					want := q.Thread
					q.Thread = ""
					found, err := t.Tx.FindAsks(q)
					return slices.DeleteFunc(found, func(a revue.AskRecord) bool { return want != "" && threads[a.ID] != want }), err
				}
			})(m)
		}},
		{"what is not there is not found", "nothing is a zero value", inTx(func(t *faultyTx) {
			t.lot = func(id string) (revue.Lot, error) {
				l, err := t.Tx.Lot(id)
				if errors.Is(err, revue.ErrNotFound) {
					err = nil
				}
				return l, err
			}
		})},
		{"what was put belongs to the store", "the caller's bytes are kept", func(m *memstore.Store) revue.Store {
			kept := map[string][]byte{}
			return inTx(func(t *faultyTx) {
				t.putRecord = func(kind, k string, v []byte) error { kept[k] = v; return t.Tx.PutRecord(kind, k, v) }
				t.record = func(_, k string) ([]byte, error) { return slices.Clone(kept[k]), nil }
			})(m)
		}},
		{"what was put belongs to the store", "the store's list is given out", func(m *memstore.Store) revue.Store {
			kept := map[string]revue.Lot{}
			return inTx(func(t *faultyTx) {
				t.lot = func(id string) (revue.Lot, error) {
					if l, ok := kept[id]; ok {
						return l, nil
					}
					l, err := t.Tx.Lot(id)
					kept[id] = l
					return l, err
				}
			})(m)
		}},

		{"lots are found by every combination of fields", "ExpiresBefore does not take in its own time", inTx(func(t *faultyTx) {
			t.findLots = func(q revue.LotQuery) ([]revue.Lot, error) {
				if !q.ExpiresBefore.IsZero() {
					q.ExpiresBefore = q.ExpiresBefore.Add(-time.Microsecond)
				}
				return t.Tx.FindLots(q)
			}
		})},
		{"lots are found by every combination of fields", "a limit is applied before the kind", inTx(func(t *faultyTx) {
			t.findLots = func(q revue.LotQuery) ([]revue.Lot, error) {
				kind := q.Kind
				q.Kind = ""
				found, err := t.Tx.FindLots(q)
				return slices.DeleteFunc(found, func(l revue.Lot) bool { return kind != "" && l.Kind != kind }), err
			}
		})},
		{"asks are found by every combination of fields", "the decision is ignored beside a lot", inTx(func(t *faultyTx) {
			t.findAsks = func(q revue.AskQuery) ([]revue.AskRecord, error) {
				if q.Lot != "" {
					q.Decision = ""
				}
				return t.Tx.FindAsks(q)
			}
		})},
		{"asks are found by every combination of fields", "what was returned is uncollected", inTx(func(t *faultyTx) {
			t.findAsks = func(q revue.AskQuery) ([]revue.AskRecord, error) {
				uncollected := q.Uncollected
				q.Uncollected = false
				found, err := t.Tx.FindAsks(q)
				return slices.DeleteFunc(found, func(a revue.AskRecord) bool { return uncollected && a.DecisionID == "" }), err
			}
		})},
		{"asks are found by every combination of fields", "what has no decision yet is uncollected", inTx(func(t *faultyTx) {
			t.findAsks = func(q revue.AskQuery) ([]revue.AskRecord, error) {
				uncollected := q.Uncollected
				q.Uncollected = false
				found, err := t.Tx.FindAsks(q)
				return slices.DeleteFunc(found, func(a revue.AskRecord) bool { return uncollected && !a.ReturnedAt.IsZero() }), err
			}
		})},
		{"decisions are found by every combination of fields", "decisions come in the order of the ids", inTx(func(t *faultyTx) {
			t.findDecs = func(q revue.DecisionQuery) ([]revue.Decision, error) {
				found, err := t.Tx.FindDecisions(q)
				if len(q.IDs) > 0 {
					slices.SortFunc(found, func(a, b revue.Decision) int {
						return cmp.Compare(slices.Index(q.IDs, a.ID), slices.Index(q.IDs, b.ID))
					})
				}
				return found, err
			}
		})},
		{"many decisions are found by their ids", "a thousand ids at most", inTx(func(t *faultyTx) {
			t.findDecs = func(q revue.DecisionQuery) ([]revue.Decision, error) {
				if len(q.IDs) > 1000 {
					return nil, errors.New("too many variables")
				}
				return t.Tx.FindDecisions(q)
			}
		})},
		{"context is found by every combination of fields", "what was removed is live", inTx(func(t *faultyTx) {
			t.findItems = func(q revue.ContextQuery) ([]revue.ContextItem, error) {
				live := q.Live
				q.Live = time.Time{}
				found, err := t.Tx.FindContexts(q)
				return slices.DeleteFunc(found, func(c revue.ContextItem) bool { return !c.ExpiresAt.After(live) }), err
			}
		})},
		{"what was read and put back is found as it is now", "a status stays", inTx(func(t *faultyTx) {
			t.putLot = func(l revue.Lot) error {
				if was, err := t.Tx.Lot(l.ID); err == nil {
					l.Status = was.Status
				}
				return t.Tx.PutLot(l)
			}
		})},
		{"what was read and put back is found as it is now", "what was returned once stays so", inTx(func(t *faultyTx) {
			t.putAsk = func(a revue.AskRecord) error {
				if was, err := t.Tx.Ask(a.ID); err == nil && !was.ReturnedAt.IsZero() {
					a.ReturnedAt = was.ReturnedAt
				}
				return t.Tx.PutAsk(a)
			}
		})},
		{"pages follow each other", "After takes in its own number", inTx(func(t *faultyTx) {
			t.findLots = func(q revue.LotQuery) ([]revue.Lot, error) {
				if q.After > 0 {
					q.After--
				}
				return t.Tx.FindLots(q)
			}
		})},
		{"pages follow each other", "Newest goes on in the other direction", inTx(func(t *faultyTx) {
			t.findLots = func(q revue.LotQuery) ([]revue.Lot, error) {
				found, err := t.Tx.FindLots(revue.LotQuery{Status: q.Status, After: q.After, Limit: q.Limit})
				if q.Newest {
					slices.Reverse(found)
				}
				return found, err
			}
		})},
		{"queries take text as it is", "keys are compared without case", inTx(func(t *faultyTx) {
			t.findAsks = func(q revue.AskQuery) ([]revue.AskRecord, error) {
				want := q.Key
				q.Key = ""
				found, err := t.Tx.FindAsks(q)
				return slices.DeleteFunc(found, func(a revue.AskRecord) bool { return want != "" && !strings.EqualFold(a.Key, want) }), err
			}
		})},
		{"queries take text as it is", "a stream may be a pattern", inTx(func(t *faultyTx) {
			t.findLots = func(q revue.LotQuery) ([]revue.Lot, error) {
				want, pattern := strings.CutSuffix(q.Stream, "%")
				if !pattern {
					return t.Tx.FindLots(q)
				}
				q.Stream = ""
				found, err := t.Tx.FindLots(q)
				return slices.DeleteFunc(found, func(l revue.Lot) bool { return !strings.HasPrefix(l.Stream, want) }), err
			}
		})},

		{"the journal is numbered without gaps", "a wrong number is put right", inTx(func(t *faultyTx) {
			t.appendEvent = func(e revue.Event) error {
				head, err := t.Tx.Head()
				e.Seq = head.Seq + 1
				return errors.Join(err, t.Tx.Append(e))
			}
		})},
		{"the head is the last event", "the head is found by its text", inTx(func(t *faultyTx) {
			t.head = func() (revue.Event, error) {
				all, err := t.Tx.Events(0, 1000)
				if len(all) == 0 {
					return revue.Event{}, err
				}
				return slices.MaxFunc(all, func(a, b revue.Event) int { return cmp.Compare(a.Ref, b.Ref) }), err
			}
		})},
		{"the head is the last event", "an empty journal has no head", inTx(func(t *faultyTx) {
			t.head = func() (revue.Event, error) {
				h, err := t.Tx.Head()
				if h.Seq == 0 {
					return h, revue.ErrNotFound
				}
				return h, err
			}
		})},
		{"events are read in order and in pages", "a limit is one short", inTx(func(t *faultyTx) {
			t.events = func(after revue.Seq, limit int) ([]revue.Event, error) { return t.Tx.Events(after, max(limit-1, 1)) }
		})},
		{"records come back byte for byte", "an empty value is none", inTx(func(t *faultyTx) {
			t.record = func(kind, k string) ([]byte, error) {
				v, err := t.Tx.Record(kind, k)
				if err == nil && len(v) == 0 {
					err = revue.ErrNotFound
				}
				return v, err
			}
		})},
		{"records come back byte for byte", "values are text", inTx(func(t *faultyTx) {
			t.putRecord = func(kind, k string, v []byte) error {
				return t.Tx.PutRecord(kind, k, []byte(strings.ToValidUTF8(string(v), "?")))
			}
		})},
		{"records are listed by kind in byte order", "keys are sorted as people do", inTx(func(t *faultyTx) {
			t.listRecords = func(kind string) ([]revue.Record, error) {
				recs, err := t.Tx.ListRecords(kind)
				slices.SortFunc(recs, func(a, b revue.Record) int { return cmp.Compare(strings.ToLower(a.Key), strings.ToLower(b.Key)) })
				return recs, err
			}
		})},
		{"records are deleted", "to delete nothing is an error", inTx(func(t *faultyTx) {
			t.deleteRec = func(kind, k string) error {
				if _, err := t.Tx.Record(kind, k); err != nil {
					return err
				}
				return t.Tx.DeleteRecord(kind, k)
			}
		})},

		{"now is in UTC, in whole microseconds and the same at each call", "now is the clock", inTx(func(t *faultyTx) {
			t.now = func() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
		})},
		{"now is in UTC, in whole microseconds and the same at each call", "now is local", inTx(func(t *faultyTx) {
			t.now = func() time.Time { return t.Tx.Now().In(time.FixedZone("here", 3600)) }
		})},
		{"now is in UTC, in whole microseconds and the same at each call", "now has nanoseconds", inTx(func(t *faultyTx) {
			t.now = func() time.Time { return t.Tx.Now().Add(1) }
		})},
		{"watch wakes all once it is in force", "no first wake", inStore(func(f *faulty) {
			f.watch = func(ctx context.Context, wake func(string)) error {
				return f.Store.Watch(ctx, func(ws string) {
					if ws != "" {
						wake(ws)
					}
				})
			}
		})},
		{"watch wakes after each commit", "another workspace is named", inStore(func(f *faulty) {
			f.watch = func(ctx context.Context, wake func(string)) error {
				return f.Store.Watch(ctx, func(ws string) {
					if ws != "" {
						ws += "?"
					}
					wake(ws)
				})
			}
		})},
		{"watch wakes after each commit", "it wakes before the commit", inStore(func(f *faulty) {
			var mu sync.Mutex
			var wakes []func(string)
			viewed := make(chan struct{}, 1)
			f.watch = func(ctx context.Context, wake func(string)) error {
				mu.Lock()
				wakes = append(wakes, wake)
				mu.Unlock()
				wake("")
				<-ctx.Done()
				return nil
			}
			f.view = func(ctx context.Context, ws string, fn func(revue.Tx) error) error {
				err := f.Store.View(ctx, ws, fn)
				select {
				case viewed <- struct{}{}:
				default:
				}
				return err
			}
			f.update = func(ctx context.Context, ws string, fn func(revue.Tx) error) error {
				return f.Store.Update(ctx, ws, func(tx revue.Tx) error {
					select {
					case <-viewed:
					default:
					}
					mu.Lock()
					for _, wake := range wakes {
						wake(ws)
					}
					mu.Unlock()
					select {
					case <-viewed:
					case <-time.After(20 * time.Millisecond):
					}
					return fn(tx)
				})
			}
		})},
		{"watch misses nothing in a burst", "wakes are rationed", inStore(func(f *faulty) {
			f.watch = func(ctx context.Context, wake func(string)) error {
				n := 0
				return f.Store.Watch(ctx, func(ws string) {
					if n++; n < 3 {
						wake(ws)
					}
				})
			}
		})},
		{"watch misses nothing while it starts", "it wakes before it watches", inStore(func(f *faulty) {
			written := make(chan struct{}, 1000)
			viewed := make(chan struct{}, 1000)
			f.view = func(ctx context.Context, ws string, fn func(revue.Tx) error) error {
				err := f.Store.View(ctx, ws, fn)
				viewed <- struct{}{}
				return err
			}
			f.update = func(ctx context.Context, ws string, fn func(revue.Tx) error) error {
				<-viewed // the look after the first wake
				err := f.Store.Update(ctx, ws, fn)
				written <- struct{}{}
				return err
			}
			f.watch = func(ctx context.Context, wake func(string)) error {
				wake("")
				select {
				case <-written:
				case <-ctx.Done():
					return ctx.Err()
				}
				return f.Store.Watch(ctx, func(ws string) {
					if ws != "" {
						wake(ws)
					}
				})
			}
		})},
		{"several watches are all woken", "the last one gets all", inStore(func(f *faulty) {
			var newest atomic.Int64
			f.watch = func(ctx context.Context, wake func(string)) error {
				me := newest.Add(1)
				return f.Store.Watch(ctx, func(ws string) {
					if ws == "" || newest.Load() == me {
						wake(ws)
					}
				})
			}
		})},
		{"watch ends with its context", "it goes on", inStore(func(f *faulty) {
			f.watch = func(ctx context.Context, wake func(string)) error {
				return f.Store.Watch(context.WithoutCancel(ctx), wake)
			}
		})},
		{"watch ends with its context", "it wakes after its end", inStore(func(f *faulty) {
			var after func(string)
			f.watch = func(ctx context.Context, wake func(string)) error {
				after = wake
				return f.Store.Watch(ctx, wake)
			}
			f.update = func(ctx context.Context, ws string, fn func(revue.Tx) error) error {
				err := f.Store.Update(ctx, ws, fn)
				after(ws)
				return err
			}
		})},
		{"a closed store is unavailable", "it goes on after Close", inStore(func(f *faulty) { f.close = func() error { return nil } })},
		{"a closed store is unavailable", "the error has no code", inStore(func(f *faulty) {
			f.view = func(ctx context.Context, ws string, fn func(revue.Tx) error) error {
				if err := f.Store.View(ctx, ws, fn); err != nil {
					return errors.New("closed")
				}
				return nil
			}
		})},
		{"close ends a watch", "Watch blocks after Close", inStore(func(f *faulty) {
			f.watch = func(ctx context.Context, wake func(string)) error {
				_ = f.Store.Watch(ctx, wake)
				<-ctx.Done()
				return ctx.Err()
			}
		})},
		{"close ends a watch", "Watch returns nil after Close", inStore(func(f *faulty) {
			f.watch = func(ctx context.Context, wake func(string)) error { _ = f.Store.Watch(ctx, wake); return nil }
		})},
		{"now never runs backwards", "now runs backwards", func(m *memstore.Store) revue.Store {
			var n atomic.Int64
			return inTx(func(t *faultyTx) {
				at := t.Tx.Now().Add(-time.Duration(n.Add(1)) * time.Second)
				t.now = func() time.Time { return at }
			})(m)
		}},
	}
	found := map[string]bool{}
	for _, f := range faults {
		found[f.clause] = true
		t.Run(f.clause+"/"+f.fault, func(t *testing.T) {
			suite := Suite{Open: func(*testing.T) revue.Store { return f.spoil(memstore.New(nil)) }}
			fails(t, suite, f.clause)
		})
	}

	// Faults that show when a place is opened more than once, or the clock is set.
	alone := good()
	alone.Place = func(*testing.T) func() revue.Store {
		return func() revue.Store { return memstore.New(nil) } // each handle has data of its own
	}
	deaf := good()
	deaf.Place = func(*testing.T) func() revue.Store {
		m := memstore.New(nil)
		return func() revue.Store { // each handle hears of its own commits alone
			f := &faulty{Store: m}
			var own atomic.Bool
			f.update = func(ctx context.Context, ws string, fn func(revue.Tx) error) error {
				own.Store(true)
				return m.Update(ctx, ws, fn)
			}
			f.watch = func(ctx context.Context, wake func(string)) error {
				return m.Watch(ctx, func(ws string) {
					if ws == "" || own.Load() {
						wake(ws)
					}
				})
			}
			return f
		}
	}
	racing := good()
	racing.Place = func(*testing.T) func() revue.Store {
		m := memstore.New(nil)
		return func() revue.Store { // the handles do not know of each other's locks
			f := &faulty{Store: m}
			unserialised(f)
			return newHandle(f)
		}
	}
	setBack := good()
	setBack.OpenAt = func(_ *testing.T, now func() time.Time) revue.Store {
		return inTx(func(t *faultyTx) {
			at := now().UTC().Truncate(time.Microsecond)
			t.now = func() time.Time { return at }
		})(memstore.New(nil))
	}
	for clause, suite := range map[string]Suite{
		"data survives a restart":                              alone,
		"an update is seen by the next view of another handle": alone,
		"watch wakes after each commit of another handle":      deaf,
		"no update is lost between handles":                    racing,
		"now does not follow a clock that is set back":         setBack,
	} {
		found[clause] = true
		t.Run(clause, func(t *testing.T) { fails(t, suite, clause) })
	}

	for _, c := range clauses() {
		require.True(t, found[c.name], "no broken store shows that the clause %q can fail", c.name)
	}
}

// fails requires that the suite's clause finds a fault.
func fails(t *testing.T, s Suite, name string) {
	t.Helper()
	for _, c := range clauses() {
		if c.name == name {
			err := s.check(t, c, 400*time.Millisecond)
			require.Error(t, err)
			t.Log(err)
			return
		}
	}
	t.Fatalf("there is no clause %q", name)
}
