package httpguard

import (
	"context"
	"net/http"
	"strings"

	"github.com/revuehq/revue"
)

// CodeUnauthenticated is the code of a 401: no credential, or one that is not good. It exists over HTTP
// alone, where a caller can present another.
const CodeUnauthenticated = "unauthenticated"

type principalKey struct{}

// WithPrincipal returns a context that carries who makes the request.
func WithPrincipal(ctx context.Context, p revue.Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// PrincipalFrom returns who makes the request; false where nobody was authenticated.
func PrincipalFrom(ctx context.Context) (revue.Principal, bool) {
	p, ok := ctx.Value(principalKey{}).(revue.Principal)
	return p, ok
}

// Bearer lets through what carries a good token of one of the kinds (of any kind where none is named) in
// its Authorization header, with the [revue.Principal] in its context. No or a bad token is a 401 with
// code unauthenticated, one of another kind a 403 with code denied. Tokens in a URL are never read.
func Bearer(plane revue.Plane, next http.Handler, kinds ...revue.TokenKind) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, ok := bearer(r.Header)
		if !ok {
			Unauthenticated(w, "send the token as the header Authorization: Bearer TOKEN")
			return
		}
		p, err := plane.Authenticate(r.Context(), token)
		switch code := revue.CodeOf(err); code {
		case "":
		case revue.CodeDenied, revue.CodeNotFound, revue.CodeInvalid:
			w.Header().Set("WWW-Authenticate", `Bearer realm="revue", error="invalid_token"`)
			Unauthenticated(w, "the token is unknown, expired or revoked; ask its owner for a new one")
			return
		default:
			Problem(w, Status(code), string(code), revue.MessageOf(err))
			return
		}
		if !kindAllowed(kinds, p.Kind) {
			Problem(w, http.StatusForbidden, string(revue.CodeDenied),
				"a token of kind "+string(p.Kind)+" may not do this")
			return
		}
		next.ServeHTTP(w, r.WithContext(WithPrincipal(r.Context(), p)))
	})
}

// bearer returns the token of the one Authorization header.
func bearer(h http.Header) (string, bool) {
	values := h.Values("Authorization")
	if len(values) != 1 {
		return "", false
	}
	scheme, token, ok := strings.Cut(values[0], " ")
	token = strings.TrimSpace(token)
	if !ok || !strings.EqualFold(scheme, "Bearer") || token == "" || strings.ContainsAny(token, " \t,") {
		return "", false
	}
	return token, true
}
