package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/revuehq/revue"
	safe "github.com/revuehq/revue/internal/term"
	"github.com/revuehq/revue/storage/memstore"
)

func (a *app) importCmd() *cobra.Command {
	var tokens, asJSON bool
	cmd := &cobra.Command{
		Use:   "import FILE|-",
		Short: "Make a workspace from an export",
		Long: `Make a workspace from what "revue export" wrote: that of the export, or the one that
--workspace names. The whole file is checked first; where anything is wrong with it nothing is
changed. The same file again changes nothing. An import that was cut short leaves a workspace
that answers nobody until the same import is run again.

A workspace that has a history of its own takes the export of no other. Where the export goes on
from the last event of the workspace, the rest is added; where the workspace has gone on
since the export, nothing is changed.`,
		Example: `  revue import backup.jsonl
  gunzip < acme.jsonl.gz | revue import - --workspace acme-copy`,
		Args: takes(1, 1),
		RunE: a.humanOnly(func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			file, done, err := a.exportFile(ctx, args[0])
			if err != nil {
				return err
			}
			defer done()
			into, err := a.importInto(ctx)
			if err != nil {
				return err
			}
			defer into.Close() //nolint:errcheck // what was written is committed
			bar := a.progress("importing")
			defer bar.finish()
			got, err := revue.Import(ctx, into, a.pinned(), file, &revue.ImportOptions{Tokens: tokens, Progress: bar.set})
			bar.finish()
			switch {
			case errors.Is(err, revue.ErrInvalid):
				return errors.New(revue.MessageOf(err)) // the command was well formed, the file was not
			case err != nil:
				return err
			case asJSON:
				return writeJSON(a.stdout, got)
			}
			did := "imported"
			switch {
			case got.Ahead:
				did = "nothing was changed: the workspace has all of it and has gone on since"
			case !got.Changed:
				did = "nothing was changed: all of it was there"
			}
			out := a.printer()
			out.own("%s\n%s\n", contents(got.Contents), did)
			if got.TokensLeftOut > 0 {
				out.own("%d tokens were left out: they are in use in another workspace of this database\n", got.TokensLeftOut)
			}
			return out.err
		}),
	}
	cmd.Flags().BoolVar(&tokens, "tokens", false, "let in the tokens whose hashes are in the export: trust who made it")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write what was imported as JSON")
	return cmd
}

// importInto returns the store of an import.
func (a *app) importInto(ctx context.Context) (*lateStore, error) {
	path, err := a.localPath()
	if err != nil {
		return nil, err
	}
	open := func() (*plane, error) { return a.openHere(ctx, path, true) }
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return &lateStore{Store: memstore.New(nil), open: open}, nil
	}
	p, err := open()
	if err != nil {
		return nil, err
	}
	return &lateStore{Store: p.store}, nil
}

// lateStore is the store of an import. Where there is no database it is an empty one until something is written, so that
// a bad file leaves none behind.
type lateStore struct {
	revue.Store

	open func() (*plane, error) // nil when it is open
}

// Update implements [revue.Store].
func (s *lateStore) Update(ctx context.Context, workspace string, fn func(revue.Tx) error) error {
	if s.open != nil {
		p, err := s.open()
		if err != nil {
			return err
		}
		s.Store, s.open = p.store, nil
	}
	return s.Store.Update(ctx, workspace, fn)
}

// exportFile opens a file that can be read twice. What comes from stdin is kept in a file of its own until done is called.
func (a *app) exportFile(ctx context.Context, name string) (file *os.File, done func(), err error) {
	if name != "-" {
		file, err = os.Open(name)
		if err != nil {
			return nil, nil, fmt.Errorf("read the export: %w", err)
		}
		info, err := file.Stat()
		if err == nil && info.Mode().IsRegular() {
			return file, func() { _ = file.Close() }, nil
		}
		defer file.Close() //nolint:errcheck // it was read
		if err == nil && info.IsDir() {
			err = misuse(safe.Line(name, 0) + " is a folder: give the file of an export")
		}
		if err != nil {
			return nil, nil, err
		}
		return spool(file)
	}
	if isTerminal(a.stdin) {
		return nil, nil, misuse("an export is not typed: name its file, or send it to the input")
	}
	stopped := context.AfterFunc(ctx, func() { _ = a.stdin.Close() }) // a read does not end by itself
	defer stopped()
	file, done, err = spool(a.stdin)
	if ctx.Err() != nil && err == nil {
		done()
		err = ctx.Err()
	}
	return file, done, err
}

// spool copies what can be read once into a file that its owner alone may read.
func spool(r io.Reader) (file *os.File, done func(), err error) {
	file, err = os.CreateTemp("", "revue-import-*")
	if err != nil {
		return nil, nil, fmt.Errorf("keep the export for a second reading: %w", err)
	}
	done = func() {
		_ = file.Close()
		_ = os.Remove(file.Name())
	}
	if _, err := io.Copy(file, r); err != nil {
		done()
		return nil, nil, fmt.Errorf("read the export: %w", err)
	}
	return file, done, nil
}
