// Package sqlite keeps everything in one SQLite file: a [revue.Store] for one machine.
//
//	store, err := sqlite.Open(ctx, "/var/lib/revue/revue.db", nil)
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//	desk := revue.New(store, memory, nil)
//
// # Several processes
//
// Any number of processes of the same machine may open the same file: a server, stdio servers of agents,
// the command line. An Update of one is seen by the next View of every other, and wakes the Watch of
// every other, usually within a millisecond: after each commit the writer rings a bell, a file in the
// folder PATH.bell that the others watch. Where the bell cannot be heard (a full table of watches, say)
// they notice by asking SQLite four times a second. A network file system will not do: SQLite's locks do
// not hold there.
//
// The file must stay in its place while a store is open. Once it was removed, or another file was put in its
// place, everything fails with CodeUnavailable until the program is started again: what was written would be
// lost. To put a backup back, stop every process first.
//
// # Durability
//
// An Update that returned nil has been written to the disk and survives a loss of power. This is
// synchronous=FULL in SQLite's words, and costs one flush a commit. [SynchronousNormal] gives it up for
// speed: the file stays whole, but the last commits may be lost when the machine stops. A process that
// is killed loses nothing in either case.
//
// # Time
//
// Each workspace keeps the time of its last commit, and no later transaction, in any process, has an
// earlier one, even when the machine's clock was set back.
//
// # Drivers
//
// With cgo the package uses github.com/mattn/go-sqlite3, without it modernc.org/sqlite. Both read and write
// the same files, at the same time too.
package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/stored"
)

// Synchronous says when a commit counts as done.
type Synchronous int

// The choices.
const (
	SynchronousFull   Synchronous = iota // when it is on the disk
	SynchronousNormal                    // when the operating system has it
)

// String returns SQLite's word for it.
func (s Synchronous) String() string {
	if s == SynchronousNormal {
		return "NORMAL"
	}
	return "FULL"
}

// Options configures a [Store]. Nil and the zero value are the defaults.
type Options struct {
	// Synchronous is the durability of a commit; default SynchronousFull.
	Synchronous Synchronous

	// BusyTimeout is how long a transaction waits for the lock of another process before it fails
	// with CodeUnavailable; default 30 seconds. It waits no longer than its context.
	BusyTimeout time.Duration

	// NoBell leaves out the bell file. Commits of other processes are then noticed within
	// PollInterval. The bell needs a goroutine that waits in a system call, which a
	// testing/synctest bubble cannot have.
	NoBell bool

	// PollInterval is how often Watch asks SQLite for what it may have missed; default 250 ms.
	PollInterval time.Duration

	// Now is the clock; default time.Now. Transactions see it cut to microseconds.
	Now func() time.Time
}

// Store is a [revue.Store] in a SQLite file. It is safe for concurrent use, and by several processes.
// One Update runs at a time, whatever its workspace; Views run beside it and beside each other.
type Store struct {
	path        string
	connector   *connector
	now         func() time.Time
	busyTimeout time.Duration
	poll        time.Duration
	bell        *bell // nil without one
	pool        pool
	writer      turns
	readers     turns
	last        atomic.Int64 // the latest Now of an Update of this process, in microseconds
	cache       cache
	commit      func(*session) error
	file        os.FileInfo // which file was opened
	gone        atomic.Bool // it was seen not to be at the path any more

	mu       sync.Mutex
	shut     bool
	closed   chan struct{}
	running  sync.WaitGroup
	watchers map[*watcher]bool
}

var _ revue.Store = (*Store)(nil)

// Open opens the database at path, and makes it, with its folder, where there is none: readable by the
// user alone. It brings an older schema up to date. A file that is no database of revue's, or one of a
// newer revue, is CodeInvalid and left as it is; what cannot be reached is CodeUnavailable.
func Open(ctx context.Context, path string, opts *Options) (*Store, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.BusyTimeout <= 0 {
		o.BusyTimeout = 30 * time.Second
	}
	if o.PollInterval <= 0 {
		o.PollInterval = 250 * time.Millisecond
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if path == "" || strings.HasPrefix(path, ":") || strings.HasPrefix(path, "file:") || strings.IndexByte(path, 0) >= 0 {
		return nil, &revue.Error{Code: revue.CodeInvalid, Message: "the path of the database must be that of a file"}
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, storageError("open", err)
	}
	if err := create(path); err != nil {
		return nil, &revue.Error{Code: revue.CodeUnavailable, ID: path, Message: "the database " + path + " cannot be made", Err: err}
	}
	s := &Store{
		path:        path,
		connector:   newConnector(path, o.Synchronous),
		now:         o.Now,
		busyTimeout: o.BusyTimeout,
		poll:        o.PollInterval,
		writer:      make(turns, 1),
		readers:     make(turns, max(4, runtime.GOMAXPROCS(0))),
		commit:      func(se *session) error { return se.exec("COMMIT") },
		closed:      make(chan struct{}),
		watchers:    map[*watcher]bool{},
	}
	if err := s.start(ctx, !o.NoBell); err != nil {
		_ = s.Close()
		if code, ok := resultCode(err); ok && code == codeNotADB {
			return nil, &revue.Error{Code: revue.CodeInvalid, ID: path, Message: path + " is not a SQLite database; name another file", Err: err}
		}
		return nil, storageError("open "+path, err)
	}
	return s, nil
}

func (s *Store) start(ctx context.Context, ring bool) error {
	se, err := s.borrow(ctx, s.writer)
	if err != nil {
		return err
	}
	defer s.giveBack(s.writer, se)
	if err := s.identify(); err != nil {
		return err
	}
	if err := s.patiently(ctx, func() error { return s.migrate(ctx, se) }); err != nil {
		return err
	}
	if ring {
		s.bell, err = newBell(s.path)
	}
	return err
}

// create makes an empty file, which SQLite takes for an empty database, with the permissions that the
// files beside it will inherit. It is linked into place rather than opened there: to close a file of
// a database that this process has open would drop SQLite's locks on it.
func create(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, filepath.Base(path)+".new-*") // made with 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	if err := tmp.Close(); err != nil {
		return err
	}
	if err := os.Link(tmp.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// enter counts a call in, so that Close can wait for it.
func (s *Store) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return errClosed()
	}
	s.running.Add(1)
	return nil
}

