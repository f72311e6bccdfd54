package inbox

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/term"
)

// Bounds of what a card shows before it is opened whole.
const (
	shownContext  = 16 << 10 // bytes of the context
	shownAffected = 64       // things that are affected
	shownFiles    = 8
	shownAsks     = 8         // asks of each wording
	shownOwn      = 4 << 10   // bytes of the context of each other ask
	shownMembers  = 20        // contexts of other asks
	shownDrawn    = 256 << 10 // bytes of the page that they take
	wholeDrawn    = 2 << 20   // bytes that they take on a card that is opened whole; the rest are on pages of their own
	lookupTime    = 2 * time.Second
)

// card is what the page of a lot shows.
type card struct {
	revue.Lot

	CSRF  string
	Call  string // the id of the write that its form will be
	Query string // of the list that it was opened from, with its question mark
	Back  string
	Now   time.Time
	Alert string // what stands against what was sent
	Lost  bool   // it had ended before what was sent came
	Form  reply  // what was sent

	Shown     string // of the context
	CutBytes  int    // of the context that is not shown
	Things    []revue.Affected
	CutThings int
	Whole     bool // it is asked for whole
	Same      string
	Groups    []wordingGroup // other wordings than the question's
	Own       wordingGroup   // who asks in the words of the question
	Left      int            // contexts of other asks that are not shown
	From      int            // how many of them are on the pages before this one
	Upto      int            // how many are on this one and those before
	Leave     bool           // it asks for leave to do something
	Notes     []revue.ContextItem
	NoNotes   bool // they could not be looked up

	Stayed []revue.Lot // what was not settled with it just now
	Next   string      // address of what waits after it; "" where it was not answered just now, or nothing does
}

// wordingGroup is the asks of a lot that are in the same words.
type wordingGroup struct {
	wording

	Question string
	IDs      string // of all its asks
	Differs  string
	Ticked   bool
	Asks     []member
	More     int // asks that are not listed
}

// member is one ask of a lot, with what it says beyond the lot.
type member struct {
	revue.AskRecord

	Shown      template.HTML // of its own context; "" for none
	CutBytes   int
	Recommends string         // something else than the lot
	Other      []revue.Option // options of which it says something else
}

// Open reports whether it waits for a human.
func (c card) Open() bool { return c.Status == revue.StatusOpen }

// Approval reports whether it is approved or declined.
func (c card) Approval() bool { return c.Kind == revue.KindApproval }

// Cut reports whether something of it is not shown.
func (c card) Cut() bool { return c.CutBytes+c.CutThings > 0 }

// FilesHead and FilesRest are the files of it, in two parts.
func (c card) FilesHead() []string { return c.Files[:min(shownFiles, len(c.Files))] }

// FilesRest is what FilesHead leaves.
func (c card) FilesRest() []string { return c.Files[min(shownFiles, len(c.Files)):] }

// First is the ask that the lot was made for, nil for none.
func (c card) First() *revue.AskRecord {
	if len(c.Asks) == 0 {
		return nil
	}
	return &c.Asks[0]
}

// Others says how many more asks there are.
func (c card) Others() string {
	if c.AskCount == 2 {
		return "one other"
	}
	return fmt.Sprintf("%d others", c.AskCount-1)
}

// Number is how an option is chosen with the keyboard, 0 for not at all.
func (c card) Number(i int) int {
	if i > 8 {
		return 0
	}
	return i + 1
}

// Chosen reports whether the form that was sent had this choice.
func (c card) Chosen(value string) bool { return c.Form.Choice == "="+value }

// Address is where a form of it is sent, or where it is seen.
func (c card) Address(act string) string {
	to := "/lots/" + url.PathEscape(c.ID)
	if act != "" {
		to += "/" + act
	}
	return to + c.Query
}

// WholeAddress is where it is seen whole.
func (c card) WholeAddress() string {
	q, err := url.ParseQuery(strings.TrimPrefix(c.Query, "?"))
	if err != nil {
		q = url.Values{}
	}
	q.Set("whole", "1")
	return "/lots/" + url.PathEscape(c.ID) + "?" + q.Encode()
}

