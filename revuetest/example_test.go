package revuetest_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/memory"
	"github.com/revuehq/revue/revuetest"
	"github.com/revuehq/revue/storage/memstore"
)

// A test of an agent needs somebody who answers. AnswerAll is that human.
func ExampleAnswerAll() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	desk := revue.New(memstore.New(nil), memory.New(nil), nil)
	human := desk.Reviewer(revue.Human{Workspace: "acme", ID: "ada", Name: "Ada", Via: "library"})
	go func() {
		err := revuetest.AnswerAll(ctx, human, func(lot revue.Lot) (revue.Answer, bool) {
			return revue.Answer{Value: lot.Options[0].Value, Note: "the first one will do"}, true
		})
		if err != nil {
			slog.Error(err.Error())
		}
	}()

	agent := desk.Decider(revue.Agent{Workspace: "acme", Credential: "bot", Thread: "1", Via: "library"})
	out, err := agent.Request(ctx, revue.Ask{
		Question: "Which database should the billing service use?",
		Options:  []revue.Option{{Value: "postgres"}, {Value: "sqlite"}},
		Wait:     time.Minute,
	})
	if err != nil {
		slog.Error(err.Error())
		return
	}
	fmt.Println(out.Status, out.Answer)
	fmt.Println(out.DecidedBy.Name, "says:", out.Note)
	// Output:
	// answered postgres
	// Ada says: the first one will do
}

// A Recorder shows whom a desk would have interrupted.
func ExampleRecorder() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var told revuetest.Recorder
	desk := revue.New(memstore.New(nil), memory.New(nil), &revue.Options{
		Notifiers: map[string]revue.Notifier{"recorder": &told},
	})
	go func() {
		if err := desk.Run(ctx); err != nil {
			slog.Error(err.Error())
		}
	}()

	for _, name := range []string{"one", "two"} { // both ask the same: one lot, one notice
		agent := desk.Decider(revue.Agent{Workspace: "acme", Credential: name, Thread: name, Via: "library"})
		if _, err := agent.Request(ctx, revue.Ask{Question: "Which database should the billing service use?"}); err != nil {
			slog.Error(err.Error())
			return
		}
	}
	notices, err := told.Wait(ctx, 1)
	if err != nil {
		slog.Error(err.Error())
		return
	}
	fmt.Println(len(notices), notices[0].Kind, notices[0].Lot.Question)
	// Output:
	// 1 asked Which database should the billing service use?
}
