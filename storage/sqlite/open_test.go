package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
)

var update = flag.Bool("update", false, "write the files in testdata")

func TestEveryConnectionHasTheSettings(t *testing.T) {
	for _, sync := range []Synchronous{SynchronousFull, SynchronousNormal} {
		s := open(t, file(t), &Options{Synchronous: sync})
		check := func(se *session, readOnly int) {
			var level, foreign, timeout, full, only int
			var mode string
			for _, c := range []struct {
				pragma string
				dest   any
			}{
				{"synchronous", &level},
				{"foreign_keys", &foreign},
				{"busy_timeout", &timeout},
				{"fullfsync", &full},
				{"journal_mode", &mode},
				{"query_only", &only},
			} {
				require.NoError(t, se.row("PRAGMA "+c.pragma, nil, c.dest))
			}
			require.Equal(t, map[Synchronous]int{SynchronousFull: 2, SynchronousNormal: 1}[sync], level)
			require.Equal(t, 1, foreign)
			require.Equal(t, driverWait, timeout)
			require.Equal(t, 1, full)
			require.Equal(t, "wal", mode)
			require.Equal(t, readOnly, only)
		}
		for _, of := range []turns{s.writer, s.readers} {
			for range cap(of) { // all of them at the same time, so that each is another one
				se, err := s.borrow(t.Context(), of)
				require.NoError(t, err)
				check(se, 0)
				defer s.giveBack(of, se)
			}
		}
		for range 3 { // what Watch opens
			se, err := s.connect(t.Context(), true)
			require.NoError(t, err)
			check(se, 1)
			se.close()
		}
	}
}

func TestOpenMakesPrivateFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no permission bits")
	}
	path := filepath.Join(t.TempDir(), "a", "b ?#%41ü", "revue.db")
	s := open(t, path, nil)
	require.NoError(t, s.Update(t.Context(), "ws", increment))
	seen := 0
	require.NoError(t, filepath.WalkDir(filepath.Join(filepath.Dir(path), "..", ".."), func(p string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := d.Info()
		require.NoError(t, err)
		if strings.Contains(p, "/a") {
			require.Zero(t, info.Mode().Perm()&0o077, "%s: %v", p, info.Mode())
			seen++
		}
		return nil
	}))
	require.GreaterOrEqual(t, seen, 6, "folders, database, log, index, bell")
	for _, name := range []string{"", "-wal", ".bell/bell"} {
		require.FileExists(t, path+name)
	}
}

func TestOpenRefusesWhatIsNotItsOwn(t *testing.T) {
	foreign := func(t *testing.T, path string, statements ...string) {
		require.NoError(t, create(path))
		db := sql.OpenDB(newConnector(path, SynchronousFull))
		defer db.Close()
		for _, s := range statements {
			_, err := db.ExecContext(t.Context(), s)
			require.NoError(t, err)
		}
	}
	for _, c := range []struct {
		name, message string
		make          func(t *testing.T, path string)
	}{
		{"text", "is not a SQLite database", func(t *testing.T, path string) {
			require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("these are notes\n", 500)), 0o600))
		}},
		{"another program's", "is a database of another program", func(t *testing.T, path string) {
			foreign(t, path, "CREATE TABLE songs (name TEXT)")
		}},
		{"another program's with a version", "is a database of another program", func(t *testing.T, path string) {
			foreign(t, path, "PRAGMA user_version = 1", "PRAGMA application_id = 7")
		}},
		{"a newer one", "was made by a newer revue (schema 99, this program knows up to", func(t *testing.T, path string) {
			require.NoError(t, open(t, path, nil).Close())
			foreign(t, path, "PRAGMA user_version = 99")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := file(t)
			c.make(t, path)
			before, err := os.ReadFile(path)
			require.NoError(t, err)
			_, err = Open(t.Context(), path, nil)
			require.ErrorIs(t, err, revue.ErrInvalid)
			require.Contains(t, err.Error(), c.message)
			require.Contains(t, err.Error(), path)
			after, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, before, after, "the file was changed")
		})
	}
	for _, path := range []string{"", ":memory:", "file:x.db", "a\x00b"} {
		_, err := Open(t.Context(), path, nil)
		require.ErrorIs(t, err, revue.ErrInvalid, path)
	}
}

