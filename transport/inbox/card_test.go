package inbox_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/httpguard"
	"github.com/revuehq/revue/memory"
	"github.com/revuehq/revue/storage/memstore"
	"github.com/revuehq/revue/transport/inbox"
)

// A desk with its inbox, as one human sees it.
type office struct {
	t      *testing.T
	desk   *revue.Desk
	url    string
	direct http.Handler // instead of a server at the url
	client *http.Client
	me     revue.Human
}

// RoundTrip sends a request, or hands it to the inbox itself.
func (o *office) RoundTrip(req *http.Request) (*http.Response, error) {
	if o.direct == nil {
		return http.DefaultTransport.RoundTrip(req)
	}
	in := req.Clone(req.Context())
	in.RequestURI, in.RemoteAddr, in.Host = req.URL.RequestURI(), "127.0.0.1:4000", req.URL.Host
	if in.Body == nil {
		in.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	o.direct.ServeHTTP(w, in)
	res := w.Result()
	res.Request = req
	return res, nil
}

func newOffice(t *testing.T) *office {
	t.Helper()
	o := newDirectOffice(t)
	srv := httptest.NewServer(o.direct)
	t.Cleanup(srv.Close)
	o.url, o.direct = srv.URL, nil
	return o
}

// newDirectOffice is an office without a network between, for a bubble of synctest.
func newDirectOffice(t *testing.T) *office {
	t.Helper()
	desk := revue.New(memstore.New(nil), memory.New(nil), nil)
	in := inbox.New(desk, desk, &inbox.Options{Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	o := &office{t: t, desk: desk, url: "http://127.0.0.1", direct: httpguard.New(nil)(in.Handler())}
	_, err := desk.Admin(revue.Human{ID: "local", Name: "Ada", Via: revue.LocalVia, Local: true}).CreateWorkspace(t.Context(), "default")
	require.NoError(t, err)
	o.client = o.signIn("Ada")
	o.me = revue.Human{Workspace: "default", ID: "local", Name: "Bob", Via: "cli"}
	return o
}

// signIn opens a session of somebody.
func (o *office) signIn(name string) *http.Client {
	o.t.Helper()
	in, err := o.desk.Admin(revue.Human{Workspace: "default", ID: "local", Name: name, Via: revue.LocalVia, Local: true}).SignIn(o.t.Context())
	require.NoError(o.t, err)
	jar, err := cookiejar.New(nil)
	require.NoError(o.t, err)
	client := &http.Client{Jar: jar, Transport: o}
	res := o.postAs(client, "/login", url.Values{"code": {in.Code}})
	require.Equal(o.t, http.StatusOK, res.status, res.body)
	return client
}

// ask asks a question as some agent, and returns its ask.
func (o *office) ask(agent string, a revue.Ask) revue.Outcome {
	o.t.Helper()
	d := o.desk.Decider(revue.Agent{Workspace: "default", Credential: "tok-" + agent, Name: agent, Thread: "t-" + agent, Via: "library"})
	ctx, cancel := context.WithTimeout(o.t.Context(), 10*time.Second)
	defer cancel()
	out, err := d.Request(ctx, a)
	require.NoError(o.t, err)
	return out
}

func (o *office) lots(s revue.Status) []revue.Lot {
	o.t.Helper()
	page, err := o.desk.Reviewer(o.me).Lots(o.t.Context(), revue.LotFilter{Status: s})
	require.NoError(o.t, err)
	return page.Items
}

func (o *office) lot(id string) revue.Lot {
	o.t.Helper()
	lot, err := o.desk.Reviewer(o.me).Lot(o.t.Context(), id)
	require.NoError(o.t, err)
	return lot
}

type response struct {
	status int
	body   string
	at     *url.URL
}

func (o *office) get(path string) response {
	o.t.Helper()
	req, err := http.NewRequestWithContext(o.t.Context(), http.MethodGet, o.url+path, nil)
	require.NoError(o.t, err)
	return o.do(o.client, req)
}

func (o *office) postAs(client *http.Client, path string, form url.Values) response {
	o.t.Helper()
	req, err := http.NewRequestWithContext(o.t.Context(), http.MethodPost, o.url+path, strings.NewReader(form.Encode()))
	require.NoError(o.t, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	return o.do(client, req)
}

func (o *office) post(path string, form url.Values) response {
	o.t.Helper()
	return o.postAs(o.client, path, form)
}

func (o *office) do(client *http.Client, req *http.Request) response {
	o.t.Helper()
	res, err := client.Do(req)
	require.NoError(o.t, err)
	body, err := io.ReadAll(res.Body)
	require.NoError(o.t, err)
	require.NoError(o.t, res.Body.Close())
	return response{res.StatusCode, string(body), res.Request.URL}
}

// form returns what the form of a page that is sent to an address begins with: all that is hidden, ticked or chosen.
func (r response) form(t *testing.T, action string) url.Values {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(r.body))
	require.NoError(t, err)
	var found *html.Node
	for n := range doc.Descendants() {
		if n.Data == "form" && attr(n, "action") == action {
			found = n
		}
	}
	require.NotNil(t, found, "no form to %s in %s", action, r.body)
	out := url.Values{}
	for n := range found.Descendants() {
		switch n.Data {
		case "input":
			kind := attr(n, "type")
			if _, checked := attribute(n, "checked"); kind == "hidden" || checked {
				out.Add(attr(n, "name"), attr(n, "value"))
			}
		case "textarea":
			if n.FirstChild != nil {
				out.Add(attr(n, "name"), n.FirstChild.Data)
			}
		}
	}
	return out
}

func attribute(n *html.Node, key string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val, true
		}
	}
	return "", false
}

func attr(n *html.Node, key string) string {
	v, _ := attribute(n, key)
	return v
}

// text is what can be read of a page, in one line.
func (r response) text(t *testing.T) string {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(r.body))
	require.NoError(t, err)
	var b strings.Builder
	for n := range doc.Descendants() {
		if n.Type == html.TextNode && n.Parent.Data != "title" {
			b.WriteString(n.Data + " ")
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func database() revue.Ask {
	return revue.Ask{
		Question: "Which database should the orders service use?",
		Options: []revue.Option{
			{Value: "postgres", Label: "Postgres", Consequence: "We run a server."},
			{Value: "sqlite", Label: "SQLite", Consequence: "One node only."},
		},
		Recommendation: "postgres", Context: "Orders grow by **10 %** a month.", Concepts: []string{"orders"},
	}
}

func TestCard(t *testing.T) {
	o := newOffice(t)
	o.ask("claude", database())
	id := o.lots(revue.StatusOpen)[0].ID
	page := o.get("/lots/" + id)
	require.Equal(t, http.StatusOK, page.status, page.body)
	text := page.text(t)
	for _, want := range []string{
		"Which database should the orders service use?", "Postgres recommended by the agent", "We run a server.", "SQLite", "One node only.",
		"Orders grow by 10 % a month.", "claude", "thread t-claude", "orders", "Send answer", "as a rule", "once", "Dismiss without an answer",
	} {
		require.Contains(t, text, want)
	}
	require.Contains(t, page.body, "<strong>10 %</strong>")
	form := page.form(t, "/lots/"+id+"/answer")
	require.False(t, form.Has("choice"), "an option is chosen before the human chose one")
	require.Equal(t, "default", form.Get("remember"))
	require.Equal(t, "1", form.Get("seen"))

	form.Set("choice", "=sqlite")
	form.Set("note", "For now.\r\nWe look again in May.")
	done := o.post("/lots/"+id+"/answer", form)
	require.Equal(t, http.StatusOK, done.status)
	require.Equal(t, "/lots/"+id+"?done=answered", done.at.RequestURI())
	lot := o.lot(id)
	require.Equal(t, "sqlite", lot.Answer.Value)
	require.Equal(t, "For now.\nWe look again in May.", lot.Answer.Note)
	require.Equal(t, "Ada", lot.Answer.By.Name)
	require.Equal(t, "web", lot.Answer.By.Via)
	for _, want := range []string{"SQLite the answer", "Answered by Ada through web", "just now", "For now.", lot.ReceiptID, "What is remembered of it"} {
		require.Contains(t, done.text(t), want)
	}
	require.Contains(t, done.body, `href="/decisions/`+lot.DecisionID+`"`)
}

func TestAnswerForms(t *testing.T) {
	approval := revue.Ask{Kind: revue.KindApproval, Question: "Delete 4 stale branches?", Context: "No commits for weeks.", Affected: []revue.Affected{{Label: "feature/old", Meta: "3 weeks ago"}}}
	open := revue.Ask{Question: "What should the release be called?"}
	for _, c := range []struct {
		name   string
		ask    revue.Ask
		send   url.Values
		status int
		says   string
		check  func(*testing.T, revue.Lot)
	}{
		{"nothing chosen", database(), url.Values{}, 422, "Nothing is chosen", nil},
		{"blank own words", database(), url.Values{"choice": {"own"}, "text": {" \r\n"}}, 422, "Your answer is blank", nil},
		{"both", database(), url.Values{"choice": {"=sqlite"}, "text": {"MySQL"}}, 422, "Keep one of them", nil},
		{"no such option", database(), url.Values{"choice": {"=oracle"}}, 422, "none of the options", nil},
		{"no such rule", database(), url.Values{"choice": {"=sqlite"}, "remember": {"always"}}, 422, "none of default, rule and once", nil},
		{"nothing on screen", database(), url.Values{"choice": {"=sqlite"}, "seen": {"x"}}, 422, "what was on screen", nil},
		{"the future on screen", database(), url.Values{"choice": {"=sqlite"}, "seen": {"99"}}, 422, "no such revision", nil},
		{"no such precedent", database(), url.Values{"confirms": {"dec_none"}}, 422, "no such precedent", nil},
		{"words and a precedent", database(), url.Values{"confirms": {"dec_none"}, "text": {"MySQL"}}, 422, "Same answer", nil},
		{"too long", database(), url.Values{"choice": {"own"}, "text": {strings.Repeat("a", revue.MaxAnswer+1)}}, 422, "text", nil},
		{"own words", database(), url.Values{"choice": {"own"}, "text": {"MySQL"}, "remember": {"rule"}}, 200, "in their own words", func(t *testing.T, l revue.Lot) {
			require.True(t, l.Answer.FreeText)
			require.Equal(t, revue.RememberRule, l.Answer.Remember)
		}},
		{"once", database(), url.Values{"choice": {"=sqlite"}, "remember": {"once"}}, 200, "once", func(t *testing.T, l revue.Lot) {
			require.Equal(t, revue.RememberOnce, l.Answer.Remember)
		}},
		{"words where nothing is offered", open, url.Values{"text": {"Aurora"}}, 200, "Aurora", func(t *testing.T, l revue.Lot) {
			require.Equal(t, "Aurora", l.Answer.Value)
		}},
		{"blank where nothing is offered", open, url.Values{"text": {""}}, 422, "blank", nil},
		{"approved", approval, url.Values{"choice": {"=approved"}, "note": {"Go."}}, 200, "Approved", func(t *testing.T, l revue.Lot) {
			require.Equal(t, revue.Approved, l.Answer.Value)
		}},
		{"declined", approval, url.Values{"choice": {"=declined"}}, 200, "Declined", func(t *testing.T, l revue.Lot) {
			require.Equal(t, revue.Declined, l.Answer.Value)
		}},
		{"an approval without a word", approval, url.Values{}, 422, "Nothing is chosen", nil},
		{"an approval in other words", approval, url.Values{"choice": {"=yes"}}, 422, "approved or declined", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := newOffice(t)
			o.t = t
			o.ask("claude", c.ask)
			id := o.lots(revue.StatusOpen)[0].ID
			form := o.get("/lots/"+id).form(t, "/lots/"+id+"/answer")
			for name, value := range c.send {
				form[name] = value
			}
			page := o.post("/lots/"+id+"/answer", form)
			require.Equal(t, c.status, page.status, page.body)
			require.Contains(t, page.text(t), c.says)
			lot := o.lot(id)
			if c.check == nil {
				require.Equal(t, revue.StatusOpen, lot.Status)
				again := page.form(t, "/lots/"+id+"/answer")
				for _, name := range []string{"text", "note"} { // what was typed is there still
					require.Equal(t, strings.TrimSpace(c.send.Get(name)), strings.TrimSpace(again.Get(name)))
				}
				return
			}
			require.Equal(t, revue.StatusAnswered, lot.Status)
			c.check(t, lot)
		})
	}
}

// A press that is doubled, or sent again later, does nothing twice.
func TestDoubledPress(t *testing.T) {
	o := newOffice(t)
	o.ask("claude", database())
	id := o.lots(revue.StatusOpen)[0].ID
	form := o.get("/lots/"+id).form(t, "/lots/"+id+"/answer")
	form.Set("reason", "Not now.")
	for range 2 {
		require.Equal(t, 200, o.post("/lots/"+id+"/dismiss", form).status)
	}
	require.Equal(t, revue.StatusDismissed, o.lot(id).Status)
	_, err := o.desk.Reviewer(o.me).Reopen(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, 200, o.post("/lots/"+id+"/dismiss", form).status)
	require.Equal(t, revue.StatusOpen, o.lot(id).Status, "the same press dismissed again what a colleague had reopened")
}

// Who comes too late hears who was first, and keeps what they typed.
func TestTooLate(t *testing.T) {
	for name, end := range map[string]func(revue.Reviewer, string) error{
		"answered by Bob just now": func(r revue.Reviewer, id string) error {
			_, err := r.Answer(t.Context(), id, revue.Answer{Value: "postgres"})
			return err
		},
		"dismissed by Bob just now": func(r revue.Reviewer, id string) error {
			_, err := r.Dismiss(t.Context(), id, revue.Dismissal{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t)
			o.t = t
			o.ask("claude", database())
			id := o.lots(revue.StatusOpen)[0].ID
			form := o.get("/lots/"+id).form(t, "/lots/"+id+"/answer")
			require.NoError(t, end(o.desk.Reviewer(o.me), id))
			was := o.lot(id)
			form.Set("choice", "=sqlite")
			form.Set("note", "A <b>long</b> thought")
			page := o.post("/lots/"+id+"/answer", form)
			require.Equal(t, http.StatusConflict, page.status)
			text := strings.ToLower(page.text(t))
			require.Contains(t, text, strings.ToLower(name))
			require.Contains(t, text, "nothing of what you sent now was recorded")
			require.Contains(t, text, "just now")
			require.Contains(t, text, "a <b>long</b> thought")
			require.Contains(t, text, "choice: sqlite")
			require.Equal(t, was, o.lot(id))
		})
	}
}

func TestDismissAndReopen(t *testing.T) {
	o := newOffice(t)
	o.ask("claude", database())
	id := o.lots(revue.StatusOpen)[0].ID
	form := o.get("/lots/"+id+"?stream=agents").form(t, "/lots/"+id+"/answer?stream=agents")
	form.Set("reason", "Ask in May.")
	page := o.post("/lots/"+id+"/dismiss?stream=agents", form)
	require.Equal(t, "/lots/"+id+"?done=dismissed&stream=agents", page.at.RequestURI())
	require.Contains(t, page.text(t), "Ask in May.")
	form = page.form(t, "/lots/"+id+"/reopen?stream=agents")
	page = o.post("/lots/"+id+"/reopen?stream=agents", form)
	require.Equal(t, http.StatusOK, page.status)
	require.Contains(t, page.text(t), "Open again.")
	require.Contains(t, page.text(t), "This was dismissed before by Ada")
	require.Equal(t, revue.StatusOpen, o.lot(id).Status)
}

// Other wordings are shown with what differs, and one that is unticked stays open.
func TestOtherWordings(t *testing.T) {
	o := newOffice(t)
	a := database()
	a.Question = "Should we keep orders in Postgres?"
	o.ask("claude", a)
	b := a
	b.Question, b.Context, b.Recommendation = "Hello, should we keep orders in Postgres?", "Codex found *two* of them.", "sqlite"
	o.ask("codex", b)
	lots := o.lots(revue.StatusOpen)
	require.Len(t, lots, 1, "the two were not grouped: choose other words for this test")
	id := lots[0].ID
	page := o.get("/lots/" + id)
	require.Contains(t, page.body, "<mark>Hello,")
	require.Contains(t, page.text(t), "Codex found two of them.")
	require.Contains(t, page.text(t), "Recommends instead: sqlite")
	form := page.form(t, "/lots/"+id+"/answer")
	require.Len(t, form["member"], 1, "it is ticked")

	form.Set("choice", "=postgres")
	form.Del("member")
	done := o.post("/lots/"+id+"/answer", form)
	require.Equal(t, 200, done.status, done.body)
	require.Contains(t, done.text(t), "Still open")
	open := o.lots(revue.StatusOpen)
	require.Len(t, open, 1)
	require.Equal(t, b.Question, open[0].Question)
	require.Contains(t, done.body, `href="/lots/`+open[0].ID+`"`)

	again := o.get("/lots/" + open[0].ID)
	require.Contains(t, again.text(t), "Decided before")
	form = again.form(t, "/lots/"+open[0].ID+"/answer")
	form.Set("confirms", o.lot(id).DecisionID)
	require.Equal(t, 200, o.post("/lots/"+open[0].ID+"/answer", form).status)
	require.Equal(t, "postgres", o.lot(open[0].ID).Answer.Value)
}

// A wording that joined after the card was on screen is not settled with it.
func TestJoinedLater(t *testing.T) {
	o := newOffice(t)
	a := database()
	a.Question = "Should we keep orders in Postgres?"
	o.ask("claude", a)
	id := o.lots(revue.StatusOpen)[0].ID
	form := o.get("/lots/"+id).form(t, "/lots/"+id+"/answer")
	b := a
	b.Question = "Hello, should we keep orders in Postgres?"
	o.ask("codex", b)
	form.Set("choice", "=postgres")
	done := o.post("/lots/"+id+"/answer", form)
	require.Contains(t, done.text(t), "Still open")
	open := o.lots(revue.StatusOpen)
	require.Len(t, open, 1)
	require.Contains(t, done.text(t), b.Question)
}

// What can't be shown whole can't be approved before it was opened whole.
func TestApproveWhole(t *testing.T) {
	affected := make([]revue.Affected, revue.MaxAffected)
	for i := range affected {
		affected[i].Label = fmt.Sprintf("branch-%03d", i)
	}
	for name, a := range map[string]revue.Ask{
		"context":  {Kind: revue.KindApproval, Question: "Run it?", Context: strings.Repeat("All is well. ", 3000) + "It also drops the table."},
		"affected": {Kind: revue.KindApproval, Question: "Run it?", Affected: affected},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t)
			o.t = t
			o.ask("claude", a)
			id := o.lots(revue.StatusOpen)[0].ID
			page := o.get("/lots/" + id)
			require.NotContains(t, page.body, "data-approve")
			require.Contains(t, page.body, "data-decline")
			require.Contains(t, page.body, `href="/lots/`+id+`?whole=1"`)
			form := page.form(t, "/lots/"+id+"/answer")
			form.Set("choice", "=approved")
			refused := o.post("/lots/"+id+"/answer", form)
			require.Equal(t, 422, refused.status)
			require.Contains(t, refused.text(t), "Open it whole")
			require.Equal(t, revue.StatusOpen, o.lot(id).Status)

			page = o.get("/lots/" + id + "?whole=1")
			require.Contains(t, page.body, "data-approve")
			if a.Context != "" {
				require.Contains(t, page.text(t), "It also drops the table.")
			} else {
				require.Contains(t, page.text(t), "branch-255")
			}
			form = page.form(t, "/lots/"+id+"/answer")
			form.Set("choice", "=approved")
			require.Equal(t, 200, o.post("/lots/"+id+"/answer", form).status)
			require.Equal(t, revue.Approved, o.lot(id).Answer.Value)
		})
	}
}

