package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/term"
)

// inbox is the options of the command.
type inbox struct {
	*app
	json, watch bool
	status      string
	stream      string
}

var lotStatuses = []string{string(revue.StatusOpen), string(revue.StatusAnswered), string(revue.StatusDismissed), string(revue.StatusExpired), "all"}

func (a *app) inboxCmd() *cobra.Command {
	in := &inbox{app: a}
	cmd := &cobra.Command{
		Use:   "inbox [LOT]",
		Short: "See what agents ask",
		Long: `See the lots that wait for a human, oldest first: each with its options, what the
agents recommend, the other wordings in it and the earlier decisions that bear on it.
With LOT, see that one whole, in any state.

Text comes from agents. Characters that could act on the terminal or hide
something are shown as \u{…}.`,
		Example: `  revue inbox
  revue inbox --watch
  revue inbox --status all --stream deploys --json
  revue inbox lot_4k2v…`,
		Args: cobra.MaximumNArgs(1),
		RunE: does(func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(lotStatuses, in.status) {
				return misuse(fmt.Sprintf("--status %s: it is one of %v", in.status, lotStatuses))
			}
			if len(args) == 1 {
				if in.watch {
					return misuse("--watch follows the whole inbox: leave out LOT")
				}
				return in.one(cmd.Context(), args[0])
			}
			return in.all(cmd.Context())
		}),
	}
	f := cmd.Flags()
	f.BoolVar(&in.json, "json", false, "write JSON: an array of lots; with --watch one lot a line")
	f.BoolVar(&in.watch, "watch", false, "stay, and show what comes and goes")
	f.StringVar(&in.status, "status", string(revue.StatusOpen), "which lots: open, answered, dismissed, expired or all")
	f.StringVar(&in.stream, "stream", "", "only this lane of the inbox")
	_ = cmd.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(lotStatuses, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (in *inbox) one(ctx context.Context, id string) error {
	p, err := in.open(ctx, false)
	if err != nil {
		return err
	}
	defer p.close() //nolint:errcheck // nothing was written
	l, err := p.Reviewer(in.human()).Lot(ctx, id)
	if err != nil {
		return err
	}
	if in.json {
		return writeJSON(in.stdout, wireLots([]revue.Lot{l}))
	}
	out := &printer{w: in.stdout}
	in.show(out, l, 0)
	return out.err
}

func (in *inbox) all(ctx context.Context) error {
	p, err := in.open(ctx, in.watch)
	if errors.Is(err, revue.ErrNotFound) { // nobody has asked anything yet
		return in.list(nil)
	}
	if err != nil {
		return err
	}
	defer p.close() //nolint:errcheck // nothing was written
	if in.watch {
		return in.follow(ctx, p)
	}
	lots, err := in.read(ctx, p)
	if err != nil {
		return err
	}
	return in.list(lots)
}

// list writes the lots of one reading.
func (in *inbox) list(lots []revue.Lot) error {
	if in.json {
		return writeJSON(in.stdout, wireLots(lots))
	}
	out := &printer{w: in.stdout}
	if len(lots) == 0 {
		if in.status == string(revue.StatusOpen) {
			out.f("The inbox is empty: no agent waits for an answer.\n")
		} else {
			out.f("No such lots.\n")
		}
	}
	for i, l := range lots {
		if i > 0 {
			out.f("\n")
		}
		in.show(out, l, contextLines)
	}
	return out.err
}

// read returns the selected lots whole. A lot that changes its state while it is read is left out.
func (in *inbox) read(ctx context.Context, p *plane) ([]revue.Lot, error) {
	rv := p.Reviewer(in.human())
	f := revue.LotFilter{Stream: in.stream, Limit: 1000}
	if in.status != "all" {
		f.Status = revue.Status(in.status)
	}
	var lots []revue.Lot
	for {
		page, err := rv.Lots(ctx, f)
		if err != nil {
			return nil, err
		}
		for _, l := range page.Items {
			whole, err := rv.Lot(ctx, l.ID)
			if err != nil {
				return nil, err
			}
			if in.selects(whole) {
				lots = append(lots, whole)
			}
		}
		if page.NextCursor == "" {
			return lots, nil
		}
		f.Cursor = page.NextCursor
	}
}

func (in *inbox) selects(l revue.Lot) bool {
	return (in.status == "all" || l.Status == revue.Status(in.status)) && (in.stream == "" || l.Stream == in.stream)
}

// follow shows the lots there are, and then each change of one, until it is interrupted.
func (in *inbox) follow(ctx context.Context, p *plane) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	ran := make(chan error, 1)
	go func() { ran <- p.Run(ctx) }() // it wakes Events at once
	defer func() { stop(); <-ran }()

	err := in.changes(ctx, p)
	if ctx.Err() != nil { // interrupted, as it should end; what was being read does not matter
		return nil
	}
	return err
}

