package revuemcp_test

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/memory"
	"github.com/revuehq/revue/storage/memstore"
	"github.com/revuehq/revue/transport/revuemcp"
)

// An agent asks over MCP, a human answers, and the agent that asks the same later is not kept waiting.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	desk := revue.New(memstore.New(nil), memory.New(nil), nil)
	go func() { _ = desk.Run(ctx) }()

	// A server for one agent. A real one has os.Stdin and os.Stdout here.
	stdin, toServer := io.Pipe()
	fromServer, stdout := io.Pipe()
	agent := revue.Agent{Workspace: "main", Credential: "bo", Name: "Bo's agent", Thread: "one", Via: "mcp stdio"}
	go func() { _ = revuemcp.NewServer(desk, nil).Serve(ctx, agent, stdin, stdout) }()

	// The agent's side.
	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = session.Close() }()
	decider := revuemcp.NewClient(session, nil)
	ask := revue.Ask{
		Question: "Which licence does the billing module get?",
		Options:  []revue.Option{{Value: "apache-2.0", Label: "Apache 2.0"}, {Value: "mit", Label: "MIT"}},
		Concepts: []string{"licensing"},
	}
	out, err := decider.Request(ctx, ask) // with no wait: what is not known yet is pending
	fmt.Println(out.Status, err)

	// The human's side.
	human := desk.Reviewer(revue.Human{Workspace: "main", ID: "ada", Name: "Ada", Via: "cli"})
	lots, err := human.Lots(ctx, revue.LotFilter{Status: revue.StatusOpen})
	if err != nil || len(lots.Items) != 1 {
		fmt.Println(len(lots.Items), err)
		return
	}
	if _, err := human.Answer(ctx, lots.Items[0].ID, revue.Answer{Value: "apache-2.0"}); err != nil {
		fmt.Println(err)
		return
	}

	ask.Wait = 10 * time.Second
	out, err = decider.Request(ctx, ask)
	fmt.Println(out.Status, out.Answer, "by", out.DecidedBy.Name, err)

	found, err := decider.Lookup(ctx, revue.Query{Text: "which licence does the billing module get"})
	fmt.Println(found.Matches[0].Answer, found.Matches[0].ReuseGuidance, err)

	// Output:
	// pending <nil>
	// answered apache-2.0 by Ada <nil>
	// apache-2.0 apply <nil>
}
