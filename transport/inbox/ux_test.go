package inbox_test

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
)

// current is the entry of the navigation that a page says it is of.
func current(t *testing.T, r response) string {
	t.Helper()
	for n := range parsed(t, r).Descendants() {
		if n.Data == "a" && attr(n, "aria-current") == "page" {
			return attr(n, "href")
		}
	}
	return ""
}

// Whoever has answered is still in the inbox, and gets to the next question.
func TestAfterAnAnswer(t *testing.T) {
	o := newOffice(t)
	id := o.ask("claude", database()).LotID
	next := o.ask("claude", revue.Ask{Question: "Which colour is it?"}).LotID
	at := "/lots/" + id
	page := o.get(at)
	require.Equal(t, "/", current(t, page))
	require.NotContains(t, page.body, "data-next")
	form := page.form(t, at+"/answer")
	form.Set("choice", "=postgres")
	done := o.post(at+"/answer", form)
	require.Equal(t, http.StatusOK, done.status)
	require.Equal(t, "/", current(t, done))
	require.Contains(t, done.body, `href="/lots/`+next+`" data-next`)
	require.Contains(t, done.body, `data-ended="Answered by Ada"`)
	later := o.get(at)
	require.Equal(t, "/history", current(t, later))
	require.NotContains(t, later.body, "data-next")

	at = "/lots/" + next
	form = o.get(at).form(t, at+"/answer")
	form.Set("text", "Red.")
	done = o.post(at+"/answer", form)
	require.NotContains(t, done.body, "data-next", "nothing is left")
	require.Contains(t, done.text(t), "Nothing waits for you")
}

// What agents say of the options is shown where it says something, and does not undo the bound of the list.
func TestConsequencesOfOthers(t *testing.T) {
	o := newOffice(t)
	b := database()
	for i := range b.Options {
		b.Options[i].Consequence = ""
	}
	first := o.ask("first", database()).LotID
	for i := range 30 {
		require.Equal(t, first, o.ask(fmt.Sprintf("silent-%d", i), b).LotID)
	}
	c := database()
	c.Options[0].Consequence = "Backups are the operator's."
	require.NotEqual(t, first, o.ask("other", c).LotID, "what nobody on the card says gets a card of its own")
	text := o.get("/lots/" + first).text(t)
	require.NotContains(t, text, ": nothing")
	require.NotContains(t, text, "Says of")
	require.NotContains(t, text, "silent-20", "no more are listed than others are")
}

// A correction that can't be made is said where it was filled in, and nothing of it is lost.
func TestCorrectionRefused(t *testing.T) {
	o := newOffice(t)
	d := o.decided(revue.Ask{Question: "Should we take it?"}, revue.Answer{Text: "yes"})
	at := "/decisions/" + d.ID
	for name, c := range map[string]struct {
		form url.Values
		want []string
	}{
		"no day":  {url.Values{"verb": {"expires_after"}, "after": {""}, "date": {""}}, []string{`value="expires_after" id="v-expires_after" required checked`, "choose 30, 90 or 180 days"}},
		"two":     {url.Values{"verb": {"expires_after"}, "after": {"90"}, "date": {"2031-02-03"}}, []string{`<option value="90" selected>`, `value="2031-02-03"`, "leave one of them out"}},
		"another": {url.Values{"verb": {"wrong"}, "after": {"90"}}, []string{`value="wrong" id="v-wrong" required checked`, `<option value="90" selected>`, "chose another correction"}},
		"none":    {url.Values{}, []string{"choose one of the five"}},
	} {
		t.Run(name, func(t *testing.T) {
			form := o.get(at).form(t, at+"/correct")
			form.Del("verb")
			form.Set("note", `half a "thought" <b>`)
			for k, v := range c.form {
				form[k] = v
			}
			page := o.post(at+"/correct", form)
			require.Equal(t, http.StatusUnprocessableEntity, page.status)
			require.Contains(t, page.text(t), "Should we take it?", "it is the same page")
			for _, want := range append(c.want, `half a &#34;thought&#34; &lt;b&gt;</textarea>`, `role="alert"`) {
				require.Contains(t, page.body, want)
			}
			require.Empty(t, o.why(d.ID).Decision.Corrections)
			again := page.form(t, at+"/correct")
			require.NotEqual(t, form.Get("call"), again.Get("call"))
		})
	}
}

// The newest question that anybody is told of is one of no muted stream.
func TestMutedIsNotTold(t *testing.T) {
	o := newOffice(t)
	o.ask("claude", database())
	before := o.get("/history")
	opened := func(r response) string {
		for n := range parsed(t, r).Descendants() {
			if attr(n, "id") == "main" {
				return attr(n, "data-opened")
			}
		}
		return ""
	}
	_, err := o.desk.Admin(o.me).SetStream(t.Context(), revue.StreamSettings{Slug: "noise", Muted: true})
	require.NoError(t, err)
	o.ask("claude", revue.Ask{Question: "Which noise is it?", Stream: "noise"})
	require.Equal(t, opened(before), opened(o.get("/history")))
	o.ask("claude", revue.Ask{Question: "Which colour is it?"})
	require.NotEqual(t, opened(before), opened(o.get("/history")))
}

// The rail names a large number whole where there is room, and short on a phone.
func TestManyWait(t *testing.T) {
	o := newOffice(t)
	for i := range 101 {
		o.ask("claude", revue.Ask{Question: fmt.Sprintf("Should migration %d run before release %d?", 100+i, i)})
	}
	require.Contains(t, o.get("/history").body, `<span class="exact">101</span><span class="capped" aria-hidden="true">99+</span>`)
}

// How cards ended is counted in cards, and what was taken back is no correction.
func TestOverviewCountsCards(t *testing.T) {
	o := newOffice(t)
	o.ask("other", database())
	d := o.decided(database(), revue.Answer{Value: "postgres"})
	human := o.desk.Reviewer(o.me)
	x, err := human.Correct(t.Context(), revue.Correction{DecisionID: d.ID, Verb: revue.VerbTooBroad})
	require.NoError(t, err)
	_, err = human.Correct(t.Context(), revue.Correction{DecisionID: d.ID, Undoes: x.Corrections[0].ID})
	require.NoError(t, err)
	page := o.get("/overview")
	require.Contains(t, page.body, ": 1 answered</title>", "two asks were on it")
	require.Contains(t, page.text(t), "Cards, by how they ended")
	rows := cells(t, page, "Correction")
	require.Equal(t, []string{"all", "1"}, rows[len(rows)-1])
	require.Contains(t, page.text(t), "One correction or wording was taken back.")
	require.Contains(t, page.body, `class="p2" cx=`)
	require.Contains(t, page.body, `r="6"`, "the p90 is seen around an equal median")
}
