package revue_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/memory"
	"github.com/revuehq/revue/storage/memstore"
	"github.com/revuehq/revue/storage/sqlite"
)

// commitCounter counts the transactions that wrote something.
type commitCounter struct {
	revue.Store
	commits int
}

func (c *commitCounter) Update(ctx context.Context, ws string, fn func(revue.Tx) error) error {
	wrote := false
	err := c.Store.Update(ctx, ws, func(tx revue.Tx) error {
		before, err := tx.Head()
		if err != nil {
			return err
		}
		if err := fn(tx); err != nil {
			return err
		}
		after, err := tx.Head()
		wrote = after.Seq != before.Seq
		return err
	})
	if err == nil && wrote {
		c.commits++
	}
	return err
}

func benchStore(b *testing.B, path string) *sqlite.Store {
	b.Helper()
	store, err := sqlite.Open(b.Context(), path, nil)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, store.Close()) })
	return store
}

// bare is a database of the same driver with the same durability: one table, one row a commit.
func bare(b *testing.B) func(body []byte) {
	b.Helper()
	name := "sqlite3" // the cgo driver
	if !slices.Contains(sql.Drivers(), name) {
		name = "sqlite"
	}
	db, err := sql.Open(name, "file:"+filepath.ToSlash(filepath.Join(b.TempDir(), "bare.db"))+"?_txlock=immediate")
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, db.Close()) })
	db.SetMaxOpenConns(1)
	for _, s := range []string{
		"PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL",
		"CREATE TABLE rows (id INTEGER PRIMARY KEY, body BLOB NOT NULL)",
	} {
		_, err := db.ExecContext(b.Context(), s)
		require.NoError(b, err)
	}
	return func(body []byte) {
		tx, err := db.BeginTx(b.Context(), nil)
		if err == nil {
			_, err = tx.ExecContext(b.Context(), "INSERT INTO rows (body) VALUES (?)", body)
		}
		if err == nil {
			err = tx.Commit()
		}
		require.NoError(b, err)
	}
}

// BenchmarkAskAnswer asks, answers and collects on SQLite, and in the same run commits as many single rows to
// a bare database of the same driver. x-bare is the time of a bare durable commit through that of one of
// the desk's: 1 is as fast as the disk allows.
func BenchmarkAskAnswer(b *testing.B) {
	store := &commitCounter{Store: benchStore(b, filepath.Join(b.TempDir(), "revue.db"))}
	desk := revue.New(store, memory.New(nil), nil)
	agent, human := desk.Decider(agent("bench")), desk.Reviewer(alice)
	insert := bare(b)
	body := []byte(strings.Repeat("x", 1500))
	var ours, theirs time.Duration
	commits := 0
	for i := 0; b.Loop(); i++ {
		ask := databaseAsk(0)
		ask.Question = fmt.Sprintf("Which database should service %d use?", i)
		store.commits = 0
		start := time.Now()
		o, err := agent.Request(b.Context(), ask)
		require.NoError(b, err)
		_, err = human.Answer(b.Context(), o.LotID, revue.Answer{Value: "postgres"})
		require.NoError(b, err)
		o, err = agent.Request(b.Context(), ask)
		ours += time.Since(start)
		require.NoError(b, err)
		require.Equal(b, revue.OutcomeAnswered, o.Status)
		commits += store.commits
		start = time.Now()
		for range store.commits {
			insert(body)
		}
		theirs += time.Since(start)
	}
	b.ReportMetric(float64(theirs)/float64(ours), "x-bare")
	b.ReportMetric(float64(commits)/float64(b.N), "commits/op")
	b.ReportMetric(float64(ours.Microseconds())/float64(commits), "µs/commit")
	b.ReportMetric(float64(theirs.Microseconds())/float64(commits), "bare-µs/commit")
}

// BenchmarkWake measures from the return of Answer to the return of the parked request: in the same
// process, and with the request in another one on the same file.
func BenchmarkWake(b *testing.B) {
	b.Run("same process", func(b *testing.B) {
		desk := runBench(b, benchStore(b, filepath.Join(b.TempDir(), "revue.db")))
		measureWake(b, desk, func(ask revue.Ask, parked chan<- string, back chan<- time.Time) {
			lot, err := desk.Decider(agent("bench")).Request(b.Context(), revue.Ask{Question: ask.Question})
			if err == nil {
				parked <- lot.LotID
				_, err = desk.Decider(agent("bench")).Request(b.Context(), ask)
			}
			back <- time.Now()
			if err != nil {
				b.Error(err)
			}
		})
	})
	b.Run("other process", func(b *testing.B) {
		path := filepath.Join(b.TempDir(), "revue.db")
		desk := runBench(b, benchStore(b, path))
		exe, err := os.Executable()
		require.NoError(b, err)
		cmd := exec.CommandContext(context.WithoutCancel(b.Context()), exe, "-test.run=^TestWakeHelper$", "-test.v")
		cmd.Env = append(os.Environ(), "REVUE_WAKE_HELPER="+path)
		in, err := cmd.StdinPipe()
		require.NoError(b, err)
		out, err := cmd.StdoutPipe()
		require.NoError(b, err)
		require.NoError(b, cmd.Start())
		b.Cleanup(func() {
			require.NoError(b, in.Close())
			require.NoError(b, cmd.Wait())
		})
		lines := bufio.NewScanner(out)
		next := func(prefix string) string {
			for lines.Scan() {
				if rest, ok := strings.CutPrefix(lines.Text(), prefix); ok {
					return rest
				}
			}
			return ""
		}
		measureWake(b, desk, func(ask revue.Ask, parked chan<- string, back chan<- time.Time) {
			if _, err := fmt.Fprintln(in, ask.Question); err != nil {
				b.Error(err)
			}
			parked <- next("lot ")
			at, err := time.Parse(time.RFC3339Nano, next("back "))
			if err != nil {
				b.Error(err)
			}
			back <- at
		})
	})
}

