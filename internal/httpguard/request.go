package httpguard

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"
)

// HeaderRequestID names one request in the log of the server and in its answer.
const HeaderRequestID = "X-Request-Id"

// maxRequestID bounds an id that is taken over from a request, in bytes.
const maxRequestID = 64

// request is what is known of the request at hand. Its owner is the goroutine of the request.
type request struct {
	id     string
	route  string // the pattern that matched, "" for none
	token  string // id of the token, "" for none
	logged bool   // somebody further out writes the line
}

type requestKey struct{}

func requestFrom(ctx context.Context) *request {
	r, _ := ctx.Value(requestKey{}).(*request)
	return r
}

// RequestID returns the id of the request at hand, "" outside of [New] and [Logged].
func RequestID(ctx context.Context) string {
	if r := requestFrom(ctx); r != nil {
		return r.id
	}
	return ""
}

// SetRoute notes which route a request is for: the log names it in place of the path.
func SetRoute(r *http.Request, pattern string) {
	r.Pattern = pattern
	if req := requestFrom(r.Context()); req != nil {
		req.route = pattern
	}
}

// Route returns the pattern that SetRoute noted, "" for none. What is around the handlers, within [New] or [Logged],
// knows it when they are done.
func Route(ctx context.Context) string {
	if r := requestFrom(ctx); r != nil {
		return r.route
	}
	return ""
}

func noteToken(ctx context.Context, id string) {
	if req := requestFrom(ctx); req != nil {
		req.token = id
	}
}

// identified gives a request an id and the response the header with it, unless that was done further out.
func identified(w http.ResponseWriter, r *http.Request) (*request, *http.Request) {
	if req := requestFrom(r.Context()); req != nil {
		return req, r
	}
	req := &request{id: requestID(r.Header)}
	w.Header().Set(HeaderRequestID, req.id)
	return req, r.WithContext(context.WithValue(r.Context(), requestKey{}, req))
}

// requestID is the one that the request brings along, where it is fit for a log, else a new one. One that looks
// like a token is not taken over.
func requestID(h http.Header) string {
	if ids := h.Values(HeaderRequestID); len(ids) == 1 && len(ids[0]) <= maxRequestID && ids[0] != "" && !HasToken(ids[0]) {
		ok := true
		for _, c := range []byte(ids[0]) {
			ok = ok && (c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.')
		}
		if ok {
			return ids[0]
		}
	}
	return rand.Text()
}

// HasToken reports whether a text has what could be a token in it.
func HasToken(s string) bool { return strings.Contains(strings.ToLower(s), "rvu_") }

// Logged writes one line for each request: its method, route, status, size and time, the id of its token and its own.
// Nothing that the caller made up is in it: no path, no query, no header but a request id of plain letters, no body.
// What only reads and succeeds is logged at debug, the rest at info. Around another Logged, the outer one writes.
func Logged(log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req, r := identified(w, r)
		if req.logged {
			next.ServeHTTP(w, r)
			return
		}
		req.logged = true
		rec := &meter{ResponseWriter: w}
		began, ctx := time.Now(), r.Context()
		defer func() {
			level := slog.LevelInfo
			if rec.status < http.StatusBadRequest && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
				level = slog.LevelDebug
			}
			log.LogAttrs(ctx, level, "request",
				slog.String("requestId", req.id), slog.String("method", shownMethod(r.Method)), slog.String("route", req.route),
				slog.Int("status", rec.status), slog.Int64("bytes", rec.bytes), slog.Duration("took", time.Since(began)),
				slog.String("token", req.token), slog.String("remote", RemoteHost(r)))
		}()
		next.ServeHTTP(rec, r)
	})
}

// shownMethod is a method as a log may show it: callers make up their own.
func shownMethod(m string) string {
	switch m {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return m
	default:
		return "other"
	}
}

// RemoteHost is the address at the other end of the connection, without its port.
func RemoteHost(r *http.Request) string {
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		return host
	}
	return r.RemoteAddr
}

// meter knows the status and the size of an answer.
type meter struct {
	http.ResponseWriter
	status int
	bytes  int64
}

func (m *meter) WriteHeader(status int) {
	if m.status == 0 && status >= 200 {
		m.status = status
	}
	m.ResponseWriter.WriteHeader(status)
}

func (m *meter) Write(p []byte) (int, error) {
	if m.status == 0 {
		m.status = http.StatusOK
	}
	n, err := m.ResponseWriter.Write(p)
	m.bytes += int64(n)
	return n, err
}

// Unwrap gives [http.ResponseController] the writer beneath.
func (m *meter) Unwrap() http.ResponseWriter { return m.ResponseWriter }
