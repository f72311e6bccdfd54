package inbox_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/revuehq/revue"
)

// A new stream for each question makes no page longer than a few dozen of them do, and each can be found.
func TestManyStreams(t *testing.T) {
	o := newOffice(t)
	const streams = 120
	for i := range streams {
		a := database()
		a.Question, a.Stream = fmt.Sprintf("Which database should service number %d use?", i), fmt.Sprintf("stream-%03d", i)
		o.ask("one", a)
	}
	for _, path := range []string{"/", "/lots/" + o.lots(revue.StatusOpen)[0].ID, "/?stream=stream-119"} {
		page := o.get(path)
		require.LessOrEqual(t, strings.Count(page.body, `href="/?stream=`), 52, path)
		require.Contains(t, page.text(t), "more: search for a stream by its name", path)
	}
	require.Contains(t, o.get("/?stream=stream-119").body, `href="/?stream=stream-119" aria-current="true"`)
	require.Contains(t, o.get("/?q=stream-119").text(t), "service number 119")

	seen := map[string]bool{}
	for part := 1; part <= 3; part++ {
		body := o.get(fmt.Sprintf("/settings?part=%d", part)).body
		require.LessOrEqual(t, strings.Count(body, `action="/settings/streams"`), 50)
		for i := range streams {
			if slug := fmt.Sprintf("stream-%03d", i); strings.Contains(body, `id="f-`+slug+`"`) {
				require.False(t, seen[slug])
				seen[slug] = true
			}
		}
	}
	require.Len(t, seen, streams)
	for part, want := range map[string]string{"": "Page 1 of 3", "x": "Page 1 of 3", "-4": "Page 1 of 3", "99": "Page 3 of 3"} {
		require.Contains(t, o.get("/settings?part="+part).text(t), want)
	}
	form := o.get("/settings?part=2").form(t, "/settings/streams")
	require.Equal(t, "2", form.Get("part"))
	form.Set("name", "Renamed")
	res := o.post("/settings/streams", form)
	require.Equal(t, http.StatusOK, res.status)
	require.Equal(t, "2", res.at.Query().Get("part"))
}

// No two elements of a page have the same id, whatever streams are called.
func TestIDsDoNotCollide(t *testing.T) {
	o := newOffice(t)
	for i, stream := range []string{"x", "x-name", "name", "name-x", "streams", "h-streams", "default", "1", "0", "own", "tick", "main", "q", "rail", "token"} {
		a := database()
		a.Question, a.Stream = fmt.Sprintf("Which database should service number %d use?", i), stream
		o.ask("one", a)
		if i%2 == 0 {
			o.ask("two", a)
		}
	}
	lots := o.lots(revue.StatusOpen)
	require.Greater(t, len(lots), 10)
	form := o.get("/lots/"+lots[0].ID).form(t, "/lots/"+lots[0].ID+"/answer")
	form.Set("choice", "=sqlite")
	require.Equal(t, http.StatusOK, o.post("/lots/"+lots[0].ID+"/answer", form).status)
	together := url.Values{"lot": {lots[1].ID, lots[2].ID}}
	decision := o.lot(lots[0].ID).DecisionID
	require.NotEmpty(t, decision)
	for _, path := range []string{"/", "/settings", "/overview", "/overview?stream=x", "/memory", "/history", "/lots/" + lots[1].ID, "/lots/" + lots[0].ID, "/decisions/" + decision, "/lots/answer?" + together.Encode()} {
		page := o.get(path)
		require.Equal(t, http.StatusOK, page.status, path)
		doc, err := html.Parse(strings.NewReader(page.body))
		require.NoError(t, err)
		seen := map[string]bool{}
		for n := range doc.Descendants() {
			if id, ok := attribute(n, "id"); ok {
				require.False(t, seen[id], "%q is twice in %s", id, path)
				seen[id] = true
			}
		}
	}
}

// Who answers several questions at once sees of each what its own card would show, or that its card has more.
func TestTogetherShowsContexts(t *testing.T) {
	o := newOffice(t)
	ids := url.Values{}
	for i := range 2 {
		a := database()
		a.Question = fmt.Sprintf("Which database should service number %d use?", i)
		a.Context = fmt.Sprintf("It holds **ledger %d** of the bank. %s", i, strings.Repeat("long ", 1000*i))
		out := o.ask("one", a)
		ids.Add("lot", out.LotID)
	}
	b := database()
	b.Question, b.Context, b.Recommendation = "Which database should service number 0 use?", "Mine is another one.", "sqlite"
	o.ask("two", b)
	page := o.get("/lots/answer?" + ids.Encode())
	text := page.text(t)
	require.Contains(t, page.body, "**ledger 0** of the bank")
	require.Contains(t, page.body, "**ledger 1** of the bank")
	require.Contains(t, text, "open its card")
	require.Contains(t, text, "The agent recommends: Postgres")
	require.Contains(t, text, "1 of its asks has a context of its own")
	require.Contains(t, text, "1 of its asks recommends something else")
}
