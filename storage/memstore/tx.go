package memstore

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/stored"
)

// state is all of a workspace at one moment. It is copied by assignment: the trees never change, and
// the journal only grows beyond the length that older states know.
type state struct {
	last      time.Time // Now of the Update that made it
	lots      *tree[*revue.Lot]
	asks      *tree[*revue.AskRecord]
	decisions *tree[*revue.Decision]
	contexts  *tree[*revue.ContextItem]
	records   *tree[[]byte]
	journal   []revue.Event
}

// tx is one transaction: a state of its own.
type tx struct {
	state

	view bool
	over bool
}

func (t *tx) end() { t.over = true }

func (t *tx) Now() time.Time { return t.last }

func (t *tx) readable() error {
	if t.over {
		return &revue.Error{Code: revue.CodeInternal, Message: "the transaction is over"}
	}
	return nil
}

func (t *tx) writable() error {
	if t.view {
		return &revue.Error{Code: revue.CodeInternal, Message: "a View cannot write"}
	}
	return t.readable()
}

func notFound(what, id string) error {
	return &revue.Error{Code: revue.CodeNotFound, ID: id, Message: "there is no such " + what}
}

// The indexes. Each value of a table is in byID. In the others there is its key alone: once in bySeq, and
// once in each that it has a value for.
const (
	byID          = "id"
	bySeq         = "seq"
	byStatus      = "status"
	byKind        = "kind"
	byStream      = "stream"
	byKey         = "key"
	byLot         = "lot"
	byThread      = "thread"
	byCredential  = "credential"
	byDecision    = "decision"
	byUncollected = "uncollected" // the key of asks that are
)

// index is a pair of an index and the value an entry has there.
type index struct{ by, of string }

// in reports whether there is an entry for it.
func (x index) in() bool { return x.of != "" || x.by == bySeq }

// put replaces the entry with this id.
func put[T any](root *tree[*T], v *T, id string, seq revue.Seq, keys func(*T) ([]index, revue.Seq)) *tree[*T] {
	old, known := root.get(key{by: byID, of: id})
	root = root.set(key{by: byID, of: id}, v)
	now, _ := keys(v)
	var was []index
	if known {
		var oldSeq revue.Seq
		was, oldSeq = keys(old)
		for i, x := range was {
			if x.in() && (x != now[i] || oldSeq != seq) {
				root = root.remove(key{x.by, x.of, oldSeq, id})
				was[i] = index{} // so that it is set anew
			}
		}
	}
	for i, x := range now {
		if x.in() && (!known || was[i] != x) {
			root = root.set(key{x.by, x.of, seq, id}, nil)
		}
	}
	return root
}

func get[T any](t *tx, root *tree[*T], what, id string) (T, error) {
	var zero T
	if err := t.readable(); err != nil {
		return zero, err
	}
	v, ok := root.get(key{by: byID, of: id})
	if !ok {
		return zero, notFound(what, id)
	}
	return stored.Clone(*v), nil
}

// page is what all queries have in common.
type page struct {
	after  revue.Seq
	newest bool
	limit  int
}

// find walks the first index of which the query names a value, and keeps what all of it selects.
func find[T any](t *tx, root *tree[*T], indexes []index, p page, keep func(*T) bool) ([]T, error) {
	if err := t.readable(); err != nil {
		return nil, err
	}
	walk := index{by: bySeq}
	for _, x := range indexes {
		if x.of != "" {
			walk = x
			break
		}
	}
	lo := key{walk.by, walk.of, math.MinInt64, ""}
	hi := key{walk.by, walk.of + "\x00", math.MinInt64, ""} // just after all of this value
	entries := root.from(lo)
	switch {
	case p.newest && p.after != 0:
		entries = root.before(key{walk.by, walk.of, p.after, ""})
	case p.newest:
		entries = root.before(hi)
	case p.after == math.MaxInt64:
		return nil, nil
	case p.after != 0:
		entries = root.from(key{walk.by, walk.of, p.after + 1, ""})
	}
	var out []T
	for k := range entries {
		if k.by != walk.by || k.of != walk.of || p.limit > 0 && len(out) == p.limit {
			break
		}
		if v, _ := root.get(key{by: byID, of: k.id}); keep(v) {
			out = append(out, stored.Clone(*v))
		}
	}
	return out, nil
}

