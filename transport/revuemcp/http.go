package revuemcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/httpguard"
)

// The headers in which a client says which session and repository it works for. They only route.
const (
	HeaderThread = "Revue-Thread" // up to 200 bytes of UTF-8 text; default: one thread a token
	HeaderRepo   = "Revue-Repo"   // an address or a URL, see [revue.NormalizeRepo]
)

const maxThread = 200

// Handler serves Streamable HTTP, without sessions, to agents alone: each request carries the token of one in
// its Authorization header, and is for a host, and from an origin, that Options name. It may be mounted
// anywhere. The server around it needs a ReadHeaderTimeout, and no WriteTimeout: an approval waits as
// long as the human does. A body that takes longer than the BodyTimeout of Options is answered with 408.
func (s *Server) Handler() http.Handler {
	served := s.served()
	checked := httpguard.New(&httpguard.Options{Hosts: s.hosts, Origins: s.origins, BodyTimeout: s.bodies.timeout, Log: s.log})(
		httpguard.Bearer(s.plane, httpguard.Limited(nil, served), revue.TokenAgent))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ok := httpguard.PrincipalFrom(r.Context()); ok {
			served.ServeHTTP(w, r) // whoever put it there has checked all this, before routing
			return
		}
		checked.ServeHTTP(w, r)
	})
}

// served is the handler of requests whose context has a principal.
func (s *Server) served() http.Handler {
	inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.mcp }, &mcp.StreamableHTTPOptions{
		Stateless: true,
		// Hosts and origins are checked before any routing, behind a proxy too.
		DisableLocalhostProtection: true,
		MaxRequestBodyBytes:        -1, // what is read below is limited by whoever made the request
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		agent, ok := s.httpAgent(w, r)
		if !ok {
			return
		}
		body, err := s.bodies.read(w, r)
		if err != nil {
			refuseBody(w, err)
			return
		}
		if !idsKept(body) {
			httpguard.Problem(w, http.StatusBadRequest, string(revue.CodeInvalid), idProblem)
			return
		}
		r.Body = &spent{rest: body} // what was read need not wait with the call

		w.Header().Set("X-Accel-Buffering", "no") // a proxy must not keep signs of life to itself
		ctx := r.Context()
		x := &exchange{server: s, w: w, gone: ctx.Done()}
		defer x.finish()
		who := &caller{agent: agent, begun: x.begun, carry: x.carry, comment: x.comment}
		inner.ServeHTTP(x, r.WithContext(withCaller(ctx, ctx, who)))
	})
}

// spent is a body that was read before. What has been read of it is let go.
type spent struct{ rest []byte }

func (s *spent) Read(p []byte) (int, error) {
	if len(s.rest) == 0 {
		s.rest = nil
		return 0, io.EOF
	}
	n := copy(p, s.rest)
	if s.rest = s.rest[n:]; len(s.rest) == 0 {
		s.rest = nil
	}
	return n, nil
}

func (s *spent) Close() error { return nil }

// bodies reads the bodies of requests, each in a bounded time.
type bodies struct {
	timeout time.Duration
	last    time.Duration // the timeout once the server shuts down

	mu      sync.Mutex
	reading map[*http.ResponseController]bool
	closing bool
}

// read returns the whole body. The time it may take is over with it: it must not cut a wait for a human. A
// writer that has no deadlines is not one of a network, so that goes unnoticed.
func (b *bodies) read(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	conn := http.NewResponseController(w)
	b.mu.Lock()
	timeout := b.timeout
	if b.closing {
		timeout = min(timeout, b.last)
	}
	_ = conn.SetReadDeadline(time.Now().Add(timeout))
	b.reading[conn] = true
	b.mu.Unlock()

	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))

	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.reading, conn)
	if err == nil {
		_ = conn.SetReadDeadline(time.Time{})
	} else if b.closing && errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, errClosing
	}
	return body, err
}

// cut ends what is being read, and gives what comes yet little time.
func (b *bodies) cut() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closing = true
	for conn := range b.reading {
		_ = conn.SetReadDeadline(time.Now())
	}
}

// refuseBody answers a request whose body could not be read.
func refuseBody(w http.ResponseWriter, err error) {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		httpguard.TooLarge(w, tooLarge.Limit)
	case errors.Is(err, errClosing):
		httpguard.Problem(w, http.StatusServiceUnavailable, string(revue.CodeUnavailable), errClosing.Message)
	case errors.Is(err, os.ErrDeadlineExceeded):
		httpguard.TooSlow(w)
	default:
		httpguard.Problem(w, http.StatusBadRequest, string(revue.CodeInvalid), "the body could not be read; send it again")
	}
}

// idsKept reports whether the id of each message in a body comes back as it is.
func idsKept(body []byte) bool {
	if !bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
		return idKept(idOf(body))
	}
	var batch []json.RawMessage
	_ = json.Unmarshal(body, &batch) // what is no JSON is refused later
	for _, msg := range batch {
		if !idKept(idOf(msg)) {
			return false
		}
	}
	return true
}

