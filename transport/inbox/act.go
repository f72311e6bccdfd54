package inbox

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/revuehq/revue"
)

// reply is what the form of a card says.
type reply struct {
	Seen     revue.Revision
	Choice   string // "=" and the value of an option, "own" for a text, "" for none
	Text     string
	Note     string
	Reason   string
	Remember string
	Confirms string // the precedent whose answer is taken
	Whole    bool   // the card was on screen whole

	members []string        // the asks that are settled; nil is all that was on screen
	not     map[string]bool // groups of asks that were unticked
}

func (r reply) unticked(ids string) bool { return r.not[ids] }

// readReply reads the form of a card.
func readReply(f url.Values) (reply, error) {
	r := reply{
		Choice: f.Get("choice"), Text: lines(f.Get("text")), Note: lines(f.Get("note")),
		Reason: lines(f.Get("reason")), Remember: f.Get("remember"), Confirms: f.Get("confirms"), Whole: f.Get("whole") == "1",
		not: map[string]bool{},
	}
	seen, err := strconv.ParseInt(f.Get("seen"), 10, 64)
	if err != nil || seen < 1 {
		return r, &revue.Error{Code: revue.CodeInvalid, Message: "the form does not say what was on screen; load the page again and try again"}
	}
	r.Seen = revue.Revision(seen)
	for _, name := range []string{r.Choice, r.Text, r.Note, r.Reason} {
		if !utf8.ValidString(name) {
			return r, &revue.Error{Code: revue.CodeInvalid, Message: "the form is not valid UTF-8; load the page again and try again"}
		}
	}
	ticked := f["member"]
	for _, ids := range f["offered"] {
		if !slices.Contains(ticked, ids) {
			r.not[ids] = true
		}
	}
	if len(r.not) > 0 {
		r.members = []string{}
		for _, ids := range append(f["same"], ticked...) {
			r.members = append(r.members, strings.Fields(ids)...)
		}
	}
	return r, nil
}

// lines is a text of a form with line ends as they were typed.
func lines(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// answer is what the form says to a lot.
func (r reply) answer(lot revue.Lot) (revue.Answer, error) {
	a := revue.Answer{Note: strings.TrimSpace(r.Note), Seen: r.Seen, Members: r.members, Remember: revue.Remember(r.Remember)}
	text := strings.TrimSpace(r.Text)
	value, option := strings.CutPrefix(r.Choice, "=")
	no := func(message string) (revue.Answer, error) {
		return a, &revue.Error{Code: revue.CodeInvalid, Message: message}
	}
	switch {
	case r.Confirms != "" && text != "":
		return no("You wrote an answer of your own, and pressed “Same answer”. Clear the one, or send the other.")
	case r.Confirms != "" && r.Choice != "":
		return no("You made a choice under “Your answer”, and pressed “Same answer”. Send that choice, or load the card again and press “Same answer” alone.")
	case r.Confirms != "":
		a.Confirms = r.Confirms
	case option && text != "":
		return no("You chose an option, and wrote an answer of your own. Keep one of them; what goes with an option is a note.")
	case option:
		a.Value = value
	case text == "" && lot.Kind == revue.KindApproval:
		return no("Nothing is chosen. Press Approve or Decline.")
	case text == "" && r.Choice == "own", text == "" && len(lot.Options) == 0:
		return no("Your answer is blank. Write one.")
	case text == "":
		return no("Nothing is chosen. Choose an option, or write an answer of your own.")
	default:
		a.Text = text
	}
	if lot.Kind == revue.KindApproval && a.Value == revue.Approved && !r.Whole && (card{Lot: lot}).tooLong() {
		return no("Only a part of what this approves was on screen. Open it whole, then approve or decline.")
	}
	return a, nil
}

// tooLong reports whether a lot is not shown whole before it is opened whole.
func (c card) tooLong() bool {
	return len(c.Context) > shownContext || len(c.Affected) > shownAffected
}

// act does what the form of a card says, and shows what came of it.
func (s *Server) act(v *visit, do func(revue.Reviewer, revue.Lot, reply) (revue.Lot, string, error)) error {
	ctx := v.r.Context()
	before, err := v.reviewer.Lot(ctx, v.r.PathValue("id"))
	if err != nil {
		return err
	}
	form, err := readReply(v.r.PostForm)
	var after revue.Lot
	var done string
	if err == nil {
		s.once(v)
		after, done, err = do(v.reviewer, before, form)
	}
	switch revue.CodeOf(err) {
	case "":
		return v.redirect(s.afterwards(v, before, after, done))
	case revue.CodeInvalid, revue.CodeTooLarge:
		c := s.card(v, before, form)
		c.Alert = message(err)
		return s.renderCard(v, http.StatusUnprocessableEntity, c)
	case revue.CodeConflict:
		now, lerr := v.reviewer.Lot(ctx, before.ID)
		if lerr != nil {
			return lerr
		}
		c := s.card(v, now, form)
		if c.Lost = !c.Open(); !c.Lost {
			c.Alert = "Nothing was recorded: " + message(err)
		}
		return s.renderCard(v, http.StatusConflict, c)
	default:
		return err
	}
}

// afterwards is the address that shows what was done.
func (s *Server) afterwards(v *visit, before, after revue.Lot, done string) string {
	q, err := url.ParseQuery(strings.TrimPrefix(queryOf(v).encode(), "?"))
	if err != nil {
		q = url.Values{}
	}
	q.Set("done", done)
	if before.Status == revue.StatusOpen && after.Status != revue.StatusOpen {
		var left []string
		for _, a := range before.Asks {
			if len(left) < 20 && !slices.ContainsFunc(after.Asks, func(b revue.AskRecord) bool { return a.ID == b.ID }) {
				left = append(left, a.ID)
			}
		}
		if len(left) > 0 {
			q.Set("left", strings.Join(left, ","))
		}
	}
	return "/lots/" + url.PathEscape(after.ID) + "?" + q.Encode()
}

// answerLot takes an answer.
func (s *Server) answerLot(v *visit) error {
	return s.act(v, func(r revue.Reviewer, lot revue.Lot, form reply) (revue.Lot, string, error) {
		a, err := form.answer(lot)
		if err != nil {
			return lot, "", err
		}
		after, err := r.Answer(v.r.Context(), lot.ID, a)
		done := "answered"
		if lot.Kind == revue.KindApproval {
			done = a.Value
		}
		return after, done, err
	})
}

// dismissLot ends a lot without an answer.
func (s *Server) dismissLot(v *visit) error {
	return s.act(v, func(r revue.Reviewer, lot revue.Lot, form reply) (revue.Lot, string, error) {
		after, err := r.Dismiss(v.r.Context(), lot.ID, revue.Dismissal{Reason: strings.TrimSpace(form.Reason), Seen: form.Seen, Members: form.members})
		return after, "dismissed", err
	})
}

// reopenLot takes back a dismissal.
func (s *Server) reopenLot(v *visit) error {
	return s.act(v, func(r revue.Reviewer, lot revue.Lot, _ reply) (revue.Lot, string, error) {
		after, err := r.Reopen(v.r.Context(), lot.ID)
		return after, "reopened", err
	})
}
