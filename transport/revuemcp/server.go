package revuemcp

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/httpguard"
)

// Profile is a set of tools.
type Profile string

// The profiles.
const (
	Decisions Profile = "decisions" // lookup_decision, request_decision, share_context; the default
	Approvals Profile = "approvals" // request_decision that approves or declines
)

// The waits of a decision request.
const (
	DefaultWait = 50 * time.Second
	MaxWait     = 55 * time.Second // below the 60 s at which several clients give up
)

// Options configure a [Server]. Nil is the decisions profile with the defaults.
type Options struct {
	Profile Profile
	Version string       // of the program, told to clients; default "dev"
	Log     *slog.Logger // nil drops everything

	// Hosts are the names, each "name" or "name:port", under which HTTP clients reach the server, besides
	// those of this machine, which always do. Origins are the web origins whose pages may call it, besides
	// those of Hosts.
	Hosts   []string
	Origins []string

	// Interval is the time between two signs of life during a wait, FirstComment the time to the first
	// comment on an HTTP stream. The defaults, 15 s and 3 s, stay below every limit known of clients.
	Interval     time.Duration
	FirstComment time.Duration
	// Grace is how long the end of a session waits for calls to be answered; default 1 s.
	Grace time.Duration
	// BodyTimeout is how long the body of an HTTP request may take to arrive; default 30 s.
	BodyTimeout time.Duration
}

// Server offers one profile of a [revue.Plane] to MCP clients. It is safe for concurrent use, and one is
// enough for any number of clients.
type Server struct {
	plane   revue.Plane
	profile Profile
	log     *slog.Logger
	hosts   []string
	origins []string
	mcp     *mcp.Server

	interval, firstComment, grace time.Duration

	bodies bodies

	closing   chan struct{} // closed when parked calls must end
	closeOnce sync.Once

	mu     sync.Mutex
	active int           // tool calls whose response is not written yet
	idle   chan struct{} // closed when active gets back to 0; nil while nobody waits for that
}

// NewServer returns a server for the plane.
func NewServer(plane revue.Plane, opts *Options) *Server {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Profile == "" {
		o.Profile = Decisions
	}
	if o.Version == "" {
		o.Version = "dev"
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		plane: plane, profile: o.Profile, log: o.Log, hosts: o.Hosts, origins: o.Origins,
		interval:     orDefault(o.Interval, 15*time.Second),
		firstComment: orDefault(o.FirstComment, 3*time.Second),
		grace:        orDefault(o.Grace, time.Second),
		closing:      make(chan struct{}),
	}
	s.bodies = bodies{
		timeout: orDefault(o.BodyTimeout, httpguard.DefaultBodyTimeout), last: s.grace,
		reading: map[*http.ResponseController]bool{},
	}
	teach := decisionsInstructions
	if o.Profile == Approvals {
		teach = approvalsInstructions
	}
	s.mcp = mcp.NewServer(&mcp.Implementation{Name: "revue", Title: "Revue", Version: o.Version}, &mcp.ServerOptions{
		Instructions: teach,
		Logger:       slog.New(warnings{o.Log.Handler()}),
		// Said outright: the default would advertise logging, and changes of a list that never changes.
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
	})
	s.addTools(o.Profile)
	s.mcp.AddReceivingMiddleware(s.recovered)
	return s
}

func orDefault(d, def time.Duration) time.Duration {
	if d <= 0 {
		return def
	}
	return d
}

// Shutdown ends every session. It first waits, until ctx ends, for the calls under way to be answered:
// drain the desk before, so that each parked call returns pending at once. What is still parked then is
// ended with an error that says to call again; nothing that was asked changes. HTTP requests whose bodies
// have not arrived are refused at once, those that come later when theirs take longer than the grace of Options.
func (s *Server) Shutdown(ctx context.Context) error {
	s.bodies.cut()
	s.settled(ctx)
	s.stopParked()
	// A session that closes drops the responses that are not written yet.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.grace)
	defer cancel()
	s.settled(last)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for session := range s.mcp.Sessions() {
			_ = session.Close() // the reason a session ended is of no use here
		}
	}()
	select {
	case <-done:
		return nil
	case <-time.After(s.grace): // a client that does not read its answer can hold a session up
		return ctx.Err()
	}
}

func (s *Server) stopParked() { s.closeOnce.Do(func() { close(s.closing) }) }

// begin and end count the calls under way.
func (s *Server) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active++
}

func (s *Server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active--
	if s.active == 0 && s.idle != nil {
		close(s.idle)
		s.idle = nil
	}
}

// settled blocks until no call is under way, or ctx ends.
func (s *Server) settled(ctx context.Context) {
	s.mu.Lock()
	if s.active == 0 {
		s.mu.Unlock()
		return
	}
	if s.idle == nil {
		s.idle = make(chan struct{})
	}
	idle := s.idle
	s.mu.Unlock()
	select {
	case <-idle:
	case <-ctx.Done():
	}
}

// recovered keeps a panic in a handler from ending the process.
func (s *Server) recovered(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			s.log.ErrorContext(ctx, "an MCP handler panicked", "method", method, "panic", v, "stack", string(debug.Stack()))
			if method == "tools/call" {
				res, err = failed(errPanic), nil
				return
			}
			res, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: revue.MessageOf(errPanic)}
		}()
		return next(ctx, method, req)
	}
}

var errPanic = errors.New("panic")

// warnings passes on what a library says from warnings up.
type warnings struct{ slog.Handler }

func (h warnings) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && h.Handler.Enabled(ctx, l)
}

func (h warnings) WithAttrs(a []slog.Attr) slog.Handler { return warnings{h.Handler.WithAttrs(a)} }
func (h warnings) WithGroup(n string) slog.Handler      { return warnings{h.Handler.WithGroup(n)} }
