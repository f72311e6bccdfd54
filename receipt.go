package revue

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Kinds of [Records] that the desk keeps.
const (
	recordReceipt   = "receipt"    // by receipt id
	recordWorkspace = "workspace"  // in workspace "", by name
	recordStream    = "stream"     // by slug
	recordToken     = "token"      // in workspace "", by token id
	recordSecret    = "token-hash" // in workspace "", hash of a secret to token id
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

func (t *tx) receiptByID(id string) (Receipt, error) {
	var r Receipt
	err := readJSON(t, recordReceipt, id, &r)
	return r, err
}
