package inboxtest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/browser"
	"github.com/revuehq/revue/internal/httpguard"
	"github.com/revuehq/revue/memory"
	"github.com/revuehq/revue/storage/memstore"
	"github.com/revuehq/revue/transport/inbox"
)

var chromium browser.Chromium

func TestMain(m *testing.M) {
	code := m.Run()
	chromium.Close()
	os.Exit(code)
}

// root is the folder of the project.
const root = "../.."

// screenshots is the folder that keeps pictures.
func screenshots() string {
	if dir := os.Getenv("REVUE_SCREENSHOTS"); dir != "" {
		return dir
	}
	return filepath.Join(root, "dist", "screenshots")
}

// workspace is where everything happens.
const workspace = "acme"

// A clock can be set back by the tests that need a past.
type clock struct{ behind atomic.Int64 }

func (c *clock) now() time.Time { return time.Now().Add(-time.Duration(c.behind.Load())) }

// set makes it so long ago. Time never runs backwards: each setting is later than the one before.
func (c *clock) set(ago time.Duration) { c.behind.Store(int64(ago)) }

// plane is a revue with its inbox, in this process.
type plane struct {
	tb    testing.TB
	desk  *revue.Desk
	clock *clock
	url   string
	cut   func() // cuts every connection there is
}

// newPlane starts a plane on an empty store, which ends with the test.
func newPlane(tb testing.TB) *plane {
	tb.Helper()
	return newPlaneAt(tb, 0)
}

// newPlaneAt starts a plane that has yet to live through so much time.
func newPlaneAt(tb testing.TB, ago time.Duration) *plane {
	tb.Helper()
	c := &clock{}
	c.set(ago)
	return startPlane(tb, memstore.New(&memstore.Options{Now: c.now}), c)
}

func startPlane(tb testing.TB, store revue.Store, c *clock) *plane {
	tb.Helper()
	p := &plane{tb: tb, desk: revue.New(store, memory.New(nil), nil), clock: c}
	_, err := p.desk.Admin(revue.Human{ID: "local", Name: "setup", Via: revue.LocalVia, Local: true}).CreateWorkspace(tb.Context(), workspace)
	require.NoError(tb, err)
	server := inbox.New(p.desk, p.desk, &inbox.Options{Version: "v0.1.0"})
	web := httptest.NewServer(httpguard.New(&httpguard.Options{Hosts: nil})(server.Handler()))
	p.url, p.cut = web.URL, web.CloseClientConnections
	// Not the context of the test: the end is ordered below.
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	var work sync.WaitGroup
	work.Go(func() {
		if err := p.desk.Run(ctx); err != nil {
			tb.Errorf("the desk: %v", err)
		}
	})
	tb.Cleanup(func() {
		ending, done := context.WithTimeout(context.WithoutCancel(tb.Context()), 10*time.Second)
		defer done()
		if err := server.Shutdown(ending); err != nil {
			tb.Errorf("the live views did not end: %v", err)
		}
		web.CloseClientConnections() // a browser keeps its connections
		web.Close()
		cancel()
		work.Wait()
		if err := store.Close(); err != nil {
			tb.Errorf("close the store: %v", err)
		}
	})
	return p
}

// human returns who this name is, as one who works at the machine of the plane.
func (p *plane) human(name string) revue.Human {
	return revue.Human{Workspace: workspace, ID: "local", Name: name, Via: revue.LocalVia, Local: true}
}

func (p *plane) admin(name string) revue.Admin { return p.desk.Admin(p.human(name)) }

// reviewer answers outside the browser.
func (p *plane) reviewer(name string) revue.Reviewer {
	h := p.human(name)
	h.Local, h.ID, h.Via = false, "human "+name, "cli"
	return p.desk.Reviewer(h)
}

// agent returns an agent of a name at work in a repository.
func (p *plane) agent(name, repo string) revue.Decider {
	return p.desk.Decider(revue.Agent{Workspace: workspace, Credential: "tok " + name, Name: name, Thread: threadOf(name), Repo: repo, Via: "mcp http"})
}

// threadOf is the session that an agent of this name is in.
func threadOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return fmt.Sprintf("t-%x", sum[:3])
}

// ask asks without waiting and returns the lot. It must not be answered from memory.
func (p *plane) ask(name, repo string, a revue.Ask) revue.Lot {
	p.tb.Helper()
	a.Wait = 0
	out, err := p.agent(name, repo).Request(p.tb.Context(), a)
	require.NoError(p.tb, err)
	require.Equal(p.tb, revue.OutcomePending, out.Status)
	return p.lot(out.LotID)
}

func (p *plane) lot(id string) revue.Lot {
	p.tb.Helper()
	lot, err := p.reviewer("test").Lot(p.tb.Context(), id)
	require.NoError(p.tb, err)
	return lot
}

// open returns the lots that are open.
func (p *plane) open() []revue.Lot {
	p.tb.Helper()
	page, err := p.reviewer("test").Lots(p.tb.Context(), revue.LotFilter{Status: revue.StatusOpen, Limit: 1000})
	require.NoError(p.tb, err)
	return page.Items
}

// share publishes a note.
func (p *plane) share(name, repo string, item revue.ContextItem) {
	p.tb.Helper()
	_, err := p.agent(name, repo).Share(p.tb.Context(), item)
	require.NoError(p.tb, err)
}

// code makes a one-time code for a human.
func (p *plane) code(name string) string {
	p.tb.Helper()
	in, err := p.admin(name).SignIn(p.tb.Context())
	require.NoError(p.tb, err)
	return in.Code
}

// profile returns a new browser profile.
func (p *plane) profile(o browser.Options) *browser.Profile {
	p.tb.Helper()
	notShort(p.tb)
	o.Failures = screenshots()
	return chromium.Profile(p.tb, p.url, &o)
}

// notShort leaves a test out of a short run, where benchmarks run once.
func notShort(tb testing.TB) {
	tb.Helper()
	if _, bench := tb.(*testing.B); testing.Short() && !bench {
		tb.Skip("drives a browser: not in a short run")
	}
}

// signedIn returns a tab on the inbox of a human.
func (p *plane) signedIn(name string, o browser.Options) *browser.Tab {
	p.tb.Helper()
	return p.signIn(p.profile(o).Tab(), name)
}

// signIn signs in by a one-time link, as a person who opens it does.
func (p *plane) signIn(tab *browser.Tab, name string) *browser.Tab {
	p.tb.Helper()
	tab.Open("/login#code=" + p.code(name))
	tab.Until(`location.pathname === "/" && document.readyState === "complete"`)
	return tab
}
