package inbox_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/httpguard"
	"github.com/revuehq/revue/transport/inbox"
)

// decided asks the question and has it answered, and returns the decision.
func (o *office) decided(a revue.Ask, answer revue.Answer) revue.Decision {
	o.t.Helper()
	out := o.ask("claude", a)
	lot, err := o.desk.Reviewer(o.me).Answer(o.t.Context(), out.LotID, answer)
	require.NoError(o.t, err)
	x, err := o.desk.Reviewer(o.me).Why(o.t.Context(), lot.DecisionID)
	require.NoError(o.t, err)
	return x.Decision
}

func (o *office) why(id string) revue.Explanation {
	o.t.Helper()
	x, err := o.desk.Reviewer(o.me).Why(o.t.Context(), id)
	require.NoError(o.t, err)
	return x
}

func TestMemoryPage(t *testing.T) {
	o := newOffice(t)
	empty := o.get("/memory")
	require.Equal(t, http.StatusOK, empty.status)
	require.Contains(t, empty.text(t), "Nothing is remembered yet")

	d := o.decided(database(), revue.Answer{Value: "postgres"})
	other := o.decided(revue.Ask{Question: "Which colour should buttons have?", Concepts: []string{"design"}}, revue.Answer{Text: "Blue"})
	list := o.get("/memory")
	require.Contains(t, list.body, `href="/decisions/`+d.ID+`"`)
	require.Contains(t, list.body, `href="/decisions/`+other.ID+`"`)
	require.Less(t, strings.Index(list.body, other.ID), strings.Index(list.body, d.ID), "the newest first")
	design := o.get("/memory?concepts=design")
	require.Contains(t, design.body, other.ID)
	require.NotContains(t, design.body, d.ID)

	found := o.get("/memory?" + url.Values{"q": {d.Question}, "concepts": {"orders"}}.Encode())
	text := found.text(t)
	require.Contains(t, found.body, `href="/decisions/`+d.ID+`"`)
	require.Contains(t, text, "apply fresh score 100 % · confidence ")
	near := o.get("/memory?" + url.Values{"q": {"Which database should the orders service not use?"}}.Encode()).text(t)
	require.Contains(t, near, "confirm fresh score")
	require.Contains(t, near, "negation")
	require.Contains(t, o.get("/memory?q=kangaroo+breeding").text(t), "Nothing is remembered for this")
	require.Contains(t, o.get("/memory?q=database&repo=none").text(t), "no address of a repository")

	// The lookup of a human leaves no trace, and is one of the repository that was typed.
	require.Len(t, o.lots(""), 2)
	elsewhere := revue.Correction{DecisionID: d.ID, Verb: revue.VerbOnlyThisRepo}
	_, err := o.desk.Reviewer(o.me).Correct(t.Context(), elsewhere)
	require.NoError(t, err)
	require.Contains(t, o.get("/memory?"+url.Values{"q": {d.Question}, "repo": {"github.com/acme/api"}}.Encode()).text(t), "confirm fresh")
}

func TestMemoryPages(t *testing.T) {
	o := newOffice(t)
	var ids []string
	for _, w := range strings.Fields("ant bee cat dog eel fox gnu hen ibex jay koi lynx mole newt owl pig quail rat seal toad") {
		for _, c := range []string{"feed", "house", "name"} {
			ids = append(ids, o.decided(revue.Ask{Question: "How should we " + c + " the " + w + "?", Concepts: []string{c}}, revue.Answer{Text: "well"}).ID)
		}
	}
	first := o.get("/memory")
	require.NotContains(t, first.body, ids[0])
	require.Contains(t, first.body, ids[len(ids)-1])
	i := strings.Index(first.body, `href="/memory?cursor=`)
	require.Positive(t, i)
	next, _, _ := strings.Cut(first.body[i+len(`href="`):], `"`)
	second := o.get(next)
	require.Contains(t, second.body, ids[0])
	require.NotContains(t, second.body, ids[len(ids)-1])
	require.Contains(t, second.text(t), "Newest")
	require.Equal(t, http.StatusUnprocessableEntity, o.get("/memory?cursor=none").status)
}

