package sqlite

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/revuehq/revue"
)

// Result codes of SQLite that are told apart.
const (
	codeError      = 1
	codeBusy       = 5
	codeLocked     = 6
	codeTooBig     = 18
	codeConstraint = 19
	codeNotADB     = 26
)

// driverWait is how long SQLite itself waits for a lock, in milliseconds. It does not look at a context
// meanwhile, so it is short, and [Store.patiently] does the rest.
const driverWait = 5

// connector opens connections that all have the same settings. The write-ahead log is a setting of the
// file: see [Store.migrate].
type connector struct {
	drv   driver.Driver
	dsn   string
	setup []string
}

func newConnector(path string, sync Synchronous) *connector {
	p := filepath.ToSlash(path)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p // a Windows path: file:///C:/…
	}
	dsn := url.URL{
		Scheme:   "file",
		Path:     p,
		OmitHost: false,
		RawQuery: fmt.Sprintf("mode=rw&_busy_timeout=%d", driverWait),
	}
	return &connector{
		drv: newDriver(),
		dsn: dsn.String(),
		setup: []string{
			fmt.Sprintf("PRAGMA busy_timeout = %d", driverWait),
			"PRAGMA synchronous = " + sync.String(),
			"PRAGMA fullfsync = ON", // a plain fsync does not reach the disk on macOS
			"PRAGMA foreign_keys = ON",
			"PRAGMA journal_size_limit = 67108864",
			"PRAGMA wal_autocheckpoint = 4000", // 16 MB: a page that changes often is moved once
		},
	}
}

// Driver implements [driver.Connector].
func (c *connector) Driver() driver.Driver { return c.drv }

// Connect implements [driver.Connector].
func (c *connector) Connect(context.Context) (driver.Conn, error) {
	conn, err := c.drv.Open(c.dsn)
	if err != nil {
		return nil, err
	}
	for _, s := range c.setup {
		if err := execOn(conn, s); err != nil {
			_ = conn.Close()
			return nil, err
		}
	}
	return conn, nil
}

func execOn(conn driver.Conn, statement string) error {
	x, ok := conn.(driver.ExecerContext)
	if !ok {
		return errors.New("the SQLite driver cannot execute a statement")
	}
	_, err := x.ExecContext(context.Background(), statement, nil)
	return err
}

// session is one connection for good, with its prepared statements. It talks to the driver itself: what
// database/sql does for each statement would cost more than most of ours do. It is used by one goroutine at
// a time. Statements run without the caller's context: they are short, and a driver that watches a context
// starts a goroutine for each.
type session struct {
	conn   driver.Conn
	stmts  map[string]statement
	shapes map[shape]string // the text of the queries of each shape
	args   []driver.NamedValue
	values [4]driver.Value // the columns of a row
	broken bool            // what state the connection is in is not known
}

type statement struct {
	driver.Stmt
	driver.StmtQueryContext
}

func newSession(conn driver.Conn) *session {
	return &session{conn: conn, stmts: map[string]statement{}, shapes: map[shape]string{}}
}

var background = context.Background()

// errNoRow says that a query that reads one row found none.
var errNoRow = errors.New("no row")

func (s *session) stmt(query string) (statement, error) {
	if st, ok := s.stmts[query]; ok {
		return st, nil
	}
	st, err := s.conn.Prepare(query)
	if err != nil {
		return statement{}, err
	}
	q, ok := st.(driver.StmtQueryContext)
	if !ok {
		return statement{}, errors.Join(errors.New("the SQLite driver cannot run a prepared statement"), st.Close())
	}
	s.stmts[query] = statement{st, q}
	return s.stmts[query], nil
}

