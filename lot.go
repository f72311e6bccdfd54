package revue

import "time"

// Revision counts the visible changes of a lot. A human answers the revision that was on screen.
type Revision int64

// Status is the state of a lot.
type Status string

// The states of a lot. Open is the only one that can change, apart from Dismissed, which can be reopened.
const (
	StatusOpen      Status = "open"
	StatusAnswered  Status = "answered"
	StatusDismissed Status = "dismissed"
	StatusExpired   Status = "expired" // approvals only
)

// Lot is one card for the human: an ask together with the near-duplicate asks of other agents.
type Lot struct {
	ID             string      `json:"id"`
	Seq            Seq         `json:"seq"` // the journal event that made it
	Status         Status      `json:"status"`
	Kind           Kind        `json:"kind"`
	Revision       Revision    `json:"revision"`
	Key            string      `json:"key"`
	Question       string      `json:"question"`
	Title          string      `json:"title,omitempty"` // of an approval: its question again
	Options        []Option    `json:"options"`
	Recommendation string      `json:"recommendation,omitempty"`
	Context        string      `json:"context,omitempty"`
	Affected       []Affected  `json:"affected,omitempty"`
	Stream         string      `json:"stream"`
	Concepts       []string    `json:"concepts"`
	Files          []string    `json:"files"`
	Repo           string      `json:"repo,omitempty"`
	Scopes         []Scope     `json:"scopes,omitempty"` // the different scopes of its asks
	Deictic        bool        `json:"deictic,omitempty"`
	Waiting        int         `json:"waiting"`           // asks in it
	Asks           []AskRecord `json:"asks"`              // on a lot read whole or listed; not stored with it
	Pinned         []Match     `json:"pinned,omitempty"`  // precedents, at most three
	Related        []Link      `json:"related,omitempty"` // other lots to read beside it
	Earlier        *Settled    `json:"earlier,omitempty"` // an earlier lot of the same question that was dismissed
	CreatedAt      time.Time   `json:"createdAt"`
	UpdatedAt      time.Time   `json:"updatedAt"`
	ExpiresAt      time.Time   `json:"expiresAt,omitzero"`

	// How it ended.

	Answer     *Answered `json:"answer,omitempty"`
	Dismissed  *Settled  `json:"dismissed,omitempty"`
	DecisionID string    `json:"decisionId,omitempty"`
	ReceiptID  string    `json:"receiptId,omitempty"`
	Claims     int       `json:"claims,omitempty"` // approvals: calls that got the outcome
	Caller     string    `json:"caller,omitempty"` // approvals: whose call it is
	Purged     bool      `json:"purged,omitempty"`
}

// Link points to another lot and says what differs.
type Link struct {
	LotID    string `json:"lotId"`
	Question string `json:"question"`
	Differs  string `json:"differs,omitempty"`
}

// Answered is the answer a lot was given.
type Answered struct {
	Value    string    `json:"value"` // an option's value, or the free text
	Label    string    `json:"label,omitempty"`
	FreeText bool      `json:"freeText,omitempty"`
	Note     string    `json:"note,omitempty"`
	Remember Remember  `json:"remember"`
	Confirms string    `json:"confirms,omitempty"`
	By       Who       `json:"by"`
	At       time.Time `json:"at"`
}

// Settled says who ended a lot without an answer, and why.
type Settled struct {
	LotID  string    `json:"lotId,omitempty"`
	Reason string    `json:"reason,omitempty"`
	By     Who       `json:"by"`
	At     time.Time `json:"at"`
}

// Remember says how an answer is remembered.
type Remember string

// The ways to remember an answer.
const (
	RememberDefault Remember = "default" // the next agents may reuse it, as guidance allows
	RememberRule    Remember = "rule"    // it is a standing rule; needed for permissions
	RememberOnce    Remember = "once"    // it is for these agents and this time only
)

// Answer is what a human says to a lot. Exactly one of Value and Text is set, or Confirms alone, which
// takes over that precedent's answer.
type Answer struct {
	Value    string   `json:"value,omitempty"`   // the value of an option
	Text     string   `json:"text,omitempty"`    // free text
	Note     string   `json:"note,omitempty"`    // added to the answer for the agents
	Seen     Revision `json:"seen,omitempty"`    // the revision that was on screen
	Members  []string `json:"members,omitempty"` // asks to settle; nil is all that Seen allows
	Remember Remember `json:"remember,omitempty"`
	Confirms string   `json:"confirms,omitempty"` // "same decision" as this pinned precedent
}

// Dismissal ends a lot without an answer.
type Dismissal struct {
	Reason  string   `json:"reason,omitempty"`
	Seen    Revision `json:"seen,omitempty"`    // as in Answer
	Members []string `json:"members,omitempty"` // as in Answer
}

// LotFilter selects lots for a human. Zero fields select nothing away.
type LotFilter struct {
	Status Status
	Kind   Kind
	Stream string
	Newest bool
	Cursor string
	Limit  int // default 100, at most 1,000
}