// sel reports whether a query's field selects a value: it is zero, or the same.
func sel[T comparable](field, value T) bool {
	var zero T
	return field == zero || field == value
}

// Lots.

func lotKeys(l *revue.Lot) ([]index, revue.Seq) {
	return []index{
		{by: bySeq},
		{byKey, l.Key},
		{byStatus, string(l.Status)},
		{byStream, l.Stream},
		{byKind, string(l.Kind)},
	}, l.Seq
}

func (t *tx) Lot(id string) (revue.Lot, error) { return get(t, t.lots, "lot", id) }

func (t *tx) PutLot(l revue.Lot) error {
	if err := t.writable(); err != nil {
		return err
	}
	l.Asks = nil
	l = stored.Clone(l)
	t.lots = put(t.lots, &l, l.ID, l.Seq, lotKeys)
	return nil
}

func (t *tx) FindLots(q revue.LotQuery) ([]revue.Lot, error) {
	want, _ := lotKeys(&revue.Lot{Key: q.Key, Status: q.Status, Stream: q.Stream, Kind: q.Kind})
	return find(t, t.lots, want, page{q.After, q.Newest, q.Limit}, func(l *revue.Lot) bool {
		return sel(q.Key, l.Key) && sel(q.Status, l.Status) && sel(q.Stream, l.Stream) && sel(q.Kind, l.Kind) &&
			(q.ExpiresBefore.IsZero() || !l.ExpiresAt.IsZero() && !l.ExpiresAt.After(q.ExpiresBefore))
	})
}

// Asks.

func askKeys(a *revue.AskRecord) ([]index, revue.Seq) {
	open := ""
	if uncollected(a) {
		open = a.Key
	}
	return []index{
		{by: bySeq},
		{byLot, a.LotID},
		{byUncollected, open},
		{byKey, a.Key},
		{byThread, a.Thread},
		{byDecision, a.DecisionID},
		{byCredential, a.Credential},
	}, a.Seq
}

func uncollected(a *revue.AskRecord) bool { return a.DecisionID != "" && a.ReturnedAt.IsZero() }

func (t *tx) Ask(id string) (revue.AskRecord, error) { return get(t, t.asks, "ask", id) }

func (t *tx) PutAsk(a revue.AskRecord) error {
	if err := t.writable(); err != nil {
		return err
	}
	a = stored.Clone(a)
	t.asks = put(t.asks, &a, a.ID, a.Seq, askKeys)
	return nil
}

func (t *tx) FindAsks(q revue.AskQuery) ([]revue.AskRecord, error) {
	open := ""
	if q.Uncollected {
		open = q.Key
	}
	want := []index{{byLot, q.Lot}, {byUncollected, open}, {byKey, q.Key}, {byThread, q.Thread}, {byDecision, q.Decision}, {byCredential, q.Credential}}
	return find(t, t.asks, want, page{q.After, q.Newest, q.Limit}, func(a *revue.AskRecord) bool {
		return sel(q.Lot, a.LotID) && sel(q.Key, a.Key) && sel(q.Thread, a.Thread) &&
			sel(q.Decision, a.DecisionID) && sel(q.Credential, a.Credential) && (!q.Uncollected || uncollected(a))
	})
}

// Decisions.

func decisionKeys(d *revue.Decision) ([]index, revue.Seq) {
	return []index{{by: bySeq}, {byKey, d.Key}}, d.Seq
}

func (t *tx) Decision(id string) (revue.Decision, error) { return get(t, t.decisions, "decision", id) }

func (t *tx) PutDecision(d revue.Decision) error {
	if err := t.writable(); err != nil {
		return err
	}
	d = stored.Clone(d)
	t.decisions = put(t.decisions, &d, d.ID, d.Seq, decisionKeys)
	return nil
}

