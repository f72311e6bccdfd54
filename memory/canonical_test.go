package memory_test

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/memory"
)

var update = flag.Bool("update", false, "write the golden files anew")

type vector struct {
	same     bool
	category string
	a, b     string
}

func vectors(t testing.TB) []vector {
	t.Helper()
	f, err := os.Open("testdata/pairs.txt")
	require.NoError(t, err)
	defer f.Close()
	unescape := strings.NewReplacer(`\n`, "\n", `\u00a0`, "\u00a0", `\u0301`, "\u0301", `\u200b`, "\u200b", `\u202e`, "\u202e",
		`\u00ad`, "\u00ad", `\u2060`, "\u2060", `\ufeff`, "\ufeff", `\u0007`, "\u0007", `\u034f`, "\u034f")
	var out []vector
	for sc := bufio.NewScanner(f); sc.Scan(); {
		line := sc.Text()
		if line == "" || line[0] == '#' {
			continue
		}
		kind, rest, ok := strings.Cut(line, " ")
		require.True(t, ok, line)
		category, rest, ok := strings.Cut(rest, " | ")
		require.True(t, ok, line)
		i := strings.LastIndex(rest, "? | ")
		if i < 0 {
			i = strings.Index(rest, " | ") - 1
		}
		require.Positive(t, i, line)
		out = append(out, vector{kind == "=", category, unescape.Replace(rest[:i+1]), unescape.Replace(rest[i+len("? | "):])})
	}
	return out
}

func TestCanonicalPairs(t *testing.T) {
	m := memory.New(nil)
	n := map[bool]int{}
	for _, v := range vectors(t) {
		n[v.same]++
		a, b := memory.Canonical(v.a), memory.Canonical(v.b)
		if v.same {
			require.Equal(t, a, b, "%s: %q %q", v.category, v.a, v.b)
			continue
		}
		require.NotEqual(t, a, b, "%s: %q %q", v.category, v.a, v.b)
		require.NotEqual(t, revue.VerdictSame, m.Same(revue.Question{Text: v.a}, revue.Question{Text: v.b}).Verdict, "%q %q", v.a, v.b)
	}
	t.Logf("%d pairs: %d the same, %d not", n[true]+n[false], n[true], n[false])
	require.GreaterOrEqual(t, n[true], 150)
	require.GreaterOrEqual(t, n[false], 350)
}

// The golden file holds the tokens of every wording in the pairs. A change in it means a new CanonicalVersion.
func TestCanonicalGolden(t *testing.T) {
	var sb strings.Builder
	fmt.Fprintf(&sb, "version %d\n", memory.CanonicalVersion)
	for _, v := range vectors(t) {
		for _, s := range []string{v.a, v.b} {
			fmt.Fprintf(&sb, "%s\t%s\n", strconv.QuoteToASCII(s), strconv.QuoteToASCII(strings.Join(memory.Canonical(s), "|")))
		}
	}
	const file = "testdata/canonical.golden"
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(sb.String()), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.GreaterOrEqual(t, strings.Count(string(want), "\n"), 1+2*500, "a line for each wording of 500 pairs")
	wantLines, lines := strings.Split(string(want), "\n"), strings.Split(sb.String(), "\n")
	for i := range min(len(wantLines), len(lines)) {
		require.Equal(t, wantLines[i], lines[i])
	}
	require.Len(t, lines, len(wantLines))
}

func FuzzCanonical(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add(v.a, v.b)
	}
	f.Add("", "\xff\xfe")
	f.Add("\"", "'`")
	f.Add("a\x00b", "a b")
	f.Add(strings.Repeat("x ", 1000), strings.Repeat("y ", 1000))
	m := memory.New(nil)
	f.Fuzz(func(t *testing.T, a, b string) {
		ta, tb := memory.Canonical(a), memory.Canonical(b)
		require.Equal(t, ta, memory.Canonical(a))
		for _, s := range ta {
			require.NotEmpty(t, s)
			require.True(t, utf8.ValidString(s))
		}
		qa, qb := revue.Question{Text: a}, revue.Question{Text: b}
		c, d := m.Same(qa, qb), m.Same(qb, qa)
		require.Equal(t, c.Verdict, d.Verdict)
		require.LessOrEqual(t, len(c.Differs), 300)
		require.True(t, utf8.ValidString(c.Differs))
		if c.Verdict == revue.VerdictSame {
			require.Equal(t, ta, tb)
			require.Empty(t, c.Differs)
		}
		if !slices.Equal(ta, tb) {
			require.NotEqual(t, revue.VerdictSame, c.Verdict)
		}
	})
}

