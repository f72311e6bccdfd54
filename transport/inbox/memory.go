package inbox

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/revuehq/revue"
)

// pageOf is how many entries a page of a list has.
const pageOf = 50

// searchFields are what memory is searched by, as they were typed.
type searchFields struct {
	Text     string
	Concepts string // with commas between
	Files    string
	Repo     string
}

// memoryPage is what the page of the memory shows.
type memoryPage struct {
	Search  searchFields
	Asked   bool // there was a question: Found is the answer
	Scored  bool // what was found has scores and a guidance
	Found   []foundDecision
	Context []revue.ContextItem
	List    []listedDecision
	Next    string // address of the next page, "" at the end
	First   bool
	OddRepo bool // the repository that was typed is none
}

// foundDecision is a match as it is shown.
type foundDecision struct {
	revue.Match

	Score, Confidence string
}

// listedDecision is a decision in a list.
type listedDecision struct {
	revue.Decision

	Live      bool
	Freshness revue.Freshness
	Standing  []revue.Correction
}

// showMemory lists what is remembered, newest first; with a question it shows what the lookup of an agent finds for it.
func (s *Server) showMemory(v *visit) error {
	in := v.r.URL.Query()
	f := searchFields{
		Text: strings.TrimSpace(in.Get("q")), Concepts: in.Get("concepts"), Files: in.Get("files"), Repo: strings.TrimSpace(in.Get("repo")),
	}
	data := memoryPage{Search: f, Asked: f.Text != "", First: in.Get("cursor") == ""}
	var err error
	if data.Asked {
		err = s.lookUp(v, &data)
	} else {
		err = s.listDecisions(v, in.Get("cursor"), &data)
	}
	if err != nil {
		return err
	}
	return s.render(v, http.StatusOK, "memory", page{Title: "Memory", Nav: "memory", Data: data})
}

// lookUp fills in what an agent with this question would be told.
func (s *Server) lookUp(v *visit, data *memoryPage) error {
	f := data.Search
	q := revue.Query{Text: f.Text, Concepts: terms(f.Concepts), Files: terms(f.Files), Limit: 30}
	repo := revue.NormalizeRepo(f.Repo)
	data.OddRepo = f.Repo != "" && repo == ""
	found, err := s.decider(v, repo).Lookup(v.r.Context(), q)
	if revue.CodeOf(err) == revue.CodeDenied {
		// A plane elsewhere lets nobody look up but agents: what it finds for humans has no scores.
		page, err := v.reviewer.Decisions(v.r.Context(), revue.DecisionFilter{Text: q.Text, Concepts: q.Concepts, Limit: q.Limit})
		data.List = listed(page.Items, time.Now())
		return err
	}
	if err != nil {
		return err
	}
	data.Scored, data.Context = true, found.Context
	for _, m := range found.Matches {
		data.Found = append(data.Found, foundDecision{m, share(m.Score), share(m.Confidence)})
	}
	return nil
}

// decider is how an agent in a repository sees the memory.
func (s *Server) decider(v *visit, repo string) revue.Decider {
	return s.plane.Decider(revue.Agent{Workspace: v.human.Workspace, Credential: "inbox", Name: v.human.Name, Via: "web", Repo: repo})
}

func (s *Server) listDecisions(v *visit, cursor string, data *memoryPage) error {
	page, err := v.reviewer.Decisions(v.r.Context(), revue.DecisionFilter{Concepts: terms(data.Search.Concepts), Cursor: cursor, Limit: pageOf})
	if err != nil {
		return err
	}
	data.List = listed(page.Items, time.Now())
	if page.NextCursor != "" {
		next := url.Values{"cursor": {page.NextCursor}}
		if data.Search.Concepts != "" {
			next.Set("concepts", data.Search.Concepts)
		}
		data.Next = "/memory?" + next.Encode()
	}
	return nil
}

func listed(all []revue.Decision, now time.Time) []listedDecision {
	out := make([]listedDecision, len(all))
	for i, d := range all {
		out[i] = listedDecision{Decision: d, Live: d.Live(), Freshness: d.FreshnessAt(now), Standing: d.Standing()}
	}
	return out
}

// terms are what is between the commas of a field.
func terms(s string) []string {
	var out []string
	for t := range strings.SplitSeq(s, ",") {
		if t = strings.TrimSpace(t); t != "" {
			out = append(out, t)
		}
	}
	return out
}

// answerOf is an answer as humans read it: the label of the option where it has one.
func answerOf(label, value string) string { return cmp.Or(label, value) }

// notesPage is what the page of the shared context shows.
type notesPage struct {
	Items []revue.ContextItem
	Next  string
	First bool
}

// showNotes lists what agents share with each other.
func (s *Server) showNotes(v *visit) error {
	cursor := v.r.URL.Query().Get("cursor")
	got, err := v.reviewer.Contexts(v.r.Context(), revue.ContextFilter{Cursor: cursor, Limit: pageOf})
	if err != nil {
		return err
	}
	data := notesPage{Items: got.Items, First: cursor == ""}
	if got.NextCursor != "" {
		data.Next = "/memory/notes?" + url.Values{"cursor": {got.NextCursor}}.Encode()
	}
	done := ""
	if v.r.URL.Query().Get("done") == "removed" {
		done = "The note is out of circulation."
	}
	return s.render(v, http.StatusOK, "notes", page{Title: "Shared context", Nav: "memory", Done: done, Data: data})
}

// removeNote takes a shared note out of circulation.
func (s *Server) removeNote(v *visit) error {
	if err := v.reviewer.RemoveContext(v.r.Context(), v.r.PathValue("id")); err != nil {
		return err
	}
	return v.redirect("/memory/notes?done=removed")
}
