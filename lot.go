package revue

import (
	"slices"
	"strings"
	"time"
)

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
	AskCount       int         `json:"askCount"`          // asks in it
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
	Claims     []string  `json:"claims,omitempty"`     // approvals: the calls that got the outcome
	Final      []string  `json:"final,omitempty"`      // approvals: the claims whose calls said that they have the outcome
	Calls      []Waiting `json:"calls,omitempty"`      // approvals: the calls with an id that wait for it
	Collected  bool      `json:"collected,omitempty"`  // approvals: by a call that came after the end
	MergedInto string    `json:"mergedInto,omitempty"` // the open lot that took its asks when it was reopened
	Caller     string    `json:"caller,omitempty"`     // approvals: whose call it is
	Purged     bool      `json:"purged,omitempty"`
}

// Waiting is a call with an id that waits for an approval.
type Waiting struct {
	Call  string    `json:"call"`
	Until time.Time `json:"until"` // it counts as waiting up to here, between two requests too
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
	Value    string   `json:"value,omitempty"`  // the value of an option
	Text     string   `json:"text,omitempty"`   // free text
	Note     string   `json:"note,omitempty"`   // added to the answer for the agents
	Seen     Revision `json:"seen,omitempty"`   // the revision that was on screen
	Members  []string `json:"members,omitzero"` // asks to settle; nil is all that Seen allows
	Remember Remember `json:"remember,omitempty"`
	Confirms string   `json:"confirms,omitempty"` // "same decision" as this pinned precedent
}

