package revue

import (
	"cmp"
	"context"
	"errors"
	"hash/maphash"
	"slices"
	"time"
)

// VerifyOptions tune [VerifyWorkspace]. Nil is the default.
type VerifyOptions struct {
	// Head is an event that must be in the journal, by its number and its hash: one that was noted earlier, or that a
	// receipt names. A journal whose end was cut off, or that was written anew, does not have it.
	Head Event
	// Progress is called now and then with the number of events that are checked, and of all.
	Progress func(done, total int64)
}

// Verified says what was checked.
type Verified struct {
	Contents

	Purged int64 `json:"purged"` // things whose text was purged: their digests can't be computed again
}

// VerifyWorkspace checks a workspace: that its journal has every event in order and unchanged; that everything an event
// recorded is there, and nothing else; and that what is stored is what the digests in the journal are of, apart from
// what was purged. The tokens of the workspace and all its receipts are held against it too. The first fault is an error of
// CodeInternal that names it.
//
// Who may write to the store can write a whole history anew, with digests that fit. Only an event that was noted
// elsewhere tells: see VerifyOptions.Head. What no digest covers is listed in docs/export.md.
func VerifyWorkspace(ctx context.Context, store Store, workspace string, opts *VerifyOptions) (Verified, error) {
	if opts == nil {
		opts = &VerifyOptions{}
	}
	if workspace == "" {
		return Verified{}, invalid("workspace", "is missing; name one")
	}
	var out Verified
	var c *checker
	err := store.View(ctx, workspace, func(s Tx) error {
		out = Verified{}
		if err := whole(s, workspace); err != nil {
			return err
		}
		head, err := s.Head()
		if err != nil {
			return err
		}
		c = newChecker()
		if _, imported, err := readImportMark(s); err != nil {
			return err
		} else if !imported {
			c.workspace = workspace
		}
		found := false
		err = walk(ctx, s, func(e entry) error {
			out.count(e)
			if e.event != nil {
				found = found || e.event.Seq == opts.Head.Seq && e.event.Hash == opts.Head.Hash
				if opts.Progress != nil && (e.event.Seq%progressEvery == 0 || e.event.Seq == head.Seq) {
					opts.Progress(int64(e.event.Seq), int64(head.Seq))
				}
			}
			if e.lot != nil { // one that no event recorded is found by its lot alone
				asks, err := s.FindAsks(AskQuery{Lot: e.lot.ID})
				if err != nil {
					return err
				}
				if len(asks) != e.lot.AskCount {
					return fault("lot " + clip(e.lot.ID, 80) + " has " + itoa(int64(len(asks))) + " asks, and there were " + itoa(int64(e.lot.AskCount)))
				}
			}
			return c.check(e)
		})
		if err != nil {
			return err
		}
		if err := c.end(); err != nil {
			return err
		}
		if err := c.noOtherReceipts(s); err != nil {
			return err
		}
		if opts.Head.Seq > 0 && !found {
			if opts.Head.Seq > c.head.Seq {
				return fault("the journal ends at event " + itoa(int64(c.head.Seq)) + ", and event " + itoa(int64(opts.Head.Seq)) + " was there: its end was cut off")
			}
			return fault("event " + itoa(int64(opts.Head.Seq)) + " of the journal has another hash: the journal was written anew, or it is another one")
		}
		out.Workspace, out.Events, out.Head, out.Purged = workspace, c.head.Seq, c.head.head(), c.purged
		return nil
	})
	if err == nil {
		out.Tokens, err = c.verifyTokens(ctx, store, workspace)
	}
	if err != nil {
		return Verified{}, err
	}
	return out, nil
}

// head is how an event is named elsewhere, "" for none.
func (e Event) head() string {
	if e.Seq == 0 {
		return ""
	}
	return itoa(int64(e.Seq)) + ":" + e.Hash
}

// noOtherReceipts checks that nothing is kept as a receipt but what the walk came by.
func (c *checker) noOtherReceipts(s Tx) error {
	records, err := s.ListRecords(recordReceipt)
	for _, r := range records {
		if err == nil && !c.have[c.hash(recordReceipt, r.Key)] {
			err = fault("receipt " + clip(r.Key, 80) + " is there, and nothing has it")
		}
	}
	return err
}

