package revue

import (
	"context"
	"iter"
	"time"
)

// Decider is what an agent may do: one method a tool. It is bound to one [Agent] and one workspace,
// and is safe for concurrent use.
type Decider interface {
	// Lookup returns what is remembered for a question or for keywords, best first, and the shared
	// context that bears on it. It never interrupts a human and records nothing.
	Lookup(ctx context.Context, q Query) (Findings, error)

	// Request asks for one decision. It blocks until there is an outcome, at the longest for
	// ask.Wait; the end of the wait is [OutcomePending], not an error. The end of a wait, a
	// cancelled ctx (which returns ctx.Err()) or a shutdown never changes what was asked: the same
	// call later takes up the same ask.
	Request(ctx context.Context, ask Ask) (Outcome, error)

	// Share publishes a note for other agents without interrupting a human. The same note again
	// by the same credential returns the one that exists.
	Share(ctx context.Context, item ContextItem) (ContextItem, error)
}

// Returner is implemented by a Decider that keeps track of which outcomes reached their caller.
//
// A transport that can tell sets [Agent].Acknowledges and then calls Returned exactly once for every
// outcome: with nil after the result was written, with the error otherwise. What was not returned
// can be collected by the next same call.
type Returner interface {
	Returned(ctx context.Context, o Outcome, err error) error
}

// Reviewer is what a human may do. It is bound to one [Human] and one workspace, and is safe for
// concurrent use. No agent credential ever yields one.
type Reviewer interface {
	// Lots returns one page of lots without contexts, oldest first (newest first with
	// LotFilter.Newest), and the cursor of the next page, "" at the end.
	Lots(ctx context.Context, f LotFilter) (Page[Lot], error)
	// Lot returns one lot whole, its asks among it.
	Lot(ctx context.Context, id string) (Lot, error)
	// Answer settles a lot. Exactly one of many succeeds, the rest get ErrConflict that says who
	// won; the same answer again by the same human returns the lot.
	Answer(ctx context.Context, lotID string, a Answer) (Lot, error)
	// Dismiss ends a lot without an answer. The agents go on by their own recommendation.
	Dismiss(ctx context.Context, lotID string, d Dismissal) (Lot, error)
	// Reopen takes back a dismissal. Where the same question is open by now, its lot is joined and
	// returned.
	Reopen(ctx context.Context, lotID string) (Lot, error)
	// Decisions returns one page of what is remembered: newest first, or the best matches first
	// where the filter has a text.
	Decisions(ctx context.Context, f DecisionFilter) (Page[Decision], error)
	// Why explains a decision: the ask, the answer, each use, each correction.
	Why(ctx context.Context, decisionID string) (Explanation, error)
	// Correct appends a correction to a decision, or undoes an earlier one.
	Correct(ctx context.Context, c Correction) (Decision, error)
	// Events yields the journal after the given number up to its head, then follows it until ctx
	// ends. FromNow yields what is committed after the call of Events. No transaction is held while
	// the consumer runs. A failure, the end of ctx among them, is yielded once, as the last pair.
	Events(ctx context.Context, after Seq) iter.Seq2[Event, error]
	// Journal returns at most limit (default 100, at most 1,000) events after the given number, in order, and what
	// to give as after for the next ones: the number of the last event returned, else after itself. FromNow returns
	// no events, and the number of the last one there is.
	Journal(ctx context.Context, after Seq, limit int) (events []Event, next Seq, err error)
	// Contexts returns one page of the shared context that has not expired, newest first.
	Contexts(ctx context.Context, f ContextFilter) (Page[ContextItem], error)
	// RemoveContext takes a shared note out of circulation.
	RemoveContext(ctx context.Context, id string) error
	// Receipt returns the receipt with this id.
	Receipt(ctx context.Context, id string) (Receipt, error)
}

// FromNow makes [Reviewer].Events begin with what is committed after its call.
const FromNow Seq = -1