// Over a plane elsewhere nobody looks up but agents: the human is shown what their own search finds.
func TestMemoryElsewhere(t *testing.T) {
	o := newOffice(t)
	d := o.decided(database(), revue.Answer{Value: "postgres"})
	srv := httptest.NewServer(httpguard.New(nil)(inbox.New(noLookup{o.desk}, o.desk, nil).Handler()))
	t.Cleanup(srv.Close)
	o.url = srv.URL
	o.client = o.signIn("Ada")
	page := o.get("/memory?" + url.Values{"q": {d.Question}}.Encode())
	require.Equal(t, http.StatusOK, page.status)
	require.Contains(t, page.body, `href="/decisions/`+d.ID+`"`)
	require.Contains(t, page.text(t), "tells scores and guidance to agents alone")
	require.NotContains(t, page.text(t), "confidence")
	require.Equal(t, http.StatusOK, o.get("/decisions/"+d.ID).status)
}

// noLookup is a plane that refuses agents which have no token.
type noLookup struct{ revue.Plane }

func (p noLookup) Decider(a revue.Agent) revue.Decider { return agentsOnly{p.Plane.Decider(a)} }

type agentsOnly struct{ revue.Decider }

func (agentsOnly) Lookup(context.Context, revue.Query) (revue.Findings, error) {
	return revue.Findings{}, &revue.Error{Code: revue.CodeDenied, Message: "agents only"}
}

func TestNotes(t *testing.T) {
	o := newOffice(t)
	require.Contains(t, o.get("/memory/notes").text(t), "Agents share nothing")
	agent := o.desk.Decider(revue.Agent{Workspace: "default", Credential: "tok-x", Name: "codex (ci)", Thread: "t", Via: "test", Repo: "github.com/acme/api"})
	item, err := agent.Share(t.Context(), revue.ContextItem{Kind: "risk", Body: "The staging disk is full.\nNobody noticed.", Concepts: []string{"staging"}})
	require.NoError(t, err)
	page := o.get("/memory/notes")
	require.Contains(t, page.text(t), "The staging disk is full. Nobody noticed. risk codex (ci) · github.com/acme/api")
	require.Contains(t, page.text(t), "No human has checked it")

	path := "/memory/notes/" + item.ID + "/remove"
	done := o.post(path, page.form(t, path))
	require.Equal(t, "/memory/notes", done.at.Path)
	require.Contains(t, done.text(t), "out of circulation")
	require.Contains(t, done.text(t), "Agents share nothing")
	require.Equal(t, http.StatusNotFound, o.post("/memory/notes/ctx_none/remove", page.form(t, path)).status)
}

