package revue

import (
	"time"
)

// Kind is what sort of ask a lot holds.
type Kind string

// The kinds.
const (
	KindDecision Kind = "decision" // a question; grouped and remembered
	KindApproval Kind = "approval" // approve or decline one concrete act; never grouped, never reused
)

// The two answers of an approval.
const (
	Approved = "approved"
	Declined = "declined"
)

// Limits on what is taken in. Text sizes are in bytes of UTF-8.
const (
	MaxQuestion    = 2 << 10
	MaxContext     = 64 << 10
	MaxOptions     = 32
	MaxConcepts    = 64
	MaxFiles       = 256
	MaxAffected    = 256
	MaxOptionText  = 1 << 10 // an option's value, label or consequence; an affected item's label or meta
	MaxTerm        = 1 << 10 // a concept, a file, a thread
	MaxStream      = 64
	MaxAnswer      = 16 << 10 // a free-text answer
	MaxNote        = 16 << 10 // a human's note or reason
	MaxContextKind = 64

	MinExpiry     = time.Second
	MaxExpiry     = 90 * 24 * time.Hour
	DefaultExpiry = 24 * time.Hour
	// MaxWait bounds one call of Request. Transports have caps of their own below it.
	MaxWait = MaxExpiry
)

// DefaultStream is the lane of asks that name none.
const DefaultStream = "agents"

// Option is one of the mutually exclusive answers an agent offers.
type Option struct {
	Value       string `json:"value"`       // what the agent gets back, byte for byte
	Label       string `json:"label"`       // what the human reads; Value where none was given
	Consequence string `json:"consequence"` // what follows from it
}

// Affected is one concrete thing an approval touches.
type Affected struct {
	Label string `json:"label"`
	Meta  string `json:"meta,omitempty"`
}

// Ask is one agent's request for one decision.
type Ask struct {
	Kind           Kind          `json:"kind,omitempty"` // default KindDecision
	Question       string        `json:"question"`       // for an approval its title
	Options        []Option      `json:"options,omitempty"`
	Recommendation string        `json:"recommendation,omitempty"` // an option's value (or label), or free text where there are no options
	Context        string        `json:"context,omitempty"`        // what the human needs to know; untrusted Markdown
	Concepts       []string      `json:"concepts,omitempty"`
	Files          []string      `json:"files,omitempty"`
	Affected       []Affected    `json:"affected,omitempty"` // approvals only
	Stream         string        `json:"stream,omitempty"`   // default DefaultStream
	DecisionRef    string        `json:"decisionRef,omitempty"`
	Wait           time.Duration `json:"-"` // clamped to 0 … MaxWait
	Expires        time.Duration `json:"-"` // approvals only: clamped to MinExpiry … MaxExpiry, 0 is DefaultExpiry
}

// Question is what a [Memory] compares: the wording and the scope.
type Question struct {
	Text     string
	Options  []Option
	Concepts []string
	Files    []string
	Repo     string
}

func (q Question) scope() Scope { return Scope{Concepts: q.Concepts, Files: q.Files, Repo: q.Repo} }

// Scope is where an answer holds.
type Scope struct {
	Concepts []string `json:"concepts,omitempty"`
	Files    []string `json:"files,omitempty"`
	Repo     string   `json:"repo,omitempty"`
}

// AskRecord is one ask as it is kept: who asked, with which wording, and which lot it is in.
type AskRecord struct {
	ID             string    `json:"id"`
	Seq            Seq       `json:"seq"` // the journal event that recorded it
	LotID          string    `json:"lotId,omitempty"`
	DecisionID     string    `json:"decisionId,omitempty"` // the decision it was given, answered or reused
	Key            string    `json:"key"`
	Question       string    `json:"question"`
	Options        []Option  `json:"options,omitempty"`
	Recommendation string    `json:"recommendation,omitempty"`
	Context        string    `json:"context,omitempty"`
	Scope          Scope     `json:"scope"`
	Verdict        Verdict   `json:"verdict"`           // how it joined its lot: same or likely
	Differs        string    `json:"differs,omitempty"` // in which words, for a likely one
	Revision       Revision  `json:"revision"`          // the lot's revision when it joined
	Deictic        bool      `json:"deictic,omitempty"`
	Permission     bool      `json:"permission,omitempty"`
	Agent          string    `json:"agent"`
	Credential     string    `json:"credential"`
	Thread         string    `json:"thread"`
	Repo           string    `json:"repo,omitempty"`
	Via            string    `json:"via,omitempty"`
	Stream         string    `json:"stream,omitempty"`
	CreatedAt      time.Time `json:"createdAt"`
	ReturnedAt     time.Time `json:"returnedAt,omitzero"` // when its outcome was first returned
	Reused         *Reuse    `json:"reused,omitempty"`
	Purged         bool      `json:"purged,omitempty"`
}

// Reuse is how an ask was answered from memory.
type Reuse struct {
	Answer    string    `json:"answer"`
	FreeText  bool      `json:"freeText,omitempty"`
	By        Who       `json:"by"` // who made the decision
	At        time.Time `json:"at"`
	ReceiptID string    `json:"receiptId"`
}

