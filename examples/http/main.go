// Command http puts the tools of a plane under a path of your own server, behind a token.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/memory"
	"github.com/revuehq/revue/storage/memstore"
	"github.com/revuehq/revue/transport/revuemcp"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, "127.0.0.1:7434", os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, addr string, out io.Writer) error {
	store := memstore.New(nil)
	desk := revue.New(store, memory.New(nil), nil)
	token, err := setUp(ctx, desk)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}

	tools := revuemcp.NewServer(desk, nil) // checks tokens, hosts and origins by itself; name your host in its Options
	mux := http.NewServeMux()
	mux.Handle("/agents/decisions", tools.Handler())
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "the rest of your server") })
	server := &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute, // and no WriteTimeout: a call waits for a human
	}

	background, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	running := make(chan error, 1)
	go func() { running <- desk.Run(background) }()
	context.AfterFunc(ctx, func() {
		desk.Drain() // first of all each parked call returns
		stopping, cancel := context.WithTimeout(background, 10*time.Second)
		defer cancel()
		_ = tools.Shutdown(stopping)
		_ = server.Shutdown(stopping)
		end()
	})
	fmt.Fprintf(out, "http://%s/agents/decisions\n%s\n", listener.Addr(), token)
	err = server.Serve(listener)
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
		<-background.Done() // Serve returns before the last answers are written
	}
	end()
	return errors.Join(err, <-running, store.Close())
}

// setUp makes a workspace and the token of its first agent.
func setUp(ctx context.Context, desk *revue.Desk) (string, error) {
	admin := desk.Admin(revue.Human{Workspace: "demo", ID: "setup", Name: "set-up", Via: revue.LocalVia, Local: true})
	if _, err := admin.CreateWorkspace(ctx, "demo"); err != nil {
		return "", err
	}
	token, err := admin.CreateToken(ctx, revue.NewToken{Kind: revue.TokenAgent, Label: "first agent"})
	return token.Secret, err
}
