package inbox

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/revuehq/revue"
)

const (
	rowsOnPage = 100
	maxChoices = 200 // repositories and agents that the filters offer
	maxLanes   = 50  // streams that are named above a list
)

// query is what a list is asked for, as it is in the address.
type query struct {
	Stream, Kind, Repo, Agent, Q string
	Newest                       bool
	Page                         int // from 1
}

func queryOf(v *visit) query {
	q := v.r.URL.Query()
	get := func(name string) string { return upToBytes(strings.TrimSpace(q.Get(name)), 256) }
	out := query{Stream: get("stream"), Kind: get("kind"), Repo: get("repo"), Agent: get("agent"), Q: get("q"), Newest: q.Get("sort") == "newest", Page: 1}
	if n, err := strconv.Atoi(q.Get("page")); err == nil && n > 1 {
		out.Page = min(n, maxOnBoard)
	}
	return out
}

// Filtered reports whether it selects anything away.
func (q query) Filtered() bool {
	return q.Stream+q.Kind+q.Repo+q.Agent+q.Q != ""
}

// encode returns it as the query of an address, "" or with its question mark.
func (q query) encode() string {
	out := url.Values{}
	for name, value := range map[string]string{"stream": q.Stream, "kind": q.Kind, "repo": q.Repo, "agent": q.Agent, "q": q.Q} {
		if value != "" {
			out.Set(name, value)
		}
	}
	if q.Newest {
		out.Set("sort", "newest")
	}
	if q.Page > 1 {
		out.Set("page", strconv.Itoa(q.Page))
	}
	if len(out) == 0 {
		return ""
	}
	return "?" + out.Encode()
}

// takes reports whether a lot is one that is asked for, whatever its lane.
func (q query) takes(l *openLot) bool {
	if q.Kind != "" && string(l.Kind) != q.Kind || q.Repo != "" && !slices.Contains(l.Repos, q.Repo) || q.Agent != "" && !slices.Contains(l.Agents, q.Agent) {
		return false
	}
	for word := range strings.FieldsSeq(strings.ToLower(q.Q)) {
		if !strings.Contains(l.search, word) {
			return false
		}
	}
	return true
}

// list is a page of what waits.
type list struct {
	Query   query
	Lanes   []lane // all that have something, or are asked for
	Total   int    // in all lanes
	Shown   int    // of the lane that is asked for, or of all
	From    int    // the first row of this page, from 1
	To      int
	More    bool // there is more than a board has room for
	Waits   bool // there is anything at all
	Here    string
	Older   string // addresses of the pages around; "" for none
	Newer   string
	All     string
	Sorted  string // the same list, sorted the other way
	Current string // the lot that is open beside it
	Kinds   []revue.Kind
	Repos   []string
	Agents  []string
	Tick    bool // rows can be ticked
	Now     time.Time
}

// Named are the streams that are named above the list: the first of them, and the one that is asked for.
func (l *list) Named() []lane {
	if len(l.Lanes) <= maxLanes {
		return l.Lanes
	}
	out := slices.Clone(l.Lanes[:maxLanes])
	if i := slices.IndexFunc(l.Lanes, func(at lane) bool { return at.Current }); i >= maxLanes {
		out = append(out, l.Lanes[i])
	}
	return out
}

// Unnamed is how many streams are not named.
func (l *list) Unnamed() int { return len(l.Lanes) - len(l.Named()) }

// lane is a stream, and the rows of it that are on this page.
type lane struct {
	Slug    string
	Name    string
	Muted   bool
	Count   int
	Link    string
	Current bool
	Rows    []row

	position int
}

// row is a lot in a list.
type row struct {
	*openLot

	Link     string
	Current  bool
	Together string // the address to answer it with those that ask the same; "" for none
	Alike    int    // how many those are, itself among them
}

// AgentsMore is how many agents are not named.
func (r row) AgentsMore() int { return max(0, len(r.Agents)-1) }

// listOf returns the list that the address asks for; with a lot, the page of it that has this one.
func (s *Server) listOf(v *visit, lot string) (*list, error) {
	settings, err := v.admin.Streams(v.r.Context())
	if err != nil {
		return nil, err
	}
	return listFrom(v.board, settings, queryOf(v), lot, time.Now()), nil
}

func listFrom(board *snapshot, settings []revue.Stream, q query, lot string, now time.Time) *list {
	out := &list{Query: q, More: board.more, Waits: len(board.lots) > 0, Current: lot, Tick: lot == "", Now: now}
	lanes := map[string]*lane{}
	byLane := map[string][]*openLot{}
	repos, agents, alike := map[string]bool{}, map[string]bool{}, map[[sha256.Size]byte]int{}
	for _, l := range board.lots {
		note(repos, l.Repos)
		note(agents, l.Agents)
		alike[l.alike]++
		if q.takes(l) {
			byLane[l.Stream] = append(byLane[l.Stream], l)
			out.Total++
		}
	}
	out.Kinds = []revue.Kind{revue.KindDecision, revue.KindApproval}
	out.Repos, out.Agents = choices(repos, q.Repo), choices(agents, q.Agent)
	for slug, lots := range byLane {
		lanes[slug] = &lane{Slug: slug, Name: slug, Count: len(lots)}
	}
	if q.Stream != "" && lanes[q.Stream] == nil {
		lanes[q.Stream] = &lane{Slug: q.Stream, Name: q.Stream}
	}
	for _, st := range settings {
		if at := lanes[st.Slug]; at != nil {
			at.Name, at.Muted, at.position = cmp.Or(st.Name, st.Slug), st.Muted, st.Position
		}
	}
	var ordered []*openLot
	for _, at := range sortedLanes(lanes) {
		to := q
		to.Stream, to.Page = at.Slug, 1
		at.Link, at.Current = "/"+to.encode(), at.Slug == q.Stream
		if q.Stream == "" || at.Current {
			ordered = append(ordered, sorted(byLane[at.Slug], q.Newest)...)
		}
		out.Lanes = append(out.Lanes, *at)
	}
	out.page(ordered, alike)
	return out
}

