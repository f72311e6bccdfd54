package revue

import (
	"context"
	"errors"
	"hash/maphash"
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
// what was purged. The first fault is an error of CodeInternal that names it.
//
// Who may write to the store can write a whole history anew, with digests that fit. Only an event that was noted
// elsewhere tells: see VerifyOptions.Head.
func VerifyWorkspace(ctx context.Context, store Store, workspace string, opts *VerifyOptions) (Verified, error) {
	if opts == nil {
		opts = &VerifyOptions{}
	}
	if workspace == "" {
		return Verified{}, invalid("workspace", "is missing; name one")
	}
	var out Verified
	err := store.View(ctx, workspace, func(s Tx) error {
		out = Verified{}
		if err := whole(s, workspace); err != nil {
			return err
		}
		head, err := s.Head()
		if err != nil {
			return err
		}
		c := newChecker()
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
		if opts.Head.Seq > 0 && !found {
			if opts.Head.Seq > c.head.Seq {
				return fault("the journal ends at event " + itoa(int64(c.head.Seq)) + ", and event " + itoa(int64(opts.Head.Seq)) + " was there: its end was cut off")
			}
			return fault("event " + itoa(int64(opts.Head.Seq)) + " of the journal has another hash: the journal was written anew, or it is another one")
		}
		out.Workspace, out.Events, out.Head, out.Purged = workspace, c.head.Seq, c.head.Hash, c.purged
		return nil
	})
	if err != nil {
		return Verified{}, err
	}
	return out, nil
}

// fault is what makes the contents of a workspace wrong.
func fault(text string) error { return &Error{Code: CodeInternal, Message: text, Err: errFault} }

var errFault = errors.New("the contents of the workspace do not verify")

// checker checks the contents of a workspace as walk visits them. It keeps a few bytes of each thing: that it is there,
// and of what can change, the digest it has and the digest the journal says it has.
type checker struct {
	seed   maphash.Seed
	head   Event
	have   map[uint64]bool        // by kind and id
	want   map[uint64]Seq         // by kind and id: the event that names it
	facts  map[uint64]fact        // by kind and id
	hashes map[Seq]map[uint64]Seq // hashes of events that receipts name before they come
	ended  map[Seq]uint64         // hashes of events that dismissed a lot
	lot    *Lot                   // the last one, whose receipt may follow
	ask    *AskRecord             // the same
	purged int64
}

// fact is what is known of a digest.
type fact struct {
	seq  Seq    // of the event that says it last, 0 for none
	said uint64 // by that event
	is   uint64 // of what is stored, 0 where it can't be computed or is not there
	free bool   // it can't be computed: it was purged
	new  bool   // it is a lot that never ended, of which no event says a digest
	here bool
}

func newChecker() *checker {
	return &checker{
		seed: maphash.MakeSeed(), have: map[uint64]bool{}, want: map[uint64]Seq{}, facts: map[uint64]fact{},
		hashes: map[Seq]map[uint64]Seq{}, ended: map[Seq]uint64{},
	}
}

func (c *checker) hash(kind, id string) uint64 { return maphash.String(c.seed, kind+"\x00"+id) }

// refer notes that something is named.
func (c *checker) refer(kind, id string) {
	if id != "" {
		c.want[c.hash(kind, id)] = c.head.Seq
	}
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

func (c *checker) said(kind, id, digest string) {
	h := c.hash(kind, id)
	f := c.facts[h]
	f.seq, f.said = c.head.Seq, c.hash("", digest)
	c.facts[h] = f
}

func (c *checker) stored(kind, id, digest string, free, isNew bool) {
	h := c.hash(kind, id)
	f := c.facts[h]
	f.is, f.free, f.new, f.here = c.hash("", digest), free, isNew, true
	c.facts[h] = f
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
	h := c.hash("", e.Hash)
	for named := range c.hashes[e.Seq] {
		if named != h {
			return fault("a receipt names another hash of event " + itoa(int64(e.Seq)) + " than the journal has")
		}
	}
	delete(c.hashes, e.Seq)
	c.refer("lot", e.Lot)
	c.refer("decision", e.Decision)
	for _, id := range e.Asks {
		c.refer("ask", id)
	}
	switch e.Kind {
	case EventLotAnswered, EventLotExpired, EventLotReopened:
		c.said("lot", e.Lot, e.Digest)
	case EventLotDismissed:
		c.said("lot", e.Lot, e.Digest)
		c.ended[e.Seq] = h
	case EventDecisionMade, EventDecisionConfirmed, EventDecisionSuperseded:
		c.said("decision", e.Decision, e.Digest)
	case EventDecisionCorrected:
		c.said("correction", e.Ref, e.Digest)
	case EventContextShared, EventContextRemoved:
		c.refer("context", e.Ref)
	case EventMemberAdded, EventMemberRemoved:
		c.refer(recordMember, e.Ref)
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
	if l.Purged {
		c.purged++
	}
	c.stored("lot", l.ID, l.digest(), l.Purged, l.Status == StatusOpen && !l.reopened())
	c.refer("decision", l.DecisionID)
	c.refer("lot", l.MergedInto)
	c.refer(recordReceipt, l.ReceiptID)
	for _, link := range l.Related {
		c.refer("lot", link.LotID)
	}
	for _, m := range l.Pinned {
		c.refer("decision", m.DecisionID)
	}
	if l.Earlier != nil {
		c.refer("lot", l.Earlier.LotID)
	}
	return nil
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
	switch {
	case a.Purged:
		c.purged++
	case a.digest() != c.head.Digest:
		return fault("ask " + clip(a.ID, 80) + " was changed: it is not what event " + itoa(int64(a.Seq)) + " recorded")
	}
	if a.LotID == "" && a.Reused == nil {
		return fault("ask " + clip(a.ID, 80) + " is in no lot")
	}
	c.refer("lot", a.LotID)
	c.refer("decision", a.DecisionID)
	if a.Reused != nil {
		c.refer(recordReceipt, a.Reused.ReceiptID)
	}
	return nil
}

func (c *checker) checkDecision(d Decision) error {
	if err := c.recorded("decision", d.ID, d.Seq, c.head.Kind == EventDecisionMade && c.head.Decision == d.ID); err != nil {
		return err
	}
	if d.Purged {
		c.purged++
	}
	c.stored("decision", d.ID, d.digest(), d.Purged, false)
	for _, cor := range d.Corrections {
		c.stored("correction", cor.ID, cor.digest(), d.Purged, false)
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
		c.purged++
	case item.digest() != c.head.Digest:
		return fault("shared note " + clip(item.ID, 80) + " was changed: it is not what event " + itoa(int64(item.Seq)) + " recorded")
	}
	return nil
}

func (c *checker) checkRecord(r exportRecord) error {
	if r.Kind == recordMember || r.Kind == recordReceipt {
		if err := c.found(r.Kind, r.Key); err != nil {
			return err
		}
	}
	if r.Kind != recordReceipt {
		return nil
	}
	var rec Receipt
	if err := decodeRecord(r.Value, &rec); err != nil {
		return err
	}
	return c.checkReceipt(r.Key, rec)
}

// checkReceipt checks a receipt against its event, and against the lot or the ask that it follows.
func (c *checker) checkReceipt(id string, r Receipt) error {
	bad := func(what string) error {
		return fault("receipt " + clip(id, 80) + " was changed: " + what)
	}
	named := c.hash("", r.JournalHash)
	switch {
	case r.ID != id:
		return bad("it has another id")
	case r.Seq > c.head.Seq:
		if c.hashes[r.Seq] == nil {
			c.hashes[r.Seq] = map[uint64]Seq{}
		}
		c.hashes[r.Seq][named] = c.head.Seq
	case r.Seq == c.head.Seq:
		if r.JournalHash != c.head.Hash {
			return bad("it names another hash of event " + itoa(int64(r.Seq)) + " than the journal has")
		}
	case c.ended[r.Seq] != named:
		return bad("it names an event " + itoa(int64(r.Seq)) + " that the journal does not have")
	}
	var question, answer, decision string
	purged := r.Purged
	switch {
	case c.lot != nil && c.lot.ReceiptID == id:
		if r.Lot != c.lot.ID {
			return bad("it is of another lot")
		}
		question, decision = c.lot.Question, c.lot.DecisionID
		if c.lot.Answer != nil {
			answer = c.lot.Answer.Value
		}
		purged = purged || c.lot.Purged
	case c.ask != nil && c.ask.Reused != nil && c.ask.Reused.ReceiptID == id:
		if r.Ask != c.ask.ID {
			return bad("it is of another ask")
		}
		question, answer, decision = c.ask.Question, c.ask.Reused.Answer, c.ask.DecisionID
		purged = purged || c.ask.Purged
	default:
		return nil // of a dismissal that was taken back
	}
	switch {
	case r.Decision != decision:
		return bad("it is of another decision")
	case purged:
		return nil
	case r.Answer != answer:
		return bad("it has another answer than what it is of")
	case r.QuestionDigest != textDigest(question):
		return bad("it is of another question")
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
	for seq := range c.hashes {
		return fault("a receipt names event " + itoa(int64(seq)) + ", which the journal does not have: its end was cut off")
	}
	for _, f := range c.facts {
		switch {
		case f.seq == 0 && !f.free && !f.new:
			return fault("something was settled or changed, and no event says so")
		case f.seq > 0 && !f.here:
			return fault("what event " + itoa(int64(f.seq)) + " recorded is not there")
		case f.seq > 0 && !f.free && f.is != f.said:
			return fault("what event " + itoa(int64(f.seq)) + " recorded was changed: its digest is another")
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
