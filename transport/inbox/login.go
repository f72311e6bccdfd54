package inbox

import (
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/httpguard"
)

// loginPage is what the page to sign in shows.
type loginPage struct {
	Next  string
	Error string
}

// showLogin shows the form. A one-time link has its code in the fragment, which a script puts into the field: no server
// sees it before the form is sent, and opening a link uses nothing up.
func (s *Server) showLogin(v *visit) error {
	if v.reviewer != nil {
		return v.redirect(localPath(v.r.URL.Query().Get("next")))
	}
	return s.render(v, http.StatusOK, "login", page{Title: "Sign in", Data: loginPage{Next: localPath(v.r.URL.Query().Get("next"))}})
}

// login trades a one-time code, or the token of a human, for a session.
func (s *Server) login(v *visit) error {
	next := localPath(v.r.PostForm.Get("next"))
	tok, err := s.open(v, strings.TrimSpace(v.r.PostForm.Get("code")))
	if err != nil {
		if revue.CodeOf(err) != revue.CodeDenied {
			return err
		}
		status, why := http.StatusForbidden, message(err)
		if wait, ok := s.failures.Allow(addressOf(v.r)); !ok { // one that is good is let in whatever others at its address have sent
			status, why = http.StatusTooManyRequests, "Too many codes from your address were not good. Wait a minute."
			v.w.Header().Set("Retry-After", strconv.Itoa(int(wait.Seconds())+1))
		}
		return s.render(v, status, "login", page{Title: "Sign in", Data: loginPage{Next: next, Error: why}})
	}
	s.setCookie(v, tok.Secret, tok.ExpiresAt, 0)
	return v.redirect(next)
}

func (s *Server) open(v *visit, code string) (revue.Token, error) {
	ctx := v.r.Context()
	if strings.HasPrefix(code, "rvu_") {
		p, err := s.plane.Authenticate(ctx, code)
		if err != nil {
			return revue.Token{}, err
		}
		if p.Human == nil {
			return revue.Token{}, &revue.Error{Code: revue.CodeDenied, Message: "this token is an agent's, and agents do not answer; use a one-time link, or the token of a human"}
		}
		in, err := s.plane.Admin(*p.Human).SignIn(ctx)
		if err != nil {
			return revue.Token{}, err
		}
		code = in.Code
	}
	return s.sessions.OpenSession(ctx, code, v.r.UserAgent())
}

// logout ends the session.
func (s *Server) logout(v *visit) error {
	if _, err := v.admin.RevokeToken(v.r.Context(), v.principal.TokenID); err != nil {
		return err
	}
	s.setCookie(v, "", time.Unix(1, 0), -1)
	return v.redirect("/login?done=signed-out")
}

// setCookie keeps the secret of a session in the browser: no script reads it, no other site sends it with a form, and over
// TLS it never leaves by another way.
func (s *Server) setCookie(v *visit, secret string, expires time.Time, maxAge int) {
	http.SetCookie(v.w, &http.Cookie{ //nolint:gosec // without TLS, as on the machine itself, a Secure cookie would not come back
		Name: s.cookie(v.r), Value: secret, Path: "/", HttpOnly: true, Secure: s.secure(v.r),
		SameSite: http.SameSiteLaxMode, Expires: expires, MaxAge: maxAge,
	})
}

// addressOf is whose codes are counted together: all of an IPv6 network of 64 bits is one caller.
func addressOf(r *http.Request) string {
	host := httpguard.RemoteHost(r)
	if ip := net.ParseIP(host); ip != nil && ip.To4() == nil {
		return ip.Mask(net.CIDRMask(64, 128)).String()
	}
	return host
}

// localPath is where to go after signing in: a page of this server, whatever a link said.
func localPath(p string) string {
	if !strings.HasPrefix(p, "/") || strings.HasPrefix(p, "//") || strings.ContainsAny(p, "\\\r\n\t") || strings.HasPrefix(p, "/login") {
		return "/"
	}
	return p
}
