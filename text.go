package revue

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// normalizeText is the one change made to text that is taken in: CRLF to LF.
func normalizeText(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// badText says what makes s no text at all, "" for nothing.
func badText(s string) string {
	if !utf8.ValidString(s) {
		return "is not valid UTF-8"
	}
	if strings.IndexByte(s, 0) >= 0 {
		return "has a NUL byte"
	}
	return ""
}

// blank reports whether s says nothing that can be read: it has no letter, digit, symbol or punctuation mark that is drawn.
// White space, format and control characters, marks that have no letter to stand on, and the letters that are drawn as
// nothing do not count, nor do the characters that stand in for something that is not there.
func blank(s string) bool {
	for _, r := range s {
		if unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S) && !invisible(r) && r != 0xFFFC && r != unicode.ReplacementChar {
			return false
		}
	}
	return true
}

func invisible(r rune) bool {
	switch r {
	case 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0: // fillers and the blank braille pattern
		return true
	}
	return unicode.In(r, unicode.C, unicode.Z, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// shownWhole reports whether s has no character that hides or reorders text: no control, format, bidi or
// line separator character. A joiner between letters or emoji is part of what is shown.
func shownWhole(s string) bool {
	for _, r := range s {
		if r == 0x200C || r == 0x200D {
			continue
		}
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp) {
			return false
		}
	}
	return true
}