// EndedBy says how it ended and by whom, on one line without anything that acts; "" while it is open.
func (c card) EndedBy() string {
	switch {
	case c.Open():
		return ""
	case c.Answer != nil:
		return "Answered by " + term.Line(c.Answer.By.Name, maxName)
	case c.Dismissed != nil:
		return "Dismissed by " + term.Line(c.Dismissed.By.Name, maxName)
	default:
		return "Ran out"
	}
}

// Ended is when it ended.
func (c card) Ended() time.Time { return endOf(c.Lot) }

func endOf(l revue.Lot) time.Time {
	switch {
	case l.Answer != nil:
		return l.Answer.At
	case l.Dismissed != nil:
		return l.Dismissed.At
	case l.Status == revue.StatusExpired:
		return l.ExpiresAt
	default:
		return time.Time{}
	}
}

// Typed reports whether what was typed is shown beside the card, because the card takes no answer any more.
func (c card) Typed() bool {
	return c.Lost && (c.Form.Text != "" || c.Form.Note != "" || c.Form.Reason != "" || c.Form.Choice != "")
}

// TypedChoice is the option that was chosen and not taken.
func (c card) TypedChoice() string {
	v, _ := strings.CutPrefix(c.Form.Choice, "=")
	if c.Form.Choice == "own" {
		return ""
	}
	for _, o := range c.Options {
		if o.Value == v {
			return o.Label
		}
	}
	return v
}

// FurtherAddress is where the contexts of asks are that find no room on the whole card.
func (c card) FurtherAddress() string {
	return c.WholeAddress() + "&from=" + strconv.Itoa(c.Upto)
}

// showCard shows a lot.
func (s *Server) showCard(v *visit) error {
	lot, err := v.reviewer.Lot(v.r.Context(), v.r.PathValue("id"))
	if err != nil {
		return err
	}
	q := v.r.URL.Query()
	c := s.card(v, lot, reply{Whole: q.Get("whole") == "1"})
	if left := q.Get("left"); left != "" && !c.Open() {
		if err := s.stayed(v, &c, strings.Split(left, ",")); err != nil {
			return err
		}
	}
	return s.renderCard(v, http.StatusOK, c)
}

func (s *Server) renderCard(v *visit, status int, c card) error {
	nav, now := "inbox", !c.Open() && doneSentence(v.r.URL.Query().Get("done"), c) != "" // it ended just now
	if !c.Open() && !c.Lost && !now {
		nav = "history"
	}
	if now && v.board != nil {
		var err error
		if c.Next, err = s.following(v, c.Lot); err != nil {
			return err
		}
	}
	p := page{Title: cmp.Or(clipTitle(c.Question), "Card"), Nav: nav, Data: c}
	if v.board != nil {
		list, err := s.listOf(v, c.ID)
		if err != nil {
			return err
		}
		p.List = list
	}
	return s.render(v, status, "card", p)
}

// clipTitle is a text as it is in the title of a page, where nothing can be marked: what acts is left out.
func clipTitle(q string) string {
	q = strings.Join(strings.FieldsFunc(q, func(r rune) bool { return r == '\n' || r == '\t' || titleDrops(r) }), " ")
	if head, rest := cutText(q, 80); rest != "" {
		return head + "…"
	}
	return q
}

// card makes what is shown of a lot.
func (s *Server) card(v *visit, lot revue.Lot, form reply) card {
	c := card{
		Lot: lot, CSRF: v.csrf, Call: newCall(), Query: queryOf(v).encode(), Back: backTo(v), Now: time.Now(),
		Form: form, Whole: form.Whole, Shown: lot.Context, Things: lot.Affected,
	}
	if !c.Whole {
		var rest string
		c.Shown, rest = cutText(lot.Context, shownContext)
		c.CutBytes = len(rest)
		if len(c.Things) > shownAffected {
			c.CutThings = len(c.Things) - shownAffected
			c.Things = c.Things[:shownAffected]
		}
	}
	if from, err := strconv.Atoi(v.r.URL.Query().Get("from")); err == nil && c.Whole {
		c.From = max(0, from)
	}
	c.group(newMarkdown().html)
	if c.Open() {
		c.Notes, c.NoNotes = s.notes(v, lot)
	}
	return c
}

