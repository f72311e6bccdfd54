package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf16"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/term"
)

// writeJSON writes v as indented JSON. Characters that act on a terminal are written as \uXXXX, which
// changes nothing for who reads the JSON.
func writeJSON(w io.Writer, v any) error { return encode(w, v, "  ") }

// writeJSONLine writes v as JSON on one line.
func writeJSONLine(w io.Writer, v any) error { return encode(w, v, "") }

func encode(w io.Writer, v any, indent string) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	_, err := w.Write(escapeJSON(buf.Bytes()))
	return err
}

// escapeJSON escapes what acts on a terminal. Outside of strings JSON has no such character.
func escapeJSON(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for _, r := range string(b) {
		switch {
		case !term.Acts(r):
			out = append(out, string(r)...)
		case r > 0xFFFF:
			hi, lo := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, hi, lo)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

// lotJSON is a lot as scripts read it: what they rely on is there even when it is empty.
type lotJSON struct {
	revue.Lot
	Recommendation string            `json:"recommendation"`
	Context        string            `json:"context"`
	Affected       *[]revue.Affected `json:"affected,omitempty"` // of approvals
}

func wireLot(l revue.Lot) lotJSON {
	l = filled(l)
	w := lotJSON{Lot: l, Recommendation: l.Recommendation, Context: l.Context}
	if l.Kind == revue.KindApproval {
		affected := list(l.Affected)
		w.Affected = &affected
	}
	return w
}

func wireLots(lots []revue.Lot) []lotJSON {
	out := make([]lotJSON, len(lots))
	for i, l := range lots {
		out[i] = wireLot(l)
	}
	return out
}

// filled gives a lot its lists as lists, never null.
func filled(l revue.Lot) revue.Lot {
	l.Options, l.Concepts, l.Files, l.Asks = list(l.Options), list(l.Concepts), list(l.Files), list(l.Asks)
	return l
}

func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// printer writes lines and keeps the first error, so that a broken pipe is reported once.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) f(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}
