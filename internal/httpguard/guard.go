// Package httpguard is what stands before every route of a revue server.
//
// [New] makes the outer middleware. It answers before any routing, so no handler is ever reached by a
// request that
//
//   - names a host this server does not go by (a web page that resolves its own name to a loopback
//     address is turned away here),
//   - comes from a web page of another origin, or from one that hides its own,
//   - has a larger body than the limit, or an encoded one,
//   - has what looks like a token in its target,
//
// it bounds the time that a body may take to arrive, whether or not a handler reads it, sets the security headers,
// gives each request an id, and turns a panic of a handler into an answer and a log entry.
//
// [Bearer] makes the inner one: it authenticates the token of the Authorization header, the only place
// where a token is looked for, and puts the [revue.Principal] into the context of the request.
//
// [Logged] writes a line for each request, [Limiter] bounds how often a caller may come, and [Send] compresses.
//
// Every refusal is a problem document (RFC 9457) with a "code" that programs can rely on.
package httpguard

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/revuehq/revue"
)

// The limits where Options name none.
const (
	DefaultMaxBody     = 1 << 20 // bytes
	DefaultBodyTimeout = 30 * time.Second
)

// restTimeout is how long the rest of a body may take that no handler has read: a server waits for it
// before it answers.
const restTimeout = time.Second

// Options say what a server goes by. Nil is a server for loopback alone.
type Options struct {
	// Hosts are the names and addresses under which this server is reached, each "name" (any port) or
	// "name:port". The loopback names and addresses are always allowed, with any port.
	Hosts []string
	// Origins are web origins ("https://example.com") whose pages may call this server, besides those of
	// Hosts and of loopback.
	Origins []string
	// MaxBody is the largest request body in bytes; 0 is DefaultMaxBody.
	MaxBody int64
	// BodyTimeout is how long a request body may take to arrive; 0 is DefaultBodyTimeout. Reading one that
	// takes longer fails with [os.ErrDeadlineExceeded]. It has no bearing on how long an answer takes.
	BodyTimeout time.Duration
	// Log gets the panics; nil drops them.
	Log *slog.Logger
}

// New returns the middleware. It is safe for concurrent use.
func New(opts *Options) func(http.Handler) http.Handler {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.MaxBody == 0 {
		o.MaxBody = DefaultMaxBody
	}
	if o.BodyTimeout == 0 {
		o.BodyTimeout = DefaultBodyTimeout
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	g := &guard{hosts: map[string]bool{}, origins: map[string]bool{}, maxBody: o.MaxBody, bodyTimeout: o.BodyTimeout, log: o.Log}
	for _, h := range o.Hosts {
		g.hosts[canonicalHost(h)] = true
	}
	for _, origin := range o.Origins {
		g.origins[strings.ToLower(strings.TrimSuffix(origin, "/"))] = true
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { g.serve(w, r, next) })
	}
}

type guard struct {
	hosts       map[string]bool
	origins     map[string]bool
	maxBody     int64
	bodyTimeout time.Duration
	log         *slog.Logger
}

func (g *guard) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	req, r := identified(w, r)
	setHeaders(w.Header(), r.TLS != nil)
	if r.Body != nil && r.Body != http.NoBody {
		b := &body{ReadCloser: r.Body, rc: http.NewResponseController(w)}
		b.within(g.bodyTimeout)
		defer b.leave()
		r.Body = b
	}
	if RefuseTarget(w, r) {
		return
	}
	if !g.hostAllowed(r.Host) {
		Problem(w, http.StatusForbidden, string(revue.CodeDenied),
			"this server does not go by the host name of the request; start it with that name allowed")
		return
	}
	for _, origin := range r.Header.Values("Origin") {
		if !g.originAllowed(origin) && !ownPage(r, origin) {
			Problem(w, http.StatusForbidden, string(revue.CodeDenied),
				"pages of this origin may not call this server; start it with that origin allowed")
			return
		}
	}
	if encodedBody(r) {
		Problem(w, http.StatusUnsupportedMediaType, string(revue.CodeInvalid),
			"the body has a Content-Encoding; send it as it is")
		return
	}
	if r.ContentLength > g.maxBody {
		TooLarge(w, g.maxBody)
		return
	}
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = http.MaxBytesReader(w, r.Body, g.maxBody)
	}

	rec := &recorder{ResponseWriter: w}
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(v)
		}
		g.log.ErrorContext(r.Context(), "a handler panicked",
			"requestId", req.id, "method", shownMethod(r.Method), "route", req.route, "panic", v, "stack", string(debug.Stack()))
		if rec.begun {
			panic(http.ErrAbortHandler) // half an answer must not look like a whole one
		}
		Problem(w, http.StatusInternalServerError, string(revue.CodeInternal), revue.MessageOf(errPanic))
	}()
	next.ServeHTTP(rec, r)
}

