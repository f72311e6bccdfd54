package inbox

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/revuehq/revue"
)

// maxTogether bounds how many lots one form answers.
const maxTogether = 50

// Several questions can be answered with one form where all of them offer the same option. Each is answered by itself, with
// the revision that was on the page. Approvals never are: each is one concrete act, to be looked at alone.

// answersTogether reports whether the lot can be one of several that are answered with one form.
func (s *openLot) answersTogether() bool { return s.Kind == revue.KindDecision && s.Options > 0 }

// togetherPage is the form for several lots.
type togetherPage struct {
	Lots    []togetherLot
	Options []togetherOption
	Left    int // approvals, and what has ended: not on the form
	Cut     bool
	Back    string
}

type togetherLot struct {
	revue.Lot

	Shown    string            // of its context
	CutBytes int               // of it that are not shown
	Own      int               // asks with a context of their own, which is on the card
	Others   int               // asks that recommend something else
	Wordings []revue.AskRecord // those that say it otherwise
	Summary  *openLot
	Offers   []revue.Option // the options in common, where what follows from them differs between the lots
}

type togetherOption struct {
	revue.Option

	Recommended int // by how many lots
}

// showTogether shows the form for the lots that were ticked (?lot=), or for all that ask the same as one (?like=).
func (s *Server) showTogether(v *visit) error {
	q := v.r.URL.Query()
	ids := distinct(q["lot"])
	if like := v.board.find(q.Get("like")); like != nil && like.answersTogether() {
		ids = []string{like.ID}
		for _, l := range v.board.lots {
			if l.alike == like.alike && l.ID != like.ID {
				ids = append(ids, l.ID)
			}
		}
	}
	data := togetherPage{Cut: len(ids) > maxTogether, Back: "/"}
	for _, id := range ids[:min(len(ids), maxTogether)] {
		lot, err := v.reviewer.Lot(v.r.Context(), id)
		switch {
		case revue.CodeOf(err) == revue.CodeNotFound:
			data.Left++
		case err != nil:
			return err
		case lot.Kind != revue.KindDecision || lot.Status != revue.StatusOpen:
			data.Left++
		default:
			data.Lots = append(data.Lots, togetherLotOf(lot))
		}
	}
	lots := make([]revue.Lot, len(data.Lots))
	for i, l := range data.Lots {
		lots[i] = l.Lot
	}
	for _, o := range inCommon(lots) {
		shared := togetherOption{Option: o}
		same := true
		for _, l := range lots {
			if l.Recommendation == o.Value {
				shared.Recommended++
			}
			same = same && slices.Contains(l.Options, o)
		}
		if !same {
			shared.Consequence = ""
			for i, l := range lots {
				at := slices.IndexFunc(l.Options, func(have revue.Option) bool { return have.Value == o.Value })
				data.Lots[i].Offers = append(data.Lots[i].Offers, l.Options[at])
			}
		}
		data.Options = append(data.Options, shared)
	}
	return s.render(v, http.StatusOK, "together", page{Title: "Answer together", Nav: "inbox", Data: data})
}

// togetherLotOf is a lot with all that an answer to it has to be weighed by, or how much of that is on its card alone.
func togetherLotOf(lot revue.Lot) togetherLot {
	out := togetherLot{Lot: lot, Wordings: wordings(lot), Summary: summarize(lot)}
	head, rest := cutText(lot.Context, shownOwn)
	out.Shown, out.CutBytes = head, len(rest)
	for _, a := range lot.Asks {
		if a.Context != "" && a.Context != lot.Context {
			out.Own++
		}
		if a.Recommendation != "" && a.Recommendation != lot.Recommendation {
			out.Others++
		}
	}
	return out
}

// Advised is the label of the option that the agent recommends.
func (l togetherLot) Advised() string {
	for _, o := range l.Options {
		if o.Value == l.Recommendation {
			return o.Label
		}
	}
	return l.Recommendation
}

// inCommon returns the options that every one of the lots has with the same value and label, in the order of the first.
func inCommon(lots []revue.Lot) []revue.Option {
	if len(lots) == 0 {
		return nil
	}
	var out []revue.Option
	for _, o := range lots[0].Options {
		if !slices.ContainsFunc(lots[1:], func(l revue.Lot) bool {
			return !slices.ContainsFunc(l.Options, func(have revue.Option) bool { return have.Value == o.Value && have.Label == o.Label })
		}) {
			out = append(out, o)
		}
	}
	return out
}

