package httpguard

import (
	"net/http"
	"strings"

	"github.com/revuehq/revue"
)

// tokenInTarget is what a request with a token in its target is told.
const tokenInTarget = "the URL has what looks like a token in it: send tokens in the Authorization header alone, and revoke this one, since URLs are kept in logs and histories" //nolint:gosec // G101: it speaks of credentials and has none

// RefuseTarget answers 400 where what could be a token is anywhere in the target of a request, as it is or escaped,
// however often. It repeats nothing of it. [New] calls it before any routing.
func RefuseTarget(w http.ResponseWriter, r *http.Request) bool {
	for _, part := range []string{r.RequestURI, r.URL.Path, r.URL.RawPath, r.URL.RawQuery, r.URL.Fragment, r.URL.Opaque} {
		if hasEscapedToken(part) {
			Problem(w, http.StatusBadRequest, string(revue.CodeInvalid), tokenInTarget)
			return true
		}
	}
	return false
}

// maxUnescape bounds how often a text is unescaped. Each time makes it shorter, and nothing behind a server unescapes more.
const maxUnescape = 8

func hasEscapedToken(s string) bool {
	for range maxUnescape {
		if HasToken(s) {
			return true
		}
		plain := unescaped(s)
		if plain == s {
			return false
		}
		s = plain
	}
	return true // nobody escapes this often without something to hide
}

// unescaped replaces each escape that is one, and leaves the rest: one bad escape must not hide a good one.
func unescaped(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			high, ok1 := unhex(s[i+1])
			low, ok2 := unhex(s[i+2])
			if ok1 && ok2 {
				out = append(out, high<<4|low)
				i += 2
				continue
			}
		}
		out = append(out, s[i])
	}
	return string(out)
}

func unhex(c byte) (n byte, ok bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}