func TestSharedNotes(t *testing.T) {
	o := newOffice(t)
	d := o.desk.Decider(revue.Agent{Workspace: "default", Credential: "tok-codex", Name: "codex", Thread: "t"})
	_, err := d.Share(t.Context(), revue.ContextItem{Kind: "finding", Body: "Orders has *no* index.", Concepts: []string{"orders"}})
	require.NoError(t, err)
	o.ask("claude", database())
	head, _, err := o.desk.Reviewer(o.me).Journal(t.Context(), 0, 1000)
	require.NoError(t, err)
	text := o.get("/lots/" + o.lots(revue.StatusOpen)[0].ID).text(t)
	require.Contains(t, text, "Orders has no index.")
	require.Contains(t, text, "finding by codex")
	require.Contains(t, text, "untrusted note of an agent")
	after, _, err := o.desk.Reviewer(o.me).Journal(t.Context(), 0, 1000)
	require.NoError(t, err)
	require.Len(t, after, len(head), "looking at a card wrote something down")
}

func TestHistory(t *testing.T) {
	o := newOffice(t)
	require.Contains(t, o.get("/history").text(t), "Nothing has ended yet")
	r := o.desk.Reviewer(o.me)
	end := func(n int, q string, f func(string) error) {
		a := revue.Ask{Question: q, Options: []revue.Option{{Value: "yes"}, {Value: "no"}}, Stream: fmt.Sprintf("lane-%d", n%2)}
		o.ask(fmt.Sprintf("agent%d", n%3), a)
		open := o.lots(revue.StatusOpen)
		require.NoError(t, f(open[len(open)-1].ID))
	}
	for n := range 120 {
		end(n, fmt.Sprintf("Shall table number %d be dropped?", n), func(id string) (err error) {
			if n%4 == 0 {
				_, err = r.Dismiss(t.Context(), id, revue.Dismissal{Reason: "because"})
			} else {
				_, err = r.Answer(t.Context(), id, revue.Answer{Value: "yes"})
			}
			return err
		})
	}
	o.ask("claude", database())
	for _, c := range []struct {
		query string
		want  []int
	}{
		{"", seq(120, func(int) bool { return true })},
		{"?status=dismissed", seq(120, func(n int) bool { return n%4 == 0 })},
		{"?stream=lane-1&status=answered", seq(120, func(n int) bool { return n%2 == 1 && n%4 != 0 })},
		{"?agent=AGENT2", seq(120, func(n int) bool { return n%3 == 2 })},
		{"?q=NUMBER+77", []int{77}},
		{"?q=because+number", seq(120, func(n int) bool { return n%4 == 0 })},
		{"?kind=approval", nil},
	} {
		t.Run(c.query, func(t *testing.T) {
			var got []int
			next := "/history" + c.query
			for pages := 0; next != "" && pages < 10; pages++ {
				page := o.get(next)
				require.Equal(t, 200, page.status)
				for _, m := range regexp.MustCompile(`data-row><bdi>Shall table number (\d+) be`).FindAllStringSubmatch(page.body, -1) {
					var n int
					_, err := fmt.Sscan(m[1], &n)
					require.NoError(t, err)
					got = append(got, n)
				}
				require.NotContains(t, page.body, database().Question)
				next = ""
				if m := regexp.MustCompile(`href="([^"]*)">Older`).FindStringSubmatch(page.body); m != nil {
					next = html.UnescapeString(m[1])
				}
			}
			require.Equal(t, c.want, got)
		})
	}
	require.Equal(t, 422, o.get("/history?status=open").status)
	require.Equal(t, 422, o.get("/history?kind=x").status)
	require.Equal(t, 422, o.get("/history?cursor=x").status)
}

