package revue

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strconv"
	"time"
)

// reviewer is a Desk bound to one human.
type reviewer struct {
	desk  *Desk
	human Human
}

func (r *reviewer) who() Who { return Who{ID: r.human.ID, Name: r.human.Name, Via: r.human.Via} }

// ready refuses a human that is bound to no workspace or has no name to be shown by.
func (r *reviewer) ready() error {
	if r.human.Workspace == "" || r.human.ID == "" || blank(r.human.Name) {
		return invalid("human", "a reviewer needs a workspace, an id and a name")
	}
	return nil
}

func (r *reviewer) view(ctx context.Context, fn func(*tx) error) error {
	if err := r.ready(); err != nil {
		return err
	}
	return r.desk.view(ctx, r.human.Workspace, fn)
}

func (r *reviewer) update(ctx context.Context, fn func(*tx) error) error {
	if err := r.ready(); err != nil {
		return err
	}
	return r.desk.update(ctx, r.human.Workspace, fn)
}

// cursor and page turn Seq into opaque cursors and back.
func cursor(s Seq) string { return "s" + strconv.FormatInt(int64(s), 36) }

func seqOf(cursor string) (Seq, error) {
	if cursor == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(cursor[1:], 36, 64)
	if cursor[0] != 's' || err != nil || n < 0 {
		return 0, invalid("cursor", "is none of ours; leave it out to start over")
	}
	return Seq(n), nil
}

func pageSize(limit int) int {
	if limit <= 0 {
		return 100
	}
	return min(limit, 1000)
}

// cut makes a page of at most limit items out of what a query for one more found.
func cut[T any](found []T, limit int, seq func(T) Seq) Page[T] {
	if len(found) <= limit {
		return Page[T]{Items: found}
	}
	return Page[T]{Items: found[:limit], NextCursor: cursor(seq(found[limit-1]))}
}

// Lots implements [Reviewer].
func (r *reviewer) Lots(ctx context.Context, f LotFilter) (Page[Lot], error) {
	after, err := seqOf(f.Cursor)
	if err != nil {
		return Page[Lot]{}, err
	}
	switch f.Status {
	case "", StatusOpen, StatusAnswered, StatusDismissed, StatusExpired:
	default:
		return Page[Lot]{}, invalid("status", "is none of open, answered, dismissed and expired")
	}
	limit := pageSize(f.Limit)
	var page Page[Lot]
	err = r.view(ctx, func(t *tx) error {
		page = Page[Lot]{}
		q := LotQuery{Kind: f.Kind, Stream: f.Stream, After: after, Newest: f.Newest, Limit: limit + 1}
		// What has expired but was not written down yet is stored as open: filter on what it is now.
		if f.Status != StatusExpired {
			q.Status = f.Status
		}
		for len(page.Items) <= limit {
			lots, err := t.FindLots(q)
			if err != nil {
				return err
			}
			for _, lot := range lots {
				q.After = lot.Seq
				if lot = lot.At(t.now); f.Status == "" || lot.Status == f.Status {
					page.Items = append(page.Items, lot)
				}
			}
			if len(lots) < q.Limit {
				break
			}
		}
		page = cut(page.Items, limit, func(l Lot) Seq { return l.Seq })
		for i := range page.Items {
			if err := t.withAsks(&page.Items[i]); err != nil {
				return err
			}
			page.Items[i].Context = ""
			for j := range page.Items[i].Asks {
				page.Items[i].Asks[j].Context = ""
			}
		}
		return nil
	})
	return page, err
}

// withAsks fills in the asks of a lot, and makes its lists lists.
func (t *tx) withAsks(lot *Lot) (err error) {
	lot.Asks, err = t.FindAsks(AskQuery{Lot: lot.ID})
	lot.Asks = orEmpty(lot.Asks)
	lot.Options, lot.Concepts, lot.Files = orEmpty(lot.Options), orEmpty(lot.Concepts), orEmpty(lot.Files)
	return err
}

func orEmpty[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}

// Lot implements [Reviewer].
func (r *reviewer) Lot(ctx context.Context, id string) (Lot, error) {
	var lot Lot
	err := r.view(ctx, func(t *tx) (err error) {
		lot, err = t.whole(id)
		return err
	})
	return lot, err
}

