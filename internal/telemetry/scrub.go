package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
)

// redacted stands where a secret was.
const redacted = "[redacted]"

// scrubber finds what looks like a secret: a token of this program, and the value of a header that carries credentials.
// Placeholders in plain sentences, as in "Authorization: Bearer TOKEN", are too short for it.
type scrubber struct{ token, bearer, header, cookie *regexp.Regexp }

func newScrubber() *scrubber {
	return &scrubber{
		token:  regexp.MustCompile(`rvu_[ahs]_[A-Za-z0-9_-]+`),
		bearer: regexp.MustCompile(`(?i)\b(bearer|basic)(\s+)[A-Za-z0-9._~+/=-]{8,}`),
		header: regexp.MustCompile(`(?i)\b((?:proxy-)?authorization["']?\s*[:=]\s*\[?["']?)(?:[A-Za-z-]+\s+)?[^\s"'\]]{8,}`),
		cookie: regexp.MustCompile(`(?i)\b((?:set-)?cookie["']?\s*[:=]\s*\[?["']?)[^\s"'=;\]]+=[^\r\n"'\]]*`),
	}
}

// text returns s without secrets.
func (c *scrubber) text(s string) string {
	if strings.Contains(s, "rvu_") {
		s = c.token.ReplaceAllLiteralString(s, redacted)
	}
	if !mayHaveHeader(s) {
		return s
	}
	s = c.header.ReplaceAllString(s, "${1}"+redacted)
	s = c.bearer.ReplaceAllString(s, "${1}${2}"+redacted)
	return c.cookie.ReplaceAllString(s, "${1}"+redacted)
}

// mayHaveHeader is a cheap look: nearly no line of a log has any of these.
func mayHaveHeader(s string) bool {
	l := strings.ToLower(s)
	return strings.Contains(l, "authorization") || strings.Contains(l, "bearer") || strings.Contains(l, "basic") || strings.Contains(l, "cookie")
}

// secretKey reports whether an attribute of this name is a credential whatever it says.
func secretKey(key string) bool {
	switch strings.ToLower(key) {
	case "authorization", "proxy-authorization", "cookie", "set-cookie":
		return true
	}
	return false
}

// Scrub returns a handler that takes secrets out of each record before it hands it on: out of messages, out of keys, out
// of the values of attributes and groups, of errors and of what a [slog.LogValuer] returns.
func Scrub(inner slog.Handler) slog.Handler { return &scrubbed{inner: inner, scrub: newScrubber()} }

type scrubbed struct {
	inner  slog.Handler
	scrub  *scrubber
	hidden bool // below a group whose name is that of a credential
}

// Enabled implements [slog.Handler].
func (h *scrubbed) Enabled(ctx context.Context, level slog.Level) bool {
	return h.inner.Enabled(ctx, level)
}

// Handle implements [slog.Handler].
func (h *scrubbed) Handle(ctx context.Context, r slog.Record) error {
	out := slog.NewRecord(r.Time, r.Level, h.scrub.text(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(h.attr(a))
		return true
	})
	return h.inner.Handle(ctx, out)
}

// WithAttrs implements [slog.Handler].
func (h *scrubbed) WithAttrs(attrs []slog.Attr) slog.Handler {
	out := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		out[i] = h.attr(a)
	}
	return &scrubbed{inner: h.inner.WithAttrs(out), scrub: h.scrub, hidden: h.hidden}
}

// WithGroup implements [slog.Handler].
func (h *scrubbed) WithGroup(name string) slog.Handler {
	return &scrubbed{inner: h.inner.WithGroup(h.scrub.text(name)), scrub: h.scrub, hidden: h.hidden || secretKey(name)}
}

func (h *scrubbed) attr(a slog.Attr) slog.Attr {
	if h.hidden || secretKey(a.Key) {
		return slog.String(h.scrub.text(a.Key), redacted)
	}
	return slog.Attr{Key: h.scrub.text(a.Key), Value: h.value(a.Value)}
}

func (h *scrubbed) value(v slog.Value) slog.Value {
	v = v.Resolve()
	switch v.Kind() {
	case slog.KindString:
		return slog.StringValue(h.scrub.text(v.String()))
	case slog.KindGroup:
		attrs := v.Group()
		out := make([]slog.Attr, len(attrs))
		for i, a := range attrs {
			out[i] = h.attr(a)
		}
		return slog.GroupValue(out...)
	case slog.KindAny:
		return h.any(v)
	default:
		return v
	}
}

// any scrubs a value of a type that log/slog knows nothing of. One without a secret stays as it is; one with a secret
// becomes its text.
func (h *scrubbed) any(v slog.Value) slog.Value {
	switch x := v.Any().(type) {
	case nil:
		return v
	case []byte:
		return h.either(v, string(x))
	case json.RawMessage:
		return h.either(v, string(x))
	case http.Header:
		out := x.Clone()
		for key, values := range out {
			for i := range values {
				if secretKey(key) {
					values[i] = redacted
				} else {
					values[i] = h.scrub.text(values[i])
				}
			}
		}
		return slog.AnyValue(out)
	case error:
		return h.either(v, printed(x))
	}
	text := printed(v.Any())
	if h.scrub.text(text) != text {
		return slog.StringValue(h.scrub.text(text))
	}
	// What a value says as JSON may be more than it prints.
	if b, err := json.Marshal(v.Any()); err == nil && h.scrub.text(string(b)) != string(b) {
		return slog.StringValue(h.scrub.text(string(b)))
	}
	return v
}

// either returns the value, or its text scrubbed where that differs.
func (h *scrubbed) either(v slog.Value, text string) slog.Value {
	if clean := h.scrub.text(text); clean != text {
		return slog.StringValue(clean)
	}
	return v
}

// printed is a value as text. Fmt recovers from methods that panic.
func printed(v any) string { return fmt.Sprintf("%+v", v) }

// ScrubWriter returns a writer that takes tokens out of what passes, where each Write is a whole entry. It stands behind a
// handler as the last look at what it made of a record.
func ScrubWriter(w io.Writer) io.Writer { return &scrubWriter{w: w, token: newScrubber().token} }

type scrubWriter struct {
	w     io.Writer
	token *regexp.Regexp
}

// Write implements [io.Writer].
func (s *scrubWriter) Write(p []byte) (int, error) {
	if !bytes.Contains(p, []byte("rvu_")) {
		return s.w.Write(p)
	}
	if _, err := s.w.Write(s.token.ReplaceAllLiteral(p, []byte(redacted))); err != nil {
		return 0, err
	}
	return len(p), nil
}
