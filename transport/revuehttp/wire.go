package revuehttp

import (
	"time"

	"github.com/revuehq/revue"
)

// Headers of the API. Those of a request only route and say how; who calls is the token's to say.
const (
	HeaderThread    = "Revue-Thread"    // one agent session; default: one thread a token
	HeaderRepo      = "Revue-Repo"      // the repository the agent works in, see [revue.NormalizeRepo]
	HeaderWorkspace = "Revue-Workspace" // name of the workspace the caller means; another than the token's is denied
	HeaderVia       = "Revue-Via"       // through what the caller works: "api" (default), "cli", "mcp stdio"; other values are "api"
	// HeaderCaller with the value "credential" says that the thread was made up for a process: an approval
	// then belongs to the credential alone.
	HeaderCaller = "Revue-Caller"
	// HeaderCall is the id of one call, the same each time the call is tried again, on agents' requests and humans'
	// writes. Up to 200 bytes.
	HeaderCall = "Idempotency-Key"
	// HeaderRequestID names one request in the log of the server. It is taken from the request where it is 1 to 64 of
	// A-Z, a-z, 0-9, '-', '_' and '.', else made, and in every response.
	HeaderRequestID = "X-Request-Id"
)

// Bounds of waitSeconds, as in the MCP tools.
const (
	DefaultWait = 50 * time.Second
	MaxWait     = 55 * time.Second
)

// lookupBody is the body of POST /v1/decisions/lookup.
type lookupBody struct {
	Query    string   `json:"query"`
	Concepts []string `json:"concepts,omitempty"`
	Files    []string `json:"files,omitempty"`
	Limit    int      `json:"limit,omitempty"`
}

// lookupResult is its answer.
type lookupResult struct {
	Matches []revue.Match       `json:"matches"`
	Context []revue.ContextItem `json:"context"` // untrusted notes of other agents
}

// requestBody is the body of POST /v1/decisions/request.
type requestBody struct {
	Kind             revue.Kind       `json:"kind,omitempty"` // decision (default) or approval
	Question         string           `json:"question,omitempty"`
	Title            string           `json:"title,omitempty"` // of an approval, in place of question
	Options          []optionBody     `json:"options,omitempty"`
	Recommendation   string           `json:"recommendation,omitempty"`
	Context          string           `json:"context,omitempty"`
	Concepts         []string         `json:"concepts,omitempty"`
	Files            []string         `json:"files,omitempty"`
	Affected         []revue.Affected `json:"affected,omitempty"` // of an approval
	Stream           string           `json:"stream,omitempty"`
	DecisionRef      string           `json:"decisionRef,omitempty"`
	WaitSeconds      *float64         `json:"waitSeconds,omitempty"`      // 0 to 55, default 50; more is cut
	ExpiresInSeconds *float64         `json:"expiresInSeconds,omitempty"` // of an approval
	// Acknowledge says that the caller posts to /v1/decisions/returned once it has the outcome. Without it the
	// outcome counts as returned when the response is written.
	Acknowledge bool `json:"acknowledge,omitempty"`
}

// optionBody is an option: a string, or an object with value, label and consequence. See its decodeJSON.
type optionBody revue.Option

// outcomeBody is the answer to a request: the outcome, and of a pending one what to do.
type outcomeBody struct {
	revue.Outcome
	RetryAfterSeconds float64 `json:"retryAfterSeconds,omitempty"`
	Instruction       string  `json:"instruction,omitempty"`
}

// lotBody is a lot as it is shown: without what only the plane itself has a use for.
type lotBody struct {
	revue.Lot
	Claims    *internal `json:"claims,omitempty"`
	Final     *internal `json:"final,omitempty"`
	Calls     *internal `json:"calls,omitempty"`
	Collected *internal `json:"collected,omitempty"`
	Caller    *internal `json:"caller,omitempty"`
}

// internal is the type of a field that takes the place of one that is not shown. It is always nil.
type internal struct{}

// explanationBody is an explanation as it is shown.
type explanationBody struct {
	revue.Explanation
	Lot *lotBody `json:"lot,omitempty"`
}

// returnedBody is the body of POST /v1/decisions/returned: the outcome of decisionRef reached its caller, or, with
// failed, it did not.
type returnedBody struct {
	DecisionRef string              `json:"decisionRef"`
	Status      revue.OutcomeStatus `json:"status"`
	Claim       string              `json:"claim,omitempty"`
	Failed      bool                `json:"failed,omitempty"`
}

// contextBody is the body of POST /v1/context.
type contextBody struct {
	Kind     string   `json:"kind"`
	Body     string   `json:"body"`
	Concepts []string `json:"concepts,omitempty"`
}

// correctionBody is the body of POST /v1/decisions/{id}/corrections.
type correctionBody struct {
	Verb    revue.Verb `json:"verb,omitempty"`
	Expires string     `json:"expires,omitempty"` // a Go duration, "30d", or an RFC 3339 date or time
	Note    string     `json:"note,omitempty"`
	Undoes  string     `json:"undoes,omitempty"`
}

// tokenBody is the body of POST /v1/tokens.
type tokenBody struct {
	Kind    revue.TokenKind `json:"kind"`
	Owner   string          `json:"owner,omitempty"`
	Label   string          `json:"label,omitempty"`
	Expires string          `json:"expires,omitempty"` // as in correctionBody
}

// streamBody is the body of PUT /v1/streams/{slug}.
type streamBody struct {
	Name     string `json:"name,omitempty"`
	Position int    `json:"position,omitempty"`
	Muted    bool   `json:"muted,omitempty"`
}

// Identity is who a token stands for: the answer of GET /v1/whoami.
type Identity struct {
	Token     string          `json:"token"` // its id, never its secret
	Kind      revue.TokenKind `json:"kind"`
	Workspace string          `json:"workspace"`
	Name      string          `json:"name"`
	ExpiresAt time.Time       `json:"expiresAt,omitzero"`
	Time      time.Time       `json:"time"` // the clock of the plane
	Version   string          `json:"version,omitempty"`
}

// problemBody is what every error is (RFC 9457).
type problemBody struct {
	Type      string `json:"type"`
	Title     string `json:"title"`
	Status    int    `json:"status"`
	Code      string `json:"code"`
	Detail    string `json:"detail,omitempty"`
	ID        string `json:"id,omitempty"` // what the error is about: a lot, a decision, an ask
	RequestID string `json:"requestId,omitempty"`
}

// purgeBody is the body of POST /v1/purge: the id of a lot, a decision or a shared note.
type purgeBody struct {
	ID string `json:"id"`
}
