package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/testneed"
	"github.com/revuehq/revue/memory"
)

// stdio is a running "revue mcp" and the client at its other end.
type stdio struct {
	*mcp.ClientSession
	cmd    *exec.Cmd
	stderr *lockedBuffer
}

func startStdio(t *testing.T, dir string, env []string, args ...string) *stdio {
	t.Helper()
	s := &stdio{stderr: &lockedBuffer{}}
	s.cmd = command(context.WithoutCancel(t.Context()), env, append([]string{"mcp"}, args...)...)
	s.cmd.Dir = dir
	s.cmd.Stderr = s.stderr
	s.ClientSession = connect(t, &mcp.CommandTransport{Command: s.cmd, TerminateDuration: 5 * time.Second})
	return s
}

// TestMCPStdio shows who an embedded plane says has asked, and that an answer of another process arrives.
func TestMCPStdio(t *testing.T) {
	db := tempDB(t)
	home := t.TempDir()
	work := t.TempDir()
	git := testneed.Program(t, "git")
	require.NoError(t, exec.CommandContext(t.Context(), git, "init", "-q", work).Run())
	require.NoError(t, exec.CommandContext(t.Context(), git, "-C", work, "remote", "add", "origin", "https://user:hunter2@GitHub.com/Acme/API.git").Run())
	env := cleanEnv(home, "REVUE_WORKSTREAM_ID=stream-7")
	s := startStdio(t, work, env, "--db", db)

	asked := make(chan outcome, 1)
	go func() {
		o, err := request(t.Context(), s.ClientSession, "Which queue do we use?", 50, map[string]any{"label": "NATS", "value": "nats"}, "none")
		if err != nil {
			o.Error = err.Error()
		}
		asked <- o
	}()
	local := cleanEnv(home, "REVUE_DB="+db)
	lot := openLot(t, local, "Which queue do we use?")
	p := localPlane(t, db)
	l, err := p.Reviewer(testHuman()).Lot(t.Context(), lot)
	require.NoError(t, err)
	require.Len(t, l.Asks, 1)
	require.Equal(t, "github.com/acme/api", l.Asks[0].Repo)
	require.Equal(t, "stream-7", l.Asks[0].Thread)
	require.Equal(t, "local", l.Asks[0].Credential)
	require.Equal(t, "mcp stdio", l.Asks[0].Via)
	require.Contains(t, l.Asks[0].Agent, "@")
	for _, e := range l.Asks {
		require.NotContains(t, fmt.Sprint(e), "hunter2")
	}

	output(t, local, "answer", lot, "nats")
	o := <-asked
	require.Equal(t, "answered", o.Status, o.Error)
	require.Equal(t, "nats", o.Answer)
	require.NoError(t, s.Close())
	require.Empty(t, s.stderr.String())
}

// TestMCPStdioShutdown stops a stdio server with parked calls, and resumes them in the next process.
func TestMCPStdioShutdown(t *testing.T) {
	db := tempDB(t)
	env := cleanEnv(t.TempDir(), "REVUE_DB="+db, "REVUE_THREAD_ID=t1")
	s := startStdio(t, "", env)
	const calls = 20
	out := make([]outcome, calls)
	var wg sync.WaitGroup
	for i := range calls {
		wg.Go(func() {
			o, err := request(t.Context(), s.ClientSession, fmt.Sprintf("Which port does service %d take?", i), 55, "low", "high")
			if err != nil {
				o.Error = err.Error()
			}
			out[i] = o
		})
	}
	p := localPlane(t, db)
	require.Eventually(t, func() bool { return counted(events(t, p), revue.EventLotOpened) == calls }, patience, 20*time.Millisecond)
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM))
	wg.Wait()
	for i, o := range out {
		require.Equal(t, "pending", o.Status, "%d: %s", i, o.Error)
	}
	_ = s.Close()
	require.True(t, s.cmd.ProcessState.Success(), "%s", s.stderr)

	next := startStdio(t, "", env)
	for i, o := range out {
		again, err := request(t.Context(), next.ClientSession, fmt.Sprintf("Which port does service %d take?", i), 0, "low", "high")
		require.NoError(t, err)
		require.Equal(t, "pending", again.Status)
		require.Equal(t, o.DecisionRef, again.DecisionRef)
	}
	require.Len(t, allLots(t, p, ""), calls)
}

// spellings are eight ways to write each of eight questions that change nothing in it.
func spellings() [8][8]string {
	var out [8][8]string
	for i, q := range []struct{ noun, abbreviation, rest string }{
		{"database", "db", "do we use for orders"},
		{"database", "db", "holds the billing events"},
		{"configuration", "config", "does the gateway read"},
		{"database", "db", "holds the audit records"},
		{"configuration", "config", "do workers read"},
		{"configuration", "config", "wins when two disagree"},
		{"database", "db", "do reports read from"},
		{"database", "db", "serves the mobile client"},
	} {
		plain := "Which " + q.noun + " " + q.rest
		out[i] = [8]string{
			plain + "?",
			strings.ToLower(plain) + "?",
			plain,
			"Which " + q.abbreviation + " " + q.rest + "?",
			"which " + q.abbreviation + " " + q.rest,
			"What " + q.noun + " " + q.rest + "?",
			"Please: which the " + q.noun + " " + q.rest + "?",
			"  Which   " + q.noun + ",  " + q.rest + " ? ",
		}
	}
	return out
}

