package memory_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/memory"
	"github.com/revuehq/revue/storage/sqlite"
)

func TestIdleIndexesAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, m := newSource(), memory.New(&memory.Options{Idle: time.Minute})
		s.make(revue.Decision{Question: "Should the sessions table be dropped?", Answer: "yes"})
		q := revue.Query{Text: "sessions table dropped"}
		recall(t, m, s, q)
		require.Positive(t, m.Bytes())
		for range 5 { // it is in use
			time.Sleep(50 * time.Second) //nolint:forbidigo // the clock of the test
			recall(t, m, s, q)
		}
		require.Equal(t, 1, s.reads)
		time.Sleep(61 * time.Second) //nolint:forbidigo // as above
		synctest.Wait()
		require.Zero(t, m.Bytes())
		require.Len(t, recall(t, m, s, q).Matches, 1)
		require.Equal(t, 2, s.reads, "read again")

		kept := memory.New(&memory.Options{Idle: -1})
		recall(t, kept, s, q)
		time.Sleep(24 * time.Hour) //nolint:forbidigo // as above
		require.Positive(t, kept.Bytes())
	})
}

func TestIndexesStayWithinTheirBound(t *testing.T) {
	make500 := func(name string) *source {
		s := newSource()
		s.workspace = name
		for i := range 500 {
			s.make(revue.Decision{Question: fmt.Sprintf("Should table%d of %s be dropped?", i, name), Answer: "yes"})
		}
		return s
	}
	var all []*source
	for i := range 6 {
		all = append(all, make500(fmt.Sprint("w", i)))
	}
	one := memory.New(nil)
	recall(t, one, all[0], revue.Query{Text: "table7"})
	bound := 3 * one.Bytes()
	m := memory.New(&memory.Options{MaxBytes: bound})
	for _, s := range all {
		recall(t, m, s, revue.Query{Text: "table7"})
		require.LessOrEqual(t, m.Bytes(), bound)
	}
	reads := all[5].reads
	recall(t, m, all[5], revue.Query{Text: "table7"})
	require.Equal(t, reads, all[5].reads, "the last one is kept")
	recall(t, m, all[0], revue.Query{Text: "table7"})
	require.Equal(t, 1500, all[0].reads, "the first one was dropped")

	tight := memory.New(&memory.Options{MaxBytes: 1})
	for range 3 {
		recall(t, tight, all[1], revue.Query{Text: "table7"})
	}
	require.Equal(t, 1000, all[1].reads, "one alone is kept whatever its size")
}

// While one recall reads what has changed, those that need none of it go on.
func TestRecallDoesNotWaitForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, m := newSource(), memory.New(nil)
		s.make(revue.Decision{Question: "Should the sessions table be dropped?", Answer: "yes"})
		recall(t, m, s, revue.Query{Text: "sessions table"})
		release := make(chan struct{})
		slow := func(ctx context.Context, what string) error {
			if what == "events" {
				<-release
			}
			return ctx.Err()
		}
		behind := &source{workspace: s.workspace, now: s.now, events: s.events} // sees the journal as it was
		s.make(revue.Decision{Question: "Should the users table be dropped?", Answer: "no"})
		s.hook = slow
		done := make(chan error, 1)
		go func() {
			_, err := m.Recall(t.Context(), s, revue.Query{Text: "users table"})
			done <- err
		}()
		synctest.Wait()
		require.Len(t, recall(t, m, behind, revue.Query{Text: "sessions table"}).Matches, 1)
		close(release)
		require.NoError(t, <-done)
	})
}

// embedder knows what each text means: wordings that share a tag are alike.
type embedder struct {
	dim   int
	embed func(ctx context.Context, texts []string) ([][]float32, error)
	mu    sync.Mutex
	calls [][]string
}

func (e *embedder) ID() string { return "test" }
func (e *embedder) Dim() int   { return e.dim }

