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
	question Question
	scopes   []Scope
}

func candidateOf(l Lot) candidate {
	return candidate{id: l.ID, seq: l.Seq, question: l.question(), scopes: l.Scopes}
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
}

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
	lots, ok, err := p.follow(t, head)
	if err == nil && !ok {
		lots, err = t.readCandidates()
	}
	if err != nil {
		return nil, err
	}
	p.seq, p.hash, p.lots = head.Seq, head.Hash, lots
	return lots, nil
}

func (t *tx) readCandidates() ([]candidate, error) {
	open, err := t.FindLots(LotQuery{Status: StatusOpen, Kind: KindDecision})
	lots := make([]candidate, len(open))
	for i, l := range open {
		lots[i] = candidateOf(l)
	}
	return lots, err
}

// follow brings the lots up to the head of the journal. It is not ok where that is too far, or the journal does
// not go on from what was read.
func (p *openPlace) follow(t *tx, head Event) (lots []candidate, ok bool, err error) {
	if p.seq < 0 || head.Seq <= p.seq || head.Seq-p.seq > maxFollow {
		return nil, false, nil
	}
	events, err := t.Events(p.seq, maxFollow)
	if err != nil || len(events) == 0 || events[0].Prev != p.hash || events[len(events)-1].Seq != head.Seq {
		return nil, false, err
	}
	lots = p.lots
	closed := map[string]bool{} // of each lot that changed, whether it did so by ending
	for _, e := range events {
		switch e.Kind {
		case EventLotAnswered, EventLotDismissed, EventLotExpired:
			closed[e.Lot] = true
		case EventAskReturned, EventDecisionMade, EventDecisionConfirmed:
		default:
			closed[e.Lot] = false
			if e.Kind == EventAskMoved {
				closed[e.Ref] = false
			}
		}
	}
	for id, ended := range closed {
		if i := slices.IndexFunc(lots, func(c candidate) bool { return c.id == id }); i >= 0 {
			lots = append(lots[:i:i], lots[i+1:]...) // a copy: others may be reading the old ones
		}
		if ended || id == "" {
			continue
		}
		lot, err := t.Lot(id)
		if CodeOf(err) == CodeNotFound {
			continue
		}
		if err != nil {
			return nil, false, err
		}
		if lot.Status == StatusOpen && lot.Kind == KindDecision {
			lots = append(lots, candidateOf(lot))
		}
	}
	if bySeq := func(a, b candidate) int { return cmp.Compare(a.seq, b.seq) }; !slices.IsSortedFunc(lots, bySeq) {
		lots = slices.SortedFunc(slices.Values(lots), bySeq)
	}
	return lots, true, nil
}

// group puts an ask into an open lot that asks the same, or into one of its own.
func (d *Desk) group(t *tx, rec AskRecord, ask Ask, pinned []Match) (standing, error) {
	open, err := d.candidates(t)
	if err != nil {
		return standing{}, err
	}
	var into string
	var how Comparison
	var related []Link
	for _, lot := range open {
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