// query starts a statement: the driver takes its first step at once. An argument is nil, an int64, an int, a
// string or a []byte.
func (s *session) query(query string, args []any) (driver.Rows, error) {
	st, err := s.stmt(query)
	if err != nil {
		return nil, err
	}
	s.args = s.args[:0]
	for i, a := range args {
		if n, ok := a.(int); ok {
			a = int64(n)
		}
		s.args = append(s.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	rows, err := st.QueryContext(background, s.args)
	clear(s.args) // what was written need not stay in memory
	return rows, err
}

// each calls scan for every row of a query, of at most four columns: what it is given is good until it
// returns.
func (s *session) each(query string, args []any, scan func([]driver.Value) error) (err error) {
	rows, err := s.query(query, args)
	if err != nil {
		return err
	}
	defer func() {
		if e := rows.Close(); err == nil {
			err = e
		}
	}()
	row := s.values[:min(len(rows.Columns()), len(s.values))]
	for {
		switch err := rows.Next(row); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := scan(row); errors.Is(err, errEnough) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// errEnough ends the reading of rows.
var errEnough = errors.New("no more rows are wanted")

// exec runs a statement to its end.
func (s *session) exec(query string, args ...any) error {
	return s.each(query, args, func([]driver.Value) error { return nil })
}

// row reads the one row of a query into dest. No row is errNoRow.
func (s *session) row(query string, args []any, dest ...any) error {
	found := false
	err := s.each(query, args, func(row []driver.Value) error {
		found = true
		for i, v := range row[:min(len(row), len(dest))] {
			if err := assign(dest[i], v); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && !found {
		return errNoRow
	}
	return err
}

// assign stores a column. NULL is the number 0.
func assign(dest any, v driver.Value) error {
	switch d := dest.(type) {
	case *int64:
		if n, ok := v.(int64); ok || v == nil {
			*d = n
			return nil
		}
	case *int:
		if n, ok := v.(int64); ok || v == nil {
			*d = int(n)
			return nil
		}
	case *string:
		if s, ok := v.(string); ok {
			*d = s
			return nil
		}
	case *[]byte:
		switch b := v.(type) {
		case []byte:
			*d = b
			return nil
		case string:
			*d = []byte(b)
			return nil
		}
	}
	return fmt.Errorf("a column of type %T is not what was expected", v)
}

// rollback ends a transaction that shall have no effect.
func (s *session) rollback() {
	if err := s.exec("ROLLBACK"); err != nil {
		s.broken = true // closing the connection rolls back too
	}
}

// close ends the session; again, it does nothing.
func (s *session) close() {
	for _, st := range s.stmts {
		_ = st.Stmt.Close()
	}
	if s.stmts != nil {
		_ = s.conn.Close()
	}
	s.stmts = nil
}

// connect opens a session. One that is to read alone cannot write.
func (s *Store) connect(ctx context.Context, readOnly bool) (*session, error) {
	var se *session
	err := s.patiently(ctx, func() error {
		// Before: a connection to another file would take the log beside it for its own.
		if err := s.inPlace(); err != nil {
			return err
		}
		conn, err := s.connector.Connect(background)
		if err != nil {
			return cmp.Or(s.inPlace(), err)
		}
		se = newSession(conn)
		if readOnly {
			err = se.exec("PRAGMA query_only = ON")
		}
		if err == nil {
			err = s.inPlace() // and after: it is the same one that was opened
		}
		if err != nil {
			se.close()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return se, nil
}

// pool lends out sessions. The one that was given back last is lent first: it knows best what is in the
// file, for SQLite forgets all that a connection has read when another one commits.
type pool struct {
	mu   sync.Mutex
	idle []*session
}

func (p *pool) take() *session {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.idle)
	if n == 0 {
		return nil
	}
	se := p.idle[n-1]
	p.idle = p.idle[:n-1]
	return se
}

func (p *pool) giveBack(se *session) {
	if se.broken {
		se.close()
		return
	}
	p.mu.Lock()
	p.idle = append(p.idle, se)
	p.mu.Unlock()
}

func (p *pool) close() {
	for se := p.take(); se != nil; se = p.take() {
		se.close()
	}
}

// turns bounds how many transactions of a kind run at a time.
type turns chan struct{}

// borrow waits for a turn and lends out a session; both are given back together.
func (s *Store) borrow(ctx context.Context, t turns) (*session, error) {
	select {
	case t <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.closed:
		return nil, errClosed()
	}
	if se := s.pool.take(); se != nil {
		return se, nil
	}
	se, err := s.connect(ctx, false)
	if err != nil {
		<-t
		return nil, err
	}
	return se, nil
}

func (s *Store) giveBack(t turns, se *session) {
	s.pool.giveBack(se)
	<-t
}

// busy reports whether another connection holds the lock that was asked for.
func busy(err error) bool {
	code, ok := resultCode(err)
	return ok && (code == codeBusy || code == codeLocked)
}

// patiently calls f again while the database is busy, until ctx ends or the busy timeout has passed. The
// pauses grow, and are random so that processes do not march in step.
func (s *Store) patiently(ctx context.Context, f func() error) error {
	start := time.Now()
	pause := 500 * time.Microsecond
	for {
		err := f()
		if err == nil || !busy(err) {
			return err
		}
		if time.Since(start) > s.busyTimeout {
			return err
		}
		timer := time.NewTimer(pause/2 + rand.N(pause)) //nolint:gosec // jitter
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-s.closed:
			timer.Stop()
			return errClosed()
		}
		pause = min(pause*2, 20*time.Millisecond)
	}
}

func errClosed() error {
	return &revue.Error{Code: revue.CodeUnavailable, Message: "the store is closed"}
}

// storageError gives an error of the driver its code. Errors that have one, and those of a context, stay
// as they are.
func storageError(doing string, err error) error {
	var known *revue.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	e := &revue.Error{Code: revue.CodeUnavailable, Message: "the database cannot be used right now", Err: fmt.Errorf("%s: %w", doing, err)}
	if code, ok := resultCode(err); ok {
		switch code {
		case codeBusy, codeLocked:
			e.Message = "another process keeps the database locked; try again"
		case codeTooBig:
			e.Code, e.Message = revue.CodeTooLarge, "this is too large for the database"
		case codeError, codeConstraint:
			e.Code, e.Message = revue.CodeInternal, "the database refused what was written"
		}
	}
	return e
}