func TestOpenOfWhatCannotBeReached(t *testing.T) {
	dir := t.TempDir()
	blocker := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(blocker, nil, 0o600))
	for _, path := range []string{dir, filepath.Join(blocker, "revue.db")} {
		_, err := Open(t.Context(), path, nil)
		require.ErrorIs(t, err, revue.ErrUnavailable, path)
	}
}

func TestReadOnlyFolder(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "revue.db")
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755)) //nolint:gosec // another user has to get there
	require.NoError(t, os.Chmod(dir, 0o555))               //nolint:gosec // what is tested
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })         //nolint:gosec // a folder needs the x bit
	var err error
	bound(t, func() { _, err = Open(t.Context(), path, nil) })
	require.ErrorIs(t, err, revue.ErrUnavailable)
	require.ErrorIs(t, err, fs.ErrPermission)
	require.NoFileExists(t, path)
}

// TestMigratesEveryRelease opens a file of each released schema. A release adds its own, once, with
// -update; a file that exists is never written again.
func TestMigratesEveryRelease(t *testing.T) {
	files, err := fs.Glob(migrations, "migrations/*.sql")
	require.NoError(t, err)
	for i := range files {
		name := filepath.Join("testdata", fmt.Sprintf("v%d.db", i+1))
		if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) && *update && i == len(files)-1 {
			writeRelease(t, name)
		}
		old, err := os.ReadFile(name)
		require.NoError(t, err, "run the test with -update once")
		path := file(t)
		require.NoError(t, os.WriteFile(path, old, 0o600))

		s := open(t, path, nil)
		var version int
		withWriter(t, s, func(se *session) { require.NoError(t, se.row("PRAGMA user_version", nil, &version)) })
		require.Equal(t, len(files), version)

		require.Equal(t, 3, verify(t, s))
		require.NoError(t, s.View(t.Context(), "other", func(tx revue.Tx) error {
			lots, err := tx.FindLots(revue.LotQuery{Status: revue.StatusOpen})
			require.NoError(t, err)
			require.Len(t, lots, 1)
			require.Equal(t, "Größe?", lots[0].Question)
			asks, err := tx.FindAsks(revue.AskQuery{Lot: lots[0].ID})
			require.NoError(t, err)
			require.Len(t, asks, 1)
			decisions, err := tx.FindDecisions(revue.DecisionQuery{Key: "k"})
			require.NoError(t, err)
			require.Len(t, decisions, 1)
			require.Equal(t, time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC), decisions[0].CreatedAt)
			require.False(t, tx.Now().Before(time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)))
			return nil
		}))
		require.NoError(t, s.Update(t.Context(), "ws", increment))
		require.Equal(t, 4, verify(t, s))
	}
}

// writeRelease makes the file that stands for the schema of now.
func writeRelease(t *testing.T, name string) {
	path := file(t)
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	s := open(t, path, &Options{Now: func() time.Time { return at }})
	for range 3 {
		require.NoError(t, s.Update(t.Context(), "ws", increment))
	}
	require.NoError(t, s.Update(t.Context(), "other", func(tx revue.Tx) error {
		return errors.Join(
			tx.PutLot(revue.Lot{ID: "lot_1", Seq: 1, Status: revue.StatusOpen, Kind: revue.KindDecision, Key: "k", Question: "Größe?", CreatedAt: at}),
			tx.PutAsk(revue.AskRecord{ID: "ask_1", Seq: 1, LotID: "lot_1", Key: "k", Question: "Größe?", CreatedAt: at}),
			tx.PutDecision(revue.Decision{ID: "dec_1", Seq: 2, Key: "k", Question: "Größe?", Answer: "M", CreatedAt: at}),
			tx.PutContext(revue.ContextItem{ID: "ctx_1", Seq: 3, Body: "note", CreatedAt: at, ExpiresAt: at.Add(time.Hour)}),
			tx.PutRecord("kind", "key", []byte{0, 1, 2}),
		)
	}))
	withWriter(t, s, func(se *session) {
		for _, p := range []string{"PRAGMA wal_checkpoint(TRUNCATE)", "PRAGMA journal_mode = DELETE", "PRAGMA page_size = 1024", "VACUUM"} { // small
			require.NoError(t, execOn(se.conn, p))
		}
	})
	require.NoError(t, s.Close())
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o750))
	require.NoError(t, os.WriteFile(name, data, 0o600))
}

