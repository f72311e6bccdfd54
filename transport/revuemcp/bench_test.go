package revuemcp_test

import (
	"bufio"
	"io"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue/transport/revuemcp"
)

// What a tool call costs beside what the plane does.
func BenchmarkCall(b *testing.B) {
	msg := toolCall("request_decision", `{"question":"Blue or red?","options":["blue","red"],"concepts":["ui"]}`)
	b.Run("http", func(b *testing.B) {
		plane := answering(answered)
		handler := as(agentPrincipal(), revuemcp.NewServer(plane, nil).Handler())
		b.ReportAllocs()
		for b.Loop() {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, post(msg))
			if w.Code != 200 {
				b.Fatal(w.Body)
			}
			plane.agents, plane.returned = nil, nil
		}
	})
	b.Run("stdio", func(b *testing.B) {
		plane := answering(answered)
		stdin, in := io.Pipe()
		out, stdout := io.Pipe()
		served := make(chan error, 1)
		go func() { served <- revuemcp.NewServer(plane, nil).Serve(b.Context(), agentOn("one"), stdin, stdout) }()
		lines := bufio.NewReader(out)
		roundTrip := func(msg string) {
			if _, err := io.WriteString(in, msg+"\n"); err != nil {
				b.Fatal(err)
			}
			if _, err := lines.ReadBytes('\n'); err != nil {
				b.Fatal(err)
			}
		}
		roundTrip(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`)
		b.ReportAllocs()
		for b.Loop() {
			roundTrip(msg)
		}
		require.NoError(b, in.Close())
		require.NoError(b, <-served)
	})
}
