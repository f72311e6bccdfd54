package inbox

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/memory"
	"github.com/revuehq/revue/storage/memstore"
)

// boardOf makes a snapshot of lots.
func boardOf(lots ...revue.Lot) *snapshot {
	out := &snapshot{}
	for i, l := range lots {
		l.Seq = revue.Seq(i + 1)
		if l.ID == "" {
			l.ID = fmt.Sprint("lot_", i)
		}
		out.lots = append(out.lots, summarize(l))
	}
	return out
}

// rowsOf returns the ids on the page, by lane.
func rowsOf(l *list) map[string][]string {
	out := map[string][]string{}
	for _, lane := range l.Lanes {
		for _, r := range lane.Rows {
			out[lane.Slug] = append(out[lane.Slug], r.ID)
		}
	}
	return out
}

func TestListFrom(t *testing.T) {
	at := func(minutes int) time.Time {
		return time.Date(2026, 1, 1, 0, minutes, 0, 0, time.UTC)
	}
	asked := func(id, stream, question string, kind revue.Kind, since, newest int, asks ...revue.AskRecord) revue.Lot {
		return revue.Lot{ID: id, Kind: kind, Question: question, Stream: stream, CreatedAt: at(since), UpdatedAt: at(newest), Asks: asks, AskCount: len(asks), Options: []revue.Option{{Value: "yes", Label: "Yes"}}}
	}
	by := func(agent, repo, thread string) revue.AskRecord {
		return revue.AskRecord{Agent: agent, Credential: agent, Repo: repo, Thread: thread, CreatedAt: at(59)}
	}
	board := boardOf(
		asked("a", "api", "Which Database?", revue.KindDecision, 3, 3, by("Ada", "github.com/acme/api", "t1"), by("Bo", "", "t2")),
		asked("b", "web", "Which colour?", revue.KindDecision, 1, 9, by("Bo", "github.com/acme/web", "t3")),
		asked("c", "api", "Deploy it", revue.KindApproval, 2, 2, by("Ada", "github.com/acme/api", "t1")),
		asked("d", "noise", "Which noise?", revue.KindDecision, 0, 0, by("Cy", "", "t4")),
		asked("e", "ops", "Which Database?", revue.KindDecision, 4, 4, by("Cy", "github.com/acme/api", "t5")),
	)
	settings := []revue.Stream{
		{StreamSettings: revue.StreamSettings{Slug: "noise", Name: "Noise", Position: 1, Muted: true}},
		{StreamSettings: revue.StreamSettings{Slug: "ops", Name: "Operations", Position: 1}},
		{StreamSettings: revue.StreamSettings{Slug: "web", Position: 2}},
		{StreamSettings: revue.StreamSettings{Slug: "api"}},
		{StreamSettings: revue.StreamSettings{Slug: "empty", Position: 3}},
	}
	get := func(q query, lot string) *list {
		q.Page = max(q.Page, 1)
		return listFrom(board, settings, q, lot, at(60))
	}
	all := get(query{}, "")
	var lanes []string
	for _, l := range all.Lanes {
		lanes = append(lanes, fmt.Sprint(l.Slug, " ", l.Name, " ", l.Count, " ", l.Muted))
	}
	require.Equal(t, []string{"ops Operations 1 false", "web web 1 false", "api api 2 false", "noise Noise 1 true"}, lanes, "by position, none last, muted after all")
	require.Equal(t, map[string][]string{"ops": {"e"}, "web": {"b"}, "api": {"c", "a"}, "noise": {"d"}}, rowsOf(all))
	require.Equal(t, 5, all.Total)
	require.Equal(t, []string{"Ada", "Bo", "Cy"}, all.Agents)
	require.Equal(t, []string{"github.com/acme/api", "github.com/acme/web"}, all.Repos)

	for name, c := range map[string]struct {
		q    query
		want map[string][]string
	}{
		"one stream":        {query{Stream: "api"}, map[string][]string{"api": {"c", "a"}}},
		"newest first":      {query{Stream: "api", Newest: true}, map[string][]string{"api": {"a", "c"}}},
		"a kind":            {query{Kind: "approval"}, map[string][]string{"api": {"c"}}},
		"a repository":      {query{Repo: "github.com/acme/api"}, map[string][]string{"api": {"c", "a"}, "ops": {"e"}}},
		"an agent":          {query{Agent: "Bo"}, map[string][]string{"api": {"a"}, "web": {"b"}}},
		"words, any case":   {query{Q: "DATABASE which"}, map[string][]string{"api": {"a"}, "ops": {"e"}}},
		"words of the asks": {query{Q: "cy acme/api"}, map[string][]string{"ops": {"e"}}},
		"all at once":       {query{Stream: "web", Kind: "decision", Repo: "github.com/acme/web", Agent: "Bo", Q: "colour"}, map[string][]string{"web": {"b"}}},
		"nothing fits":      {query{Q: "zebra"}, map[string][]string{}},
		"no such stream":    {query{Stream: "none"}, map[string][]string{}},
	} {
		got := get(c.q, "")
		require.Equal(t, c.want, rowsOf(got), name)
		if c.q.Stream == "api" {
			require.Equal(t, 5, got.Total, "the lanes keep their counts")
			require.Equal(t, 2, got.Shown)
		}
	}
	none := get(query{Stream: "none"}, "")
	require.True(t, slices.ContainsFunc(none.Lanes, func(l lane) bool { return l.Slug == "none" && l.Current && l.Count == 0 }))

	open := get(query{Stream: "api"}, "a")
	require.False(t, open.Tick)
	require.Equal(t, "/lots/a?stream=api", open.Lanes[len(open.Lanes)-2].Rows[1].Link)
	require.True(t, open.Lanes[len(open.Lanes)-2].Rows[1].Current)

	row := all.Lanes[2].Rows[1]
	require.Equal(t, []string{"Ada", "Bo"}, row.Agents)
	require.Equal(t, 1, row.AgentsMore())
	require.Equal(t, 2, row.Waiting)
	require.Equal(t, at(3), row.Since)
	require.Equal(t, "/lots/answer?like=e", all.Lanes[0].Rows[0].Together, "the first of those that are alike")
	require.Equal(t, 2, all.Lanes[0].Rows[0].Alike)
	require.Empty(t, row.Together)
	require.Empty(t, all.Lanes[2].Rows[0].Together, "an approval is answered alone")
}