func TestDecisionPage(t *testing.T) {
	o := newOffice(t)
	ask := database()
	out := o.ask("claude", ask)
	lot, err := o.desk.Reviewer(o.me).Answer(t.Context(), out.LotID, revue.Answer{Value: "postgres", Note: "We know it well.", Remember: revue.RememberRule})
	require.NoError(t, err)
	again := o.ask("codex", ask)
	require.Equal(t, revue.OutcomeReused, again.Status)

	page := o.get("/decisions/" + lot.DecisionID)
	text := page.text(t)
	for _, want := range []string{
		ask.Question, "Postgres", "We know it well.", "Bob , through cli", "as a rule", "Agents are told apply confidence", "SQLite ( sqlite )",
		"One node only.", "concepts: orders", "codex", "claude", "reused", "opened the card", "Nobody corrected it", "decision.made", "lot.answered", "ask.reused",
		"repository unknown", "put to a human everywhere",
	} {
		require.Contains(t, text, want)
	}
	require.Contains(t, page.body, `href="/lots/`+lot.ID+`"`)
	require.Contains(t, page.body, `href="/receipts/`+lot.ReceiptID+`"`)
	require.Contains(t, page.body, `href="/receipts/`+again.Receipt.ID+`"`)
	require.Equal(t, http.StatusNotFound, o.get("/decisions/dec_none").status)

	// The chain, both ways.
	x := o.why(lot.DecisionID)
	_, err = o.desk.Reviewer(o.me).Correct(t.Context(), revue.Correction{DecisionID: lot.DecisionID, Verb: revue.VerbAskNextTime})
	require.NoError(t, err)
	fresh := o.ask("third", ask)
	require.Equal(t, revue.OutcomePending, fresh.Status)
	newer, err := o.desk.Reviewer(o.me).Answer(t.Context(), fresh.LotID, revue.Answer{Value: "sqlite"})
	require.NoError(t, err)
	old, now := o.get("/decisions/"+x.Decision.ID), o.get("/decisions/"+newer.DecisionID)
	require.Contains(t, old.body, `<a href="/decisions/`+newer.DecisionID+`">`)
	require.Contains(t, old.text(t), "superseded It matches nothing any more")
	require.Contains(t, now.body, `<a href="/decisions/`+x.Decision.ID+`">`)
	require.Contains(t, now.text(t), "older · Bob")
}

// A decision that was used often has a page of bounded size, which says what it leaves out.
func TestManyUses(t *testing.T) {
	o := newOffice(t)
	d := o.decided(database(), revue.Answer{Value: "postgres"})
	for i := range 230 {
		require.Equal(t, revue.OutcomeReused, o.ask("agent-"+strconv.Itoa(i), database()).Status)
	}
	page := o.get("/decisions/" + d.ID)
	require.Equal(t, 200, strings.Count(page.body, `<li id="u-`))
	require.Contains(t, page.text(t), "Uses 231")
	require.Contains(t, page.text(t), "31 earlier ones are not shown here")
	require.Contains(t, page.text(t), "agent-229")
	require.NotContains(t, page.text(t), "agent-7 ")
	require.Contains(t, page.text(t), "The first 33 events are not shown here")
}

func TestReceiptFile(t *testing.T) {
	o := newOffice(t)
	d := o.decided(database(), revue.Answer{Value: "postgres"})
	id := o.lot(d.LotID).ReceiptID
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, o.url+"/receipts/"+id, nil)
	require.NoError(t, err)
	res, err := o.client.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, `attachment; filename="`+id+`.json"`, res.Header.Get("Content-Disposition"))
	require.Equal(t, "application/json", res.Header.Get("Content-Type"))
	var r revue.Receipt
	require.NoError(t, json.NewDecoder(res.Body).Decode(&r))
	keys, err := o.desk.Keys(t.Context())
	require.NoError(t, err)
	require.NoError(t, keys.VerifyReceipt(r))
	require.Equal(t, http.StatusNotFound, o.get("/receipts/rcpt_none").status)
}

