package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/revuehq/revue"
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
			p, err := a.openAny(cmd.Context(), true) // the machine of the plane alone makes workspaces
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
			all, err := a.workspaces(cmd.Context())
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

// workspaces returns those of the database, or, of a plane elsewhere, those that the user's token is good for.
func (a *app) workspaces(ctx context.Context) ([]revue.Workspace, error) {
	at, err := a.place(ctx)
	if err != nil {
		return nil, err
	}
	if at.url != "" {
		var all []revue.Workspace
		err := a.seated(ctx, func(ctx context.Context, s *seat) (err error) {
			all, err = s.admin.Workspaces(ctx)
			return err
		})
		return all, err
	}
	p, err := a.openHere(ctx, at.db, false) // whatever workspace is meant: it need not be there
	if err != nil {
		return nil, err
	}
	defer p.close() //nolint:errcheck // nothing was written
	return p.Admin(a.human()).Workspaces(ctx)
}
