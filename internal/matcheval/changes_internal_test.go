package matcheval

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func testRand(n uint64) *rand.Rand { return rand.New(rand.NewPCG(n, 0)) }

// What is made differs from its question in more than spelling, and is no known wording.
func TestChangesAreChanges(t *testing.T) {
	const base = "Should the internal/auth/token.go job keep all logs for 30 days in staging?"
	known := "should the internal/auth/token.go job keep all logs for 30 days in production"
	c := newChanger(testRand(1), []string{base, known})
	got := c.of(base)
	kinds := map[string]int{}
	seen := map[string]bool{}
	for _, x := range got {
		kinds[x.op+" "+x.kind]++
		require.NotEqual(t, plain(base), plain(x.text))
		require.NotEqual(t, plain(known), plain(x.text))
		require.False(t, seen[plain(x.text)], "twice: %s", x.text)
		seen[plain(x.text)] = true
		words, before := strings.Fields(x.text), strings.Fields(base)
		switch x.op {
		case opInsert:
			require.Len(t, words, len(before)+1)
		case opDelete:
			require.Len(t, words, len(before)-1)
		default:
			require.Len(t, words, len(before))
		}
	}
	for _, k := range []string{"insert ", "delete ", "swap ", "replace number", "replace identifier", "replace quantity", "replace unit", "replace environment", "replace verb", "replace word"} {
		require.Positive(t, kinds[k], "%s: %v", k, kinds)
	}
	require.Equal(t, got, newChanger(testRand(1), []string{base, known}).of(base))
}

func TestNuisanceIsOther(t *testing.T) {
	known := map[string]bool{}
	first := nuisance(testRand(3), 50, known)
	require.Len(t, first, 50)
	for _, q := range first {
		require.NotContains(t, q, "{")
		known[plain(q)] = true
	}
	require.Equal(t, first, nuisance(testRand(3), 50, map[string]bool{}))
	for _, q := range nuisance(testRand(3), 50, known) {
		require.False(t, known[plain(q)], q)
	}
	require.Len(t, nuisance(testRand(4), 1500, known), 1500)
}