// A commit that failed may have taken effect all the same.
func TestUnknownCommit(t *testing.T) {
	lost := errors.New("the answer to COMMIT was lost")
	set := func(runs *int) func(revue.Tx) error {
		return func(tx revue.Tx) error {
			*runs++
			if _, err := tx.Record("test", "once"); err == nil {
				return nil // it is there: an earlier run took effect
			}
			return errors.Join(tx.PutRecord("test", "once", nil), increment(tx))
		}
	}
	t.Run("took effect", func(t *testing.T) {
		s := open(t, file(t), nil)
		calls, runs := 0, 0
		s.commit = func(se *session) error {
			err := se.exec("COMMIT")
			if calls++; calls == 1 {
				return lost
			}
			return err
		}
		woken := make(chan string, 10)
		go func() { _ = s.Watch(t.Context(), func(ws string) { woken <- ws }) }()
		require.Empty(t, <-woken)
		require.NoError(t, s.Update(t.Context(), "ws", set(&runs)))
		require.Equal(t, 2, runs)
		require.Equal(t, 1, verify(t, s))
		require.Equal(t, "ws", <-woken)
	})
	t.Run("took no effect", func(t *testing.T) {
		s := open(t, file(t), nil)
		calls, runs := 0, 0
		s.commit = func(se *session) error {
			if calls++; calls == 1 {
				return lost
			}
			return se.exec("COMMIT")
		}
		require.NoError(t, s.Update(t.Context(), "ws", set(&runs)))
		require.Equal(t, 2, runs)
		require.Equal(t, 1, verify(t, s))
	})
	t.Run("never works", func(t *testing.T) {
		s := open(t, file(t), nil)
		runs := 0
		s.commit = func(*session) error { return lost }
		err := s.Update(t.Context(), "ws", set(&runs))
		require.ErrorIs(t, err, revue.ErrUnavailable)
		require.ErrorIs(t, err, lost)
		require.Equal(t, maxRuns, runs)
		require.Zero(t, verify(t, s))
	})
}

// withWriter lends out the connection that writes.
func withWriter(t testing.TB, s *Store, f func(*session)) {
	t.Helper()
	se, err := s.borrow(t.Context(), s.writer)
	require.NoError(t, err)
	defer s.giveBack(s.writer, se)
	f(se)
}

func TestFullDisk(t *testing.T) {
	s := open(t, file(t), nil)
	require.NoError(t, s.Update(t.Context(), "ws", increment))
	limit := func(pages int) {
		withWriter(t, s, func(se *session) {
			require.NoError(t, se.row(fmt.Sprintf("PRAGMA max_page_count = %d", pages), nil, new(int)))
		})
	}
	limit(1) // as many as there are
	large := make([]byte, 1<<20)
	err := s.Update(t.Context(), "ws", func(tx revue.Tx) error {
		return errors.Join(increment(tx), tx.PutRecord("test", "large", large))
	})
	require.ErrorIs(t, err, revue.ErrUnavailable)
	require.Equal(t, 1, verify(t, s))

	// A function that overlooks the failure commits nothing either: SQLite has rolled back already.
	limit(1) // again: the connection was given up
	err = s.Update(t.Context(), "ws", func(tx revue.Tx) error {
		_ = tx.PutRecord("test", "large", large)
		_ = increment(tx)
		return nil
	})
	require.ErrorIs(t, err, revue.ErrUnavailable)
	require.Equal(t, 1, verify(t, s))

	require.NoError(t, s.Update(t.Context(), "ws", increment))
	require.Equal(t, 2, verify(t, s))
}

func TestLockOfAnother(t *testing.T) {
	path := file(t)
	holder := open(t, path, nil)
	s := open(t, path, &Options{BusyTimeout: 30 * time.Millisecond})
	require.NoError(t, holder.Update(t.Context(), "ws", func(revue.Tx) error {
		err := s.Update(t.Context(), "ws", increment)
		require.ErrorIs(t, err, revue.ErrUnavailable)
		require.Contains(t, revue.MessageOf(err), "another process keeps the database locked")

		s.busyTimeout = time.Hour
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		defer cancel()
		began := time.Now()
		require.ErrorIs(t, s.Update(ctx, "ws", increment), context.DeadlineExceeded)
		require.Less(t, time.Since(began), 2*time.Second)
		require.Zero(t, verify(t, s), "a View waits for no writer")
		return nil
	}))
	require.NoError(t, s.Update(t.Context(), "ws", increment))
}

