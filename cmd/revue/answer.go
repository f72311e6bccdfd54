package main

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/term"
)

func (a *app) answerCmd() *cobra.Command {
	var (
		ans        revue.Answer
		seen       int64
		except     []string
		rule, once bool
		asJSON     bool
	)
	cmd := &cobra.Command{
		Use:   "answer LOT [VALUE]",
		Short: "Answer a lot",
		Long: `Answer a lot with the value of one of its options, with --text in your own words, or
with --confirms DECISION to say that an earlier decision shown on it is the same.

Every agent that asked the same gets the answer. Those whose wording is only likely
the same are settled where --seen says that you saw them: give the revision that "revue
inbox" showed. --except leaves one of them out; it gets a lot of its own.

An approval is answered with "approved" or "declined", and never remembered.

Flags go first where a VALUE begins with a dash, and -- before it.`,
		Example: `  revue answer lot_4k2v… postgres
  revue answer lot_4k2v… --text "Neither: keep the file" --seen 2
  revue answer lot_4k2v… yes --rule --note "for every staging deploy"
  revue answer lot_4k2v… --confirms dec_81ab…
  revue answer lot_4k2v… approved --seen 1
  revue answer lot_4k2v… --seen 1 -- '-rf'`,
		Args: takes(1, 2),
		RunE: a.humanOnly(func(cmd *cobra.Command, args []string) error {
			hasText := cmd.Flags().Changed("text")
			switch {
			case len(args) == 2 && hasText:
				return misuse("give VALUE or --text, not both")
			case len(args) == 2:
				ans.Value = args[1]
			case !hasText && ans.Confirms == "":
				return misuse("give the VALUE of an option, --text TEXT or --confirms DECISION")
			}
			if (len(args) == 2 && isBlank(ans.Value)) || (hasText && isBlank(ans.Text)) {
				return misuse("the answer is blank; a lot that needs no answer can be dismissed with \"revue dismiss\"")
			}
			if rule && once {
				return misuse("give --rule or --once, not both")
			}
			if cmd.Flags().Changed("seen") && seen < 1 {
				return misuse("--seen: it is the revision that \"revue inbox\" shows, 1 or more")
			}
			if len(except) > 0 && seen == 0 {
				return misuse("--except needs --seen, the revision whose wordings you saw")
			}
			ans.Seen = revue.Revision(seen)
			switch {
			case rule:
				ans.Remember = revue.RememberRule
			case once:
				ans.Remember = revue.RememberOnce
			}
			return a.seated(cmd.Context(), func(ctx context.Context, s *seat) error {
				if len(except) > 0 {
					l, err := s.Lot(ctx, args[0])
					if err != nil {
						return err
					}
					if ans.Members, err = membersWithout(l, ans.Seen, except); err != nil {
						return err
					}
				}
				l, err := s.Answer(ctx, args[0], ans)
				if err != nil {
					return err
				}
				return a.writeLot(l, asJSON)
			})
		}),
	}
	f := cmd.Flags()
	f.StringVar(&ans.Text, "text", "", "answer in your own words instead of with an option")
	f.StringVar(&ans.Note, "note", "", "tell the agents something beside the answer")
	f.Int64Var(&seen, "seen", 0, "the revision of the lot that you saw")
	f.StringArrayVar(&except, "except", nil, "leave out this ask (may be repeated; needs --seen)")
	f.BoolVar(&rule, "rule", false, "remember it as a standing rule")
	f.BoolVar(&once, "once", false, "do not remember it: it is for these agents, this time")
	f.StringVar(&ans.Confirms, "confirms", "", "the earlier decision on the card that this is the same as")
	f.BoolVar(&asJSON, "json", false, "write the lot as JSON")
	return cmd
}

// membersWithout returns what an answer that saw this revision settles, less what the human leaves out.
func membersWithout(l revue.Lot, seen revue.Revision, except []string) ([]string, error) {
	for _, id := range except {
		if !slices.ContainsFunc(l.Asks, func(r revue.AskRecord) bool { return r.ID == id }) {
			return nil, &revue.Error{Code: revue.CodeNotFound, ID: id, Message: "no ask " + id + " in lot " + l.ID}
		}
	}
	members := []string{}
	for _, r := range l.Asks {
		settled := r.Verdict != revue.VerdictLikely || r.Revision <= seen
		if settled && !slices.Contains(except, r.ID) {
			members = append(members, r.ID)
		}
	}
	if len(members) == 0 {
		return nil, misuse("--except leaves nobody to answer")
	}
	return members, nil
}

// writeLot writes a lot after a human changed it.
func (a *app) writeLot(l revue.Lot, asJSON bool) error {
	if asJSON {
		return writeJSON(a.stdout, wireLot(l))
	}
	out := a.printer()
	if l.Status == revue.StatusOpen {
		out.own("%s is open, revision %d\n", term.Line(l.ID, 0), l.Revision)
	} else {
		out.f("%s %s\n", term.Line(l.ID, 0), ending(l))
	}
	return out.err
}

func isBlank(s string) bool { return strings.TrimSpace(s) == "" }

// shellWord returns s as one word of a shell, so that a shown value can be copied into a command.
func shellWord(s string) string {
	plain := s != "" && strings.IndexFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./:=@%+,", r)
	}) < 0
	if plain && !strings.HasPrefix(s, "-") && !strings.HasPrefix(s, "=") { // zsh looks up what follows a "="
		return term.Line(s, 0)
	}
	return term.Line("'"+strings.ReplaceAll(s, "'", `'\''`)+"'", 0)
}
