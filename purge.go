package revue

import (
	"context"
	"errors"
	"slices"
)

// purgedText takes the place of text that was purged.
const purgedText = "[purged]"

// Purge implements [Admin]. A lot loses the texts of its card, its asks and its answer; a decision its
// question, answer and wordings, and what asks were given from it; a shared note its body. What was made from
// one and kept in the other is purged with the other: a lot with its decision, a decision with every lot that was
// answered with it. One event says so, with the id that was given and the decision.
func (a *admin) Purge(ctx context.Context, id string) error {
	workspace, err := a.in("")
	if err != nil {
		return err
	}
	return a.desk.update(ctx, workspace, func(t *tx) error {
		item, err := t.purgeContext(id)
		if err != nil || item.purged {
			return err
		}
		if item.found {
			return a.purged(t, Event{Ref: id})
		}
		lots, decision, err := t.together(id)
		if err != nil {
			return err
		}
		changed := false
		for _, lot := range lots {
			if !lot.Purged {
				changed = true
				if err := t.purgeLot(lot); err != nil {
					return err
				}
			}
		}
		if decision != nil && !decision.Purged {
			changed = true
			if err := t.purgeDecision(*decision); err != nil {
				return err
			}
		}
		if !changed { // an unknown commit that did happen, or a repeat
			return nil
		}
		e := Event{Ref: id}
		if decision != nil {
			e.Decision = decision.ID
		}
		return a.purged(t, e)
	})
}

func (a *admin) purged(t *tx, e Event) error {
	e.Kind, e.Actor, e.Via = EventPurged, a.human.ID, a.human.Via
	_, err := t.append(e)
	return err
}

// together returns what is purged with a lot or a decision, that itself among it.
func (t *tx) together(id string) (lots []Lot, decision *Decision, err error) {
	lot, err := t.whole(id)
	switch {
	case err == nil && lot.Status == StatusOpen:
		return nil, nil, &Error{Code: CodeConflict, ID: id, Message: "lot " + id + " is open; answer or dismiss it before you purge it"}
	case err == nil && lot.DecisionID == "":
		return []Lot{lot}, nil, nil
	case err == nil:
		id = lot.DecisionID
	case !errors.Is(err, ErrNotFound):
		return nil, nil, err
	}
	dec, err := t.Decision(id)
	if err != nil {
		return nil, nil, notFound(err, id, "lot, decision or shared note")
	}
	asks, err := t.FindAsks(AskQuery{Decision: id})
	if err != nil {
		return nil, nil, err
	}
	ids := []string{dec.LotID, lot.ID}
	for _, ask := range asks {
		ids = append(ids, ask.LotID)
	}
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		if id == "" {
			continue
		}
		lot, err := t.whole(id)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if lot.DecisionID == dec.ID {
			lots = append(lots, lot)
		}
	}
	return lots, &dec, nil
}

func (t *tx) purgeLot(lot Lot) error {
	for _, ask := range lot.Asks {
		if err := t.PutAsk(ask.purged()); err != nil {
			return err
		}
	}
	if lot.ReceiptID != "" {
		if err := t.purgeReceipt(lot.ReceiptID); err != nil {
			return err
		}
	}
	if err := t.scrub(func(other *Lot) bool {
		changed := false
		for i := range other.Related {
			if other.Related[i].LotID == lot.ID {
				other.Related[i].Question, other.Related[i].Differs, changed = purgedText, "", true
			}
		}
		if other.Earlier != nil && other.Earlier.LotID == lot.ID {
			other.Earlier = &Settled{LotID: lot.ID, By: other.Earlier.By, At: other.Earlier.At}
			changed = true
		}
		return changed
	}); err != nil {
		return err
	}
	lot.Question, lot.Context, lot.Recommendation, lot.Purged = purgedText, "", "", true
	if lot.Title != "" {
		lot.Title = purgedText
	}
	lot.Options, lot.Affected, lot.Concepts, lot.Files, lot.Scopes = nil, nil, nil, nil, nil
	lot.Pinned, lot.Related, lot.Earlier = nil, nil, nil
	if lot.Answer != nil {
		answer := *lot.Answer
		answer.Value, answer.Label, answer.Note = purgedText, "", ""
		lot.Answer = &answer
	}
	if lot.Dismissed != nil {
		dismissed := *lot.Dismissed
		dismissed.Reason = ""
		lot.Dismissed = &dismissed
	}
	return t.PutLot(lot)
}

func (a AskRecord) purged() AskRecord {
	a.Question, a.Options, a.Recommendation, a.Context, a.Differs = purgedText, nil, "", "", ""
	a.Scope, a.Purged = Scope{Repo: a.Repo}, true
	return a
}

func (t *tx) purgeReceipt(id string) error {
	r, err := t.storedReceipt(id)
	if err != nil {
		return err
	}
	r.Answer, r.Purged = "", true
	return putJSON(t, recordReceipt, id, r)
}

func (t *tx) purgeDecision(dec Decision) error {
	uses, err := t.FindAsks(AskQuery{Decision: dec.ID})
	if err != nil {
		return err
	}
	for _, ask := range uses {
		if ask.Reused == nil {
			continue
		}
		if err := t.purgeReceipt(ask.Reused.ReceiptID); err != nil {
			return err
		}
		ask = ask.purged()
		reused := *ask.Reused
		reused.Answer = purgedText
		ask.Reused = &reused
		if err := t.PutAsk(ask); err != nil {
			return err
		}
	}
	if err := t.scrub(func(lot *Lot) bool {
		before := len(lot.Pinned)
		lot.Pinned = slices.DeleteFunc(lot.Pinned, func(m Match) bool { return m.DecisionID == dec.ID })
		return len(lot.Pinned) != before
	}); err != nil {
		return err
	}
	dec.Question, dec.Answer, dec.AnswerLabel, dec.Note, dec.Purged = purgedText, purgedText, "", "", true
	dec.Options, dec.Concepts, dec.Files = nil, nil, nil
	dec.Aliases = nil
	for i := range dec.Corrections {
		dec.Corrections[i].Note = ""
	}
	return t.PutDecision(dec)
}

// scrub goes through all lots and writes those in which change found a copy of what is purged.
func (t *tx) scrub(change func(*Lot) bool) error {
	for after := Seq(0); ; {
		lots, err := t.FindLots(LotQuery{After: after, Limit: 500})
		if err != nil || len(lots) == 0 {
			return err
		}
		for _, lot := range lots {
			after = lot.Seq
			if !change(&lot) {
				continue
			}
			if err := t.PutLot(lot); err != nil {
				return err
			}
		}
	}
}

// blankItem says what became of a shared note.
type blankItem struct{ found, purged bool }

func (t *tx) purgeContext(id string) (blankItem, error) {
	item, err := t.Context(id)
	if errors.Is(err, ErrNotFound) {
		return blankItem{}, nil
	}
	if err != nil || item.Purged {
		return blankItem{true, item.Purged}, err
	}
	item.Body, item.Concepts, item.Removed, item.Purged = purgedText, nil, true, true
	return blankItem{found: true}, t.PutContext(item)
}
