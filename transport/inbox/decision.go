package inbox

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/revuehq/revue"
)

// decisionPage is what the page of a decision shows.
type decisionPage struct {
	revue.Explanation

	Call      string // id of what a form on the page does
	Answer    string
	Options   []chosenOption
	Expires   time.Time
	Aliases   []shownAlias
	History   []shownCorrection
	Verbs     []verbChoice
	Used      []usedBy         // the last uses, the newest first
	Before    int              // uses that are not shown
	Story     []revue.Event    // the last events
	Skipped   int              // events that are not shown
	Newer     []revue.Decision // what took its place, and what took the place of that
	Told      *toldNow         // nil where a lookup does not find it
	Tomorrow  string           // the first date that can be picked
	PurgeWord string
	Form      correctionForm // what was sent and not taken
	Alert     string         // what stands against it
}

// correctionForm is what was sent as a correction.
type correctionForm struct{ Verb, After, Date, Note string }

// Days are what the picker of an expiry offers.
func (correctionForm) Days() []string { return []string{"30", "90", "180"} }

// usedBy is an ask that was given the decision, and how.
type usedBy struct {
	revue.AskRecord

	How string
}

type chosenOption struct {
	revue.Option

	Chosen bool
}

// shownAlias is an accepted wording; Undone where it was taken back.
type shownAlias struct {
	revue.Alias

	Undone bool
}

// shownCorrection is a correction, and whether it stands.
type shownCorrection struct {
	revue.Correction

	Says   string
	Stands bool
	Of     string // what an undo took back
}

// verbChoice is one of the five corrections in the form.
type verbChoice struct {
	Verb    revue.Verb
	Name    string
	Says    string
	Already bool // it stands
}

// toldNow is what a lookup of the decision's own question finds it to be.
type toldNow struct {
	Guidance   revue.Guidance
	Reason     string
	Confidence string
}

// purgeWord is what has to be typed to purge.
const purgeWord = "purge"

// decisionDone says what a form did.
func decisionDone(word string) string {
	switch word {
	case "corrected":
		return "The correction is in force. It can be undone below."
	case "undone":
		return "That was taken back."
	case "purged":
		return "The text is blank for good. The journal still verifies."
	default:
		return ""
	}
}

func verbName(verb revue.Verb) string {
	switch verb {
	case revue.VerbWrong:
		return "Wrong"
	case revue.VerbTooBroad:
		return "Too broad"
	case revue.VerbOnlyThisRepo:
		return "Only this repository"
	case revue.VerbAskNextTime:
		return "Ask next time"
	case revue.VerbExpiresAfter:
		return "Expires"
	default:
		return "Undo"
	}
}

// verbChoices are the corrections with what each does to this decision.
func verbChoices(d revue.Decision) []verbChoice {
	var out []verbChoice
	for _, verb := range revue.Verbs() {
		c := verbChoice{Verb: verb, Name: verbName(verb), Already: d.Stands(verb) && verb != revue.VerbExpiresAfter}
		switch verb {
		case revue.VerbWrong:
			c.Says = "It is withdrawn and matches nothing any more. Below are the asks that were given it."
		case revue.VerbTooBroad:
			c.Says = "It answers the very same request alone. Anything near it is put to a human."
		case revue.VerbOnlyThisRepo:
			c.Says = "It answers in the repository where it was made alone. Elsewhere it is put to a human."
			if d.Repo == "" {
				c.Says = "The repository where it was made is not known, so from now on it is put to a human everywhere."
			}
		case revue.VerbAskNextTime:
			c.Says = "The next request is put to a human, with this decision shown. The new answer takes its place."
		case revue.VerbExpiresAfter:
			c.Says = "From a day on it is put to a human for confirmation."
		}
		out = append(out, c)
	}
	return out
}

// showDecision explains a decision.
func (s *Server) showDecision(v *visit) error {
	return s.decisionWith(v, http.StatusOK, correctionForm{}, "")
}

