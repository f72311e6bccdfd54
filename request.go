package revue

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"
)

// decider is a Desk bound to one agent.
type decider struct {
	desk  *Desk
	agent Agent
}

// Lookup implements [Decider].
func (c *decider) Lookup(ctx context.Context, q Query) (Findings, error) {
	agent, err := c.agent.normalized()
	if err != nil {
		return Findings{}, err
	}
	if q, err = q.normalized(); err != nil {
		return Findings{}, err
	}
	q.Repo, q.Request, q.Options, q.Key = agent.Repo, false, nil, ""
	got, err := c.desk.memory.Recall(ctx, source{c.desk, agent.Workspace}, q)
	if err != nil {
		return Findings{}, err
	}
	f := Findings{Matches: got.Matches}
	err = c.desk.view(ctx, agent.Workspace, func(t *tx) error {
		items, err := t.FindContexts(ContextQuery{Live: t.now, Newest: true, Limit: 1000})
		for _, item := range items {
			if len(f.Context) < maxNotes && item.bearsOn(q) {
				f.Context = append(f.Context, item)
			}
		}
		return err
	})
	return f, err
}

// maxNotes is how many shared notes a lookup returns.
const maxNotes = 5

// bearsOn reports whether a note has to do with a query: they name a common concept; or the query's text
// has every word of one of the note's concepts; or, where one of the two names no concept, they
// share two words of four letters or more.
func (c ContextItem) bearsOn(q Query) bool {
	if intersects(c.Concepts, q.Concepts) {
		return true
	}
	asked := words(q.Text)
	for _, concept := range c.Concepts {
		in := true
		need := words(concept)
		for w := range need {
			in = in && asked[w]
		}
		if in && len(need) > 0 {
			return true
		}
	}
	if len(c.Concepts) > 0 && len(q.Concepts) > 0 {
		return false
	}
	common := 0
	for w := range words(c.Body) {
		if len(w) >= 4 && asked[w] {
			common++
		}
	}
	return common >= 2
}

func words(s string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }) {
		out[w] = true
	}
	return out
}

// Share implements [Decider].
func (c *decider) Share(ctx context.Context, item ContextItem) (ContextItem, error) {
	agent, err := c.agent.normalized()
	if err != nil {
		return ContextItem{}, err
	}
	if item, err = item.normalized(); err != nil {
		return ContextItem{}, err
	}
	if err := c.desk.list(ctx, agent.Workspace); err != nil {
		return ContextItem{}, err
	}
	item = ContextItem{
		Kind: item.Kind, Body: item.Body, Concepts: item.Concepts,
		Agent: agent.Name, Credential: agent.Credential, Thread: agent.Thread, Repo: agent.Repo,
	}
	var out ContextItem
	err = c.desk.update(ctx, agent.Workspace, func(t *tx) error {
		mine, err := t.FindContexts(ContextQuery{Live: t.now, Credential: agent.Credential})
		if err != nil {
			return err
		}
		for _, have := range mine {
			if have.Kind == item.Kind && have.Body == item.Body && sameSet(have.Concepts, item.Concepts) {
				out = have
				return nil
			}
		}
		out = item
		out.ID, out.CreatedAt, out.ExpiresAt = t.ids.new("ctx_"), t.now, t.now.Add(ContextLife)
		e, err := t.append(Event{Kind: EventContextShared, Ref: out.ID, Actor: agent.Credential, Via: agent.Via, Digest: out.digest()})
		if err != nil {
			return err
		}
		out.Seq = e.Seq
		return t.PutContext(out)
	})
	return out, err
}

// Request implements [Decider].
func (c *decider) Request(ctx context.Context, ask Ask) (Outcome, error) {
	agent, err := c.agent.normalized()
	if err != nil {
		return Outcome{}, err
	}
	if ask, err = ask.normalized(); err != nil {
		return Outcome{}, err
	}
	if err := ctx.Err(); err != nil {
		return Outcome{}, err
	}
	deadline := time.Now().Add(ask.Wait)
	if err := c.desk.list(ctx, agent.Workspace); err != nil {
		return Outcome{}, err
	}
	if ask.Kind == KindApproval {
		return c.desk.approval(ctx, agent, ask, deadline)
	}
	p := placement{agent: agent, ask: ask, key: ask.key()}
	for {
		at, err := c.desk.place(ctx, p)
		switch {
		case err != nil:
			return Outcome{}, err
		case at.ask.Reused != nil:
			return c.desk.reused(ctx, agent, at.ask)
		case at.lot.Status != StatusOpen:
			o, _, err := c.desk.deliver(ctx, agent, at, false)
			return o, err
		case at.joined && ask.Wait == 0:
			return c.desk.pending(at.ask), nil // it was open when it was committed
		}
		o, err := c.desk.wait(ctx, agent, at.ask, deadline, false)
		if !errors.Is(err, errReleased) {
			return o, err
		}
	}
}

