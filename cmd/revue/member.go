package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/term"
)

func (a *app) memberCmd() *cobra.Command {
	return group("member", "List and remove the people of the workspace", a.memberListCmd(), a.memberRemoveCmd())
}

func (a *app) memberListCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the people of the workspace",
		Long: `List the people of the workspace, those who were removed too. The first human token with an
owner makes that owner a member: revue token create --kind human --owner NAME.`,
		Args: takes(0, 0),
		RunE: does(func(cmd *cobra.Command, _ []string) error {
			return a.seated(cmd.Context(), func(ctx context.Context, s *seat) error {
				all, err := s.admin.Members(ctx)
				if err != nil {
					return err
				}
				if asJSON {
					return writeJSON(a.stdout, list(all))
				}
				out := a.printer()
				if len(all) == 0 {
					out.f("There are no members.\n")
				}
				for _, m := range all {
					out.own("%s  %s  since %s%s\n", term.Line(m.ID, 0), term.Line(m.Name, 100), stamp(m.CreatedAt), memberState(m))
				}
				return out.err
			})
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write an array of members")
	return cmd
}

func memberState(m revue.Member) string {
	if m.RemovedAt.IsZero() {
		return ""
	}
	return "  removed " + stamp(m.RemovedAt)
}

func (a *app) memberRemoveCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "remove ID",
		Short:   "Remove a member: every token of theirs ends",
		Long:    `Remove a member of the workspace: every token of theirs ends, at once. What they decided stays.`,
		Example: `  revue member remove mem_5c1e…`,
		Args:    takes(1, 1),
		RunE: a.humanOnly(func(cmd *cobra.Command, args []string) error {
			return a.seated(cmd.Context(), func(ctx context.Context, s *seat) error {
				m, err := s.admin.RemoveMember(ctx, args[0])
				if err != nil {
					return err
				}
				if asJSON {
					return writeJSON(a.stdout, m)
				}
				_, err = fmt.Fprintf(a.stdout, "%s (%s) is removed: every token of theirs has ended\n", term.Line(m.Name, 100), term.Line(m.ID, 0))
				return err
			})
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write the member as JSON")
	return cmd
}
