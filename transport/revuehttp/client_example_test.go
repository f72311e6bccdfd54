package revuehttp_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"time"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/memory"
	"github.com/revuehq/revue/storage/memstore"
	"github.com/revuehq/revue/transport/revuehttp"
)

// An agent asks, and waits. A human follows what happens, and answers. Each has a client with a token of their own.
func ExampleClient() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	desk := revue.New(memstore.New(nil), memory.New(nil), nil)
	go func() { _ = desk.Run(ctx) }()
	plane := httptest.NewServer(revuehttp.NewServer(desk, nil).Handler())
	defer plane.Close()

	admin := desk.Admin(revue.Human{Workspace: "main", ID: "local", Name: "local", Via: revue.LocalVia, Local: true})
	if _, err := admin.CreateWorkspace(ctx, "main"); err != nil {
		fmt.Println(err)
		return
	}
	client := func(t revue.NewToken) *revuehttp.Client {
		token, err := admin.CreateToken(ctx, t)
		if err != nil {
			panic(err)
		}
		c, err := revuehttp.NewClient(plane.URL, token.Secret, &revuehttp.ClientOptions{ConnectTimeout: time.Minute})
		if err != nil {
			panic(err)
		}
		return c
	}
	agent := client(revue.NewToken{Kind: revue.TokenAgent, Label: "builder"})
	defer func() { _ = agent.Close() }()
	human := client(revue.NewToken{Kind: revue.TokenHuman, Owner: "Ada"})
	defer func() { _ = human.Close() }()

	events := human.Events(ctx, revue.FromNow)
	answered := make(chan error, 1)
	go func() {
		for e, err := range events {
			if err == nil && e.Kind == revue.EventLotOpened {
				_, err = human.Answer(ctx, e.Lot, revue.Answer{Value: "blue", Note: "As on the other pages."})
				answered <- err
				return
			}
			if err != nil {
				answered <- err
				return
			}
		}
	}()

	o, err := agent.Request(ctx, revue.Ask{
		Question: "Which colour should buttons have?",
		Options:  []revue.Option{{Value: "blue"}, {Value: "red"}},
		Wait:     time.Minute,
	})
	if err := <-answered; err != nil {
		fmt.Println(err)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(o.Status, o.Answer, "by", o.DecidedBy.Name)
	fmt.Println(o.Note)
	// Output:
	// answered blue by Ada
	// As on the other pages.
}
