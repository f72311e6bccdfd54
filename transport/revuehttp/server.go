package revuehttp

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/httpguard"
)

// What Options default to.
const (
	DefaultRate      = 100  // requests a second of one token
	DefaultBurst     = 1000 // requests of one token at once
	DefaultHeartbeat = 15 * time.Second
)

// Options configure a [Server]. Nil is a server with the defaults, for this machine alone.
type Options struct {
	Version string       // of the program, told to callers; default "dev"
	Log     *slog.Logger // nil drops everything

	// Hosts are the names, each "name" or "name:port", under which clients reach the server, besides those of this
	// machine, which always do. Origins are the web origins whose pages may call it, besides those of Hosts.
	Hosts   []string
	Origins []string

	// BodyTimeout is how long a request body may take to arrive; default 30 s.
	BodyTimeout time.Duration
	// Rate is how many requests a second each token may make, Burst how many at once. A call that waits for a human
	// counts once. Zero is DefaultRate and DefaultBurst; a negative Rate sets no limit.
	Rate  float64
	Burst int
	// Heartbeat is the time between two signs of life on a stream of events, at each of which the token is looked at
	// again; default 15 s.
	Heartbeat time.Duration
}

// Server offers a [revue.Plane] as a JSON API. It is safe for concurrent use.
type Server struct {
	plane     revue.Plane
	version   string
	log       *slog.Logger
	heartbeat time.Duration
	guard     func(http.Handler) http.Handler
	gate      *httpguard.Gate
	limiter   *httpguard.Limiter
	bodies    *httpguard.Bodies
	routes    []route
	openapi   []byte

	streams   chan struct{} // closed when streams must end
	closeOnce sync.Once

	mu     sync.Mutex
	parked map[*parking]context.CancelCauseFunc // the calls that wait
	idle   chan struct{}                        // closed when none is parked; nil while nobody waits for that
	closed bool                                 // no call may park any more
}

// NewServer returns a server for the plane.
func NewServer(plane revue.Plane, opts *Options) *Server {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Version == "" {
		o.Version = "dev"
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Heartbeat <= 0 {
		o.Heartbeat = DefaultHeartbeat
	}
	if o.Rate == 0 {
		o.Rate = DefaultRate
	}
	if o.Burst <= 0 {
		o.Burst = DefaultBurst
	}
	table := routes()
	doc, err := describe(table)
	if err != nil { // it is made of texts and numbers of this package
		panic(err)
	}
	return &Server{
		plane: plane, version: o.Version, log: o.Log, heartbeat: o.Heartbeat,
		guard: httpguard.New(&httpguard.Options{
			Hosts: o.Hosts, Origins: o.Origins, BodyTimeout: o.BodyTimeout, Log: o.Log,
		}),
		gate:    httpguard.NewGate(plane, o.Log),
		limiter: httpguard.NewLimiter(o.Rate, o.Burst),
		bodies:  httpguard.NewBodies(0),
		routes:  table,
		openapi: doc,
		streams: make(chan struct{}),
		parked:  map[*parking]context.CancelCauseFunc{},
	}
}

// Handler serves the routes below /v1, /openapi.json and /.well-known/jwks.json; any other path is a 404. Each request
// carries a token in its Authorization header, and is for a host, and from an origin, that Options name. The server
// around it needs a ReadHeaderTimeout, and no WriteTimeout: calls wait for humans, and events are followed.
//
// A request whose context has a principal (see internal/httpguard) was checked by whoever put it there, before routing.
func (s *Server) Handler() http.Handler {
	inner := http.HandlerFunc(s.serve)
	checked := httpguard.Logged(s.log, s.guard(inner))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ok := httpguard.PrincipalFrom(r.Context()); ok {
			httpguard.Logged(s.log, inner).ServeHTTP(w, r)
			return
		}
		checked.ServeHTTP(w, r)
	})
}

// who says whom a route is for.
type who string

const (
	public  who = "public"
	anyone  who = "anyone" // any token
	agents  who = "agent"
	members who = "human"
)

// route is one row of the table that the API is made of.
type route struct {
	method, path string
	who          who
	name         string // operationId
	summary      string
	about        string
	query        []param
	body         any // of the type that the body is read into; nil for none
	bodyOptional bool
	status       int            // of success
	response     any            // of the type that success is written from; nil for none
	fails        []int          // statuses besides those of every route of its kind
	calls        bool           // takes an Idempotency-Key
	tagged       bool           // has an ETag
	example      map[string]any // of the body, by name
	answers      map[string]any // examples of the response, by name
	mediaType    string         // of the response where it is not application/json
	stream       bool           // may answer with server-sent events
	handle       func(*Server, context.Context, *call) (any, error)
	serve        func(*Server, http.ResponseWriter, *http.Request, *call) // in place of handle
}

func (rt *route) pattern() string { return rt.method + " " + rt.path }

