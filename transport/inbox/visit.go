package inbox

import (
	"crypto/hmac"
	"crypto/sha256"
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
}

// maxForm bounds the body of a form, in bytes: a note and a text of the longest kind, percent-encoded.
const maxForm = 512 << 10

// The cookie that holds the secret of a session. Over TLS its name keeps other hosts of the domain from setting it.
const (
	cookieName       = "revue_session"
	secureCookieName = "__Host-revue_session"
)

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
func (s *Server) admit(v *visit, open bool) error {
	if v.r.Method == http.MethodPost {
		v.r.Body = http.MaxBytesReader(v.w, v.r.Body, maxForm)
		if err := v.r.ParseForm(); err != nil {
			return unreadable(err)
		}
		if !sameOrigin(v.r) {
			return &revue.Error{Code: revue.CodeDenied, Message: "this form was sent from another site; open the inbox and try again"}
		}
	}
	if err := s.session(v); err != nil || v.reviewer != nil {
		if err == nil && !open && v.r.Method == http.MethodPost && !hmac.Equal([]byte(v.r.PostForm.Get("csrf")), []byte(v.csrf)) {
			return &revue.Error{Code: revue.CodeDenied, Message: "this form is of another session; load the page again and try again"}
		}
		return err
	}
	if !open {
		return errSignIn{}
	}
	return nil
}

// session resolves the session of a request. None, or one that has ended, is no error.
func (s *Server) session(v *visit) error {
	c, err := v.r.Cookie(s.cookie(v.r))
	if err != nil {
		return nil //nolint:nilerr // no cookie: nobody is signed in
	}
	p, err := s.sessions.Session(v.r.Context(), c.Value)
	if revue.CodeOf(err) == revue.CodeDenied {
		return nil
	}
	if err != nil {
		return err
	}
	v.principal, v.human = p, *p.Human
	v.human.Via = "web"
	v.reviewer, v.admin = s.plane.Reviewer(v.human), s.plane.Admin(v.human)
	v.csrf = formToken(c.Value)
	return nil
}

// formToken is what the forms of a session carry: nobody can make it who has not the secret, and it does not tell it.
func formToken(secret string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("revue inbox form"))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
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