// content draws a word that means something: none that the canonical form drops or folds.
func content(t *rapid.T, name string) string {
	return rapid.OneOf(
		rapid.StringMatching(`(b|d|g|k|v|z)[aeiou](lm|rn|st|kt)[aeiou](n|r|l)`),
		rapid.SampledFrom([]string{"staging", "production", "postgres", "users", "invoices", "5", "50", "v1", "v2", "not", "without", "from", "to", "before", "after", "all", "some", "read", "written", "internal/auth/token.go", "UserService", "-5", "<5", "EU", "US", "just", "so", "only", "when", "why", "must", "should"}),
	).Draw(t, name)
}

// No change of one word, anywhere, gives the same canonical form.
func TestOneWordChanges(t *testing.T) {
	m, ctx := memory.New(nil), t.Context()
	rapid.Check(t, func(t *rapid.T) {
		words := make([]string, rapid.IntRange(2, 12).Draw(t, "n"))
		for i := range words {
			words[i] = content(t, "word")
		}
		i := rapid.IntRange(0, len(words)-1).Draw(t, "at")
		changed := slices.Clone(words)
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			changed[i] = content(t, "other")
		case 1:
			changed = slices.Insert(changed, i, content(t, "more"))
		case 2:
			changed = slices.Delete(changed, i, i+1)
		case 3:
			j := rapid.IntRange(0, len(words)-1).Draw(t, "with")
			changed[i], changed[j] = changed[j], changed[i]
		}
		if slices.Equal(words, changed) {
			return
		}
		a, b := strings.Join(words, " ")+"?", strings.Join(changed, " ")+"?"
		require.NotEqual(t, memory.Canonical(a), memory.Canonical(b), "%q %q", a, b)
		v := m.Same(revue.Question{Text: a}, revue.Question{Text: b}).Verdict
		require.NotEqual(t, revue.VerdictSame, v, "%q %q", a, b)
		require.NotEqual(t, revue.VerdictLikely, v, "%q %q", a, b)

		src := newSource()
		src.make(revue.Decision{Question: a, Answer: "yes", Remember: revue.RememberRule})
		one, err := memory.New(nil).Recall(ctx, src, revue.Query{Text: b})
		require.NoError(t, err)
		for _, match := range one.Matches {
			require.Equal(t, revue.Confirm, match.ReuseGuidance, "%q %q", a, b)
		}
		again, err := memory.New(nil).Recall(ctx, src, revue.Query{Text: b})
		require.NoError(t, err)
		require.Equal(t, one, again)
	})
}

// Of text in plain words the canonical form is its own canonical form, and spacing, the case of the first word and
// one mark at the end make no difference. Any other capital or mark does.
func TestTrivialVariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`(b|d|g|k|v|z)[aeiou](lm|rn|st|kt)[aeiou](n|r|l)`), 2, 10).Draw(t, "words")
		text := "should " + strings.Join(words, " ")
		want := memory.Canonical(text)
		require.Equal(t, want, memory.Canonical(strings.Join(want, " ")))
		require.Equal(t, want, memory.Canonical("  S"+text[1:]+" ?\n"))
		require.Equal(t, want, memory.Canonical(text+"."))
		require.Equal(t, want, memory.Canonical("should\t"+strings.Join(words, "\t")+"?"))
		require.NotEqual(t, want, memory.Canonical("should "+strings.Join(words, ", ")))
		require.NotEqual(t, want, memory.Canonical(text+"!"))
		require.NotEqual(t, want, memory.Canonical("should "+strings.ToUpper(words[0][:1])+words[0][1:]+strings.TrimPrefix(text, "should "+words[0])))
	})
}
