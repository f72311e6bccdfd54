package inbox

import (
	"context"
	"log/slog"
	"net/http"
	"sync"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/httpguard"
)

// Sessions opens and resolves the sessions of browsers. [*revue.Desk] is one.
type Sessions interface {
	// OpenSession trades a one-time code for a session, whose secret is in the result.
	OpenSession(ctx context.Context, code, label string) (revue.Token, error)
	// Session returns who a session is of; ErrDenied where it does not stand.
	Session(ctx context.Context, secret string) (revue.Principal, error)
}

// Options are what a [Server] can be told. The zero value is ready to use.
type Options struct {
	Version string       // shown at the foot of the settings
	Log     *slog.Logger // faults of the plane; nil drops them

	// BaseURL is the address that agents reach this plane at, for the snippets that connect them: by default that of the
	// request. An https address also makes the cookie Secure where something before the server has TLS.
	BaseURL string
}

// Server is the web inbox of one plane. It is safe for concurrent use.
type Server struct {
	plane    revue.Plane
	sessions Sessions
	opts     Options
	log      *slog.Logger
	pages    *pages
	handler  http.Handler
	failures *httpguard.Limiter // of codes that were not good, by address
	boards   boards
	figures  figures
	streams  streams // live views, by session

	ending  chan struct{} // closed when live views must end
	endOnce sync.Once
}

// New returns the inbox of a plane.
func New(plane revue.Plane, sessions Sessions, opts *Options) *Server {
	s := &Server{plane: plane, sessions: sessions, pages: newPages(), failures: httpguard.NewLimiter(0.2, 10), ending: make(chan struct{})}
	if opts != nil {
		s.opts = *opts
	}
	s.log = s.opts.Log
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.handler = s.routed()
	return s
}

// Handler returns the pages: everything at "/" and below that no other handler has.
func (s *Server) Handler() http.Handler { return s.handler }

// Shutdown ends the live views and waits for them, until ctx ends.
func (s *Server) Shutdown(ctx context.Context) error {
	s.endOnce.Do(func() {
		s.streams.end()
		close(s.ending)
		s.boards.close()
	})
	done := make(chan struct{})
	go func() {
		s.streams.watching.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