func (e *embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	e.mu.Lock()
	e.calls = append(e.calls, slices.Clone(texts))
	e.mu.Unlock()
	return e.embed(ctx, texts)
}

// asked is what Embed was called with so far.
func (e *embedder) asked() [][]string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.calls)
}

// about gives texts with the word the one direction, and all others the other.
func about(word string) func(context.Context, []string) ([][]float32, error) {
	return func(_ context.Context, texts []string) ([][]float32, error) {
		var out [][]float32
		for _, t := range texts {
			if strings.Contains(t, word) || strings.HasPrefix(t, "Where") {
				out = append(out, []float32{2, 0})
			} else {
				out = append(out, []float32{0, 3})
			}
		}
		return out, nil
	}
}

func embedSource(n int) *source {
	s := newSource()
	for i := range n {
		s.now = s.now.Add(time.Minute)
		s.make(revue.Decision{Question: fmt.Sprintf("Should reports of customer%d invoices be kept in the archive?", i), Answer: "yes"})
	}
	s.make(revue.Decision{ID: "dec_same", Question: "Where are invoices kept?", Answer: "s3"})
	return s
}

func TestEmbedderOrdersAnew(t *testing.T) {
	s := embedSource(40)
	q := revue.Query{Text: "Where are invoices of customer7 kept?", Limit: 100}
	plain := recall(t, memory.New(nil), s, q)
	e := &embedder{dim: 2, embed: about("customer31")}
	m := memory.New(&memory.Options{Embedder: e})
	for range 3 {
		got := recall(t, m, s, q)
		at := slices.IndexFunc(got.Matches, func(m revue.Match) bool { return strings.Contains(m.Question, "customer31 ") })
		before := slices.IndexFunc(plain.Matches, func(m revue.Match) bool { return strings.Contains(m.Question, "customer31 ") })
		require.LessOrEqual(t, at, 2)
		require.GreaterOrEqual(t, at, 0)
		require.True(t, before < 0 || before > at, "%d, lexically %d", at, before)
		for _, x := range got.Matches {
			require.Equal(t, revue.Confirm, x.ReuseGuidance)
		}
	}
	require.Len(t, e.asked(), 1, "what was embedded is kept")
	require.LessOrEqual(t, len(e.asked()[0]), 51)
}

// What an Embedder says makes nothing applied, and takes nothing back.
func TestEmbedderNeverTouchesApply(t *testing.T) {
	s := embedSource(30)
	same := func(_ context.Context, texts []string) ([][]float32, error) {
		return slices.Repeat([][]float32{{1, 0}}, len(texts)), nil
	}
	opposite := func(_ context.Context, texts []string) ([][]float32, error) {
		out := make([][]float32, len(texts))
		for i := range texts {
			out[i] = []float32{float32(1 - 2*(i%2)), 0.001}
		}
		return out, nil
	}
	for _, text := range []string{"Where are invoices kept?", "Where are invoices not kept?", "Should reports of customer7 invoices be kept in the archive?", "Where were invoices kept?"} {
		want := recall(t, memory.New(nil), s, revue.Query{Text: text})
		for _, f := range []func(context.Context, []string) ([][]float32, error){same, opposite} {
			got := recall(t, memory.New(&memory.Options{Embedder: &embedder{dim: 2, embed: f}}), s, revue.Query{Text: text})
			require.Equal(t, applied(want), applied(got))
			require.Equal(t, want.Deictic, got.Deictic)
		}
	}
}

func applied(r revue.Recalled) []revue.Match {
	var out []revue.Match
	for _, m := range r.Matches {
		if m.ReuseGuidance == revue.Apply {
			out = append(out, m)
		}
	}
	return out
}