// verifyTokens checks the tokens of a workspace against its journal, and returns how many there are. They are kept with
// those of all, and read after the journal: one that is not in it may have been made since.
func (c *checker) verifyTokens(ctx context.Context, store Store, workspace string) (int64, error) {
	var mine, elsewhere []keptToken
	unknown := map[string]bool{}
	err := store.View(ctx, "", func(s Tx) error {
		mine, elsewhere = nil, nil
		clear(unknown)
		all, err := listJSON[keptToken](s, recordToken)
		for _, tok := range all {
			switch {
			case err != nil:
			case tok.Workspace != workspace:
				elsewhere = append(elsewhere, tok)
			case c.tokens[c.hash(recordToken, tok.ID)].seq > 0:
				mine = append(mine, tok)
			default:
				// One whose making was cut short opens nothing, and is nobody's.
				id, rerr := s.Record(recordSecret, tok.Hash)
				if rerr == nil && string(id) == tok.ID {
					unknown[tok.ID] = true
				} else if rerr != nil && !errors.Is(rerr, ErrNotFound) {
					err = rerr
				}
			}
		}
		return err
	})
	if err == nil && len(unknown) > 0 {
		err = store.View(ctx, workspace, func(s Tx) error { return noted(s, c.head.Seq, unknown) })
	}
	if err != nil {
		return 0, err
	}
	for id := range unknown {
		return 0, fault("token " + clip(id, 80) + " is there, and no event made it")
	}
	for _, tok := range mine {
		if err := c.token(tok, true); err != nil {
			return 0, err
		}
	}
	for _, tok := range elsewhere { // a copy of the workspace keeps its tokens
		if err := c.token(tok, false); err != nil {
			return 0, err
		}
	}
	return int64(len(mine)), c.endTokens()
}

// noted removes from a set the tokens that an event after a number has made.
func noted(s Tx, after Seq, ids map[string]bool) error {
	for {
		events, err := s.Events(after, walkEvents)
		if err != nil || len(events) == 0 {
			return err
		}
		for _, e := range events {
			if after = e.Seq; e.Kind == EventTokenCreated {
				delete(ids, e.Ref)
			}
		}
	}
}

// VerifyReceipt checks that a receipt is one of a workspace: that the journal has its event, and that it says what the
// stored receipt says, and the lot or the ask that it is of. Whether it was signed is for [KeySet.VerifyReceipt]. What
// was purged since it was given out is passed over. A receipt that does not fit is an error of CodeInternal.
func VerifyReceipt(ctx context.Context, store Store, workspace string, r Receipt) error {
	bad := func(what string) error {
		return fault("the receipt is not what workspace " + clip(workspace, 80) + " has: " + what)
	}
	return store.View(ctx, workspace, func(s Tx) error {
		if err := whole(s, workspace); err != nil {
			return err
		}
		events, err := s.Events(max(r.Seq-1, 0), 1)
		switch {
		case err != nil:
			return err
		case len(events) == 0 || events[0].Seq != r.Seq:
			return bad("its journal has no event " + itoa(int64(r.Seq)) + ", its end was cut off, or it is another one")
		case events[0].Hash != r.JournalHash || events[0].Sum() != r.JournalHash:
			return bad("event " + itoa(int64(r.Seq)) + " is another one, the journal was changed")
		}
		t := &tx{Tx: s, workspace: workspace, now: s.Now()}
		stored, err := t.storedReceipt(r.ID)
		if errors.Is(err, ErrNotFound) {
			return bad("the receipt is not there")
		}
		if err != nil {
			return err
		}
		said, err := t.stated(stored)
		if err != nil {
			return err
		}
		if said != nil {
			if why := stored.differs(*said); why != "" {
				return bad("the stored receipt was changed: " + why)
			}
		}
		if stored.Purged && !r.Purged {
			r.Purged, r.Answer = true, ""
		}
		switch why := r.differs(stored); {
		case why != "":
			return bad(why)
		case r.ID != stored.ID, r.Workspace != stored.Workspace, r.Seq != stored.Seq, r.JournalHash != stored.JournalHash:
			return bad("the stored receipt was changed")
		case r.QuestionDigest != stored.QuestionDigest:
			return bad("it is of another question")
		}
		return nil
	})
}

// fault is what makes the contents of a workspace wrong.
func fault(text string) error { return &Error{Code: CodeInternal, Message: text, Err: errFault} }

var errFault = errors.New("the contents of the workspace do not verify")

// checker checks the contents of a workspace as walk visits them. It keeps a few bytes of each thing: that it is there,
// and of what can change, the digest it has and the digest the journal says it has.
type checker struct {
	seed      maphash.Seed
	workspace string // what receipts have to name, "" for a workspace that was imported
	head      Event
	have      map[uint64]bool        // by kind and id
	want      map[uint64]Seq         // by kind and id: the event that names it
	facts     map[uint64]fact        // by kind and id
	tokens    map[uint64]tokenFact   // by kind and id
	hashes    map[Seq]map[uint64]Seq // events that receipts name before they come
	ended     map[Seq]uint64         // events that dismissed a lot
	dismissed map[uint64]bool        // how they did
	receipts  map[uint64]bool        // those that something has
	asked     map[uint64]int64       // by ask: when it was recorded first
	firsts    map[uint64]uint64      // by ask: what the lot has that was made for it
	settled   map[uint64]uint64      // by lot: what its decision has to be
	made      map[uint64]uint64      // by decision: its answer, and who gave it
	confirmed map[uint64]int64       // by decision: when that was answered or confirmed last
	callers   map[uint64]uint64      // by ask of an approval: whose call it is
	approvals map[uint64]bool        // by lot
	texts     map[uint64]uint64      // by kind and id: what copies of it say
	returned  map[uint64]returnFact  // by ask
	joins     map[uint64]bool        // by lot and time: when asks joined
	count     map[uint64]int         // by lot: the asks that are missing
	copies    []copied
	earlier   []copied // dismissals that are shown on a later lot
	blank     []blanked
	isBlank   map[uint64]bool // by id
	purges    map[uint64]Seq  // by id: what was purged
	lot       *Lot            // the last one, whose receipt may follow
	ask       *AskRecord      // the same
	purged    int64
}