// Returned implements [Returner]. An outcome that was said to be returned stays so: a later failure takes nothing back.
func (c *decider) Returned(ctx context.Context, o Outcome, err error) error {
	if o.Status == OutcomePending || o.Status == OutcomeReused {
		return nil
	}
	if o.AskID == "" {
		return invalid("decisionRef", "the outcome names no ask")
	}
	agent, aerr := c.agent.normalized()
	if aerr != nil {
		return aerr
	}
	if err == nil {
		return c.desk.returns.mark(ctx, c.desk, agent, o.AskID, o.Claim)
	}
	if o.Claim == "" {
		return nil // a decision: it counts as returned when it is said to be
	}
	return c.desk.update(ctx, agent.Workspace, func(t *tx) error {
		_, lot, err := t.askOf(agent, o.AskID)
		if errors.Is(err, errTakenBack) {
			return nil
		}
		if err != nil {
			return err
		}
		return t.PutLot(lot.unclaim(o.Claim))
	})
}

// errTakenBack says that an outcome was taken back before anyone noted that it was returned. There is nothing to note.
var errTakenBack = errors.New("the outcome was taken back")

// askOf returns an ask of an agent whose outcome was given, and its lot. An approval's is that of its caller alone.
func (t *tx) askOf(agent Agent, id string) (AskRecord, Lot, error) {
	rec, err := t.Ask(id)
	if errors.Is(err, ErrNotFound) || err == nil && rec.Credential != agent.Credential {
		return rec, Lot{}, notFound(ErrNotFound, id, "ask of yours")
	}
	if err != nil || rec.LotID == "" {
		return rec, Lot{}, err
	}
	lot, err := t.Lot(rec.LotID)
	if err != nil {
		return rec, lot, err
	}
	lot = lot.At(t.now)
	switch {
	case lot.Kind == KindApproval && lot.Caller != agent.caller():
		return rec, lot, notFound(ErrNotFound, id, "ask of yours")
	case lot.Status == StatusOpen && lot.Earlier != nil: // it had one, which a human took back
		return rec, lot, errTakenBack
	case lot.Status == StatusOpen:
		return rec, lot, &Error{Code: CodeConflict, ID: id, Message: "ask " + id + " has no outcome yet; wait for it before you say that it was returned"}
	}
	return rec, lot, nil
}

// placement is an ask on its way to a lot.
type placement struct {
	agent    Agent
	ask      Ask // normalized
	key      string
	recalled Recalled
}

func (p placement) query() Query {
	return Query{
		Text: p.ask.Question, Concepts: p.ask.Concepts, Files: p.ask.Files, Limit: 10,
		Repo: p.agent.Repo, Request: true, Options: p.ask.Options, Key: p.key,
	}
}

func (p placement) scope() Scope {
	return Scope{Concepts: p.ask.Concepts, Files: p.ask.Files, Repo: p.agent.Repo}
}

// record returns the ask as it will be kept, in no lot yet.
func (p placement) record(id string, now time.Time) AskRecord {
	return AskRecord{
		ID: id, Key: p.key, Question: p.ask.Question, Options: p.ask.Options,
		Recommendation: p.ask.Recommendation, Context: p.ask.Context, Scope: p.scope(),
		Deictic: p.recalled.Deictic, Permission: p.recalled.Permission, Agent: p.agent.Name, Credential: p.agent.Credential,
		Thread: p.agent.Thread, Repo: p.agent.Repo, Via: p.agent.Via, Stream: p.ask.Stream, CreatedAt: now,
	}
}

// errAgain makes place start over: what was recalled is no longer what is remembered.
var errAgain = errors.New("remembered decisions changed")

// maxRecalls bounds how often place starts over before it recalls inside the transaction.
const maxRecalls = 5

// standing is what an ask has come to.
type standing struct {
	ask     AskRecord
	lot     Lot      // the zero Lot for an ask that was answered from memory
	receipt *Receipt // of a lot that has ended
	now     time.Time
	joined  bool   // the ask was put into the lot just now
	graced  bool   // calls parked elsewhere had their time to claim
	claim   string // by which the call has the outcome of an approval
}