func TestEmbedderThatFails(t *testing.T) {
	s := embedSource(30)
	q := revue.Query{Text: "Where are invoices of customer7 kept?", Limit: 50}
	want := recall(t, memory.New(nil), s, q)
	fill := func(n int, v []float32) [][]float32 { return slices.Repeat([][]float32{v}, n) }
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for name, f := range map[string]func(ctx context.Context, texts []string) ([][]float32, error){
		"an error": func(context.Context, []string) ([][]float32, error) { return nil, errors.New("boom") },
		"error and all": func(_ context.Context, l []string) ([][]float32, error) {
			return fill(len(l), []float32{1, 0}), errors.New("boom")
		},
		"nothing":   func(context.Context, []string) ([][]float32, error) { return nil, nil },
		"too few":   func(_ context.Context, l []string) ([][]float32, error) { return fill(len(l)-1, []float32{1, 0}), nil },
		"too many":  func(_ context.Context, l []string) ([][]float32, error) { return fill(len(l)+1, []float32{1, 0}), nil },
		"short":     func(_ context.Context, l []string) ([][]float32, error) { return fill(len(l), []float32{1}), nil },
		"long":      func(_ context.Context, l []string) ([][]float32, error) { return fill(len(l), []float32{1, 0, 0}), nil },
		"no number": func(_ context.Context, l []string) ([][]float32, error) { return fill(len(l), []float32{nan, 0}), nil },
		"endless":   func(_ context.Context, l []string) ([][]float32, error) { return fill(len(l), []float32{inf, 0}), nil },
		"nowhere":   func(_ context.Context, l []string) ([][]float32, error) { return fill(len(l), []float32{0, 0}), nil },
		"only the last": func(_ context.Context, l []string) ([][]float32, error) {
			return append(fill(len(l)-1, []float32{1, 0}), []float32{nan, 1}), nil
		},
		"a cancelled one": func(context.Context, []string) ([][]float32, error) { return nil, context.Canceled },
	} {
		t.Run(name, func(t *testing.T) {
			m := memory.New(&memory.Options{Embedder: &embedder{dim: 2, embed: f}})
			for range 3 {
				require.Equal(t, want, recall(t, m, s, q))
			}
		})
	}
}

func TestEmbedderThatIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := embedSource(30)
		q := revue.Query{Text: "Where are invoices of customer7 kept?", Limit: 50}
		want := recall(t, memory.New(nil), s, q)
		e := &embedder{dim: 2}
		e.embed = func(ctx context.Context, texts []string) ([][]float32, error) { // heeds no context
			time.Sleep(time.Second) //nolint:forbidigo // the clock of the test
			return about("customer21")(ctx, texts)
		}
		m := memory.New(&memory.Options{Embedder: e, EmbedTimeout: 200 * time.Millisecond})
		at := time.Now()
		require.Equal(t, want, recall(t, m, s, q))
		require.Equal(t, 200*time.Millisecond, time.Since(at))
		time.Sleep(time.Second + 200*time.Millisecond) //nolint:forbidigo // as above
		synctest.Wait()
		// What came late is kept for the next one.
		at = time.Now()
		require.NotEqual(t, want, recall(t, m, s, q))
		require.Zero(t, time.Since(at))
		require.Len(t, e.asked(), 1)

		synctest.Wait()
		// One that fails is left alone for a while, longer each time.
		e.embed = func(ctx context.Context, _ []string) ([][]float32, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		other := func(i int) revue.Query {
			return revue.Query{Text: fmt.Sprintf("Where are invoices of customer%d kept?", i), Limit: 50}
		}
		for i := range 10 {
			recall(t, m, s, other(i+100))
		}
		require.Len(t, e.asked(), 2)
		time.Sleep(2100 * time.Millisecond) //nolint:forbidigo // as above
		recall(t, m, s, other(200))
		require.Len(t, e.asked(), 3)
		time.Sleep(2100 * time.Millisecond) //nolint:forbidigo // as above
		recall(t, m, s, other(300))
		require.Len(t, e.asked(), 3)
		synctest.Wait()
	})
}