// wordings are the asks of a lot that say it in other words, or may mean something else by the same ones; each once.
func wordings(l revue.Lot) []revue.AskRecord {
	var out []revue.AskRecord
	for _, a := range l.Asks {
		if a.Question == l.Question && a.Verdict == revue.VerdictSame {
			continue
		}
		if !slices.ContainsFunc(out, func(b revue.AskRecord) bool { return b.Question == a.Question && b.Differs == a.Differs }) {
			out = append(out, a)
		}
	}
	return out
}

func distinct(ids []string) []string {
	var out []string
	for _, id := range ids {
		if id != "" && len(id) <= 128 && len(out) <= maxTogether && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// seenLot is a lot as it was on the form.
type seenLot struct {
	id   string
	seen revue.Revision
}

// seenLots reads which lots were on the form: "lot_x:3" is the third revision of one.
func seenLots(fields []string) ([]seenLot, error) {
	var out []seenLot
	for _, f := range fields {
		i := strings.LastIndexByte(f, ':')
		n, err := strconv.ParseInt(f[i+1:], 10, 64)
		if i <= 0 || err != nil || n <= 0 {
			return nil, &revue.Error{Code: revue.CodeInvalid, Message: "lot: this form can't be read; load the page again and try again", Err: err}
		}
		out = append(out, seenLot{f[:i], revue.Revision(n)})
	}
	if len(out) == 0 {
		return nil, &revue.Error{Code: revue.CodeInvalid, Message: "lot: tick at least one question"}
	}
	if len(out) > maxTogether {
		return nil, &revue.Error{Code: revue.CodeInvalid, Message: "lot: at most " + strconv.Itoa(maxTogether) + " questions are answered at once"}
	}
	return out, nil
}

// answerTogether answers each lot of the form by itself. Before the first one is, all are looked at.
func (s *Server) answerTogether(v *visit) error {
	ctx := v.r.Context()
	on, err := seenLots(v.r.PostForm["lot"])
	if err != nil {
		return err
	}
	lots := make([]revue.Lot, len(on))
	for i, l := range on {
		if lots[i], err = v.reviewer.Lot(ctx, l.id); err != nil {
			return err
		}
		if lots[i].Kind != revue.KindDecision {
			return &revue.Error{Code: revue.CodeInvalid, ID: l.id, Message: "lot: an approval is answered on its own card"}
		}
	}
	value := v.r.PostForm.Get("value")
	if value == "" {
		return &revue.Error{Code: revue.CodeInvalid, Message: "value: choose an option"}
	}
	if !slices.ContainsFunc(inCommon(lots), func(o revue.Option) bool { return o.Value == value }) {
		return &revue.Error{Code: revue.CodeInvalid, Message: "value: not all of these questions offer this option; answer them one by one"}
	}
	answered := url.Values{}
	for _, l := range on {
		answered.Add("lot", l.id)
		_, err := v.reviewer.Answer(ctx, l.id, revue.Answer{Value: value, Note: v.r.PostForm.Get("note"), Seen: l.seen})
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && revue.CodeOf(err) == revue.CodeInternal:
			s.log.ErrorContext(ctx, "a lot of several can't be answered", "lot", l.id, "err", err)
		case err != nil && len(on) == 1 && !errors.Is(err, revue.ErrConflict):
			return err
		}
	}
	return v.redirect("/lots/answered?" + answered.Encode())
}

// answeredPage says of each lot of a form what became of it.
type answeredPage struct {
	Lots []answeredLot
	Open int // how many are still open
	Mine int
}

type answeredLot struct {
	revue.Lot

	Mine bool // it was answered by who looks
}

// showAnswered says how lots stand, whoever made them so.
func (s *Server) showAnswered(v *visit) error {
	var data answeredPage
	ids := distinct(v.r.URL.Query()["lot"])
	for _, id := range ids[:min(len(ids), maxTogether)] {
		lot, err := v.reviewer.Lot(v.r.Context(), id)
		if revue.CodeOf(err) == revue.CodeNotFound {
			continue
		}
		if err != nil {
			return err
		}
		at := answeredLot{Lot: lot, Mine: lot.Answer != nil && lot.Answer.By.ID == v.human.ID}
		if at.Mine {
			data.Mine++
		}
		if lot.Status == revue.StatusOpen {
			data.Open++
		}
		data.Lots = append(data.Lots, at)
	}
	return s.render(v, http.StatusOK, "answered", page{Title: "Answered together", Nav: "inbox", Data: data})
}
