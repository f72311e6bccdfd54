package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/stored"
)

// tx is one transaction.
type tx struct {
	ctx       context.Context //nolint:containedctx // it lives as long as the call that was given it
	se        *session
	workspace string
	at        int64 // Now, in microseconds
	view      bool
	wrote     bool
	over      bool
	head      int64 // the number of the last event, where headKnown
	headKnown bool
	failed    error // the first failure of the database: after it nothing may be committed
}

func (t *tx) end() { t.over = true }

// result is what a transaction comes to whose function returned err. A failure of the database counts
// even when the function overlooked it: SQLite may have rolled back what was written before it.
func (t *tx) result(err error) error {
	if err == nil {
		return t.failed
	}
	return err
}

func (t *tx) Now() time.Time { return time.UnixMicro(t.at).UTC() }

func (t *tx) usable() error {
	if t.over {
		return &revue.Error{Code: revue.CodeInternal, Message: "the transaction is over"}
	}
	if t.failed != nil {
		return t.failed
	}
	return t.ctx.Err()
}

func (t *tx) fail(doing string, err error) error {
	if err == nil {
		return nil
	}
	t.failed = storageError(doing, err)
	return t.failed
}

func (t *tx) exec(doing, query string, args ...any) error {
	if t.view {
		return &revue.Error{Code: revue.CodeInternal, Message: "a View cannot write"}
	}
	if err := t.usable(); err != nil {
		return err
	}
	t.wrote = true
	return t.fail(doing, t.se.exec(query, args...))
}

// row reads one row; what is not there is sql.ErrNoRows.
func (t *tx) row(doing, query string, args []any, dest ...any) error {
	if err := t.usable(); err != nil {
		return err
	}
	err := t.se.row(query, args, dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return err
	}
	return t.fail(doing, err)
}

func (t *tx) each(doing, query string, args []any, scan func(*sql.Rows) error) error {
	if err := t.usable(); err != nil {
		return err
	}
	return t.fail(doing, t.se.each(query, args, func(r *sql.Rows) error {
		if err := t.ctx.Err(); err != nil {
			return err
		}
		return scan(r)
	}))
}

// mark records that the workspace changes in this transaction, and when. It returns the number of the
// change, which is greater than all before it in the file.
func (t *tx) mark() (int64, error) {
	var change int64
	err := t.row("mark", `INSERT INTO clocks (change, workspace, at) VALUES ((SELECT coalesce(max(change), 0) + 1 FROM clocks), ?, ?)
		ON CONFLICT (workspace) DO UPDATE SET change = excluded.change, at = excluded.at RETURNING change`,
		[]any{t.workspace, t.at}, &change)
	return change, err
}

// micros is a time as a column: NULL for the zero time.
func micros(at time.Time) any {
	if at.IsZero() {
		return nil
	}
	return stored.Time(at).UnixMicro()
}

func notFound(what, id string) error {
	return &revue.Error{Code: revue.CodeNotFound, ID: id, Message: "there is no such " + what}
}

func get[T any](t *tx, table, what, id string) (T, error) {
	var body []byte
	err := t.row("read "+table, "SELECT body FROM "+table+" WHERE workspace = ? AND id = ?", []any{t.workspace, id}, &body)
	if err != nil {
		var zero T
		if errors.Is(err, sql.ErrNoRows) {
			err = notFound(what, id)
		}
		return zero, err
	}
	return stored.Decode[T](body)
}

// column is a column of a table beside the workspace, and a value's entry in it.
type column struct {
	name  string
	value any
}

// put inserts or replaces the row with this id.
func put[T any](t *tx, table string, v T, columns ...column) error {
	body, err := stored.Encode(v)
	if err != nil {
		return err
	}
	columns = append(columns, column{"body", string(body)})
	var names, marks, sets strings.Builder
	args := []any{t.workspace}
	for _, c := range columns {
		names.WriteString(", " + c.name)
		marks.WriteString(", ?")
		if c.name != "id" {
			if sets.Len() > 0 {
				sets.WriteString(", ")
			}
			sets.WriteString(c.name + " = excluded." + c.name)
		}
		args = append(args, c.value)
	}
	return t.exec("write "+table, "INSERT INTO "+table+" (workspace"+names.String()+") VALUES (?"+marks.String()+
		") ON CONFLICT (workspace, id) DO UPDATE SET "+sets.String(), args...)
}

// selection builds the condition of a query. The first column that it is given is meant to be looked up
// in its index; the others are written so that SQLite does not prefer theirs.
type selection struct {
	where strings.Builder
	args  []any
	named bool
	seq   string // the column that numbers the rows; "+seq" where its index is not to be used
}

