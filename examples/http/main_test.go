package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// TestRun reaches the tools with the token, and the server not without it.
func TestRun(t *testing.T) {
	in, out := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() {
		err := run(ctx, "127.0.0.1:0", out)
		_ = out.Close()
		ran <- err
	}()
	lines := bufio.NewScanner(in)
	require.True(t, lines.Scan())
	url := lines.Text()
	require.True(t, lines.Scan())
	token := lines.Text()

	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, http.NoBody)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusUnauthorized, resp.StatusCode)

	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: url, HTTPClient: &http.Client{Transport: bearer(token)}, MaxRetries: -1,
	}, nil)
	require.NoError(t, err)
	parked := make(chan string, 1)
	go func() {
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "request_decision", Arguments: map[string]any{
			"question": "Which queue do we use?", "waitSeconds": 0,
		}})
		if err != nil {
			parked <- err.Error()
			return
		}
		parked <- res.Content[0].(*mcp.TextContent).Text
	}()
	require.Contains(t, <-parked, `"pending"`)
	require.NoError(t, session.Close())
	stop()
	require.NoError(t, <-ran)
}
