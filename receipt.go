package revue

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
)

// Kinds of [Records] that the desk keeps.
const (
	recordReceipt   = "receipt"    // by receipt id
	recordWorkspace = "workspace"  // in workspace "", by name
	recordStream    = "stream"     // by slug
	recordToken     = "token"      // in workspace "", by token id
	recordSecret    = "token-hash" // in workspace "", hash of a secret to token id
	recordSignIn    = "sign-in"    // in workspace "", by the digest of a one-time code
	recordNotifier  = "notifier"   // by the notifier's name
	recordMember    = "member"     // by member id
	recordUsed      = "token-used" // by token id: when it was last used
	recordCall      = "call"       // by the digest of a human and the id of a call
	recordKey       = "key"        // in workspace "", by key id: what signs receipts
	recordNoted     = "noted"      // by what the journal says once: an event kind and a token id
)

// putJSON keeps a value as a record.
func putJSON(r Records, kind, key string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return &Error{Code: CodeInternal, Message: "a record can't be written", Err: err}
	}
	return r.PutRecord(kind, key, b)
}

// readJSON reads a record that putJSON kept.
func readJSON(r Records, kind, key string, v any) error {
	b, err := r.Record(kind, key)
	if err != nil {
		return err
	}
	return decodeRecord(b, v)
}

func decodeRecord(b []byte, v any) error {
	if err := json.Unmarshal(b, v); err != nil {
		return &Error{Code: CodeInternal, Message: "a record can't be read", Err: err}
	}
	return nil
}

func textDigest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// receipt writes the receipt of how a lot ended and returns the lot with its id.
func (t *tx) receipt(lot Lot, e Event, r Receipt) (Lot, error) {
	lot.ReceiptID = t.ids.new("rcpt_")
	r.ID, r.Lot, r.Decision, r.QuestionDigest = lot.ReceiptID, lot.ID, lot.DecisionID, textDigest(lot.Question)
	return lot, t.putReceipt(r, e)
}

func (t *tx) putReceipt(r Receipt, e Event) error {
	r.Workspace, r.Seq, r.JournalHash = t.workspace, e.Seq, e.Hash
	return putJSON(t, recordReceipt, r.ID, r)
}

// receiptByID returns a receipt that can be signed: how a lot ended, or what an ask was given, is in the receipt as it
// is in the lot or the ask, whatever is stored in the receipt.
func (t *tx) receiptByID(id string) (Receipt, error) {
	r, err := t.storedReceipt(id)
	if err != nil {
		return r, err
	}
	said, err := t.stated(r)
	if err != nil || said == nil {
		return r, err
	}
	r.Kind, r.Decision, r.Answer, r.DecidedBy, r.At, r.Purged = said.Kind, said.Decision, said.Answer, said.DecidedBy, said.At, said.Purged
	return r, nil
}

func (t *tx) storedReceipt(id string) (Receipt, error) {
	var r Receipt
	err := readJSON(t, recordReceipt, id, &r)
	return r, err
}

// stated returns what a receipt has to state, by the lot or the ask that it is of; nil where that has it no longer, as
// after a dismissal that was taken back.
func (t *tx) stated(r Receipt) (*Receipt, error) {
	if r.Lot != "" {
		lot, err := t.Lot(r.Lot)
		if errors.Is(err, ErrNotFound) || err == nil && lot.ReceiptID != r.ID {
			return nil, nil //nolint:nilnil // there is none, and that is no failure
		}
		if err != nil {
			return nil, err
		}
		said := lot.states()
		return &said, nil
	}
	ask, err := t.Ask(r.Ask)
	if errors.Is(err, ErrNotFound) || err == nil && (ask.Reused == nil || ask.Reused.ReceiptID != r.ID) {
		return nil, nil //nolint:nilnil // as above
	}
	if err != nil {
		return nil, err
	}
	said := ask.states()
	return &said, nil
}

// expiryWho is who ends what nobody answered in time.
func expiryWho() Who { return Who{Name: "revue", Via: "expiry"} }

// states returns what the receipt of an ended lot says, without the event.
func (l Lot) states() Receipt {
	r := Receipt{ID: l.ReceiptID, Kind: string(l.Status), Lot: l.ID, Decision: l.DecisionID, QuestionDigest: textDigest(l.Question), At: l.endedAt(), Purged: l.Purged}
	switch {
	case l.Answer != nil:
		r.Answer, r.DecidedBy = l.Answer.Value, l.Answer.By
	case l.Dismissed != nil:
		r.DecidedBy = l.Dismissed.By
	default:
		r.DecidedBy = expiryWho()
	}
	if r.Purged {
		r.Answer = ""
	}
	return r
}

// states returns what the receipt of a reuse says, without the event.
func (a AskRecord) states() Receipt {
	r := Receipt{
		ID: a.Reused.ReceiptID, Kind: string(OutcomeReused), Ask: a.ID, Decision: a.DecisionID, QuestionDigest: textDigest(a.Question),
		Answer: a.Reused.Answer, DecidedBy: a.Reused.By, At: a.Reused.At, Purged: a.Purged,
	}
	if r.Purged {
		r.Answer = ""
	}
	return r
}

// differs says in what a receipt differs from what it has to state, "" for nothing. The question of what was purged is
// known no more.
func (r Receipt) differs(said Receipt) string {
	switch {
	case r.Lot != said.Lot:
		return "it is of another lot"
	case r.Ask != said.Ask:
		return "it is of another ask"
	case r.Decision != said.Decision:
		return "it is of another decision"
	case r.Kind != said.Kind:
		return "it says another way in which that ended"
	case r.DecidedBy != said.DecidedBy:
		return "it says that somebody else decided"
	case !r.At.Equal(said.At):
		return "it has another time"
	case r.Purged != said.Purged:
		return "it was purged, or it is what was"
	case r.Answer != said.Answer:
		return "it has another answer than what it is of"
	case !r.Purged && r.QuestionDigest != said.QuestionDigest:
		return "it is of another question"
	default:
		return ""
	}
}