// seq returns the numbers below n that are wanted, the greatest first.
func seq(n int, want func(int) bool) []int {
	var out []int
	for i := n - 1; i >= 0; i-- {
		if want(i) {
			out = append(out, i)
		}
	}
	return out
}

// A plane whose human can't look anything up as an agent.
type humanPlane struct {
	revue.Plane
	err error
}

type refusedLookup struct {
	revue.Decider
	err error
}

func (p humanPlane) Decider(revue.Agent) revue.Decider { return refusedLookup{err: p.err} }

func (d refusedLookup) Lookup(context.Context, revue.Query) (revue.Findings, error) {
	return revue.Findings{}, d.err
}

// Where nothing can be looked up as an agent, the notes of the same concepts are shown, and a card can be answered in any case.
func TestSharedNotesRefused(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"denied": {revue.ErrDenied, "Orders has no index."},
		"failed": {revue.ErrUnavailable, "Shared notes could not be looked up."},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t)
			d := o.desk.Decider(revue.Agent{Workspace: "default", Credential: "tok-codex", Name: "codex", Thread: "t"})
			for concept, body := range map[string]string{"orders": "Orders has no index.", "billing": "Billing has one."} {
				_, err := d.Share(t.Context(), revue.ContextItem{Kind: "finding", Body: body, Concepts: []string{concept}})
				require.NoError(t, err)
			}
			o.ask("claude", database())
			o.direct = inbox.New(humanPlane{o.desk, c.err}, o.desk, nil).Handler()
			text := o.get("/lots/" + o.lots(revue.StatusOpen)[0].ID).text(t)
			require.Contains(t, text, c.want)
			require.Contains(t, text, "Send answer")
			require.NotContains(t, text, "Billing")
		})
	}
}