func newSelection(t *tx) *selection {
	return &selection{args: []any{t.workspace}, seq: "seq"}
}

// equal selects the rows that have this value, unless it is "".
func (s *selection) equal(name, value string) {
	if value == "" {
		return
	}
	if s.named {
		name = "+" + name
	}
	s.named = true
	s.cond(name+" = ?", value)
}

func (s *selection) cond(condition string, args ...any) {
	s.where.WriteString(" AND " + condition)
	s.args = append(s.args, args...)
}

func find[T any](t *tx, table string, s *selection, after revue.Seq, newest bool, limit int) ([]T, error) {
	order := s.seq + ", id"
	if newest {
		order = s.seq + " DESC, id DESC"
	}
	if after != 0 {
		if newest {
			s.cond(s.seq+" < ?", int64(after))
		} else {
			s.cond(s.seq+" > ?", int64(after))
		}
	}
	query := "SELECT body FROM " + table + " WHERE workspace = ?" + s.where.String() + " ORDER BY " + order
	if limit > 0 {
		query += " LIMIT ?"
		s.args = append(s.args, limit)
	}
	return collect[T](t, "find "+table, query, s.args...)
}

// collect reads the bodies that a query returns.
func collect[T any](t *tx, doing, query string, args ...any) ([]T, error) {
	var out []T
	var unreadable error // no failure of the database
	err := t.each(doing, query, args, func(r *sql.Rows) error {
		var body sql.RawBytes
		if err := r.Scan(&body); err != nil {
			return err
		}
		v, err := stored.Decode[T](body)
		if unreadable == nil {
			unreadable = err
		}
		out = append(out, v)
		return nil
	})
	if err = cmp.Or(err, unreadable); err != nil {
		return nil, err
	}
	return out, nil
}

// Lots.

func (t *tx) Lot(id string) (revue.Lot, error) { return get[revue.Lot](t, "lots", "lot", id) }

func (t *tx) PutLot(l revue.Lot) error {
	l.Asks = nil
	return put(t, "lots", l, column{"id", l.ID}, column{"seq", int64(l.Seq)}, column{"status", string(l.Status)},
		column{"kind", string(l.Kind)}, column{"stream", l.Stream}, column{"key", l.Key}, column{"expires", micros(l.ExpiresAt)})
}

func (t *tx) FindLots(q revue.LotQuery) ([]revue.Lot, error) {
	s := newSelection(t)
	s.equal("key", q.Key)
	if !q.ExpiresBefore.IsZero() {
		s.named = true
		s.cond("expires IS NOT NULL AND expires <= ?", micros(q.ExpiresBefore))
	}
	s.equal("status", string(q.Status))
	s.equal("stream", q.Stream)
	s.equal("kind", string(q.Kind))
	return find[revue.Lot](t, "lots", s, q.After, q.Newest, q.Limit)
}

// Asks.

func (t *tx) Ask(id string) (revue.AskRecord, error) {
	return get[revue.AskRecord](t, "asks", "ask", id)
}

func (t *tx) PutAsk(a revue.AskRecord) error {
	return put(t, "asks", a, column{"id", a.ID}, column{"seq", int64(a.Seq)}, column{"lot", a.LotID}, column{"key", a.Key},
		column{"thread", a.Thread}, column{"credential", a.Credential}, column{"decision", a.DecisionID})
}

func (t *tx) FindAsks(q revue.AskQuery) ([]revue.AskRecord, error) {
	s := newSelection(t)
	s.equal("lot", q.Lot)
	s.equal("key", q.Key)
	if q.Decision != "" {
		s.equal("decision", q.Decision)
		if s.where.Len() > 0 {
			s.cond("decision <> ''") // lets SQLite use the index, which holds no others
		}
	}
	s.equal("thread", q.Thread)
	s.equal("credential", q.Credential)
	return find[revue.AskRecord](t, "asks", s, q.After, q.Newest, q.Limit)
}

// Decisions.

func (t *tx) Decision(id string) (revue.Decision, error) {
	return get[revue.Decision](t, "decisions", "decision", id)
}

func (t *tx) PutDecision(d revue.Decision) error {
	return put(t, "decisions", d, column{"id", d.ID}, column{"seq", int64(d.Seq)}, column{"key", d.Key})
}

