// Package term makes text safe to print on a terminal.
//
// What an agent writes is hostile until shown to be otherwise: it may hold escape sequences that redraw the
// screen, bidi controls that turn an answer round, and letters that are drawn as nothing. [Safe] keeps
// what a reader can see and writes the rest as \u{…}, so that nothing is hidden and nothing acts.
// [Line] does the same for text that must stay on one line, and [Block] for text of many lines, with a
// bar that tells it from the lines of the program itself.
package term

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxMarks is how many combining marks in a row are drawn; more would run over the lines around.
const maxMarks = 8

// Safe returns s with each character that could act on a terminal, hide or reorder text written as
// \u{hex}, and each byte that is no UTF-8 as \x{hex}. Line feeds and tabs stay. What reads like
// such an escape already has its backslash escaped, so that two different texts never look the same.
func Safe(s string) string { return safe(s, false) }

// Line returns s on one line of at most limit characters (0: no limit), safe as by [Safe]; line feeds and tabs are
// escaped too. Where something was cut, the line ends by saying how many characters.
func Line(s string, limit int) string {
	if n := utf8.RuneCountInString(s); limit > 0 && n > limit {
		cut := 0
		for i := range s {
			if cut == limit {
				s = s[:i]
				break
			}
			cut++
		}
		return safe(s, true) + fmt.Sprintf("… (%d more characters)", n-limit)
	}
	return safe(s, true)
}

// Bar begins each line of a [Block]. A program that begins no line of its own with it can't be imitated by what
// it shows.
const Bar = "| "

// Block returns s with indent and [Bar] before each line, safe as by [Safe], and at most limit lines of it (0: no
// limit). Two or more blank lines in a row count as one, which says how many they are. Where something was
// cut, a last line says how many lines, and more, which says how to see them. These lines of its own have no
// bar. Block ends with a line feed, unless s is empty.
func Block(s, indent string, limit int, more string) string {
	if s == "" {
		return ""
	}
	lines := strings.Split(strings.TrimSuffix(Safe(s), "\n"), "\n")
	var b strings.Builder
	shown := 0
	for i := 0; i < len(lines); shown++ {
		if limit > 0 && shown == limit {
			b.WriteString(indent + "… " + count(len(lines)-i, "more line"))
			if more != "" {
				b.WriteString(": " + more)
			}
			b.WriteString("\n")
			break
		}
		n := 0
		for i+n < len(lines) && strings.TrimSpace(lines[i+n]) == "" {
			n++
		}
		if n > 1 {
			b.WriteString(indent + "… " + count(n, "blank line") + "\n")
			i += n
			continue
		}
		b.WriteString(strings.TrimRight(indent+Bar+lines[i], " ") + "\n")
		i++
	}
	return b.String()
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Acts reports whether r may not reach a terminal as it is, whatever is around it. [Safe] lets joiners and
// emoji selectors through where they belong.
func Acts(r rune) bool {
	switch r {
	case '\n', '\t', ' ', 0x3000: // the ideographic space is an everyday character of its scripts
		return false
	case 0x2800: // the blank braille pattern
		return true
	}
	return unicode.In(r, unicode.C, unicode.Z, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) ||
		!unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S)
}

func safe(s string, oneLine bool) string {
	var b strings.Builder
	b.Grow(len(s))
	prev := rune(0)
	marks := 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		next, _ := utf8.DecodeRuneInString(s[i+n:])
		if unicode.Is(unicode.M, r) {
			marks++
		} else {
			marks = 0
		}
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x{%x}`, s[i])
		case r == '\\' && looksEscaped(s[i+n:]),
			oneLine && (r == '\n' || r == '\t'),
			marks > maxMarks,
			Acts(r) && !belongs(prev, r, next):
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			b.WriteRune(r)
		}
		prev = r
		i += n
	}
	return b.String()
}

// looksEscaped reports whether what follows a backslash would be taken for an escape of ours.
func looksEscaped(rest string) bool {
	return strings.HasPrefix(rest, "u{") || strings.HasPrefix(rest, "x{")
}

// belongs reports whether r is part of what is drawn between its neighbours: a joiner inside a word of a
// script that uses joiners or inside an emoji, or the selector that asks for the picture of a symbol.
func belongs(prev, r, next rune) bool {
	switch r {
	case 0x200C, 0x200D:
		return joins(prev) && joins(next)
	case 0xFE0F:
		return unicode.Is(unicode.So, prev) || unicode.Is(unicode.Sm, prev)
	}
	return false
}

func joins(r rune) bool {
	return r == 0xFE0F || unicode.In(r, unicode.So, unicode.Sk,
		unicode.Arabic, unicode.Syriac, unicode.Nko, unicode.Mongolian, unicode.Devanagari, unicode.Bengali,
		unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada,
		unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar)
}