// fact is what is known of a digest.
type fact struct {
	seq    Seq    // of the event that says it last, 0 for none
	said   uint64 // by that event
	saidAt int64  // when it was, 0 where that is not kept with the thing
	is     uint64 // of what is stored, 0 where it can't be computed or is not there
	isAt   int64
	any    bool // the event has no digest
	free   bool // it can't be computed: it was purged
	new    bool // it is a lot that never ended, of which no event says a digest
	here   bool
}

// tokenFact is what the journal says of a token.
type tokenFact struct {
	seq     Seq    // of the event that made it
	digest  uint64 // by it, 0 for one of before there were any
	revoked Seq
	here    bool
}

// returnFact is what is known of the return of an ask's outcome.
type returnFact struct {
	said   int64 // when, by the last event, 0 for never
	undone bool  // it may have been taken back since
	is     int64
	lot    uint64
}

// copied is the copy of a text that is kept beside another thing.
type copied struct {
	of, text uint64
	seq      Seq
}

// blanked is something that was purged, and by what names.
type blanked struct {
	what string
	ids  []uint64
}

func newChecker() *checker {
	return &checker{
		seed: maphash.MakeSeed(), have: map[uint64]bool{}, want: map[uint64]Seq{}, facts: map[uint64]fact{}, tokens: map[uint64]tokenFact{},
		hashes: map[Seq]map[uint64]Seq{}, ended: map[Seq]uint64{}, dismissed: map[uint64]bool{}, receipts: map[uint64]bool{},
		asked: map[uint64]int64{}, firsts: map[uint64]uint64{}, settled: map[uint64]uint64{}, made: map[uint64]uint64{},
		confirmed: map[uint64]int64{}, approvals: map[uint64]bool{}, texts: map[uint64]uint64{}, isBlank: map[uint64]bool{}, purges: map[uint64]Seq{},
		returned: map[uint64]returnFact{}, joins: map[uint64]bool{}, count: map[uint64]int{}, callers: map[uint64]uint64{},
	}
}

func (c *checker) hash(kind, id string) uint64 { return maphash.String(c.seed, kind+"\x00"+id) }

// digest is the hash of several values.
func (c *checker) digest(fill func(digest)) uint64 {
	d := newDigest("")
	fill(d)
	return c.hash("", d.hex())
}

// options adds options to a digest.
func (d digest) options(opts []Option) {
	d.num(int64(len(opts)))
	for _, o := range opts {
		d.str(o.Value)
		d.str(o.Label)
		d.str(o.Consequence)
	}
}

// refer notes that something is named.
func (c *checker) refer(kind, id string) {
	if id != "" {
		c.want[c.hash(kind, id)] = c.head.Seq
	}
}

// has notes that something has a receipt, which is that of nothing else.
func (c *checker) has(receipt string) error {
	if receipt == "" {
		return nil
	}
	h := c.hash(recordReceipt, receipt)
	if c.receipts[h] {
		return fault("receipt " + clip(receipt, 80) + " is that of two things")
	}
	c.receipts[h] = true
	c.refer(recordReceipt, receipt)
	return nil
}

// found notes that something is there.
func (c *checker) found(kind, id string) error {
	h := c.hash(kind, id)
	if c.have[h] {
		return fault("there are two of the " + kind + " " + clip(id, 80))
	}
	c.have[h] = true
	return nil
}

// said notes what the last event says of a thing. A time that is not kept with it is zero; then the one before stays.
func (c *checker) said(kind, id, digest string, at time.Time) {
	h := c.hash(kind, id)
	f := c.facts[h]
	f.seq, f.said, f.any = c.head.Seq, c.hash("", digest), digest == ""
	if !at.IsZero() {
		f.saidAt = at.UnixMicro()
	}
	c.facts[h] = f
}

// is notes what is stored of a thing.
func (c *checker) is(kind, id, digest string, at time.Time, free, isNew bool) {
	h := c.hash(kind, id)
	f := c.facts[h]
	f.is, f.isAt, f.free, f.new, f.here = c.hash("", digest), at.UnixMicro(), free, isNew, true
	c.facts[h] = f
}

// copyOf notes that a text of another thing is kept beside what is checked.
func (c *checker) copyOf(kind, id string, text uint64) {
	c.copies = append(c.copies, copied{c.hash(kind, id), text, c.head.Seq})
}

// wasPurged notes that something is blank: by its id, or with what it belongs to.
func (c *checker) wasPurged(kind, id string, with ...string) {
	c.purged++
	b := blanked{what: kind + " " + clip(id, 80), ids: []uint64{c.hash("", id)}}
	for _, w := range with {
		if w != "" {
			b.ids = append(b.ids, c.hash("", w))
		}
	}
	c.blank = append(c.blank, b)
	c.isBlank[c.hash("", id)] = true
}

