package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/term"
)

// verify is one run of the command.
type verify struct {
	*app

	journal bool
	keys    string // a file
	head    string // SEQ:HASH
	asJSON  bool
}

func (a *app) verifyCmd() *cobra.Command {
	v := &verify{app: a}
	cmd := &cobra.Command{
		Use:   "verify [RECEIPT]",
		Short: "Check a receipt, or with --journal the whole history of a workspace",
		Long: `Check a receipt, and say what was signed. RECEIPT is a file, - for the input, or the receipt
itself: signed in compact form, or as JSON. With --keys, a file of what /.well-known/jwks.json
of the plane says, or "revue keys export", it needs nothing else: no database, no network.
Without, the keys are those of the database. With --db, the receipt is also compared with the journal.

With --journal, walk the journal of the workspace from its first event: every event in order, none missing,
none changed; everything that it recorded is there and is what it was. Keep the head that is
printed, or any receipt: --head, or a RECEIPT beside --journal, shows whether the journal was cut
off at its end or written anew.`,
		Example: `  revue verify receipt.json --keys keys.json
  revue verify --journal --head 1024:9f86d081…`,
		Args: takes(0, 1),
		RunE: does(func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && !v.journal {
				return misuse("say what to verify: a RECEIPT, or --journal")
			}
			if v.head != "" && !v.journal {
				return misuse("--head goes with --journal")
			}
			err := v.run(cmd.Context(), args)
			if errors.Is(err, revue.ErrInvalid) || errors.Is(err, revue.ErrInternal) {
				return errors.New(revue.MessageOf(err)) // the command was well formed, what it looked at was not
			}
			return err
		}),
	}
	cmd.Flags().BoolVar(&v.journal, "journal", false, "check the workspace and its journal")
	cmd.Flags().StringVar(&v.keys, "keys", "", "the file with the key set of the plane")
	cmd.Flags().StringVar(&v.head, "head", "", "an event that must be in the journal, as SEQ:HASH")
	cmd.Flags().BoolVar(&v.asJSON, "json", false, "write what was signed, or with --journal what was checked, as JSON")
	return cmd
}

func (v *verify) run(ctx context.Context, args []string) error {
	head, err := parseHead(v.head)
	if err != nil {
		return err
	}
	var r given
	if len(args) == 1 {
		if r, err = v.receipt(args[0]); err != nil {
			return err
		}
		if v.keys != "" {
			if err := v.offline(&r); err != nil {
				return err
			}
			if !v.journal && v.db == "" {
				return v.say(r.signed, false)
			}
		}
	}
	return v.onStore(ctx, func(ctx context.Context, p *plane) error {
		if len(args) == 1 && v.keys == "" {
			keys, err := p.Keys(ctx)
			if err != nil {
				return err
			}
			if err := r.verify(keys); err != nil {
				return err
			}
		}
		if v.journal {
			if len(args) == 1 {
				if head.Seq > 0 {
					return misuse("give --head or a RECEIPT, not both")
				}
				head = revue.Event{Seq: r.signed.Seq, Hash: r.signed.JournalHash}
			}
			return v.workspaceOf(ctx, p, head)
		}
		if err := inJournal(ctx, p.store, cmp.Or(v.pinned(), r.signed.Workspace), r.signed); err != nil {
			return err
		}
		return v.say(r.signed, true)
	})
}

// parseHead reads SEQ:HASH.
func parseHead(s string) (revue.Event, error) {
	if s == "" {
		return revue.Event{}, nil
	}
	seq, hash, ok := strings.Cut(s, ":")
	n, err := strconv.ParseInt(seq, 10, 64)
	if !ok || err != nil || n < 1 || len(hash) != 64 || strings.Trim(hash, "0123456789abcdef") != "" {
		return revue.Event{}, misuse("--head is SEQ:HASH, as --journal prints it")
	}
	return revue.Event{Seq: revue.Seq(n), Hash: hash}, nil
}

// given is a receipt that the user has.
type given struct {
	jws    string
	fields *revue.Receipt // where it was given as JSON
	signed revue.Receipt
}

// verify checks the receipt and notes what was signed.
func (r *given) verify(keys revue.KeySet) (err error) {
	if r.fields != nil {
		if err := keys.VerifyReceipt(*r.fields); err != nil {
			return err
		}
	}
	r.signed, err = keys.Verify(r.jws)
	return err
}

// maxGiven bounds what is read of a receipt or a key set.
const maxGiven = 1 << 20

