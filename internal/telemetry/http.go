package telemetry

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/revuehq/revue/internal/httpguard"
)

// routeName is what a request is called: the path of the pattern that its handler noted, whose values have no place in
// it. What nobody noted a pattern for is "other", so that nobody can make names up.
func routeName(ctx context.Context) string {
	pattern := httpguard.Route(ctx)
	if _, path, ok := strings.Cut(pattern, " "); ok {
		pattern = path
	}
	if pattern == "" {
		return other
	}
	return pattern
}

// HTTP counts requests and times them. It stands within [httpguard.Logged] or [httpguard.New], and whoever serves a
// request notes its pattern with [httpguard.SetRoute].
func (m *Metrics) HTTP(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began, ctx := time.Now(), r.Context()
		rec := &recorder{ResponseWriter: w}
		whole := false
		defer func() {
			if rec.status == 0 && whole {
				rec.status = http.StatusOK
			}
			m.request(routeName(ctx), r.Method, rec.status, time.Since(began)) // 0: the connection was cut
		}()
		next.ServeHTTP(rec, r)
		whole = true
	})
}

// recorder knows the status of the response.
type recorder struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements [http.ResponseWriter].
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status >= 200 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (r *recorder) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return r.ResponseWriter.Write(p)
}

// Unwrap gives [http.ResponseController] the writer beneath.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
