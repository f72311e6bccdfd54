package revue

import (
	"cmp"
	"slices"
	"sync"
)

// candidate is what grouping compares of an open lot.
type candidate struct {
	id       string
	seq      Seq
	key      string
	question Question
	scopes   []Scope
}

func candidateOf(l Lot) candidate {
	return candidate{id: l.ID, seq: l.Seq, key: l.Key, question: l.question(), scopes: l.Scopes}
}

func candidatesOf(lots []Lot) []candidate {
	out := make([]candidate, len(lots))
	for i, l := range lots {
		out[i] = candidateOf(l)
	}
	return out
}

// openLots keeps the candidates of each workspace, so that a new ask does not read every open lot. Like a
// [Memory] it is a projection of what is committed: it follows the journal, and is read anew when it
// can't.
type openLots struct {
	mu     sync.Mutex
	places map[string]*openPlace
}

// maxPlaces bounds how many workspaces are kept; past it all are read anew.
const maxPlaces = 256

// maxFollow bounds how many events are followed before reading all open lots is cheaper.
const maxFollow = 500

type openPlace struct {
	mu   sync.Mutex
	seq  Seq    // the event it reflects
	hash string // that event's hash, to notice another journal
	lots []candidate
	past []candidate // the newest that were dismissed
}

// maxPast bounds how many dismissed lots a new one is compared with.
const maxPast = 500

func (o *openLots) place(workspace string) *openPlace {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.places[workspace]
	if p == nil {
		if len(o.places) >= maxPlaces || o.places == nil {
			o.places = map[string]*openPlace{}
		}
		p = &openPlace{seq: -1}
		o.places[workspace] = p
	}
	return p
}

// candidates returns the open lots of the transaction's workspace, oldest first. They must not be changed.
func (d *Desk) candidates(t *tx) ([]candidate, error) {
	if len(t.events) > 0 {
		return t.readCandidates() // what this transaction did is not committed, and may never be
	}
	head, err := t.headEvent()
	if err != nil {
		return nil, err
	}
	p := d.open.place(t.workspace)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seq == head.Seq && p.hash == head.Hash {
		return p.lots, nil
	}
	lots, past, ok, err := p.follow(t, head)
	if err == nil && !ok {
		lots, err = t.readCandidates()
		if err == nil {
			past, err = t.readDismissed()
		}
	}
	if err != nil {
		return nil, err
	}
	p.seq, p.hash, p.lots, p.past = head.Seq, head.Hash, lots, past
	return lots, nil
}

func (t *tx) readCandidates() ([]candidate, error) {
	open, err := t.FindLots(LotQuery{Status: StatusOpen, Kind: KindDecision})
	return candidatesOf(open), err
}

func (t *tx) readDismissed() ([]candidate, error) {
	past, err := t.FindLots(LotQuery{Status: StatusDismissed, Kind: KindDecision, Newest: true, Limit: maxPast})
	past = slices.DeleteFunc(past, func(l Lot) bool { return !l.dismissedForGood() })
	slices.Reverse(past)
	return candidatesOf(past), err
}

// dismissed returns the newest of the lots that were dismissed, oldest first, as candidates does.
func (d *Desk) dismissed(t *tx) ([]candidate, error) {
	if len(t.events) > 0 {
		return t.readDismissed()
	}
	if _, err := d.candidates(t); err != nil {
		return nil, err
	}
	p := d.open.place(t.workspace)
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.past, nil
}

// follow brings the lots up to the head of the journal. It is not ok where that is too far, or the journal does
// not go on from what was read.
func (p *openPlace) follow(t *tx, head Event) (lots, past []candidate, ok bool, err error) {
	if p.seq < 0 || head.Seq <= p.seq || head.Seq-p.seq > maxFollow {
		return nil, nil, false, nil
	}
	events, err := t.Events(p.seq, maxFollow)
	if err != nil || len(events) == 0 || events[0].Prev != p.hash || events[len(events)-1].Seq != head.Seq {
		return nil, nil, false, err
	}
	lots, past = p.lots, p.past
	closed := map[string]bool{} // of each lot that changed, whether it did so by ending
	for _, e := range events {
		switch e.Kind {
		case EventLotAnswered, EventLotExpired:
			closed[e.Lot] = true
		case EventLotDismissed:
			closed[e.Lot] = false // read again, for what it asked
		case EventPurged:
			closed[e.Ref] = false
		case EventAskReturned, EventDecisionMade, EventDecisionConfirmed:
		default:
			closed[e.Lot] = false
			if e.Kind == EventAskMoved {
				closed[e.Ref] = false
			}
		}
	}
	for id, ended := range closed {
		lots, past = without(lots, id), without(past, id)
		if ended || id == "" {
			continue
		}
		lot, err := t.Lot(id)
		if CodeOf(err) == CodeNotFound {
			continue
		}
		if err != nil {
			return nil, nil, false, err
		}
		switch {
		case lot.Kind != KindDecision:
		case lot.Status == StatusOpen:
			lots = append(lots, candidateOf(lot))
		case lot.dismissedForGood():
			past = append(past, candidateOf(lot))
		}
	}
	lots, past = ordered(lots), ordered(past)
	past = past[max(0, len(past)-maxPast):]
	return lots, past, true, nil
}

// ordered is the list in the order of Seq.
func ordered(l []candidate) []candidate {
	bySeq := func(a, b candidate) int { return cmp.Compare(a.seq, b.seq) }
	if slices.IsSortedFunc(l, bySeq) {
		return l
	}
	return slices.SortedFunc(slices.Values(l), bySeq)
}

// without is the list without the candidate of this id: a copy, since others may be reading the old one.
func without(l []candidate, id string) []candidate {
	i := slices.IndexFunc(l, func(c candidate) bool { return c.id == id })
	if i < 0 {
		return l
	}
	return append(l[:i:i], l[i+1:]...)
}

// maxGrouped bounds how many open lots an ask is compared with, since that is done while nobody else can write: the newest,
// and those with its key.
const maxGrouped = 500

// group puts an ask into an open lot that asks the same, or into one of its own.
func (d *Desk) group(t *tx, rec AskRecord, ask Ask, pinned []Match) (standing, error) {
	open, err := d.candidates(t)
	if err != nil {
		return standing{}, err
	}
	var into string
	var how Comparison
	var related []Link
	for i, lot := range open {
		if len(open)-i > maxGrouped && lot.key != rec.Key {
			continue
		}
		c := d.memory.Same(lot.question, rec.question())
		if c.Verdict == VerdictNone {
			continue
		}
		fits := (c.Verdict == VerdictSame || c.Verdict == VerdictLikely) &&
			CompatibleOptions(lot.question.Options, rec.Options) && fitsAll(lot.scopes, rec.Scope)
		switch {
		case fits && (how.Verdict == VerdictNone || how.Verdict == VerdictLikely && c.Verdict == VerdictSame):
			into, how = lot.id, c
		case !fits && len(related) < maxRelated:
			related = append(related, Link{LotID: lot.id, Question: lot.question.Text, Differs: differs(c, lot, rec)})
		}
	}
	if how.Verdict != VerdictNone {
		lot, err := t.Lot(into)
		if err != nil {
			return standing{}, err
		}
		return t.join(lot, rec, how)
	}
	return d.openLot(t, rec, ask, "", pinned, related)
}

// differs says why a lot that asks alike was not joined.
func differs(c Comparison, lot candidate, rec AskRecord) string {
	switch {
	case c.Differs != "" && c.Verdict == VerdictRelated:
		return c.Differs
	case !CompatibleOptions(lot.question.Options, rec.Options):
		return "other options"
	default:
		return "another scope"
	}
}