func (t *tx) whole(id string) (Lot, error) {
	lot, err := t.Lot(id)
	if err != nil {
		return lot, notFound(err, id, "lot")
	}
	lot = lot.At(t.now)
	return lot, t.withAsks(&lot)
}

// Answer implements [Reviewer].
func (r *reviewer) Answer(ctx context.Context, lotID string, a Answer) (Lot, error) {
	by := r.who()
	return r.lotOnce(ctx, "answer", []any{lotID, a}, func(t *tx) (Lot, error) {
		lot, err := t.whole(lotID)
		if err != nil {
			return lot, err
		}
		a, err := a.normalized(lot)
		if err != nil {
			return lot, err
		}
		if lot.answeredSo(a, by) {
			return lot, nil
		}
		if lot.Status != StatusOpen {
			return lot, lot.conflict()
		}
		settled, rest, err := lot.split(lot.Asks, a.Seen, a.Members)
		if err != nil {
			return lot, err
		}
		return r.desk.settle(t, lot, a, by, settled, rest)
	})
}

// settle writes an answer: the lot, what is remembered of it, and the asks that are not settled by it.
func (d *Desk) settle(t *tx, lot Lot, a Answer, by Who, settled, rest []AskRecord) (Lot, error) {
	var precedent *Decision
	if a.Confirms != "" {
		var err error
		if a, precedent, err = t.confirmed(lot, a); err != nil {
			return lot, err
		}
	}
	lot, err := lot.answer(a, by, len(settled), t.now)
	if err != nil {
		return lot, err
	}
	var dec Decision
	made := false
	if lot.Kind == KindDecision {
		dec, made = d.remembered(t, lot, precedent, by, settled)
		lot.DecisionID = dec.ID
	}
	lot, err = t.close(lot, settled, Event{Kind: EventLotAnswered, Decision: lot.DecisionID}, Receipt{Answer: lot.Answer.Value}, by)
	if err != nil || lot.Kind == KindApproval {
		return lot, err
	}
	for i := range settled {
		settled[i].DecisionID = lot.DecisionID
		if err := t.PutAsk(settled[i]); err != nil {
			return lot, err
		}
	}
	if err := d.keep(t, lot, dec, made, by); err != nil {
		return lot, err
	}
	return lot, d.moveOn(t, lot, rest, d.pinOf(dec, t.now))
}

// close writes a lot that a human has ended, with its event and its receipt.
func (t *tx) close(lot Lot, settled []AskRecord, e Event, r Receipt, by Who) (Lot, error) {
	lot.Asks, lot.Scopes = settled, scopesOf(settled)
	e.Lot, e.Asks, e.Actor, e.Via, e.Digest = lot.ID, askIDs(settled), by.ID, by.Via, lot.digest()
	e, err := t.append(e)
	if err != nil {
		return lot, err
	}
	r.Kind, r.DecidedBy, r.At = string(lot.Status), by, t.now
	if lot, err = t.receipt(lot, e, r); err != nil {
		return lot, err
	}
	return lot, t.PutLot(lot)
}

func scopesOf(asks []AskRecord) []Scope {
	var out []Scope
	for _, a := range asks {
		if !slices.ContainsFunc(out, a.Scope.equal) {
			out = append(out, a.Scope)
		}
	}
	return out
}

// confirmed resolves "same decision": the precedent must be pinned to the lot and still live, and its
// answer must be one that this lot can be given.
func (t *tx) confirmed(lot Lot, a Answer) (Answer, *Decision, error) {
	if !slices.ContainsFunc(lot.Pinned, func(m Match) bool { return m.DecisionID == a.Confirms }) {
		return a, nil, invalid("confirms", "the lot shows no such precedent; read it again")
	}
	dec, err := t.Decision(a.Confirms)
	if err != nil {
		return a, nil, notFound(err, a.Confirms, "decision")
	}
	if !dec.Live() {
		return a, nil, &Error{Code: CodeConflict, ID: dec.ID, Message: "this precedent was withdrawn or superseded; answer the question itself"}
	}
	if a.Value == "" && a.Text == "" {
		if dec.FreeText {
			a.Text = dec.Answer
		} else {
			a.Value = dec.Answer
		}
		c := a.Confirms
		a.Confirms = "" // what is left must stand as an answer of its own
		a, err = a.normalized(lot)
		a.Confirms = c
		if err != nil {
			return a, nil, invalid("confirms", "the precedent's answer is none of the options here; answer the question itself")
		}
	}
	if a.Value+a.Text != dec.Answer {
		return a, nil, invalid("confirms", "this is not the precedent's answer; leave confirms out to answer otherwise")
	}
	return a, &dec, nil
}