func (t *tx) FindDecisions(q revue.DecisionQuery) ([]revue.Decision, error) {
	s := newSelection(t)
	if len(q.IDs) > 0 {
		ids, err := json.Marshal(q.IDs)
		if err != nil {
			return nil, err
		}
		s.named, s.seq = true, "+seq"
		s.cond("id IN (SELECT value FROM json_each(?))", string(ids))
	}
	s.equal("key", q.Key)
	return find[revue.Decision](t, "decisions", s, q.After, q.Newest, q.Limit)
}

// Contexts.

func (t *tx) Context(id string) (revue.ContextItem, error) {
	return get[revue.ContextItem](t, "contexts", "context item", id)
}

func (t *tx) PutContext(c revue.ContextItem) error {
	return put(t, "contexts", c, column{"id", c.ID}, column{"seq", int64(c.Seq)}, column{"credential", c.Credential},
		column{"expires", micros(c.ExpiresAt)}, column{"removed", c.Removed})
}

func (t *tx) FindContexts(q revue.ContextQuery) ([]revue.ContextItem, error) {
	s := newSelection(t)
	if !q.Live.IsZero() {
		s.cond("removed = 0 AND expires > ?", micros(q.Live))
	}
	s.equal("+credential", q.Credential)
	return find[revue.ContextItem](t, "contexts", s, q.After, q.Newest, q.Limit)
}

// The journal.

func (t *tx) Head() (revue.Event, error) {
	var body []byte
	err := t.row("read the journal", "SELECT body FROM events WHERE workspace = ? ORDER BY seq DESC LIMIT 1", []any{t.workspace}, &body)
	if errors.Is(err, sql.ErrNoRows) {
		t.head, t.headKnown = 0, true
		return revue.Event{}, nil
	}
	if err != nil {
		return revue.Event{}, err
	}
	e, err := stored.Decode[revue.Event](body)
	if err == nil {
		t.head, t.headKnown = int64(e.Seq), true
	}
	return e, err
}

func (t *tx) Append(e revue.Event) error {
	if !t.headKnown {
		err := t.row("read the journal", "SELECT coalesce(max(seq), 0) FROM events WHERE workspace = ?", []any{t.workspace}, &t.head)
		if err != nil {
			return err
		}
		t.headKnown = true
	}
	if int64(e.Seq) != t.head+1 {
		return &revue.Error{
			Code:    revue.CodeInternal,
			Message: fmt.Sprintf("the next event of the journal is number %d, not %d", t.head+1, e.Seq),
		}
	}
	body, err := stored.Encode(e)
	if err != nil {
		return err
	}
	err = t.exec("write the journal", "INSERT INTO events (workspace, seq, at, body) VALUES (?, ?, ?, ?)",
		t.workspace, int64(e.Seq), stored.Time(e.At).UnixMicro(), string(body))
	if err == nil {
		t.head = int64(e.Seq)
	}
	return err
}

func (t *tx) Events(after revue.Seq, limit int) ([]revue.Event, error) {
	if limit <= 0 {
		limit = -1 // no limit
	}
	return collect[revue.Event](t, "read the journal", "SELECT body FROM events WHERE workspace = ? AND seq > ? ORDER BY seq LIMIT ?",
		t.workspace, int64(after), limit)
}

// Records.

func (t *tx) Record(kind, key string) ([]byte, error) {
	var value []byte
	err := t.row("read a record", "SELECT value FROM records WHERE workspace = ? AND kind = ? AND key = ?",
		[]any{t.workspace, kind, key}, &value)
	if errors.Is(err, sql.ErrNoRows) {
		err = notFound("record "+strconv.Quote(kind), key)
	}
	return value, err
}

func (t *tx) PutRecord(kind, key string, value []byte) error {
	if value == nil {
		value = []byte{} // nil would be NULL
	}
	return t.exec("write a record",
		"INSERT INTO records (workspace, kind, key, value) VALUES (?, ?, ?, ?) ON CONFLICT (workspace, kind, key) DO UPDATE SET value = excluded.value",
		t.workspace, kind, key, value)
}

func (t *tx) DeleteRecord(kind, key string) error {
	return t.exec("delete a record", "DELETE FROM records WHERE workspace = ? AND kind = ? AND key = ?", t.workspace, kind, key)
}

func (t *tx) ListRecords(kind string) ([]revue.Record, error) {
	var out []revue.Record
	err := t.each("list records", "SELECT key, value FROM records WHERE workspace = ? AND kind = ? ORDER BY key",
		[]any{t.workspace, kind}, func(r *sql.Rows) error {
			var rec revue.Record
			if err := r.Scan(&rec.Key, &rec.Value); err != nil {
				return err
			}
			out = append(out, rec)
			return nil
		})
	if err != nil {
		return nil, err
	}
	return out, nil
}