// vectors are the texts that agents may send to run in a page.
func vectors(t *testing.T) []string {
	t.Helper()
	b, err := os.ReadFile("testdata/hostile.txt")
	require.NoError(t, err)
	var out []string
	for l := range strings.Lines(string(b)) {
		if strings.HasPrefix(l, `"`) {
			v, err := strconv.Unquote(strings.TrimSpace(l))
			require.NoError(t, err)
			out = append(out, v)
		}
	}
	require.GreaterOrEqual(t, len(out), 60)
	return out
}

// harmless checks a page: it has the elements of its templates and of text alone, runs nothing, and leads nowhere else than
// a link says.
func harmless(t *testing.T, page response) {
	t.Helper()
	elements := strings.Fields(`html head meta title link script body a header img nav span div form input button main p h1 h2 h3 h4 h5 h6
		section article aside ul ol li time strong em del code pre blockquote br hr table thead tbody tr th td bdi details summary fieldset legend label
		textarea select option kbd mark dialog dl dt dd small`)
	doc, err := html.Parse(strings.NewReader(page.body))
	require.NoError(t, err)
	for n := range doc.Descendants() {
		if n.Type == html.CommentNode {
			t.Errorf("a comment: %s", n.Data)
		}
		if n.Type == html.TextNode && n.Parent.Data != "textarea" { // what a human types stays as typed, in their own form
			for _, r := range n.Data {
				require.False(t, r < ' ' && !strings.ContainsRune("\n\t\r", r) || r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069, "%U in <%s>", r, n.Parent.Data)
			}
		}
		if n.Type != html.ElementNode {
			continue
		}
		require.Contains(t, elements, n.Data)
		require.Empty(t, n.Namespace)
		for _, a := range n.Attr {
			require.False(t, strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "srcdoc", "%s of <%s>", a.Key, n.Data)
			switch a.Key {
			case "src":
				require.Regexp(t, "^/static/", a.Val)
			case "action", "formaction":
				require.Regexp(t, "^/([a-z]|$)", a.Val)
			case "href":
				if rel, _ := attribute(n, "rel"); rel == "noopener noreferrer nofollow" {
					require.Regexp(t, "^(https?://[a-z0-9]|mailto:)", a.Val)
				} else {
					require.Regexp(t, "^(/([?a-z].*)?|#[a-z]+)$", a.Val)
				}
			}
		}
	}
}

