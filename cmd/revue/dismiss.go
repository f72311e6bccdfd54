package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/term"
)

func (a *app) dismissCmd() *cobra.Command {
	var (
		d      revue.Dismissal
		seen   int64
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:     "dismiss LOT",
		Short:   "End a lot without an answer",
		Long:    `End a lot without an answer. Its agents go on by their own recommendation or the safest way they can take back.`,
		Example: `  revue dismiss lot_4k2v… --reason "the branch is gone"`,
		Args:    takes(1, 1),
		RunE: a.humanOnly(func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("seen") && seen < 1 {
				return misuse("--seen: it is the revision that \"revue inbox\" shows, 1 or more")
			}
			d.Seen = revue.Revision(seen)
			return a.seated(cmd.Context(), func(ctx context.Context, s *seat) error {
				l, err := s.Dismiss(ctx, args[0], d)
				if err != nil {
					return err
				}
				return a.writeLot(l, asJSON)
			})
		}),
	}
	f := cmd.Flags()
	f.StringVar(&d.Reason, "reason", "", "tell the agents why")
	f.Int64Var(&seen, "seen", 0, "the revision of the lot that you saw")
	f.BoolVar(&asJSON, "json", false, "write the lot as JSON")
	return cmd
}

func (a *app) reopenCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "reopen LOT",
		Short:   "Take back a dismissal",
		Long:    `Take back a dismissal, so that the lot waits for an answer again. Where the same question is open by now, the two become one.`,
		Example: `  revue reopen lot_4k2v…`,
		Args:    takes(1, 1),
		RunE: a.humanOnly(func(cmd *cobra.Command, args []string) error {
			return a.seated(cmd.Context(), func(ctx context.Context, s *seat) error {
				l, err := s.Reopen(ctx, args[0])
				if err != nil {
					return err
				}
				if l.ID != args[0] && !asJSON {
					_, err = fmt.Fprintf(a.stdout, "its asks went to %s, which asks the same and is open, revision %d\n", term.Line(l.ID, 0), l.Revision)
					return err
				}
				return a.writeLot(l, asJSON)
			})
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write the lot as JSON")
	return cmd
}
