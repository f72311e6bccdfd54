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
// one and kept in the other is purged with the other.
func (a *admin) Purge(ctx context.Context, id string) error {
	workspace, err := a.in("")
	if err != nil {
		return err
	}
	return a.desk.update(ctx, workspace, func(t *tx) error {
		if done, err := t.purgedBefore(id); err != nil || done {
			return err
		}
		purged := false
		for _, purge := range []func(string) (bool, error){t.purgeLot, t.purgeDecision, t.purgeContext} {
			var err error
			if purged, err = purge(id); err != nil {
				return err
			}
			if purged {
				break
			}
		}
		if !purged {
			return notFound(ErrNotFound, id, "lot, decision or shared note")
		}
		_, err := t.append(Event{Kind: EventPurged, Ref: id, Actor: a.human.ID, Via: a.human.Via})
		return err
	})
}

// purgedBefore reports whether a thing is blank already: an unknown commit that did happen, or a repeat.
func (t *tx) purgedBefore(id string) (bool, error) {
	lot, err1 := t.Lot(id)
	dec, err2 := t.Decision(id)
	item, err3 := t.Context(id)
	for _, err := range []error{err1, err2, err3} {
		if err != nil && !errors.Is(err, ErrNotFound) {
			return false, err
		}
	}
	return lot.Purged || dec.Purged || item.Purged, nil
}

func (t *tx) purgeLot(id string) (bool, error) {
	lot, err := t.whole(id)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if lot.Status == StatusOpen {
		return false, &Error{Code: CodeConflict, ID: id, Message: "lot " + id + " is open; answer or dismiss it before you purge it"}
	}
	for _, ask := range lot.Asks {
		if err := t.PutAsk(ask.purged()); err != nil {
			return false, err
		}
	}
	if lot.ReceiptID != "" {
		if err := t.purgeReceipt(lot.ReceiptID); err != nil {
			return false, err
		}
	}
	if err := t.scrub(func(other *Lot) bool {
		changed := false
		for i := range other.Related {
			if other.Related[i].LotID == id {
				other.Related[i].Question, other.Related[i].Differs, changed = purgedText, "", true
			}
		}
		if other.Earlier != nil && other.Earlier.LotID == id {
			other.Earlier = &Settled{LotID: id, By: other.Earlier.By, At: other.Earlier.At}
			changed = true
		}
		return changed
	}); err != nil {
		return false, err
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
	return true, t.PutLot(lot)
}

func (a AskRecord) purged() AskRecord {
	a.Question, a.Options, a.Recommendation, a.Context, a.Differs = purgedText, nil, "", "", ""
	a.Scope, a.Purged = Scope{Repo: a.Repo}, true
	return a
}

func (t *tx) purgeReceipt(id string) error {
	r, err := t.receiptByID(id)
	if err != nil {
		return err
	}
	r.Answer, r.Purged = "", true
	return putJSON(t, recordReceipt, id, r)
}

func (t *tx) purgeDecision(id string) (bool, error) {
	dec, err := t.Decision(id)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	uses, err := t.FindAsks(AskQuery{Decision: id})
	if err != nil {
		return false, err
	}
	for _, ask := range uses {
		if ask.Reused == nil {
			continue
		}
		if err := t.purgeReceipt(ask.Reused.ReceiptID); err != nil {
			return false, err
		}
		ask = ask.purged()
		reused := *ask.Reused
		reused.Answer = purgedText
		ask.Reused = &reused
		if err := t.PutAsk(ask); err != nil {
			return false, err
		}
	}
	if err := t.scrub(func(lot *Lot) bool {
		before := len(lot.Pinned)
		lot.Pinned = slices.DeleteFunc(lot.Pinned, func(m Match) bool { return m.DecisionID == id })
		return len(lot.Pinned) != before
	}); err != nil {
		return false, err
	}
	dec.Question, dec.Answer, dec.AnswerLabel, dec.Note, dec.Purged = purgedText, purgedText, "", "", true
	dec.Options, dec.Concepts, dec.Files = nil, nil, nil
	dec.Aliases = nil
	for i := range dec.Corrections {
		dec.Corrections[i].Note = ""
	}
	return true, t.PutDecision(dec)
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

func (t *tx) purgeContext(id string) (bool, error) {
	item, err := t.Context(id)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	item.Body, item.Concepts, item.Removed, item.Purged = purgedText, nil, true, true
	return true, t.PutContext(item)
}
