package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/term"
)

func (a *app) decisionsCmd() *cobra.Command {
	var (
		limit  int
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "decisions [TEXT]",
		Short: "List what is remembered, or find it",
		Long: `List the decisions that are remembered, newest first. With TEXT, a question or a few words, list
those that match it best. "revue why" tells the whole story of one.`,
		Example: `  revue decisions
  revue decisions which database --limit 5
  revue decisions --json`,
		Args: cobra.ArbitraryArgs,
		RunE: does(func(cmd *cobra.Command, args []string) error {
			f := revue.DecisionFilter{Text: strings.Join(args, " ")}
			if len(args) > 0 && isBlank(f.Text) {
				return misuse("TEXT is blank: leave it out to list all")
			}
			if limit < 1 {
				return misuse("--limit: it is 1 or more")
			}
			return a.seated(cmd.Context(), func(ctx context.Context, s *seat) error {
				found, err := findDecisions(ctx, s, f, limit)
				if err != nil {
					return err
				}
				if asJSON {
					for i := range found {
						found[i] = wireDecision(found[i])
					}
					return writeJSON(a.stdout, list(found))
				}
				out := a.printer()
				if len(found) == 0 {
					out.f("There are no such decisions.\n")
				}
				for i, d := range found {
					if i > 0 {
						out.f("\n")
					}
					a.showDecision(out, d)
				}
				return out.err
			})
		}),
	}
	cmd.Flags().IntVar(&limit, "limit", 50, "how many at most")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write an array of decisions")
	return cmd
}

func findDecisions(ctx context.Context, rv revue.Reviewer, f revue.DecisionFilter, limit int) ([]revue.Decision, error) {
	var found []revue.Decision
	for {
		f.Limit = min(limit-len(found), 1000)
		page, err := rv.Decisions(ctx, f)
		if err != nil {
			return nil, err
		}
		found = append(found, page.Items...)
		if page.NextCursor == "" || len(found) >= limit {
			return found, nil
		}
		f.Cursor = page.NextCursor
	}
}

func (a *app) showDecision(out *printer, d revue.Decision) {
	id, standing := term.Line(d.ID, 0), d.Standing()
	out.own("%s  %s\n", id, state(d, standing, d.Live(), d.FreshnessAt(time.Now())))
	out.f("%s", term.Block(d.Question, "  ", listed().question, "revue why "+id+a.flags()))
	out.f("  → %s\n", term.Line(answerText(d.Answer, d.AnswerLabel), 400))
	out.own("  decided by %s (%s) at %s\n", term.Line(d.By.Name, 100), term.Line(d.By.Via, 60), stamp(d.CreatedAt))
	for _, c := range standing {
		showCorrection(out, c, standing)
	}
}

func (a *app) notesCmd() *cobra.Command {
	var (
		remove string
		asJSON bool
	)
	list := does(func(cmd *cobra.Command, _ []string) error {
		return a.seated(cmd.Context(), func(ctx context.Context, s *seat) error {
			notes, err := allNotes(ctx, s)
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(a.stdout, list(notes))
			}
			out := a.printer()
			if len(notes) == 0 {
				out.f("No agent has shared a note.\n")
			}
			for i, n := range notes {
				if i > 0 {
					out.f("\n")
				}
				showNote(out, n)
			}
			return out.err
		})
	})
	take := a.humanOnly(func(cmd *cobra.Command, _ []string) error {
		return a.seated(cmd.Context(), func(ctx context.Context, s *seat) error {
			if err := s.RemoveContext(ctx, remove); err != nil {
				return err
			}
			out := a.printer()
			out.own("%s is removed: no agent is shown it any more. \"revue purge %s%s\" blanks its text too\n",
				term.Line(remove, 0), shellWord(remove), a.flags())
			return out.err
		})
	})
	cmd := &cobra.Command{
		Use:   "notes",
		Short: "List the notes that agents share, or remove one",
		Long: `List the notes that agents share with each other, newest first. No human has seen them before,
and a lookup shows them to agents as untrusted. A note ends by itself after 30 days.
--remove takes one out of circulation; it is for humans alone.`,
		Example: `  revue notes
  revue notes --remove ctx_12ef…`,
		Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case !cmd.Flags().Changed("remove"):
				return list(cmd, args)
			case isBlank(remove):
				return misuse("--remove: say which note; \"revue notes\" lists them")
			case asJSON:
				return misuse("--json lists: leave it out with --remove")
			}
			return take(cmd, args)
		},
	}
	cmd.Flags().StringVar(&remove, "remove", "", "take this note out of circulation")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write an array of notes")
	return cmd
}

func allNotes(ctx context.Context, rv revue.Reviewer) ([]revue.ContextItem, error) {
	var (
		all []revue.ContextItem
		f   revue.ContextFilter
	)
	for {
		page, err := rv.Contexts(ctx, f)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if page.NextCursor == "" {
			return all, nil
		}
		f.Cursor = page.NextCursor
	}
}

func showNote(out *printer, n revue.ContextItem) {
	out.f("%s  %s  by %s", term.Line(n.ID, 0), term.Line(n.Kind, 0), term.Line(n.Agent, 100))
	if n.Repo != "" {
		out.f(" in %s", term.Line(n.Repo, 200))
	}
	out.f("\n")
	out.own("  shared %s, ends %s\n", ago(n.CreatedAt, time.Now()), stamp(n.ExpiresAt))
	out.f("%s", term.Block(n.Body, "  ", 0, ""))
	scope(out, "concepts", n.Concepts)
}