// remembered returns the decision that an answered lot stands for: the confirmed precedent where it is the
// same decision and nothing stands against it, else one of its own.
func (d *Desk) remembered(t *tx, lot Lot, precedent *Decision, by Who, settled []AskRecord) (dec Decision, made bool) {
	if precedent != nil && lot.Answer.Remember != RememberOnce {
		if dec, ok := d.joins(*precedent, lot, t.now); ok {
			if lot.Answer.Remember == RememberRule {
				dec.Remember = RememberRule
			}
			return d.withAliases(t, dec, lot, by, settled), false
		}
	}
	dec = Decision{
		ID: t.ids.new("dec_"), Key: lot.Key, Question: lot.Question, Options: lot.Options,
		Answer: lot.Answer.Value, AnswerLabel: lot.Answer.Label, FreeText: lot.Answer.FreeText, Note: lot.Answer.Note,
		Concepts: lot.Concepts, Files: lot.Files, Repo: lot.Repo, Stream: lot.Stream,
		Remember: lot.Answer.Remember, LotID: lot.ID, By: by, CreatedAt: t.now, ConfirmedAt: t.now,
	}
	return d.withAliases(t, dec, lot, by, settled), true
}

// joins returns the precedent confirmed by the answer to a lot, where the two are the same decision: no
// crucial difference in the question, and nothing that would stand against applying it here from now on.
func (d *Desk) joins(dec Decision, lot Lot, now time.Time) (Decision, bool) {
	switch d.closest(dec, lot.question()) {
	case VerdictSame, VerdictLikely:
	case VerdictRelated:
		// The human saw the question of the precedent, not its aliases.
		if c := d.memory.Same(dec.question(), lot.question()); c.Verdict != VerdictRelated || c.Crucial {
			return dec, false
		}
	default:
		return dec, false
	}
	dec.ConfirmedAt = now
	dec.Confirmations++
	q := Query{
		Text: lot.Question, Concepts: lot.Concepts, Files: lot.Files, Repo: lot.Repo,
		Options: lot.Options, Key: lot.Key, Request: true,
	}
	return dec, dec.Obstacle(q, now) == ""
}

// closest compares a question with a decision's and with its aliases.
func (d *Desk) closest(dec Decision, q Question) Verdict {
	best := VerdictNone
	for _, text := range dec.wordings() {
		asked := dec.question()
		asked.Text = text
		v := d.memory.Same(asked, q).Verdict
		if v == VerdictSame || v == VerdictLikely && best != VerdictSame || best == VerdictNone {
			best = v
		}
	}
	return best
}

// wordings are the question and its aliases.
func (d Decision) wordings() []string {
	out := []string{d.Question}
	for _, a := range d.Accepted() {
		out = append(out, a.Text)
	}
	return out
}

// withAliases adds the wordings that the human accepted with this answer: those of the settled likely asks,
// and of the lot itself where it confirmed a precedent.
func (d *Desk) withAliases(t *tx, dec Decision, lot Lot, by Who, settled []AskRecord) Decision {
	add := func(text, ask string) {
		if dec.Remember != RememberOnce && !slices.Contains(dec.wordings(), text) {
			dec.Aliases = append(slices.Clip(dec.Aliases), Alias{ID: t.ids.new("als_"), Text: text, Ask: ask, By: by, At: t.now})
		}
	}
	for _, a := range settled {
		if a.Verdict == VerdictLikely || a.Question == lot.Question && d.closest(dec, lot.question()) != VerdictSame {
			add(a.Question, a.ID)
		}
	}
	return dec
}

