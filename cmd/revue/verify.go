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
	"slices"
	"strconv"
	"strings"
	"unicode"

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
Without, the keys are those of the database. With --db, the receipt is also compared with the journal,
with the receipt that is stored there, and with the question it is of.

In an outcome, what it says around its receipt has to be what the receipt says: status, answer, lotId,
decisionId, decidedBy. The rest of it, the note among that, nobody signed.

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
				if err := revue.VerifyReceipt(ctx, p.store, v.workspaceName(), r.signed); err != nil {
					return err
				}
			}
			return v.workspaceOf(ctx, p, head)
		}
		if err := revue.VerifyReceipt(ctx, p.store, cmp.Or(v.pinned(), r.signed.Workspace), r.signed); err != nil {
			return err
		}
		return v.say(r.signed, true)
	})
}

// parseHead reads SEQ:HASH, or the head in the first line of an export.
func parseHead(s string) (revue.Event, error) {
	if s == "" {
		return revue.Event{}, nil
	}
	seq, hash, ok := strings.Cut(s, ":")
	n, err := strconv.ParseInt(seq, 10, 64)
	if strings.HasPrefix(strings.TrimSpace(s), "{") {
		var head struct {
			Seq  int64  `json:"seq"`
			Hash string `json:"hash"`
		}
		err, ok = json.Unmarshal([]byte(s), &head), true
		n, hash = head.Seq, head.Hash
	}
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
	if err := plainly(text); err != nil {
		return given{}, err
	}
	var around map[string]json.RawMessage
	if err := json.Unmarshal(text, &around); err != nil {
		return given{}, fmt.Errorf("the receipt is no JSON: %w", err)
	}
	inside := around["receipt"] != nil
	if inside {
		text = around["receipt"]
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
	if inside {
		if err := agrees(around, r); err != nil {
			return given{}, err
		}
	}
	return given{jws: r.JWS, fields: &r}, nil
}

// stated are the members of an outcome that its receipt states too, and of the receipt.
var stated = []string{ //nolint:gochecknoglobals // a table
	"receipt", "status", "kind", "answer", "lotId", "decisionId", "decisionRef", "decidedBy", "id", "name", "via",
	"workspace", "lot", "ask", "decision", "questionDigest", "at", "seq", "journalHash", "purged", "jws",
}

// plainly refuses JSON that two programs may read in two ways: a member twice, one that differs from another in case
// alone, one that is only nearly named as what a receipt states, and more than one value.
func plainly(text []byte) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	type level struct {
		names map[string]bool // of an object, nil for a list
		value bool            // a value comes next
	}
	var at []level
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return errors.New("the receipt is no JSON: it is cut short")
		}
		if err != nil {
			return fmt.Errorf("the receipt is no JSON: %w", err)
		}
		top := len(at) - 1
		if d, ok := tok.(json.Delim); ok {
			switch d {
			case '{':
				at = append(at, level{names: map[string]bool{}})
				continue
			case '[':
				at = append(at, level{})
				continue
			default:
				at = at[:top]
			}
		} else if top >= 0 && at[top].names != nil && !at[top].value {
			name, _ := tok.(string)
			folded := fold(name)
			if at[top].names[folded] {
				return fmt.Errorf("the member %s is there twice, so that programs may read different things: take the outcome as the plane gave it", term.Line(name, 80))
			}
			for _, known := range stated {
				if name != known && folded == fold(known) {
					return fmt.Errorf("the member %s is not %s, and programs may take it for that: take the outcome as the plane gave it", term.Line(name, 80), known)
				}
			}
			at[top].names[folded], at[top].value = true, true
			continue
		}
		if len(at) == 0 {
			break
		}
		at[len(at)-1].value = false
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more behind the receipt")
	}
	return nil
}

// fold makes names equal that differ in case alone, by the rule that decoders of JSON go by.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, s)
}

// agrees checks what an outcome says around its receipt: a script reads it there.
func agrees(around map[string]json.RawMessage, r revue.Receipt) error {
	differs := func(name string) error {
		return fmt.Errorf("the outcome was changed: its %s is not what the receipt in it says", name)
	}
	for _, x := range []struct{ name, want string }{
		{"status", r.Kind},
		{"kind", r.Kind},
		{"answer", r.Answer},
		{"lotId", r.Lot},
		{"decisionId", r.Decision},
		{"workspace", r.Workspace},
		{"decisionRef", r.Ask},
		{"questionDigest", r.QuestionDigest},
	} {
		raw, there := around[x.name]
		if x.name == "decisionRef" && r.Ask == "" { // the receipt of a lot is that of all who asked
			continue
		}
		if x.name == "answer" && r.Purged { // it was given out before
			continue
		}
		if !there {
			if x.name == "answer" && x.want != "" && around["status"] != nil {
				return differs(x.name)
			}
			continue
		}
		var is string
		if string(bytes.TrimSpace(raw)) == "null" || json.Unmarshal(raw, &is) != nil || is != x.want {
			return differs(x.name)
		}
	}
	if raw, there := around["decidedBy"]; there {
		var by map[string]any
		if json.Unmarshal(raw, &by) != nil || by == nil {
			return differs("decidedBy")
		}
		for _, x := range []struct{ name, want string }{{"id", r.DecidedBy.ID}, {"name", r.DecidedBy.Name}, {"via", r.DecidedBy.Via}} {
			if is, there := by[x.name]; there && is != x.want {
				return differs("decidedBy")
			}
		}
	}
	return nil
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
	h := v.human()
	all, err := p.Admin(h).Workspaces(ctx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(all, func(w revue.Workspace) bool { return w.Name == h.Workspace }) {
		return &revue.Error{
			Code: revue.CodeNotFound, ID: h.Workspace,
			Message: fmt.Sprintf("there is no workspace %s in %s: nothing was verified", term.Line(h.Workspace, 0), p.path),
		}
	}
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
	_, err = fmt.Fprintf(v.stdout, "%d events verify; head %s\n", got.Events, cmp.Or(got.Head, "none"))
	return err
}