// ContextItem is a note one agent shares with the others. It is untrusted: no human has seen it.
type ContextItem struct {
	ID         string    `json:"id"`
	Seq        Seq       `json:"seq,omitempty"`
	Kind       string    `json:"kind"` // finding, risk, evidence, note or the like
	Body       string    `json:"body"`
	Concepts   []string  `json:"concepts,omitempty"`
	Agent      string    `json:"agent,omitempty"`
	Credential string    `json:"credential,omitempty"`
	Thread     string    `json:"thread,omitempty"`
	Repo       string    `json:"repo,omitempty"`
	CreatedAt  time.Time `json:"createdAt,omitzero"`
	ExpiresAt  time.Time `json:"expiresAt,omitzero"`
	Removed    bool      `json:"removed,omitempty"`
	Purged     bool      `json:"purged,omitempty"`
}

// ContextLife is how long shared context is shown.
const ContextLife = 30 * 24 * time.Hour

// ContextFilter selects shared context for a human.
type ContextFilter struct {
	Cursor string
	Limit  int
}

// Query is a question put to memory.
type Query struct {
	Text     string   `json:"query"` // a question, or keywords
	Concepts []string `json:"concepts,omitempty"`
	Files    []string `json:"files,omitempty"`
	Limit    int      `json:"limit,omitempty"` // default 10, at most 100

	// The rest is set by the desk.

	Repo string `json:"-"`
	// Request says that this is the recall of a Request. A lookup names no options and has no key,
	// so its guidance says nothing of them.
	Request bool     `json:"-"`
	Options []Option `json:"-"`
	Key     string   `json:"-"`
}

// Question returns the query as a question.
func (q Query) Question() Question {
	return Question{Text: q.Text, Options: q.Options, Concepts: q.Concepts, Files: q.Files, Repo: q.Repo}
}

// Findings is what a lookup returns.
type Findings struct {
	Matches []Match
	Context []ContextItem // shared notes that bear on the query: untrusted, newest first, at most five
}

// Guidance says how far a precedent may be reused.
type Guidance string

// The guidances.
const (
	Apply   Guidance = "apply"   // use the answer and go on without asking
	Confirm Guidance = "confirm" // ask, and cite it, so that the human confirms instead of deciding anew
)

// Verdict is how two questions relate.
type Verdict string

// The verdicts. There is a fourth, the empty one: nothing alike.
const (
	VerdictSame    Verdict = "same"    // equal ordered canonical tokens
	VerdictLikely  Verdict = "likely"  // alike, and only harmless words differ
	VerdictRelated Verdict = "related" // alike, but something crucial differs
	VerdictNone    Verdict = ""
)

// Comparison is a verdict, and what differs, ready to be shown to a human ("" for the same).
type Comparison struct {
	Verdict Verdict
	Differs string

	// Crucial says that the two differ in something that makes another decision: a negation, a number, version, size or
	// date, an environment, an identifier, name or path, an opposite, a direction, a quantity, a question word that changes what is
	// asked, any word that may be another thing, or the parts that two things play. In doubt it is true. A wording becomes an alias of a decision that a human confirmed for it only where it is false.
	Crucial bool
}

// Match is a precedent: a decision found for a new question.
type Match struct {
	DecisionID    string    `json:"decisionId"`
	Question      string    `json:"question"`
	Answer        string    `json:"answer"`
	AnswerLabel   string    `json:"answerLabel,omitempty"` // where the answer is an option whose label says more
	Score         float64   `json:"score"`                 // 0..1
	Confidence    float64   `json:"confidence"`            // 0..1
	Freshness     Freshness `json:"freshness"`
	Concepts      []string  `json:"concepts"`
	Files         []string  `json:"files"`
	ReuseGuidance Guidance  `json:"reuseGuidance"`
	Reason        string    `json:"reason"`            // why not more, and what differs
	Verdict       Verdict   `json:"verdict,omitempty"` // how the questions relate
	DecidedBy     Who       `json:"decidedBy"`
	DecidedAt     time.Time `json:"decidedAt"`
}

// OutcomeStatus is how a request came out.
type OutcomeStatus string

// The outcomes of Request. Only Answered and Reused carry an answer.
const (
	OutcomeReused    OutcomeStatus = "reused"
	OutcomeAnswered  OutcomeStatus = "answered"
	OutcomeDismissed OutcomeStatus = "dismissed"
	OutcomePending   OutcomeStatus = "pending"
	OutcomeExpired   OutcomeStatus = "expired" // approvals only
)

// Outcome is what a request came to.
type Outcome struct {
	Status     OutcomeStatus    `json:"status"`
	Answer     string           `json:"answer,omitempty"`
	FreeText   bool             `json:"freeText,omitempty"` // the answer is the human's own words, none of the options
	Note       string           `json:"note,omitempty"`     // what the human added
	AskID      string           `json:"decisionRef,omitempty"`
	LotID      string           `json:"lotId,omitempty"`
	DecisionID string           `json:"decisionId,omitempty"`
	DecidedBy  *Who             `json:"decidedBy,omitempty"`
	Reason     string           `json:"reason,omitempty"` // of a dismissal
	Receipt    *Receipt         `json:"receipt,omitempty"`
	Correction *CorrectionGuide `json:"correction,omitempty"`
	Trace      string           `json:"trace,omitempty"`
	RetryAfter time.Duration    `json:"-"` // of pending: when calling again makes sense

	Claim string `json:"claim,omitempty"` // of an approval: the call that got it, for [Returner] alone
}

// CorrectionGuide tells a caller how a human corrects the decision an outcome came from.
type CorrectionGuide struct {
	DecisionID string `json:"decisionId"`
	Verbs      []Verb `json:"verbs"`
	Command    string `json:"command"`
}