func TestTransactionIsOverAfterItsFunction(t *testing.T) {
	s := open(t, file(t), nil)
	var leaked revue.Tx
	require.NoError(t, s.Update(t.Context(), "ws", func(tx revue.Tx) error { leaked = tx; return nil }))
	_, err := leaked.Head()
	require.ErrorIs(t, err, revue.ErrInternal)
	require.ErrorIs(t, increment(leaked), revue.ErrInternal)
	require.Zero(t, verify(t, s))
}

func TestCloseWaitsForTransactions(t *testing.T) {
	s := open(t, file(t), nil)
	closing := make(chan error, 1)
	require.NoError(t, s.Update(t.Context(), "ws", func(tx revue.Tx) error {
		go func() { closing <- s.Close() }()
		<-s.closed
		require.ErrorIs(t, s.View(t.Context(), "ws", func(revue.Tx) error { return nil }), revue.ErrUnavailable)
		return increment(tx)
	}))
	require.NoError(t, <-closing)
	require.NoError(t, s.Close(), "again")
	require.Equal(t, 1, verify(t, open(t, s.path, nil)))
}

// The safety net: the writer rings no bell.
func TestPollingFindsWhatTheBellMissed(t *testing.T) {
	path := file(t)
	s := open(t, path, &Options{PollInterval: 5 * time.Millisecond})
	silent := open(t, path, &Options{NoBell: true})
	wakes := make(chan string, 10)
	go func() { _ = s.Watch(t.Context(), func(ws string) { wakes <- ws }) }()
	require.Empty(t, <-wakes)
	for range 5 {
		require.NoError(t, silent.Update(t.Context(), "ws", increment))
		require.Equal(t, "ws", <-wakes)
	}
}

func TestWatchWakesOnceForACommit(t *testing.T) {
	path := file(t)
	s := open(t, path, &Options{PollInterval: time.Millisecond})
	var wakes atomic.Int64
	begun := make(chan struct{}, 1000)
	go func() {
		_ = s.Watch(t.Context(), func(string) { wakes.Add(1); begun <- struct{}{} })
	}()
	<-begun
	const n = 50
	for range n {
		require.NoError(t, s.Update(t.Context(), "ws", increment))
		<-begun
	}
	// The bell and the poll see that all is known: a while later there was no other wake.
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range 4 {
		<-tick.C
	}
	require.Equal(t, int64(n+1), wakes.Load())
}

func TestBellDoesNotGrow(t *testing.T) {
	b, err := newBell(file(t))
	require.NoError(t, err)
	defer func() { require.NoError(t, b.close()) }()
	for range 100 {
		b.ring()
	}
	info, err := os.Stat(filepath.Join(b.dir, "bell"))
	require.NoError(t, err)
	require.Equal(t, int64(1), info.Size())
}

