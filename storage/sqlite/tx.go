package sqlite

import (
	"cmp"
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/stored"
)

// tx is one transaction.
type tx struct {
	ctx        context.Context //nolint:containedctx // it lives as long as the call that was given it
	se         *session
	cache      *cache
	workspace  string
	ws         int64 // the workspace's number; 0 while it has none, which no row has
	change     int64 // the number of its last commit
	changedAt  int64 // and its Now, in microseconds
	fileChange int64 // the number of the last commit of the file
	at         int64 // Now, in microseconds
	view       bool
	wrote      bool
	over       bool
	head       revue.Event // the last event, where headKnown
	headKnown  bool
	lots       map[string]lotColumns // the rows that were read or written, by id
	asks       map[string]askColumns
	failed     error // the first failure of the database: after it nothing may be committed
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

// begin readies the transaction for a write.
func (t *tx) begin() error {
	if t.view {
		return &revue.Error{Code: revue.CodeInternal, Message: "a View cannot write"}
	}
	if err := t.usable(); err != nil {
		return err
	}
	t.wrote = true
	if t.ws != 0 {
		return nil
	}
	return t.fail("add the workspace", t.se.row("INSERT INTO workspaces (name, change, at) VALUES (?, 0, 0) RETURNING n", []any{t.workspace}, &t.ws))
}

// exec runs a statement that writes, after begin.
func (t *tx) exec(doing, query string, args ...any) error {
	return t.fail(doing, t.se.exec(query, args...))
}

// row reads one row; what is not there is errNoRow.
func (t *tx) row(doing, query string, args []any, dest ...any) error {
	if err := t.usable(); err != nil {
		return err
	}
	err := t.se.row(query, args, dest...)
	if errors.Is(err, errNoRow) {
		return err
	}
	return t.fail(doing, err)
}

func (t *tx) each(doing, query string, args []any, scan func([]driver.Value) error) error {
	if err := t.usable(); err != nil {
		return err
	}
	return t.fail(doing, t.se.each(query, args, func(row []driver.Value) error {
		if err := t.ctx.Err(); err != nil {
			return err
		}
		return scan(row)
	}))
}

// mark records that the workspace changes in this transaction, and when. It returns the number of the
// change, which is greater than all before it in the file.
func (t *tx) mark() (int64, error) {
	change := t.fileChange + 1
	err := t.se.exec("UPDATE workspaces SET change = ? WHERE n = 0", change)
	if err == nil {
		err = t.se.exec("UPDATE workspaces SET change = ?, at = ? WHERE n = ?", change, t.at, t.ws)
	}
	return change, t.fail("mark", err)
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

// get reads the one body that a query of an id finds.
func get[T any](t *tx, from *bodies[T], doing, query, what, id string) (T, error) {
	var body string
	err := t.row(doing, query, []any{t.ws, id}, &body)
	if err != nil {
		var zero T
		if errors.Is(err, errNoRow) {
			err = notFound(what, id)
		}
		return zero, err
	}
	return from.decode(body)
}

// shape is what the text of a query depends on.
type shape struct {
	table  string
	fields uint16 // the conditions, as bits
	after  bool
	newest bool
}

// selection is a query in the making: the conditions, as bits of its shape, and their arguments.
type selection struct {
	shape
	args []any
}

// cond adds the condition with this bit.
func (s *selection) cond(bit int, args ...any) {
	s.fields |= 1 << bit
	s.args = append(s.args, args...)
}

// equal adds a condition that a column has this value, unless it is "".
func (s *selection) equal(bit int, value string) {
	if value != "" {
		s.cond(bit, value)
	}
}

// text writes a query. It has no LIMIT with a parameter, and compares nothing with a bare one: SQLite would
// plan such a query anew each time, which takes ten times as long as to run it. A limit is kept by reading no
// further, and "= +?" is not bare.
//
// Of the conditions that are set the first one is looked up in its index; the columns of the others are marked
// so that SQLite does not prefer theirs. unsorted says of which conditions the index is not in order of seq.
func (s shape) text(conditions []string, unsorted uint16) string {
	var b strings.Builder
	b.WriteString("SELECT body FROM " + s.table + " WHERE ws = +?")
	first := true
	seq := "seq"
	for i, c := range conditions {
		if s.fields>>i&1 == 0 {
			continue
		}
		plus := "+"
		if first {
			plus = ""
			if unsorted>>i&1 != 0 {
				seq = "+seq"
			}
		}
		first = false
		b.WriteString(" AND " + strings.ReplaceAll(c, "$", plus))
	}
	switch {
	case s.after && s.newest:
		b.WriteString(" AND " + seq + " < ?")
	case s.after:
		b.WriteString(" AND " + seq + " > ?")
	}
	b.WriteString(" ORDER BY " + seq)
	if s.newest {
		b.WriteString(" DESC")
	}
	return b.String()
}

func find[T any](t *tx, from *bodies[T], s *selection, conditions func() []string, unsorted uint16, after revue.Seq, newest bool, limit int) ([]T, error) {
	s.after, s.newest = after != 0, newest
	query, ok := t.se.shapes[s.shape]
	if !ok {
		query = s.text(conditions(), unsorted)
		t.se.shapes[s.shape] = query
	}
	if s.after {
		s.args = append(s.args, int64(after))
	}
	return collect(t, from, "find "+s.table, query, limit, s.args...)
}

// collect reads the bodies that a query returns: so many, or all where the limit is 0.
func collect[T any](t *tx, from *bodies[T], doing, query string, limit int, args ...any) ([]T, error) {
	var out []T
	var unreadable error // no failure of the database
	err := t.each(doing, query, args, func(row []driver.Value) error {
		var body string
		if err := assign(&body, row[0]); err != nil {
			return err
		}
		v, err := from.decode(body)
		if unreadable == nil {
			unreadable = err
		}
		if out = append(out, v); len(out) == limit {
			return errEnough
		}
		return nil
	})
	if err = cmp.Or(err, unreadable); err != nil {
		return nil, err
	}
	return out, nil
}

// note remembers what the row of an id has in its columns, so that a later write leaves alone what stays.
// A View writes nothing.
func note[C any](t *tx, m *map[string]C, id string, c C) {
	if t.view {
		return
	}
	if *m == nil {
		*m = map[string]C{}
	}
	(*m)[id] = c
}

// Lots.

// lotColumns are what lots are found by.
type lotColumns struct {
	seq                       int64
	status, kind, stream, key string
	expires                   any
}

func columnsOfLot(l *revue.Lot) lotColumns {
	return lotColumns{int64(l.Seq), string(l.Status), string(l.Kind), l.Stream, l.Key, micros(l.ExpiresAt)}
}

func (t *tx) noteLots(lots []revue.Lot) {
	for i := range lots {
		note(t, &t.lots, lots[i].ID, columnsOfLot(&lots[i]))
	}
}

func (t *tx) Lot(id string) (revue.Lot, error) {
	l, err := get(t, &t.cache.lots, "read lots", "SELECT body FROM lots WHERE ws = ? AND id = ?", "lot", id)
	if err == nil {
		note(t, &t.lots, id, columnsOfLot(&l))
	}
	return l, err
}

func (t *tx) PutLot(l revue.Lot) error {
	l.Asks = nil
	body, err := t.cache.lots.encode(l, true)
	if err != nil {
		return err
	}
	if err := t.begin(); err != nil {
		return err
	}
	c := columnsOfLot(&l)
	was, known := t.lots[l.ID]
	fixed := was
	fixed.status, fixed.expires = c.status, c.expires
	switch {
	case known && was == c:
		err = t.exec("write lots", "UPDATE lots SET body = ? WHERE ws = ? AND id = ?", body, t.ws, l.ID)
	case known && fixed == c:
		err = t.exec("write lots", "UPDATE lots SET status = ?, expires = ?, body = ? WHERE ws = ? AND id = ?",
			c.status, c.expires, body, t.ws, l.ID)
	default:
		err = t.exec("write lots", `INSERT INTO lots (ws, seq, id, status, kind, stream, key, expires, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (ws, id) DO UPDATE SET seq = excluded.seq, status = excluded.status, kind = excluded.kind,
				stream = excluded.stream, key = excluded.key, expires = excluded.expires, body = excluded.body`,
			t.ws, c.seq, l.ID, c.status, c.kind, c.stream, c.key, c.expires, body)
	}
	if err == nil {
		note(t, &t.lots, l.ID, c)
	}
	return err
}

// The conditions on lots, in the order of their worth.
const (
	lotKey = iota
	lotDue
	lotOpen
	lotExpires
	lotStatus
	lotStream
	lotKind
)

func lotConditions() []string {
	return []string{
		lotKey:     "$key = +?",
		lotDue:     "status = 'open' AND expires IS NOT NULL AND $expires <= ?",
		lotOpen:    "$status = 'open'",
		lotExpires: "expires IS NOT NULL AND +expires <= ?",
		lotStatus:  "+status = +?",
		lotStream:  "+stream = +?",
		lotKind:    "+kind = +?",
	}
}

func (t *tx) FindLots(q revue.LotQuery) ([]revue.Lot, error) {
	s := &selection{shape: shape{table: "lots"}, args: []any{t.ws}}
	s.equal(lotKey, q.Key)
	switch {
	case q.Status == revue.StatusOpen && !q.ExpiresBefore.IsZero():
		s.cond(lotDue, micros(q.ExpiresBefore))
	case q.Status == revue.StatusOpen:
		s.cond(lotOpen)
	default:
		if !q.ExpiresBefore.IsZero() {
			s.cond(lotExpires, micros(q.ExpiresBefore))
		}
		s.equal(lotStatus, string(q.Status))
	}
	s.equal(lotStream, q.Stream)
	s.equal(lotKind, string(q.Kind))
	lots, err := find(t, &t.cache.lots, s, lotConditions, 1<<lotDue, q.After, q.Newest, q.Limit)
	t.noteLots(lots)
	return lots, err
}

// Asks.

// askColumns are what asks are found by.
type askColumns struct {
	seq                                    int64
	lot, key, thread, credential, decision string
	returned                               int64
}

func columnsOfAsk(a *revue.AskRecord) askColumns {
	c := askColumns{seq: int64(a.Seq), lot: a.LotID, key: a.Key, thread: a.Thread, credential: a.Credential, decision: a.DecisionID}
	if !a.ReturnedAt.IsZero() {
		c.returned = 1
	}
	return c
}

func (t *tx) Ask(id string) (revue.AskRecord, error) {
	a, err := get(t, &t.cache.asks, "read asks", "SELECT body FROM asks WHERE ws = ? AND id = ?", "ask", id)
	if err == nil {
		note(t, &t.asks, id, columnsOfAsk(&a))
	}
	return a, err
}

func (t *tx) PutAsk(a revue.AskRecord) error {
	body, err := t.cache.asks.encode(a, true)
	if err != nil {
		return err
	}
	if err := t.begin(); err != nil {
		return err
	}
	c := columnsOfAsk(&a)
	was, known := t.asks[a.ID]
	but := was
	but.returned = c.returned
	fixed := but
	fixed.decision = c.decision
	switch {
	case known && was == c:
		err = t.exec("write asks", "UPDATE asks SET body = ? WHERE ws = ? AND id = ?", body, t.ws, a.ID)
	case known && but == c:
		err = t.exec("write asks", "UPDATE asks SET returned = ?, body = ? WHERE ws = ? AND id = ?", c.returned, body, t.ws, a.ID)
	case known && fixed == c:
		err = t.exec("write asks", "UPDATE asks SET decision = ?, returned = ?, body = ? WHERE ws = ? AND id = ?",
			c.decision, c.returned, body, t.ws, a.ID)
	default:
		err = t.exec("write asks", `INSERT INTO asks (ws, seq, id, lot, key, thread, credential, decision, returned, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (ws, id) DO UPDATE SET seq = excluded.seq, lot = excluded.lot, key = excluded.key, thread = excluded.thread,
				credential = excluded.credential, decision = excluded.decision, returned = excluded.returned, body = excluded.body`,
			t.ws, c.seq, a.ID, c.lot, c.key, c.thread, c.credential, c.decision, c.returned, body)
	}
	if err == nil {
		note(t, &t.asks, a.ID, c)
	}
	return err
}

// The conditions on asks, in the order of their worth. Those with constants let SQLite use the indexes that
// hold few rows.
const (
	askLot = iota
	askDecision
	askUncollectedKey
	askUncollected
	askKey
	askThread
	askBy
)

func askConditions() []string {
	return []string{
		askLot:            "$lot = +?",
		askDecision:       "decision <> '' AND $decision = +?",
		askUncollectedKey: "decision <> '' AND returned = 0 AND $key = +?",
		askUncollected:    "decision <> '' AND returned = 0",
		askKey:            "$key = +?",
		askThread:         "+thread = +?",
		askBy:             "+credential = +?",
	}
}

func (t *tx) FindAsks(q revue.AskQuery) ([]revue.AskRecord, error) {
	s := &selection{shape: shape{table: "asks"}, args: []any{t.ws}}
	s.equal(askLot, q.Lot)
	s.equal(askDecision, q.Decision)
	switch {
	case q.Uncollected && q.Key != "":
		s.cond(askUncollectedKey, q.Key)
	case q.Uncollected:
		s.cond(askUncollected)
	default:
		s.equal(askKey, q.Key)
	}
	s.equal(askThread, q.Thread)
	s.equal(askBy, q.Credential)
	asks, err := find(t, &t.cache.asks, s, askConditions, 1<<askUncollected, q.After, q.Newest, q.Limit)
	for i := range asks {
		note(t, &t.asks, asks[i].ID, columnsOfAsk(&asks[i]))
	}
	return asks, err
}

// Decisions.

func (t *tx) Decision(id string) (revue.Decision, error) {
	return get(t, &t.cache.decisions, "read decisions", "SELECT body FROM decisions WHERE ws = ? AND id = ?", "decision", id)
}

func (t *tx) PutDecision(d revue.Decision) error {
	body, err := t.cache.decisions.encode(d, len(d.Corrections) == 0)
	if err != nil {
		return err
	}
	if err := t.begin(); err != nil {
		return err
	}
	return t.exec("write decisions", `INSERT INTO decisions (ws, seq, id, key, body) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (ws, id) DO UPDATE SET seq = excluded.seq, key = excluded.key, body = excluded.body`,
		t.ws, int64(d.Seq), d.ID, d.Key, body)
}

// The conditions on decisions, in the order of their worth.
const (
	decisionID = iota
	decisionIDs
	decisionKey
)

func decisionConditions() []string {
	return []string{
		decisionID:  "id = ?",
		decisionIDs: "id IN (SELECT value FROM json_each(?))",
		decisionKey: "+key = +?",
	}
}

func (t *tx) FindDecisions(q revue.DecisionQuery) ([]revue.Decision, error) {
	s := &selection{shape: shape{table: "decisions"}, args: []any{t.ws}}
	switch len(q.IDs) {
	case 0:
	case 1:
		s.cond(decisionID, q.IDs[0])
	default:
		ids, err := json.Marshal(q.IDs)
		if err != nil {
			return nil, err
		}
		s.table += " INDEXED BY decisions_id" // SQLite takes such a list for longer than it is
		s.cond(decisionIDs, string(ids))
	}
	s.equal(decisionKey, q.Key)
	return find(t, &t.cache.decisions, s, decisionConditions, 1<<decisionID|1<<decisionIDs, q.After, q.Newest, q.Limit)
}

// Contexts.

func (t *tx) Context(id string) (revue.ContextItem, error) {
	return get(t, &t.cache.contexts, "read contexts", "SELECT body FROM contexts WHERE ws = ? AND id = ?", "context item", id)
}

func (t *tx) PutContext(c revue.ContextItem) error {
	body, err := t.cache.contexts.encode(c, true)
	if err != nil {
		return err
	}
	if err := t.begin(); err != nil {
		return err
	}
	removed := int64(0)
	if c.Removed {
		removed = 1
	}
	return t.exec("write contexts", `INSERT INTO contexts (ws, seq, id, credential, expires, removed, body) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (ws, id) DO UPDATE SET seq = excluded.seq, credential = excluded.credential, expires = excluded.expires,
			removed = excluded.removed, body = excluded.body`,
		t.ws, int64(c.Seq), c.ID, c.Credential, micros(c.ExpiresAt), removed, body)
}

// The conditions on shared context.
const (
	contextLive = iota
	contextBy
)

func contextConditions() []string {
	return []string{
		contextLive: "removed = 0 AND expires > ?",
		contextBy:   "+credential = +?",
	}
}

func (t *tx) FindContexts(q revue.ContextQuery) ([]revue.ContextItem, error) {
	s := &selection{shape: shape{table: "contexts"}, args: []any{t.ws}}
	if !q.Live.IsZero() {
		s.cond(contextLive, micros(q.Live))
	}
	s.equal(contextBy, q.Credential)
	return find(t, &t.cache.contexts, s, contextConditions, 0, q.After, q.Newest, q.Limit)
}

// The journal.

// heads keeps the last event of each workspace, with the number and the time of the change that it goes with:
// while that is the workspace's last one, the event is too. The number alone would not do: a file whose
// content was put back from a copy counts on from there.
type heads struct {
	mu sync.Mutex
	of map[string]lastEvent
}

type lastEvent struct {
	change, at int64
	event      revue.Event
}

func (h *heads) at(workspace string, change, at int64) (revue.Event, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	last, ok := h.of[workspace]
	if !ok || last.change != change || last.at != at {
		return revue.Event{}, false
	}
	return last.event, true
}

func (h *heads) keep(workspace string, change, at int64, e revue.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.of == nil {
		h.of = map[string]lastEvent{}
	}
	h.of[workspace] = lastEvent{change, at, e}
}

// keepHead notes the last event as of a change that this transaction has committed.
func (t *tx) keepHead(change int64) {
	if !t.headKnown {
		t.head, t.headKnown = t.cache.heads.at(t.workspace, t.change, t.changedAt)
	}
	if t.headKnown {
		t.cache.heads.keep(t.workspace, change, t.at, t.head)
	}
}

func (t *tx) readHead() error {
	if t.headKnown || t.ws == 0 {
		return nil
	}
	if t.head, t.headKnown = t.cache.heads.at(t.workspace, t.change, t.changedAt); t.headKnown {
		return nil
	}
	last, err := collect(t, &t.cache.events, "read the journal", "SELECT body FROM events WHERE ws = +? ORDER BY seq DESC", 1, t.ws)
	if err != nil {
		return err
	}
	if len(last) > 0 {
		t.head = last[0]
	}
	t.headKnown = true
	t.cache.heads.keep(t.workspace, t.change, t.changedAt, t.head)
	return nil
}

func (t *tx) Head() (revue.Event, error) {
	if err := t.usable(); err != nil {
		return revue.Event{}, err
	}
	err := t.readHead()
	return stored.Clone(t.head), err
}

func (t *tx) Append(e revue.Event) error {
	if err := t.begin(); err != nil { // first: a View may not even ask for the number
		return err
	}
	if err := t.readHead(); err != nil {
		return err
	}
	if e.Seq != t.head.Seq+1 {
		return &revue.Error{
			Code:    revue.CodeInternal,
			Message: fmt.Sprintf("the next event of the journal is number %d, not %d", t.head.Seq+1, e.Seq),
		}
	}
	body, err := t.cache.events.encode(e, true)
	if err != nil {
		return err
	}
	err = t.exec("write the journal", "INSERT INTO events (ws, seq, body) VALUES (?, ?, ?)", t.ws, int64(e.Seq), body)
	if err == nil {
		t.head, t.headKnown = stored.Clone(e), true
	}
	return err
}

func (t *tx) Events(after revue.Seq, limit int) ([]revue.Event, error) {
	limit = max(limit, 0)
	return collect(t, &t.cache.events, "read the journal", "SELECT body FROM events WHERE ws = +? AND seq > ? ORDER BY seq",
		limit, t.ws, int64(after))
}

// Records.

func (t *tx) Record(kind, key string) ([]byte, error) {
	var value []byte
	err := t.row("read a record", "SELECT value FROM records WHERE ws = ? AND kind = ? AND key = ?", []any{t.ws, kind, key}, &value)
	if errors.Is(err, errNoRow) {
		err = notFound("record "+strconv.Quote(kind), key)
	}
	return value, err
}

func (t *tx) PutRecord(kind, key string, value []byte) error {
	if value == nil {
		value = []byte{} // nil would be NULL
	}
	if err := t.begin(); err != nil {
		return err
	}
	return t.exec("write a record",
		"INSERT INTO records (ws, kind, key, value) VALUES (?, ?, ?, ?) ON CONFLICT (ws, kind, key) DO UPDATE SET value = excluded.value",
		t.ws, kind, key, value)
}

func (t *tx) DeleteRecord(kind, key string) error {
	if err := t.begin(); err != nil {
		return err
	}
	return t.exec("delete a record", "DELETE FROM records WHERE ws = ? AND kind = ? AND key = ?", t.ws, kind, key)
}

func (t *tx) ListRecords(kind string) ([]revue.Record, error) {
	var out []revue.Record
	err := t.each("list records", "SELECT key, value FROM records WHERE ws = +? AND kind = +? ORDER BY key",
		[]any{t.ws, kind}, func(row []driver.Value) error {
			var rec revue.Record
			if err := errors.Join(assign(&rec.Key, row[0]), assign(&rec.Value, row[1])); err != nil {
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
