package memory_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/memory"
)

// manyWords is n different short words.
func manyWords(n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = string([]byte{'a' + byte(i/26%26), 'a' + byte(i%26)}) + strings.Repeat("q", i/676)
	}
	return strings.Join(words, " ")
}

// longPairs are pairs of wordings of about the length that a question may have, each made to be as costly as can be.
func longPairs() map[string][2]string {
	p := manyWords(600)
	words := strings.Fields(p)
	back := slices.Clone(words)
	slices.Reverse(back)
	rng := rand.New(rand.NewPCG(1, 1))
	mixed := slices.Clone(words)
	rng.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
	repeat := func(s string, n int) string { return strings.Repeat(s+" ", n) }
	return map[string][2]string{
		"parts of one bag":  {p + " foo abzz bar baz cdzz qux", p + " qux efzz baz bar ghzz foo"},
		"backwards":         {p, strings.Join(back, " ")},
		"in any order":      {p, strings.Join(mixed, " ")},
		"phrases of place":  {"should we use " + repeat("in a", 390), repeat("in a", 390) + "should we use"},
		"rotated":           {"should we use x" + repeat(" in zz for yy", 100), repeat("for yy in zz", 100) + ", should we use x"},
		"one word":          {repeat("a", 1000), repeat("a", 999) + "b"},
		"articles":          {repeat("the x", 330), repeat("a x", 330)},
		"punctuation":       {repeat("ab , cd ;", 200), repeat("ab ; cd ,", 200)},
		"courtesies":        {"please " + repeat("kindly please", 140), "please " + repeat("please kindly", 140)},
		"moments":           {repeat("at noon q1 both then", 90), repeat("then both q1 at noon", 90)},
		"passive":           {"should " + p + " be stored in x", "should we store " + p + " in x"},
		"or":                {repeat("in utc or", 200), repeat("in utc or in", 150)},
		"long tokens":       {"Should " + strings.Repeat("x", 1000) + " be used by " + strings.Repeat("y", 900), "Should " + strings.Repeat("y", 900) + " be used by " + strings.Repeat("x", 1000)},
		"line breaks":       {strings.Repeat("ab\n", 600), strings.Repeat("ab\n ", 480)},
		"opposites":         {repeat("enable disable unlock lock", 70), repeat("disable enable lock unlock", 70)},
		"scripts of one":    {strings.Repeat("数据库", 220), strings.Repeat("库数据", 220)},
		"below the bound":   {manyWords(90) + " foo x", manyWords(90) + " y foo"},
		"words of one stem": {repeat("deploy deploying deploys", 80), repeat("deploys deploy deploying", 80)},
	}
}

// allocated runs f n times and returns the mean number of allocations, and of bytes.
func allocated(n int, f func()) (times, bytes uint64) {
	f()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range n {
		f()
	}
	runtime.ReadMemStats(&after)
	return (after.Mallocs - before.Mallocs) / uint64(n), (after.TotalAlloc - before.TotalAlloc) / uint64(n) //nolint:gosec // n is small
}

// Comparing two wordings takes a bounded number of steps, however long they are. What is counted is what it allocates: no pair
// of words costs a string.
func TestComparingIsBounded(t *testing.T) {
	m := memory.New(nil)
	long := 0
	for name, p := range longPairs() {
		a, b := revue.Question{Text: p[0]}, revue.Question{Text: p[1]}
		require.LessOrEqual(t, len(p[0]), revue.MaxQuestion, name)
		require.LessOrEqual(t, len(p[1]), revue.MaxQuestion, name)
		times, bytes := allocated(20, func() { m.Same(a, b) })
		t.Logf("%-18s %4d allocations, %6d bytes", name, times, bytes)
		require.Less(t, times, uint64(64), name)
		require.Less(t, bytes, uint64(64<<10), name)
		if c := m.Same(a, b); c.Verdict == revue.VerdictRelated && (tokens(p[0]) > 96 || tokens(p[1]) > 96) {
			require.True(t, strings.HasPrefix(c.Differs, "wording: "), "%s was compared word by word: %s", name, c.Differs)
			require.True(t, c.Crucial)
			long++
		}
	}
	require.Greater(t, long, 8)
}

func tokens(text string) int { return len(memory.Canonical(text)) }