// Everything but the bell works under a false clock, the noticing of another handle's commits too.
func TestInABubble(t *testing.T) {
	path := file(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s, err := Open(ctx, path, &Options{NoBell: true})
		require.NoError(t, err)
		other, err := Open(ctx, path, &Options{NoBell: true})
		require.NoError(t, err)
		defer other.Close()
		defer s.Close()

		var woken []string
		ended := make(chan error, 1)
		go func() { ended <- s.Watch(ctx, func(ws string) { woken = append(woken, ws) }) }()
		synctest.Wait()
		require.Equal(t, []string{""}, woken)

		require.NoError(t, s.Update(ctx, "own", increment))
		synctest.Wait()
		require.Equal(t, []string{"", "own"}, woken)

		began := time.Now()
		require.NoError(t, other.Update(ctx, "foreign", func(tx revue.Tx) error {
			require.True(t, tx.Now().Equal(began), "the bubble's clock")
			return increment(tx)
		}))
		<-time.After(300 * time.Millisecond)
		synctest.Wait()
		require.Equal(t, []string{"", "own", "foreign"}, woken)
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
	})
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// TestQueryPlans asks SQLite how it would run the queries that the desk uses.
func TestQueryPlans(t *testing.T) {
	s := open(t, file(t), nil)
	lots := func(q revue.LotQuery) func(revue.Tx) error {
		return func(tx revue.Tx) error { _, err := tx.FindLots(q); return err }
	}
	asks := func(q revue.AskQuery) func(revue.Tx) error {
		return func(tx revue.Tx) error { _, err := tx.FindAsks(q); return err }
	}
	decisions := func(q revue.DecisionQuery) func(revue.Tx) error {
		return func(tx revue.Tx) error { _, err := tx.FindDecisions(q); return err }
	}
	for _, c := range []struct {
		want  string
		sorts bool // what it found, which are few rows
		run   func(tx revue.Tx) error
	}{
		{"INDEX sqlite_autoindex_lots_1", false, func(tx revue.Tx) error { _, _ = tx.Lot("l"); return nil }},
		{"INDEX lots_open", false, lots(revue.LotQuery{Status: "open"})},
		{"INDEX lots_open", false, lots(revue.LotQuery{Status: "open", Kind: "decision", Stream: "s", Newest: true, After: 9, Limit: 5})},
		{"INDEX lots_key", false, lots(revue.LotQuery{Status: "open", Kind: "decision", Key: "k", Newest: true, Limit: 1})},
		{"INDEX lots_key", false, lots(revue.LotQuery{Status: "dismissed", Kind: "decision", Key: "k", Newest: true, Limit: 1})},
		{"INDEX lots_expires", true, lots(revue.LotQuery{Status: "open", ExpiresBefore: noon})},
		{"INDEX lots_expires", true, lots(revue.LotQuery{Status: "open", Kind: "approval", ExpiresBefore: noon})},
		{"INDEX lots_seq", false, lots(revue.LotQuery{After: 9, Limit: 5})},
		{"INDEX lots_seq", false, lots(revue.LotQuery{Status: "answered", Newest: true, After: 9, Limit: 5})},
		{"INDEX sqlite_autoindex_asks_1", false, func(tx revue.Tx) error { _, _ = tx.Ask("a"); return nil }},
		{"INDEX asks_lot", false, asks(revue.AskQuery{Lot: "l"})},
		{"INDEX asks_key", false, asks(revue.AskQuery{Key: "k", Limit: 1})},
		{"INDEX asks_key", false, asks(revue.AskQuery{Key: "k", Thread: "t", Credential: "c", Newest: true, Limit: 1})},
		{"INDEX asks_uncollected", false, asks(revue.AskQuery{Key: "k", Credential: "c", Uncollected: true, Newest: true, Limit: 9})},
		{"INDEX asks_uncollected", true, asks(revue.AskQuery{Uncollected: true})},
		{"INDEX asks_decision", false, asks(revue.AskQuery{Decision: "d"})},
		{"INDEX decisions_id", false, func(tx revue.Tx) error { _, _ = tx.Decision("d"); return nil }},
		{"PRIMARY KEY (ws=?)", false, decisions(revue.DecisionQuery{Newest: true, Limit: 5})},
		{"PRIMARY KEY (ws=? AND seq<?)", false, decisions(revue.DecisionQuery{After: 3, Newest: true, Limit: 5})},
		{"INDEX decisions_id", true, decisions(revue.DecisionQuery{IDs: []string{"a", "b"}})},
		{"INDEX decisions_id", false, decisions(revue.DecisionQuery{IDs: []string{"a"}})},
		{"PRIMARY KEY (ws=?)", false, func(tx revue.Tx) error {
			_, err := tx.FindContexts(revue.ContextQuery{Newest: true, Limit: 10})
			return err
		}},
		{"PRIMARY KEY (ws=? AND seq>?)", false, func(tx revue.Tx) error { _, err := tx.Events(5, 10); return err }},
		{"PRIMARY KEY (ws=?)", false, func(tx revue.Tx) error { _, err := tx.Head(); return err }},
	} {
		se, err := s.connect(t.Context(), true)
		require.NoError(t, err)
		t.Cleanup(se.close)
		require.NoError(t, c.run(&tx{ctx: t.Context(), se: se, cache: &cache{}, ws: 1, workspace: "ws", view: true}))
		for q := range se.stmts {
			if !strings.HasPrefix(q, "SELECT body") {
				continue
			}
			var plan []string
			require.NoError(t, se.each("EXPLAIN QUERY PLAN "+q, make([]any, strings.Count(q, "?")), func(row []driver.Value) error {
				plan = append(plan, row[3].(string))
				return nil
			}))
			assert.Contains(t, strings.Join(plan, "\n"), c.want, q)
			assert.NotRegexp(t, `LIMIT \?|ws = \?.*ORDER BY`, q, "SQLite would plan this anew for each call")
			assert.Equal(t, c.sorts, strings.Contains(strings.Join(plan, "\n"), "TEMP B-TREE"), "%s\n%v", q, plan)
		}
	}
}