func (c *checker) check(e entry) error {
	switch {
	case e.event != nil:
		return c.event(*e.event)
	case e.lot != nil:
		c.lot, c.ask = e.lot, nil
		return c.checkLot(*e.lot)
	case e.ask != nil:
		c.lot, c.ask = nil, e.ask
		return c.checkAsk(*e.ask)
	case e.decision != nil:
		return c.checkDecision(*e.decision)
	case e.context != nil:
		return c.checkContext(*e.context)
	default:
		return c.checkRecord(*e.record)
	}
}

func (c *checker) event(e Event) error {
	if err := VerifyChain(c.head, []Event{e}); err != nil {
		next := c.head.Seq + 1
		switch {
		case e.Seq > next:
			return fault("the journal does not verify: event " + itoa(int64(next)) + " is missing")
		case e.Seq < next:
			return fault("the journal does not verify: event " + itoa(int64(e.Seq)) + " comes after event " + itoa(int64(c.head.Seq)))
		case e.Hash != e.Sum():
			return fault("the journal does not verify: event " + itoa(int64(e.Seq)) + " was changed")
		default:
			return fault("the journal does not verify: event " + itoa(int64(e.Seq)) + " does not follow from the one before: one of the two is another's")
		}
	}
	c.head = e
	h := c.hash(e.Lot, e.Hash)
	for named := range c.hashes[e.Seq] {
		if named != h {
			return fault("a receipt names another hash of event " + itoa(int64(e.Seq)) + " than the journal has, or the event of something else")
		}
	}
	ends := false
	c.returns(e)
	c.refer("lot", e.Lot)
	c.refer("decision", e.Decision)
	for _, id := range e.Asks {
		c.refer("ask", id)
	}
	switch e.Kind {
	case EventLotOpened, EventAskJoined, EventAskReused:
		for _, id := range e.Asks {
			if a := c.hash("ask", id); c.asked[a] == 0 {
				c.asked[a] = e.At.UnixMicro()
			}
		}
	case EventLotAnswered:
		ends = true
		c.said("lot", e.Lot, e.Digest+e.Decision, e.At)
	case EventLotExpired:
		ends = true
		c.said("lot", e.Lot, e.Digest, time.Time{})
	case EventLotReopened:
		h := c.hash("lot", e.Lot)
		f := c.facts[h]
		f.saidAt = 0
		c.facts[h] = f
		c.said("lot", e.Lot, e.Digest, time.Time{})
	case EventLotDismissed:
		ends = true
		c.said("lot", e.Lot, e.Digest, e.At)
		c.ended[e.Seq] = c.dismissal(e, e.Hash)
		c.dismissed[c.hash(e.Digest, itoa(e.At.UnixMicro()))] = true
	case EventDecisionMade, EventDecisionConfirmed:
		c.said("decision", e.Decision, e.Digest, e.At)
		c.confirmed[c.hash("decision", e.Decision)] = e.At.UnixMicro()
	case EventDecisionSuperseded:
		c.said("decision", e.Decision, e.Digest, time.Time{})
	case EventDecisionCorrected:
		c.said("correction", e.Ref, e.Digest+e.Decision, e.At)
	case EventContextShared:
		c.refer("context", e.Ref)
	case EventContextRemoved:
		c.refer("context", e.Ref)
		c.said("removal", e.Ref, "", time.Time{})
	case EventMemberAdded:
		c.said(recordMember, e.Ref, e.Digest, e.At)
	case EventMemberRemoved:
		c.said("removal", e.Ref, "", e.At)
	case EventTokenCreated, EventTokenRevoked:
		return c.tokenEvent(e)
	case EventPurged:
		c.purges[c.hash("", e.Ref)] = e.Seq
		if e.Decision != "" {
			c.purges[c.hash("", e.Decision)] = e.Seq
		}
	}
	if c.hashes[e.Seq] != nil && !ends {
		return fault("a receipt names event " + itoa(int64(e.Seq)) + ", which ended nothing")
	}
	delete(c.hashes, e.Seq)
	return nil
}

// returns notes what an event says of the return of outcomes.
func (c *checker) returns(e Event) {
	if e.Kind == EventAskJoined { // it may have been handed an outcome, which then counts as returned to another
		c.joins[c.hash(e.Lot, itoa(e.At.UnixMicro()))] = true
	}
	for _, id := range e.Asks {
		h := c.hash("ask", id)
		f := c.returned[h]
		switch e.Kind {
		case EventAskReturned, EventAskReused:
			f.said, f.undone = e.At.UnixMicro(), false
		case EventLotReopened, EventAskMoved:
			f.undone = true
		default:
			continue
		}
		c.returned[h] = f
	}
}

// dismissal is what the receipt of a dismissal says of its event.
func (c *checker) dismissal(e Event, hash string) uint64 {
	return c.digest(func(d digest) {
		d.str(hash)
		d.str(e.Lot)
		d.str(e.Actor)
		d.str(e.Via)
		d.num(e.At.UnixMicro())
	})
}

