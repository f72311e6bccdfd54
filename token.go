package revue

import "time"

// TokenKind is what a credential may be used for.
type TokenKind string

// The kinds of tokens.
const (
	TokenAgent TokenKind = "agent" // ask, look up, share; "rvu_a_…"
	TokenHuman TokenKind = "human" // answer, correct, administer; "rvu_h_…"

	// TokenSession is the session of a human in a browser: no bearer token, and only [Desk.OpenSession] makes one.
	TokenSession TokenKind = "session"
)

// NewToken is what a token is made from.
type NewToken struct {
	Kind      TokenKind
	Workspace string // default: that of the human who makes it
	Owner     string
	Label     string
	Life      time.Duration // 0: no expiry
}

// Token is a credential. The store keeps a hash of its secret alone.
type Token struct {
	ID        string    `json:"id"`
	Kind      TokenKind `json:"kind"`
	Secret    string    `json:"token,omitempty"` // only in the result of CreateToken
	Hash      string    `json:"hash,omitempty"`  // only in the store
	Workspace string    `json:"workspace"`
	Owner     string    `json:"owner,omitempty"`
	Member    string    `json:"member,omitempty"` // id of the member it belongs to
	Under     string    `json:"under,omitempty"`  // of a session: the id of the token that it was opened with and ends with
	Label     string    `json:"label,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
	UsedAt    time.Time `json:"usedAt,omitzero"` // last use; a later one within a minute is not noted
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
	RevokedAt time.Time `json:"revokedAt,omitzero"`
}

// Member is a person of a workspace. The first human token with an owner of that name makes one.
type Member struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"createdAt"`
	RemovedAt time.Time `json:"removedAt,omitzero"`
}

// Workspace is the tenant. Nothing crosses it.
type Workspace struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"createdAt"`
}

// Stream is a lane of the inbox. It is made on first use, or by its settings.
type Stream struct {
	StreamSettings

	CreatedAt time.Time `json:"createdAt"`
	ChangedAt time.Time `json:"changedAt,omitzero"` // when its settings were last set
	ChangedBy *Who      `json:"changedBy,omitempty"`
}

// StreamSettings is what humans say of a lane.
type StreamSettings struct {
	Slug     string `json:"slug"`
	Name     string `json:"name,omitempty"`     // shown instead of the slug; up to 80 bytes
	Position int    `json:"position,omitempty"` // lanes of lower positions come first, those of none (0) last, by slug; up to 1,000
	Muted    bool   `json:"muted,omitempty"`    // no notifier is told of its lots; they wait in the inbox
}

// Receipt states how a lot ended, or from what an ask was answered.
type Receipt struct {
	ID             string    `json:"id"`
	Kind           string    `json:"kind"` // answered, dismissed, expired or reused
	Workspace      string    `json:"workspace"`
	Lot            string    `json:"lot,omitempty"`
	Ask            string    `json:"ask,omitempty"` // of a reuse
	Decision       string    `json:"decision,omitempty"`
	QuestionDigest string    `json:"questionDigest"` // SHA-256 of the question's text, hex
	Answer         string    `json:"answer,omitempty"`
	DecidedBy      Who       `json:"decidedBy"`
	At             time.Time `json:"at"`
	Seq            Seq       `json:"seq"`         // the event that recorded it
	JournalHash    string    `json:"journalHash"` // that event's hash
	Purged         bool      `json:"purged,omitempty"`

	// JWS is the receipt signed by the plane: the fields above as a JSON Web Signature in compact form (RFC 7515),
	// with Ed25519 (RFC 8037). It is made when the receipt is returned, and not stored. [KeySet.Verify] checks it.
	JWS string `json:"jws,omitempty"`
}
