package revue

import (
	"slices"
	"time"
)

// Decision is a human answer that is remembered.
type Decision struct {
	ID            string       `json:"id"`
	Seq           Seq          `json:"seq"` // the journal event that made it
	Key           string       `json:"key"` // of the question the human saw
	Question      string       `json:"question"`
	Options       []Option     `json:"options"` // what the human could choose from
	Answer        string       `json:"answer"`  // an option's value, or free text
	AnswerLabel   string       `json:"answerLabel,omitempty"`
	FreeText      bool         `json:"freeText,omitempty"`
	Note          string       `json:"note,omitempty"`
	Concepts      []string     `json:"concepts"`
	Files         []string     `json:"files"`
	Repo          string       `json:"repo,omitempty"`
	Stream        string       `json:"stream,omitempty"`
	Remember      Remember     `json:"remember"`
	LotID         string       `json:"lotId"`
	By            Who          `json:"decidedBy"`
	CreatedAt     time.Time    `json:"createdAt"`
	ConfirmedAt   time.Time    `json:"confirmedAt"` // last answered or confirmed
	Confirmations int          `json:"confirmations"`
	Aliases       []Alias      `json:"aliases,omitempty"`
	Corrections   []Correction `json:"corrections,omitempty"` // in order; never edited
	Supersedes    []string     `json:"supersedes,omitempty"`
	SupersededBy  string       `json:"supersededBy,omitempty"`
	Purged        bool         `json:"purged,omitempty"`
}

// Alias is another wording of a decision's question that a human accepted. A [Correction] whose Undoes names its ID takes
// it back; it stays in the list.
type Alias struct {
	ID   string    `json:"id,omitempty"` // none on those that are older than ids
	Text string    `json:"text"`
	Ask  string    `json:"ask,omitempty"` // the ask it came from
	By   Who       `json:"by"`
	At   time.Time `json:"at"`
}

// DecisionFilter selects decisions for a human.
type DecisionFilter struct {
	Text     string // best matches first
	Concepts []string
	Cursor   string
	Limit    int // default 100, at most 1,000
}

// Verb is a kind of correction.
type Verb string

// The five corrections.
const (
	VerbWrong        Verb = "wrong"
	VerbTooBroad     Verb = "too_broad"
	VerbOnlyThisRepo Verb = "only_this_repo"
	VerbAskNextTime  Verb = "ask_next_time"
	VerbExpiresAfter Verb = "expires_after"
)

// Verbs lists the corrections in the order in which they are documented.
func Verbs() []Verb {
	return []Verb{VerbWrong, VerbTooBroad, VerbOnlyThisRepo, VerbAskNextTime, VerbExpiresAfter}
}

// Correction is a human's change to how a decision may be reused. It is appended, never edited. One
// that names another, or an [Alias], in Undoes takes that one back and has no Verb of its own. A wording that is taken
// back is no alias any more: it is asked anew, also by those who were given the answer to it.
type Correction struct {
	ID         string        `json:"id"`
	DecisionID string        `json:"decisionId"`
	Verb       Verb          `json:"verb,omitempty"`
	Expires    time.Time     `json:"expires,omitzero"` // of expires_after
	After      time.Duration `json:"-"`                // of expires_after, instead of Expires: counted from now
	Undoes     string        `json:"undoes,omitempty"`
	Note       string        `json:"note,omitempty"`
	By         Who           `json:"by"`
	At         time.Time     `json:"at"`
}

// Explanation is the whole story of a decision.
type Explanation struct {
	Decision   Decision     `json:"decision"`
	Standing   []Correction `json:"standing"` // the corrections in force
	Live       bool         `json:"live"`     // it can still match
	Freshness  Freshness    `json:"freshness"`
	Lot        *Lot         `json:"lot,omitempty"`        // the card that was answered
	Uses       []AskRecord  `json:"uses"`                 // every ask that was given it, in order
	Events     []Event      `json:"events"`               // its part of the journal
	Superseded []Decision   `json:"superseded,omitempty"` // the decisions it took the place of
}

// Freshness is how long ago a decision was answered or confirmed.
type Freshness string

// The steps of freshness, and where each ends.
const (
	Fresh   Freshness = "fresh"   // up to FreshFor
	Aging   Freshness = "aging"   // up to StaleAfter
	Stale   Freshness = "stale"   // older
	Expired Freshness = "expired" // past its expires_after

	FreshFor   = 30 * 24 * time.Hour
	StaleAfter = 180 * 24 * time.Hour
)

// Standing returns the corrections in force: those that no later one undid.
func (d Decision) Standing() []Correction {
	undone := map[string]bool{}
	for _, c := range d.Corrections {
		if c.Undoes != "" {
			undone[c.Undoes] = true
		}
	}
	var out []Correction
	for _, c := range d.Corrections {
		if c.Undoes == "" && !undone[c.ID] {
			out = append(out, c)
		}
	}
	return out
}

// Accepted returns the aliases in force: those that no correction undid.
func (d Decision) Accepted() []Alias {
	var out []Alias
	for _, a := range d.Aliases {
		if !d.undone(a.ID) {
			out = append(out, a)
		}
	}
	return out
}

// undone reports whether a correction took back what has this id.
func (d Decision) undone(id string) bool {
	return id != "" && slices.ContainsFunc(d.Corrections, func(c Correction) bool { return c.Undoes == id })
}

