package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

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
		Args:    takes(1, 1),
		RunE: does(func(cmd *cobra.Command, args []string) error {
			return a.seated(cmd.Context(), func(ctx context.Context, s *seat) error {
				e, err := s.Why(ctx, args[0])
				if err != nil {
					return err
				}
				if asJSON {
					return writeJSON(a.stdout, wireExplanation(e))
				}
				out := a.printer()
				a.explain(out, e)
				return out.err
			})
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write the explanation as JSON")
	return cmd
}

// state says whether a decision is still reused, and why not.
func state(d revue.Decision, standing []revue.Correction, live bool, f revue.Freshness) string {
	if live {
		return string(f)
	}
	var why []string
	if d.Purged {
		why = append(why, "purged")
	}
	for _, c := range standing {
		if c.Verb == revue.VerbWrong {
			why = append(why, fmt.Sprintf("withdrawn by %s at %s", term.Line(c.By.Name, 100), stamp(c.At)))
			break
		}
	}
	if d.SupersededBy != "" {
		why = append(why, "superseded by "+term.Line(d.SupersededBy, 0))
	}
	if d.Remember == revue.RememberOnce {
		why = append(why, "remembered for once")
	}
	return strings.Join(why, ", ") + ": it answers nobody any more"
}

// showAnswer prints what a decision says, and its note.
func showAnswer(out *printer, d revue.Decision) {
	if strings.Contains(d.Answer, "\n") {
		out.f("  →\n%s", term.Block(answerText(d.Answer, d.AnswerLabel), "    ", 0, ""))
	} else {
		out.f("  → %s\n", term.Line(answerText(d.Answer, d.AnswerLabel), 0))
	}
	if d.Note != "" {
		out.f("  note:\n%s", term.Block(d.Note, "    ", 0, ""))
	}
}

func (a *app) explain(out *printer, e revue.Explanation) {
	d := e.Decision
	out.own("%s  %s\n", term.Line(d.ID, 0), state(d, e.Standing, e.Live, e.Freshness))
	out.f("%s", term.Block(d.Question, "  ", 0, ""))
	showAnswer(out, d)
	out.own("  decided by %s (%s) at %s, remembered: %s, on %s\n",
		term.Line(d.By.Name, 100), term.Line(d.By.Via, 60), stamp(d.CreatedAt), d.Remember, term.Line(d.LotID, 0))
	if d.Repo != "" {
		out.f("  repo: %s\n", term.Line(d.Repo, 0))
	}
	scope(out, "concepts", d.Concepts)
	scope(out, "files", d.Files)
	if d.Confirmations > 0 {
		out.own("  confirmed %s, last at %s\n", plural(d.Confirmations, "time"), stamp(d.ConfirmedAt))
	}
	for _, al := range d.Aliases {
		showAlias(out, al, d.Corrections)
	}
	for _, c := range d.Corrections {
		showCorrection(out, c, e.Standing)
	}
	for _, s := range e.Superseded {
		out.f("  took the place of %s → %s\n", term.Line(s.ID, 0), term.Line(s.Answer, 200))
	}
	out.f("  given to %s\n", plural(len(e.Uses), "ask"))
	for _, u := range e.Uses {
		how, at := "answered", d.CreatedAt
		if e.Lot != nil && e.Lot.Answer != nil && u.LotID == e.Lot.ID {
			at = e.Lot.Answer.At
		}
		if u.Reused != nil {
			how, at = "reused", u.Reused.At
		}
		out.f("    %s  asked %s, %s %s  %s\n", term.Line(u.ID, 0), stamp(u.CreatedAt), how, stamp(at), term.Line(u.Agent, 100))
	}
	if e.Live {
		out.own("  correct it: revue correct %s wrong|too_broad|only_this_repo|ask_next_time|expires_after WHEN%s\n", term.Line(d.ID, 0), a.flags())
		if slices.ContainsFunc(d.Accepted(), func(al revue.Alias) bool { return al.ID != "" }) {
			out.own("  take a wording back: revue correct %s --undo als_…%s\n", term.Line(d.ID, 0), a.flags())
		}
	}
}

// showAlias prints a wording that a human accepted, with the id by which it is taken back.
func showAlias(out *printer, al revue.Alias, corrections []revue.Correction) {
	what := "also asked as"
	if al.ID != "" {
		what += " " + term.Line(al.ID, 0)
		if slices.ContainsFunc(corrections, func(c revue.Correction) bool { return c.Undoes == al.ID }) {
			what += " (undone)"
		}
	}
	out.f("  %s, by %s at %s:\n%s", what, term.Line(al.By.Name, 100), stamp(al.At), term.Block(al.Text, "    ", 0, ""))
}

func showCorrection(out *printer, c revue.Correction, standing []revue.Correction) {
	out.own("  %s ", term.Line(c.ID, 0))
	switch {
	case c.Undoes != "":
		out.own("undoes %s", term.Line(c.Undoes, 0))
	default:
		out.own("%s", c.Verb)
		if !c.Expires.IsZero() {
			out.own(" %s", stamp(c.Expires))
		}
		if !slices.ContainsFunc(standing, func(s revue.Correction) bool { return s.ID == c.ID }) {
			out.own(" (undone)")
		}
	}
	out.own(", by %s at %s", term.Line(c.By.Name, 100), stamp(c.At))
	if c.Note != "" {
		out.own(": %s", term.Line(c.Note, 400))
	}
	out.own("\n")
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
