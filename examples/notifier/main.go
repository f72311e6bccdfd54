// Command notifier tells a human about questions in two ways: as lines on a writer, and as JSON that it posts to a
// web hook.
//
// A notifier is one method. The desk calls it until it returns nil, with the same id each time, and keeps
// in the store how far each notifier is: a notice survives a restart.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/memory"
	"github.com/revuehq/revue/storage/memstore"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	notifiers := map[string]revue.Notifier{"lines": Lines(os.Stdout)}
	if len(os.Args) > 1 {
		notifiers["hook"] = Hook{URL: os.Args[1]}
	}
	err := run(ctx, notifiers)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Lines writes a line for each notice. %q keeps text of an agent from acting on a terminal.
func Lines(w io.Writer) revue.Notifier {
	return revue.NotifierFunc(func(_ context.Context, n revue.Notice) error {
		_, err := fmt.Fprintf(w, "%s: %q\n", n.Kind, n.Lot.Question)
		return err
	})
}

// Hook posts each notice as JSON. Its receiver may get one twice, and tells by the id.
type Hook struct{ URL string }

// Notify posts the notice; what is not a success is tried again later.
func (h Hook) Notify(ctx context.Context, n revue.Notice) error {
	body, err := json.Marshal(map[string]string{"id": n.ID, "kind": string(n.Kind), "lot": n.Lot.ID, "question": n.Lot.Question})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // it was only read
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("the hook said %s", resp.Status)
	}
	return nil
}

// run asks one question and answers it, and ends when each notifier has told of both.
func run(ctx context.Context, notifiers map[string]revue.Notifier) error {
	store := memstore.New(nil)
	defer store.Close() //nolint:errcheck // it is memory
	told := make(chan revue.NoticeKind)
	counted := map[string]revue.Notifier{}
	for name, n := range notifiers {
		counted[name] = revue.NotifierFunc(func(ctx context.Context, notice revue.Notice) error {
			if err := n.Notify(ctx, notice); err != nil {
				return err
			}
			select {
			case told <- notice.Kind:
			case <-ctx.Done():
			}
			return nil
		})
	}
	desk := revue.New(store, memory.New(nil), &revue.Options{Notifiers: counted})

	agent := desk.Decider(revue.Agent{Workspace: "demo", Credential: "builder", Name: "builder", Thread: "t1", Via: "library"})
	human := desk.Reviewer(revue.Human{Workspace: "demo", ID: "ada", Name: "Ada", Via: "library"})
	asked, err := agent.Request(ctx, revue.Ask{
		Question: "Which queue do we use?",
		Options:  []revue.Option{{Value: "nats"}, {Value: "none"}},
	})
	if err != nil {
		return err
	}

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	running := make(chan error, 1)
	go func() { running <- desk.Run(ctx) }() // it tells of what waits from before it ran, too
	all := func() {
		for range notifiers {
			select {
			case <-told:
			case <-ctx.Done():
			}
		}
	}
	all()
	if _, err := human.Answer(ctx, asked.LotID, revue.Answer{Value: "nats"}); err != nil {
		return err
	}
	all()
	cancel()
	return <-running
}