// group sorts the asks of the lot by their wordings, and draws as many of their contexts as there is room for.
func (c *card) group(draw func(string) template.HTML) {
	c.Own = wordingGroup{Question: c.Question}
	groups := map[string]*wordingGroup{c.Question: &c.Own}
	var order []*wordingGroup
	same := make([]string, 0, len(c.Asks))
	limit, room, contexts := shownMembers, shownDrawn, 0
	if c.Whole {
		limit, room = len(c.Asks), wholeDrawn
	}
	c.Upto = c.From
	for _, a := range c.Asks {
		c.Leave = c.Leave || a.Permission
		g, ok := groups[a.Question]
		if !ok {
			g = &wordingGroup{wording: differs(a.Question, c.Question), Question: a.Question, Differs: a.Differs}
			groups[a.Question] = g
			order = append(order, g)
		}
		if a.Verdict == revue.VerdictLikely {
			g.Differs = a.Differs
		}
		if g == &c.Own {
			same = append(same, a.ID)
		} else {
			g.IDs = strings.TrimPrefix(g.IDs+" "+a.ID, " ")
		}
		m := member{AskRecord: a}
		if a.Recommendation != c.Recommendation {
			m.Recommends = a.Recommendation
		}
		for _, o := range a.Options {
			if o.Consequence != "" && !slices.Contains(c.Options, o) {
				m.Other = append(m.Other, o)
			}
		}
		if a.Context != "" && a.Context != c.Context {
			contexts++
			switch {
			case contexts <= c.From:
			case c.Left > 0 || contexts-c.From > limit: // the order is kept
				c.Left++
			default:
				head, rest := a.Context, ""
				if !c.Whole {
					head, rest = cutText(a.Context, shownOwn)
				}
				drawn := draw(head)
				if len(drawn) > room && c.Upto > c.From { // one is always shown
					c.Left++
					break
				}
				room -= len(drawn)
				m.Shown, m.CutBytes = drawn, len(rest)
				c.Upto++
			}
		}
		if len(g.Asks) < shownAsks || c.Whole || m.Shown != "" || m.Recommends != "" || len(m.Other) > 0 {
			g.Asks = append(g.Asks, m)
		} else {
			g.More++
		}
	}
	for _, g := range order {
		g.Ticked = !c.Form.unticked(g.IDs)
		c.Groups = append(c.Groups, *g)
	}
	if len(c.Groups) > 0 { // else nothing can be unticked
		c.Same = strings.Join(same, " ")
	}
}

// notes looks up the shared notes that bear on a lot, as an agent would: that interrupts nobody and records nothing. That
// they can't be had keeps nobody from answering.
func (s *Server) notes(v *visit, lot revue.Lot) (notes []revue.ContextItem, failed bool) {
	ctx, cancel := context.WithTimeout(v.r.Context(), lookupTime)
	defer cancel()
	agent := revue.Agent{Workspace: v.human.Workspace, Credential: "inbox", Name: "inbox", Thread: "inbox", Repo: lot.Repo, Via: "web"}
	found, err := s.plane.Decider(agent).Lookup(ctx, revue.Query{Text: lot.Question, Concepts: lot.Concepts, Files: lot.Files, Limit: 1})
	if revue.CodeOf(err) == revue.CodeDenied { // a plane that is reached as this human lets nobody look up as an agent
		var all revue.Page[revue.ContextItem]
		all, err = v.reviewer.Contexts(ctx, revue.ContextFilter{})
		for _, n := range all.Items {
			if len(found.Context) < 5 && slices.ContainsFunc(n.Concepts, func(c string) bool { return slices.Contains(lot.Concepts, c) }) {
				found.Context = append(found.Context, n)
			}
		}
	}
	if err != nil {
		s.log.WarnContext(v.r.Context(), "the shared notes of a card could not be looked up", "lot", lot.ID, "err", err)
	}
	return found.Context, err != nil
}

// stayed finds the open lots of asks that were not settled with the card.
func (s *Server) stayed(v *visit, c *card, asks []string) error {
	open, err := v.reviewer.Lots(v.r.Context(), revue.LotFilter{Status: revue.StatusOpen, Kind: revue.KindDecision, Newest: true, Limit: 200})
	if err != nil {
		return err
	}
	for _, lot := range open.Items {
		if slices.ContainsFunc(lot.Asks, func(a revue.AskRecord) bool { return slices.Contains(asks, a.ID) }) {
			c.Stayed = append(c.Stayed, lot)
		}
	}
	return nil
}
