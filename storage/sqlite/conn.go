package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"path/filepath"
	"strings"
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
		RawQuery: fmt.Sprintf("mode=rw&_txlock=immediate&_busy_timeout=%d", driverWait),
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

// session is one connection for good, with its prepared statements. Statements run without the caller's
// context: they are short, and a driver that watches a context starts a goroutine for each.
type session struct {
	conn   *sql.Conn
	stmts  map[string]*sql.Stmt
	broken bool // what state the connection is in is not known
}

var background = context.Background()

func (s *session) stmt(query string) (*sql.Stmt, error) {
	if st := s.stmts[query]; st != nil {
		return st, nil
	}
	st, err := s.conn.PrepareContext(background, query)
	if err != nil {
		return nil, err
	}
	s.stmts[query] = st
	return st, nil
}

func (s *session) exec(query string, args ...any) error {
	st, err := s.stmt(query)
	if err != nil {
		return err
	}
	_, err = st.ExecContext(background, args...)
	return err
}

// row scans the one row of a query into dest. No row is sql.ErrNoRows.
func (s *session) row(query string, args []any, dest ...any) error {
	st, err := s.stmt(query)
	if err != nil {
		return err
	}
	return st.QueryRowContext(background, args...).Scan(dest...)
}

// each calls scan for every row of a query.
func (s *session) each(query string, args []any, scan func(*sql.Rows) error) error {
	st, err := s.stmt(query)
	if err != nil {
		return err
	}
	rows, err := st.QueryContext(background, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// rollback ends a transaction that shall have no effect.
func (s *session) rollback() {
	if err := s.exec("ROLLBACK"); err != nil {
		s.broken = true // closing the connection rolls back too
	}
}

func (s *session) close() {
	for _, st := range s.stmts {
		_ = st.Close()
	}
	// The connection must not go back to the pool of database/sql: nothing there would take it again.
	_ = s.conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = s.conn.Close()
}

// connect opens a session. A reader cannot write.
func (s *Store) connect(ctx context.Context, reader bool) (*session, error) {
	var se *session
	err := s.patiently(ctx, func() error {
		conn, err := s.db.Conn(background)
		if err != nil {
			return err
		}
		se = &session{conn: conn, stmts: map[string]*sql.Stmt{}}
		if reader {
			if err := se.exec("PRAGMA query_only = ON"); err != nil {
				se.close()
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return se, nil
}

// pool lends out sessions, at most as many as it was made for. They are opened when needed.
type pool chan *session

func newPool(n int) pool {
	p := make(pool, n)
	for range n {
		p <- nil
	}
	return p
}

func (s *Store) borrow(ctx context.Context, p pool, reader bool) (*session, error) {
	var se *session
	select {
	case se = <-p:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.closed:
		return nil, errClosed()
	}
	if se != nil {
		return se, nil
	}
	se, err := s.connect(ctx, reader)
	if err != nil {
		p <- nil
		return nil, err
	}
	return se, nil
}

func (p pool) giveBack(se *session) {
	if se.broken {
		se.close()
		se = nil
	}
	p <- se
}

func (p pool) close() {
	for range cap(p) {
		if se := <-p; se != nil {
			se.close()
		}
	}
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