// keep writes the decision of an answered lot, and what it supersedes.
func (d *Desk) keep(t *tx, lot Lot, dec Decision, made bool, by Who) error {
	kind := EventDecisionConfirmed
	if made {
		kind = EventDecisionMade
	}
	e, err := t.append(Event{Kind: kind, Lot: lot.ID, Decision: dec.ID, Actor: by.ID, Via: by.Via, Digest: dec.digest()})
	if err != nil {
		return err
	}
	if !made {
		return t.PutDecision(dec)
	}
	dec.Seq = e.Seq
	if dec.Remember != RememberOnce {
		for _, m := range lot.Pinned {
			// By an alias, the verdict alone says that it is the same.
			if m.Question != dec.Question && m.Verdict != VerdictSame && d.memory.Same(Question{Text: m.Question}, Question{Text: dec.Question}).Verdict != VerdictSame {
				continue
			}
			old, err := t.Decision(m.DecisionID)
			if err != nil {
				return err
			}
			if !d.superseded(old, dec, t.now) {
				continue
			}
			old.SupersededBy = dec.ID
			dec.Supersedes = append(dec.Supersedes, old.ID)
			if _, err := t.append(Event{Kind: EventDecisionSuperseded, Decision: old.ID, Ref: dec.ID, Actor: by.ID, Via: by.Via, Digest: old.digest()}); err != nil {
				return err
			}
			if err := t.PutDecision(old); err != nil {
				return err
			}
		}
	}
	return t.PutDecision(dec)
}

// superseded reports whether a new decision takes the place of a pinned precedent: the same question, or one of its
// aliases, in the same scope, answered otherwise, or asked again because a human wanted so or its time was up.
func (d *Desk) superseded(old, dec Decision, now time.Time) bool {
	if !old.Live() || !old.Scope().equal(dec.Scope()) {
		return false
	}
	same := d.closest(old, dec.question()) == VerdictSame || old.Key == dec.Key
	fresh := old.FreshnessAt(now)
	return same && (old.Answer != dec.Answer || old.FreeText != dec.FreeText ||
		old.Stands(VerbAskNextTime) || fresh == Expired || fresh == Stale)
}

// pinOf shows a decision that was just made on the lots of those it did not settle.
func (d *Desk) pinOf(dec Decision, now time.Time) func(AskRecord) []Match {
	return func(a AskRecord) []Match {
		if !dec.Live() {
			return nil
		}
		c := d.memory.Same(dec.question(), a.question())
		reason := "just decided beside this question"
		if c.Differs != "" {
			reason += "; differs in " + c.Differs
		}
		return []Match{{
			DecisionID: dec.ID, Question: dec.Question, Answer: dec.Answer, AnswerLabel: dec.AnswerLabel,
			Score: 0.5, Confidence: 0.5, Freshness: dec.FreshnessAt(now), Concepts: orEmpty(dec.Concepts), Files: orEmpty(dec.Files),
			ReuseGuidance: Confirm, Reason: reason, Verdict: c.Verdict, DecidedBy: dec.By, DecidedAt: dec.ConfirmedAt,
		}}
	}
}

// moveOn gives the asks that were not settled with their lot a lot of their own, or puts them in one that is
// open.
func (d *Desk) moveOn(t *tx, from Lot, rest []AskRecord, pins func(AskRecord) []Match) error {
	for _, rec := range rest {
		rec.LotID, rec.Verdict, rec.Differs, rec.Revision = "", "", "", 0
		ask := Ask{Kind: from.Kind, Stream: rec.Stream}
		moved, err := d.group(t, rec, ask, pins(rec))
		if err != nil {
			return err
		}
		if _, err := t.append(Event{Kind: EventAskMoved, Lot: moved.ask.LotID, Ref: from.ID, Asks: []string{moved.ask.ID}}); err != nil {
			return err
		}
	}
	return nil
}

