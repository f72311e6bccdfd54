package inbox

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/revuehq/revue"
)

const (
	historyRows = 50  // lots on a page, at least where there are as many
	historyPage = 100 // lots read at once
	historyScan = 20  // pages read for one page of what was searched for
)

// history is what the page of lots that ended shows.
type history struct {
	Status  string
	Stream  string
	Kind    string
	Agent   string
	Q       string
	Streams []revue.Stream
	Rows    []past
	Next    string    // the address of the next page, "" for none
	First   string    // of the first page, where this is another
	Back    time.Time // how far back was searched, where the search is not at its end
	Now     time.Time
}

// past is a lot that ended.
type past struct {
	revue.Lot

	Ended  time.Time
	Agents []string
	More   int // agents that are not named
}

// How says in a word how it ended.
func (p past) How() string {
	switch {
	case p.Answer != nil && p.Kind == revue.KindApproval && p.Answer.Value == revue.Approved:
		return "approved"
	case p.Answer != nil && p.Kind == revue.KindApproval:
		return "declined"
	case p.Status == revue.StatusExpired:
		return "ran out"
	default:
		return string(p.Status)
	}
}

// Filtered reports whether something is selected away.
func (h history) Filtered() bool { return h.Status+h.Stream+h.Kind+h.Agent+h.Q != "" }

func (h history) address(cursor string) string {
	q := url.Values{}
	for name, value := range map[string]string{"status": h.Status, "stream": h.Stream, "kind": h.Kind, "agent": h.Agent, "q": h.Q, "cursor": cursor} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if len(q) == 0 {
		return "/history"
	}
	return "/history?" + q.Encode()
}

// takes reports whether a lot is one that is asked for.
func (h history) takes(l revue.Lot) bool {
	if l.Status == revue.StatusOpen {
		return false
	}
	if h.Agent != "" && !slices.ContainsFunc(l.Asks, func(a revue.AskRecord) bool {
		return strings.Contains(strings.ToLower(a.Agent), strings.ToLower(h.Agent))
	}) {
		return false
	}
	if h.Q == "" {
		return true
	}
	var b strings.Builder
	b.WriteString(l.Question)
	for _, a := range l.Asks {
		b.WriteString("\n" + a.Question)
	}
	if l.Answer != nil {
		b.WriteString("\n" + l.Answer.Value + "\n" + l.Answer.Label + "\n" + l.Answer.Note + "\n" + l.Answer.By.Name)
	}
	if l.Dismissed != nil {
		b.WriteString("\n" + l.Dismissed.Reason + "\n" + l.Dismissed.By.Name)
	}
	text := strings.ToLower(b.String())
	for word := range strings.FieldsSeq(strings.ToLower(h.Q)) {
		if !strings.Contains(text, word) && word != l.ID && word != l.DecisionID && word != l.ReceiptID {
			return false
		}
	}
	return true
}

// showHistory shows the lots that ended, the newest first.
func (s *Server) showHistory(v *visit) error {
	q := v.r.URL.Query()
	get := func(name string) string { return upToBytes(strings.TrimSpace(q.Get(name)), 256) }
	h := history{Status: get("status"), Stream: get("stream"), Kind: get("kind"), Agent: get("agent"), Q: get("q"), Now: time.Now()}
	switch revue.Status(h.Status) {
	case "", revue.StatusAnswered, revue.StatusDismissed, revue.StatusExpired:
	default:
		return &revue.Error{Code: revue.CodeInvalid, Message: "status: is none of answered, dismissed and expired"}
	}
	switch revue.Kind(h.Kind) {
	case "", revue.KindDecision, revue.KindApproval:
	default:
		return &revue.Error{Code: revue.CodeInvalid, Message: "kind: is none of decision and approval"}
	}
	f := revue.LotFilter{Status: revue.Status(h.Status), Kind: revue.Kind(h.Kind), Stream: h.Stream, Newest: true, Cursor: q.Get("cursor"), Limit: historyPage}
	if f.Cursor != "" {
		h.First = h.address("")
	}
	if !h.Filtered() {
		f.Limit = historyRows
	}
	for range historyScan {
		found, err := v.reviewer.Lots(v.r.Context(), f)
		if err != nil {
			return err
		}
		for _, l := range found.Items {
			h.Back = l.CreatedAt
			if h.takes(l) {
				h.Rows = append(h.Rows, pastOf(l))
			}
		}
		if f.Cursor = found.NextCursor; f.Cursor == "" || len(h.Rows) >= historyRows {
			break
		}
	}
	if f.Cursor != "" {
		h.Next = h.address(f.Cursor)
	}
	var err error
	if h.Streams, err = v.admin.Streams(v.r.Context()); err != nil {
		return err
	}
	return s.render(v, http.StatusOK, "history", page{Title: "History", Nav: "history", Data: h})
}

func pastOf(l revue.Lot) past {
	p := past{Lot: l, Ended: endOf(l)}
	for _, a := range l.Asks {
		switch {
		case slices.Contains(p.Agents, a.Agent):
		case len(p.Agents) < 2:
			p.Agents = append(p.Agents, a.Agent)
		default:
			p.More++
		}
	}
	return p
}