// tokenEvent notes what the journal says of a token.
func (c *checker) tokenEvent(e Event) error {
	h := c.hash(recordToken, e.Ref)
	f := c.tokens[h]
	digest := uint64(0)
	if e.Digest != "" {
		digest = c.hash("", e.Digest)
	}
	switch {
	case e.Kind == EventTokenCreated && f.seq > 0:
		return fault("token " + clip(e.Ref, 80) + " was made twice")
	case e.Kind == EventTokenCreated:
		f.seq, f.digest = e.Seq, digest
	default:
		if f.digest != 0 && digest != 0 && f.digest != digest {
			return fault("token " + clip(e.Ref, 80) + " was changed before event " + itoa(int64(e.Seq)) + ", which revoked it")
		}
		f.revoked = e.Seq
	}
	c.tokens[h] = f
	return nil
}

// token checks a token against its event. Of one that another workspace has by now, what it is alone.
func (c *checker) token(tok keptToken, own bool) error {
	h := c.hash(recordToken, tok.ID)
	f := c.tokens[h]
	switch {
	case f.seq == 0 && !own:
		return nil
	case f.seq == 0:
		return fault("token " + clip(tok.ID, 80) + " is there, and no event made it")
	case f.here:
		return fault("there are two of the token " + clip(tok.ID, 80))
	case f.digest != 0 && f.digest != c.hash("", tok.digest()):
		return fault("token " + clip(tok.ID, 80) + " was changed: it is not what event " + itoa(int64(f.seq)) + " made")
	case own && f.revoked > 0 && tok.RevokedAt.IsZero():
		return fault("token " + clip(tok.ID, 80) + " was revoked by event " + itoa(int64(f.revoked)) + ", and is not")
	}
	f.here = true
	c.tokens[h] = f
	return nil
}

// endTokens checks what is known when all tokens were seen. Events of before they had digests are passed over: a copy of
// a workspace may have been exported without its tokens then.
func (c *checker) endTokens() error {
	for _, f := range c.tokens {
		switch {
		case f.seq == 0:
			return fault("event " + itoa(int64(f.revoked)) + " revoked a token that no event made")
		case !f.here && f.digest != 0:
			return fault("the token that event " + itoa(int64(f.seq)) + " made is not there")
		}
	}
	return nil
}

// recorded checks that the last event is the one that recorded a thing.
func (c *checker) recorded(kind, id string, seq Seq, named bool) error {
	if seq != c.head.Seq || !named {
		return fault("no event " + itoa(int64(seq)) + " recorded the " + kind + " " + clip(id, 80) + ", which is there")
	}
	return c.found(kind, id)
}

func (c *checker) checkLot(l Lot) error {
	if err := c.recorded("lot", l.ID, l.Seq, c.head.Kind == EventLotOpened && c.head.Lot == l.ID); err != nil {
		return err
	}
	h := c.hash("lot", l.ID)
	end, at := l.digest(), time.Time{}
	switch l.Status {
	case StatusAnswered:
		end += l.DecisionID
		at = l.endedAt()
	case StatusDismissed:
		at = l.endedAt()
	}
	c.is("lot", l.ID, end, at, l.Purged, l.Status == StatusOpen && !l.reopened())
	c.count[h] += l.AskCount
	if l.Kind == KindApproval {
		c.approvals[h] = true
	}
	if l.Dismissed != nil && l.Dismissed.LotID != l.ID {
		return fault("lot " + clip(l.ID, 80) + " was changed: it has the dismissal of another")
	}
	if l.Purged {
		c.wasPurged("lot", l.ID, l.DecisionID)
	} else if err := c.checkTexts(l); err != nil {
		return err
	}
	if err := c.has(l.ReceiptID); err != nil {
		return err
	}
	c.refer("decision", l.DecisionID)
	c.refer("lot", l.MergedInto)
	for _, link := range l.Related {
		c.refer("lot", link.LotID)
		c.copyOf("lot", link.LotID, c.hash("", textDigest(link.Question)))
	}
	for _, m := range l.Pinned {
		c.refer("decision", m.DecisionID)
		c.copyOf("decision", m.DecisionID, c.precedent(m.Question, m.Answer, m.AnswerLabel, m.DecidedBy))
	}
	if l.Earlier != nil {
		c.refer("lot", l.Earlier.LotID)
		past := Lot{ID: l.Earlier.LotID, Status: StatusDismissed, Dismissed: l.Earlier}
		c.earlier = append(c.earlier, copied{c.hash("", l.Earlier.LotID), c.hash(past.digest(), itoa(l.Earlier.At.UnixMicro())), c.head.Seq})
	}
	return nil
}

