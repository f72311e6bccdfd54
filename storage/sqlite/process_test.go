package sqlite

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
)

// The tests below start this test binary again, as processes that do one thing to one file.
const childVariable = "REVUE_SQLITE_TEST_CHILD"

func TestMain(m *testing.M) {
	if what := os.Getenv(childVariable); what != "" {
		if err := child(context.Background(), what, os.Args[1], os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func child(ctx context.Context, what, path string, args []string) error {
	s, err := Open(ctx, path, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	switch what {
	case "open":
		return nil
	case "count": // adds so many
		n, _ := strconv.Atoi(args[0])
		for range n {
			if err := s.Update(ctx, "ws", increment); err != nil {
				return err
			}
		}
		return nil
	case "forever": // adds until it is killed
		fmt.Println("ready")
		for {
			if err := s.Update(ctx, "ws", increment); err != nil {
				return err
			}
		}
	case "writer": // adds one for each line it reads
		fmt.Println("ready")
		in := bufio.NewScanner(os.Stdin)
		for in.Scan() {
			if err := s.Update(ctx, in.Text(), increment); err != nil {
				return err
			}
			fmt.Println("done")
		}
		return in.Err()
	}
	return fmt.Errorf("no child does %q", what)
}

// increment adds one to the counter, in two rows, and an event to the chain.
func increment(tx revue.Tx) error {
	v, err := tx.Record("test", "n")
	if err != nil && revue.CodeOf(err) != revue.CodeNotFound {
		return err
	}
	n, _ := strconv.Atoi(string(v))
	n++
	head, err := tx.Head()
	if err != nil {
		return err
	}
	if err := tx.PutRecord("test", "n", []byte(strconv.Itoa(n))); err != nil {
		return err
	}
	e := revue.Event{Seq: head.Seq + 1, At: tx.Now(), Kind: revue.EventContextShared, Ref: strconv.Itoa(n), Prev: head.Hash}
	e.Hash = e.Sum()
	if err := tx.Append(e); err != nil {
		return err
	}
	return tx.PutContext(revue.ContextItem{ID: strconv.Itoa(n), Seq: e.Seq, Body: fmt.Sprintf("%5000d", n)})
}

// verify requires that the counter, the journal and the rows beside them tell the same, and returns the
// count.
func verify(t testing.TB, s *Store) int {
	t.Helper()
	n := 0
	require.NoError(t, s.View(t.Context(), "ws", func(tx revue.Tx) error {
		events, err := tx.Events(0, 0)
		require.NoError(t, err)
		require.NoError(t, revue.VerifyChain(revue.Event{}, events))
		v, err := tx.Record("test", "n")
		if revue.CodeOf(err) == revue.CodeNotFound {
			require.Empty(t, events)
			return nil
		}
		require.NoError(t, err)
		n, err = strconv.Atoi(string(v))
		require.NoError(t, err)
		items, err := tx.FindContexts(revue.ContextQuery{})
		require.NoError(t, err)
		require.Len(t, events, n)
		require.Len(t, items, n)
		return nil
	}))
	return n
}

// start runs a child.
func start(t testing.TB, what, path string, args ...string) (*exec.Cmd, io.WriteCloser, *bufio.Scanner) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, append([]string{path}, args...)...)
	cmd.Env = append(os.Environ(), childVariable+"="+what)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd, in, bufio.NewScanner(out)
}

func TestProcessesLoseNothing(t *testing.T) {
	const processes, each = 8, 25
	path := file(t)
	var children []*exec.Cmd
	for range processes { // all of them find no file
		cmd, _, _ := start(t, "count", path, strconv.Itoa(each))
		children = append(children, cmd)
	}
	for _, cmd := range children {
		require.NoError(t, cmd.Wait())
	}
	require.Equal(t, processes*each, verify(t, open(t, path, nil)))
}

func TestProcessesMakeOneDatabase(t *testing.T) {
	for range 3 {
		path := file(t)
		var children []*exec.Cmd
		for range 8 {
			cmd, _, _ := start(t, "open", path)
			children = append(children, cmd)
		}
		for _, cmd := range children {
			require.NoError(t, cmd.Wait())
		}
		require.Zero(t, verify(t, open(t, path, nil)))
	}
}

func TestAnotherProcessWakes(t *testing.T) {
	path := file(t)
	s := open(t, path, &Options{PollInterval: time.Hour}) // the bell alone
	_, in, out := start(t, "writer", path)
	require.True(t, out.Scan())

	wakes := make(chan string, 100)
	go func() { _ = s.Watch(t.Context(), func(ws string) { wakes <- ws }) }()
	next := func() string {
		select {
		case ws := <-wakes:
			return ws
		case <-time.After(20 * time.Second):
			require.FailNow(t, "no wake came")
			return ""
		}
	}
	require.Empty(t, next())
	for i := range 50 {
		ws := "ws" + strconv.Itoa(i%5)
		_, err := fmt.Fprintln(in, ws)
		require.NoError(t, err)
		require.Equal(t, ws, next())
		require.True(t, out.Scan())
	}
}

func TestKilledWriterLeavesAllOrNothing(t *testing.T) {
	path := file(t)
	s := open(t, path, nil)
	// Kill after so many commits were seen, each time at another place in the transaction under way.
	for round := range 20 {
		before := verify(t, s)
		cmd, _, out := start(t, "forever", path)
		require.True(t, out.Scan())
		require.Eventually(t, func() bool { return headSeq(t, s) > revue.Seq(before+2) }, 20*time.Second, time.Duration(200+round*97)*time.Microsecond)
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
		require.Greater(t, verify(t, s), before)
	}
	n := verify(t, s)
	require.NoError(t, s.Update(t.Context(), "ws", increment))
	require.NoError(t, s.Close())
	require.Equal(t, n+1, verify(t, open(t, path, nil)))
}

func headSeq(t testing.TB, s *Store) revue.Seq {
	var n revue.Seq
	require.NoError(t, s.View(t.Context(), "ws", func(tx revue.Tx) error {
		h, err := tx.Head()
		n = h.Seq
		return err
	}))
	return n
}

// BenchmarkWake is the time from the begin of an Update to the wake of a Watch, in this process and in
// another.
func BenchmarkWake(b *testing.B) {
	watch := func(b *testing.B, s *Store) chan time.Time {
		woken := make(chan time.Time, 1000)
		go func() { _ = s.Watch(b.Context(), func(string) { woken <- time.Now() }) }()
		<-woken
		return woken
	}
	b.Run("same process", func(b *testing.B) {
		s := open(b, file(b), nil)
		woken := watch(b, s)
		var total time.Duration
		for b.Loop() {
			require.NoError(b, s.Update(b.Context(), "ws", increment))
			committed := time.Now()
			total += (<-woken).Sub(committed)
		}
		b.ReportMetric(float64(total.Microseconds())/float64(b.N), "µs/after-return")
	})
	b.Run("another process", func(b *testing.B) {
		path := file(b)
		s := open(b, path, &Options{PollInterval: time.Hour})
		woken := watch(b, s)
		_, in, out := start(b, "writer", path)
		require.True(b, out.Scan())
		for b.Loop() { // a line to the writer, its commit, the wake, and its line back
			fmt.Fprintln(in, "ws")
			<-woken
			require.True(b, out.Scan())
		}
	})
	b.Run("another process, its writes alone", func(b *testing.B) { // to subtract from the one before
		_, in, out := start(b, "writer", file(b))
		require.True(b, out.Scan())
		for b.Loop() {
			fmt.Fprintln(in, "ws")
			require.True(b, out.Scan())
		}
	})
}

// BenchmarkUpdate compares an Update that writes a lot and an event with what the driver needs for two bare
// inserts and a commit under the same settings: into tables without indexes, and into the store's own.
func BenchmarkUpdate(b *testing.B) {
	for _, sync := range []Synchronous{SynchronousFull, SynchronousNormal} {
		b.Run(sync.String()+"/bare", func(b *testing.B) {
			s := open(b, file(b), &Options{Synchronous: sync, NoBell: true})
			se, err := s.borrow(b.Context(), s.writer)
			require.NoError(b, err)
			defer s.giveBack(s.writer, se)
			require.NoError(b, se.exec("CREATE TABLE bare (id TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT"))
			require.NoError(b, se.exec("CREATE TABLE bare_events (seq INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT"))
			body := string(make([]byte, 600))
			n := 0
			for b.Loop() {
				n++
				require.NoError(b, se.exec("BEGIN IMMEDIATE"))
				require.NoError(b, se.exec("INSERT INTO bare VALUES (?, ?)", "lot_"+strconv.Itoa(n*7919%1_000_003), body))
				require.NoError(b, se.exec("INSERT INTO bare_events VALUES (?, ?)", n, body))
				require.NoError(b, se.exec("COMMIT"))
			}
		})
		b.Run(sync.String()+"/bare, the same rows", func(b *testing.B) {
			s := open(b, file(b), &Options{Synchronous: sync, NoBell: true})
			se, err := s.borrow(b.Context(), s.writer)
			require.NoError(b, err)
			defer s.giveBack(s.writer, se)
			body := string(make([]byte, 600))
			n := 0
			for b.Loop() {
				n++
				require.NoError(b, se.exec("BEGIN IMMEDIATE"))
				require.NoError(b, se.exec("INSERT INTO lots (ws, id, seq, status, kind, stream, key, body) VALUES (1, ?, ?, 'open', 'decision', 'agents', ?, ?)",
					"lot_"+strconv.Itoa(n*7919%1_000_003), n, strconv.Itoa(n), body))
				require.NoError(b, se.exec("INSERT INTO events (ws, seq, body) VALUES (1, ?, ?)", n, body[:300]))
				require.NoError(b, se.exec("COMMIT"))
			}
		})
		b.Run(sync.String()+"/update", func(b *testing.B) {
			s := open(b, file(b), &Options{Synchronous: sync})
			var n atomic.Int64
			for b.Loop() {
				i := n.Add(1)
				require.NoError(b, s.Update(b.Context(), "ws", func(tx revue.Tx) error {
					h, err := tx.Head()
					if err != nil {
						return err
					}
					e := revue.Event{Seq: h.Seq + 1, At: tx.Now(), Kind: revue.EventLotOpened, Prev: h.Hash}
					e.Hash = e.Sum()
					if err := tx.PutLot(revue.Lot{
						ID: "lot_" + strconv.Itoa(int(i*7919%1_000_003)), Seq: e.Seq, Status: revue.StatusOpen, Kind: revue.KindDecision, Stream: "agents",
						Key: strconv.Itoa(int(i)), Question: "Which of the two?", Options: []revue.Option{{Value: "a", Label: "A"}, {Value: "b", Label: "B"}},
						CreatedAt: tx.Now(), UpdatedAt: tx.Now(),
					}); err != nil {
						return err
					}
					return tx.Append(e)
				}))
			}
		})
	}
}

func BenchmarkView(b *testing.B) {
	s := open(b, file(b), nil)
	require.NoError(b, s.Update(b.Context(), "ws", increment))
	for b.Loop() {
		require.NoError(b, s.View(b.Context(), "ws", func(tx revue.Tx) error { _, err := tx.Head(); return err }))
	}
}
