// Command stdio is an MCP server over stdin and stdout in a program of your own.
//
// The plane is on an SQLite file, so that other programs can open it meanwhile: "revue inbox --db FILE" shows what
// this agent asks, and "revue answer --db FILE LOT VALUE" unblocks it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/memory"
	"github.com/revuehq/revue/storage/sqlite"
	"github.com/revuehq/revue/transport/revuemcp"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: stdio FILE")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1], os.Stdin, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err) // stdout is the protocol's
		os.Exit(1)
	}
}

func run(ctx context.Context, file string, in io.ReadCloser, out io.Writer) error {
	store, err := sqlite.Open(ctx, file, nil)
	if err != nil {
		return err
	}
	desk := revue.New(store, memory.New(nil), nil)

	// What is parked must end before the session does, so that the agent still reads that its decision is
	// pending. It takes it up again when it is back.
	serving, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	context.AfterFunc(ctx, func() { desk.Drain(); end() })

	running := make(chan error, 1)
	go func() { running <- desk.Run(serving) }()
	agent := revue.Agent{Workspace: "demo", Credential: "local", Name: "my agent", Thread: "main", Via: "mcp stdio", AnyThread: true}
	err = revuemcp.NewServer(desk, nil).Serve(serving, agent, in, out)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = nil // stopped as asked
	}
	end()
	return errors.Join(err, <-running, store.Close())
}