// Close implements [revue.Store]. It waits for the transactions that run, and makes Watch return. It
// must not be called inside a transaction.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.shut {
		s.mu.Unlock()
		return nil
	}
	s.shut = true
	close(s.closed)
	s.mu.Unlock()

	s.running.Wait()
	s.pool.close()
	if s.bell == nil {
		return nil
	}
	return storageError("close", s.bell.close())
}

// View implements [revue.Store].
func (s *Store) View(ctx context.Context, workspace string, fn func(revue.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.enter(); err != nil {
		return err
	}
	defer s.running.Done()
	if err := s.inPlace(); err != nil {
		return err
	}
	se, err := s.borrow(ctx, s.readers)
	if err != nil {
		return storageError("view", err)
	}
	defer s.giveBack(s.readers, se)

	t := &tx{ctx: ctx, se: se, cache: &s.cache, workspace: workspace, view: true}
	err = s.patiently(ctx, func() error {
		if err := se.exec("BEGIN"); err != nil {
			return err
		}
		err := s.stamp(t) // the first read: it fixes the snapshot
		if err != nil {
			se.rollback()
		}
		return err
	})
	if err != nil {
		return storageError("view", err)
	}
	defer se.rollback()
	defer t.end()
	return t.result(fn(t))
}

// maxRuns bounds how often an Update is run again because its commit failed.
const maxRuns = 3

// Update implements [revue.Store].
func (s *Store) Update(ctx context.Context, workspace string, fn func(revue.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.enter(); err != nil {
		return err
	}
	defer s.running.Done()
	se, err := s.borrow(ctx, s.writer)
	if err != nil {
		return storageError("update", err)
	}
	defer func() { s.giveBack(s.writer, se) }()

	for run := 1; ; run++ {
		done, err := s.run(ctx, se, workspace, fn)
		if done {
			return err
		}
		// The commit failed, and it may have taken effect all the same: wake for it, and run on what is
		// there.
		s.committed(workspace, 0)
		if run == maxRuns {
			return storageError("commit", err)
		}
		if se.broken {
			se.close()
			fresh, err := s.connect(ctx, false)
			if err != nil {
				se.broken = true
				return storageError("commit", err)
			}
			se = fresh
		}
	}
}

// run is one run of an Update. It returns false when the outcome of the commit is not known.
func (s *Store) run(ctx context.Context, se *session, workspace string, fn func(revue.Tx) error) (bool, error) {
	if err := s.patiently(ctx, func() error { return se.exec("BEGIN IMMEDIATE") }); err != nil {
		return true, storageError("begin", err)
	}
	ended := false
	defer func() { // also when fn panics
		if !ended {
			se.rollback()
		}
	}()
	if err := s.inPlace(); err != nil {
		return true, err
	}
	t := &tx{ctx: ctx, se: se, cache: &s.cache, workspace: workspace}
	defer t.end()
	if err := s.stamp(t); err != nil {
		return true, storageError("begin", err)
	}
	s.last.Store(t.at)
	if err := t.result(fn(t)); err != nil {
		return true, err
	}
	var change int64
	if t.wrote {
		var err error
		if change, err = t.mark(); err != nil {
			return true, err
		}
	}
	if err := ctx.Err(); err != nil {
		return true, err
	}
	if err := s.inPlace(); err != nil { // nothing was written
		return true, err
	}
	if err := s.commit(se); err != nil {
		return false, err
	}
	ended = true
	if err := s.inPlace(); err != nil && s.gone.Load() { // it was written to a file that nobody opens again
		return true, err
	}
	if t.wrote {
		t.keepHead(change)
		s.committed(workspace, change)
	}
	return true, nil
}

// stamp reads the workspace's number and change, and sets the time of a transaction: the latest of the
// clock, of what this process has given out and of the workspace's last commit.
func (s *Store) stamp(t *tx) error {
	err := t.se.row(`SELECT f.change, w.n, w.change, w.at FROM workspaces f LEFT JOIN workspaces w ON w.name = +? WHERE f.n = 0`,
		[]any{t.workspace}, &t.fileChange, &t.ws, &t.change, &t.changedAt)
	if err != nil {
		return err
	}
	t.at = max(stored.Time(s.now()).UnixMicro(), s.last.Load(), t.changedAt)
	return nil
}
