package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
)

// patience is how long a test waits for what happens in another process.
const patience = 60 * time.Second

func newContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), patience)
}

// goRace keeps the race detector from waiting a second at the end of each process.
const goRace = "GORACE=atexit_sleep_ms=0"

// cleanEnv is an environment without anything of the machine that runs the tests.
func cleanEnv(home string, extra ...string) []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "USER=ada", "TMPDIR=" + os.TempDir(), "REVUE_KEYRING=off", goRace}
	if dir := os.Getenv("GOCOVERDIR"); dir != "" {
		env = append(env, "GOCOVERDIR="+dir)
	}
	return slices.Clip(append(env, extra...)) // tests append to it more than once
}

// command returns a revue process that is not started yet.
func command(ctx context.Context, env []string, args ...string) *exec.Cmd {
	return program(ctx, "revue", env, args...)
}

// program returns a process of one of the programs of TestMain.
func program(ctx context.Context, name string, env []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = env
	return cmd
}

// output runs revue to its end and returns what it printed.
func output(t *testing.T, env []string, args ...string) string {
	t.Helper()
	ctx, cancel := newContext()
	defer cancel()
	cmd := command(ctx, env, args...)
	var out, diag bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &diag
	require.NoError(t, cmd.Run(), "revue %s: %s", strings.Join(args, " "), diag.String())
	return out.String()
}

// process is a running revue.
type process struct {
	cmd    *exec.Cmd
	stderr *lockedBuffer
	lines  chan string
	done   chan struct{}
	err    error // set before done is closed
}

// start starts revue and reads its output by lines. It is killed at the end of the test.
func start(t testing.TB, env []string, args ...string) *process {
	t.Helper()
	return startProgram(t, "revue", env, args...)
}

// startProgram starts one of the programs of TestMain.
func startProgram(t testing.TB, name string, env []string, args ...string) *process {
	t.Helper()
	p := &process{stderr: &lockedBuffer{}, lines: make(chan string, 1024), done: make(chan struct{})}
	p.cmd = program(context.WithoutCancel(t.Context()), name, env, args...)
	p.cmd.Stderr = p.stderr
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	go func() {
		sc := bufio.NewScanner(out)
		for sc.Scan() {
			p.lines <- sc.Text()
		}
		close(p.lines)
		_, _ = io.Copy(io.Discard, out)
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
	})
	return p
}

// line returns the next line that contains text.
func (p *process) line(t testing.TB, text string) string {
	t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case l, ok := <-p.lines:
			require.True(t, ok, "the process ended before it printed %q: %s", text, p.stderr)
			if strings.Contains(l, text) {
				return l
			}
		case <-timeout:
			require.Fail(t, "no such line", "%q: %s", text, p.stderr)
		}
	}
}

// stop sends a signal and returns how the process ended.
func (p *process) stop(t testing.TB, sig syscall.Signal) error {
	t.Helper()
	require.NoError(t, p.cmd.Process.Signal(sig))
	select {
	case <-p.done:
		return p.err
	case <-time.After(patience):
		require.Fail(t, "the process did not end", "%s", p.stderr)
		return nil
	}
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// localPlane opens a database as another process of this machine would.
func localPlane(t *testing.T, db string) *plane {
	t.Helper()
	p, err := openPlane(t.Context(), db, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.close()) })
	return p
}

func tempDB(t *testing.T) string { return filepath.Join(t.TempDir(), "data", "revue.db") }

func testHuman() revue.Human {
	return revue.Human{Workspace: defaultWorkspace, ID: "local", Name: "ada", Via: revue.LocalVia, Local: true}
}

// allLots returns every lot of the default workspace.
func allLots(t *testing.T, p *plane, status revue.Status) []revue.Lot {
	t.Helper()
	f := revue.LotFilter{Status: status, Limit: 1000}
	var all []revue.Lot
	for {
		page, err := p.Reviewer(testHuman()).Lots(t.Context(), f)
		require.NoError(t, err)
		all = append(all, page.Items...)
		if page.NextCursor == "" {
			return all
		}
		f.Cursor = page.NextCursor
	}
}

// events returns the journal of the default workspace, which must verify.
func events(t *testing.T, p *plane) []revue.Event {
	t.Helper()
	return eventsOf(t, p, defaultWorkspace)
}

func eventsOf(t *testing.T, p *plane, workspace string) []revue.Event {
	t.Helper()
	var all []revue.Event
	require.NoError(t, p.store.View(t.Context(), workspace, func(tx revue.Tx) (err error) {
		all, err = tx.Events(0, 1<<20)
		return err
	}))
	require.NoError(t, revue.VerifyChain(revue.Event{}, all))
	return all
}

// counted returns how many of the events are of this kind.
func counted(all []revue.Event, kind revue.EventKind) int {
	n := 0
	for _, e := range all {
		if e.Kind == kind {
			n++
		}
	}
	return n
}
