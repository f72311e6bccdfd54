package inbox

import (
	"net/http"
	"strings"

	"github.com/revuehq/revue/internal/httpguard"
)

// A route is one address of the inbox. Apart from those that are open, each wants a session; a POST also wants the
// token of that session in its form, and comes from a page of this server.
type route struct {
	pattern string // as of http.ServeMux
	open    bool   // without a session
	handle  func(*Server, *visit) error
}

// routes is the table that the handler and the test of who may call what are made of.
func routes() []route {
	return []route{
		{pattern: "GET /login", open: true, handle: (*Server).showLogin},
		{pattern: "POST /login", open: true, handle: (*Server).login},
		{pattern: "POST /logout", handle: (*Server).logout},

		{pattern: "GET /{$}", handle: (*Server).showInbox},
	}
}

func (s *Server) routed() http.Handler {
	mux := http.NewServeMux()
	for _, rt := range routes() {
		mux.HandleFunc(rt.pattern, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, rt) })
	}
	mux.HandleFunc("GET /static/{name...}", s.pages.static)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.serve(w, r, route{open: true, handle: func(*Server, *visit) error { return errNoPage() }})
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secure(w.Header())
		if strings.Contains(r.URL.Path, "//") { // the mux would answer with a redirect that repeats it
			s.serve(w, r, route{open: true, handle: func(*Server, *visit) error { return errNoPage() }})
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// secure sets the policy of the pages: what they show comes from this server alone, nothing runs or styles but the files
// it serves, and no other site frames them.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; manifest-src 'self'")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
	h.Set("Cache-Control", "no-store")
}

// serve authenticates a request and handles it.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, rt route) {
	httpguard.SetRoute(r, r.Pattern)
	v := &visit{w: w, r: r}
	err := s.admit(v, rt.open)
	if err == nil {
		err = rt.handle(s, v)
	}
	if err != nil {
		s.fail(v, err)
	}
}