// Dismiss implements [Reviewer].
func (r *reviewer) Dismiss(ctx context.Context, lotID string, d Dismissal) (Lot, error) {
	by := r.who()
	return r.lotOnce(ctx, "dismiss", []any{lotID, d}, func(t *tx) (Lot, error) {
		d, err := d.normalized()
		if err != nil {
			return Lot{}, err
		}
		lot, err := t.whole(lotID)
		if err != nil {
			return lot, err
		}
		if was := lot.Dismissed; was != nil && was.By == by && was.Reason == d.Reason {
			return lot, nil
		}
		settled, rest, err := lot.split(lot.Asks, d.Seen, d.Members)
		if err != nil && lot.Status == StatusOpen && lot.Kind == KindDecision {
			return lot, err
		}
		if lot, err = lot.dismiss(d, by, len(settled), t.now); err != nil {
			return lot, err
		}
		out, err := t.close(lot, settled, Event{Kind: EventLotDismissed}, Receipt{}, by)
		if err != nil {
			return lot, err
		}
		return out, r.desk.moveOn(t, out, rest, func(AskRecord) []Match { return nil })
	})
}

// Reopen implements [Reviewer].
func (r *reviewer) Reopen(ctx context.Context, lotID string) (Lot, error) {
	by := r.who()
	return r.lotOnce(ctx, "reopen", lotID, func(t *tx) (Lot, error) {
		lot, err := t.whole(lotID)
		if err != nil {
			return lot, err
		}
		for lot.MergedInto != "" { // it is where its asks are
			if lot, err = t.whole(lot.MergedInto); err != nil {
				return lot, err
			}
		}
		if lot.reopened() || lot.ID != lotID && lot.Status != StatusDismissed {
			return lot, nil
		}
		reopened, err := lot.reopen(t.now)
		if err != nil {
			return lot, err
		}
		open, err := t.FindLots(LotQuery{Status: StatusOpen, Kind: KindDecision, Key: lot.Key})
		if err != nil {
			return lot, err
		}
		for _, into := range open {
			if slices.ContainsFunc(lot.Asks, func(a AskRecord) bool { return into.fits(a.Scope) }) {
				return r.desk.merge(t, lot, into.ID, by)
			}
		}
		if _, err := t.append(Event{Kind: EventLotReopened, Lot: lot.ID, Asks: askIDs(lot.Asks), Actor: by.ID, Via: by.Via, Digest: reopened.digest()}); err != nil {
			return lot, err
		}
		if err := t.PutLot(reopened); err != nil {
			return lot, err
		}
		for _, a := range lot.Asks {
			a.ReturnedAt = time.Time{} // what was returned is taken back
			if err := t.PutAsk(a); err != nil {
				return lot, err
			}
		}
		return t.whole(lot.ID)
	})
}

// merge moves the asks of a dismissed lot into the open one that asks the same. An ask that does not fit
// there goes where a new one would.
func (d *Desk) merge(t *tx, from Lot, intoID string, by Who) (Lot, error) {
	var rest []AskRecord
	var moved []AskRecord
	into, err := t.Lot(intoID)
	if err != nil {
		return from, err
	}
	for _, a := range from.Asks {
		a.ReturnedAt = time.Time{} // what was returned is taken back
		if !into.fits(a.Scope) {
			rest = append(rest, a)
			continue
		}
		c := d.memory.Same(into.question(), a.question())
		if a.Key == into.Key {
			c = d.sameKey(into, a)
		}
		if c.Verdict != VerdictSame {
			c.Verdict = VerdictLikely // the human sees it beside the others before it is settled
		}
		into, a = into.joined(a, c, t.now)
		if err := t.PutAsk(a); err != nil {
			return from, err
		}
		moved = append(moved, a)
	}
	if err := t.PutLot(into); err != nil {
		return from, err
	}
	from.MergedInto, from.AskCount = into.ID, 0
	if err := t.PutLot(from); err != nil {
		return from, err
	}
	if len(moved) > 0 {
		if _, err := t.append(Event{Kind: EventAskMoved, Lot: into.ID, Ref: from.ID, Asks: askIDs(moved), Actor: by.ID, Via: by.Via}); err != nil {
			return from, err
		}
	}
	if err := d.moveOn(t, from, rest, func(AskRecord) []Match { return nil }); err != nil {
		return from, err
	}
	return t.whole(into.ID)
}