// disowned reports whether a human took back that this wording asks for the decision.
func (d Decision) disowned(text string) bool {
	return slices.ContainsFunc(d.Aliases, func(a Alias) bool { return a.Text == text && d.undone(a.ID) }) && !slices.Contains(d.wordings(), text)
}

// stands returns the last correction of this verb in force.
func (d Decision) stands(v Verb) (Correction, bool) {
	var found Correction
	ok := false
	for _, c := range d.Standing() {
		if c.Verb == v {
			found, ok = c, true
		}
	}
	return found, ok
}

// Stands reports whether a correction of this verb is in force.
func (d Decision) Stands(v Verb) bool {
	_, ok := d.stands(v)
	return ok
}

// Live reports whether the decision may match anything at all: it is not withdrawn, superseded,
// purged or meant for once.
func (d Decision) Live() bool {
	return d.SupersededBy == "" && !d.Purged && d.Remember != RememberOnce && !d.Stands(VerbWrong)
}

// ExpiresAt returns when the standing expires_after ends the decision, zero for never.
func (d Decision) ExpiresAt() time.Time {
	c, _ := d.stands(VerbExpiresAfter)
	return c.Expires
}

// FreshnessAt returns the freshness at a time.
func (d Decision) FreshnessAt(now time.Time) Freshness {
	if at := d.ExpiresAt(); !at.IsZero() && !now.Before(at) {
		return Expired
	}
	switch age := now.Sub(d.ConfirmedAt); {
	case age <= FreshFor:
		return Fresh
	case age <= StaleAfter:
		return Aging
	default:
		return Stale
	}
}

// question returns what a [Memory] compares of the decision.
func (d Decision) question() Question {
	return Question{Text: d.Question, Options: d.Options, Concepts: d.Concepts, Files: d.Files, Repo: d.Repo}
}

// Scope returns where the decision was made.
func (d Decision) Scope() Scope {
	return Scope{Concepts: d.Concepts, Files: d.Files, Repo: d.Repo}
}

// Obstacle says why the decision may not be applied to q without asking a human, even when the
// question is the same; "" when nothing stands against it. It covers corrections, age, scope, options
// and the answer; whether the questions are the same, pinned and uncontradicted is for the [Memory].
func (d Decision) Obstacle(q Query, now time.Time) string {
	switch {
	case !d.Live():
		return "it was withdrawn or superseded"
	case d.Stands(VerbAskNextTime):
		return "a human wants to be asked next time"
	case d.Stands(VerbTooBroad) && (q.Key == "" || q.Key != d.Key):
		return "a human found it too broad: it holds for the very same request alone"
	case d.Stands(VerbOnlyThisRepo) && (d.Repo == "" || q.Repo != d.Repo):
		return "it holds in the repository where it was made alone"
	}
	switch d.FreshnessAt(now) {
	case Expired:
		return "it has expired"
	case Stale:
		return "it is stale: nobody confirmed it for more than 180 days"
	}
	if why := d.Scope().misfit(Scope{Concepts: q.Concepts, Files: q.Files, Repo: q.Repo}); why != "" {
		return why
	}
	if q.Request {
		return d.optionsMisfit(q.Options)
	}
	return ""
}

// optionsMisfit says why the answer does not answer a request that offers these options.
func (d Decision) optionsMisfit(offered []Option) string {
	if len(offered) == 0 {
		if !d.FreeText {
			return "the human chose among options, and none are offered now"
		}
		return ""
	}
	if d.FreeText {
		return "the answer was free text, and options are offered now"
	}
	answered := false
	for _, o := range offered {
		if !hasOption(d.Options, o) {
			if hasOption(d.Options, Option{Value: o.Value, Label: o.Label}) {
				return "an option has a consequence that the human did not see"
			}
			return "an option is offered that the human did not have"
		}
		answered = answered || o.Value == d.Answer
	}
	if !answered {
		return "the answer is not among the options offered now"
	}
	return ""
}

// hasOption reports whether those who saw opts have seen o: value and label, and its consequence where it gives one.
func hasOption(opts []Option, o Option) bool {
	for _, h := range opts {
		if h.Value == o.Value && h.Label == o.Label && (h.Consequence == o.Consequence || o.Consequence == "") {
			return true
		}
	}
	return false
}

// corrected returns the decision with a correction appended. The same correction again, while it
// stands, changes nothing.
func (d Decision) corrected(c Correction) (Decision, error) {
	for _, have := range d.Corrections {
		if have.ID == c.ID {
			return d, nil // an unknown commit that did happen
		}
	}
	if c.Undoes != "" {
		known := false
		for _, have := range d.Corrections {
			known = known || have.ID == c.Undoes && have.Undoes == ""
		}
		for _, a := range d.Aliases {
			known = known || a.ID == c.Undoes
		}
		if !known {
			return d, &Error{Code: CodeNotFound, ID: d.ID, Message: "undoes: the decision has no such correction or alias"}
		}
		if d.undone(c.Undoes) {
			return d, &Error{Code: CodeConflict, ID: d.ID, Message: "undoes: this was undone already"}
		}
	} else if have, ok := d.stands(c.Verb); ok && have.Expires.Equal(c.Expires) {
		return d, nil
	}
	d.Corrections = append(append([]Correction(nil), d.Corrections...), c)
	return d, nil
}
