package memory_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/memory"
)

var (
	benchVerbs   = []string{"cache", "log", "encrypt", "retry", "archive", "rename", "split", "index", "validate", "paginate", "shard", "mirror", "compress", "throttle", "version"}
	benchObjects = []string{"sessions", "events", "invoices", "tokens", "uploads", "reports", "payments", "avatars", "webhooks", "messages", "orders", "secrets", "backups", "metrics", "dates", "migrations"}
	benchPlaces  = []string{"staging", "production", "the client", "the server", "the gateway", "the worker", "the admin UI", "the nightly job", "the mobile app", "the EU region"}
)

func benchQuestion(rng *rand.Rand, n int) string {
	// Names of a workspace: a few common ones and many rare ones, as in real stores.
	name := func() string { return fmt.Sprintf("svc%d", int(float64(n/10+10)*rng.Float64()*rng.Float64())) }
	pick := func(l []string) string { return l[rng.IntN(len(l))] }
	switch rng.IntN(3) {
	case 0:
		return fmt.Sprintf("Should the %s service %s %s on %s?", name(), pick(benchVerbs), pick(benchObjects), pick(benchPlaces))
	case 1:
		return fmt.Sprintf("Which database should %s use for %s in %s?", name(), pick(benchObjects), pick(benchPlaces))
	default:
		return fmt.Sprintf("How many times should %s %s %s before %s is called?", name(), pick(benchVerbs), pick(benchObjects), name())
	}
}

func benchSource(n int) *source {
	rng := rand.New(rand.NewPCG(7, uint64(n)))
	s := newSource()
	for range n {
		s.make(revue.Decision{Question: benchQuestion(rng, n), Options: options("yes", "no", "later"), Answer: "yes", Concepts: []string{"platform"}})
	}
	return s
}

func sizes(b *testing.B, f func(b *testing.B, n int)) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("decisions=%d", n), func(b *testing.B) {
			if n > 10_000 && testing.Short() {
				b.Skip("short")
			}
			f(b, n)
		})
	}
}

func BenchmarkRecall(b *testing.B) {
	sizes(b, func(b *testing.B, n int) {
		s, m := benchSource(n), memory.New(nil)
		rng := rand.New(rand.NewPCG(9, 9))
		queries := make([]string, 512)
		for i := range queries {
			queries[i] = benchQuestion(rng, n)
		}
		recall(b, m, s, revue.Query{Text: queries[0]})
		var took []time.Duration
		i := 0
		for b.Loop() {
			at := time.Now()
			_, err := m.Recall(b.Context(), s, revue.Query{Text: queries[i%len(queries)]})
			took = append(took, time.Since(at))
			if err != nil {
				b.Fatal(err)
			}
			i++
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
		b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
	})
}

func BenchmarkBuild(b *testing.B) {
	sizes(b, func(b *testing.B, n int) {
		s := benchSource(n)
		for b.Loop() {
			_, err := memory.New(nil).Recall(b.Context(), s, revue.Query{Text: "svc1 sessions"})
			require.NoError(b, err)
		}
		b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/build")
	})
}

// One decision changes between two recalls.
func BenchmarkCatchUp(b *testing.B) {
	s, m := benchSource(10_000), memory.New(nil)
	recall(b, m, s, revue.Query{Text: "svc1 sessions"})
	for b.Loop() {
		s.change("dec_7", revue.EventDecisionConfirmed, func(d *revue.Decision) { d.Confirmations++ })
		_, err := m.Recall(b.Context(), s, revue.Query{Text: "svc1 sessions"})
		require.NoError(b, err)
	}
}

func BenchmarkSame(b *testing.B) {
	m := memory.New(nil)
	a := revue.Question{Text: "Which database should the billing service use for invoices in staging?"}
	for name, text := range map[string]string{
		"same":    "what DB should the billing service use for invoices in staging",
		"related": "Which database should the billing service use for invoices in production?",
		"none":    "Should the nightly job retry failed uploads on the mobile app?",
	} {
		q := revue.Question{Text: text}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				m.Same(a, q)
			}
		})
	}
}
