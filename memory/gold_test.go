package memory_test

import (
	"bufio"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/memory"
)

type goldPair struct {
	base, text, category string
	kind                 byte // '=', '~' or '!'
}

func gold(t testing.TB) []goldPair {
	t.Helper()
	f, err := os.Open("testdata/gold.txt")
	require.NoError(t, err)
	defer f.Close()
	var pairs []goldPair
	base := ""
	for sc := bufio.NewScanner(f); sc.Scan(); {
		line := sc.Text()
		if q, ok := strings.CutPrefix(line, "Q: "); ok {
			base = q
			continue
		}
		if line == "" || line[0] == '#' {
			continue
		}
		p := goldPair{base: base, kind: line[0], text: strings.TrimSpace(line[1:])}
		if p.kind == '!' {
			i := strings.LastIndex(p.text, " [")
			p.category = strings.Trim(p.text[i:], " []")
			p.text = p.text[:i]
		}
		pairs = append(pairs, p)
	}
	require.NotEmpty(t, pairs)
	return pairs
}

func TestGold(t *testing.T) {
	m := memory.New(nil)
	count := map[byte]map[revue.Verdict]int{'=': {}, '~': {}, '!': {}}
	for _, p := range gold(t) {
		a, b := revue.Question{Text: p.base}, revue.Question{Text: p.text}
		c := m.Same(a, b)
		require.Equal(t, c.Verdict, m.Same(b, a).Verdict, "not symmetric: %q %q", p.base, p.text)
		count[p.kind][c.Verdict]++
		t.Logf("%c %-8s %-40s | %s | %s", p.kind, c.Verdict, c.Differs, p.base, p.text)
		switch p.kind {
		case '!':
			require.NotContains(t, []revue.Verdict{revue.VerdictSame, revue.VerdictLikely}, c.Verdict, "%q %q", p.base, p.text)
		case '~':
			require.NotEqual(t, revue.VerdictSame, c.Verdict, "%q %q", p.base, p.text)
		}
	}
	t.Logf("verdicts: = %v, ~ %v, ! %v", count['='], count['~'], count['!'])
	require.GreaterOrEqual(t, count['='][revue.VerdictSame], 16, "the passives and plurals among the variants are not expected")
}
