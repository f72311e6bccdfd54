package term_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue/internal/term"
)

func TestSafe(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"plain", "Which database?", "Which database?"},
		{"lines stay", "a\n\tb", "a\n\tb"},
		{"escape", "\x1b[2Jgone", `\u{1b}[2Jgone`},
		{"C1 control", "a\u009b31mb", `a\u{9b}31mb`},
		{"carriage return", "yes\rno", `yes\u{d}no`},
		{"backspace and delete", "ab\b\x7f", `ab\u{8}\u{7f}`},
		{"bell and NUL", "\a\x00", `\u{7}\u{0}`},
		{"bidi override", "abc\u202edef\u202c", `abc\u{202e}def\u{202c}`},
		{"bidi isolate and mark", "\u2066x\u2069\u200f", `\u{2066}x\u{2069}\u{200f}`},
		{"zero width", "pro\u200bduction\ufeff", `pro\u{200b}duction\u{feff}`},
		{"joiner between latin letters", "pro\u200dd", `pro\u{200d}d`},
		{"odd separators", "a\u2028b\u2029c\u00a0d\u2003e\u0085f", `a\u{2028}b\u{2029}c\u{a0}d\u{2003}e\u{85}f`},
		{"fillers", "\u3164\u115f\u2800\u034f", `\u{3164}\u{115f}\u{2800}\u{34f}`},
		{"tags", "a\U000e0041", `a\u{e0041}`},
		{"smuggled selectors", "a\U000e0100\ufe01", `a\u{e0100}\u{fe01}`},
		{"private use and unassigned", "\ue000\U0010ffff", `\u{e000}\u{10ffff}`},
		{"no UTF-8", "a\xffb", `a\x{ff}b`},
		{"a replacement character is one", "\ufffd", "\ufffd"},
		{"what looks escaped", `\u{1b} \x{ff} \n`, `\u{5c}u{1b} \u{5c}x{ff} \n`},
		{"CJK", "本番 に デプロイ？　はい", "本番 に デプロイ？　はい"},
		{"Hebrew", "לפרוס?", "לפרוס?"},
		{"Persian joiner", "می\u200cخواهم", "می\u200cخواهم"},
		{"emoji family", "👨\u200d👩\u200d👧 ❤\ufe0f", "👨\u200d👩\u200d👧 ❤\ufe0f"},
		{"combining", "e\u0301", "e\u0301"},
		{"a pile of marks", "a" + strings.Repeat("\u0300", 10), "a" + strings.Repeat("\u0300", 8) + `\u{300}\u{300}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, term.Safe(tc.in))
		})
	}
}

func TestLine(t *testing.T) {
	require.Equal(t, `a\u{a}b\u{9}c`, term.Line("a\nb\tc", 0))
	require.Equal(t, "abc", term.Line("abc", 3))
	require.Equal(t, "日本… (2 more characters)", term.Line("日本です", 2))
	require.Equal(t, `\u{1b}… (3 more characters)`, term.Line("\x1b[2J", 1))
}

func TestBlock(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		limit    int
		more     string
		want     string
	}{
		{"nothing", "", 3, "", ""},
		{"a blank line stays", "a\n\nb\n", 0, "", "  | a\n  |\n  | b\n"},
		{"cut", "a\nb\nc", 1, "", "  | a\n  … 2 more lines\n"},
		{"cut by one", "a\nb", 1, "see LOT", "  | a\n  … 1 more line: see LOT\n"},
		{"as many as there may be", "a\nb", 2, "see LOT", "  | a\n  | b\n"},
		{"blank lines fold", "a\n\n \n\t\nb", 0, "", "  | a\n  … 3 blank lines\n  | b\n"},
		{"folded lines count as one", "a\n\n\n\nb", 3, "", "  | a\n  … 3 blank lines\n  | b\n"},
		{"a forged line", "a\n… 3 more lines", 0, "", "  | a\n  | … 3 more lines\n"},
		{"escapes", "\x1b[31m", 0, "", "  | \\u{1b}[31m\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, term.Block(tc.in, "  ", tc.limit, tc.more))
		})
	}
}

func FuzzSafe(f *testing.F) {
	for _, s := range []string{"plain", "\x1b[2J", "a\u202eb", "\xff\xfe", `\u{1b}`, "👨\u200d👩", "e\u0301\u0301", "a\r\nb\u2028"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := term.Safe(s)
		require.True(t, utf8.ValidString(out))
		for _, r := range out {
			if r == 0x200C || r == 0x200D || r == 0xFE0F {
				continue // they stand only where they belong; TestSafe has where
			}
			require.False(t, term.Acts(r), "%U", r)
			require.False(t, unicode.IsControl(r) && r != '\n' && r != '\t', "%U", r)
		}
		require.NotContains(t, term.Line(s, 0), "\n")
		require.NotContains(t, term.Line(s, 5), "\n")
		lines := 0
		for l := range strings.Lines(term.Block(s, "  ", 4, "")) {
			lines++
			require.True(t, strings.HasPrefix(l, "  |") || strings.HasPrefix(l, "  … "), "%q", l)
		}
		require.LessOrEqual(t, lines, 5)
	})
}
