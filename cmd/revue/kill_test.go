package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
)

// rounds is how often a process is killed.
func rounds() int {
	if testing.Short() {
		return 10
	}
	return 200
}

// killer runs revue with an input and kills it after a time. The time is drawn anew each round from
// a range that covers the process's whole life, so that every step of it is hit.
type killer struct {
	whole time.Duration // how long the process takes when nobody kills it
}

func (k *killer) kill(t *testing.T, env []string, input string, args ...string) {
	t.Helper()
	ctx, cancel := newContext()
	defer cancel()
	cmd := command(ctx, env, args...)
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	began := time.Now()
	require.NoError(t, cmd.Start())
	_, err = io.WriteString(stdin, input)
	require.NoError(t, err)
	whole := k.whole
	if whole == 0 {
		_ = stdin.Close()
		_, _ = io.Copy(io.Discard, out)
		require.NoError(t, cmd.Wait())
		k.whole = time.Since(began)
		return
	}
	ended := make(chan struct{})
	go func() { // a killed process ends its output
		_, _ = io.Copy(io.Discard, out)
		close(ended)
	}()
	select {
	case <-time.After(time.Duration(rand.Int64N(int64(whole * 5 / 4)))): //nolint:gosec // the draw needs no secrecy
	case <-ended:
	}
	_ = cmd.Process.Kill()
	<-ended
	_ = cmd.Wait() // the error is the kill
}

// TestKillRequest kills a stdio server in the middle of a request, again and again. The ask is there whole or
// not at all, and whatever the inbox shows can be answered.
func TestKillRequest(t *testing.T) {
	db := tempDB(t)
	p := localPlane(t, db)
	env := cleanEnv(t.TempDir(), "REVUE_DB="+db, "REVUE_THREAD_ID=t1")
	agent := revue.Agent{Workspace: defaultWorkspace, Credential: "local", Thread: "t1", Name: "agent", Via: "library"}
	k := &killer{}
	landed := 0
	for i := range rounds() + 1 {
		question := fmt.Sprintf("Which rack takes machine %d?", i)
		input := strings.Join([]string{
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`,
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"request_decision","arguments":{"question":%q,"options":["left","right"],"waitSeconds":0}}}`, question),
		}, "\n") + "\n"
		k.kill(t, env, input, "mcp")

		all := events(t, p) // verifies the chain
		open := allLots(t, p, revue.StatusOpen)
		require.LessOrEqual(t, len(open), 1)
		if len(open) == 1 {
			landed++
			require.Equal(t, question, open[0].Question)
			require.Len(t, open[0].Asks, 1)
		}
		require.Equal(t, i+len(open), counted(all, revue.EventLotOpened))

		ask := revue.Ask{Question: question, Options: []revue.Option{{Value: "left", Label: "left"}, {Value: "right", Label: "right"}}}
		o, err := p.Decider(agent).Request(t.Context(), ask)
		require.NoError(t, err)
		require.Equal(t, revue.OutcomePending, o.Status)
		shown := allLots(t, p, revue.StatusOpen)
		require.Len(t, shown, 1)
		if len(open) == 1 {
			require.Equal(t, open[0].ID, shown[0].ID, "the same call again opened another lot")
		}
		_, err = p.Reviewer(testHuman()).Answer(t.Context(), shown[0].ID, revue.Answer{Value: "right"})
		require.NoError(t, err)
		o, err = p.Decider(agent).Request(t.Context(), ask)
		require.NoError(t, err)
		require.Equal(t, revue.OutcomeAnswered, o.Status)
		require.Equal(t, "right", o.Answer)
	}
	t.Logf("%d of %d requests had landed when the process was killed", landed, rounds())
}

// TestKillAnswer kills "revue answer" in the middle of an answer, again and again. The answer is there whole
// or not at all, and never twice.
func TestKillAnswer(t *testing.T) {
	db := tempDB(t)
	p := localPlane(t, db)
	env := cleanEnv(t.TempDir(), "REVUE_DB="+db)
	agent := revue.Agent{Workspace: defaultWorkspace, Credential: "local", Thread: "t1", Name: "agent", Via: "library"}
	rv := p.Reviewer(testHuman())
	k := &killer{}
	landed := 0
	for i := range rounds() + 1 {
		ask := revue.Ask{
			Question: fmt.Sprintf("Which rack takes machine %d?", i),
			Options:  []revue.Option{{Value: "left", Label: "left"}, {Value: "right", Label: "right"}},
		}
		o, err := p.Decider(agent).Request(t.Context(), ask)
		require.NoError(t, err)
		require.Equal(t, revue.OutcomePending, o.Status)
		lots := allLots(t, p, revue.StatusOpen)
		require.Len(t, lots, 1)
		lot := lots[0].ID

		k.kill(t, env, "", "answer", lot, "left")

		l, err := rv.Lot(t.Context(), lot)
		require.NoError(t, err)
		decided := func() int {
			n := 0
			for _, e := range events(t, p) {
				if e.Lot == lot && (e.Kind == revue.EventLotAnswered || e.Kind == revue.EventDecisionMade) {
					n++
				}
			}
			return n
		}
		switch l.Status {
		case revue.StatusOpen:
			require.Zero(t, decided(), "half an answer is in the journal")
			require.Nil(t, l.Answer)
			l, err = rv.Answer(t.Context(), lot, revue.Answer{Value: "left"})
			require.NoError(t, err, "the inbox shows a lot that can't be answered")
		case revue.StatusAnswered:
			landed++
		default:
			require.Fail(t, "an answer ended a lot in another way", "%s", l.Status)
		}
		require.Equal(t, 2, decided(), "an answer and a decision, once each")
		require.Equal(t, "left", l.Answer.Value)
		e, err := rv.Why(t.Context(), l.DecisionID)
		require.NoError(t, err)
		require.Equal(t, "left", e.Decision.Answer)
		o, err = p.Decider(agent).Request(t.Context(), ask)
		require.NoError(t, err)
		require.Equal(t, revue.OutcomeAnswered, o.Status)
		require.Equal(t, "left", o.Answer)
	}
	require.Empty(t, allLots(t, p, revue.StatusOpen))
	t.Logf("%d of %d answers had landed when the process was killed", landed, rounds())
}