// What agents and humans write is text on every page that shows it.
func TestHostilePages(t *testing.T) {
	o := newOffice(t)
	for i, v := range vectors(t) {
		first := "x" + strings.Map(func(r rune) rune {
			if r < ' ' || r == 0x7f {
				return -1
			}
			return r
		}, v)
		agent := revue.Agent{Workspace: "default", Credential: fmt.Sprint("tok-", i), Name: v, Thread: first, Repo: first, Via: v}
		a := revue.Ask{
			Question: fmt.Sprintf("Vector %d: %s", i, v), Context: v, Concepts: []string{first}, Files: []string{first},
			Options: []revue.Option{{Value: "a", Label: v, Consequence: v}, {Value: fmt.Sprint("b", i), Label: "b"}}, Recommendation: "a",
		}
		if i%4 == 1 {
			a = revue.Ask{Kind: revue.KindApproval, Question: a.Question, Context: v, Affected: []revue.Affected{{Label: "x" + v, Meta: v}}}
		}
		d := o.desk.Decider(agent)
		_, err := d.Share(t.Context(), revue.ContextItem{Kind: "note", Body: fmt.Sprintf("Vector %d: ", i) + v, Concepts: []string{first}})
		require.NoError(t, err)
		_, err = d.Request(t.Context(), a)
		require.NoError(t, err, "%q", v)
		page, err := o.desk.Reviewer(o.me).Lots(t.Context(), revue.LotFilter{Newest: true, Limit: 1})
		require.NoError(t, err)
		id := page.Items[0].ID
		card := o.get("/lots/" + id)
		require.Equal(t, 200, card.status)
		harmless(t, card)
		form := card.form(t, "/lots/"+id+"/answer")
		form.Set("text", v)
		form.Set("note", v)
		form.Set("reason", v)
		form.Set("choice", v)
		harmless(t, o.post("/lots/"+id+"/answer?stream="+url.QueryEscape(v), form)) // refused or taken, shown either way
		if o.lot(id).Status != revue.StatusOpen {
			continue
		}
		switch {
		case a.Kind == revue.KindApproval:
			form.Set("choice", "=declined")
			form.Set("text", "")
			harmless(t, o.post("/lots/"+id+"/answer", form))
		case i%4 == 2:
			harmless(t, o.post("/lots/"+id+"/dismiss", form))
		default:
			form.Set("choice", "own")
			form.Set("text", "x"+v) // some of them are blank to the eye, and so no answer
			harmless(t, o.post("/lots/"+id+"/answer", form))
		}
		require.NotEqual(t, revue.StatusOpen, o.lot(id).Status, "%q", v)
		harmless(t, o.post("/lots/"+id+"/answer", form)) // too late, with what was typed
		harmless(t, o.get("/history?q="+url.QueryEscape(v)+"&agent="+url.QueryEscape(v)+"&stream="+url.QueryEscape(v)))
	}
	harmless(t, o.get("/history"))
}