// Dismissal ends a lot without an answer.
type Dismissal struct {
	Reason  string   `json:"reason,omitempty"`
	Seen    Revision `json:"seen,omitempty"`   // as in Answer
	Members []string `json:"members,omitzero"` // as in Answer
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

// At returns the lot as it is at a time: an open lot past its ExpiresAt is expired.
func (l Lot) At(now time.Time) Lot {
	if l.Status == StatusOpen && !l.ExpiresAt.IsZero() && !now.Before(l.ExpiresAt) {
		l.Status = StatusExpired
		l.UpdatedAt = l.ExpiresAt
		l.Revision++
	}
	return l
}

// question returns what a [Memory] compares of the lot.
func (l Lot) question() Question {
	return Question{Text: l.Question, Options: l.Options, Concepts: l.Concepts, Files: l.Files, Repo: l.Repo}
}

func (l Lot) scope() Scope { return Scope{Concepts: l.Concepts, Files: l.Files, Repo: l.Repo} }

// fits reports whether a scope fits every scope that is in the lot.
func (l Lot) fits(s Scope) bool { return fitsAll(l.Scopes, s) }

func fitsAll(scopes []Scope, s Scope) bool {
	for _, have := range scopes {
		if !have.Fits(s) {
			return false
		}
	}
	return true
}

// endedAt is when the lot was answered, dismissed or expired.
func (l Lot) endedAt() time.Time {
	switch {
	case l.Answer != nil:
		return l.Answer.At
	case l.Dismissed != nil:
		return l.Dismissed.At
	default:
		return l.ExpiresAt
	}
}

// joined returns the lot with one more ask in it, and that ask.
func (l Lot) joined(a AskRecord, c Comparison, now time.Time) (Lot, AskRecord) {
	l.Revision++
	l.UpdatedAt = now
	l.AskCount++
	known := false
	for _, s := range l.Scopes {
		known = known || s.equal(a.Scope)
	}
	if !known {
		l.Scopes = append(append([]Scope(nil), l.Scopes...), a.Scope)
	}
	a.LotID, a.Verdict, a.Differs, a.Revision = l.ID, c.Verdict, c.Differs, l.Revision
	return l, a
}

// split divides the asks of the lot into those that a human settles who saw revision seen and ticked
// members, and the rest. It fails where that human could not have seen what they settle, and where
// nothing of the lot's own question would be settled.
func (l Lot) split(asks []AskRecord, seen Revision, members []string) (settled, rest []AskRecord, err error) {
	if seen < 0 || seen > l.Revision {
		return nil, nil, invalid("seen", "the lot has no such revision; send the one that was on screen")
	}
	ticked := map[string]bool{}
	for _, id := range members {
		ticked[id] = true
	}
	own := false
	for _, a := range asks {
		onScreen := seen == 0 || a.Revision <= seen
		take := a.Verdict == VerdictSame || seen > 0 && a.Revision <= seen
		if members != nil {
			if ticked[a.ID] && !take {
				return nil, nil, invalid("members", a.ID+" has a wording that was not on screen; read the lot again and send its revision as seen")
			}
			take = take && (ticked[a.ID] || !onScreen)
			delete(ticked, a.ID)
		}
		if take {
			settled = append(settled, a)
			own = own || a.Verdict == VerdictSame
		} else {
			rest = append(rest, a)
		}
	}
	for id := range ticked {
		return nil, nil, invalid("members", "the lot has no ask "+id+"; read it again")
	}
	if !own {
		return nil, nil, invalid("members", "none of them asks the question of the card; tick one that does")
	}
	return settled, rest, nil
}

// settledBy says in one sentence how the lot ended, for the one who came too late.
func (l Lot) settledBy() string {
	switch {
	case l.Answer != nil:
		what := l.Answer.Value
		if len(what) > 40 || !shownWhole(what) || strings.Contains(what, "  ") { // an agent's text, in an error
			what = "read the lot"
		}
		return "it was answered by " + l.Answer.By.Name + " at " + l.Answer.At.Format(time.RFC3339) + ": " + what
	case l.Dismissed != nil:
		return "it was dismissed by " + l.Dismissed.By.Name + " at " + l.Dismissed.At.Format(time.RFC3339) + "; reopen it first"
	case l.Status == StatusExpired:
		return "it expired at " + l.ExpiresAt.Format(time.RFC3339)
	default:
		return "it is open"
	}
}

func (l Lot) conflict() error {
	return &Error{Code: CodeConflict, ID: l.ID, Message: "this can't be done to lot " + l.ID + ": " + l.settledBy()}
}

// closed returns the lot with a new final state.
func (l Lot) closed(s Status, waiting int, now time.Time) Lot {
	l.Status = s
	l.Revision++
	l.UpdatedAt = now
	l.AskCount = waiting
	return l
}

// answer returns the lot answered. The answer is a normalized one whose Confirms is resolved.
func (l Lot) answer(a Answer, by Who, waiting int, now time.Time) (Lot, error) {
	if l = l.At(now); l.Status != StatusOpen {
		return l, l.conflict()
	}
	l = l.closed(StatusAnswered, waiting, now)
	l.Answer = &Answered{Value: a.Value, Note: a.Note, Remember: a.Remember, Confirms: a.Confirms, By: by, At: now}
	if a.Text != "" {
		l.Answer.Value, l.Answer.FreeText = a.Text, true
	}
	for _, o := range l.Options {
		if !l.Answer.FreeText && o.Value == a.Value {
			l.Answer.Label = o.Label
		}
	}
	return l, nil
}

// answeredSo reports whether the lot was given this very answer by this human.
func (l Lot) answeredSo(a Answer, by Who) bool {
	have := l.Answer
	if have == nil || have.By.ID != by.ID || have.By.Name != by.Name || have.Note != a.Note ||
		have.Remember != a.Remember || have.Confirms != a.Confirms {
		return false
	}
	if a.Value == "" && a.Text == "" {
		return a.Confirms != ""
	}
	return have.Value == a.Value+a.Text && have.FreeText == (a.Text != "")
}

// dismiss returns the lot dismissed. An approval is declined, never dismissed.
func (l Lot) dismiss(d Dismissal, by Who, waiting int, now time.Time) (Lot, error) {
	if l.Kind == KindApproval {
		return l, &Error{Code: CodeInvalid, ID: l.ID, Message: "an approval is not dismissed; answer it with declined"}
	}
	if l = l.At(now); l.Status != StatusOpen {
		return l, l.conflict()
	}
	l = l.closed(StatusDismissed, waiting, now)
	l.Dismissed = &Settled{LotID: l.ID, Reason: d.Reason, By: by, At: now}
	return l, nil
}

// reopened reports whether the lot is open because its dismissal was taken back.
func (l Lot) reopened() bool {
	return l.Status == StatusOpen && l.Earlier != nil && l.Earlier.LotID == l.ID
}

// dismissedForGood reports whether a new lot of the same question shows that this one was dismissed: it was, and
// that was neither taken back nor purged.
func (l Lot) dismissedForGood() bool {
	return l.Status == StatusDismissed && l.MergedInto == "" && !l.Purged
}

// reopen returns a dismissed lot open again; it keeps the dismissal as what came earlier.
func (l Lot) reopen(now time.Time) (Lot, error) {
	switch {
	case l.Status != StatusDismissed:
		return l, l.conflict()
	case l.Purged:
		return l, &Error{Code: CodeConflict, ID: l.ID, Message: "lot " + l.ID + " was purged: nobody could tell what it asks"}
	}
	l.Status = StatusOpen
	l.Revision++
	l.UpdatedAt = now
	l.Earlier, l.Dismissed, l.ReceiptID = l.Dismissed, nil, ""
	return l, nil
}

// expire returns an approval whose time is up as expired.
func (l Lot) expire(now time.Time) (Lot, bool) {
	at := l.At(now)
	return at, l.Status == StatusOpen && at.Status == StatusExpired
}

// claim returns the lot with its outcome taken by one call of its caller. A call that was parked
// when the lot ended always gets it, unless a later call collected it in the meantime; a later call gets
// it once, if no other did. The same claim again changes nothing. All of this ends when the outcome has been there
// for collectFor: then it is old news, and whoever asks is asked for anew.
func (l Lot) claim(id string, parked bool, now time.Time) (Lot, bool) {
	if now.Sub(l.endedAt()) > collectFor && !parked {
		return l, false
	}
	if id != "" && slices.Contains(l.Claims, id) {
		return l, true
	}
	if l.Collected || !parked && len(l.Claims) > 0 {
		return l, false
	}
	l.Claims = append(slices.Clip(l.Claims), id)
	l.Collected = !parked
	return l, true
}

const (
	// maxCalls bounds how many calls an approval remembers; those that ended first are forgotten.
	maxCalls = 64
	// callGrace is how long a call that is tried again may be away between two requests.
	callGrace = 5 * time.Second
)

// awaitedBy returns the lot with a call noted as one that waits for it, and whether that is news. The one that
// is parked for good is noted once.
func (l Lot) awaitedBy(call string, until time.Time) (Lot, bool) {
	if call == "" {
		return l, false
	}
	calls := make([]Waiting, 0, len(l.Calls)+1)
	for _, c := range l.Calls {
		if c.Call != call {
			calls = append(calls, c)
		} else if !c.Until.Before(until) {
			return l, false
		}
	}
	calls = append(calls, Waiting{Call: call, Until: until})
	slices.SortStableFunc(calls, func(a, b Waiting) int { return a.Until.Compare(b.Until) })
	l.Calls = calls[max(0, len(calls)-maxCalls):]
	return l, true
}

// awaited reports whether a call was waiting for the lot when it ended, and may still be told.
func (l Lot) awaited(call string, now time.Time) bool {
	return call != "" && now.Sub(l.endedAt()) <= collectFor && slices.ContainsFunc(l.Calls, func(c Waiting) bool {
		return c.Call == call && !c.Until.Before(l.endedAt())
	})
}

// hasCall reports whether the lot is the one that a call is about: it waits for it, or has its outcome, and that is no
// old news.
func (l Lot) hasCall(call string, now time.Time) bool {
	switch {
	case call == "":
		return false
	case l.Status == StatusOpen:
		return slices.ContainsFunc(l.Calls, func(c Waiting) bool { return c.Call == call })
	default:
		return l.awaited(call, now) || now.Sub(l.endedAt()) <= collectFor && slices.Contains(l.Claims, call)
	}
}

// delivered returns the lot with a claim that was said to have reached its caller: it is not taken back any more.
func (l Lot) delivered(claim string) Lot {
	if slices.Contains(l.Claims, claim) && !slices.Contains(l.Final, claim) {
		l.Final = append(slices.Clip(l.Final), claim)
	}
	return l
}

// claimedAs returns an approval with the claims that the same one has here: whoever got its outcome here does not get it
// again because another copy of it knows nothing of that. Claims make no event, so copies of one history may differ in them.
func (l Lot) claimedAs(have Lot) Lot {
	if l.Kind != KindApproval || have.Status == StatusOpen || l.Status != have.Status {
		return l
	}
	union := func(a, b []string) []string {
		for _, s := range b {
			if !slices.Contains(a, s) {
				a = append(slices.Clip(a), s)
			}
		}
		return a
	}
	l.Claims, l.Final = union(l.Claims, have.Claims), union(l.Final, have.Final)
	l.Collected = l.Collected || have.Collected
	return l
}

// unclaim takes back a claim whose outcome did not reach its caller.
func (l Lot) unclaim(id string) Lot {
	i := slices.Index(l.Claims, id)
	if i < 0 || slices.Contains(l.Final, id) {
		return l
	}
	l.Claims = slices.Delete(slices.Clone(l.Claims), i, i+1)
	if len(l.Claims) == 0 {
		l.Claims, l.Collected = nil, false
	}
	return l
}

const (
	// collectFor is how long the outcome of an approval nobody was parked on waits to be collected.
	collectFor = time.Hour
	// claimGrace is how long a later call lets the calls parked in any process claim the outcome first.
	claimGrace = 2 * time.Second
	// releaseAfter is how long an outcome that was returned stays the answer to the same call, where
	// something stands against it.
	releaseAfter = 10 * time.Minute
)
