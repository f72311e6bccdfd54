package revue

import (
	"strings"
	"time"
)

// Seq numbers the events of a workspace's journal: 1, 2, 3 … without gaps. 0 is before the first.
type Seq int64

// EventKind is what an event says happened.
type EventKind string

// The kinds of events. Each Update appends those that it caused, in this order of cause and effect.
const (
	EventLotOpened          EventKind = "lot.opened"          // Lot, Asks: the first ask in it
	EventAskJoined          EventKind = "ask.joined"          // Lot, Asks
	EventAskMoved           EventKind = "ask.moved"           // Lot: where to; Ref: where from; Asks
	EventLotAnswered        EventKind = "lot.answered"        // Lot, Asks: the settled ones; Decision
	EventLotDismissed       EventKind = "lot.dismissed"       // Lot, Asks: the settled ones
	EventLotReopened        EventKind = "lot.reopened"        // Lot
	EventLotExpired         EventKind = "lot.expired"         // Lot, Asks
	EventAskReused          EventKind = "ask.reused"          // Asks, Decision
	EventAskReturned        EventKind = "ask.returned"        // Asks: those whose outcome reached its caller
	EventDecisionMade       EventKind = "decision.made"       // Decision, Lot
	EventDecisionConfirmed  EventKind = "decision.confirmed"  // Decision, Lot: a human said "same decision", or accepted another wording
	EventDecisionSuperseded EventKind = "decision.superseded" // Decision; Ref: by which
	EventDecisionCorrected  EventKind = "decision.corrected"  // Decision; Ref: the correction; Verb
	EventContextShared      EventKind = "context.shared"      // Ref: the item
	EventContextRemoved     EventKind = "context.removed"     // Ref: the item
	EventTokenCreated       EventKind = "token.created"       // Ref: the token
	EventTokenRevoked       EventKind = "token.revoked"       // Ref: the token
	EventMemberAdded        EventKind = "member.added"        // Ref: the member
	EventMemberRemoved      EventKind = "member.removed"      // Ref: the member
	EventPurged             EventKind = "purged"              // Ref: what was blanked
)

// OfDecision reports whether an event of this kind changes what memory holds.
func (k EventKind) OfDecision() bool {
	return strings.HasPrefix(string(k), "decision.") || k == EventPurged
}

// endsWaits reports whether a call that is parked on the event's lot has to look at it again.
func (k EventKind) endsWaits() bool {
	switch k {
	case EventLotAnswered, EventLotDismissed, EventLotExpired, EventAskMoved:
		return true
	default:
		return false
	}
}

// Event is one entry of the journal. It holds ids and digests, never text.
type Event struct {
	Seq      Seq       `json:"seq"`
	At       time.Time `json:"at"`
	Kind     EventKind `json:"kind"`
	Lot      string    `json:"lot,omitempty"`
	Asks     []string  `json:"asks,omitempty"`
	Decision string    `json:"decision,omitempty"`
	Verb     Verb      `json:"verb,omitempty"`
	Ref      string    `json:"ref,omitempty"`
	Actor    string    `json:"actor,omitempty"` // id of the credential or the member
	Via      string    `json:"via,omitempty"`
	Digest   string    `json:"digest,omitempty"` // SHA-256 of what was written, hex
	Prev     string    `json:"prev,omitempty"`   // Hash of the event before
	Hash     string    `json:"hash"`             // SHA-256 over all of the above, hex
}

// chained returns the event as the successor of prev: numbered, linked and hashed.
func (e Event) chained(prev Event, now time.Time) Event {
	e.Seq = prev.Seq + 1
	e.At = now
	e.Prev = prev.Hash
	e.Hash = e.Sum()
	return e
}

// Sum computes the hash of an event from its other fields: SHA-256 over a fixed order of
// length-prefixed values, so that no two different events have the same bytes to hash.
func (e Event) Sum() string {
	h := newDigest("revue-event-1")
	h.num(int64(e.Seq))
	h.num(e.At.UnixMicro())
	h.str(string(e.Kind))
	h.str(e.Lot)
	h.list(e.Asks)
	h.str(e.Decision)
	h.str(string(e.Verb))
	h.str(e.Ref)
	h.str(e.Actor)
	h.str(e.Via)
	h.str(e.Digest)
	h.str(e.Prev)
	return h.hex()
}

