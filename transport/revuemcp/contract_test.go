package revuemcp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/httpguard"
	"github.com/revuehq/revue/memory"
	"github.com/revuehq/revue/revuetest"
	"github.com/revuehq/revue/storage/memstore"
	"github.com/revuehq/revue/transport/revuemcp"
)

// runningDesk is a desk that runs until the test ends.
func runningDesk(t *testing.T) *revue.Desk {
	t.Helper()
	desk := revue.New(memstore.New(nil), memory.New(nil), nil)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- desk.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	return desk
}

// rounds is how often the racing cases race. The desk's own tests race more often.
func rounds() int {
	if testing.Short() {
		return 2
	}
	return 20
}

// The same suite that the desk passes, through the client of this package and a session of each profile.
func TestContractMCPStdio(t *testing.T) {
	t.Parallel() // most of it is waiting
	revuetest.Contract(t, func(t *testing.T) revuetest.System {
		desk := runningDesk(t)
		grace := 20 * time.Millisecond // sessions end with calls parked in them
		decisions := revuemcp.NewServer(desk, &revuemcp.Options{Grace: grace})
		approvals := revuemcp.NewServer(desk, &revuemcp.Options{Profile: revuemcp.Approvals, Grace: grace})
		return revuetest.System{
			Reviewer: func(_ *testing.T, h revue.Human) revue.Reviewer { return desk.Reviewer(h) },
			Decider: func(t *testing.T, a revue.Agent) revue.Decider {
				a.Via, a.AnyThread = "mcp stdio", true
				return revuemcp.NewClient(overStdio(t, decisions, a, ""), &revuemcp.ClientOptions{
					Approvals: overStdio(t, approvals, a, ""),
				})
			},
			ApprovalsBlock:     true,
			CallerIsCredential: true,
			Rounds:             rounds(),
		}
	})
}

func TestContractMCPHTTP(t *testing.T) {
	t.Parallel()
	revuetest.Contract(t, func(t *testing.T) revuetest.System {
		desk := runningDesk(t)
		mux := http.NewServeMux()
		mux.Handle("/mcp", revuemcp.NewServer(desk, nil).Handler())
		mux.Handle("/mcp/approvals", revuemcp.NewServer(desk, &revuemcp.Options{Profile: revuemcp.Approvals}).Handler())
		var mu sync.Mutex
		tokens := map[string]revue.Agent{}
		ts := httptest.NewServer(httpguard.New(nil)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			a := tokens[r.Header.Get("Authorization")]
			mu.Unlock()
			as(revue.Principal{TokenID: a.Credential, Kind: revue.TokenAgent, Workspace: a.Workspace, Agent: &a}, mux).ServeHTTP(w, r)
		})))
		t.Cleanup(ts.Close)
		return revuetest.System{
			Reviewer: func(_ *testing.T, h revue.Human) revue.Reviewer { return desk.Reviewer(h) },
			Decider: func(t *testing.T, a revue.Agent) revue.Decider {
				token := a.Workspace + "/" + a.Credential
				mu.Lock()
				tokens[token] = a
				mu.Unlock()
				header := http.Header{"Authorization": {token}, "Revue-Thread": {a.Thread}, "Revue-Repo": {a.Repo}}
				dial := func(path string) *mcp.ClientSession {
					client := &http.Client{Transport: withHeader{header}}
					session := connect(t, &mcp.StreamableClientTransport{
						Endpoint: ts.URL + path, HTTPClient: client, DisableStandaloneSSE: true, MaxRetries: -1,
					}, "")
					t.Cleanup(func() { _ = session.Close() })
					return session
				}
				return revuemcp.NewClient(dial("/mcp"), &revuemcp.ClientOptions{Approvals: dial("/mcp/approvals")})
			},
			ApprovalsBlock: true,
			Rounds:         rounds(),
		}
	})
}
