package revue_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/memory"
	"github.com/revuehq/revue/storage/memstore"
)

// One agent asks, a human answers, and the next agent that asks the same is not kept waiting.
func Example() {
	ctx := context.Background()
	desk := revue.New(memstore.New(nil), memory.New(nil), nil)
	human := desk.Reviewer(revue.Human{Workspace: "default", ID: "ada", Name: "Ada", Via: "example"})
	first := desk.Decider(revue.Agent{Workspace: "default", Credential: "bot-1", Name: "build bot"})
	second := desk.Decider(revue.Agent{Workspace: "default", Credential: "bot-2", Name: "review bot"})

	ask := revue.Ask{
		Question: "Which database should the billing service use?",
		Options:  []revue.Option{{Value: "postgres"}, {Value: "sqlite"}},
	}
	out, err := first.Request(ctx, ask) // no wait: back at once
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(out.Status)

	if _, err := human.Answer(ctx, out.LotID, revue.Answer{Value: "postgres"}); err != nil {
		fmt.Println(err)
		return
	}
	out, _ = first.Request(ctx, ask) // the identical call takes it up again
	fmt.Println(out.Status, out.Answer, "by", out.DecidedBy.Name)

	ask.Question = "which DB should the billing service use"
	out, _ = second.Request(ctx, ask)
	fmt.Println(out.Status, out.Answer)
	// Output:
	// pending
	// answered postgres by Ada
	// reused postgres
}

// A human corrects what is remembered; the next agent asks again.
func ExampleReviewer_correct() {
	ctx := context.Background()
	desk := revue.New(memstore.New(nil), memory.New(nil), nil)
	human := desk.Reviewer(revue.Human{Workspace: "default", ID: "ada", Name: "Ada", Via: "example"})
	agent := desk.Decider(revue.Agent{Workspace: "default", Credential: "bot", Name: "build bot"})
	ask := revue.Ask{Question: "How long should access tokens of the public API live?"}

	out, _ := agent.Request(ctx, ask)
	lot, _ := human.Answer(ctx, out.LotID, revue.Answer{Text: "15 minutes"})
	_, err := human.Correct(ctx, revue.Correction{DecisionID: lot.DecisionID, Verb: revue.VerbWrong, Note: "it was about the private one"})
	fmt.Println(err)

	out, _ = agent.Request(ctx, ask)
	fmt.Println(out.Status)
	// Output:
	// <nil>
	// pending
}

// A parked request comes back the moment a human answers, or as pending when its wait is over.
func ExampleDecider_request() {
	ctx, cancel := context.WithCancel(context.Background())
	desk := revue.New(memstore.New(nil), memory.New(nil), nil)
	done := make(chan error)
	go func() { done <- desk.Run(ctx) }()

	agent := desk.Decider(revue.Agent{Workspace: "default", Credential: "bot", Name: "deploy bot"})
	human := desk.Reviewer(revue.Human{Workspace: "default", ID: "ada", Name: "Ada", Via: "example"})
	go func() {
		for e, err := range human.Events(ctx, 0) {
			if err != nil {
				return
			}
			if e.Kind == revue.EventLotOpened {
				_, _ = human.Answer(ctx, e.Lot, revue.Answer{Value: revue.Declined, Note: "not on a Friday"})
			}
		}
	}()
	out, err := agent.Request(ctx, revue.Ask{
		Kind:     revue.KindApproval,
		Question: "Deploy release 4.2 to production?",
		Context:  "All checks are green.",
		Affected: []revue.Affected{{Label: "api", Meta: "12 pods"}},
		Wait:     time.Minute,
	})
	fmt.Println(out.Answer, out.Note, err)
	cancel()
	fmt.Println(<-done)
	// Output:
	// declined not on a Friday <nil>
	// <nil>
}

// Errors carry a code that survives every transport, and a message that is safe to show.
func ExampleError() {
	desk := revue.New(memstore.New(nil), memory.New(nil), nil)
	agent := desk.Decider(revue.Agent{Workspace: "default", Credential: "bot", Name: "bot"})
	_, err := agent.Request(context.Background(), revue.Ask{Question: "  "})
	fmt.Println(errors.Is(err, revue.ErrInvalid), revue.CodeOf(err))
	fmt.Println(revue.MessageOf(err))
	// Output:
	// true invalid
	// question: is blank; say what is to be decided
}

// A notifier is a function that is told of each card, at least once.
func ExampleNotifierFunc() {
	ctx, cancel := context.WithCancel(context.Background())
	told := make(chan string)
	desk := revue.New(memstore.New(nil), memory.New(nil), &revue.Options{
		Notifiers: map[string]revue.Notifier{
			"print": revue.NotifierFunc(func(_ context.Context, n revue.Notice) error {
				told <- fmt.Sprintf("%s: %s", n.Kind, n.Lot.Question)
				return nil
			}),
		},
	})
	done := make(chan error)
	go func() { done <- desk.Run(ctx) }()
	agent := desk.Decider(revue.Agent{Workspace: "default", Credential: "bot", Name: "bot"})
	_, err := agent.Request(ctx, revue.Ask{Question: "Which name should the billing service have?"})
	fmt.Println(<-told, err)
	cancel()
	<-done
	// Output:
	// asked: Which name should the billing service have? <nil>
}