// changes shows what there is and what changes, until ctx ends.
func (in *inbox) changes(ctx context.Context, p *plane) error {
	rv := p.Reviewer(in.human())
	events := rv.Events(ctx, revue.FromNow) // before what there is is read: nothing falls in between
	lots, err := in.read(ctx, p)
	if err != nil {
		return err
	}
	shown := map[string]revue.Revision{}
	for _, l := range lots {
		shown[l.ID] = l.Revision
		if err := in.change(l, false); err != nil {
			return err
		}
	}
	if len(lots) == 0 && !in.json {
		if err := in.list(nil); err != nil {
			return err
		}
	}
	for e, err := range events {
		if err != nil {
			return err
		}
		if e.Lot == "" {
			continue
		}
		l, err := rv.Lot(ctx, e.Lot)
		if err != nil {
			return err
		}
		before, known := shown[l.ID]
		if known && before == l.Revision {
			continue
		}
		switch {
		case in.selects(l):
			shown[l.ID] = l.Revision
		case known:
			delete(shown, l.ID)
		default:
			continue
		}
		if err := in.change(l, known); err != nil {
			return err
		}
	}
	return nil
}

// change shows one lot that is new or has changed: whole while it can be answered, else how it ended.
func (in *inbox) change(l revue.Lot, known bool) error {
	if in.json {
		return writeJSONLine(in.stdout, wireLot(l))
	}
	out := &printer{w: in.stdout}
	switch {
	case l.Status != revue.StatusOpen && known:
		out.f("%s %s\n\n", l.ID, ending(l))
	case known:
		out.f("changed:\n")
		fallthrough
	default:
		in.show(out, l, contextLines)
		out.f("\n")
	}
	return out.err
}

// contextLines is how much of a context is shown in a list.
const contextLines = 12

