package inboxtest

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/browser"
	"github.com/revuehq/revue/memory"
	"github.com/revuehq/revue/storage/sqlite"
)

// program is a revue that was built for the test, and its database.
type program struct {
	t    testing.TB
	path string
	db   string
	addr string
	env  []string
}

// build builds revue.
func build(tb testing.TB) *program {
	tb.Helper()
	notShort(tb)
	dir := tb.TempDir()
	p := &program{t: tb, path: filepath.Join(dir, "revue"), db: filepath.Join(dir, "revue.db")}
	cmd := exec.CommandContext(tb.Context(), "go", "build", "-o", p.path, "./cmd/revue")
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	require.NoError(tb, err, string(out))
	// A bare environment: nothing of the caller's may steer it.
	p.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // to learn a free port
	require.NoError(tb, err)
	p.addr = listener.Addr().String()
	require.NoError(tb, listener.Close())
	return p
}

// run runs a command of revue on the database, and returns what it prints.
func (p *program) run(args ...string) []byte {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), p.path, append(args, "--db", p.db)...)
	cmd.Env = p.env
	var diag bytes.Buffer
	cmd.Stderr = &diag
	out, err := cmd.Output()
	require.NoError(p.t, err, "%v: %s", args, diag.String())
	return out
}

// start starts "revue serve" and returns what kills it, as a lost machine would.
func (p *program) start() (kill func()) {
	p.t.Helper()
	var log bytes.Buffer
	cmd := exec.CommandContext(context.WithoutCancel(p.t.Context()), p.path, "serve", "--addr", p.addr, "--db", p.db, "--workspace", workspace)
	cmd.Env, cmd.Stdout, cmd.Stderr = p.env, &log, &log
	require.NoError(p.t, cmd.Start())
	kill = sync.OnceFunc(func() {
		_ = cmd.Process.Signal(syscall.SIGKILL)
		_ = cmd.Wait()
		if p.t.Failed() {
			p.t.Logf("the server said:\n%s", log.String())
		}
	})
	p.t.Cleanup(kill)
	require.Eventually(p.t, func() bool {
		res, err := http.Get("http://" + p.addr + "/readyz") //nolint:noctx // a probe of our own server
		if err != nil {
			return false
		}
		return res.Body.Close() == nil && res.StatusCode == http.StatusOK
	}, 60*time.Second, 50*time.Millisecond, "revue serve is not ready")
	return kill
}

// beside opens the database in this process too, as any other revue on the machine may.
func (p *program) beside(c *clock) *plane {
	p.t.Helper()
	store, err := sqlite.Open(p.t.Context(), p.db, &sqlite.Options{Now: c.now})
	require.NoError(p.t, err)
	p.t.Cleanup(func() { _ = store.Close() })
	return &plane{tb: p.t, desk: revue.New(store, memory.New(nil), nil), clock: c, url: "http://" + p.addr}
}

// TestRestart kills the plane while a page is open, lets things happen meanwhile, and starts it again: the page is told
// that it is cut off, comes back by itself and shows everything, without being loaded again.
func TestRestart(t *testing.T) {
	prog := build(t)
	kill := prog.start()
	p := prog.beside(&clock{})
	stays := p.ask(claude, repoAPI, numbered(1))
	goes := p.ask(claude, repoAPI, numbered(2))

	var link struct{ URL string }
	require.NoError(t, json.Unmarshal(prog.run("inbox", "--web", "--json", "--url", "http://"+prog.addr, "--workspace", workspace), &link))
	tab := p.profile(browser.Options{}).Tab()
	tab.Open(link.URL[len("http://"+prog.addr):])
	tab.Wait(row(stays))
	tab.Wait(row(goes))
	live(tab)
	browser.Eval[bool](tab, "(window.same = true)")

	tab.Allow(`net::ERR_|Failed to load resource`) // that is what it looks like to be cut off
	kill()
	tab.Wait("#away")
	require.Contains(t, tab.Text("#away"), "Not connected")

	comes := p.ask(cursor, repoWeb, numbered(3))
	prog.run("answer", goes.ID, "after", "--workspace", workspace)
	dismissed := p.ask(codex, repoData, numbered(4))
	prog.run("dismiss", dismissed.ID, "--workspace", workspace)

	prog.start()
	began := time.Now()
	tab.Wait(row(comes))
	t.Logf("%v after the plane was ready again the page showed what it had missed", time.Since(began).Round(time.Millisecond))
	tab.Gone(row(goes))
	tab.Gone("#away")
	require.True(t, tab.Has(row(stays)))
	require.Equal(t, 0, tab.Count(row(dismissed)))
	require.True(t, browser.Eval[bool](tab, "window.same"), "the page was not loaded again")
	require.Equal(t, "(2) Inbox · revue", tab.Title())

	// It is live again, and the session still stands.
	last := p.ask(claude, repoAPI, numbered(5))
	tab.Wait(row(last))
	tab.Click(row(last))
	tab.Wait("[data-send]")
	tab.Press("1")
	tab.Press(browser.Enter)
	tab.Wait("article :: Answered by")
	require.Equal(t, "before", p.lot(last.ID).Answer.Value)
}
