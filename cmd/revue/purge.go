package main

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/revuehq/revue/internal/term"
)

func (a *app) purgeCmd() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "purge ID",
		Short: "Blank the text of a lot, a decision or a shared note, for good",
		Long: `Blank the text of a lot, a decision or a shared note, for good. A lot is purged with its
decision, and a decision with every lot that was answered with it and every use of it: the same text is in
all of them. A purged decision answers nobody any more. The journal still verifies: it holds digests, never
text. In the files of the database the text may stay until SQLite has used its place, or that of its
write-ahead log, for something else.`,
		Example: `  revue purge dec_81ab…
  revue purge lot_4k2v… --yes`,
		Args: takes(1, 1),
		RunE: a.humanOnly(func(cmd *cobra.Command, args []string) error {
			if !yes {
				if err := a.confirm("Purge " + term.Line(args[0], 0) + "? This can't be undone. Type yes, and Enter:\n"); err != nil {
					return err
				}
			}
			return a.seated(cmd.Context(), func(ctx context.Context, s *seat) error {
				if err := s.admin.Purge(ctx, args[0]); err != nil {
					return err
				}
				_, err := fmt.Fprintf(a.stdout, "%s is purged\n", term.Line(args[0], 0))
				return err
			})
		}),
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

// confirm asks a question on stderr and takes nothing but "yes" for consent.
func (a *app) confirm(question string) error {
	if _, err := fmt.Fprint(a.stderr, question); err != nil {
		return err
	}
	line, _ := bufio.NewReader(a.stdin).ReadString('\n') // the end of the input is no consent either
	if strings.TrimSpace(line) != "yes" {
		return misuse("nothing was purged: it takes a yes, or --yes")
	}
	return nil
}