// Decisions implements [Reviewer].
func (r *reviewer) Decisions(ctx context.Context, f DecisionFilter) (Page[Decision], error) {
	limit := pageSize(f.Limit)
	if !blank(f.Text) {
		return r.search(ctx, f, min(limit, 100))
	}
	after, err := seqOf(f.Cursor)
	if err != nil {
		return Page[Decision]{}, err
	}
	var page Page[Decision]
	err = r.view(ctx, func(t *tx) error {
		page = Page[Decision]{}
		q := DecisionQuery{After: after, Newest: true, Limit: limit + 1}
		for len(page.Items) <= limit {
			found, err := t.FindDecisions(q)
			if err != nil {
				return err
			}
			for _, dec := range found {
				q.After = dec.Seq
				if dec.Remember != RememberOnce && (len(f.Concepts) == 0 || intersects(f.Concepts, dec.Concepts)) {
					page.Items = append(page.Items, dec.shown())
				}
			}
			if len(found) < q.Limit {
				break
			}
		}
		page = cut(page.Items, limit, func(d Decision) Seq { return d.Seq })
		return nil
	})
	return page, err
}

// shown makes the lists of a decision lists.
func (d Decision) shown() Decision {
	d.Options, d.Concepts, d.Files = orEmpty(d.Options), orEmpty(d.Concepts), orEmpty(d.Files)
	return d
}

func (r *reviewer) search(ctx context.Context, f DecisionFilter, limit int) (Page[Decision], error) {
	if err := r.ready(); err != nil {
		return Page[Decision]{}, err
	}
	q, err := Query{Text: f.Text, Concepts: f.Concepts, Limit: limit}.normalized()
	if err != nil {
		return Page[Decision]{}, err
	}
	got, err := r.desk.memory.Recall(ctx, source{r.desk, r.human.Workspace}, q)
	if err != nil {
		return Page[Decision]{}, err
	}
	var page Page[Decision]
	err = r.view(ctx, func(t *tx) error {
		page = Page[Decision]{}
		for _, m := range got.Matches {
			dec, err := t.Decision(m.DecisionID)
			if err != nil {
				return err
			}
			page.Items = append(page.Items, dec.shown())
		}
		return nil
	})
	return page, err
}

// Why implements [Reviewer].
func (r *reviewer) Why(ctx context.Context, id string) (Explanation, error) {
	var x Explanation
	err := r.view(ctx, func(t *tx) error {
		dec, err := t.Decision(id)
		if err != nil {
			return notFound(err, id, "decision")
		}
		x = Explanation{Decision: dec.shown(), Standing: orEmpty(dec.Standing()), Live: dec.Live(), Freshness: dec.FreshnessAt(t.now)}
		if x.Uses, err = t.FindAsks(AskQuery{Decision: id}); err != nil {
			return err
		}
		x.Uses = orEmpty(x.Uses)
		lot, err := t.whole(dec.LotID)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		if err == nil {
			x.Lot = &lot
		}
		for _, old := range dec.Supersedes {
			o, err := t.Decision(old)
			if err != nil {
				return err
			}
			x.Superseded = append(x.Superseded, o.shown())
		}
		x.Events, err = t.story(lot, id)
		return err
	})
	return x, err
}

// story returns the events of a lot and of a decision, in order.
func (t *tx) story(lot Lot, decision string) ([]Event, error) {
	out := []Event{}
	after := max(lot.Seq-1, 0)
	for {
		events, err := t.Events(after, 1000)
		if err != nil || len(events) == 0 {
			return out, err
		}
		for _, e := range events {
			after = e.Seq
			if e.Decision == decision || lot.ID != "" && (e.Lot == lot.ID || e.Ref == lot.ID) || e.Ref == decision {
				out = append(out, e)
			}
		}
	}
}

// Correct implements [Reviewer].
func (r *reviewer) Correct(ctx context.Context, c Correction) (Decision, error) {
	by := r.who()
	var out Decision
	err := r.update(ctx, func(t *tx) error {
		ref, before, err := r.human.once(t, "correct", []any{c, c.After}, func() (string, error) {
			var err error
			out, err = t.correct(c, by)
			return out.ID, err
		})
		if err == nil && before {
			out, err = t.Decision(ref)
			out = out.shown()
		}
		return err
	})
	return out, err
}