// standing reads what an ask has come to.
func (t *tx) standing(rec AskRecord) (standing, error) {
	st := standing{ask: rec, now: t.now}
	var err error
	if st.lot, err = t.Lot(rec.LotID); err != nil {
		return st, err
	}
	st.lot = st.lot.At(t.now)
	if st.lot.ReceiptID != "" {
		r, err := t.receiptByID(st.lot.ReceiptID)
		st.receipt = &r
		return st, err
	}
	return st, nil
}

// place finds the ask, or the decision, that the request belongs to, and records it.
func (d *Desk) place(ctx context.Context, p placement) (at standing, err error) {
	found := false
	var seen Seq
	err = d.view(ctx, p.agent.Workspace, func(t *tx) (err error) {
		if at, found, err = d.resume(t, p); err != nil || found {
			return err
		}
		head, err := t.headEvent()
		seen = head.Seq
		return err
	})
	if err != nil || found {
		return at, err
	}
	for try := 1; ; try++ {
		if p.recalled, err = d.recall(ctx, source{d, p.agent.Workspace}, p.query()); err != nil {
			return at, err
		}
		err = d.update(ctx, p.agent.Workspace, func(t *tx) error {
			at = standing{}
			head, err := t.headEvent()
			if err != nil {
				return err
			}
			if head.Seq != seen { // else nothing has happened since
				if at, found, err = d.resume(t, p); err != nil || found {
					return err
				}
			}
			p := p
			if head.Seq > p.recalled.Seq {
				if stale, err := t.decidedSince(p.recalled.Seq); err != nil {
					return err
				} else if stale && try < maxRecalls {
					return errAgain
				} else if stale {
					// Decisions are made faster than this asks for them: recall where none can be made.
					if p.recalled, err = d.recall(ctx, txSource{t}, p.query()); err != nil {
						return err
					}
				}
			}
			at, err = d.put(t, p)
			return err
		})
		if !errors.Is(err, errAgain) {
			return at, err
		}
	}
}

// recall asks the memory. A memory that fails costs a human a question, never an agent its ask.
func (d *Desk) recall(ctx context.Context, src Source, q Query) (Recalled, error) {
	got, err := d.memory.Recall(ctx, src, q)
	if err == nil {
		return got, nil
	}
	if ctx.Err() != nil {
		return Recalled{}, ctx.Err()
	}
	d.log.ErrorContext(ctx, "recall failed; the human is asked", "workspace", src.Workspace(), "err", err)
	// What was not read of the question is taken for what binds least.
	return Recalled{Seq: nothingRecalled, Deictic: true, Permission: true}, nil
}

// nothingRecalled is past every event: what was not recalled can't be out of date.
const nothingRecalled Seq = 1<<63 - 1

// txSource reads through a transaction that is running.
type txSource struct{ t *tx }

func (s txSource) Workspace() string { return s.t.workspace }

func (s txSource) View(_ context.Context, fn func(Snapshot) error) error { return fn(s.t) }

// decidedSince reports whether what is remembered changed after an event.
func (t *tx) decidedSince(after Seq) (bool, error) {
	for {
		events, err := t.Events(after, 500)
		if err != nil || len(events) == 0 {
			return false, err
		}
		for _, e := range events {
			if e.Kind.OfDecision() {
				return true, nil
			}
			after = e.Seq
		}
	}
}

// resume finds the ask that this request takes up again.
func (d *Desk) resume(t *tx, p placement) (standing, bool, error) {
	if p.ask.DecisionRef != "" {
		rec, err := d.referred(t, p)
		if err != nil {
			return standing{}, false, err
		}
		if rec.Reused == nil {
			if st, ok, err := t.unreleased(rec); err != nil || ok {
				return st, ok, err
			}
		}
		// It no longer answers this: what the thread asked since may.
	}
	own, ok, err := t.own(p)
	if err != nil || !ok || own.Reused != nil {
		return standing{}, false, err
	}
	return t.unreleased(own)
}

// own is the thread's newest ask with this key whose repository fits.
func (t *tx) own(p placement) (AskRecord, bool, error) {
	for limit := 1; ; limit = 1000 { // nearly always the newest is it
		asks, err := t.FindAsks(AskQuery{Key: p.key, Thread: p.agent.Thread, Credential: p.agent.Credential, Newest: true, Limit: limit})
		if err != nil {
			return AskRecord{}, false, err
		}
		for _, a := range asks {
			if RepoFits(a.Scope, p.scope()) {
				return a, true, nil
			}
		}
		if len(asks) < limit || limit > 1 {
			return AskRecord{}, false, nil
		}
	}
}

