package revue_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/memory"
	"github.com/revuehq/revue/storage/memstore"
)

// countingMemory counts the comparisons, which are made while nobody else can write.
type countingMemory struct {
	*memory.Memory
	compared atomic.Int64
}

func (m *countingMemory) Same(a, b revue.Question) revue.Comparison {
	m.compared.Add(1)
	return m.Memory.Same(a, b)
}

// However many lots are open, an ask is compared with a bounded number of them, and finds the one that asks the very
// same.
func TestGroupingIsBounded(t *testing.T) {
	m := &countingMemory{Memory: memory.New(nil)}
	desk := revue.New(memstore.New(nil), m, nil)
	ask := func(i, asker int) revue.Outcome {
		o, err := desk.Decider(agent(fmt.Sprintf("agent %d-%d", i, asker))).Request(t.Context(), revue.Ask{Question: fmt.Sprintf("Which colour has door number %d of the house?", i)})
		require.NoError(t, err)
		return o
	}
	const open, most = 700, 500
	lots := map[int]string{}
	for i := range open {
		lots[i] = ask(i, 0).LotID
	}
	for _, i := range []int{0, 1, open / 2, open - 1, open} {
		m.compared.Store(0)
		o := ask(i, 1)
		t.Logf("door %d: %d comparisons", i, m.compared.Load())
		require.LessOrEqual(t, m.compared.Load(), int64(most+20))
		if lot, ok := lots[i]; ok {
			require.Equal(t, lot, o.LotID)
		}
	}
}

// Asks of the length that is allowed, made to be alike and costly to compare.
func BenchmarkAskAmongLongLots(b *testing.B) {
	var words []string
	for i := range 600 {
		words = append(words, string(rune('b'+i%20))+string(rune('b'+i/20%20)))
	}
	p := strings.Join(words, " ")
	for _, open := range []int{200, 500} {
		b.Run(fmt.Sprintf("open=%d", open), func(b *testing.B) {
			desk := revue.New(memstore.New(nil), memory.New(nil), nil)
			n := 0
			ask := func(format string) {
				n++
				_, err := desk.Decider(agent(fmt.Sprintf("agent %d", n))).Request(b.Context(), revue.Ask{Question: fmt.Sprintf(format, p, n, n)})
				require.NoError(b, err)
			}
			for range open {
				ask("%s foo a%dz bar baz b%dz qux")
			}
			for b.Loop() {
				ask("%s qux c%dz baz bar d%dz foo")
			}
		})
	}
}