// Wordings too long to be compared word by word are the same where they are equal, else related at most, and crucially different.
func TestLongWordings(t *testing.T) {
	m := memory.New(nil)
	for _, n := range []int{100, 300, 600} {
		p := "Should billing store " + strings.ReplaceAll(manyWords(n), " ", "k ") // none of them is a word
		for _, other := range []string{p + " not", "please, " + p, "the " + p, strings.Replace(p, " aek ", " wek ", 1), p + " zz", "Should billing keep" + strings.TrimPrefix(p, "Should billing store")} {
			c := m.Same(revue.Question{Text: p}, revue.Question{Text: other})
			if slices.Equal(memory.Canonical(p), memory.Canonical(other)) {
				require.Equal(t, revue.VerdictSame, c.Verdict)
				continue
			}
			require.Equal(t, revue.VerdictRelated, c.Verdict)
			require.True(t, c.Crucial)
			require.NotEmpty(t, c.Differs)
			require.Less(t, len(c.Differs), 200)
		}
		require.Equal(t, revue.VerdictSame, m.Same(revue.Question{Text: p}, revue.Question{Text: p + "?"}).Verdict)
	}
}

// A lookup among long wordings that are all alike costs what its candidates cost.
func TestLookupAmongLongWordingsIsBounded(t *testing.T) {
	s, m := newSource(), memory.New(nil)
	p := manyWords(600)
	for i := range 300 {
		s.make(revue.Decision{Question: fmt.Sprintf("%s foo w%d bar baz v%d qux", p, i, i), Answer: "yes"})
	}
	for _, limit := range []int{10, 100} {
		q := revue.Query{Text: p + " qux kzz baz bar lzz foo", Limit: limit}
		require.Len(t, recall(t, m, s, q).Matches, limit)
		times, bytes := allocated(3, func() { recall(t, m, s, q) })
		t.Logf("limit %d: %d allocations, %d kB", limit, times, bytes>>10)
		require.Less(t, times, uint64(40_000+4_000*limit))
		require.Less(t, bytes, uint64(16<<20+limit<<17)) //nolint:gosec // it is small
	}
}

func BenchmarkSameLong(b *testing.B) {
	m := memory.New(nil)
	for name, p := range longPairs() {
		x, y := revue.Question{Text: p[0]}, revue.Question{Text: p[1]}
		b.Run(strings.ReplaceAll(name, " ", "-"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				m.Same(x, y)
			}
		})
	}
}

// A wording is read in time that grows with its length alone.
func BenchmarkReadLong(b *testing.B) {
	for name, p := range longPairs() {
		x := revue.Question{Text: "Should billing be used by search?"}
		b.Run(strings.ReplaceAll(name, " ", "-"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				memory.New(nil).Same(x, revue.Question{Text: p[0]}) // nothing is kept from before
			}
		})
	}
}

// Without help of the Embedder the list is the one without an Embedder, whatever the store and the limit.
func TestEmbedderThatFailsChangesNothing(t *testing.T) {
	failing := &embedder{dim: 2, embed: func(context.Context, []string) ([][]float32, error) { return nil, errors.New("no vectors today") }}
	nouns := []string{"ledger", "export", "partner", "vendor", "invoice", "batch", "nightly", "report", "tax", "region", "audit", "quota"}
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 10))
		s := newSource()
		words := nouns[:4+rng.IntN(len(nouns)-4)]
		pick := func() string { return words[rng.IntN(len(words))] }
		for i := range 30 + rng.IntN(300) {
			d := revue.Decision{ID: fmt.Sprintf("dec_%d", i), Question: fmt.Sprintf("Should %s %s for %s in %s?", pick(), pick(), pick(), pick()), Answer: "yes"}
			if rng.IntN(3) == 0 {
				d.Concepts = []string{pick()}
			}
			s.make(d)
		}
		plain, helped := memory.New(nil), memory.New(&memory.Options{Embedder: failing})
		for _, limit := range []int{0, 1, 10, 25, 26, 50, 100} {
			q := revue.Query{Text: fmt.Sprintf("Should %s %s be for %s in the %s?", pick(), pick(), pick(), pick()), Limit: limit, Request: rng.IntN(2) == 0}
			require.Equal(t, recall(t, plain, s, q), recall(t, helped, s, q), "seed %d, limit %d: %q", seed, limit, q.Text)
		}
	}
}