// VerifyChain checks that events follow prev (the zero Event for the start of the journal) without a gap,
// unchanged and in order. It returns an error that names the first event that doesn't.
func VerifyChain(prev Event, events []Event) error {
	for _, e := range events {
		if e.Seq != prev.Seq+1 || e.Prev != prev.Hash || e.Hash != e.Sum() {
			return &Error{Code: CodeInternal, Message: "the journal does not verify at event " + itoa(int64(prev.Seq+1))}
		}
		prev = e
	}
	return nil
}

// What Event.Digest is over: the text and the terms of what was written, which stay what they were, and by
// whom. It can be computed again as long as the text was not purged.

// An ask and a shared note have two: what is written now covers more than what older events say.

func (a AskRecord) digest() string {
	h := newDigest("revue-ask-2")
	h.str(a.digest1())
	h.str(a.Agent)
	h.str(a.Via)
	h.str(a.Stream)
	return h.hex()
}

func (a AskRecord) digest1() string {
	h := newDigest("revue-ask-1")
	h.str(a.Key)
	h.str(a.Question)
	h.str(a.Context)
	h.str(a.Recommendation)
	h.str(a.Credential)
	h.str(a.Thread)
	h.str(a.Repo)
	return h.hex()
}

func (l Lot) digest() string {
	h := newDigest("revue-lot-end-1")
	h.str(l.ID)
	h.str(string(l.Status))
	switch {
	case l.Answer != nil:
		h.str(l.Answer.Value)
		h.flag(l.Answer.FreeText)
		h.str(l.Answer.Note)
		h.str(string(l.Answer.Remember))
		h.str(l.Answer.Confirms)
		h.who(l.Answer.By)
	case l.Dismissed != nil:
		h.str(l.Dismissed.Reason)
		h.who(l.Dismissed.By)
	}
	return h.hex()
}

func (d Decision) digest() string {
	h := newDigest("revue-decision-1")
	h.str(d.ID)
	h.str(d.Key)
	h.str(d.Question)
	h.str(d.Answer)
	h.flag(d.FreeText)
	h.str(d.Note)
	h.str(string(d.Remember))
	h.num(int64(d.Confirmations))
	h.num(int64(len(d.Aliases)))
	for _, a := range d.Aliases {
		h.str(a.Text)
	}
	h.str(d.SupersededBy)
	h.who(d.By)
	return h.hex()
}

func (c Correction) digest() string {
	h := newDigest("revue-correction-1")
	h.str(c.ID)
	h.str(string(c.Verb))
	h.num(c.Expires.UnixMicro())
	h.str(c.Undoes)
	h.str(c.Note)
	h.who(c.By)
	return h.hex()
}

func (c ContextItem) digest() string {
	h := newDigest("revue-context-2")
	h.str(c.digest1())
	h.str(c.Agent)
	h.str(c.Thread)
	h.str(c.Repo)
	h.num(c.ExpiresAt.UnixMicro())
	return h.hex()
}

func (c ContextItem) digest1() string {
	h := newDigest("revue-context-1")
	h.str(c.ID)
	h.str(c.Kind)
	h.str(c.Body)
	h.list(c.Concepts)
	h.str(c.Credential)
	return h.hex()
}

func (m Member) digest() string {
	h := newDigest("revue-member-1")
	h.str(m.ID)
	h.str(m.Name)
	return h.hex()
}

// digest covers what the token is, wherever it is: not its workspace, and of its secret what an export without
// secrets has too.
func (t keptToken) digest() string {
	h := newDigest("revue-token-1")
	h.str(t.ID)
	h.str(string(t.Kind))
	h.str(t.Owner)
	h.str(t.Member)
	h.str(t.Label)
	h.str(t.print())
	h.num(t.CreatedAt.UnixMicro())
	h.num(t.ExpiresAt.UnixMicro())
	if t.Under != "" { // sessions alone have it, which are younger than this digest
		h.str(t.Under)
	}
	return h.hex()
}