// TestWakeHelper is the other process of BenchmarkWake: it asks what it reads, and says when it was answered.
func TestWakeHelper(t *testing.T) {
	path := os.Getenv("REVUE_WAKE_HELPER") //nolint:forbidigo // how the benchmark starts this test as a process
	if path == "" {
		return // only of use as a process of its own
	}
	store, err := sqlite.Open(t.Context(), path, nil)
	require.NoError(t, err)
	desk := revue.New(store, memory.New(nil), nil)
	running(t, desk)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		ask := revue.Ask{Question: lines.Text()}
		o, err := desk.Decider(agent("bench")).Request(t.Context(), ask)
		require.NoError(t, err)
		fmt.Println("lot " + o.LotID) //nolint:forbidigo // to the benchmark
		ask.Wait = time.Minute
		_, err = desk.Decider(agent("bench")).Request(t.Context(), ask)
		require.NoError(t, err)
		fmt.Println("back " + time.Now().Format(time.RFC3339Nano)) //nolint:forbidigo // to the benchmark
	}
}

func runBench(b *testing.B, store revue.Store) *revue.Desk {
	b.Helper()
	desk := revue.New(store, memory.New(nil), nil)
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() { done <- desk.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		require.NoError(b, <-done)
	})
	return desk
}

func measureWake(b *testing.B, desk *revue.Desk, request func(ask revue.Ask, parked chan<- string, back chan<- time.Time)) {
	b.Helper()
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		parked, back := make(chan string, 1), make(chan time.Time, 1)
		go request(revue.Ask{Question: fmt.Sprintf("Which name has thing %d?", i), Wait: time.Minute}, parked, back)
		lot := <-parked
		time.Sleep(3 * time.Millisecond) //nolint:forbidigo // let the call park: a benchmark, not a test
		_, err := desk.Reviewer(alice).Answer(b.Context(), lot, revue.Answer{Text: "this one"})
		require.NoError(b, err)
		committed := time.Now()
		took = append(took, max((<-back).Sub(committed), 0))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

// BenchmarkLookup looks up a question among many decisions, through the desk.
func BenchmarkLookup(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("%d decisions", n), func(b *testing.B) {
			store := memstore.New(nil)
			fillDecisions(b, store, n)
			desk := revue.New(store, memory.New(nil), nil)
			look := func(i int) time.Duration {
				start := time.Now()
				_, err := desk.Decider(agent("bench")).Lookup(b.Context(), revue.Query{Text: benchQuestion(i * 7919 % n)})
				require.NoError(b, err)
				return time.Since(start)
			}
			build := look(0)
			var took []time.Duration
			for i := 0; b.Loop(); i++ {
				took = append(took, look(i))
			}
			slices.Sort(took)
			b.ReportMetric(float64(build.Milliseconds()), "build-ms")
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
		})
	}
}

func benchQuestion(i int) string {
	verbs := []string{"use", "replace", "keep", "remove", "upgrade", "split", "cache", "encrypt", "log", "retry"}
	things := []string{"database", "queue", "schema", "token", "gateway", "index", "worker", "bucket", "cluster", "certificate", "migration", "timeout"}
	places := []string{"billing", "search", "login", "checkout", "reports", "mobile", "admin", "export", "ingest", "mail"}
	return fmt.Sprintf("Should the %s team %s the %s of service%d for %s jobs?",
		places[i%10], verbs[i/10%10], things[i/100%12], i/7, places[i/1200%10])
}

func fillDecisions(b *testing.B, store revue.Store, n int) {
	b.Helper()
	for from := 0; from < n; from += 1000 {
		err := store.Update(b.Context(), "w", func(tx revue.Tx) error {
			head, err := tx.Head()
			if err != nil {
				return err
			}
			for i := from; i < min(from+1000, n); i++ {
				e := revue.Event{Seq: head.Seq + 1, At: tx.Now(), Kind: revue.EventDecisionMade, Decision: fmt.Sprintf("dec_%d", i), Prev: head.Hash}
				e.Hash = e.Sum()
				if err := tx.Append(e); err != nil {
					return err
				}
				head = e
				if err := tx.PutDecision(revue.Decision{
					ID: e.Decision, Seq: e.Seq, Key: e.Decision, Question: benchQuestion(i), Answer: "yes", FreeText: true,
					Remember: revue.RememberDefault, CreatedAt: e.At, ConfirmedAt: e.At, By: revue.Who{Name: "alice"},
				}); err != nil {
					return err
				}
			}
			return nil
		})
		require.NoError(b, err)
	}
}