// page fills in the rows of the page that is asked for.
func (l *list) page(ordered []*openLot, alike map[[sha256.Size]byte]int) {
	q := l.Query
	if l.Current != "" {
		q.Page = max(0, slices.IndexFunc(ordered, func(s *openLot) bool { return s.ID == l.Current }))/rowsOnPage + 1
	}
	last := max(1, (len(ordered)+rowsOnPage-1)/rowsOnPage)
	q.Page = min(q.Page, last)
	from := (q.Page - 1) * rowsOnPage
	to := min(len(ordered), from+rowsOnPage)
	l.Query, l.Shown, l.From, l.To, l.Here = q, len(ordered), min(from+1, to), to, "/"+q.encode()
	address := func(change func(*query)) string {
		other := q
		change(&other)
		return "/" + other.encode()
	}
	if q.Page > 1 {
		l.Newer = address(func(q *query) { q.Page-- })
	}
	if q.Page < last {
		l.Older = address(func(q *query) { q.Page++ })
	}
	l.All = address(func(q *query) { q.Stream, q.Page = "", 1 })
	l.Sorted = address(func(q *query) { q.Newest, q.Page = !q.Newest, 1 })

	byLane := map[string][]row{}
	said := map[[sha256.Size]byte]bool{} // the first of those that are alike has the link
	for _, s := range ordered[from:to] {
		r := row{openLot: s, Link: "/lots/" + url.PathEscape(s.ID) + q.encode(), Current: s.ID == l.Current}
		if n := alike[s.alike]; n > 1 && s.answersTogether() && !said[s.alike] {
			said[s.alike] = true
			r.Alike, r.Together = min(n, maxTogether), "/lots/answer?like="+url.QueryEscape(s.ID)
		}
		byLane[s.Stream] = append(byLane[s.Stream], r)
	}
	for i := range l.Lanes {
		l.Lanes[i].Rows = byLane[l.Lanes[i].Slug]
	}
}

func note(set map[string]bool, names []string) {
	for _, name := range names {
		if len(set) < maxChoices {
			set[name] = true
		}
	}
}

// choices are the names of a filter in order, the one that is chosen among them.
func choices(set map[string]bool, chosen string) []string {
	if chosen != "" {
		set[chosen] = true
	}
	out := make([]string, 0, len(set))
	for name := range set {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// sortedLanes puts lanes in the order of their positions, those without one after, and the muted last.
func sortedLanes(lanes map[string]*lane) []*lane {
	out := make([]*lane, 0, len(lanes))
	for _, l := range lanes {
		out = append(out, l)
	}
	rank := func(l *lane) int {
		n := l.position
		if n == 0 {
			n = 1 << 20
		}
		if l.Muted {
			n += 1 << 21
		}
		return n
	}
	slices.SortFunc(out, func(a, b *lane) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.Slug, b.Slug)) })
	return out
}

// sorted puts the rows of a lane in order: by how long they have waited, the longest first, or the latest activity first.
func sorted(lots []*openLot, newest bool) []*openLot {
	slices.SortStableFunc(lots, func(a, b *openLot) int {
		if newest {
			return cmp.Or(b.Newest.Compare(a.Newest), cmp.Compare(b.Seq, a.Seq))
		}
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Seq, b.Seq))
	})
	return lots
}

// following is the address of what waits after a lot that has just ended, in the list that it was opened from; "" for none.
func (s *Server) following(v *visit, lot revue.Lot) (string, error) {
	settings, err := v.admin.Streams(v.r.Context())
	if err != nil {
		return "", err
	}
	return followingIn(v.board, settings, queryOf(v), lot), nil
}

func followingIn(board *snapshot, settings []revue.Stream, q query, lot revue.Lot) string {
	with := *board
	with.lots = append(slices.DeleteFunc(slices.Clone(board.lots), func(l *openLot) bool { return l.ID == lot.ID }), summarize(lot))
	first, past := "", false
	for _, lane := range listFrom(&with, settings, q, lot.ID, time.Now()).Lanes {
		for _, r := range lane.Rows {
			switch {
			case r.Current:
				past = true
			case past:
				return r.Link
			case first == "":
				first = r.Link
			}
		}
	}
	return first
}

func (s *Server) showInbox(v *visit) error {
	l, err := s.listOf(v, "")
	if err != nil {
		return err
	}
	return s.render(v, http.StatusOK, "inbox", page{Title: "Inbox", Nav: "inbox", Data: l})
}

// backTo is the address of the list that a card was opened from.
func backTo(v *visit) string { return "/" + queryOf(v).encode() }

func kindName(k revue.Kind) string {
	if k == revue.KindApproval {
		return "Approval"
	}
	return "Question"
}

// left says how long it is until a time, roughly.
func left(t, now time.Time) string {
	if !t.After(now) {
		return "now"
	}
	d := t.Sub(now)
	switch {
	case d < time.Minute:
		return "in under a minute"
	case d < time.Hour:
		return fmt.Sprintf("in %d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("in %d h", int(d.Hours()))
	default:
		return fmt.Sprintf("in %d d", int(d.Hours()/24))
	}
}