// correct appends a correction to its decision.
func (t *tx) correct(c Correction, by Who) (Decision, error) {
	dec, err := t.Decision(c.DecisionID)
	if err != nil {
		return dec, notFound(err, c.DecisionID, "decision")
	}
	if c, err = c.normalized(t.now); err != nil {
		return dec, err
	}
	c.ID, c.By, c.At = t.ids.new("cor_"), by, t.now
	changed, err := dec.corrected(c)
	if err != nil || len(changed.Corrections) == len(dec.Corrections) {
		return changed.shown(), err
	}
	if _, err := t.append(Event{
		Kind: EventDecisionCorrected, Decision: dec.ID, Verb: c.Verb, Ref: c.ID, Actor: by.ID, Via: by.Via, Digest: c.digest(),
	}); err != nil {
		return dec, err
	}
	return changed.shown(), t.PutDecision(changed)
}

// Journal implements [Reviewer].
func (r *reviewer) Journal(ctx context.Context, after Seq, limit int) (events []Event, next Seq, err error) {
	err = r.view(ctx, func(t *tx) (err error) {
		events, next = []Event{}, after
		if after < 0 {
			head, err := t.Head()
			next = head.Seq
			return err
		}
		found, err := t.Events(after, pageSize(limit))
		if len(found) > 0 {
			events, next = found, found[len(found)-1].Seq
		}
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	return events, next, nil
}

// Events implements [Reviewer].
func (r *reviewer) Events(ctx context.Context, after Seq) iter.Seq2[Event, error] {
	err := r.ready()
	if err == nil && after < 0 {
		_, after, err = r.Journal(ctx, FromNow, 0)
	}
	return func(yield func(Event, error) bool) {
		if err != nil {
			yield(Event{}, err)
			return
		}
		after := after // a second range starts over
		on := topic{r.human.Workspace, ""}
		w := r.desk.waiters.add(on) // before the first read
		defer r.desk.waiters.remove(on, w)
		for {
			var page []Event
			err := r.view(ctx, func(t *tx) (err error) {
				page, err = t.Events(after, 500)
				return err
			})
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(Event{}, err)
				return
			}
			for _, e := range page {
				after = e.Seq
				if !yield(e, nil) {
					return
				}
			}
			if len(page) > 0 {
				continue
			}
			if err := r.desk.idle(ctx, w); err != nil {
				yield(Event{}, err)
				return
			}
		}
	}
}

// idle waits for a signal, or for the next look at the store while no Watch is in force.
func (d *Desk) idle(ctx context.Context, w *waiter) error {
	var poll <-chan time.Time
	if d.watching.Load() == 0 {
		t := time.NewTimer(pollEvery)
		defer t.Stop()
		poll = t.C
	}
	select {
	case <-w.ch:
	case <-poll:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// Contexts implements [Reviewer].
func (r *reviewer) Contexts(ctx context.Context, f ContextFilter) (Page[ContextItem], error) {
	after, err := seqOf(f.Cursor)
	if err != nil {
		return Page[ContextItem]{}, err
	}
	limit := pageSize(f.Limit)
	var page Page[ContextItem]
	err = r.view(ctx, func(t *tx) error {
		found, err := t.FindContexts(ContextQuery{Live: t.now, After: after, Newest: true, Limit: limit + 1})
		page = cut(found, limit, func(c ContextItem) Seq { return c.Seq })
		return err
	})
	return page, err
}

// RemoveContext implements [Reviewer].
func (r *reviewer) RemoveContext(ctx context.Context, id string) error {
	by := r.who()
	return r.update(ctx, func(t *tx) error {
		item, err := t.Context(id)
		if err != nil {
			return notFound(err, id, "shared note")
		}
		if item.Removed {
			return nil
		}
		item.Removed = true
		if _, err := t.append(Event{Kind: EventContextRemoved, Ref: id, Actor: by.ID, Via: by.Via}); err != nil {
			return err
		}
		return t.PutContext(item)
	})
}

// Receipt implements [Reviewer].
func (r *reviewer) Receipt(ctx context.Context, id string) (Receipt, error) {
	var out Receipt
	err := r.view(ctx, func(t *tx) (err error) {
		out, err = t.receiptByID(id)
		return notFound(err, id, "receipt")
	})
	if err != nil {
		return Receipt{}, err
	}
	return r.desk.signed(ctx, out), nil
}