func TestVectorsStayWithinTheirBound(t *testing.T) {
	s := embedSource(60)
	e := &embedder{dim: 2, embed: about("customer3")}
	m := memory.New(&memory.Options{Embedder: e, MaxVectorBytes: 6 << 10})
	without := memory.New(nil)
	for i := range 60 {
		q := revue.Query{Text: fmt.Sprintf("Where are invoices of customer%d kept?", i)}
		recall(t, m, s, q)
		recall(t, without, s, q)
		require.LessOrEqual(t, m.Bytes()-without.Bytes(), int64(6<<10))
	}
	require.Greater(t, len(e.asked()), 1)
}

// What is the same is so for both, and for all that are the same as one of them.
func TestSameIsAnEquivalence(t *testing.T) {
	m, ctx := memory.New(nil), t.Context()
	variants := []func(string) string{
		func(s string) string { return s },
		func(s string) string { return strings.ToLower(s[:1]) + s[1:] },
		func(s string) string { return strings.TrimSuffix(s, "?") },
		func(s string) string { return "Please " + strings.ToLower(s[:1]) + s[1:] },
		func(s string) string { return strings.TrimSuffix(s, "?") + ", please?" },
		func(s string) string { return strings.ReplaceAll(s, " the ", " ") },
		func(s string) string { return strings.ReplaceAll(s, " the ", " a ") },
		func(s string) string { return "  " + strings.ReplaceAll(s, " ", "  ") + "\n" },
	}
	rapid.Check(t, func(t *rapid.T) {
		words := make([]string, rapid.IntRange(2, 8).Draw(t, "n"))
		for i := range words {
			words[i] = content(t, "word")
		}
		base := "Should the " + strings.Join(words, " the ") + "?"
		pick := func(name string) revue.Question {
			return revue.Question{Text: rapid.SampledFrom(variants).Draw(t, name)(base)}
		}
		a, b, c := pick("a"), pick("b"), pick("c")
		same := func(x, y revue.Question) bool { return m.Same(x, y).Verdict == revue.VerdictSame }
		require.Equal(t, same(a, b), same(b, a))
		canonical := func(q revue.Question) string { return strings.Join(memory.Canonical(q.Text), "\x00") }
		if canonical(a) == canonical(b) && canonical(b) == canonical(c) {
			require.Equal(t, canonical(a), canonical(c))
		}
		if same(a, b) && same(b, c) {
			require.True(t, same(a, c), "%q %q %q", a.Text, b.Text, c.Text)
		}
		rule := rapid.Bool().Draw(t, "as a rule")
		applies := func(decided, asked revue.Question) bool {
			s := newSource()
			remember := revue.RememberDefault
			if rule {
				remember = revue.RememberRule
			}
			s.make(revue.Decision{Question: decided.Text, Answer: "yes", Remember: remember})
			r, err := memory.New(nil).Recall(ctx, s, revue.Query{Text: asked.Text})
			require.NoError(t, err)
			return first(r).ReuseGuidance == revue.Apply
		}
		require.Equal(t, applies(a, b), applies(b, a), "%q %q", a.Text, b.Text)
		if applies(a, b) {
			require.Equal(t, canonical(a), canonical(b))
			require.True(t, rule || same(a, b), "what a rule alone makes apply may be joined in plain sight")
			require.Equal(t, applies(b, c), applies(a, c), "%q %q %q", a.Text, b.Text, c.Text)
		}
	})
}

// What a wording means by its articles counts on both sides: "the customer" may be one, and without an article it is
// another wording.
func TestDoubtIsSymmetric(t *testing.T) {
	for _, c := range [][2]string{
		{"Should the customer be refunded for invoices?", "Should customer be refunded for invoices?"},
		{"Should the ticket be closed for invoices?", "Should ticket be closed for invoices?"},
		{"Should the vendor's invoices be paid?", "Should vendor's invoices be paid?"},
	} {
		for _, c := range [][2]string{c, {c[1], c[0]}} {
			s := newSource()
			s.make(revue.Decision{Question: c[0], Answer: "yes", Remember: revue.RememberRule})
			r := recall(t, memory.New(nil), s, revue.Query{Text: c[1]})
			require.Equal(t, revue.Confirm, first(r).ReuseGuidance, c)
			require.Equal(t, revue.VerdictRelated, first(r).Verdict)
			require.Contains(t, first(r).Reason, "the")
		}
	}
}