// A card that nobody answers, whose text is gone, or whose asks went elsewhere says so.
func TestCardStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newDirectOffice(t)
		o.ask("claude", revue.Ask{Kind: revue.KindApproval, Question: "Delete it?", Expires: time.Minute})
		id := o.lots(revue.StatusOpen)[0].ID
		form := o.get("/lots/"+id).form(t, "/lots/"+id+"/answer")
		require.Contains(t, o.get("/lots/"+id).text(t), "Runs out in 1 min")
		<-time.After(2 * time.Minute)
		require.Contains(t, o.get("/lots/"+id).text(t), "Ran out Nobody answered before")
		form.Set("choice", "=approved")
		late := o.post("/lots/"+id+"/answer", form)
		require.Equal(t, http.StatusConflict, late.status)
		require.Contains(t, late.text(t), "This had ended before: nothing of what you sent now was recorded.")
		require.Equal(t, revue.StatusExpired, o.lot(id).Status)
		require.Contains(t, o.get("/history?status=expired").text(t), "Delete it? ran out")
	})
}

func TestReopenedIntoAnother(t *testing.T) {
	o := newOffice(t)
	o.ask("claude", database())
	first := o.lots(revue.StatusOpen)[0].ID
	form := o.get("/lots/"+first).form(t, "/lots/"+first+"/answer")
	page := o.post("/lots/"+first+"/dismiss", form)
	o.ask("codex", database())
	second := o.lots(revue.StatusOpen)[0].ID
	require.NotEqual(t, first, second)
	earlier := o.get("/lots/" + second)
	require.Contains(t, earlier.text(t), "The same was asked before, and dismissed by Ada")
	require.Contains(t, earlier.body, `href="/lots/`+first+`"`)
	page = o.post("/lots/"+first+"/reopen", page.form(t, "/lots/"+first+"/reopen"))
	require.Equal(t, "/lots/"+second+"?done=reopened", page.at.RequestURI())
	require.Equal(t, 2, o.lot(second).AskCount)
	gone := o.get("/lots/" + first)
	require.Contains(t, gone.text(t), "It was reopened into")
	require.NotContains(t, gone.body, "/reopen")

	require.NoError(t, o.desk.Admin(o.me).Purge(t.Context(), first))
	require.Contains(t, o.get("/lots/"+first).text(t), "The text of this card was purged")
	require.NotContains(t, o.get("/history").text(t), database().Question)
	require.Equal(t, http.StatusNotFound, o.get("/lots/lot_none").status)
}