// checkTexts checks what a lot shows: it is what the first ask in it said, or follows from that.
func (c *checker) checkTexts(l Lot) error {
	bad := func(what string) error {
		return fault("lot " + clip(l.ID, 80) + " was changed: " + what)
	}
	ask := Ask{
		Kind: l.Kind, Question: l.Question, Options: l.Options, Recommendation: l.Recommendation, Context: l.Context,
		Concepts: l.Concepts, Files: l.Files, Affected: l.Affected,
	}
	title := ""
	if l.Kind == KindApproval {
		title = l.Question
	}
	switch {
	case l.Key != ask.key():
		return bad("what it shows does not have its key")
	case l.Title != title:
		return bad("its title is not its question")
	case !l.CreatedAt.Equal(c.head.At):
		return bad("it was not made when its event was")
	case l.Answer != nil && l.Answer.Label != labelOf(l.Options, l.Answer.Value, l.Answer.FreeText):
		return bad("the label of its answer is not that of its option")
	case len(c.head.Asks) != 1:
		return bad("the event that made it has no first ask")
	}
	first := c.hash("ask", c.head.Asks[0])
	shows := c.shows(l.Key, l.Question, l.Context, l.Recommendation, l.Repo, l.Stream)
	if was, ok := c.firsts[first]; ok && was != shows {
		return bad("it shows something else than the ask that it was made for")
	}
	c.firsts[first] = shows
	if l.Kind == KindApproval {
		c.callers[first] = c.hash("", l.Caller)
	}
	h := c.hash("lot", l.ID)
	c.texts[h] = c.hash("", textDigest(l.Question))
	if l.Answer != nil && l.Kind == KindDecision {
		c.settled[h] = c.terms(l.Key, l.Question, l.Options, l.scope(), l.Stream, l.DecisionID)
	}
	return nil
}

// shows is the hash of what a lot has from its first ask.
func (c *checker) shows(texts ...string) uint64 {
	return c.digest(func(d digest) { d.list(texts) })
}

// terms is the hash of what a decision has from the lot that it was made of.
func (c *checker) terms(key, question string, opts []Option, s Scope, stream, decision string) uint64 {
	return c.digest(func(d digest) {
		d.str(key)
		d.str(question)
		d.options(opts)
		d.list(s.Concepts)
		d.list(s.Files)
		d.str(s.Repo)
		d.str(stream)
		d.str(decision)
	})
}

// precedent is the hash of what a card shows of a decision. A label that says no more than its answer is left out there.
func (c *checker) precedent(question, answer, label string, by Who) uint64 {
	return c.digest(func(d digest) {
		d.str(question)
		d.str(answer)
		d.str(cmp.Or(label, answer))
		d.who(by)
	})
}

// labelOf is the label of an answer among options.
func labelOf(opts []Option, answer string, freeText bool) string {
	label := ""
	for _, o := range opts {
		if !freeText && o.Value == answer {
			label = o.Label
		}
	}
	return label
}

func (c *checker) checkAsk(a AskRecord) error {
	named := len(c.head.Asks) == 1 && c.head.Asks[0] == a.ID
	switch c.head.Kind {
	case EventLotOpened, EventAskJoined, EventAskReused:
	default:
		named = false
	}
	if err := c.recorded("ask", a.ID, a.Seq, named); err != nil {
		return err
	}
	bad := func(what string) error {
		return fault("ask " + clip(a.ID, 80) + " was changed: " + what)
	}
	h := c.hash("ask", a.ID)
	if a.CreatedAt.UnixMicro() != c.asked[h] {
		return bad("it was not asked when its event was")
	}
	delete(c.asked, h)
	shows, first := c.firsts[h]
	delete(c.firsts, h)
	caller, called := c.callers[h]
	thread := Agent{Credential: a.Credential, Thread: a.Thread}
	anywhere := Agent{Credential: a.Credential, AnyThread: true}
	ask := Ask{
		Kind: KindDecision, Question: a.Question, Options: a.Options, Recommendation: a.Recommendation, Context: a.Context,
		Concepts: a.Scope.Concepts, Files: a.Scope.Files,
	}
	switch {
	case a.Purged:
		c.wasPurged("ask", a.ID, a.LotID, a.DecisionID)
	case a.digest() != c.head.Digest && a.digest1() != c.head.Digest:
		return bad("it is not what event " + itoa(int64(a.Seq)) + " recorded")
	case a.Repo != a.Scope.Repo:
		return bad("it is of another repository")
	case !c.approvals[c.hash("lot", a.LotID)] && a.Key != ask.key():
		return bad("what it says does not have its key")
	case called && caller != c.hash("", thread.caller()) && caller != c.hash("", anywhere.caller()):
		return fault("the lot that was made for ask " + clip(a.ID, 80) + " was changed: it is for another caller")
	case first && shows != c.shows(a.Key, a.Question, a.Context, a.Recommendation, a.Repo, a.Stream):
		return fault("the lot that was made for ask " + clip(a.ID, 80) + " was changed: it shows something else")
	}
	f := c.returned[h]
	if !a.ReturnedAt.IsZero() {
		f.is = a.ReturnedAt.UnixMicro()
	}
	f.lot = c.hash(a.LotID, itoa(f.is))
	c.returned[h] = f
	if a.LotID != "" {
		c.count[c.hash("lot", a.LotID)]--
	}
	if a.LotID == "" && a.Reused == nil {
		return fault("ask " + clip(a.ID, 80) + " is in no lot")
	}
	c.refer("lot", a.LotID)
	c.refer("decision", a.DecisionID)
	if a.Reused == nil {
		return nil
	}
	dec := c.hash("decision", a.DecisionID)
	given, known := c.made[dec]
	switch {
	case a.Reused.At.UnixMicro() != c.confirmed[dec]:
		return bad("its decision was made at another time")
	case !a.Purged && known && given != c.answered(a.Reused.Answer, a.Reused.FreeText, a.Reused.By):
		return bad("its decision has another answer, or was made by somebody else")
	}
	return c.has(a.Reused.ReceiptID)
}

