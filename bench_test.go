package revue_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"maps"
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
	var wrote bool
	err := c.Store.Update(ctx, ws, func(tx revue.Tx) error {
		wrote = false
		return fn(appendWatcher{tx, &wrote})
	})
	if err == nil && wrote {
		c.commits++
	}
	return err
}

// appendWatcher notes that the journal was written to.
type appendWatcher struct {
	revue.Tx
	wrote *bool
}

func (w appendWatcher) Append(e revue.Event) error {
	*w.wrote = true
	return w.Tx.Append(e)
}

func benchStore(b *testing.B, path string) *sqlite.Store {
	b.Helper()
	store, err := sqlite.Open(b.Context(), path, nil)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, store.Close()) })
	return store
}

// rival is a database of the same driver with the same durability, written to by nothing but statements that
// were prepared before: what the driver and the disk need, and no more.
type rival struct {
	b  *testing.B
	db *sql.DB
}

func newRival(b *testing.B, path string, setup ...string) rival {
	b.Helper()
	db, err := sql.Open(sqlDriver(), "file:"+filepath.ToSlash(path)+"?_txlock=immediate")
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, db.Close()) })
	db.SetMaxOpenConns(1)
	r := rival{b, db}
	for _, s := range append([]string{"PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL"}, setup...) {
		_, err := db.ExecContext(b.Context(), s)
		require.NoError(b, err)
	}
	return r
}

// sqlDriver is the name of the driver that storage/sqlite is built with.
func sqlDriver() string {
	if name := "sqlite3"; slices.Contains(sql.Drivers(), name) { // the cgo one
		return name
	}
	return "sqlite"
}

func (r rival) prepare(query string) *sql.Stmt {
	r.b.Helper()
	st, err := r.db.PrepareContext(r.b.Context(), query)
	require.NoError(r.b, err, query)
	r.b.Cleanup(func() { require.NoError(r.b, st.Close()) })
	return st
}

// write is one row that a commit writes.
type write struct {
	stmt *sql.Stmt
	args func(op int) []any
}

func (r rival) commit(op int, writes []write) {
	tx, err := r.db.BeginTx(r.b.Context(), nil)
	for _, w := range writes {
		if err == nil {
			_, err = tx.StmtContext(r.b.Context(), w.stmt).ExecContext(r.b.Context(), w.args(op)...) //nolint:sqlclosecheck // closed with the transaction
		}
	}
	if err == nil {
		err = tx.Commit()
	}
	require.NoError(r.b, err)
}

// table is what a table of a database holds.
type table struct {
	cols []string
	keys []string // of the primary key
	rows map[string][]any
}

func (t table) key(row []any) string {
	var sb strings.Builder
	for i, c := range t.cols {
		if slices.Contains(t.keys, c) {
			fmt.Fprintf(&sb, "%v|", row[i])
		}
	}
	return sb.String()
}

// rekeyed is the table with its rows under its keys as they are now.
func (t table) rekeyed() table {
	rows := map[string][]any{}
	for _, r := range t.rows {
		rows[t.key(r)] = r
	}
	t.rows = rows
	return t
}

// dump reads a database file whole, and its schema.
func dump(b *testing.B, path string) (tables map[string]table, schema []string) {
	b.Helper()
	db, err := sql.Open(sqlDriver(), "file:"+filepath.ToSlash(path))
	require.NoError(b, err)
	defer db.Close()
	tables = map[string]table{}
	for _, m := range query(b, db, "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY type DESC, name") {
		schema = append(schema, fmt.Sprint(m[2]))
		if fmt.Sprint(m[0]) != "table" {
			continue
		}
		name := fmt.Sprint(m[1])
		t := table{rows: map[string][]any{}}
		for _, c := range query(b, db, "SELECT name, pk FROM pragma_table_info('"+name+"')") {
			t.cols = append(t.cols, fmt.Sprint(c[0]))
			if fmt.Sprint(c[1]) != "0" {
				t.keys = append(t.keys, fmt.Sprint(c[0]))
			}
		}
		for _, row := range query(b, db, "SELECT * FROM "+name) {
			t.rows[t.key(row)] = row
		}
		tables[name] = t
	}
	return tables, schema
}

