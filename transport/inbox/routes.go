package inbox

import (
	"context"
	"net/http"
	"path"
	"strings"

	"github.com/revuehq/revue/internal/httpguard"
)

// A route is one address of the inbox. Apart from those that are open, each wants a session; a POST also wants the
// token of that session in its form, and comes from a page of this server.
type route struct {
	pattern string // as of http.ServeMux
	open    bool   // without a session
	bare    bool   // not a page: nothing of what waits is shown around it
	handle  func(*Server, *visit) error
}

// routes is the table that the handler and the test of who may call what are made of.
func routes() []route {
	return []route{
		{pattern: "GET /login", open: true, handle: (*Server).showLogin},
		{pattern: "POST /login", open: true, handle: (*Server).login},
		{pattern: "POST /logout", handle: (*Server).logout},

		{pattern: "GET /{$}", handle: (*Server).showInbox},
		{pattern: "GET /lots/answer", handle: (*Server).showTogether},
		{pattern: "POST /lots/answer", handle: (*Server).answerTogether},
		{pattern: "GET /lots/answered", handle: (*Server).showAnswered},
		{pattern: "GET /lots/{id}", handle: (*Server).showCard},
		{pattern: "POST /lots/{id}/answer", handle: (*Server).answerLot},
		{pattern: "POST /lots/{id}/dismiss", handle: (*Server).dismissLot},
		{pattern: "POST /lots/{id}/reopen", handle: (*Server).reopenLot},
		{pattern: "GET /history", handle: (*Server).showHistory},
		{pattern: "GET /live", bare: true, handle: (*Server).live},

		{pattern: "GET /memory", handle: (*Server).showMemory},
		{pattern: "GET /memory/notes", handle: (*Server).showNotes},
		{pattern: "POST /memory/notes/{id}/remove", handle: (*Server).removeNote},
		{pattern: "GET /decisions/{id}", handle: (*Server).showDecision},
		{pattern: "POST /decisions/{id}/correct", handle: (*Server).correctDecision},
		{pattern: "POST /decisions/{id}/undo", handle: (*Server).undoCorrection},
		{pattern: "POST /decisions/{id}/purge", handle: (*Server).purgeDecision},
		{pattern: "GET /receipts/{id}", bare: true, handle: (*Server).sendReceipt},

		{pattern: "GET /overview", handle: (*Server).showOverview},

		{pattern: "GET /settings", handle: (*Server).showSettings},
		{pattern: "GET /settings/connect", handle: (*Server).showConnect},
		{pattern: "POST /settings/tokens", handle: (*Server).makeToken},
		{pattern: "POST /settings/tokens/{id}/revoke", handle: (*Server).revokeToken},
		{pattern: "POST /settings/members/{id}/remove", handle: (*Server).removeMember},
		{pattern: "POST /settings/streams", handle: (*Server).setStream},
	}
}

func (s *Server) routed() http.Handler {
	mux := http.NewServeMux()
	for _, rt := range routes() {
		mux.HandleFunc(rt.pattern, func(w http.ResponseWriter, r *http.Request) { s.serve(r.Context(), w, r, rt) })
	}
	mux.HandleFunc("GET /static/{name...}", s.pages.static)
	mux.HandleFunc("GET /favicon.svg", favicon)
	mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/favicon.svg", http.StatusFound)
	})
	none := route{open: true, handle: func(*Server, *visit) error { return errNoPage() }}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { s.serve(r.Context(), w, r, none) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secure(w.Header())
		if path.Clean(r.URL.Path) != strings.TrimSuffix(r.URL.Path, "/") && r.URL.Path != "/" { // the mux would answer with a redirect that repeats it
			s.serve(r.Context(), w, r, none)
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
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin") // without any, browsers hide the origin of forms too
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// serve authenticates a request and handles it.
func (s *Server) serve(ctx context.Context, w http.ResponseWriter, r *http.Request, rt route) {
	httpguard.SetRoute(r, r.Pattern)
	v := &visit{w: w, r: r}
	err := s.admit(ctx, v, rt)
	if err == nil {
		err = rt.handle(s, v)
	}
	if err != nil {
		s.fail(ctx, v, err)
	}
}