// TestManyAgents has 8 processes on one file ask 8 questions at once, each in a spelling of its own: each
// question becomes one lot with one notice, and one answer reaches all that asked it. Questions that
// differ in one word that counts join none of them.
func TestManyAgents(t *testing.T) {
	db := tempDB(t)
	p := localPlane(t, db)

	var mu sync.Mutex
	notices := map[string]string{} // of asked lots, by id
	watcher, err := openPlane(t.Context(), db, nil)
	require.NoError(t, err)
	desk := revue.New(watcher.store, memory.New(nil), &revue.Options{Notifiers: map[string]revue.Notifier{
		"test": revue.NotifierFunc(func(_ context.Context, n revue.Notice) error {
			mu.Lock()
			defer mu.Unlock()
			if n.Kind == revue.NoticeAsked {
				notices[n.ID] = n.Lot.ID
			}
			return nil
		}),
	}})
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- desk.Run(ctx) }()
	defer func() {
		cancel()
		require.NoError(t, <-ran)
		require.NoError(t, watcher.close())
	}()
	noticed := func() int {
		mu.Lock()
		defer mu.Unlock()
		lots := map[string]bool{}
		for _, lot := range notices {
			lots[lot] = true
		}
		require.Len(t, lots, len(notices), "a lot has two notices")
		return len(notices)
	}

	const processes = 8
	questions := spellings()
	sessions := make([]*stdio, processes)
	for i := range sessions {
		sessions[i] = startStdio(t, "", cleanEnv(t.TempDir(), "REVUE_DB="+db))
	}
	var wg sync.WaitGroup
	var out [processes][8]outcome
	for i, s := range sessions {
		for q := range questions {
			options := []any{"first", "second"}
			if i%2 == 1 {
				options = []any{map[string]any{"value": "first", "label": "first"}, map[string]any{"label": "second", "value": "second"}}
			}
			wg.Go(func() {
				o, err := request(t.Context(), s.ClientSession, questions[q][i], 55, options...)
				if err != nil {
					o.Error = err.Error()
				}
				out[i][q] = o
			})
		}
	}
	require.Eventually(t, func() bool {
		all := events(t, p)
		return counted(all, revue.EventLotOpened)+counted(all, revue.EventAskJoined) == 64
	}, patience, 20*time.Millisecond)
	lots := allLots(t, p, revue.StatusOpen)
	require.Len(t, lots, 8)
	for i, l := range lots {
		require.Len(t, l.Asks, processes, l.Question)
		value := l.Options[i%2].Value
		_, err := p.Reviewer(testHuman()).Answer(t.Context(), l.ID, revue.Answer{Value: value})
		require.NoError(t, err)
	}
	wg.Wait()
	for q := range questions {
		for i := range sessions {
			require.Equal(t, "answered", out[i][q].Status, "%s: %s", questions[q][i], out[i][q].Error)
			require.Equal(t, out[0][q].Answer, out[i][q].Answer)
			require.Equal(t, out[0][q].LotID, out[i][q].LotID)
		}
	}
	require.Eventually(t, func() bool { return noticed() == 8 }, patience, 20*time.Millisecond)

	near := nearMisses()
	require.Len(t, near, 16)
	for i, q := range near {
		wg.Go(func() {
			o, err := request(t.Context(), sessions[i%processes].ClientSession, q, 0, "yes", "no")
			if err != nil {
				o.Error = err.Error()
			}
			if o.Status != "pending" {
				t.Errorf("%s: %s %s", q, o.Status, o.Error)
			}
		})
	}
	wg.Wait()
	open := allLots(t, p, revue.StatusOpen)
	require.Len(t, open, 16)
	for _, l := range open {
		require.Len(t, l.Asks, 1, l.Question)
	}
	require.Eventually(t, func() bool { return noticed() == 8+16 }, patience, 20*time.Millisecond)
}

// nearMisses are pairs of questions that differ in one word that counts.
func nearMisses() []string {
	return []string{
		"Do we deploy orders to staging on Friday?", "Do we deploy orders to production on Friday?",
		"Do we keep 5 replicas of the cache?", "Do we keep 50 replicas of the cache?",
		"Do we log request bodies at the gateway?", "Do we not log request bodies at the gateway?",
		"Do we enable compression for the API?", "Do we disable compression for the API?",
		"Do we support the v1 format?", "Do we support the v2 format?",
		"Do we copy users from billing to orders?", "Do we copy users from orders to billing?",
		"Do we delete all drafts after export?", "Do we delete some drafts after export?",
		"Do we cap uploads at 10 MB each?", "Do we cap uploads at 10 GB each?",
	}
}
