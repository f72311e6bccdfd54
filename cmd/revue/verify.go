package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/revuehq/revue"
)

func (a *app) verifyCmd() *cobra.Command {
	var journal, asJSON bool
	cmd := &cobra.Command{
		Use:   "verify --journal",
		Short: "Check the journal: every event in order, none missing, none changed",
		Long: `Walk the journal of the workspace from its first event and check that each follows from the
one before by number and by hash. Keep the head that is printed: a journal that was
rewritten from an earlier event on has another.`,
		Args: takes(0, 0),
		RunE: does(func(cmd *cobra.Command, _ []string) error {
			if !journal {
				return misuse("say what to verify: --journal")
			}
			return a.onStore(cmd.Context(), func(ctx context.Context, p *plane) error {
				head, err := verifyJournal(ctx, p.store, a.workspaceName())
				if err != nil {
					return err
				}
				if asJSON {
					return writeJSON(a.stdout, struct {
						Events revue.Seq `json:"events"`
						Head   string    `json:"head"`
					}{head.Seq, head.Hash})
				}
				_, err = fmt.Fprintf(a.stdout, "%d events verify; head %s\n", head.Seq, head.Hash)
				return err
			})
		}),
	}
	cmd.Flags().BoolVar(&journal, "journal", false, "check the journal")
	cmd.Flags().BoolVar(&asJSON, "json", false, `write {"events","head"}`)
	return cmd
}

// verifyJournal checks the chain in pages and returns its head. Events that are appended meanwhile are
// checked too.
func verifyJournal(ctx context.Context, store revue.Store, workspace string) (revue.Event, error) {
	const pageSize = 1000
	var head revue.Event
	for {
		var page []revue.Event
		err := store.View(ctx, workspace, func(tx revue.Tx) (err error) {
			page, err = tx.Events(head.Seq, pageSize)
			return err
		})
		if err != nil {
			return head, err
		}
		if len(page) == 0 {
			return head, nil
		}
		if err := revue.VerifyChain(head, page); err != nil {
			return head, err
		}
		head = page[len(page)-1]
	}
}