// encodedBody reports whether a request has a body that something would have to be undone to. Nothing here does: a
// small one could become a large one.
func encodedBody(r *http.Request) bool {
	if r.Body == nil || r.Body == http.NoBody {
		return false
	}
	for part := range strings.SplitSeq(strings.Join(r.Header.Values("Content-Encoding"), ","), ",") {
		if part = strings.TrimSpace(part); part != "" && !strings.EqualFold(part, "identity") {
			return true
		}
	}
	return false
}

var errPanic = errors.New("panic")

func (g *guard) hostAllowed(hostport string) bool {
	if hostport == "" {
		return false
	}
	full := canonicalHost(hostport)
	name := hostOnly(full)
	return Loopback(name) || g.hosts[full] || g.hosts[name]
}

func (g *guard) originAllowed(origin string) bool {
	if g.origins[strings.ToLower(origin)] {
		return true
	}
	u, err := url.Parse(origin)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil {
		return false
	}
	return g.hostAllowed(u.Host)
}

// ownPage reports whether a request that hides its origin comes from a page of this server all the same: browsers hide
// it in forms of pages that send no referrer, and no page can set what they say of the site.
func ownPage(r *http.Request, origin string) bool {
	site := r.Header.Values("Sec-Fetch-Site")
	return origin == "null" && len(site) == 1 && site[0] == "same-origin"
}

// Loopback reports whether a host without port names this machine alone: localhost and the names below
// it, and the loopback addresses.
func Loopback(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return ip != nil && ip.IsLoopback()
}

// canonicalHost is lower case without the dot of a fully qualified name.
func canonicalHost(h string) string {
	h = strings.ToLower(strings.TrimSpace(h))
	if name, port, err := net.SplitHostPort(h); err == nil {
		return net.JoinHostPort(strings.TrimSuffix(name, "."), port)
	}
	return strings.Trim(strings.TrimSuffix(h, "."), "[]")
}

func hostOnly(h string) string {
	if name, _, err := net.SplitHostPort(h); err == nil {
		return name
	}
	return h
}

// setHeaders sets what every answer carries. A handler that needs something else, a policy for its own
// pages say, sets it over these.
func setHeaders(h http.Header, tls bool) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if tls {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}

// body is a request body that has a time to arrive in.
type body struct {
	io.ReadCloser
	rc   *http.ResponseController
	over atomic.Bool // it was read to its end, or it failed
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !b.over.Swap(true) && errors.Is(err, io.EOF) {
		// From now on the server listens for the end of the connection, for as long as the answer takes.
		_ = b.rc.SetReadDeadline(time.Time{}) // as in within
	}
	return n, err
}

// within sets the time. A connection that has no deadlines is not one of a network.
func (b *body) within(d time.Duration) { _ = b.rc.SetReadDeadline(time.Now().Add(d)) }

// leave is called when the handler is done.
func (b *body) leave() {
	if !b.over.Load() {
		b.within(restTimeout)
	}
}

// recorder knows whether the answer has begun.
type recorder struct {
	http.ResponseWriter
	begun bool
}

func (r *recorder) WriteHeader(status int) {
	if status >= 200 {
		r.begun = true
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(p []byte) (int, error) {
	r.begun = true
	return r.ResponseWriter.Write(p)
}

func (r *recorder) FlushError() error {
	r.begun = true
	return http.NewResponseController(r.ResponseWriter).Flush()
}

func (r *recorder) Flush() { _ = r.FlushError() }

// flush sends what was written; what can't be flushed is sent at the end.
func flush(w http.ResponseWriter) error {
	err := http.NewResponseController(w).Flush()
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}

// Unwrap gives [http.ResponseController] the writer beneath.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// kindAllowed reports whether a kind is among those a route takes; a route that names none takes all.
func kindAllowed(kinds []revue.TokenKind, k revue.TokenKind) bool {
	return len(kinds) == 0 || slices.Contains(kinds, k)
}