// receipt reads what the user gave.
func (v *verify) receipt(arg string) (given, error) {
	var text []byte
	if arg == "-" {
		b, err := io.ReadAll(io.LimitReader(v.stdin, maxGiven+1))
		if err != nil {
			return given{}, fmt.Errorf("read the receipt: %w", err)
		}
		text = b
	} else if b, err := readSmall(arg); err == nil {
		text = b
	} else if strings.HasPrefix(strings.TrimSpace(arg), "{") || strings.Count(arg, ".") == 2 && !strings.ContainsAny(arg, `/\ `) {
		text = []byte(arg)
	} else {
		return given{}, fmt.Errorf("read the receipt: %w", err)
	}
	if len(text) > maxGiven {
		return given{}, errors.New("this is too long to be a receipt")
	}
	text = bytes.TrimSpace(text)
	if len(text) == 0 || text[0] != '{' {
		return given{jws: string(text)}, nil
	}
	var in struct {
		Receipt json.RawMessage `json:"receipt"`
	}
	if err := json.Unmarshal(text, &in); err != nil {
		return given{}, fmt.Errorf("the receipt is no JSON: %w", err)
	}
	if in.Receipt != nil {
		text = in.Receipt
	}
	var r revue.Receipt
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields() // nobody signed them
	if err := dec.Decode(&r); err != nil {
		return given{}, fmt.Errorf("this is no receipt, or has what is in none: %w", err)
	}
	if r.JWS == "" {
		return given{}, errors.New("the receipt is not signed: it has no jws; read it again from the plane")
	}
	return given{jws: r.JWS, fields: &r}, nil
}

// readSmall reads a file, and little more of it than may be good.
func readSmall(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was read
	return io.ReadAll(io.LimitReader(f, maxGiven+1))
}

// offline checks a receipt with the key set of a file.
func (v *verify) offline(r *given) error {
	b, err := readSmall(v.keys)
	if err != nil {
		return fmt.Errorf("read the key set: %w", err)
	}
	if len(b) > maxGiven {
		return errors.New("this is too long to be a key set")
	}
	var keys revue.KeySet
	if err := json.Unmarshal(b, &keys); err != nil {
		if revue.CodeOf(err) == revue.CodeInvalid {
			return err
		}
		return fmt.Errorf("the key set is no JSON: %w", err)
	}
	if len(keys) == 0 {
		return errors.New("the key set has no key of a plane: save what /.well-known/jwks.json says")
	}
	return r.verify(keys)
}

// inJournal checks that the journal has the event that a receipt names.
func inJournal(ctx context.Context, store revue.Store, workspace string, r revue.Receipt) error {
	var found []revue.Event
	err := store.View(ctx, workspace, func(tx revue.Tx) (err error) {
		found, err = tx.Events(max(r.Seq-1, 0), 1)
		return err
	})
	switch {
	case err != nil:
		return err
	case len(found) == 0 || found[0].Seq != r.Seq:
		return fmt.Errorf("the receipt is signed, but the journal of workspace %s has no event %d: its end was cut off, or it is another one", term.Line(workspace, 0), r.Seq)
	case found[0].Hash != r.JournalHash || found[0].Sum() != r.JournalHash:
		return fmt.Errorf("the receipt is signed, but event %d of workspace %s is another one: the journal was changed", r.Seq, term.Line(workspace, 0))
	}
	return nil
}

// say says what was signed.
func (v *verify) say(r revue.Receipt, compared bool) error {
	if v.asJSON {
		return writeJSON(v.stdout, struct {
			revue.Receipt

			InJournal bool `json:"inJournal"` // it was compared with the journal
		}{r, compared})
	}
	line := func(s string) string { return term.Line(s, 0) }
	out := v.printer()
	out.own("The receipt verifies: nobody changed what is below since it was signed.\n")
	out.own("  receipt    %s\n", line(r.ID))
	out.own("  workspace  %s\n", line(r.Workspace))
	out.own("  how        %s\n", line(r.Kind))
	if r.Answer != "" {
		out.own("  answer\n%s", term.Block(r.Answer, "    ", 0, ""))
	}
	if r.Purged {
		out.own("  the answer was purged\n")
	}
	out.f("  by         %s, through %s\n", line(r.DecidedBy.Name), line(r.DecidedBy.Via))
	out.own("  at         %s\n", stamp(r.At))
	for _, x := range []struct{ name, id string }{{"lot", r.Lot}, {"ask", r.Ask}, {"decision", r.Decision}, {"question", "sha256:" + r.QuestionDigest}} {
		if x.id != "" {
			out.own("  %-9s  %s\n", x.name, line(x.id))
		}
	}
	out.own("  event      %d:%s\n", r.Seq, line(r.JournalHash))
	if compared {
		out.own("The journal has this event.\n")
	}
	return out.err
}

// workspaceOf checks the workspace and its journal.
func (v *verify) workspaceOf(ctx context.Context, p *plane, head revue.Event) error {
	bar := v.progress("verifying")
	defer bar.finish()
	got, err := revue.VerifyWorkspace(ctx, p.store, v.workspaceName(), &revue.VerifyOptions{Head: head, Progress: bar.set})
	bar.finish()
	if err != nil {
		return err
	}
	if v.asJSON {
		return writeJSON(v.stdout, got)
	}
	_, err = fmt.Fprintf(v.stdout, "%d events verify; head %d:%s\n", got.Events, got.Events, got.Head)
	return err
}