// answered is the hash of an answer, and of who gave it.
func (c *checker) answered(answer string, freeText bool, by Who) uint64 {
	return c.digest(func(d digest) {
		d.str(answer)
		d.flag(freeText)
		d.who(by)
	})
}

func (c *checker) checkDecision(d Decision) error {
	if err := c.recorded("decision", d.ID, d.Seq, c.head.Kind == EventDecisionMade && c.head.Decision == d.ID); err != nil {
		return err
	}
	bad := func(what string) error {
		return fault("decision " + clip(d.ID, 80) + " was changed: " + what)
	}
	h := c.hash("decision", d.ID)
	c.is("decision", d.ID, d.digest(), d.ConfirmedAt, d.Purged, false)
	for _, cor := range d.Corrections {
		if cor.DecisionID != d.ID {
			return bad("it has a correction of another")
		}
		c.is("correction", cor.ID, cor.digest()+d.ID, cor.At, d.Purged, false)
	}
	if d.LotID != c.head.Lot {
		return bad("it was made from another lot")
	}
	if !d.CreatedAt.Equal(c.head.At) {
		return bad("it was not made when its event was")
	}
	if d.Purged {
		c.wasPurged("decision", d.ID, d.LotID)
	} else {
		terms, known := c.settled[c.hash("lot", d.LotID)]
		if known && terms != c.terms(d.Key, d.Question, d.Options, d.Scope(), d.Stream, d.ID) {
			return bad("its question, options or scope are not those of the lot that it was made from")
		}
		if d.AnswerLabel != labelOf(d.Options, d.Answer, d.FreeText) {
			return bad("the label of its answer is not that of its option")
		}
		c.made[h] = c.answered(d.Answer, d.FreeText, d.By)
		c.texts[h] = c.precedent(d.Question, d.Answer, d.AnswerLabel, d.By)
	}
	c.refer("lot", d.LotID)
	c.refer("decision", d.SupersededBy)
	for _, id := range d.Supersedes {
		c.refer("decision", id)
	}
	return nil
}

func (c *checker) checkContext(item ContextItem) error {
	if err := c.recorded("context", item.ID, item.Seq, c.head.Kind == EventContextShared && c.head.Ref == item.ID); err != nil {
		return err
	}
	switch {
	case item.Purged:
		c.wasPurged("shared note", item.ID)
	case item.digest() != c.head.Digest && item.digest1() != c.head.Digest:
		return fault("shared note " + clip(item.ID, 80) + " was changed: it is not what event " + itoa(int64(item.Seq)) + " recorded")
	}
	if !item.CreatedAt.Equal(c.head.At) {
		return fault("shared note " + clip(item.ID, 80) + " was changed: it was not shared when its event was")
	}
	if item.Removed {
		c.is("removal", item.ID, "", time.Time{}, false, item.Purged)
	}
	return nil
}

func (c *checker) checkRecord(r exportRecord) error {
	switch r.Kind {
	case recordMember:
		var m Member
		if err := decodeRecord(r.Value, &m); err != nil {
			return err
		}
		if m.ID != r.Key {
			return fault("member " + clip(r.Key, 80) + " was changed: it has another id")
		}
		c.is(recordMember, m.ID, m.digest(), m.CreatedAt, false, false)
		if !m.RemovedAt.IsZero() {
			c.is("removal", m.ID, "", m.RemovedAt, false, false)
		}
		return c.found(r.Kind, r.Key)
	case recordReceipt:
		if err := c.found(r.Kind, r.Key); err != nil {
			return err
		}
		var rec Receipt
		if err := decodeRecord(r.Value, &rec); err != nil {
			return err
		}
		return c.checkReceipt(r.Key, rec)
	default:
		return nil
	}
}