// TestKeptBodies holds what bodies.encode is told against the types.
func TestKeptBodies(t *testing.T) {
	var left []string
	var walk func(t reflect.Type, path string)
	walk = func(t reflect.Type, path string) {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice:
			walk(t.Elem(), path)
		case reflect.Struct:
			for f := range t.Fields() {
				if t == reflect.TypeFor[time.Time]() {
					continue
				}
				if name := path + "." + f.Name; f.Tag.Get("json") == "-" || !f.IsExported() {
					left = append(left, name)
				} else {
					walk(f.Type, name)
				}
			}
		}
	}
	for _, v := range []any{revue.Lot{}, revue.AskRecord{}, revue.Decision{}, revue.ContextItem{}, revue.Event{}} {
		walk(reflect.TypeOf(v), reflect.TypeOf(v).Name())
	}
	require.Equal(t, []string{"Decision.Corrections.After"}, left)

	s := open(t, file(t), nil)
	dec := revue.Decision{ID: "d", Seq: 1, Corrections: []revue.Correction{{ID: "c", After: time.Hour}}}
	for range 2 {
		require.NoError(t, s.Update(t.Context(), "ws", func(tx revue.Tx) error { return tx.PutDecision(dec) }))
		require.NoError(t, s.View(t.Context(), "ws", func(tx revue.Tx) error {
			d, err := tx.Decision("d")
			require.Zero(t, d.Corrections[0].After, "it is not stored")
			d.Corrections[0].ID = "changed by a caller"
			return err
		}))
	}
	require.NoError(t, s.View(t.Context(), "ws", func(tx revue.Tx) error {
		d, err := tx.Decision("d")
		require.Equal(t, "c", d.Corrections[0].ID)
		return err
	}))
}

func TestBodiesAreBounded(t *testing.T) {
	var b bodies[revue.Event]
	for i := range 10_000 {
		b.keep(fmt.Sprintf("%01000d", i), revue.Event{Seq: revue.Seq(i)})
	}
	require.LessOrEqual(t, len(b.now)+len(b.old), 2*cacheSize/1000+2)
	e, ok := b.kept(fmt.Sprintf("%01000d", 9_999))
	require.True(t, ok)
	require.Equal(t, revue.Seq(9_999), e.Seq)
	_, ok = b.kept(fmt.Sprintf("%01000d", 0))
	require.False(t, ok)
	b.keep(strings.Repeat("x", cacheSize), revue.Event{})
	_, ok = b.kept(strings.Repeat("x", cacheSize))
	require.False(t, ok)
}

// The head that is kept in memory is that of the last commit, whoever made it and however it ended.
func TestHeadIsThatOfTheFile(t *testing.T) {
	path := file(t)
	a, b := open(t, path, nil), open(t, path, nil)
	for i := range 6 {
		s := []*Store{a, a, b}[i%3]
		require.NoError(t, s.Update(t.Context(), "ws", increment))
		require.Error(t, s.Update(t.Context(), "ws", func(tx revue.Tx) error {
			require.NoError(t, increment(tx))
			return errors.New("not this one")
		}))
		require.NoError(t, s.Update(t.Context(), "ws", func(tx revue.Tx) error { return tx.PutRecord("test", "other", nil) }))
		require.NoError(t, s.Update(t.Context(), "another", increment))
		for _, s := range []*Store{a, b, a} {
			require.Equal(t, revue.Seq(i+1), headSeq(t, s))
			require.Equal(t, i+1, verify(t, s))
		}
	}
}