func query(b *testing.B, db *sql.DB, q string) (out [][]any) {
	b.Helper()
	rows, err := db.QueryContext(b.Context(), q)
	require.NoError(b, err)
	defer rows.Close()
	cols, err := rows.Columns()
	require.NoError(b, err)
	for rows.Next() {
		row, to := make([]any, len(cols)), make([]any, len(cols))
		for i := range row {
			to[i] = &row[i]
		}
		require.NoError(b, rows.Scan(to...))
		for i, v := range row {
			if text, ok := v.([]byte); ok && cols[i] != "value" {
				row[i] = string(text)
			}
		}
		out = append(out, row)
	}
	require.NoError(b, rows.Err())
	return out
}

// changes are the writes that turn one dump into the next, with ids and numbers of their own for each op.
func (r rival) changes(before, after map[string]table, perOp int64) (out []write) {
	r.b.Helper()
	names := slices.Sorted(maps.Keys(after))
	own := func(col string, v any, op int) any {
		switch v := v.(type) {
		case int64:
			if col == "seq" || col == "change" {
				return v + int64(op+1)*perOp
			}
		case string:
			if col != "body" && len(v) > 20 { // an id or a hash
				return v[:len(v)-8] + fmt.Sprintf("%08d", op)
			}
		}
		return v
	}
	for _, name := range names {
		t, was := after[name], before[name]
		if len(t.rows) == len(was.rows) && slices.Contains(t.cols, "workspace") && !slices.Equal(slices.Sorted(maps.Keys(t.rows)), slices.Sorted(maps.Keys(was.rows))) {
			// The key itself moves on: one row a workspace.
			t.keys, was.keys = []string{"workspace"}, []string{"workspace"}
			t, was = t.rekeyed(), was.rekeyed()
		}
		for _, k := range slices.Sorted(maps.Keys(t.rows)) {
			row, old := t.rows[k], was.rows[k]
			if slices.EqualFunc(row, old, func(a, b any) bool { return fmt.Sprint(a) == fmt.Sprint(b) }) {
				continue
			}
			var set, where []int // indexes of columns
			for i, c := range t.cols {
				switch {
				case slices.Contains(t.keys, c):
					where = append(where, i)
				case old == nil || fmt.Sprint(row[i]) != fmt.Sprint(old[i]):
					set = append(set, i)
				}
			}
			join := func(of []int, format, sep string) string {
				var parts []string
				for _, i := range of {
					parts = append(parts, fmt.Sprintf(format, t.cols[i]))
				}
				return strings.Join(parts, sep)
			}
			order := slices.Concat(set, where)
			q := "UPDATE " + name + " SET " + join(set, "%s = ?", ", ") + " WHERE " + join(where, "%s = ?", " AND ")
			if old == nil {
				q = "INSERT INTO " + name + " (" + join(order, "%s", ", ") + ") VALUES (?" + strings.Repeat(", ?", len(order)-1) + ")"
			}
			out = append(out, write{r.prepare(q), func(op int) []any {
				args := make([]any, len(order))
				for n, i := range order {
					args[n] = own(t.cols[i], row[i], op)
				}
				return args
			}})
		}
	}
	return out
}

