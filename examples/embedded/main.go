// Command embedded is an agent loop that asks a human only what nobody has decided yet.
//
// The plane lives in the program itself: a desk over a store in memory. Three tasks need a decision, and the
// human at the terminal is asked twice: the third task asks what the first did, and reuses the answer.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/memory"
	"github.com/revuehq/revue/storage/memstore"
)

func main() {
	if err := run(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// task is a piece of work that can't go on without a decision.
type task struct {
	agent string
	ask   revue.Ask
}

func tasks() []task {
	databases := []revue.Option{
		{Value: "postgres", Label: "PostgreSQL", Consequence: "another server to run"},
		{Value: "sqlite", Label: "SQLite", Consequence: "one machine"},
	}
	return []task{
		{"builder", revue.Ask{Question: "Which database does the orders service use?", Options: databases, Recommendation: "sqlite"}},
		{"writer", revue.Ask{Question: "What is the product called in the manual?"}},
		{"tester", revue.Ask{Question: "which db does the orders service use", Options: databases}},
	}
}

func run(ctx context.Context, in io.Reader, out io.Writer) error {
	store := memstore.New(nil)
	defer store.Close() //nolint:errcheck // it is memory
	desk := revue.New(store, memory.New(nil), nil)

	ctx, cancel := context.WithCancel(ctx)
	background := make(chan error, 2)
	go func() { background <- desk.Run(ctx) }()
	go func() { background <- human(ctx, desk, in, out) }()

	err := agents(ctx, desk, out)
	cancel()
	return errors.Join(err, <-background, <-background)
}

// agents does the tasks, one after the other.
func agents(ctx context.Context, desk *revue.Desk, out io.Writer) error {
	for _, t := range tasks() {
		me := desk.Decider(revue.Agent{Workspace: "demo", Credential: t.agent, Name: t.agent, Thread: t.agent, Via: "library"})
		o, err := decide(ctx, me, t.ask)
		if err != nil {
			return err
		}
		switch o.Status {
		case revue.OutcomeAnswered, revue.OutcomeReused:
			fmt.Fprintf(out, "%s: %s: %s\n", t.agent, o.Status, o.Answer)
		default: // dismissed: nobody wants to decide, so the agent does what it can take back
			fmt.Fprintf(out, "%s: %s: going on with %q\n", t.agent, o.Status, t.ask.Recommendation)
		}
	}
	return nil
}

// decide asks until there is an outcome. Pending is no answer: the same call waits on.
func decide(ctx context.Context, me revue.Decider, ask revue.Ask) (revue.Outcome, error) {
	ask.Wait = 50 * time.Second
	for {
		o, err := me.Request(ctx, ask)
		if err != nil || o.Status != revue.OutcomePending {
			return o, err
		}
	}
}

// human shows each new lot and answers it with the next line. A lot that gets no line is dismissed.
func human(ctx context.Context, desk *revue.Desk, in io.Reader, out io.Writer) error {
	me := desk.Reviewer(revue.Human{Workspace: "demo", ID: "ada", Name: "Ada", Via: "terminal"})
	lines := bufio.NewScanner(in)
	for e, err := range me.Events(ctx, 0) {
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case e.Kind != revue.EventLotOpened:
			continue
		}
		lot, err := me.Lot(ctx, e.Lot)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s\n", lot.Question)
		for _, o := range lot.Options {
			fmt.Fprintf(out, "  %s: %s (%s)\n", o.Value, o.Label, o.Consequence)
		}
		if err := answer(ctx, me, lot, lines); err != nil {
			return err
		}
	}
	return nil
}

func answer(ctx context.Context, me revue.Reviewer, lot revue.Lot, lines *bufio.Scanner) error {
	for lines.Scan() {
		a := revue.Answer{Seen: lot.Revision, Value: strings.TrimSpace(lines.Text())}
		if len(lot.Options) == 0 {
			a.Value, a.Text = "", a.Value
		}
		_, err := me.Answer(ctx, lot.ID, a)
		if !errors.Is(err, revue.ErrInvalid) { // a slip of the pen changes nothing: the next line may be better
			return err
		}
	}
	_, err := me.Dismiss(ctx, lot.ID, revue.Dismissal{Seen: lot.Revision, Reason: "nobody is at the terminal"})
	return err
}