// Each of the five corrections by its form, and each undone.
func TestCorrectionForms(t *testing.T) {
	o := newOffice(t)
	day := time.Now().UTC().AddDate(0, 0, 40).Format(time.DateOnly)
	for _, c := range []struct {
		verb revue.Verb
		more url.Values
		want func(t *testing.T, d revue.Decision)
	}{
		{revue.VerbWrong, nil, func(t *testing.T, d revue.Decision) { t.Helper(); require.False(t, d.Live()) }},
		{revue.VerbTooBroad, nil, nil},
		{revue.VerbOnlyThisRepo, nil, nil},
		{revue.VerbAskNextTime, nil, nil},
		{revue.VerbExpiresAfter, url.Values{"after": {"30"}}, func(t *testing.T, d revue.Decision) {
			t.Helper()
			require.WithinDuration(t, time.Now().Add(30*24*time.Hour), d.ExpiresAt(), time.Minute)
		}},
		{revue.VerbExpiresAfter, url.Values{"after": {"180"}, "date": {""}}, func(t *testing.T, d revue.Decision) {
			t.Helper()
			require.WithinDuration(t, time.Now().Add(180*24*time.Hour), d.ExpiresAt(), time.Minute)
		}},
		{revue.VerbExpiresAfter, url.Values{"after": {""}, "date": {day}}, func(t *testing.T, d revue.Decision) {
			t.Helper()
			require.Equal(t, day+"T00:00:00Z", d.ExpiresAt().Format(time.RFC3339))
		}},
	} {
		t.Run(string(c.verb)+c.more.Encode(), func(t *testing.T) {
			d := o.decided(revue.Ask{Question: "Should we take " + string(c.verb) + c.more.Encode() + "?"}, revue.Answer{Text: "yes"})
			at := "/decisions/" + d.ID
			form := o.get(at).form(t, at+"/correct")
			require.NotEmpty(t, form.Get("call"))
			form.Set("verb", string(c.verb))
			form.Set("note", "  because of that  ")
			for k, v := range c.more {
				form[k] = v
			}
			done := o.post(at+"/correct", form)
			require.Equal(t, at, done.at.Path, done.text(t))
			require.Contains(t, done.text(t), "The correction is in force")
			require.Contains(t, done.text(t), "because of that")
			got := o.why(d.ID).Decision
			require.True(t, got.Stands(c.verb))
			require.Equal(t, "because of that", got.Corrections[0].Note)
			require.Equal(t, "Ada", got.Corrections[0].By.Name)
			require.Equal(t, "web", got.Corrections[0].By.Via)
			if c.want != nil {
				c.want(t, got)
			}

			undo := done.form(t, at+"/undo")
			require.Equal(t, got.Corrections[0].ID, undo.Get("undoes"))
			back := o.post(at+"/undo", undo)
			require.Contains(t, back.text(t), "That was taken back")
			require.False(t, o.why(d.ID).Decision.Stands(c.verb))

			// The very same forms again change nothing: a reload, a double press.
			require.Equal(t, http.StatusOK, o.post(at+"/correct", form).status)
			require.Equal(t, http.StatusOK, o.post(at+"/undo", undo).status)
			require.Len(t, o.why(d.ID).Decision.Corrections, 2)
		})
	}

	d := o.decided(database(), revue.Answer{Value: "postgres"})
	at := "/decisions/" + d.ID
	form := o.get(at).form(t, at+"/correct")
	for _, bad := range []url.Values{
		{},
		{"verb": {"nonsense"}},
		{"verb": {"expires_after"}},
		{"verb": {"expires_after"}, "after": {"7"}},
		{"verb": {"expires_after"}, "after": {"date"}},
		{"verb": {"expires_after"}, "after": {"90"}, "date": {day}},
		{"verb": {"expires_after"}, "date": {"soon"}},
		{"verb": {"wrong"}, "after": {"90"}},
		{"verb": {"too_broad"}, "date": {day}},
		{"verb": {"wrong"}, "note": {strings.Repeat("x", revue.MaxNote+1)}},
	} {
		sent := url.Values{"csrf": form["csrf"], "call": form["call"]}
		for k, v := range bad {
			sent[k] = v
		}
		res := o.post(at+"/correct", sent)
		require.GreaterOrEqual(t, res.status, 400, bad)
		require.Less(t, res.status, 500, bad)
	}
	require.Equal(t, http.StatusUnprocessableEntity, o.post(at+"/undo", form).status)
	form.Set("undoes", "cor_none")
	require.Equal(t, http.StatusNotFound, o.post(at+"/undo", form).status)
	require.Empty(t, o.why(d.ID).Decision.Corrections)
}

