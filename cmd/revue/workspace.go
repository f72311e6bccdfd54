package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/revuehq/revue/internal/term"
)

func (a *app) workspaceCmd() *cobra.Command {
	return group("workspace", "Make and list workspaces", a.workspaceCreateCmd(), a.workspaceListCmd())
}

func (a *app) workspaceCreateCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "create NAME",
		Short:   "Make a workspace: nothing crosses from one to another",
		Example: `  revue workspace create acme`,
		Args:    takes(1, 1),
		RunE: a.humanOnly(func(cmd *cobra.Command, args []string) error {
			p, err := a.openAny(cmd.Context(), true)
			if err != nil {
				return err
			}
			defer p.close() //nolint:errcheck // what was written is committed
			w, err := p.Admin(a.human()).CreateWorkspace(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(a.stdout, w)
			}
			_, err = fmt.Fprintf(a.stdout, "workspace %s is made\n", term.Line(w.Name, 0))
			return err
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write the workspace as JSON")
	return cmd
}

func (a *app) workspaceListCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the workspaces",
		Args:  takes(0, 0),
		RunE: does(func(cmd *cobra.Command, _ []string) error {
			p, err := a.openAny(cmd.Context(), false)
			if err != nil {
				return err
			}
			defer p.close() //nolint:errcheck // nothing was written
			all, err := p.Admin(a.human()).Workspaces(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(a.stdout, list(all))
			}
			out := a.printer()
			if len(all) == 0 {
				out.f("There are no workspaces.\n")
			}
			for _, w := range all {
				out.f("%s  made %s\n", term.Line(w.Name, 0), stamp(w.CreatedAt))
			}
			return out.err
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write an array of workspaces")
	return cmd
}