// sameRows returns a rival with the desk's schema, and the writes of each of the three commits of asking,
// answering and collecting, as a desk did them.
func sameRows(b *testing.B) (rival, [][]write) {
	b.Helper()
	path := filepath.Join(b.TempDir(), "model.db")
	store := benchStore(b, path)
	desk := revue.New(store, memory.New(nil), nil)
	ask := func(i int) revue.Ask {
		a := databaseAsk(0)
		a.Question = newQuestion(i)
		return a
	}
	collect := func(i int) revue.Outcome {
		o, err := desk.Decider(agent("bench")).Request(b.Context(), ask(i))
		require.NoError(b, err)
		return o
	}
	answer := func(lot string) {
		_, err := desk.Reviewer(alice).Answer(b.Context(), lot, revue.Answer{Value: "postgres"})
		require.NoError(b, err)
	}
	answer(collect(1).LotID)
	collect(1)
	states := make([]map[string]table, 4)
	var schema []string
	states[0], schema = dump(b, path)
	lot := collect(2).LotID
	states[1], _ = dump(b, path)
	answer(lot)
	states[2], _ = dump(b, path)
	collect(2)
	states[3], _ = dump(b, path)
	r := newRival(b, filepath.Join(b.TempDir(), "rows.db"), schema...)
	for _, name := range slices.Sorted(maps.Keys(states[0])) { // what was there before
		t := states[0][name]
		st := r.prepare("INSERT INTO " + name + //nolint:sqlclosecheck // closed by its cleanup
			" VALUES (?" + strings.Repeat(", ?", len(t.cols)-1) + ")")
		for _, row := range t.rows {
			_, err := st.ExecContext(b.Context(), row...)
			require.NoError(b, err)
		}
	}
	var commits [][]write
	for i := range 3 {
		w := r.changes(states[i], states[i+1], 10)
		require.NotEmpty(b, w)
		commits = append(commits, w)
	}
	return r, commits
}

// newQuestion is a question about things that no other is about, as most are: this measures commits, and
// BenchmarkLookup what many alike questions cost.
func newQuestion(i int) string {
	thing := func(n int) string {
		syllables := []string{"ba", "ce", "di", "fo", "gu", "ka", "le", "mi", "no", "pu", "ra", "se", "ti", "vo", "zu", "xa"}
		return syllables[n%16] + syllables[n/16%16] + syllables[n/256%16] + syllables[n/4096%16]
	}
	return fmt.Sprintf("Which %s should the %s of %s have?", thing(i*31), thing(i*57+1), thing(i*97+2))
}

// BenchmarkAskAnswer asks, answers and collects on SQLite: three durable commits. In the same run it does
// as many with nothing but prepared statements: of the very rows that the desk wrote, and of a single row.
// x-same-rows and x-one-row are the time of a commit of these through that of one of the desk's: 1 is
// as fast as the driver and the disk allow.
func BenchmarkAskAnswer(b *testing.B) {
	store := &commitCounter{Store: benchStore(b, filepath.Join(b.TempDir(), "revue.db"))}
	desk := revue.New(store, memory.New(nil), nil)
	agent, human := desk.Decider(agent("bench")), desk.Reviewer(alice)
	rows, writes := sameRows(b)
	one := newRival(b, filepath.Join(b.TempDir(), "one.db"), "CREATE TABLE rows (id INTEGER PRIMARY KEY, body BLOB NOT NULL)")
	body := []byte(strings.Repeat("x", 1500))
	row := []write{{one.prepare("INSERT INTO rows (body) VALUES (?)"), func(int) []any { return []any{body} }}}
	var ours, sameRows, oneRow time.Duration
	timed := func(sum *time.Duration, do func()) {
		start := time.Now()
		do()
		*sum += time.Since(start)
	}
	commits := 0
	for i := 0; b.Loop(); i++ {
		ask := databaseAsk(0)
		ask.Question = newQuestion(i)
		store.commits = 0
		timed(&ours, func() {
			o, err := agent.Request(b.Context(), ask)
			require.NoError(b, err)
			_, err = human.Answer(b.Context(), o.LotID, revue.Answer{Value: "postgres"})
			require.NoError(b, err)
			o, err = agent.Request(b.Context(), ask)
			require.NoError(b, err)
			require.Equal(b, revue.OutcomeAnswered, o.Status)
		})
		commits += store.commits
		require.LessOrEqual(b, store.commits, len(writes)+1) // the first one lists the workspace
		timed(&sameRows, func() {
			for _, w := range writes {
				rows.commit(i, w)
			}
		})
		timed(&oneRow, func() {
			for range writes {
				one.commit(i, row)
			}
		})
	}
	b.ReportMetric(float64(sameRows)/float64(ours), "x-same-rows")
	b.ReportMetric(float64(oneRow)/float64(ours), "x-one-row")
	b.ReportMetric(float64(commits)/float64(b.N), "commits/op")
	b.ReportMetric(float64(ours.Microseconds())/float64(commits), "µs/commit")
	b.ReportMetric(float64(oneRow.Microseconds())/float64(3*b.N), "one-row-µs/commit")
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