// referred returns the ask that decisionRef names.
func (d *Desk) referred(t *tx, p placement) (AskRecord, error) {
	missing := &Error{
		Code: CodeNotFound, ID: clip(p.ask.DecisionRef, 80),
		Message: "decisionRef: you have no ask of this id in this workspace; leave it out to ask anew",
	}
	rec, err := t.Ask(p.ask.DecisionRef)
	if errors.Is(err, ErrNotFound) || err == nil && rec.Credential != p.agent.Credential {
		return AskRecord{}, missing
	}
	if err != nil {
		return AskRecord{}, err
	}
	if rec.LotID != "" {
		lot, err := t.Lot(rec.LotID)
		if err != nil {
			return AskRecord{}, err
		}
		if lot.Kind != KindDecision {
			return AskRecord{}, missing
		}
	}
	if len(p.ask.Options) > 0 && !CompatibleOptions(rec.Options, p.ask.Options) {
		return AskRecord{}, &Error{Code: CodeInvalid, ID: rec.ID, Message: "options: these are not the options of decisionRef; send the identical ones, or leave decisionRef out to ask anew"}
	}
	if !RepoFits(rec.Scope, p.scope()) {
		return AskRecord{}, &Error{Code: CodeInvalid, ID: rec.ID, Message: "decisionRef: it was asked in another repository; leave it out to ask anew"}
	}
	if rec.Key == p.key {
		return rec, nil
	}
	switch d.memory.Same(rec.question(), p.query().Question()).Verdict {
	case VerdictSame, VerdictLikely:
		return rec, nil
	}
	return AskRecord{}, &Error{
		Code: CodeInvalid, ID: rec.ID,
		Message: "question: this is not the question of decisionRef; send the identical question, or leave decisionRef out to ask another",
	}
}

// unreleased reads what an ask has come to, unless it no longer answers the same request, which is then asked
// anew.
func (t *tx) unreleased(rec AskRecord) (standing, bool, error) {
	if rec.LotID == "" || rec.Purged {
		return standing{}, false, nil
	}
	st, err := t.standing(rec)
	if err != nil || st.lot.Purged {
		return standing{}, false, err
	}
	released, err := t.released(rec, st.lot)
	return st, !released && err == nil, err
}

// released reports whether an ask in a lot no longer answers the same request.
func (t *tx) released(rec AskRecord, lot Lot) (bool, error) {
	if lot.Status != StatusAnswered || lot.Kind == KindApproval {
		return false, nil
	}
	var dec Decision
	if lot.DecisionID != "" {
		var err error
		if dec, err = t.Decision(lot.DecisionID); err != nil {
			return false, err
		}
		if dec.Stands(VerbWrong) || dec.disowned(rec.Question) {
			return true, nil
		}
	}
	if rec.ReturnedAt.IsZero() || t.now.Sub(rec.ReturnedAt) < releaseAfter {
		return false, nil
	}
	// What was meant for its moment, or for once, is no answer to a call that comes later; neither is leave that
	// was given without making it a rule.
	if rec.Deictic || lot.Answer.Remember == RememberOnce || rec.Permission && lot.Answer.Remember != RememberRule {
		return true, nil
	}
	if lot.DecisionID == "" {
		return false, nil
	}
	fresh := dec.FreshnessAt(t.now)
	return dec.Stands(VerbAskNextTime) || fresh == Expired || fresh == Stale, nil
}

// put records a request that takes nothing up again: from memory, in an open lot, or in a new one.
func (d *Desk) put(t *tx, p placement) (standing, error) {
	rec := p.record(t.ids.new("ask_"), t.now)
	if known, err := t.askedBefore(p.key); err != nil {
		return standing{}, err
	} else if known {
		if from, ok, err := t.uncollected(p); err != nil || ok {
			if err != nil {
				return standing{}, err
			}
			return t.handOver(from, rec)
		}
		// An open lot with this very key is joined even where memory has an answer by now: it is the
		// same ask, and its human is already looking at it.
		open, err := t.FindLots(LotQuery{Status: StatusOpen, Kind: KindDecision, Key: p.key})
		if err != nil {
			return standing{}, err
		}
		for _, lot := range open {
			if lot.fits(rec.Scope) {
				return t.join(lot, rec, d.sameKey(lot, rec))
			}
		}
	}
	for _, m := range p.recalled.Matches {
		if m.ReuseGuidance != Apply {
			continue
		}
		dec, err := t.Decision(m.DecisionID)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return standing{}, err
		}
		if dec.Obstacle(p.query(), t.now) == "" {
			rec, err := t.reuse(p, rec, dec)
			return standing{ask: rec, now: t.now}, err
		}
	}
	return d.group(t, rec, p.ask, pinned(p.recalled.Matches))
}