const (
	storeFile = "REVUE_TEST_STORE"
	question  = "Should table%d be kept in billing?"
)

// TestOtherProcess is the other half of [TestTwoProcessesOneFile]: for each line it reads it decides one question, or
// tells what it finds for one.
func TestOtherProcess(t *testing.T) {
	path := os.Getenv(storeFile)
	if path == "" {
		t.Skip("only as a process of another test")
	}
	desk := sqliteDesk(t, path)
	out := bufio.NewWriter(os.Stdout)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		verb, arg, _ := strings.Cut(in.Text(), " ")
		switch verb {
		case "decide":
			decide(t, desk, arg)
			_, _ = fmt.Fprintln(out, "done")
		case "find":
			_, _ = fmt.Fprintln(out, "found", found(t, desk, arg))
		}
		require.NoError(t, out.Flush())
	}
}

func sqliteDesk(t *testing.T, path string) *revue.Desk {
	t.Helper()
	store, err := sqlite.Open(t.Context(), path, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return revue.New(store, memory.New(nil), nil)
}

func decide(t *testing.T, desk *revue.Desk, q string) {
	t.Helper()
	agent := revue.Agent{Workspace: "w", Credential: "c", Name: "agent", Thread: "t-" + q, Via: "test"}
	_, err := desk.Decider(agent).Request(t.Context(), revue.Ask{Question: q, Options: options("yes", "no")})
	require.NoError(t, err)
	human := desk.Reviewer(revue.Human{Workspace: "w", ID: "h", Name: "Ada", Via: "test"})
	open, err := human.Lots(t.Context(), revue.LotFilter{Status: revue.StatusOpen})
	require.NoError(t, err)
	require.Len(t, open.Items, 1)
	_, err = human.Answer(t.Context(), open.Items[0].ID, revue.Answer{Value: "yes"})
	require.NoError(t, err)
}

func found(t *testing.T, desk *revue.Desk, q string) string {
	t.Helper()
	got, err := desk.Decider(revue.Agent{Workspace: "w", Credential: "c2", Name: "agent", Thread: "t", Via: "test"}).Lookup(t.Context(), revue.Query{Text: q})
	require.NoError(t, err)
	if len(got.Matches) == 0 {
		return "nothing"
	}
	return string(got.Matches[0].ReuseGuidance) + " " + got.Matches[0].Question
}

// Two processes share a file: each finds at its next lookup what the other decided.
func TestTwoProcessesOneFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "revue.db")
	desk := sqliteDesk(t, path)
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, "-test.run", "^TestOtherProcess$")
	cmd.Env = append(os.Environ(), storeFile+"="+path)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	pipe, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	out := bufio.NewScanner(pipe)
	say := func(line string) string {
		_, err := fmt.Fprintln(in, line)
		require.NoError(t, err)
		require.True(t, out.Scan(), "the other process ended")
		return out.Text()
	}
	for i := range 5 {
		q := fmt.Sprintf(question, 2*i)
		require.NotContains(t, say("find "+q), "apply")
		decide(t, desk, q)
		require.Equal(t, "found apply "+q, say("find "+q))

		q = fmt.Sprintf(question, 2*i+1)
		require.NotContains(t, found(t, desk, q), "apply")
		require.Equal(t, "done", say("decide "+q))
		require.Equal(t, "apply "+q, found(t, desk, q))
	}
	require.NoError(t, in.Close())
	for out.Scan() {
		t.Log(out.Text())
	}
	require.NoError(t, cmd.Wait())
}