// call is one request to a route.
type call struct {
	route     *route
	principal revue.Principal
	agent     revue.Agent // where the route is for agents
	human     revue.Human // where it is for humans
	id        string      // or the slug, of the path
	query     url.Values
	body      any // a pointer to a value of the route's body type
	header    http.Header
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	// Before anything reads the URL: what is refused here is named nowhere.
	if httpguard.RefuseTarget(w, r) {
		return
	}
	rt, id, allowed := match(s.routes, r.Method, r.URL.EscapedPath())
	switch {
	case rt == nil && len(allowed) > 0:
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		httpguard.Problem(w, http.StatusMethodNotAllowed, string(revue.CodeInvalid), "this path takes "+strings.Join(allowed, ", ")+" alone")
		return
	case rt == nil:
		httpguard.Problem(w, http.StatusNotFound, string(revue.CodeNotFound), "there is no such path; /openapi.json lists them")
		return
	}
	httpguard.SetRoute(r, rt.pattern())
	c := &call{route: rt, id: id, header: r.Header}
	if rt.who != public && !s.authorize(w, r, c) {
		return
	}
	var err error
	if c.query, err = readQuery(r.URL.RawQuery, rt.query); err != nil {
		httpguard.Fail(w, err)
		return
	}
	if rt.body != nil && !s.readBody(w, r, c) {
		return
	}
	if rt.serve != nil {
		rt.serve(s, w, r, c)
		return
	}
	out, err := rt.handle(s, r.Context(), c)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.answer(w, r, c, out)
}

// match finds the route of a request by its path as it was escaped, and the id in it. Where the path exists with other
// methods alone, it returns those. Segments are compared one by one after they were cut, so that an escaped slash is
// no slash; nothing is cleaned, redirected or completed.
func match(routes []route, method, escapedPath string) (found *route, id string, allowed []string) {
	for i := range routes {
		rt := &routes[i]
		got, ok := matchPath(rt.path, escapedPath)
		switch {
		case !ok:
		case rt.method == method || rt.method == http.MethodGet && method == http.MethodHead:
			return rt, got, nil
		case rt.method == http.MethodGet:
			allowed = append(allowed, http.MethodGet, http.MethodHead)
		default:
			allowed = append(allowed, rt.method)
		}
	}
	return nil, "", allowed
}

func matchPath(pattern, escapedPath string) (id string, ok bool) {
	want, got := strings.Split(pattern, "/"), strings.Split(escapedPath, "/")
	if len(want) != len(got) {
		return "", false
	}
	for i, segment := range got {
		switch want[i] {
		case "{id}":
			id, ok = pathID(segment)
		case "{slug}":
			id, ok = pathSlug(segment)
		default:
			ok = segment == want[i]
		}
		if !ok {
			return "", false
		}
	}
	return id, true
}

// pathSlug reads the slug of a stream: letters, digits, '-', '_' and '.', of which a letter or a digit comes first, so
// that it is no step of a path.
func pathSlug(segment string) (string, bool) {
	slug, err := url.PathUnescape(segment)
	if err != nil || slug == "" || len(slug) > revue.MaxStream || strings.ContainsRune("._-", rune(slug[0])) {
		return "", false
	}
	return slug, onlyIDs(strings.ReplaceAll(slug, ".", ""))
}

// maxID bounds an id, in bytes.
const maxID = 128

// pathID reads an id. Those of a plane are letters, digits, '_' and '-'; nothing else is looked for.
func pathID(segment string) (string, bool) {
	id, err := url.PathUnescape(segment)
	if err != nil || id == "" || len(id) > maxID {
		return "", false
	}
	return id, onlyIDs(id)
}