func TestListPages(t *testing.T) {
	var lots []revue.Lot
	for i := range 250 {
		lots = append(lots, revue.Lot{Kind: revue.KindDecision, Stream: []string{"a", "b"}[i%2], Question: fmt.Sprint("q ", i), CreatedAt: time.Unix(int64(i), 0)})
	}
	board := boardOf(lots...)
	seen := map[string]bool{}
	for n, want := range map[int][3]int{1: {1, 100, 100}, 2: {101, 200, 100}, 3: {201, 250, 50}, 99: {201, 250, 50}} {
		l := listFrom(board, nil, query{Page: n}, "", time.Now())
		count := 0
		for _, ids := range rowsOf(l) {
			for _, id := range ids {
				seen[id] = true
				count++
			}
		}
		require.Equal(t, want, [3]int{l.From, l.To, count})
		require.Equal(t, 250, l.Total)
		require.Equal(t, n == 1, l.Newer == "")
		require.Equal(t, n >= 3, l.Older == "")
		for _, lane := range l.Lanes {
			require.Equal(t, 125, lane.Count)
		}
	}
	require.Len(t, seen, 250)
	l := listFrom(board, nil, query{Page: 1}, board.lots[249].ID, time.Now())
	require.Equal(t, 3, l.Query.Page, "the page with the open card")
	require.Equal(t, "/?page=2", l.Newer)
	l = listFrom(board, nil, query{Page: 1}, "lot_ended", time.Now())
	require.Equal(t, 1, l.Query.Page)
}

