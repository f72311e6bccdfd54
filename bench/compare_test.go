package bench

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/index/scorch"
	_ "github.com/mattn/go-sqlite3"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/memory"
)

var (
	sizes   = flag.String("sizes", "2000", "how many decisions, separated by commas")
	queries = flag.Int("queries", 500, "how many questions are looked up")
	engines = flag.String("engines", "revue,bleve,fts5", "which engines are compared")
)

// engine is one way to look a question up. find returns how many results it has.
type engine struct {
	name  string
	find  func(ctx context.Context, question string) (int, error)
	bytes func() (int64, error)
	close func() error
}

var (
	verbs   = []string{"cache", "log", "encrypt", "retry", "archive", "rename", "split", "index", "validate", "paginate", "shard", "mirror", "compress", "throttle", "version"}
	objects = []string{"sessions", "events", "invoices", "tokens", "uploads", "reports", "payments", "avatars", "webhooks", "messages", "orders", "secrets", "backups", "metrics", "dates", "migrations"}
	places  = []string{"staging", "production", "the client", "the server", "the gateway", "the worker", "the admin UI", "the nightly job", "the mobile app", "the EU region"}
)

// question makes one up. Names are as in real stores: a few common ones and many rare ones.
func question(rng *rand.Rand, n int) string {
	name := func() string { return fmt.Sprintf("svc%d", int(float64(n/10+10)*rng.Float64()*rng.Float64())) }
	pick := func(l []string) string { return l[rng.IntN(len(l))] }
	switch rng.IntN(3) {
	case 0:
		return fmt.Sprintf("Should the %s service %s %s on %s?", name(), pick(verbs), pick(objects), pick(places))
	case 1:
		return fmt.Sprintf("Which database should %s use for %s in %s?", name(), pick(objects), pick(places))
	default:
		return fmt.Sprintf("How many times should %s %s %s before %s is called?", name(), pick(verbs), pick(objects), name())
	}
}

func corpus(n int) []string {
	rng := rand.New(rand.NewPCG(7, uint64(n)))
	out := make([]string, n)
	for i := range out {
		out[i] = question(rng, n)
	}
	return out
}

func TestCompare(t *testing.T) {
	var table strings.Builder
	table.WriteString("| decisions | engine | p50 | p95 | p99 | build | bytes a decision |\n|--:|---|--:|--:|--:|--:|--:|\n")
	for size := range strings.SplitSeq(*sizes, ",") {
		n, err := strconv.Atoi(size)
		if err != nil || n < 1 {
			t.Fatalf("-sizes: %q is no number of decisions", size)
		}
		t.Run(size, func(t *testing.T) { table.WriteString(compare(t, n)) })
	}
	fmt.Print("\n" + table.String() + "\n")
}

// compare returns the rows of the table for so many decisions.
func compare(t *testing.T, n int) string {
	t.Helper()
	questions := corpus(n)
	var all []engine
	var built []time.Duration
	for _, start := range []struct {
		name string
		make func(*testing.T, []string) engine
	}{{"revue", revueEngine}, {"bleve", bleveEngine}, {"fts5", fts5Engine}} {
		if !strings.Contains(*engines, start.name) {
			continue
		}
		at := time.Now()
		e := start.make(t, questions)
		built = append(built, time.Since(at))
		t.Cleanup(func() {
			if err := e.close(); err != nil {
				t.Error(err)
			}
		})
		all = append(all, e)
	}
	took := make([][]time.Duration, len(all))
	rng := rand.New(rand.NewPCG(9, 9))
	runtime.GC()
	for i := range *queries + 20 {
		q := question(rng, n)
		for j, e := range all {
			at := time.Now()
			found, err := e.find(t.Context(), q)
			if d := time.Since(at); i >= 20 { // the first ones warm up
				took[j] = append(took[j], d)
			}
			if err != nil {
				t.Fatalf("%s: %v", e.name, err)
			}
			if found == 0 {
				t.Errorf("%s found nothing for %q", e.name, q)
			}
		}
	}
	var rows strings.Builder
	for j, e := range all {
		slices.Sort(took[j])
		at := func(share float64) time.Duration { return took[j][int(share*float64(len(took[j])-1))] }
		bytes, err := e.bytes()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&rows, "| %d | %s | %.3f ms | %.3f ms | %.3f ms | %.2f s | %d |\n",
			n, e.name, ms(at(0.5)), ms(at(0.95)), ms(at(0.99)), built[j].Seconds(), bytes/int64(n))
	}
	return rows.String()
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// source is a store of decisions that nobody changes.
type source struct {
	questions []string
	head      revue.Event
}

func (s *source) Workspace() string { return "bench" }

func (s *source) View(_ context.Context, fn func(revue.Snapshot) error) error { return fn(s) }

func (s *source) Now() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

func (s *source) Head() (revue.Event, error) { return s.head, nil }

func (s *source) Events(revue.Seq, int) ([]revue.Event, error) {
	return nil, errors.New("there are no events after the head")
}

