package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/term"
)

func (a *app) whyCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "why DECISION",
		Short:   "Explain a decision: who made it, who used it, what corrected it",
		Example: `  revue why dec_81ab…`,
		Args:    cobra.ExactArgs(1),
		RunE: does(func(cmd *cobra.Command, args []string) error {
			return a.onStore(cmd.Context(), func(ctx context.Context, p *plane) error {
				e, err := p.Reviewer(a.human()).Why(ctx, args[0])
				if err != nil {
					return err
				}
				if asJSON {
					return writeJSON(a.stdout, wireExplanation(e))
				}
				out := &printer{w: a.stdout}
				explain(out, e)
				return out.err
			})
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write the explanation as JSON")
	return cmd
}

func explain(out *printer, e revue.Explanation) {
	d := e.Decision
	state := "withdrawn, superseded or for once: it answers nobody any more"
	if e.Live {
		state = string(e.Freshness)
	}
	out.f("%s  %s\n", term.Line(d.ID, 0), state)
	out.f("%s", term.Block(d.Question, "  ", 0))
	out.f("  → %s\n", term.Line(answerText(d.Answer, d.AnswerLabel), 0))
	if d.Note != "" {
		out.f("%s", term.Block(d.Note, "  | ", 0))
	}
	out.f("  decided by %s (%s) at %s, remembered: %s, on %s\n",
		term.Line(d.By.Name, 100), term.Line(d.By.Via, 60), stamp(d.CreatedAt), d.Remember, term.Line(d.LotID, 0))
	if d.Repo != "" {
		out.f("  repo: %s\n", term.Line(d.Repo, 0))
	}
	scope(out, "concepts", d.Concepts)
	scope(out, "files", d.Files)
	if d.Confirmations > 0 {
		out.f("  confirmed %d times, last at %s\n", d.Confirmations, stamp(d.ConfirmedAt))
	}
	for _, al := range d.Aliases {
		out.f("  also asked as: %s\n", term.Line(al.Text, 400))
	}
	for _, c := range d.Corrections {
		showCorrection(out, c, e.Standing)
	}
	if d.SupersededBy != "" {
		out.f("  superseded by %s\n", term.Line(d.SupersededBy, 0))
	}
	for _, s := range e.Superseded {
		out.f("  took the place of %s → %s\n", term.Line(s.ID, 0), term.Line(s.Answer, 200))
	}
	out.f("  given to %d asks\n", len(e.Uses))
	for _, u := range e.Uses {
		how := "answered"
		if u.Reused != nil {
			how = "reused"
		}
		out.f("    %s  %s  %s  %s\n", stamp(u.CreatedAt), how, term.Line(u.ID, 0), term.Line(u.Agent, 100))
	}
	if e.Live {
		out.f("  correct it: revue correct %s wrong|too_broad|only_this_repo|ask_next_time|expires_after WHEN\n", term.Line(d.ID, 0))
	}
}

func showCorrection(out *printer, c revue.Correction, standing []revue.Correction) {
	out.f("  %s ", term.Line(c.ID, 0))
	switch {
	case c.Undoes != "":
		out.f("undoes %s", term.Line(c.Undoes, 0))
	default:
		out.f("%s", c.Verb)
		if !c.Expires.IsZero() {
			out.f(" %s", stamp(c.Expires))
		}
		if !slices.ContainsFunc(standing, func(s revue.Correction) bool { return s.ID == c.ID }) {
			out.f(" (undone)")
		}
	}
	out.f(", by %s at %s", term.Line(c.By.Name, 100), stamp(c.At))
	if c.Note != "" {
		out.f(": %s", term.Line(c.Note, 400))
	}
	out.f("\n")
}

func wireExplanation(e revue.Explanation) revue.Explanation {
	e.Decision = wireDecision(e.Decision)
	e.Standing, e.Uses, e.Events = list(e.Standing), list(e.Uses), list(e.Events)
	if e.Lot != nil {
		l := filled(*e.Lot)
		e.Lot = &l
	}
	return e
}

func wireDecision(d revue.Decision) revue.Decision {
	d.Options, d.Concepts, d.Files = list(d.Options), list(d.Concepts), list(d.Files)
	return d
}