// askedBefore reports whether anybody has asked with this key before this transaction.
func (t *tx) askedBefore(key string) (bool, error) {
	if t.asked == nil {
		t.asked = map[string]bool{}
	}
	if known, ok := t.asked[key]; ok {
		return known, nil
	}
	found, err := t.FindAsks(AskQuery{Key: key, Limit: 1})
	t.asked[key] = len(found) > 0
	return len(found) > 0, err
}

// sameKey compares an ask with an open lot that has its key. Where the wording means something only in
// its place, the human sees that two agents said it.
func (d *Desk) sameKey(lot Lot, rec AskRecord) Comparison {
	c := d.memory.Same(lot.question(), rec.question())
	if c.Verdict == VerdictLikely {
		return c
	}
	return Comparison{Verdict: VerdictSame}
}

func (a AskRecord) question() Question {
	return Question{Text: a.Question, Options: a.Options, Concepts: a.Scope.Concepts, Files: a.Scope.Files, Repo: a.Scope.Repo}
}

// uncollected finds an answer to the same request of the same credential on another thread that was never
// returned: the agent was restarted and has another thread by now.
func (t *tx) uncollected(p placement) (standing, bool, error) {
	asks, err := t.FindAsks(AskQuery{Key: p.key, Credential: p.agent.Credential, Uncollected: true, Newest: true, Limit: 1000})
	if err != nil {
		return standing{}, false, err
	}
	ended := map[string]bool{} // by lot: whether it was answered
	for _, a := range asks {
		if !a.ReturnedAt.IsZero() || a.LotID == "" || a.Thread == p.agent.Thread || !RepoFits(a.Scope, p.scope()) {
			continue
		}
		if answered, ok := ended[a.LotID]; ok && !answered {
			continue
		}
		st, ok, err := t.unreleased(a)
		if err != nil {
			return standing{}, false, err
		}
		ended[a.LotID] = st.lot.Status == StatusAnswered
		if ok && ended[a.LotID] {
			return st, true, nil
		}
	}
	return standing{}, false, nil
}

// handOver gives an uncollected answer to the new thread: an ask of its own in the same, answered lot.
// The old one counts as returned, so that no third thread gets it too.
func (t *tx) handOver(from standing, rec AskRecord) (standing, error) {
	old := from.ask
	rec.LotID, rec.DecisionID, rec.Verdict, rec.Differs, rec.Revision = old.LotID, old.DecisionID, old.Verdict, old.Differs, from.lot.Revision
	if err := t.putAsk(&rec, EventAskJoined); err != nil {
		return from, err
	}
	old.ReturnedAt = t.now
	from.ask = rec
	from.lot.AskCount++
	if err := t.PutLot(from.lot); err != nil {
		return from, err
	}
	return from, t.PutAsk(old)
}

// putAsk records an ask with the event that says so.
func (t *tx) putAsk(rec *AskRecord, kind EventKind) error {
	e, err := t.append(Event{
		Kind: kind, Lot: rec.LotID, Asks: []string{rec.ID}, Decision: rec.DecisionID,
		Actor: rec.Credential, Via: rec.Via, Digest: rec.digest(),
	})
	if err != nil {
		return err
	}
	rec.Seq = e.Seq
	return t.PutAsk(*rec)
}

// join puts an ask into an open lot.
func (t *tx) join(lot Lot, rec AskRecord, c Comparison) (standing, error) {
	lot, rec = lot.joined(rec, c, t.now)
	if err := t.putAsk(&rec, EventAskJoined); err != nil {
		return standing{}, err
	}
	return standing{ask: rec, lot: lot, now: t.now, joined: true}, t.PutLot(lot)
}

