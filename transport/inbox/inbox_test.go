package inbox_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/httpguard"
	"github.com/revuehq/revue/memory"
	"github.com/revuehq/revue/storage/memstore"
	"github.com/revuehq/revue/transport/inbox"
)

// Without a session every page leads to the one to sign in.
func TestSignedOut(t *testing.T) {
	desk := revue.New(memstore.New(nil), memory.New(nil), nil)
	srv := httptest.NewServer(httpguard.New(nil)(inbox.New(desk, desk, &inbox.Options{Log: slog.New(slog.NewTextHandler(t.Output(), nil))}).Handler()))
	t.Cleanup(srv.Close)
	client := srv.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for path, status := range map[string]int{"/": 303, "/login": 200, "/static/inbox.css": 200, "/static/none": 404, "/none": 404} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+path, nil)
		require.NoError(t, err)
		res, err := client.Do(req)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, status, res.StatusCode, path)
	}
}