// Admin is what a human may do to the plane itself. It is bound to one [Human]: what concerns more than one
// workspace is for a Local human alone, and ErrDenied for others.
type Admin interface {
	// CreateWorkspace makes a workspace; an existing one of that name is ErrConflict.
	CreateWorkspace(ctx context.Context, name string) (Workspace, error)
	Workspaces(ctx context.Context) ([]Workspace, error)
	// CreateToken makes a credential. Its secret is in the result and nowhere else.
	CreateToken(ctx context.Context, t NewToken) (Token, error)
	// Tokens returns the tokens of the human's workspace, without their secrets; sessions are among them.
	Tokens(ctx context.Context) ([]Token, error)
	// RevokeToken ends a credential for good, and the sessions that stand under it.
	RevokeToken(ctx context.Context, id string) (Token, error)
	// Members returns the people of the human's workspace, by name, those who were removed too.
	Members(ctx context.Context) ([]Member, error)
	// RemoveMember ends a member's place in the workspace: every token and session of theirs is revoked. What they
	// decided stays.
	RemoveMember(ctx context.Context, id string) (Member, error)
	// SignIn makes a one-time code that opens a session in the web inbox as this human, within [SignInFor]. The session ends
	// with the token that the human came with.
	SignIn(ctx context.Context) (SignIn, error)
	// Streams returns the lanes of the inbox, by slug.
	Streams(ctx context.Context) ([]Stream, error)
	// SetStream names, orders and mutes a lane, which is made where there is none of the slug, and returns it.
	SetStream(ctx context.Context, s StreamSettings) (Stream, error)
	// Purge blanks the text of a lot, a decision or a context item for good. Digests stay, so the
	// journal still verifies.
	Purge(ctx context.Context, id string) error
	// RotateKey makes a new key that signs receipts from now on, and returns its public part. Earlier keys
	// stay in the key set, so that what they signed verifies. Desks on the same store follow within a minute.
	RotateKey(ctx context.Context) (PublicKey, error)
}

// Plane hands a transport what it needs: it authenticates a bearer token, then binds an identity and a
// workspace to an interface.
type Plane interface {
	// Authenticate resolves a bearer token. An unknown, expired or revoked one is ErrDenied, whatever
	// the reason.
	Authenticate(ctx context.Context, bearer string) (Principal, error)
	Decider(Agent) Decider
	Reviewer(Human) Reviewer
	Admin(Human) Admin
	// Keys returns the public keys that the receipts of this plane verify with, the newest first.
	Keys(ctx context.Context) (KeySet, error)
}

// Agent is who asks. Transports make it from a credential; nothing in it is taken from what an agent
// says in a tool call, apart from Thread and Repo, which only route.
type Agent struct {
	Workspace  string `json:"workspace"`
	Credential string `json:"credential"` // id of the token, or a fixed name for an embedded plane
	Name       string `json:"name"`       // shown to humans: owner and label of the token
	Thread     string `json:"thread"`     // one agent session; the answer route
	Repo       string `json:"repo"`       // normalised by [NormalizeRepo]; may be unknown
	Via        string `json:"via"`        // through what: "mcp stdio", "mcp http", "api", "library"

	// AnyThread says that Thread was made up for this process, so a restarted agent has another
	// one: approvals are then collected by the credential alone.
	AnyThread bool `json:"-"`
	// Call is the id of one call, random and the same each time the call is tried again. It is what makes an approval
	// that was collected by a call whose answer got lost come back to that call, and to no other. Up to 200 bytes.
	Call string `json:"-"`
	// Acknowledges says that the transport calls [Returner] for each outcome. Without it an outcome
	// counts as returned when Request returns it.
	Acknowledges bool `json:"-"`
}

