package memory

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBackgroundShare(t *testing.T) {
	lines := strings.Split(strings.TrimSuffix(backgroundTable, "\n"), "\n")
	sentences, err := strconv.Atoi(lines[0])
	require.NoError(t, err)
	require.Greater(t, sentences, 1000)
	require.Greater(t, len(lines), 500)
	var stems []string
	for _, line := range lines[1:] {
		stem, number, ok := strings.Cut(line, " ")
		require.True(t, ok, line)
		n, err := strconv.Atoi(number)
		require.NoError(t, err, line)
		require.InDelta(t, float64(n)/float64(sentences), backgroundShare(stem), 1e-12, line)
		stems = append(stems, stem)
	}
	require.True(t, slices.IsSorted(stems), "it is searched by halves")
	require.Len(t, slices.Compact(stems), len(lines)-1)
	for _, s := range []string{"", " ", "\n", "zzzz", "quux", "0", "databas 1", "~"} {
		require.InDelta(t, rarest, backgroundShare(s), 1e-12, "%q", s)
	}
	require.Greater(t, backgroundShare(stemOf("services")), backgroundShare(stemOf("invoices")))
}

// The counts are of other people's texts: who they are is said.
func TestBackgroundAttribution(t *testing.T) {
	text, err := os.ReadFile("idf.ATTRIBUTION.txt")
	require.NoError(t, err)
	repos := 0
	for line := range strings.SplitSeq(string(text), "\n") {
		if strings.HasPrefix(line, "github.com/") {
			require.Regexp(t, `^github\.com/[\w.-]+/[\w.-]+ \([^()]+\)$`, line)
			repos++
		}
	}
	require.Greater(t, repos, 10)
}