// decisionWith explains a decision, with a correction that was sent and what stands against it.
func (s *Server) decisionWith(v *visit, status int, form correctionForm, alert string) error {
	x, err := v.reviewer.Why(v.r.Context(), v.r.PathValue("id"))
	if err != nil {
		return err
	}
	d := x.Decision
	data := decisionPage{
		Explanation: x, Call: newCall(), Answer: answerOf(d.AnswerLabel, d.Answer), Expires: d.ExpiresAt(), Verbs: verbChoices(d),
		Tomorrow: time.Now().UTC().AddDate(0, 0, 1).Format(time.DateOnly), PurgeWord: purgeWord, Form: form, Alert: alert,
	}
	for _, o := range d.Options {
		data.Options = append(data.Options, chosenOption{o, !d.FreeText && o.Value == d.Answer})
	}
	data.Aliases, data.History = historyOf(x)
	uses, before := lastOf(x.Uses)
	data.Before = before
	for _, a := range slices.Backward(uses) {
		data.Used = append(data.Used, usedBy{a, howUsed(x, a)})
	}
	data.Story, data.Skipped = lastOf(x.Events)
	if data.Newer, err = newer(v, d); err != nil {
		return err
	}
	if x.Live {
		if data.Told, err = s.told(v, d); err != nil {
			return err
		}
	}
	return s.render(v, status, "decision", page{
		Title: "Decision", Nav: "memory", Done: decisionDone(v.r.URL.Query().Get("done")), Data: data,
	})
}

// howUsed says how an ask came to be given a decision.
func howUsed(x revue.Explanation, a revue.AskRecord) string {
	switch {
	case a.Reused != nil:
		return "reused"
	case x.Lot != nil && x.Lot.ID == a.LotID && len(x.Lot.Asks) > 0 && x.Lot.Asks[0].ID != a.ID:
		return "joined the card"
	case x.Lot != nil && x.Lot.ID == a.LotID:
		return "opened the card"
	default: // of a card that confirmed it, or one that is not there any more
		return "on a card"
	}
}

// historyOf returns the wordings and the corrections of a decision, each with whether it stands.
func historyOf(x revue.Explanation) (aliases []shownAlias, history []shownCorrection) {
	what := map[string]string{} // by id of a correction or an alias
	undone := map[string]bool{}
	for _, c := range x.Decision.Corrections {
		if c.Undoes != "" {
			undone[c.Undoes] = true
		} else {
			what[c.ID] = verbName(c.Verb)
		}
	}
	for _, a := range x.Decision.Aliases {
		aliases = append(aliases, shownAlias{a, a.ID != "" && undone[a.ID]})
		what[a.ID] = "the wording “" + a.Text + "”"
	}
	for _, c := range x.Decision.Corrections {
		history = append(history, shownCorrection{
			Correction: c, Says: verbName(c.Verb), Stands: c.Undoes == "" && !undone[c.ID], Of: what[c.Undoes],
		})
	}
	return aliases, history
}

// maxTold bounds how much of its past a page lists.
const maxTold = 200

// lastOf returns the last of a list, and how many are before those.
func lastOf[T any](all []T) (last []T, before int) {
	before = max(0, len(all)-maxTold)
	return slices.Clone(all[before:]), before
}

// maxNewer bounds how far the chain of what took the place of a decision is followed.
const maxNewer = 5

// newer follows what took the place of a decision.
func newer(v *visit, d revue.Decision) ([]revue.Decision, error) {
	var out []revue.Decision
	for id := d.SupersededBy; id != "" && len(out) < maxNewer; {
		x, err := v.reviewer.Why(v.r.Context(), id)
		if err != nil {
			return nil, err
		}
		out = append(out, x.Decision)
		id = x.Decision.SupersededBy
	}
	return out, nil
}

// told returns what an agent that asks the decision's own question where it was made is told. It is nil where the plane
// lets nobody look up but agents.
func (s *Server) told(v *visit, d revue.Decision) (*toldNow, error) {
	found, err := s.decider(v, d.Repo).Lookup(v.r.Context(), revue.Query{Text: d.Question, Concepts: d.Concepts, Files: d.Files, Limit: 100})
	if err != nil {
		if code := revue.CodeOf(err); code == revue.CodeDenied || code == revue.CodeInvalid { // invalid: of an import that takes more
			err = nil
		}
		return nil, err
	}
	for _, m := range found.Matches {
		if m.DecisionID == d.ID {
			return &toldNow{m.ReuseGuidance, m.Reason, share(m.Confidence)}, nil
		}
	}
	return nil, nil //nolint:nilnil // a lookup does not find it, and that is no failure
}

// correctDecision takes the form of a correction. What can't be done is said beside the form, with all that was filled in.
func (s *Server) correctDecision(v *visit) error {
	err := s.correct(v)
	if revue.CodeOf(err) != revue.CodeInvalid {
		return err
	}
	if x, werr := v.reviewer.Why(v.r.Context(), v.r.PathValue("id")); werr != nil || x.Decision.Purged { // it has no form
		return err
	}
	f := v.r.PostForm
	form := correctionForm{Verb: f.Get("verb"), After: f.Get("after"), Date: f.Get("date"), Note: strings.ToValidUTF8(f.Get("note"), "\uFFFD")}
	return s.decisionWith(v, http.StatusUnprocessableEntity, form, message(err))
}

