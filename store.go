package revue

import (
	"context"
	"time"
)

// Store keeps everything. Drivers are in storage/…; storagetest has the suite each must pass.
//
// Rules for implementors:
//
//   - Workspaces are separate: a Tx sees and writes one alone. Workspace "" holds [Records] that span
//     workspaces.
//   - View gives fn one consistent snapshot; a write in it fails.
//   - Update is all or nothing and serialised for each workspace. If fn returns an error nothing is
//     written and that error is returned as it is. fn may run more than once; when Update
//     returns nil exactly one run took effect. When the driver cannot tell whether a commit happened it
//     runs fn again on what is there.
//   - An Update whose context has ended before the commit writes nothing and returns ctx.Err(), or an
//     error that wraps it.
//   - When Update has returned, a View begun afterwards, in any process, sees what it wrote.
//   - Everything put comes back equal: text byte for byte, times to the microsecond in UTC, nil and empty
//     lists alike.
//   - Failures to reach the storage are CodeUnavailable.
//   - Safe for concurrent use, by several processes where the driver says so.
type Store interface {
	View(ctx context.Context, workspace string, fn func(Tx) error) error
	Update(ctx context.Context, workspace string, fn func(Tx) error) error

	// Watch blocks until ctx ends and calls wake with the workspace after each commit, of this
	// process or another. It calls wake("") once watching is in force and whenever it may have
	// missed something. Spurious wakes are fine, lost ones are not. wake returns at once. Watch
	// returns an error when it can't go on; the caller starts it again. Several Watch calls may run
	// at the same time.
	Watch(ctx context.Context, wake func(workspace string)) error

	// Close releases the store. Later calls fail with CodeUnavailable.
	Close() error
}

// Tx is one transaction in one workspace. It is used by one goroutine and not after fn returned.
//
// Get-like methods return ErrNotFound for what is not there. Put inserts or replaces by id (or key).
// Find methods return what matches every field set in the query, ordered by Seq.
type Tx interface {
	// Now is the time of this transaction in UTC, truncated to microseconds, the same at each call.
	// It never runs backwards between committed Updates of a workspace.
	Now() time.Time
	Lots
	Asks
	Decisions
	Contexts
	Journal
	Records
}

// Lots keeps lots by ID. The Asks field is not stored: asks are kept by [Asks].
type Lots interface {
	Lot(id string) (Lot, error)
	PutLot(Lot) error
	FindLots(LotQuery) ([]Lot, error)
}

// Asks keeps asks by ID.
type Asks interface {
	Ask(id string) (AskRecord, error)
	PutAsk(AskRecord) error
	FindAsks(AskQuery) ([]AskRecord, error)
}

// Decisions keeps decisions by ID.
type Decisions interface {
	Decision(id string) (Decision, error)
	PutDecision(Decision) error
	FindDecisions(DecisionQuery) ([]Decision, error)
}

// Contexts keeps shared context by ID.
type Contexts interface {
	Context(id string) (ContextItem, error)
	PutContext(ContextItem) error
	FindContexts(ContextQuery) ([]ContextItem, error)
}

// Journal is the append-only list of events of the workspace.
type Journal interface {
	// Head returns the last event, the zero Event when there is none.
	Head() (Event, error)
	// Append adds an event whose Seq is that of the head plus one; any other is an error.
	Append(Event) error
	// Events returns at most limit events after the given number, in order.
	Events(after Seq, limit int) ([]Event, error)
}

// Records keeps what needs no query of its own, as bytes by kind and key: tokens, workspaces, streams,
// cursors, receipts. A key is up to 256 bytes, a value up to 1 MiB.
type Records interface {
	Record(kind, key string) ([]byte, error)
	PutRecord(kind, key string, value []byte) error
	DeleteRecord(kind, key string) error // of what is not there: nil
	// ListRecords returns the records of a kind in byte order of their keys.
	ListRecords(kind string) ([]Record, error)
}

// Record is one entry of [Records].
type Record struct {
	Key   string
	Value []byte
}

// LotQuery selects lots. Zero fields select nothing away.
type LotQuery struct {
	Status        Status
	Kind          Kind
	Stream        string
	Key           string
	ExpiresBefore time.Time // lots that have an ExpiresAt at or before this
	After         Seq       // lots with a greater Seq; with Newest, with a smaller one (0: no bound)
	Newest        bool      // newest first instead of oldest first
	Limit         int       // 0: no limit
}

// AskQuery selects asks. Zero fields select nothing away.
type AskQuery struct {
	Lot         string
	Key         string
	Thread      string
	Credential  string
	Decision    string // asks that were given this decision, answered or reused
	Uncollected bool   // asks that were given a decision and whose ReturnedAt is zero
	After       Seq    // as in LotQuery
	Newest      bool
	Limit       int
}

// DecisionQuery selects decisions. Zero fields select nothing away.
type DecisionQuery struct {
	IDs    []string // these alone, those that exist
	Key    string
	After  Seq // as in LotQuery
	Newest bool
	Limit  int
}

// ContextQuery selects shared context. Zero fields select nothing away.
type ContextQuery struct {
	Live       time.Time // items that expire after this and are not removed
	Credential string
	After      Seq // as in LotQuery
	Newest     bool
	Limit      int
}