// show prints one lot. All of its text is hostile until term has seen it.
func (in *inbox) show(out *printer, l revue.Lot, lines int) {
	asked := fmt.Sprintf("%d asks", len(l.Asks))
	if len(l.Asks) == 1 {
		asked = "1 ask"
	}
	out.f("%s  %s  %s  revision %d  %s  in %s\n", term.Line(l.ID, 0), l.Kind, l.Status, l.Revision, asked, term.Line(l.Stream, 0))
	out.f("%s", term.Block(l.Question, "  ", 0))
	for _, o := range l.Options {
		out.f("    %s", shellWord(o.Value))
		if o.Label != "" && o.Label != o.Value {
			out.f("  %s", term.Line(o.Label, 200))
		}
		if l.Recommendation != "" && (o.Value == l.Recommendation || o.Label == l.Recommendation) {
			out.f("  (recommended)")
		}
		out.f("\n")
		if o.Consequence != "" {
			out.f("%s", term.Block(o.Consequence, "      → ", 4))
		}
	}
	if len(l.Options) == 0 && l.Recommendation != "" {
		out.f("  recommended: %s\n", term.Line(l.Recommendation, 400))
	}
	if l.Context != "" {
		out.f("%s", term.Block(l.Context, "  | ", lines))
	}
	for _, af := range l.Affected {
		out.f("  affects: %s", term.Line(af.Label, 200))
		if af.Meta != "" {
			out.f(" (%s)", term.Line(af.Meta, 200))
		}
		out.f("\n")
	}
	scope(out, "concepts", l.Concepts)
	scope(out, "files", l.Files)
	for _, r := range l.Asks {
		showAsk(out, l, r)
	}
	for _, m := range l.Pinned {
		out.f("  precedent %s (%s, score %.2f): %s → %s\n", m.DecisionID, m.Freshness, m.Score,
			term.Line(m.Question, 200), term.Line(answerText(m.Answer, m.AnswerLabel), 200))
		if m.Reason != "" {
			out.f("    %s\n", term.Line(m.Reason, 300))
		}
		if l.Status == revue.StatusOpen {
			out.f("    the same decision: revue answer %s --confirms %s\n", l.ID, m.DecisionID)
		}
	}
	for _, r := range l.Related {
		out.f("  see also %s: %s", r.LotID, term.Line(r.Question, 200))
		if r.Differs != "" {
			out.f(" (differs: %s)", term.Line(r.Differs, 200))
		}
		out.f("\n")
	}
	if l.Earlier != nil {
		out.f("  dismissed before by %s", term.Line(l.Earlier.By.Name, 100))
		if l.Earlier.Reason != "" {
			out.f(": %s", term.Line(l.Earlier.Reason, 200))
		}
		out.f("\n")
	}
	if l.Status != revue.StatusOpen {
		out.f("  %s\n", ending(l))
		return
	}
	if !l.ExpiresAt.IsZero() {
		out.f("  expires %s\n", stamp(l.ExpiresAt))
	}
	how := "VALUE"
	if len(l.Options) == 0 && l.Kind != revue.KindApproval {
		how = "--text TEXT"
	}
	out.f("  answer it: revue answer %s %s --seen %d\n", l.ID, how, l.Revision)
}

func showAsk(out *printer, l revue.Lot, r revue.AskRecord) {
	from := ""
	if r.Repo != "" {
		from = " in " + term.Line(r.Repo, 200)
	}
	switch {
	case r.Verdict == revue.VerdictLikely:
		out.f("  %s likely asks the same, %s%s:\n", r.ID, term.Line(r.Agent, 100), from)
		out.f("%s", term.Block(r.Question, "    ", 0))
		if r.Differs != "" {
			out.f("    differs: %s\n", term.Line(r.Differs, 300))
		}
	case r.Question != l.Question:
		out.f("  %s asks the same, %s%s:\n", r.ID, term.Line(r.Agent, 100), from)
		out.f("%s", term.Block(r.Question, "    ", 0))
	default:
		out.f("  %s asked by %s%s\n", r.ID, term.Line(r.Agent, 100), from)
	}
}

func scope(out *printer, name string, items []string) {
	if len(items) == 0 {
		return
	}
	out.f("  %s:", name)
	for i, s := range items {
		if i == 12 {
			out.f(" … (%d more)", len(items)-i)
			break
		}
		out.f(" %s", term.Line(s, 100))
	}
	out.f("\n")
}

// ending says in one line how a lot ended.
func ending(l revue.Lot) string {
	switch {
	case l.Status == revue.StatusAnswered && l.Answer != nil:
		s := fmt.Sprintf("answered by %s (%s): %s", term.Line(l.Answer.By.Name, 100), term.Line(l.Answer.By.Via, 60),
			term.Line(answerText(l.Answer.Value, l.Answer.Label), 400))
		if l.DecisionID != "" {
			s += "  " + l.DecisionID
		}
		return s
	case l.Status == revue.StatusDismissed && l.Dismissed != nil:
		s := "dismissed by " + term.Line(l.Dismissed.By.Name, 100)
		if l.Dismissed.Reason != "" {
			s += ": " + term.Line(l.Dismissed.Reason, 400)
		}
		return s
	default:
		return string(l.Status)
	}
}

func answerText(value, label string) string {
	if label == "" || label == value {
		return value
	}
	return value + " (" + label + ")"
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