// onlyIDs reports whether s has nothing but what ids are made of.
func onlyIDs(s string) bool {
	for _, c := range []byte(s) {
		if (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// authorize finds out who calls and whether they may, or answers.
func (s *Server) authorize(w http.ResponseWriter, r *http.Request, c *call) bool {
	p, ok := httpguard.PrincipalFrom(r.Context())
	if !ok {
		if p, ok = s.gate.Authenticate(w, r); !ok {
			return false
		}
	}
	if wait, ok := s.limiter.Allow(p.TokenID); !ok && p.TokenID != "" {
		httpguard.TooMany(w, wait)
		return false
	}
	kind := c.route.who
	if (kind == agents && (p.Kind != revue.TokenAgent || p.Agent == nil)) || (kind == members && (p.Kind != revue.TokenHuman || p.Human == nil)) {
		httpguard.Problem(w, http.StatusForbidden, string(revue.CodeDenied), "this takes the token of "+map[who]string{agents: "an agent", members: "a human"}[kind])
		return false
	}
	c.principal = p
	if err := c.readHeaders(); err != nil {
		httpguard.Fail(w, err)
		return false
	}
	return true
}

// readBody reads the body of a request, or answers. Nothing of it is kept but what was decoded.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request, c *call) bool {
	if ct := r.Header.Values("Content-Type"); len(ct) > 0 && !jsonType(ct) {
		httpguard.Problem(w, http.StatusUnsupportedMediaType, string(revue.CodeInvalid), "send the body as Content-Type: application/json")
		return false
	}
	leave, ok := s.bodies.Admit(w, r, c.principal.TokenID)
	if !ok {
		return false
	}
	defer leave()
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		refuseBody(w, err)
		return false
	}
	into := reflect.New(reflect.TypeOf(c.route.body)).Interface()
	if len(raw) > 0 || !c.route.bodyOptional {
		err = decode(raw, into)
	}
	if err != nil {
		status := http.StatusUnprocessableEntity
		if errors.As(err, &noJSON{}) {
			status = http.StatusBadRequest
		}
		httpguard.FailWith(w, status, err)
		return false
	}
	c.body = into
	return true
}

// jsonType reports whether the one Content-Type is that of JSON in UTF-8.
func jsonType(values []string) bool {
	if len(values) != 1 {
		return false
	}
	name, params, err := mime.ParseMediaType(values[0])
	if err != nil || name != "application/json" && !strings.HasSuffix(name, "+json") {
		return false
	}
	charset, ok := params["charset"]
	return !ok || strings.EqualFold(charset, "utf-8")
}

// refuseBody answers a request whose body could not be read.
func refuseBody(w http.ResponseWriter, err error) {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		httpguard.TooLarge(w, tooLarge.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		httpguard.TooSlow(w)
	default:
		httpguard.Problem(w, http.StatusBadRequest, string(revue.CodeInvalid), "body: could not be read; send it again")
	}
}

// fail answers with an error. What is a fault of the plane is logged, with its cause.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	if gone := r.Context().Err(); gone != nil && errors.Is(err, gone) {
		err = &revue.Error{Code: revue.CodeUnavailable, Message: "the call was cancelled; make it again", Err: err}
	} else if revue.CodeOf(err) == revue.CodeDenied && !s.stillGood(r) {
		httpguard.TokenEnded(w) // while the request was under way
		return
	} else if code := revue.CodeOf(err); (code == revue.CodeInternal || code == revue.CodeUnavailable) && !closing(err) {
		s.log.ErrorContext(r.Context(), "a request failed", "requestId", httpguard.RequestID(r.Context()), "route", r.Pattern, "err", err)
	}
	httpguard.Fail(w, err)
}

// answer writes the outcome of a route.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, c *call, out any) {
	rt := c.route
	if rt.status == http.StatusNoContent {
		w.WriteHeader(rt.status)
		return
	}
	body, ok := out.([]byte)
	if !ok {
		var err error
		if body, err = encode(out); err != nil {
			s.fail(w, r, err)
			return
		}
	}
	if rt.tagged {
		tag := etag(body)
		w.Header().Set("ETag", tag)
		if matches(r.Header.Values("If-None-Match"), tag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	if rt.who == public {
		w.Header().Set("Cache-Control", "public, max-age=60")
	}
	mediaType := rt.mediaType
	if mediaType == "" {
		mediaType = "application/json"
	}
	_ = httpguard.Send(w, r, rt.status, mediaType, body) // the client is gone, and nothing depends on its answer
}

// EndStreams ends every stream of events, now and from now on. It returns at once, as
// [http.Server.RegisterOnShutdown] wants it.
func (s *Server) EndStreams() { s.closeOnce.Do(func() { close(s.streams) }) }

// Shutdown ends every stream of events, and waits until ctx ends for the calls that wait for a human: drain the desk
// before, so that each returns pending at once. What is still parked then is ended with an error that says to call
// again; nothing that was asked changes. It returns ctx.Err() in that case.
func (s *Server) Shutdown(ctx context.Context) error {
	s.EndStreams()
	s.mu.Lock()
	if len(s.parked) == 0 {
		s.closed = true
		s.mu.Unlock()
		return nil
	}
	if s.idle == nil {
		s.idle = make(chan struct{})
	}
	idle := s.idle
	s.mu.Unlock()
	var err error
	select {
	case <-idle:
	case <-ctx.Done():
		err = ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, cancel := range s.parked {
		cancel(errClosing)
	}
	return err
}

// parking is one call that waits.
type parking struct{ _ byte }

// park notes a call that is about to wait; leave is called when it is over.
func (s *Server) park(cancel context.CancelCauseFunc) (leave func()) {
	p := &parking{}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parked[p] = cancel
	if s.closed {
		cancel(errClosing)
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.parked, p)
		if len(s.parked) == 0 && s.idle != nil {
			close(s.idle)
			s.idle = nil
		}
	}
}

var errClosing = &revue.Error{Code: revue.CodeUnavailable, Message: "revue is restarting and nothing was decided; make the identical call again in a few seconds"}

// closing reports whether an error is errClosing itself; [errors.Is] compares codes.
func closing(err error) bool {
	var e *revue.Error
	return errors.As(err, &e) && e == errClosing
}

// matches reports whether one of the If-None-Match values is the tag, or any.
func matches(values []string, tag string) bool {
	list := strings.Split(strings.Join(values, ","), ",")
	return slices.ContainsFunc(list, func(v string) bool {
		v = strings.TrimSpace(v)
		return v == "*" || strings.TrimPrefix(v, "W/") == strings.TrimPrefix(tag, "W/")
	})
}
