package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/term"
)

func (a *app) streamCmd() *cobra.Command {
	return group("stream", "List the lanes of the inbox, and name, order and mute them", a.streamListCmd(), a.streamSetCmd())
}

func (a *app) streamListCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the lanes of the inbox, in their order",
		Args:  takes(0, 0),
		RunE: does(func(cmd *cobra.Command, _ []string) error {
			return a.seated(cmd.Context(), func(ctx context.Context, s *seat) error {
				all, err := s.admin.Streams(ctx)
				if err != nil {
					return err
				}
				if asJSON {
					return writeJSON(a.stdout, list(all))
				}
				out := a.printer()
				if len(all) == 0 {
					out.f("There are no streams: the first ask makes one.\n")
				}
				for _, st := range all {
					out.own("%s\n", streamLine(st))
				}
				return out.err
			})
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write an array of streams")
	return cmd
}

// streamLine is what a list says of a lane.
func streamLine(st revue.Stream) string {
	line := term.Line(st.Slug, 0)
	if st.Name != "" {
		line += "  " + shellWord(st.Name)
	}
	if st.Position != 0 {
		line += fmt.Sprintf("  position %d", st.Position)
	}
	if st.Muted {
		line += "  muted"
	}
	return line + "  since " + stamp(st.CreatedAt)
}

func (a *app) streamSetCmd() *cobra.Command {
	var (
		set          revue.StreamSettings
		mute, unmute bool
		asJSON       bool
	)
	cmd := &cobra.Command{
		Use:   "set SLUG",
		Short: "Name, order, mute or unmute a lane of the inbox",
		Long: `Name, order, mute or unmute a lane of the inbox; what no flag names stays as it is. A lane is
made where there is none of that slug. Of what happens in a muted one no notifier is told; its
lots wait in the inbox all the same.`,
		Example: `  revue stream set web-app --name "The web app" --position 1
  revue stream set nightly --mute`,
		Args:              takes(1, 1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.humanOnly(func(cmd *cobra.Command, args []string) error {
			f := cmd.Flags()
			if !f.Changed("name") && !f.Changed("position") && mute == unmute {
				if mute {
					return misuse("give --mute or --unmute, not both")
				}
				return misuse("say what to set: --name, --position, --mute or --unmute")
			}
			if mute && unmute {
				return misuse("give --mute or --unmute, not both")
			}
			name := strings.ToLower(strings.TrimSpace(args[0]))
			if !slug.MatchString(name) {
				return misuse(fmt.Sprintf("%q: a stream has up to %d of a-z, 0-9, '-', '_' and '.'", args[0], revue.MaxStream))
			}
			return a.seated(cmd.Context(), func(ctx context.Context, s *seat) error {
				all, err := s.admin.Streams(ctx)
				if err != nil {
					return err
				}
				now := revue.StreamSettings{Slug: name}
				for _, st := range all {
					if st.Slug == name {
						now = st.StreamSettings
					}
				}
				if f.Changed("name") {
					now.Name = set.Name
				}
				if f.Changed("position") {
					now.Position = set.Position
				}
				now.Muted = (now.Muted || mute) && !unmute
				st, err := s.admin.SetStream(ctx, now)
				if err != nil {
					return err
				}
				if asJSON {
					return writeJSON(a.stdout, st)
				}
				out := a.printer()
				out.own("%s\n", streamLine(st))
				return out.err
			})
		}),
	}
	f := cmd.Flags()
	f.StringVar(&set.Name, "name", "", `what the inbox calls it; "" for its slug`)
	f.IntVar(&set.Position, "position", 0, "its place: 1 comes first, up to 1000; 0 puts it behind those that have one")
	f.BoolVar(&mute, "mute", false, "tell no notifier of what happens in it")
	f.BoolVar(&unmute, "unmute", false, "tell them again, of what happens from now on")
	f.BoolVar(&asJSON, "json", false, "write the stream as JSON")
	return cmd
}