// httpAgent makes the agent of a request from its principal and its headers, or answers.
func (s *Server) httpAgent(w http.ResponseWriter, r *http.Request) (revue.Agent, bool) {
	p, ok := httpguard.PrincipalFrom(r.Context())
	if !ok {
		httpguard.Unauthenticated(w, "send the token as the header Authorization: Bearer TOKEN")
		return revue.Agent{}, false
	}
	if p.Kind != revue.TokenAgent || p.Agent == nil {
		httpguard.Problem(w, http.StatusForbidden, string(revue.CodeDenied), "this takes the token of an agent")
		return revue.Agent{}, false
	}
	agent := *p.Agent
	agent.Via = "mcp http"
	agent.Thread = p.TokenID
	agent.AnyThread = false
	if threads := r.Header.Values(HeaderThread); len(threads) > 0 {
		if len(threads) > 1 || !threadOK(threads[0]) {
			httpguard.Problem(w, http.StatusBadRequest, string(revue.CodeInvalid),
				HeaderThread+": must be one value of 1 to 200 bytes of UTF-8 text without control characters")
			return revue.Agent{}, false
		}
		agent.Thread = threads[0]
	}
	agent.Repo = revue.NormalizeRepo(r.Header.Get(HeaderRepo))
	return agent, true
}

func threadOK(s string) bool {
	for _, r := range s {
		if !unicode.IsGraphic(r) {
			return false
		}
	}
	return strings.TrimSpace(s) != "" && len(s) <= maxThread && utf8.ValidString(s)
}

// exchange is one request and its response. It is the response writer of the SDK, it can put comments
// on the stream meanwhile, and it knows whether what was written got out. Where the SDK refuses a request in
// plain text it makes a problem document of that.
type exchange struct {
	server *Server
	w      http.ResponseWriter
	gone   <-chan struct{} // closed when the client is gone

	mu      sync.Mutex // the SDK writes from several goroutines, and so do comments
	writes  int        // by the SDK
	err     error      // the first failure of a write or a flush
	calls   int
	slips   []slip
	refused int    // the status, where the SDK refused the request in plain text
	reason  []byte // and what it said
}

// slip waits for the response of one call.
type slip struct {
	writes   int // how many there were when the outcome was there
	returned func(error)
}

func (x *exchange) Header() http.Header { return x.w.Header() }

func (x *exchange) WriteHeader(status int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if status >= http.StatusBadRequest && strings.HasPrefix(x.w.Header().Get("Content-Type"), "text/plain") {
		x.refused = status
		return
	}
	x.w.WriteHeader(status)
}

func (x *exchange) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.refused != 0 {
		x.reason = append(x.reason, p...)
		return len(p), nil
	}
	select {
	// Asked before the write and never after: a client may well leave as soon as it has read its answer,
	// and an approval that it has read must not be given to its next call.
	case <-x.gone:
		x.note(errGone)
	default:
	}
	n, err := x.w.Write(p)
	x.writes++
	x.note(err)
	return n, err
}

// FlushError sends what was written. The SDK drops the error, so it is kept here.
func (x *exchange) FlushError() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.refused != 0 {
		return nil
	}
	return x.flush()
}

func (x *exchange) flush() error {
	err := http.NewResponseController(x.w).Flush()
	if errors.Is(err, http.ErrNotSupported) {
		err = nil // what can't be flushed is sent at the end
	}
	x.note(err)
	return err
}

func (x *exchange) note(err error) {
	if x.err == nil {
		x.err = err
	}
}

// comment puts a line on the stream that clients skip. The tools call it while they wait, when the
// headers of an event stream are set, so that nothing here can turn an error status into a 200.
func (x *exchange) comment() {
	x.mu.Lock()
	defer x.mu.Unlock()
	_, err := io.WriteString(x.w, ": keepalive\n\n")
	x.note(err)
	_ = x.flush() // noted
}

func (x *exchange) carry(_ *mcp.CallToolRequest, returned func(error)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.slips = append(x.slips, slip{writes: x.writes, returned: returned})
}

var errNotWritten = errors.New("the response was not written")

// finish tells what became of each outcome. The SDK is done with the request.
func (x *exchange) finish() {
	x.mu.Lock()
	writes, err, slips, calls := x.writes, x.err, x.slips, x.calls
	x.refuse()
	x.mu.Unlock()
	for _, s := range slips {
		if err == nil && writes == s.writes {
			s.returned(errNotWritten)
			continue
		}
		s.returned(err)
	}
	for range calls {
		x.server.end()
	}
}

// refuse answers what the SDK refused. The mutex is held.
func (x *exchange) refuse() {
	detail := strings.TrimSpace(string(x.reason))
	switch x.refused {
	case 0:
		return
	case http.StatusMethodNotAllowed:
		detail = "send each message with POST; there is no stream to GET and no session to DELETE"
	}
	httpguard.Problem(x.w, x.refused, string(codeOfStatus(x.refused)), detail)
}

// codeOfStatus is the code of a refusal by the SDK.
func codeOfStatus(status int) revue.Code {
	switch {
	case status == http.StatusForbidden:
		return revue.CodeDenied
	case status == http.StatusNotFound:
		return revue.CodeNotFound
	case status == http.StatusConflict:
		return revue.CodeConflict
	case status >= http.StatusInternalServerError:
		return revue.CodeInternal
	default:
		return revue.CodeInvalid
	}
}

func (x *exchange) begun() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.calls++
	x.server.begin()
}