// A wording that was accepted can be taken back by itself.
func TestAliasForm(t *testing.T) {
	o := newOffice(t)
	o.ask("claude", revue.Ask{Question: "Should we store passwords with bcrypt?"})
	o.ask("codex", revue.Ask{Question: "Hello, should we store passwords with bcrypt?"})
	lot := o.lots(revue.StatusOpen)[0]
	require.Equal(t, 2, lot.AskCount)
	lot, err := o.desk.Reviewer(o.me).Answer(t.Context(), lot.ID, revue.Answer{
		Text: "yes", Seen: lot.Revision, Remember: revue.RememberRule, Members: []string{lot.Asks[0].ID, lot.Asks[1].ID},
	})
	require.NoError(t, err)
	d := o.why(lot.DecisionID).Decision
	require.Len(t, d.Aliases, 1)
	at := "/decisions/" + d.ID
	page := o.get(at)
	require.Contains(t, page.text(t), "Hello, should we store passwords with bcrypt? Bob")
	undo := page.form(t, at+"/undo")
	require.Equal(t, d.Aliases[0].ID, undo.Get("undoes"))
	done := o.post(at+"/undo", undo)
	require.Contains(t, done.text(t), "taken back")
	require.Contains(t, done.text(t), "Undo of the wording “Hello, should we store passwords with bcrypt?”")
	require.Empty(t, o.why(d.ID).Decision.Accepted())
}

func TestPurgeForm(t *testing.T) {
	o := newOffice(t)
	d := o.decided(database(), revue.Answer{Value: "postgres"})
	at := "/decisions/" + d.ID
	form := o.get(at).form(t, at+"/purge")
	for _, word := range []string{"", "yes", "purg"} {
		form.Set("confirm", word)
		res := o.post(at+"/purge", form)
		require.Equal(t, http.StatusUnprocessableEntity, res.status)
		require.Contains(t, res.text(t), "nothing was purged")
	}
	require.False(t, o.why(d.ID).Decision.Purged)
	form.Set("confirm", " Purge ")
	done := o.post(at+"/purge", form)
	require.Contains(t, done.text(t), "blank for good")
	require.NotContains(t, done.text(t), "database")
	require.NotContains(t, done.body, at+"/correct")
	require.True(t, o.why(d.ID).Decision.Purged)
	require.Equal(t, http.StatusNotFound, o.post("/decisions/"+d.LotID+"/purge", form).status)
}

// What agents write is shown on these pages whole and does nothing.
func TestHostileMemory(t *testing.T) {
	o := newOffice(t)
	agent := o.desk.Decider(revue.Agent{Workspace: "default", Credential: "tok-x", Name: nasty(0), Thread: nasty(1), Via: "test"})
	ask := revue.Ask{
		Question: nasty(2), Options: []revue.Option{{Value: plainNasty, Label: nasty(3), Consequence: nasty(4)}, {Value: "b", Label: nasty(5)}},
		Recommendation: "b", Context: nasty(6), Concepts: []string{nasty(7)}, Files: []string{nasty(8)},
	}
	out, err := agent.Request(t.Context(), ask)
	require.NoError(t, err)
	lot, err := o.desk.Reviewer(o.me).Answer(t.Context(), out.LotID, revue.Answer{Value: plainNasty, Note: nasty(9)})
	require.NoError(t, err)
	_, err = agent.Share(t.Context(), revue.ContextItem{Kind: "<b onclick=alert(1)>", Body: nasty(10), Concepts: []string{nasty(7)}})
	require.NoError(t, err)
	_, err = o.desk.Reviewer(o.me).Correct(t.Context(), revue.Correction{DecisionID: lot.DecisionID, Verb: revue.VerbTooBroad, Note: nasty(11)})
	require.NoError(t, err)
	for path, fields := range map[string][]int{
		"/memory": {2, 3, 7}, "/memory?" + url.Values{"q": {nasty(2)}, "concepts": {nasty(7)}}.Encode(): {2, 3, 7},
		"/memory/notes": {0, 7, 10}, "/decisions/" + lot.DecisionID: {0, 2, 3, 4, 5, 7, 8, 9, 11}, "/overview": {0},
	} {
		page := o.get(path)
		require.Equal(t, http.StatusOK, page.status, path)
		clean(t, page)
		for _, i := range fields {
			require.Contains(t, page.text(t), "x"+string(rune('a'+i))+"<script>", "%s shows field %d", path, i)
		}
		require.NotContains(t, page.text(t), "\u202e", path) // a field has what its human typed
		require.Contains(t, page.body, "U+202E", path)
	}
}

