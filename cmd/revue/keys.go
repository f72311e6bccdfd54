package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/revuehq/revue/internal/term"
)

func (a *app) keysCmd() *cobra.Command {
	return group("keys", "The keys that sign receipts", a.keysListCmd(), a.keysRotateCmd(), a.keysExportCmd())
}

func (a *app) keysListCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the keys, the one that signs first",
		Args:  takes(0, 0),
		RunE: does(func(cmd *cobra.Command, _ []string) error {
			p, err := a.openAny(cmd.Context(), false)
			if err != nil {
				return err
			}
			defer p.close() //nolint:errcheck // what was written is committed
			keys, err := p.Keys(cmd.Context())
			if err != nil {
				return err
			}
			type key struct {
				ID        string    `json:"id"`
				CreatedAt time.Time `json:"createdAt"`
				Signs     bool      `json:"signs"`
			}
			list := make([]key, len(keys))
			for i, k := range keys {
				list[i] = key{k.ID, k.CreatedAt, i == 0}
			}
			if asJSON {
				return writeJSON(a.stdout, list)
			}
			out := a.printer()
			for _, k := range list {
				does := "verifies what it signed"
				if k.Signs {
					does = "signs"
				}
				out.own("%s  made %s  %s\n", term.Line(k.ID, 0), stamp(k.CreatedAt), does)
			}
			return out.err
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write an array of keys")
	return cmd
}

func (a *app) keysRotateCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "rotate",
		Short: "Sign with a new key from now on",
		Long: `Sign with a new key from now on. What earlier keys signed still verifies: they stay in the
key set. Processes that run follow within a minute. Who keeps a copy of the key set needs
the new one.`,
		Args: takes(0, 0),
		RunE: a.humanOnly(func(cmd *cobra.Command, _ []string) error {
			p, err := a.openAny(cmd.Context(), false)
			if err != nil {
				return err
			}
			defer p.close() //nolint:errcheck // what was written is committed
			key, err := p.Admin(a.human()).RotateKey(cmd.Context())
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.stdout, "%s signs from now on\n", key.ID)
			return err
		}),
	}
}

func (a *app) keysExportCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "export",
		Short: "Write the public keys as a JSON Web Key Set",
		Long: `Write the public keys as a JSON Web Key Set, as /.well-known/jwks.json of the plane has it.
Who has it can check receipts with "revue verify RECEIPT --keys FILE", without the plane.`,
		Example: `  revue keys export > keys.json`,
		Args:    takes(0, 0),
		RunE: does(func(cmd *cobra.Command, _ []string) error {
			p, err := a.openAny(cmd.Context(), false)
			if err != nil {
				return err
			}
			defer p.close() //nolint:errcheck // what was written is committed
			keys, err := p.Keys(cmd.Context())
			if err != nil {
				return err
			}
			return writeJSON(a.stdout, keys)
		}),
	}
}