func (t *tx) FindDecisions(q revue.DecisionQuery) ([]revue.Decision, error) {
	root := t.decisions
	if len(q.IDs) > 0 { // the few that are named, in a table of their own
		root = nil
		for _, id := range q.IDs {
			if d, ok := t.decisions.get(key{by: byID, of: id}); ok {
				root = put(root, d, id, d.Seq, decisionKeys)
			}
		}
	}
	want, _ := decisionKeys(&revue.Decision{Key: q.Key})
	return find(t, root, want, page{q.After, q.Newest, q.Limit}, func(d *revue.Decision) bool {
		return sel(q.Key, d.Key)
	})
}

// Contexts.

func contextKeys(c *revue.ContextItem) ([]index, revue.Seq) {
	return []index{{by: bySeq}, {byCredential, c.Credential}}, c.Seq
}

func (t *tx) Context(id string) (revue.ContextItem, error) {
	return get(t, t.contexts, "context item", id)
}

func (t *tx) PutContext(c revue.ContextItem) error {
	if err := t.writable(); err != nil {
		return err
	}
	c = stored.Clone(c)
	t.contexts = put(t.contexts, &c, c.ID, c.Seq, contextKeys)
	return nil
}

func (t *tx) FindContexts(q revue.ContextQuery) ([]revue.ContextItem, error) {
	want, _ := contextKeys(&revue.ContextItem{Credential: q.Credential})
	return find(t, t.contexts, want, page{q.After, q.Newest, q.Limit}, func(c *revue.ContextItem) bool {
		return sel(q.Credential, c.Credential) && (q.Live.IsZero() || !c.Removed && c.ExpiresAt.After(q.Live))
	})
}

// The journal.

func (t *tx) Head() (revue.Event, error) {
	if err := t.readable(); err != nil {
		return revue.Event{}, err
	}
	if len(t.journal) == 0 {
		return revue.Event{}, nil
	}
	return stored.Clone(t.journal[len(t.journal)-1]), nil
}

func (t *tx) Append(e revue.Event) error {
	if err := t.writable(); err != nil {
		return err
	}
	if next := revue.Seq(len(t.journal) + 1); e.Seq != next {
		return &revue.Error{
			Code:    revue.CodeInternal,
			Message: fmt.Sprintf("the next event of the journal is number %d, not %d", next, e.Seq),
		}
	}
	t.journal = append(t.journal, stored.Clone(e))
	return nil
}

func (t *tx) Events(after revue.Seq, limit int) ([]revue.Event, error) {
	if err := t.readable(); err != nil {
		return nil, err
	}
	rest := t.journal[min(max(after, 0), revue.Seq(len(t.journal))):]
	if limit > 0 && len(rest) > limit {
		rest = rest[:limit]
	}
	return stored.Clone(rest), nil
}

// Records.

func recordKey(kind, k string) key { return key{by: kind, of: k} }

func (t *tx) Record(kind, k string) ([]byte, error) {
	if err := t.readable(); err != nil {
		return nil, err
	}
	v, ok := t.records.get(recordKey(kind, k))
	if !ok {
		return nil, notFound("record "+strconv.Quote(kind), k)
	}
	return bytes.Clone(v), nil
}

func (t *tx) PutRecord(kind, k string, value []byte) error {
	if err := t.writable(); err != nil {
		return err
	}
	t.records = t.records.set(recordKey(kind, k), append([]byte{}, value...))
	return nil
}

func (t *tx) DeleteRecord(kind, k string) error {
	if err := t.writable(); err != nil {
		return err
	}
	t.records = t.records.remove(recordKey(kind, k))
	return nil
}

func (t *tx) ListRecords(kind string) ([]revue.Record, error) {
	if err := t.readable(); err != nil {
		return nil, err
	}
	var out []revue.Record
	for k, v := range t.records.from(key{by: kind}) {
		if k.by != kind {
			break
		}
		out = append(out, revue.Record{Key: k.of, Value: bytes.Clone(v)})
	}
	return out, nil
}
