package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/term"
)

func (a *app) correctCmd() *cobra.Command {
	var (
		undo, note string
		asJSON     bool
	)
	cmd := &cobra.Command{
		Use:   "correct DECISION VERB [WHEN]",
		Short: "Change how a decision may be reused",
		Long: `Change how a decision may be reused. VERB is one of

  wrong            withdraw it: it never answers again
  too_broad        keep it to the very same request
  only_this_repo   keep it to the repository it was made in
  ask_next_time    ask the human the next time, with this shown
  expires_after    end it at WHEN: 36h, 30d, 2027-01-31 or 2027-01-31T12:00:00Z

A date is its beginning in UTC.

--undo ID takes back an earlier correction (cor_…), or another wording that was accepted for the
decision (als_…): that wording is then asked anew. "revue why" lists both with their ids.`,
		Example: `  revue correct dec_81ab… wrong --note "we moved off it"
  revue correct dec_81ab… expires_after 30d
  revue correct dec_81ab… --undo cor_77…
  revue correct dec_81ab… --undo als_05…`,
		Args: takes(1, 3),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) != 1 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return verbNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: a.humanOnly(func(cmd *cobra.Command, args []string) error {
			c, err := correction(args, undo, cmd.Flags().Changed("undo"))
			if err != nil {
				return err
			}
			c.Note = note
			return a.seated(cmd.Context(), func(ctx context.Context, s *seat) error {
				d, err := s.Correct(ctx, c)
				if err != nil {
					return err
				}
				if !c.Expires.IsZero() && c.Expires.Before(time.Now()) {
					_, _ = fmt.Fprintf(a.stderr, "revue: warning: %s is in the past, so the decision has ended; --undo takes that back\n", stamp(c.Expires))
				}
				if asJSON {
					return writeJSON(a.stdout, wireDecision(d))
				}
				out := a.printer()
				if n := len(d.Corrections); n > 0 {
					out.own("%s:", term.Line(d.ID, 0))
					showCorrection(out, d.Corrections[n-1], d.Standing())
				}
				return out.err
			})
		}),
	}
	f := cmd.Flags()
	f.StringVar(&undo, "undo", "", "take back the correction or the other wording of this id, instead of making a correction")
	f.StringVar(&note, "note", "", "say why")
	f.BoolVar(&asJSON, "json", false, "write the decision as JSON")
	return cmd
}

func verbNames() []string {
	var names []string
	for _, v := range revue.Verbs() {
		names = append(names, string(v))
	}
	return names
}

// correction reads the arguments: DECISION, then VERB and perhaps WHEN, or --undo alone.
func correction(args []string, undo string, undoing bool) (revue.Correction, error) {
	c := revue.Correction{DecisionID: args[0], Undoes: undo}
	switch {
	case undoing && len(args) > 1:
		return c, misuse("--undo takes a correction or a wording back: leave out the verb")
	case undoing && undo == "":
		return c, misuse("--undo: say which correction or wording; \"revue why " + args[0] + "\" lists them")
	case undoing:
		return c, nil
	case len(args) < 2:
		return c, misuse("say how to correct it: " + strings.Join(verbNames(), ", "))
	}
	c.Verb = revue.Verb(args[1])
	switch {
	case !slices.Contains(revue.Verbs(), c.Verb):
		return c, misuse(fmt.Sprintf("%q is no correction: it is one of %s", args[1], strings.Join(verbNames(), ", ")))
	case c.Verb != revue.VerbExpiresAfter && len(args) == 3:
		return c, misuse(args[1] + " takes no time: only expires_after does")
	case c.Verb != revue.VerbExpiresAfter:
		return c, nil
	case len(args) < 3:
		return c, misuse("expires_after needs a time: 36h, 30d, 2027-01-31 or 2027-01-31T12:00:00Z")
	}
	w, err := parseWhen(args[2])
	c.After, c.Expires = w.after, w.at
	return c, err
}
