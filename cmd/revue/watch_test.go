package main

import (
	"encoding/json"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
)

// TestWatch follows an inbox in another process: what was there, what comes and how it ends.
func TestWatch(t *testing.T) {
	db := tempDB(t)
	p := localPlane(t, db)
	env := cleanEnv(t.TempDir(), "REVUE_DB="+db)
	agent := revue.Agent{Workspace: defaultWorkspace, Credential: "local", Thread: "t1", Name: "agent", Via: "library"}
	ask := func(question string) {
		_, err := p.Decider(agent).Request(t.Context(), revue.Ask{Question: question})
		require.NoError(t, err)
	}
	ask("Which rack is first?")

	text := start(t, env, "inbox", "--watch")
	text.line(t, "Which rack is first?")
	wire := start(t, env, "inbox", "--watch", "--json")
	var l revue.Lot
	next := func() {
		l = revue.Lot{}
		require.NoError(t, json.Unmarshal([]byte(wire.line(t, "{")), &l))
	}
	next()
	require.Equal(t, "Which rack is first?", l.Question)

	ask("Which rack is second?")
	text.line(t, "Which rack is second?")
	next()
	require.Equal(t, "Which rack is second?", l.Question)
	_, err := p.Reviewer(testHuman()).Answer(t.Context(), l.ID, revue.Answer{Text: "the left one"})
	require.NoError(t, err)
	text.line(t, l.ID+" answered by ada (local, unauthenticated): the left one")
	next()
	require.Equal(t, revue.StatusAnswered, l.Status)

	require.NoError(t, text.stop(t, syscall.SIGINT))
	require.NoError(t, wire.stop(t, syscall.SIGTERM))
}

// TestWatchEmpty says that nothing is there, and goes on.
func TestWatchEmpty(t *testing.T) {
	db := tempDB(t)
	env := cleanEnv(t.TempDir(), "REVUE_DB="+db)
	p := localPlane(t, db)
	w := start(t, env, "inbox", "--watch", "--stream", "infra")
	w.line(t, "The inbox is empty")
	agent := revue.Agent{Workspace: defaultWorkspace, Credential: "local", Thread: "t1", Name: "agent", Via: "library"}
	for stream, question := range map[string]string{"": "Which colour has the door?", "infra": "Where does the log go?"} {
		_, err := p.Decider(agent).Request(t.Context(), revue.Ask{Question: question, Stream: stream})
		require.NoError(t, err)
	}
	w.line(t, "Where does the log go?")
	require.NoError(t, w.stop(t, syscall.SIGINT))
	for l := range w.lines {
		require.NotContains(t, l, "door")
	}
}
