package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/revuehq/revue"
	safe "github.com/revuehq/revue/internal/term"
)

func (a *app) exportCmd() *cobra.Command {
	var tokens, force, asJSON bool
	cmd := &cobra.Command{
		Use:   "export [FILE|-]",
		Short: "Write everything of a workspace to a file",
		Long: `Write everything of a workspace, its journal, questions, answers, notes, receipts, members
and the list of its tokens, as JSON Lines. The file is for you alone to read, and is there
whole or not at all. Signing keys never go along, and nothing in the file lets anyone in,
unless --tokens puts the hashes of the tokens into it.

"revue import" makes the workspace again from it, here or on another plane.`,
		Example: `  revue export backup.jsonl
  revue export --workspace acme - | gzip > acme.jsonl.gz`,
		Args: takes(0, 1),
		RunE: a.humanOnly(func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			name := "-"
			if len(args) == 1 {
				name = args[0]
			}
			toOutput := name == "-"
			if toOutput && isTerminal(a.stdout) {
				return misuse("an export is not for a terminal: name a file, or send the output to one")
			}
			if !toOutput && !force {
				if _, err := os.Lstat(name); err == nil {
					return exists(name)
				}
			}
			return a.onStore(ctx, func(ctx context.Context, p *plane) error {
				if tokens {
					if _, err := fmt.Fprintln(a.stderr, "The export has the hashes of the tokens: a plane that imports it with --tokens lets them in. Keep it like the database."); err != nil {
						return err
					}
				}
				bar := a.progress("exporting")
				defer bar.finish()
				write := func(w io.Writer) (revue.Exported, error) {
					return revue.Export(ctx, p.store, a.workspaceName(), w, &revue.ExportOptions{Tokens: tokens, Progress: bar.set})
				}
				var sum revue.Exported
				var err error
				summary := a.stdout
				if toOutput {
					summary = a.stderr
					sum, err = write(a.stdout)
				} else {
					sum, err = toFile(name, force, write)
				}
				if err != nil {
					return err
				}
				bar.finish()
				if asJSON {
					return writeJSON(summary, sum)
				}
				if toOutput {
					return nil
				}
				_, err = fmt.Fprintf(summary, "%s\nexported to %s\n", contents(sum.Contents), safe.Line(name, 0))
				return err
			})
		}),
	}
	cmd.Flags().BoolVar(&tokens, "tokens", false, "put the hashes of the tokens into it, so that they can be let in elsewhere")
	cmd.Flags().BoolVar(&force, "force", false, "replace a file that is there")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write what was exported as JSON (to stderr where the export goes to stdout)")
	return cmd
}

// contents says in one line what a workspace holds.
func contents(c revue.Contents) string {
	return fmt.Sprintf("workspace %s: %d events, %d lots, %d asks, %d decisions, %d notes, %d receipts, %d tokens; head %s",
		safe.Line(c.Workspace, 0), c.Events, c.Lots, c.Asks, c.Decisions, c.Contexts, c.Receipts, c.Tokens, cmp.Or(c.Head, "none"))
}

func exists(name string) error {
	return fmt.Errorf("%s is there already: name another file, or replace it with --force", safe.Line(name, 0))
}

// toFile makes a file that its owner alone may read, and that is there whole or not at all.
func toFile(name string, force bool, write func(io.Writer) (revue.Exported, error)) (sum revue.Exported, err error) {
	tmp, err := os.CreateTemp(filepath.Dir(name), ".revue-export-*") // for the owner alone
	if err != nil {
		return sum, fmt.Errorf("make the file: %w", err)
	}
	defer os.Remove(tmp.Name()) //nolint:errcheck // it was moved, or there is nothing to do about it
	sum, err = write(tmp)
	if err == nil {
		err = tmp.Sync()
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return sum, err
	}
	if force {
		return sum, os.Rename(tmp.Name(), name)
	}
	err = os.Link(tmp.Name(), name) // unlike Rename it replaces nothing
	switch {
	case errors.Is(err, fs.ErrExist):
		return sum, exists(name)
	case err != nil: // a file system without links
		if _, serr := os.Lstat(name); serr == nil {
			return sum, exists(name)
		}
		err = os.Rename(tmp.Name(), name)
	}
	return sum, err
}

// isTerminal reports whether a stream of the program is a terminal.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) //nolint:gosec // a descriptor fits
}

// progress is a bar of what is done, on stderr where that is a terminal.
type progress struct{ bar *progressbar.ProgressBar }

func (a *app) progress(what string) *progress {
	if !isTerminal(a.stderr) {
		return &progress{}
	}
	return &progress{progressbar.NewOptions64(1,
		progressbar.OptionSetWriter(a.stderr), progressbar.OptionSetDescription(what),
		progressbar.OptionClearOnFinish(), progressbar.OptionThrottle(100_000_000), progressbar.OptionSetWidth(30),
	)}
}

func (p *progress) set(done, total int64) {
	if p.bar != nil && total > 0 {
		p.bar.ChangeMax64(total)
		_ = p.bar.Set64(done)
	}
}

func (p *progress) finish() {
	if p.bar != nil {
		_ = p.bar.Finish()
		p.bar = nil
	}
}
