package revuehttp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/memory"
	"github.com/revuehq/revue/revuetest"
	"github.com/revuehq/revue/storage/memstore"
	"github.com/revuehq/revue/transport/revuehttp"
)

// site is a running plane and its API, with tokens that its own admin made.
type site struct {
	desk   *revue.Desk
	server *revuehttp.Server

	mu     sync.Mutex
	tokens map[string]string
}

// newSite returns a site that runs until the test ends.
func newSite(t testing.TB) *site {
	t.Helper()
	desk := revue.New(memstore.New(nil), memory.New(nil), nil)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- desk.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	return &site{
		desk:   desk,
		server: revuehttp.NewServer(desk, &revuehttp.Options{Rate: -1}),
		tokens: map[string]string{},
	}
}

// admin is whoever sits at the machine of the plane.
func (s *site) admin(workspace string) revue.Admin {
	return s.desk.Admin(revue.Human{Workspace: workspace, ID: "local", Name: "local", Via: revue.LocalVia, Local: true})
}

// token returns the one token of this kind that is so called in the workspace, and makes both where they are not there.
func (s *site) token(t testing.TB, workspace string, kind revue.TokenKind, name string) string {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	id := fmt.Sprintf("%s\x00%s\x00%s", workspace, kind, name)
	if secret, ok := s.tokens[id]; ok {
		return secret
	}
	admin := s.admin(workspace)
	if _, err := admin.CreateWorkspace(t.Context(), workspace); err != nil {
		require.ErrorIs(t, err, revue.ErrConflict)
	}
	n := revue.NewToken{Kind: kind, Owner: name}
	if kind == revue.TokenAgent {
		n.Owner, n.Label = "", name
	}
	tok, err := admin.CreateToken(t.Context(), n)
	require.NoError(t, err)
	s.tokens[id] = tok.Secret
	return tok.Secret
}

// system is the site as the contract suite uses it: through clients with these options, at an address.
func (s *site) system(url string, opts revuehttp.ClientOptions) revuetest.System {
	client := func(t *testing.T, token string, o revuehttp.ClientOptions) *revuehttp.Client {
		c, err := revuehttp.NewClient(url, token, &o)
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	return revuetest.System{
		Decider: func(t *testing.T, a revue.Agent) revue.Decider {
			o := opts
			o.Workspace, o.Thread, o.Repo = a.Workspace, a.Thread, a.Repo
			c := client(t, s.token(t, a.Workspace, revue.TokenAgent, a.Credential), o)
			if a.Acknowledges {
				return c.For(a)
			}
			return c
		},
		Reviewer: func(t *testing.T, h revue.Human) revue.Reviewer {
			o := opts
			o.Workspace = h.Workspace
			return client(t, s.token(t, h.Workspace, revue.TokenHuman, h.Name), o).Plane().Reviewer(h)
		},
		Calls: true,
		Keys: func(t *testing.T) revue.KeySet {
			keys, err := client(t, "any-token", opts).Keys(t.Context()) // they are public
			require.NoError(t, err)
			return keys
		},
	}
}

// rounds is how often the racing cases race. The desk's own tests race more often.
func rounds() int {
	if testing.Short() {
		return 2
	}
	return 20
}

// The same suite that the desk passes, through the API and its client: every call authenticated by a token. A
// connection of each version of HTTP.
func TestContractHTTP(t *testing.T) {
	t.Parallel() // most of it is waiting
	for _, version := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			revuetest.Contract(t, func(t *testing.T) revuetest.System {
				s := newSite(t)
				handler := s.server.Handler()
				ts := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Proto != version {
						t.Errorf("%s: %s", r.URL.Path, r.Proto)
					}
					handler.ServeHTTP(w, r)
				}))
				if version == "HTTP/2.0" {
					ts.EnableHTTP2 = true
					ts.StartTLS()
				} else {
					ts.Start()
					plain, _ := ts.Client().Transport.(*http.Transport)
					plain.DisableCompression = true // as in the default transport of a client
				}
				t.Cleanup(ts.Close)
				sys := s.system(ts.URL, revuehttp.ClientOptions{HTTP: ts.Client(), ConnectTimeout: time.Minute})
				sys.Library = true // the wire of this API expresses all that the suite asks of a library
				sys.Rounds = rounds()
				return sys
			})
		})
	}
}