// reuse records that an ask was answered from memory. The thread's earlier reuse of the same decision
// is returned again instead of recording another.
func (t *tx) reuse(p placement, rec AskRecord, dec Decision) (AskRecord, error) {
	own, ok, err := t.own(p)
	if err != nil {
		return rec, err
	}
	if ok && own.Reused != nil && own.DecisionID == dec.ID && own.Reused.Answer == dec.Answer {
		return own, nil
	}
	rec.DecisionID, rec.Verdict, rec.ReturnedAt = dec.ID, VerdictSame, t.now
	rec.Reused = &Reuse{Answer: dec.Answer, FreeText: dec.FreeText, By: dec.By, At: dec.ConfirmedAt, ReceiptID: t.ids.new("rcpt_")}
	if err := t.putAsk(&rec, EventAskReused); err != nil {
		return rec, err
	}
	return rec, t.putReceipt(Receipt{
		ID: rec.Reused.ReceiptID, Kind: string(OutcomeReused), Ask: rec.ID, Decision: dec.ID,
		QuestionDigest: textDigest(rec.Question), Answer: dec.Answer, DecidedBy: dec.By, At: dec.ConfirmedAt,
	}, *t.head)
}

// pinned keeps the precedents that a card shows: at most three, and none with more than confirm, since a
// human is asked after all.
func pinned(matches []Match) []Match {
	var out []Match
	for _, m := range matches[:min(maxPinned, len(matches))] {
		m.ReuseGuidance = Confirm
		out = append(out, m)
	}
	return out
}

const (
	maxPinned  = 3
	maxRelated = 3
)

// openLot makes a lot for an ask. The caller is whose approval it is.
func (d *Desk) openLot(t *tx, rec AskRecord, ask Ask, caller string, pinned []Match, related []Link) (standing, error) {
	if err := d.ensureStream(t, ask.Stream); err != nil {
		return standing{}, err
	}
	lot := Lot{
		ID: t.ids.new("lot_"), Status: StatusOpen, Kind: ask.Kind, Key: rec.Key,
		Question: rec.Question, Options: rec.Options, Recommendation: rec.Recommendation,
		Context: rec.Context, Affected: ask.Affected, Stream: ask.Stream,
		Concepts: rec.Scope.Concepts, Files: rec.Scope.Files, Repo: rec.Scope.Repo,
		Deictic: rec.Deictic, Pinned: pinned, Related: related, CreatedAt: t.now, UpdatedAt: t.now,
	}
	if lot.Kind == KindApproval {
		lot.Title = lot.Question
		lot.ExpiresAt = t.now.Add(ask.Expires)
		lot.Caller = caller
	} else if err := d.earlier(t, &lot); err != nil {
		return standing{}, err
	}
	lot, rec = lot.joined(rec, Comparison{Verdict: VerdictSame}, t.now)
	if err := t.putAsk(&rec, EventLotOpened); err != nil {
		return standing{}, err
	}
	lot.Seq = rec.Seq
	return standing{ask: rec, lot: lot, now: t.now, joined: true}, t.PutLot(lot)
}

// earlier notes on a new lot that the same question was dismissed before.
func (d *Desk) earlier(t *tx, lot *Lot) error {
	past, err := d.dismissed(t)
	if err != nil {
		return err
	}
	for _, c := range slices.Backward(past) {
		same := c.key == lot.Key || d.memory.Same(c.question, lot.question()).Verdict == VerdictSame
		if !same || !c.question.scope().Fits(lot.scope()) {
			continue
		}
		old, err := t.Lot(c.id)
		if err != nil {
			return err
		}
		if old.dismissedForGood() {
			lot.Earlier = old.Dismissed
			return nil
		}
	}
	return nil
}

// reused is the outcome of an ask that was answered from memory.
func (d *Desk) reused(ctx context.Context, agent Agent, rec AskRecord) (Outcome, error) {
	o := Outcome{
		Status: OutcomeReused, AskID: rec.ID, DecisionID: rec.DecisionID, DecidedBy: &rec.Reused.By,
		Answer: rec.Reused.Answer, FreeText: rec.Reused.FreeText,
		Correction: guide(rec.DecisionID), Trace: trace(agent.Workspace, rec.Seq),
	}
	err := d.view(ctx, agent.Workspace, func(t *tx) error {
		dec, err := t.Decision(rec.DecisionID)
		if err != nil {
			return err
		}
		o.Note = dec.Note
		r, err := t.receiptByID(rec.Reused.ReceiptID)
		o.Receipt = &r
		return err
	})
	if err != nil {
		return Outcome{}, err
	}
	return d.signedOutcome(ctx, o), nil
}

// guide tells how a human corrects a decision.
func guide(decision string) *CorrectionGuide {
	return &CorrectionGuide{DecisionID: decision, Verbs: Verbs(), Command: "revue correct " + decision + " VERB"}
}

