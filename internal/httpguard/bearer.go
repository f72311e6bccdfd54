package httpguard

import (
	"context"
	"log/slog"
	"net/http"
	"strings"

	"github.com/revuehq/revue"
)

// CodeUnauthenticated is the code of a 401: no credential, or one that is not good. It exists over HTTP
// alone, where a caller can present another.
const CodeUnauthenticated = "unauthenticated"

type principalKey struct{}

// WithPrincipal returns a context that carries who makes the request. The log of the request names their token by its id.
func WithPrincipal(ctx context.Context, p revue.Principal) context.Context {
	noteToken(ctx, p.TokenID)
	return context.WithValue(ctx, principalKey{}, p)
}

// PrincipalFrom returns who makes the request; false where nobody was authenticated.
func PrincipalFrom(ctx context.Context) (revue.Principal, bool) {
	p, ok := ctx.Value(principalKey{}).(revue.Principal)
	return p, ok
}

// Gate authenticates bearer tokens.
type Gate struct {
	plane    revue.Plane
	failures *Limiter
	log      *slog.Logger
}

// How often one address may fail to authenticate before it hears of that alone.
const (
	failuresBurst     = 20
	failuresPerSecond = 1
)

// NewGate returns a gate to a plane. It is safe for concurrent use. The log gets the faults of the plane; nil drops them.
func NewGate(plane revue.Plane, log *slog.Logger) *Gate {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Gate{plane: plane, failures: NewLimiter(failuresPerSecond, failuresBurst), log: log}
}

// Authenticate returns who makes the request by the token of its Authorization header, the only place where one is
// looked for. Else it answers: no or a bad token is a 401 with code unauthenticated, or a 429 where the address has
// sent many of these. A good token is let in whatever others at its address have sent.
//
// No secret is compared with another here: a plane looks tokens up by their SHA-256, so that the time it takes says
// nothing of how much of a guess was right.
func (g *Gate) Authenticate(w http.ResponseWriter, r *http.Request) (revue.Principal, bool) {
	token, ok := BearerToken(r.Header)
	if !ok {
		Unauthenticated(w, "send the token as the header Authorization: Bearer TOKEN")
		return revue.Principal{}, false
	}
	p, err := g.plane.Authenticate(r.Context(), token)
	switch code := revue.CodeOf(err); code {
	case "":
		noteToken(r.Context(), p.TokenID)
		return p, true
	case revue.CodeDenied, revue.CodeNotFound, revue.CodeInvalid:
		if wait, ok := g.failures.Allow(callerAddress(r)); !ok {
			RateLimited(w, wait, "too many bad tokens came from this address; send a good one, or wait")
			return revue.Principal{}, false
		}
		TokenEnded(w)
	default:
		if r.Context().Err() == nil {
			g.log.ErrorContext(r.Context(), "a token can't be looked up", "requestId", RequestID(r.Context()), "err", err)
		}
		Fail(w, err)
	}
	return revue.Principal{}, false
}

// TokenEnded answers 401 to a request whose token is not good, or not any more.
func TokenEnded(w http.ResponseWriter) {
	w.Header().Set("WWW-Authenticate", `Bearer realm="revue", error="invalid_token"`)
	Unauthenticated(w, "the token is unknown, expired or revoked; ask its owner for a new one")
}

// Bearer lets through what carries a good token of one of the kinds (of any kind where none is named), with the
// [revue.Principal] in its context. What has none is answered as [Gate.Authenticate] does, a token of another kind
// with a 403 of code denied.
func Bearer(plane revue.Plane, next http.Handler, kinds ...revue.TokenKind) http.Handler {
	gate := NewGate(plane, nil)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, ok := gate.Authenticate(w, r)
		if !ok {
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

// BearerToken returns the token of the one Authorization header.
func BearerToken(h http.Header) (string, bool) {
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