func TestQueryOf(t *testing.T) {
	r := func(raw string) query {
		return queryOf(&visit{r: &http.Request{URL: &url.URL{RawQuery: raw}}})
	}
	require.Equal(t, query{Page: 1}, r(""))
	require.Equal(t, query{Page: 1}, r("page=-2&sort=x&stream=+&q=%20"))
	require.Equal(t, query{Page: maxOnBoard}, r("page=99999999"))
	require.Len(t, r("q="+strings.Repeat("x", 5000)).Q, 256)
	q := query{Stream: "a&b", Kind: "approval", Repo: "r?", Agent: "Ada <x>", Q: "what #1", Newest: true, Page: 7}
	require.Equal(t, q, r(strings.TrimPrefix(q.encode(), "?")))
	require.Empty(t, query{Page: 1}.encode())
	require.Empty(t, query{}.encode())
}

// harmless checks a whole page: it runs, loads and leads to nothing but what is this server's, and no character in it acts.
func harmless(t *testing.T, page string) *html.Node {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	require.NoError(t, err)
	for n := range root.Descendants() {
		if n.Type == html.TextNode {
			for _, r := range n.Data {
				require.False(t, r != '\n' && r != '\t' && unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Bidi_Control, r) || r == 0x200B || r == 0xFEFF, "%U is in the text %q", r, n.Data)
			}
		}
		if n.Type != html.ElementNode {
			continue
		}
		switch n.Data {
		case "iframe", "object", "embed", "base", "style", "svg", "math", "video", "audio", "applet", "frame":
			t.Fatalf("the page has an element %s", n.Data)
		case "script":
			require.Nil(t, n.FirstChild, "the page has a script inline")
			require.True(t, strings.HasPrefix(attrOf(n, "src"), "/static/"))
		case "meta":
			require.Empty(t, attrOf(n, "http-equiv"))
		}
		for _, a := range n.Attr {
			require.False(t, strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "srcdoc" || a.Key == "ping", "<%s %s=%q>", n.Data, a.Key, a.Val)
			switch a.Key {
			case "href", "src", "action", "formaction":
				require.True(t, a.Val == "" || strings.HasPrefix(a.Val, "/") && !strings.HasPrefix(a.Val, "//") || strings.HasPrefix(a.Val, "#"), "<%s %s=%q>", n.Data, a.Key, a.Val)
			case "title", "aria-label", "placeholder", "alt":
				for _, r := range a.Val {
					require.False(t, unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Bidi_Control, r), "%U is in the %s %q", r, a.Key, a.Val)
				}
			}
		}
	}
	return root
}