// trace is an opaque pointer to the journal event an outcome came from.
func trace(workspace string, seq Seq) string { return "journal:" + workspace + ":" + itoa(int64(seq)) }

// wait parks the call until its lot has ended, the deadline has passed, or the desk drains.
// A call is parked from when it saw the lot open.
func (d *Desk) wait(ctx context.Context, agent Agent, rec AskRecord, deadline time.Time, parked bool) (Outcome, error) {
	for {
		o, moved, done, err := d.waitOn(ctx, agent, &rec, deadline, &parked)
		if err != nil || done {
			return o, err
		}
		if !moved {
			return d.pending(rec), nil
		}
	}
}

func (d *Desk) pending(rec AskRecord) Outcome {
	return Outcome{Status: OutcomePending, AskID: rec.ID, LotID: rec.LotID, RetryAfter: time.Second}
}

// waitOn waits on the lot that the ask is in, until it has ended (done), the ask was moved to another
// (moved), or the wait is over (neither).
func (d *Desk) waitOn(ctx context.Context, agent Agent, rec *AskRecord, deadline time.Time, parked *bool) (o Outcome, moved, done bool, err error) {
	on := topic{agent.Workspace, rec.LotID}
	w := d.waiters.add(on) // before the first read
	defer d.waiters.remove(on, w)
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	began := time.Now()
	for {
		at, err := d.state(ctx, agent, rec.ID, *parked)
		if err != nil {
			return Outcome{}, false, false, err
		}
		// By this process's own clock, whatever the store's does.
		at.graced = time.Since(began) >= claimGrace
		if *rec = at.ask; rec.LotID != on.lot {
			return Outcome{}, true, false, nil
		}
		if at.lot.Status != StatusOpen {
			o, done, err := d.deliver(ctx, agent, at, *parked)
			if err != nil || done {
				return o, false, done, err
			}
			// Calls parked elsewhere claim first: look again when they had their time.
			timer.Reset(claimGrace / 4)
		} else {
			*parked = true
			left := time.Until(deadline)
			if left <= 0 || d.drained() {
				return Outcome{}, false, false, nil
			}
			if !at.lot.ExpiresAt.IsZero() {
				left = min(left, at.lot.ExpiresAt.Sub(at.now))
			}
			if d.watching.Load() == 0 {
				left = min(left, pollEvery)
			}
			timer.Reset(max(left, 0))
		}
		select {
		case <-w.ch:
		case <-timer.C:
		case <-d.draining:
		case <-ctx.Done():
			return Outcome{}, false, false, ctx.Err()
		}
	}
}

// pollEvery is how often a wait looks at the store while no Watch is in force.
const pollEvery = time.Second

// state reads what an ask has come to. A call that was parked looks at its credential again: one that
// was revoked meanwhile gets nothing.
func (d *Desk) state(ctx context.Context, agent Agent, ask string, parked bool) (at standing, err error) {
	if parked {
		if err := d.stillValid(ctx, agent); err != nil {
			return at, err
		}
	}
	err = d.view(ctx, agent.Workspace, func(t *tx) error {
		rec, err := t.Ask(ask)
		if err != nil {
			return err
		}
		if at, err = t.standing(rec); err != nil {
			return err
		}
		if released, err := t.released(rec, at.lot); err != nil || released {
			return cmp.Or(err, errReleased)
		}
		return nil
	})
	return at, err
}

// errReleased says that what an ask came to was withdrawn before anyone heard of it: it is asked anew.
var errReleased = errors.New("the answer was withdrawn")

// deliver turns an ended lot into the outcome of a call. It is not done where an approval's outcome has to
// wait for the calls that were parked on it.
func (d *Desk) deliver(ctx context.Context, agent Agent, at standing, parked bool) (Outcome, bool, error) {
	if at.lot.Kind == KindApproval {
		if !parked && !at.graced && !at.lot.hasCall(agent.Call, at.now) && at.now.Sub(at.lot.endedAt()) < claimGrace {
			if d.drained() {
				return d.pending(at.ask), true, nil
			}
			return Outcome{}, false, nil
		}
		var err error
		if at, err = d.claim(ctx, agent, at.ask, parked); err != nil {
			return Outcome{}, false, err
		}
	} else if !agent.Acknowledges && at.ask.ReturnedAt.IsZero() {
		if err := d.returns.mark(ctx, d, agent, at.ask.ID, ""); err != nil && !errors.Is(err, ErrConflict) { // else it was taken back
			return Outcome{}, false, err
		}
	}
	return d.signedOutcome(ctx, outcome(agent.Workspace, at)), true, nil
}

