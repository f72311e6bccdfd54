package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"

	"github.com/spf13/cobra"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/term"
)

// The exit codes.
const (
	exitDone     = 0
	exitFailed   = 1
	exitMisused  = 2
	exitNotFound = 3
)

// world is all that a command touches besides its database and the network.
type world struct {
	args           []string
	env            func(string) string
	stdin          io.ReadCloser
	stdout, stderr io.Writer
}

// app is one run of the program.
type app struct {
	*world
	db        string // flag --db
	workspace string // flag --workspace
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, w *world) int {
	a := &app{world: w}
	if err := noSecrets(w.args); err != nil {
		_, _ = fmt.Fprintln(w.stderr, "revue: "+err.Error())
		return exitMisused
	}
	root := a.root()
	root.SetArgs(w.args)
	root.SetIn(w.stdin)
	root.SetOut(w.stdout)
	root.SetErr(w.stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	_, _ = fmt.Fprintln(w.stderr, "revue: "+term.Line(secretArg.ReplaceAllString(message(err), "[token]"), 0))
	return exitCode(err)
}

// secretArg is what a token looks like on a command line.
var secretArg = regexp.MustCompile(`rvu_[ahs]_[0-9A-Za-z_-]{16,}`)

// noSecrets refuses a command line with a token on it, and does not repeat it: other programs of the machine can read
// the command line, and what is typed is kept in the history of the shell.
func noSecrets(args []string) error {
	if slices.ContainsFunc(args, secretArg.MatchString) {
		return misuse("a token is on the command line, where others can read it: end it with \"revue token revoke ID\", where ID begins with tok_; \"revue login URL\" asks for one")
	}
	return nil
}

// failure marks an error of a command that was well formed. What comes from the reading of the command line
// itself carries no mark: it is misuse.
type failure struct{ error }

func (f failure) Unwrap() error { return f.error }

// misuse is a command line that is wrong in itself.
type misuse string

func (m misuse) Error() string { return string(m) }

func exitCode(err error) int {
	var f failure
	var m misuse
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &m), !errors.As(err, &f), errors.Is(err, revue.ErrInvalid):
		return exitMisused
	case errors.Is(err, revue.ErrNotFound):
		return exitNotFound
	default:
		return exitFailed
	}
}

// does wraps the body of a command so that its errors are told from misuse.
func does(body func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := body(cmd, args); err != nil {
			return failure{err}
		}
		return nil
	}
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "revue",
		Short: "Human decisions for AI agents",
		Long: `revue lets AI agents ask a human, waits for the answer, remembers it and
gives it to the next agent that asks the same.

Commands work on the database of --db or REVUE_DB, as the user of this machine whom nobody
authenticates; else on the plane at REVUE_API_URL, with REVUE_API_KEY where that is a human
token or with that of "revue login"; else on the plane of the last "revue login"; else on
the default database of the user. A token travels over http to another machine only where
REVUE_INSECURE is 1 or "revue login --insecure" kept it.

Exit codes: 0 done, 1 failed, 2 misused, 3 nothing found.`,
		SilenceUsage:  true,
		SilenceErrors: true,

		DisableFlagsInUseLine: true,

		Args: knownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			for _, name := range []string{"db", "workspace"} {
				if f := cmd.Flags().Lookup(name); f != nil && f.Changed && isBlank(f.Value.String()) {
					return misuse("--" + name + " is blank")
				}
			}
			return nil
		},
	}
	root.SetFlagErrorFunc(a.flagError)
	root.PersistentFlags().StringVar(&a.db, "db", "", "the database (default $REVUE_DB, else a plane elsewhere or revue/revue.db in the data folder of the user)")
	root.PersistentFlags().StringVar(&a.workspace, "workspace", "", "the workspace (default $REVUE_WORKSPACE_ID, else that of the token, else \"default\")")
	root.AddCommand(
		a.serveCmd(), a.mcpCmd(),
		a.inboxCmd(), a.answerCmd(), a.dismissCmd(), a.reopenCmd(),
		a.decisionsCmd(), a.whyCmd(), a.correctCmd(), a.notesCmd(),
		a.loginCmd(), a.logoutCmd(), a.whoamiCmd(),
		a.tokenCmd(), a.memberCmd(), a.streamCmd(), a.workspaceCmd(), a.purgeCmd(), a.verifyCmd(),
		a.exportCmd(), a.importCmd(), a.keysCmd(),
		a.versionCmd(),
	)
	return root
}

// group makes a command that only holds others, and refuses a word that is none of them.
func group(use, short string, subs ...*cobra.Command) *cobra.Command {
	g := &cobra.Command{
		Use:   use,
		Short: short,

		DisableFlagsInUseLine: true,

		Args: knownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	g.AddCommand(subs...)
	return g
}
