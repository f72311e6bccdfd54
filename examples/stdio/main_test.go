package main

import (
	"context"
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/memory"
	"github.com/revuehq/revue/storage/sqlite"
)

// TestRun has an agent ask over the pipe, and answers on the same file as another program would.
func TestRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "plane.db")
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- run(ctx, file, toServer, fromServer) }()

	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: toClient, Writer: fromClient}, nil)
	require.NoError(t, err)
	ask := func() string {
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "request_decision", Arguments: map[string]any{
			"question": "Which queue do we use?", "options": []string{"nats", "none"}, "waitSeconds": 50,
		}})
		if err != nil {
			return err.Error()
		}
		return res.Content[0].(*mcp.TextContent).Text
	}
	answered := make(chan string, 1)
	go func() { answered <- ask() }()

	store, err := sqlite.Open(t.Context(), file, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	human := revue.New(store, memory.New(nil), nil).Reviewer(revue.Human{Workspace: "demo", ID: "ada", Name: "Ada", Via: "test"})
	var lots []revue.Lot
	require.Eventually(t, func() bool {
		page, err := human.Lots(t.Context(), revue.LotFilter{Status: revue.StatusOpen})
		lots = page.Items
		return err == nil && len(lots) == 1
	}, time.Minute, 5*time.Millisecond)
	_, err = human.Answer(t.Context(), lots[0].ID, revue.Answer{Value: "nats"})
	require.NoError(t, err)
	got := <-answered
	require.Contains(t, got, `"answered"`)
	require.Contains(t, got, `"nats"`)

	stop()
	require.NoError(t, <-ran)
}