// A card of very many asks is bounded, and settles them all.
func TestManyAsks(t *testing.T) {
	o := newOffice(t)
	a := database()
	a.Question = "Should we keep orders in Postgres?"
	const asks = 400
	for i := range asks {
		b := a
		b.Context = fmt.Sprintf("Context %d: %s", i, strings.Repeat("long ", 2000))
		o.ask(fmt.Sprintf("agent-%d", i), b)
	}
	b := a
	b.Question = "Hello, should we keep orders in Postgres?"
	o.ask("other", b)
	id := o.lots(revue.StatusOpen)[0].ID
	page := o.get("/lots/" + id)
	require.Less(t, len(page.body), 256<<10)
	require.Contains(t, page.text(t), "have a context of their own")
	require.Less(t, len(o.get("/lots/"+id+"?whole=1").body), 3<<20)
	form := page.form(t, "/lots/"+id+"/answer")
	form.Del("member")
	form.Set("choice", "=sqlite")
	require.Equal(t, 200, o.post("/lots/"+id+"/answer", form).status)
	require.Equal(t, asks, o.lot(id).AskCount)
	require.Len(t, o.lots(revue.StatusOpen), 1)
}

// Of many humans who answer at once, one does, and each other one is told who.
func TestRace(t *testing.T) {
	o := newOffice(t)
	o.ask("claude", database())
	id := o.lots(revue.StatusOpen)[0].ID
	const humans = 6
	forms, clients := make([]url.Values, humans), make([]*http.Client, humans)
	for i := range humans {
		clients[i] = o.signIn(fmt.Sprintf("Human-%d", i))
		o.client = clients[i]
		forms[i] = o.get("/lots/"+id).form(t, "/lots/"+id+"/answer")
		forms[i].Set("choice", "=sqlite")
		forms[i].Set("note", fmt.Sprintf("thought-%d", i))
	}
	pages := make([]response, humans)
	var wg sync.WaitGroup
	for i := range humans {
		wg.Go(func() { pages[i] = o.postAs(clients[i], "/lots/"+id+"/answer", forms[i]) })
	}
	wg.Wait()
	won := o.lot(id).Answer
	for i, page := range pages {
		if name := fmt.Sprintf("Human-%d", i); won.By.Name == name {
			require.Equal(t, 200, page.status)
			require.Equal(t, fmt.Sprintf("thought-%d", i), won.Note)
		} else {
			require.Equal(t, http.StatusConflict, page.status, name)
			require.Contains(t, page.text(t), "Answered by "+won.By.Name+" just now: nothing of what you sent now was recorded.")
			require.Contains(t, page.text(t), fmt.Sprintf("thought-%d", i))
		}
	}
}