func (s *Server) correct(v *visit) error {
	c := revue.Correction{
		DecisionID: v.r.PathValue("id"), Verb: revue.Verb(v.r.PostForm.Get("verb")), Note: strings.TrimSpace(v.r.PostForm.Get("note")),
	}
	if c.Verb == "" {
		return &revue.Error{Code: revue.CodeInvalid, Message: "choose one of the five corrections"}
	}
	after, date := v.r.PostForm.Get("after"), v.r.PostForm.Get("date")
	if c.Verb == revue.VerbExpiresAfter {
		var err error
		if c.After, c.Expires, err = expiry(after, date); err != nil {
			return err
		}
	} else if after != "" || date != "" {
		return &revue.Error{Code: revue.CodeInvalid, Message: "expires: you said when it expires, and chose another correction; choose Expires, or leave the time out"}
	}
	s.once(v)
	if _, err := v.reviewer.Correct(v.r.Context(), c); err != nil {
		return err
	}
	return v.redirect("/decisions/" + c.DecisionID + "?done=corrected")
}

// expiry reads the picker: a number of days from now, or else the date from which a decision has expired.
func expiry(after, date string) (time.Duration, time.Time, error) {
	switch {
	case after != "" && date != "":
		return 0, time.Time{}, &revue.Error{Code: revue.CodeInvalid, Message: "expires: you chose a number of days and a date; leave one of them out"}
	case after == "30", after == "90", after == "180":
		days, err := time.ParseDuration(after + "h")
		return days * 24, time.Time{}, err
	case date != "":
		at, err := time.Parse(time.DateOnly, date)
		if err != nil {
			return 0, time.Time{}, &revue.Error{Code: revue.CodeInvalid, Message: "expires: pick a date, or write one as 2026-12-31", Err: err}
		}
		return 0, at, nil
	default:
		return 0, time.Time{}, &revue.Error{Code: revue.CodeInvalid, Message: "expires: choose 30, 90 or 180 days, or a date"}
	}
}

// undoCorrection takes back a correction, or a wording that was accepted.
func (s *Server) undoCorrection(v *visit) error {
	c := revue.Correction{DecisionID: v.r.PathValue("id"), Undoes: v.r.PostForm.Get("undoes"), Note: strings.TrimSpace(v.r.PostForm.Get("note"))}
	if c.Undoes == "" {
		return &revue.Error{Code: revue.CodeInvalid, Message: "undoes: is missing; load the page again and try again"}
	}
	s.once(v)
	if _, err := v.reviewer.Correct(v.r.Context(), c); err != nil {
		return err
	}
	return v.redirect("/decisions/" + c.DecisionID + "?done=undone")
}

// purgeDecision blanks the text of a decision for good, once its human typed that they mean it.
func (s *Server) purgeDecision(v *visit) error {
	if strings.ToLower(strings.TrimSpace(v.r.PostForm.Get("confirm"))) != purgeWord {
		return &revue.Error{Code: revue.CodeInvalid, Message: "nothing was purged: type the word " + purgeWord + " to confirm it"}
	}
	id := v.r.PathValue("id")
	if _, err := v.reviewer.Why(v.r.Context(), id); err != nil { // a lot or a note has no page here
		return err
	}
	if err := v.admin.Purge(v.r.Context(), id); err != nil {
		return err
	}
	return v.redirect("/decisions/" + id + "?done=purged")
}

// sendReceipt sends a receipt as a file.
func (s *Server) sendReceipt(v *visit) error {
	r, err := v.reviewer.Receipt(v.r.Context(), v.r.PathValue("id"))
	if err != nil {
		return err
	}
	body, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	name := strings.Map(func(c rune) rune {
		if c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' {
			return c
		}
		return '-'
	}, r.ID)
	v.w.Header().Set("Content-Type", "application/json")
	v.w.Header().Set("Content-Disposition", `attachment; filename="`+name+`.json"`)
	_, err = v.w.Write(append(body, '\n'))
	return err
}

// newCall makes the id of what a form will do.
func newCall() string { return rand.Text() }

// once makes what the form of this request does be done once, however often the very same form is sent. The id is that of
// the form together with all that is in it, so a form that was changed and sent again is another one.
func (s *Server) once(v *visit) {
	if v.r.PostForm.Get("call") == "" {
		return
	}
	form := maps.Clone(v.r.PostForm)
	form.Del("csrf")
	sum := sha256.Sum256([]byte(v.r.URL.Path + "\n" + form.Encode()))
	v.human.Call = "form-" + hex.EncodeToString(sum[:16])
	v.reviewer, v.admin = s.plane.Reviewer(v.human), s.plane.Admin(v.human)
}
