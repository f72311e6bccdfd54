package inbox

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"

	"github.com/revuehq/revue"
)

// visit is one request, and who makes it.
type visit struct {
	w http.ResponseWriter
	r *http.Request

	principal revue.Principal // zero where nobody is signed in
	human     revue.Human
	reviewer  revue.Reviewer // nil where nobody is signed in
	admin     revue.Admin    // as well
	csrf      string         // the token that forms of this session carry
	secret    string         // of the session

	// board is what waited when the request came: what a page reads itself is as new or newer. Nil where nobody is signed
	// in, for forms, and for routes that show no page.
	board *snapshot
}

// maxForm bounds the body of a form, in bytes: a note and a text of the longest kind, percent-encoded.
const maxForm = 512 << 10

// The cookie that holds the secret of a session. Over TLS its name keeps other hosts of the domain from setting it.
const (
	cookieName       = "revue_session"
	secureCookieName = "__Host-revue_session"
)

// maxCookies bounds how many cookies of the name are tried. Browsers send those for a longer path first, and servers on other
// ports of the host can set them: one that opens nothing does not shut out the human whose own comes after it.
const maxCookies = 8

// secure reports whether browsers reach the server by TLS.
func (s *Server) secure(r *http.Request) bool {
	return r.TLS != nil || strings.HasPrefix(s.opts.BaseURL, "https://")
}

func (s *Server) cookie(r *http.Request) string {
	if s.secure(r) {
		return secureCookieName
	}
	return cookieName
}

// admit finds out who makes a request, and refuses one that may not be made.
func (s *Server) admit(ctx context.Context, v *visit, rt route) error {
	if v.r.Method == http.MethodPost {
		v.r.Body = http.MaxBytesReader(v.w, v.r.Body, maxForm)
		if err := v.r.ParseForm(); err != nil {
			return unreadable(err)
		}
		if !sameOrigin(v.r) {
			return &revue.Error{Code: revue.CodeDenied, Message: "this form was sent from another site; open the inbox and try again"}
		}
	}
	if err := s.session(ctx, v); err != nil {
		return err
	}
	switch {
	case v.reviewer == nil && rt.open:
		return nil
	case v.reviewer == nil:
		return errSignIn{}
	case v.r.Method == http.MethodPost && !rt.open && !formTokenOf(v.secret, v.r.PostForm.Get("csrf")):
		return &revue.Error{Code: revue.CodeDenied, Message: "this form is of another session; load the page again and try again"}
	case v.r.Method != http.MethodPost && !rt.bare:
		board, err := s.boards.current(ctx, v.human.Workspace, v.reviewer)
		v.board = board
		return err
	default:
		return nil
	}
}

// session resolves the session of a request. None, or one that has ended, is no error.
func (s *Server) session(ctx context.Context, v *visit) error {
	cookies := v.r.CookiesNamed(s.cookie(v.r))
	for _, c := range cookies[:min(maxCookies, len(cookies))] {
		p, err := s.sessions.Session(ctx, c.Value)
		if revue.CodeOf(err) == revue.CodeDenied {
			continue
		}
		if err != nil {
			return err
		}
		v.principal, v.human = p, *p.Human
		v.human.Via = "web"
		v.reviewer, v.admin = s.plane.Reviewer(v.human), s.plane.Admin(v.human)
		v.secret, v.csrf = c.Value, formToken(c.Value)
		return nil
	}
	return nil
}

// derived is what only the holder of a session's secret can make of it, and does not tell it.
func derived(secret, purpose string) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("revue inbox " + purpose))
	return mac.Sum(nil)
}

func formKey(secret string) []byte { return derived(secret, "form") }

// sessionMark tells the tabs of one session from those of another.
func sessionMark(secret string) string {
	return base64.RawURLEncoding.EncodeToString(derived(secret, "tabs")[:9])
}

// formToken is what the forms of a session carry. It is another one in each page, so that the size of a compressed page
// tells nothing of it.
func formToken(secret string) string {
	key := formKey(secret)
	b := make([]byte, 2*len(key))
	_, _ = rand.Read(b[:len(key)]) // never fails
	subtle.XORBytes(b[len(key):], b[:len(key)], key)
	return base64.RawURLEncoding.EncodeToString(b)
}

// formTokenOf reports whether a token is one of the session's.
func formTokenOf(secret, token string) bool {
	key := formKey(secret)
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(b) != 2*len(key) {
		return false
	}
	subtle.XORBytes(b[len(key):], b[len(key):], b[:len(key)])
	return hmac.Equal(b[len(key):], key)
}

// sameOrigin reports whether a form comes from a page of this server, by what browsers say of it. One that says nothing is
// too old to be let in.
func sameOrigin(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "none":
		return true
	case "":
	default:
		return false
	}
	o, err := url.Parse(r.Header.Get("Origin"))
	return err == nil && o.Host != "" && strings.EqualFold(o.Host, r.Host)
}

// redirect sends the browser on after a form was taken.
func (v *visit) redirect(to string) error {
	http.Redirect(v.w, v.r, to, http.StatusSeeOther)
	return nil
}