func (s *source) FindDecisions(q revue.DecisionQuery) ([]revue.Decision, error) {
	var out []revue.Decision
	for i := int(q.After); i < len(s.questions) && len(out) < q.Limit; i++ {
		out = append(out, revue.Decision{
			ID: fmt.Sprintf("dec_%021d", i), Seq: revue.Seq(i + 1), Question: s.questions[i], Answer: "yes", Remember: revue.RememberDefault,
			Options: []revue.Option{{Value: "yes", Label: "Yes"}, {Value: "no", Label: "No"}}, By: revue.Who{Name: "ann", Via: "web"},
			CreatedAt: s.Now(), ConfirmedAt: s.Now(),
		})
	}
	return out, nil
}

func revueEngine(t *testing.T, questions []string) engine {
	t.Helper()
	m := memory.New(nil)
	s := &source{questions: questions, head: revue.Event{Seq: revue.Seq(len(questions)), Hash: "head"}}
	find := func(ctx context.Context, q string) (int, error) {
		r, err := m.Recall(ctx, s, revue.Query{Text: q})
		return len(r.Matches), err
	}
	if _, err := find(t.Context(), "build the index"); err != nil {
		t.Fatal(err)
	}
	return engine{"revue", find, func() (int64, error) { return m.Bytes(), nil }, func() error { return nil }}
}

func bleveEngine(t *testing.T, questions []string) engine {
	t.Helper()
	text := bleve.NewTextFieldMapping()
	text.Analyzer = en.AnalyzerName
	text.Store, text.IncludeTermVectors, text.IncludeInAll, text.DocValues = false, false, false, false
	doc := bleve.NewDocumentStaticMapping()
	doc.AddFieldMappingsAt("question", text)
	mapping := bleve.NewIndexMapping()
	mapping.DefaultMapping = doc
	dir := filepath.Join(t.TempDir(), "bleve")
	ix, err := bleve.NewUsing(dir, mapping, scorch.Name, scorch.Name, nil)
	if err != nil {
		t.Fatal(err)
	}
	batch := ix.NewBatch()
	for i, q := range questions {
		if err := batch.Index(strconv.Itoa(i), map[string]any{"question": q}); err != nil {
			t.Fatal(err)
		}
		if batch.Size() == 5000 || i == len(questions)-1 {
			if err := ix.Batch(batch); err != nil {
				t.Fatal(err)
			}
			batch.Reset()
		}
	}
	find := func(ctx context.Context, q string) (int, error) {
		match := bleve.NewMatchQuery(q)
		match.SetField("question")
		r, err := ix.SearchInContext(ctx, bleve.NewSearchRequestOptions(match, 10, 0, false))
		if err != nil {
			return 0, err
		}
		return len(r.Hits), nil
	}
	return engine{"bleve", find, func() (int64, error) { return folderSize(dir) }, ix.Close}
}

func folderSize(dir string) (int64, error) {
	total := int64(0)
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, os.ErrNotExist) {
			return nil // merged away meanwhile
		}
		if err == nil {
			total += info.Size()
		}
		return err
	})
	return total, err
}

// fts5Engine has no content of its own: the table keeps the index alone.
func fts5Engine(t *testing.T, questions []string) engine {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fts5.db")
	db, err := sql.Open("sqlite3", "file:"+path+"?_journal_mode=WAL&_synchronous=OFF&_cache_size=-262144")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(t.Context(), `CREATE VIRTUAL TABLE q USING fts5(question, content='', tokenize='porter unicode61')`); err != nil {
		t.Fatalf("%v: run with -tags sqlite_fts5", err)
	}
	if err := fill(t.Context(), db, questions); err != nil {
		t.Fatal(err)
	}
	for _, tidy := range []string{`INSERT INTO q(q) VALUES ('optimize')`, `PRAGMA wal_checkpoint(TRUNCATE)`} {
		if _, err := db.ExecContext(t.Context(), tidy); err != nil {
			t.Fatal(err)
		}
	}
	search, err := db.PrepareContext(t.Context(), `SELECT rowid FROM q WHERE q MATCH ? ORDER BY rank LIMIT 10`)
	if err != nil {
		t.Fatal(err)
	}
	find := func(ctx context.Context, question string) (int, error) {
		rows, err := search.QueryContext(ctx, anyWord(question))
		if err != nil {
			return 0, err
		}
		defer func() { _ = rows.Close() }()
		n := 0
		for rows.Next() {
			n++
		}
		return n, rows.Err()
	}
	return engine{"fts5", find, func() (int64, error) { return folderSize(filepath.Dir(path)) }, db.Close}
}

// fill writes the questions to the table of FTS5.
func fill(ctx context.Context, db *sql.DB, questions []string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	insert, err := tx.PrepareContext(ctx, `INSERT INTO q(rowid, question) VALUES (?, ?)`)
	if err != nil {
		return err
	}
	defer func() { _ = insert.Close() }()
	for i, q := range questions {
		if _, err := insert.ExecContext(ctx, i+1, q); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// anyWord is the FTS5 query for any of the telling words of a question. Those that the other engines leave out are
// left out here too: with them FTS5 would have to score nearly every row.
func anyWord(question string) string {
	var out []string
	for w := range strings.FieldsSeq(strings.TrimRight(question, "?")) {
		switch strings.ToLower(w) {
		case "should", "the", "on", "which", "for", "in", "how", "many", "before", "is", "use", "a":
			continue
		}
		out = append(out, `"`+w+`"`)
	}
	return strings.Join(out, " OR ")
}
