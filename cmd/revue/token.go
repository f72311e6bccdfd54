package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/term"
)

func (a *app) tokenCmd() *cobra.Command {
	return group("token", "Make, list and revoke tokens", a.tokenCreateCmd(), a.tokenListCmd(), a.tokenRevokeCmd())
}

// createdToken is what scripts rely on.
type createdToken struct {
	ID    string          `json:"id"`
	Kind  revue.TokenKind `json:"kind"`
	Token string          `json:"token"`
}

func (a *app) tokenCreateCmd() *cobra.Command {
	var (
		kind, owner, label, expires string
		asJSON                      bool
	)
	cmd := &cobra.Command{
		Use:   "create --kind agent|human",
		Short: "Make a token and print it, once",
		Long: `Make a token. Its secret is printed once: the database keeps a hash of it alone.

An agent token asks, looks up and shares. It never answers, lists or corrects; that
takes a human token.`,
		Example: `  revue token create --kind agent --label "laptop, Claude Code"
  revue token create --kind human --owner ada --expires 90d --json`,
		Args: takes(0, 0),
		RunE: a.humanOnly(func(cmd *cobra.Command, _ []string) error {
			n := revue.NewToken{Kind: revue.TokenKind(kind), Owner: owner, Label: label}
			if n.Kind != revue.TokenAgent && n.Kind != revue.TokenHuman {
				return misuse("--kind is missing or none: it is agent or human")
			}
			if expires != "" {
				w, err := parseWhen(expires)
				if err != nil {
					return err
				}
				if n.Life, err = w.life(time.Now()); err != nil {
					return err
				}
			}
			return a.seatedAt(cmd.Context(), true, func(ctx context.Context, s *seat) error {
				t, err := a.makeToken(ctx, s, n)
				if err != nil {
					return err
				}
				if asJSON {
					return writeJSON(a.stdout, createdToken{ID: t.ID, Kind: t.Kind, Token: t.Secret})
				}
				_, err = fmt.Fprintf(a.stdout, "%s\n\nThis is %s, a token of kind %s for workspace %s. It is shown this once.\n",
					t.Secret, t.ID, t.Kind, term.Line(t.Workspace, 0))
				return err
			})
		}),
	}
	f := cmd.Flags()
	f.StringVar(&kind, "kind", "", "what it is for: agent or human")
	f.StringVar(&owner, "owner", "", "whose it is (default: you)")
	f.StringVar(&label, "label", "", "what to call it")
	f.StringVar(&expires, "expires", "", "when it ends: 36h, 90d, 2027-01-31 (default: never)")
	f.BoolVar(&asJSON, "json", false, `write {"id","kind","token"}`)
	_ = cmd.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions(
		[]string{string(revue.TokenAgent), string(revue.TokenHuman)}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// makeToken makes a token, yours where it is said to be nobody's.
func (a *app) makeToken(ctx context.Context, s *seat, n revue.NewToken) (revue.Token, error) {
	switch {
	case s.local != nil:
		n.Workspace, n.Owner = a.workspaceName(), cmp.Or(n.Owner, a.userName())
	case n.Owner == "":
		who, err := s.remote.Whoami(ctx)
		if err != nil {
			return revue.Token{}, err
		}
		n.Owner = who.Name
	}
	return s.admin.CreateToken(ctx, n)
}

func (a *app) tokenListCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the tokens and sessions of the workspace, without their secrets",
		Long: `List the tokens of the workspace, without their secrets. Those of kind session are browsers in
which "revue inbox --web" or the first start opened the inbox.`,
		Args: takes(0, 0),
		RunE: a.humanOnly(func(cmd *cobra.Command, _ []string) error {
			return a.seated(cmd.Context(), func(ctx context.Context, s *seat) error {
				tokens, err := s.admin.Tokens(ctx)
				if err != nil {
					return err
				}
				for i := range tokens {
					tokens[i].Secret, tokens[i].Hash = "", ""
				}
				if asJSON {
					return writeJSON(a.stdout, list(tokens))
				}
				out := a.printer()
				if len(tokens) == 0 {
					out.f("There are no tokens.\n")
				}
				for _, t := range tokens {
					out.own("%s  %s  %s  %s  made %s%s%s\n", term.Line(t.ID, 0), t.Kind, term.Line(t.Owner, 60), shellWord(t.Label), stamp(t.CreatedAt),
						tokenUse(t), tokenState(t, time.Now()))
				}
				return out.err
			})
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write an array of tokens")
	return cmd
}

func tokenUse(t revue.Token) string {
	if t.UsedAt.IsZero() {
		return "  never used"
	}
	return "  used " + stamp(t.UsedAt)
}

func tokenState(t revue.Token, now time.Time) string {
	switch {
	case !t.RevokedAt.IsZero():
		return "  revoked " + stamp(t.RevokedAt)
	case !t.ExpiresAt.IsZero() && !now.Before(t.ExpiresAt):
		return "  expired " + stamp(t.ExpiresAt)
	case !t.ExpiresAt.IsZero():
		return "  expires " + stamp(t.ExpiresAt)
	default:
		return ""
	}
}

func (a *app) tokenRevokeCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "revoke ID",
		Short:   "End a token or a session for good",
		Example: `  revue token revoke tok_19cd…`,
		Args:    takes(1, 1),
		RunE: a.humanOnly(func(cmd *cobra.Command, args []string) error {
			return a.seated(cmd.Context(), func(ctx context.Context, s *seat) error {
				t, err := s.admin.RevokeToken(ctx, args[0])
				if err != nil {
					return err
				}
				if asJSON {
					t.Secret, t.Hash = "", ""
					return writeJSON(a.stdout, t)
				}
				_, err = fmt.Fprintf(a.stdout, "%s is revoked\n", term.Line(t.ID, 0))
				return err
			})
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write the token as JSON, without its secret")
	return cmd
}