// outcome is what a call is told of an ended lot.
func outcome(workspace string, at standing) Outcome {
	lot := at.lot
	o := Outcome{AskID: at.ask.ID, LotID: lot.ID, Receipt: at.receipt, Trace: trace(workspace, lot.Seq), Claim: at.claim}
	switch {
	case lot.Answer != nil:
		o.Status = OutcomeAnswered
		o.Answer, o.FreeText, o.Note, o.DecidedBy = lot.Answer.Value, lot.Answer.FreeText, lot.Answer.Note, &lot.Answer.By
		if lot.DecisionID != "" {
			o.DecisionID, o.Correction = lot.DecisionID, guide(lot.DecisionID)
		}
	case lot.Dismissed != nil:
		o.Status = OutcomeDismissed
		o.Reason, o.DecidedBy = lot.Dismissed.Reason, &lot.Dismissed.By
	default:
		o.Status = OutcomeExpired
	}
	return o
}

// approval is Request of the second kind. While the card is open the same call of the same caller waits
// on it; an outcome that no parked call got is collected once; after that the call is a new card.
func (d *Desk) approval(ctx context.Context, agent Agent, ask Ask, deadline time.Time) (Outcome, error) {
	p := placement{agent: agent, ask: ask, key: ask.key()}
	for {
		var at standing
		err := d.update(ctx, agent.Workspace, func(t *tx) (err error) {
			if at, err = t.card(p); err == nil && at.ask.ID == "" {
				at, err = d.openLot(t, p.record(t.ids.new("ask_"), t.now), ask, agent.caller(), nil, nil)
			}
			if err != nil || at.lot.Status != StatusOpen {
				return err
			}
			if lot, news := at.lot.awaitedBy(agent.Call, t.now.Add(ask.Wait+callGrace)); news {
				at.lot, err = lot, t.PutLot(lot)
			}
			return err
		})
		if err != nil {
			return Outcome{}, err
		}
		o, err := d.wait(ctx, agent, at.ask, deadline, at.lot.Status == StatusOpen)
		if !errors.Is(err, errClaimed) {
			return o, err
		}
	}
}

// errClaimed says that the outcome of an approval went to another call.
var errClaimed = errors.New("the outcome went to another call")

// card finds the card that a call of this caller waits on or collects.
func (t *tx) card(p placement) (standing, error) {
	lots, err := t.FindLots(LotQuery{Kind: KindApproval, Key: p.key, Newest: true})
	if err != nil {
		return standing{}, err
	}
	// What was approved for one repository is no leave for another, nor for one that is not known.
	lots = slices.DeleteFunc(lots, func(l Lot) bool { return l.Caller != p.agent.caller() || l.Repo != p.agent.Repo })
	for i := range lots {
		lots[i] = lots[i].At(t.now)
	}
	// A call that is tried again is about the card it waited for, whatever came later.
	i := slices.IndexFunc(lots, func(l Lot) bool { return l.hasCall(p.agent.Call, t.now) })
	if i < 0 && len(lots) > 0 {
		i = 0
	}
	if i < 0 {
		return standing{}, nil
	}
	lot := lots[i]
	if _, free := lot.claim(p.agent.Call, lot.awaited(p.agent.Call, t.now), t.now); lot.Status != StatusOpen && !free || lot.Purged {
		return standing{}, nil
	}
	asks, err := t.FindAsks(AskQuery{Lot: lot.ID, Limit: 1})
	if err != nil || len(asks) == 0 {
		return standing{}, err
	}
	return standing{ask: asks[0], lot: lot, now: t.now}, nil
}

// claim takes the outcome of an approval for one call, before the call hears of it: whoever is killed in
// between asks again, and nobody acts twice on one approval.
func (d *Desk) claim(ctx context.Context, agent Agent, rec AskRecord, parked bool) (at standing, err error) {
	err = d.update(ctx, agent.Workspace, func(t *tx) error {
		if at, err = t.standing(rec); err != nil {
			return err
		}
		if at.claim = agent.Call; at.claim == "" {
			at.claim = t.ids.new("clm_")
		}
		lot, ok := at.lot.claim(at.claim, parked || at.lot.awaited(agent.Call, t.now), t.now)
		if !ok {
			return errClaimed
		}
		at.lot = lot
		return t.PutLot(lot)
	})
	return at, err
}