// plainNasty is as bad as the value of an option may be.
const plainNasty = `"><script>alert(1)</script><a href="javascript:alert(1)" onclick='x'>`

// nasty is a text that would do all it can, told apart by a letter.
func nasty(i int) string {
	return "x" + string(rune('a'+i)) + "<script>alert(1)</script>\u202e" + plainNasty
}

// clean checks that a page has no script but its own and no handler, style or address that runs.
func clean(t *testing.T, r response) {
	t.Helper()
	scripts := []string{}
	for n := range parsed(t, r).Descendants() {
		if n.Data == "script" {
			require.Nil(t, n.FirstChild)
			require.Regexp(t, `^/static/[a-z0-9.-]+\.js\?v=[0-9a-f]+$`, attr(n, "src"))
			scripts = append(scripts, attr(n, "src"))
		}
		for _, a := range n.Attr {
			require.False(t, strings.HasPrefix(a.Key, "on"), "%s=%q", a.Key, a.Val)
			require.NotEqual(t, "style", a.Key)
			if a.Key == "href" || a.Key == "src" || a.Key == "action" {
				require.True(t, strings.HasPrefix(a.Val, "/") || strings.HasPrefix(a.Val, "#"), a.Val)
			}
		}
	}
	require.Len(t, scripts, 2, "those of the frame")
}

func parsed(t *testing.T, r response) *html.Node {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(r.body))
	require.NoError(t, err)
	return doc
}

// Every text of the corpus as a note, as a question, an option and an answer, on every page that shows them.
func TestHostileCorpus(t *testing.T) {
	o := newOffice(t)
	pages := []string{"/overview"}
	taken := 0
	for i, text := range vectors(t) {
		agent := o.desk.Decider(revue.Agent{Workspace: "default", Credential: "tok-" + strconv.Itoa(i), Name: text, Thread: "t", Via: "test"})
		if _, err := agent.Share(t.Context(), revue.ContextItem{Kind: "note", Body: text}); err != nil {
			require.Equal(t, revue.CodeInvalid, revue.CodeOf(err))
			continue
		}
		out, err := agent.Request(t.Context(), revue.Ask{
			Question: text[:min(len(text), 500)] + "?", Options: []revue.Option{{Value: "a", Label: text[:min(len(text), 500)]}, {Value: "b"}}, Context: text,
		})
		if err != nil || out.Status != revue.OutcomePending {
			continue // cut inside of a letter, or taken for the same as one before
		}
		lot, err := o.desk.Reviewer(o.me).Answer(t.Context(), out.LotID, revue.Answer{Value: "a", Note: text[:min(len(text), 1000)]})
		if err != nil {
			continue
		}
		taken++
		if i%5 == 0 {
			pages = append(pages, "/decisions/"+lot.DecisionID)
		}
	}
	require.Greater(t, taken, 60)
	for _, list := range []string{"/memory", "/memory/notes"} {
		for at := list; at != ""; {
			pages = append(pages, at)
			next := ""
			for n := range parsed(t, o.get(at)).Descendants() {
				if n.Data == "a" && strings.HasPrefix(attr(n, "href"), list+"?cursor=") {
					next = attr(n, "href")
				}
			}
			at = next
		}
	}
	for _, path := range pages {
		page := o.get(path)
		require.Equal(t, http.StatusOK, page.status, path)
		clean(t, page)
	}
}