// checkReceipt checks a receipt against its event, and against the lot or the ask that it follows.
func (c *checker) checkReceipt(id string, r Receipt) error {
	bad := func(what string) error {
		return fault("receipt " + clip(id, 80) + " was changed, or what it is of was: " + what)
	}
	switch {
	case r.ID != id:
		return bad("it has another id")
	case c.workspace != "" && r.Workspace != c.workspace:
		return bad("it is of another workspace")
	}
	if err := c.found("receipt of event", itoa(int64(r.Seq))); err != nil {
		return err
	}
	switch {
	case c.lot != nil && c.lot.ReceiptID == id:
		if why := r.differs(c.lot.states()); why != "" {
			return bad(why)
		}
		if r.Seq <= c.head.Seq {
			return bad("it names an event that is older than its lot")
		}
		if c.hashes[r.Seq] == nil {
			c.hashes[r.Seq] = map[uint64]Seq{}
		}
		c.hashes[r.Seq][c.hash(r.Lot, r.JournalHash)] = c.head.Seq
	case c.ask != nil && c.ask.Reused != nil && c.ask.Reused.ReceiptID == id:
		if why := r.differs(c.ask.states()); why != "" {
			return bad(why)
		}
		if r.Seq != c.head.Seq || r.JournalHash != c.head.Hash || c.head.Kind != EventAskReused {
			return bad("it names another event than the one that recorded it, or another hash of it")
		}
	default: // of a dismissal that was taken back
		event := Event{Lot: r.Lot, Actor: r.DecidedBy.ID, Via: r.DecidedBy.Via, At: r.At}
		if r.Kind != string(StatusDismissed) || c.ended[r.Seq] != c.dismissal(event, r.JournalHash) {
			return bad("nothing has it, and it is of no dismissal that the journal has")
		}
		if r.Ask != "" || r.Decision != "" || r.Answer != "" {
			return bad("a dismissal has no answer")
		}
		if text, known := c.texts[c.hash("lot", r.Lot)]; known && text != c.hash("", r.QuestionDigest) {
			return bad("it is of another question")
		}
	}
	return nil
}

// end checks what is known when everything was seen.
func (c *checker) end() error {
	for h, seq := range c.want {
		if !c.have[h] {
			return fault("what event " + itoa(int64(seq)) + " recorded or names is not there, or names what is not there")
		}
	}
	for seq := range c.ended {
		if !c.have[c.hash("receipt of event", itoa(int64(seq)))] {
			return fault("the receipt of event " + itoa(int64(seq)) + " is not there")
		}
	}
	for seq := range c.hashes {
		return fault("a receipt names event " + itoa(int64(seq)) + ", which the journal does not have: its end was cut off")
	}
	for _, f := range c.facts {
		switch {
		case f.seq == 0 && !f.free && !f.new:
			return fault("something was settled or changed, and no event says so")
		case f.seq > 0 && !f.here:
			return fault("what event " + itoa(int64(f.seq)) + " recorded is not there")
		case f.seq > 0 && !f.free && !f.any && f.is != f.said:
			return fault("what event " + itoa(int64(f.seq)) + " recorded was changed: its digest is another")
		case f.seq > 0 && f.saidAt != 0 && f.isAt != f.saidAt:
			return fault("what event " + itoa(int64(f.seq)) + " recorded was changed: it has another time")
		}
	}
	for _, x := range c.copies {
		if text, known := c.texts[x.of]; known && text != x.text {
			return fault("what event " + itoa(int64(x.seq)) + " made was changed: what it shows of something else is not what that says")
		}
	}
	for _, x := range c.earlier {
		if !c.dismissed[x.text] && !c.isBlank[x.of] {
			return fault("what event " + itoa(int64(x.seq)) + " made was changed: it shows a dismissal that never was")
		}
	}
	for _, f := range c.returned {
		if f.is != f.said && (f.is != 0 || !f.undone) && !c.joins[f.lot] {
			return fault("an ask was changed: its outcome was returned at another time than the journal says, or never was")
		}
	}
	for _, n := range c.count {
		if n != 0 {
			return fault("a lot was changed: it counts other asks than it has")
		}
	}
	for _, b := range c.blank {
		if !slices.ContainsFunc(b.ids, func(id uint64) bool { return c.purges[id] > 0 }) {
			return fault(b.what + " is blank, and no event says that it was purged")
		}
	}
	for id, seq := range c.purges {
		if !c.isBlank[id] {
			return fault("what event " + itoa(int64(seq)) + " purged is not blank")
		}
	}
	return nil
}

// recordImport is the record of a workspace that says from where it was imported, and whether all of it is there.
const recordImport = "import"

// importMark is its value. Its key is "journal".
type importMark struct {
	Head exportHead `json:"head"` // the last event that was, or will be, imported
	Done bool       `json:"done"`
}

func readImportMark(r Records) (mark importMark, found bool, err error) {
	err = readJSON(r, recordImport, "journal", &mark)
	if errors.Is(err, ErrNotFound) {
		return importMark{Done: true}, false, nil
	}
	return mark, err == nil, err
}

// whole refuses a workspace of which a part was imported so far.
func whole(r Records, workspace string) error {
	if workspace == "" {
		return nil
	}
	mark, _, err := readImportMark(r)
	if err == nil && !mark.Done {
		err = &Error{
			Code: CodeUnavailable, ID: workspace, Err: errHalfImported,
			Message: "workspace " + clip(workspace, 80) + " is not whole: it is being imported, or that was cut short; run the same import again to complete it",
		}
	}
	return err
}

// errHalfImported tells background work that a workspace has to wait for its import.
var errHalfImported = errors.New("the workspace is half imported")