// Human is who decides. It comes from a human credential, or from the local user of an embedded plane.
type Human struct {
	Workspace string `json:"workspace"`
	ID        string `json:"id"`   // id of the member, or of the token where it belongs to none
	Name      string `json:"name"` // shown as decidedBy.name
	Via       string `json:"via"`  // through what: "web", "cli", "api", "slack", or LocalVia

	// Token is the id of the token that they came with, "" for none. What they open in turn, a session say, ends with it.
	// [Plane].Authenticate and [Desk.Session] set it.
	Token string `json:"-"`
	// Local says that the human is at the machine of the plane and works on the store directly: no
	// credential bounds what they may do. Only a program that opened the store itself sets it.
	Local bool `json:"-"`
	// Call is the id of one write, the same each time it is tried again: what was done is then not done a second
	// time, whatever happened since, and its result is what it has become. For another write it is ErrConflict.
	// It is remembered for a day. Up to 200 bytes. Revoking, removing and purging can be repeated as they are, and take
	// no note of it.
	Call string `json:"-"`
}

// LocalVia marks what was decided on a store opened directly, where no credential was checked.
const LocalVia = "local, unauthenticated"

// Who says who decided and through what.
type Who struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
	Via  string `json:"via"`
}

// Principal is what a bearer token stands for. Exactly one of Agent and Human is set.
type Principal struct {
	TokenID   string
	Kind      TokenKind
	Workspace string    // its name
	ExpiresAt time.Time // zero: never
	Agent     *Agent
	Human     *Human
}

// Page is one page of a list, and the cursor of the next ("" at the end). Cursors are opaque.
type Page[T any] struct {
	Items      []T    `json:"items"`
	NextCursor string `json:"nextCursor,omitempty"`
}

// Memory finds precedents and says how far each may be reused. It is a projection of what is
// committed: it reads a workspace's journal and decisions through src, keeps its own index, and
// catches up before it answers.
//
// Rules for implementors:
//
//   - Recall reflects every event up to the Seq it returns, and that is at least the head of the journal
//     when Recall was called.
//   - [Apply] only where the questions are the same (not merely alike) and [Decision.Obstacle] is "".
//     The [Desk] checks Obstacle again before it reuses anything.
//   - At most one match for each decision; best first; withdrawn, superseded and once-only decisions never.
//   - Same is pure, symmetric and fast: it is called inside transactions.
//   - Safe for concurrent use.
type Memory interface {
	Recall(ctx context.Context, src Source, q Query) (Recalled, error)
	Same(a, b Question) Comparison
}

// Recalled is what a [Memory] found.
type Recalled struct {
	Matches []Match
	Seq     Seq  // the journal number the matches reflect
	Deictic bool // the question means something only where and when it was asked ("this", "proceed?")

	// Permission says that the question asks for leave to do something ("may I", "ok to"), or is not worded as a
	// standing policy. Its answer is reused only where the human made it a rule.
	Permission bool
}

// Source is the window through which a [Memory] reads one workspace.
type Source interface {
	Workspace() string
	// View calls fn with one consistent snapshot of what is committed. fn must be quick and must not
	// keep the snapshot: what is slow, a call to another service say, belongs outside.
	View(ctx context.Context, fn func(Snapshot) error) error
}

// Snapshot is what a [Memory] may read; its methods do what those of [Tx] do.
type Snapshot interface {
	Now() time.Time
	Head() (Event, error)
	Events(after Seq, limit int) ([]Event, error)
	FindDecisions(DecisionQuery) ([]Decision, error)
}

// Notifier tells a human that something happened. Notify is called at least once for each Notice.ID,
// with at most one call at a time for each workspace; it returns nil only when the notice
// was handed over. An error makes the desk try again later. It must respect ctx.
type Notifier interface {
	Notify(ctx context.Context, n Notice) error
}

// NotifierFunc makes a function a [Notifier].
type NotifierFunc func(context.Context, Notice) error

// Notify calls f.
func (f NotifierFunc) Notify(ctx context.Context, n Notice) error { return f(ctx, n) }
