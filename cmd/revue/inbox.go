package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/term"
)

// inboxOptions are the options of the command.
type inboxOptions struct {
	*app
	json, watch, toWeb bool
	status             string
	stream             string
	url                string // of the plane, as browsers reach it
}

var lotStatuses = []string{string(revue.StatusOpen), string(revue.StatusAnswered), string(revue.StatusDismissed), string(revue.StatusExpired), "all"}

// slug is what a stream may be called.
var slug = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

func (a *app) inboxCmd() *cobra.Command {
	in := &inboxOptions{app: a}
	cmd := &cobra.Command{
		Use:   "inbox [LOT]",
		Short: "See what agents ask",
		Long: `See the lots that wait for a human, oldest first: each with its options, what the
agents recommend, the other wordings in it and the earlier decisions that bear on it.
With LOT, see that one whole, in any state.

Text of agents stands behind a bar "|", which begins no line of revue's own. Characters in it
that could act on the terminal or hide something are shown as \u{…}. A list cuts long texts;
LOT shows them whole.

With --web, get a link that opens the inbox in a browser: it works once, within 15 minutes.
The session it opens is listed and ended with "revue token".`,
		Example: `  revue inbox
  revue inbox --web
  revue inbox --watch
  revue inbox --status all --stream deploys --json
  revue inbox lot_4k2v…`,
		Args: takes(0, 1),
		RunE: does(func(cmd *cobra.Command, args []string) error {
			if in.toWeb {
				return in.openWeb(cmd, args)
			}
			if cmd.Flags().Changed("url") {
				return misuse("--url goes with --web")
			}
			if !slices.Contains(lotStatuses, in.status) {
				return misuse(fmt.Sprintf("--status %s: it is one of %v", in.status, lotStatuses))
			}
			if cmd.Flags().Changed("stream") {
				if in.stream = strings.ToLower(strings.TrimSpace(in.stream)); !slug.MatchString(in.stream) {
					return misuse(fmt.Sprintf("--stream %q: a stream has up to %d of a-z, 0-9, '-', '_' and '.'", in.stream, revue.MaxStream))
				}
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
	f.BoolVar(&in.toWeb, "web", false, `print a link that opens the inbox in a browser, once; with --json {"url","expiresAt"}`)
	f.StringVar(&in.url, "url", "", "with --web, where browsers reach the plane (default: where it is; of a database "+ownURL+")")
	_ = cmd.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(lotStatuses, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// openWeb is the command with --web, which is for humans alone.
func (in *inboxOptions) openWeb(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return misuse("--web opens the whole inbox: leave out LOT")
	}
	for _, flag := range []string{"watch", "status", "stream"} {
		if cmd.Flags().Changed(flag) {
			return misuse("--web opens the whole inbox: leave out --" + flag)
		}
	}
	if cmd.Flags().Changed("url") && isBlank(in.url) {
		return misuse("--url is blank")
	}
	if err := in.refuseAgent("revue inbox --web"); err != nil {
		return err
	}
	return in.web(cmd.Context())
}

func (in *inboxOptions) one(ctx context.Context, id string) error {
	return in.seated(ctx, func(ctx context.Context, s *seat) error {
		l, err := s.Lot(ctx, id)
		if err != nil {
			return err
		}
		if in.json {
			return writeJSON(in.stdout, wireLots([]revue.Lot{l}))
		}
		out := in.printer()
		in.show(ctx, s, out, l, limits{})
		return out.err
	})
}

func (in *inboxOptions) all(ctx context.Context) error {
	nothing := in.nothingYet()
	if nothing && !in.watch {
		return in.list(ctx, nil, nil)
	}
	return in.seatedAt(ctx, nothing, func(ctx context.Context, s *seat) error {
		if in.watch {
			return in.follow(ctx, s)
		}
		lots, err := in.read(ctx, s)
		if err != nil {
			return err
		}
		return in.list(ctx, s, lots)
	})
}

// list writes the lots of one reading.
func (in *inboxOptions) list(ctx context.Context, s *seat, lots []revue.Lot) error {
	if in.json {
		return writeJSON(in.stdout, wireLots(lots))
	}
	out := in.printer()
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
		in.show(ctx, s, out, l, listed())
	}
	return out.err
}

// read returns the selected lots whole. A lot that changes its state while it is read is left out.
func (in *inboxOptions) read(ctx context.Context, s *seat) ([]revue.Lot, error) {
	f := revue.LotFilter{Stream: in.stream, Limit: 1000}
	if in.status != "all" {
		f.Status = revue.Status(in.status)
	}
	var lots []revue.Lot
	for {
		page, err := s.Lots(ctx, f)
		if err != nil {
			return nil, err
		}
		for _, l := range page.Items {
			whole, err := s.Lot(ctx, l.ID)
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

func (in *inboxOptions) selects(l revue.Lot) bool {
	return (in.status == "all" || l.Status == revue.Status(in.status)) && (in.stream == "" || l.Stream == in.stream)
}

// follow shows the lots there are, and then each change of one, until it is interrupted.
func (in *inboxOptions) follow(ctx context.Context, s *seat) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	ran := make(chan error, 1)
	go func() { ran <- s.run(ctx) }() // it wakes Events at once
	defer func() { stop(); <-ran }()

	err := in.changes(ctx, s)
	if ctx.Err() != nil { // interrupted, as it should end; what was being read does not matter
		return nil
	}
	return err
}

// changes shows what there is and what changes, until ctx ends.
func (in *inboxOptions) changes(ctx context.Context, s *seat) error {
	events := s.Events(ctx, revue.FromNow) // before what there is is read: nothing falls in between
	lots, err := in.read(ctx, s)
	if err != nil {
		return err
	}
	shown := map[string]revue.Revision{}
	for _, l := range lots {
		shown[l.ID] = l.Revision
		if err := in.change(ctx, s, l, false); err != nil {
			return err
		}
	}
	if len(lots) == 0 && !in.json {
		if err := in.list(ctx, s, nil); err != nil {
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
		l, err := s.Lot(ctx, e.Lot)
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
		if err := in.change(ctx, s, l, known); err != nil {
			return err
		}
	}
	return nil
}

// change shows one lot that is new or has changed: whole while it can be answered, else how it ended.
func (in *inboxOptions) change(ctx context.Context, s *seat, l revue.Lot, known bool) error {
	if in.json {
		return writeJSONLine(in.stdout, wireLot(l))
	}
	out := in.printer()
	switch {
	case l.Status != revue.StatusOpen && known:
		out.f("%s %s\n\n", term.Line(l.ID, 0), ending(l))
	case known:
		out.f("changed:\n")
		fallthrough
	default:
		in.show(ctx, s, out, l, listed())
		out.f("\n")
	}
	return out.err
}

// limits is how much of a card is shown. 0 is all.
type limits struct{ question, context, wording, affected int }

// listed is how much of one is shown in a list.
func listed() limits { return limits{question: 8, context: 12, wording: 4, affected: 12} }

// show prints one lot. All of its text is hostile until term has seen it, and no line of it begins like one of
// revue's own.
func (in *inboxOptions) show(ctx context.Context, s *seat, out *printer, l revue.Lot, most limits) {
	id, more := term.Line(l.ID, 0), ""
	if most != (limits{}) {
		more = "revue inbox " + id + in.flags()
	}
	out.own("%s  %s  %s  revision %d  %s  in %s  asked %s\n",
		id, l.Kind, l.Status, l.Revision, plural(len(l.Asks), "ask"), term.Line(l.Stream, 0), ago(l.CreatedAt, time.Now()))
	out.f("%s", term.Block(l.Question, "  ", most.question, more))
	for _, o := range l.Options {
		out.f("    %s", shellWord(o.Value))
		if l.Recommendation != "" && (o.Value == l.Recommendation || o.Label == l.Recommendation) {
			out.f("  (recommended)") // before the label, which could say so itself
		}
		if o.Label != "" && o.Label != o.Value {
			out.f("  | %s", term.Line(o.Label, 200))
		}
		out.f("\n")
		out.f("%s", term.Block(o.Consequence, "      ", most.wording, more))
	}
	if len(l.Options) == 0 && l.Recommendation != "" {
		out.f("  recommended:\n%s", term.Block(l.Recommendation, "    ", most.wording, more))
	}
	if l.Context != "" {
		out.f("  context:\n%s", term.Block(l.Context, "    ", most.context, more))
	}
	showAffected(out, l.Affected, most.affected, more)
	scope(out, "concepts", l.Concepts)
	scope(out, "files", l.Files)
	for _, r := range l.Asks {
		showAsk(out, l, r, most.wording, more)
	}
	in.showBeside(ctx, s, out, l)
	if l.Status != revue.StatusOpen {
		out.f("  %s\n", ending(l))
		return
	}
	if !l.ExpiresAt.IsZero() {
		out.f("  expires %s\n", stamp(l.ExpiresAt))
	}
	in.showCommands(out, l)
}

func showAffected(out *printer, affected []revue.Affected, most int, more string) {
	for i, af := range affected {
		if most > 0 && i == most {
			out.own("  … %s: %s\n", plural(len(affected)-i, "more affected thing"), more)
			return
		}
		out.f("  affects: | %s", term.Line(af.Label, 200))
		if af.Meta != "" {
			out.f(" (%s)", term.Line(af.Meta, 200))
		}
		out.f("\n")
	}
}

// showBeside prints what a human should know beside the card: precedents, other lots, an earlier end.
func (in *inboxOptions) showBeside(ctx context.Context, s *seat, out *printer, l revue.Lot) {
	for _, m := range l.Pinned {
		out.f("  precedent %s (%s, score %.2f): | %s → %s\n", term.Line(m.DecisionID, 0), m.Freshness, m.Score,
			term.Line(m.Question, 200), term.Line(answerText(m.Answer, m.AnswerLabel), 200))
		if m.Reason != "" {
			out.f("    reason: | %s\n", term.Line(m.Reason, 300))
		}
		if l.Status == revue.StatusOpen {
			out.own("    the same decision: revue answer %s --confirms %s%s\n", term.Line(l.ID, 0), term.Line(m.DecisionID, 0), in.flags())
		}
	}
	for _, r := range l.Related {
		out.f("  see also %s", term.Line(r.LotID, 0))
		if other, err := s.Lot(ctx, r.LotID); err == nil {
			out.f(" (%s)", other.Status)
		}
		out.f(": | %s", term.Line(r.Question, 200))
		if r.Differs != "" {
			out.f(" (differs: %s)", term.Line(r.Differs, 200))
		}
		out.f("\n")
	}
	if l.Earlier != nil {
		what := "dismissed before"
		if l.Earlier.LotID == l.ID {
			what = "reopened; it was dismissed"
		}
		out.f("  %s by %s", what, term.Line(l.Earlier.By.Name, 100))
		if l.Earlier.Reason != "" {
			out.f(": | %s", term.Line(l.Earlier.Reason, 200))
		}
		out.f("\n")
	}
}

// shortValue is the longest value, in bytes, that a line to be copied shows.
const shortValue = 24

// showCommands prints how an open lot is answered.
func (in *inboxOptions) showCommands(out *printer, l revue.Lot) {
	answer := "revue answer " + term.Line(l.ID, 0)
	seen := fmt.Sprintf("--seen %d%s", l.Revision, in.flags())
	switch {
	case l.Kind == revue.KindApproval:
		out.own("  approve it: %s %s %s\n", answer, revue.Approved, seen)
		out.own("  decline it: %s %s %s\n", answer, revue.Declined, seen)
		return
	case len(l.Options) == 0:
		out.own("  answer it: %s --text TEXT %s\n", answer, seen)
	default:
		out.own("  answer it: %s VALUE %s\n", answer, seen)
	}
	if i := slices.IndexFunc(l.Options, func(o revue.Option) bool { return strings.HasPrefix(o.Value, "-") }); i >= 0 {
		value := shellWord(l.Options[i].Value)
		if len(value) > shortValue || strings.Contains(value, "  ") {
			value = "VALUE" // it would run on into a row of the terminal that looks like a line of its own
		}
		out.own("  a value with a dash goes last: %s %s -- %s\n", answer, seen, value)
	}
}

func showAsk(out *printer, l revue.Lot, r revue.AskRecord, most int, more string) {
	from := ""
	if r.Repo != "" {
		from = " in " + term.Line(r.Repo, 200)
	}
	switch {
	case r.Verdict == revue.VerdictLikely:
		out.f("  %s likely asks the same, %s%s:\n", term.Line(r.ID, 0), term.Line(r.Agent, 100), from)
		out.f("%s", term.Block(r.Question, "    ", most, more))
		if r.Differs != "" {
			out.f("    differs: | %s\n", term.Line(r.Differs, 300))
		}
	case r.Question != l.Question:
		out.f("  %s asks the same, %s%s:\n", term.Line(r.ID, 0), term.Line(r.Agent, 100), from)
		out.f("%s", term.Block(r.Question, "    ", most, more))
	default:
		out.f("  %s asked by %s%s\n", term.Line(r.ID, 0), term.Line(r.Agent, 100), from)
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
			s += "  " + term.Line(l.DecisionID, 0)
		}
		return s + "  at " + stamp(l.Answer.At)
	case l.Status == revue.StatusDismissed && l.Dismissed != nil:
		s := "dismissed by " + term.Line(l.Dismissed.By.Name, 100) + " at " + stamp(l.Dismissed.At)
		if l.MergedInto != "" {
			s += ", reopened since: its asks went to " + term.Line(l.MergedInto, 0)
		}
		if l.Dismissed.Reason != "" {
			s += ": " + term.Line(l.Dismissed.Reason, 400)
		}
		return s
	case l.Status == revue.StatusExpired:
		return "expired at " + stamp(l.ExpiresAt)
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

// ago says roughly how long before now t was.
func ago(t, now time.Time) string {
	switch d := now.Sub(t); {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd ago", int(d.Hours()/24))
	}
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