// Whatever agents write, through every field, the pages of the list stay what they are.
func TestHostileList(t *testing.T) {
	s := newSite(t, nil)
	me := s.session("umbrella", "Ada")
	reviewer := s.desk.Reviewer(s.human("umbrella", "Ada"))
	for i, bad := range hostile(t) {
		agent := revue.Agent{Workspace: "umbrella", Credential: fmt.Sprint("tok_", i), Name: bad, Thread: bad, Repo: bad}
		ask := revue.Ask{
			Question: fmt.Sprint(bad, " ", i), Context: bad, Concepts: []string{bad}, Files: []string{bad}, Recommendation: "yes",
			Options: []revue.Option{{Value: "yes", Label: bad, Consequence: bad}, {Value: "no", Label: "No"}},
		}
		if _, err := s.desk.Decider(agent).Request(t.Context(), ask); err != nil {
			require.ErrorIs(t, err, revue.ErrInvalid) // what is not let in is shown to nobody
			ask.Options, ask.Concepts, ask.Files, ask.Recommendation, agent.Thread = []revue.Option{{Value: "yes"}, {Value: "no"}}, nil, nil, "", "t"
			if _, err = s.desk.Decider(agent).Request(t.Context(), ask); err != nil {
				require.ErrorIs(t, err, revue.ErrInvalid)
			}
		}
	}
	open := openNow(t, reviewer)
	require.Greater(t, len(open), 60)
	get := func(path string) *html.Node {
		res := s.do(call{method: http.MethodGet, path: path, cookie: me.Secret})
		body := res.text
		require.Equal(t, http.StatusOK, res.StatusCode, "%s: %s", path, body)
		return harmless(t, body)
	}
	rows := 0
	for page := 1; rows < len(open); page++ {
		before := rows
		for n := range get(fmt.Sprint("/?page=", page)).Descendants() {
			if attrOf(n, "data-row") != "" {
				rows++
			}
		}
		require.Greater(t, rows, before)
	}
	require.Equal(t, len(open), rows)
	for _, bad := range hostile(t) {
		q := url.QueryEscape(bad)
		get("/?q=" + q + "&stream=" + q + "&agent=" + q + "&repo=" + q + "&kind=" + q + "&sort=" + q + "&page=" + q + "&done=" + q)
		get("/lots/answer?like=" + q + "&lot=" + q)
		get("/lots/answered?lot=" + q)
		harmless(t, s.do(call{method: http.MethodGet, path: "/login?next=" + q}).text)
	}
	for _, some := range slices.Collect(slices.Chunk(open, 10)) {
		q, form := url.Values{}, url.Values{"csrf": {formToken(me.Secret)}, "value": {"yes"}, "note": {some[0].Text}}
		for _, l := range some {
			q.Add("lot", l.ID)
			form.Add("lot", fmt.Sprint(l.ID, ":", l.Revision))
		}
		get("/lots/answer?" + q.Encode())
		res := s.do(call{method: http.MethodPost, path: "/lots/answer", cookie: me.Secret, form: form})
		if res.StatusCode != http.StatusSeeOther {
			harmless(t, res.text)
			continue
		}
		get(res.Header.Get("Location"))
	}
}

func attrOf(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// BenchmarkInbox loads the inbox of a workspace where 1,000 lots are open, as it is and compressed.
func BenchmarkInbox(b *testing.B) {
	desk := revue.New(memstore.New(nil), memory.New(nil), nil)
	ada := revue.Human{Workspace: "acme", ID: "local", Name: "Ada", Via: revue.LocalVia, Local: true}
	_, err := desk.Admin(ada).CreateWorkspace(b.Context(), "acme")
	require.NoError(b, err)
	for i := range 1000 {
		a := revue.Agent{Workspace: "acme", Credential: "tok_a", Name: fmt.Sprint("agent ", i%20), Thread: fmt.Sprint("thread ", i), Repo: "github.com/acme/api"}
		_, err := desk.Decider(a).Request(b.Context(), revue.Ask{
			Kind: revue.KindApproval, Stream: fmt.Sprint("stream-", i%10), Question: fmt.Sprintf("Deploy build %d of the service to all machines of the third region", i),
		})
		require.NoError(b, err)
	}
	in, err := desk.Admin(ada).SignIn(b.Context())
	require.NoError(b, err)
	tok, err := desk.OpenSession(b.Context(), in.Code, "")
	require.NoError(b, err)
	s := New(desk, desk, nil)
	b.Cleanup(func() { require.NoError(b, s.Shutdown(context.WithoutCancel(b.Context()))) })
	for _, coding := range []string{"identity", "gzip"} {
		b.Run(coding, func(b *testing.B) {
			size := 0
			for b.Loop() {
				r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "http://localhost/", nil)
				r.Header.Set("Cookie", cookieName+"="+tok.Secret)
				r.Header.Set("Accept-Encoding", coding)
				w := httptest.NewRecorder()
				s.Handler().ServeHTTP(w, r)
				require.Equal(b, http.StatusOK, w.Code)
				size = w.Body.Len()
			}
			b.ReportMetric(float64(size), "bytes")
		})
	}
}
