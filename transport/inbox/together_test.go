package inbox

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
)

// several is a workspace with lots that ask the same in scopes that do not fit.
type several struct {
	*site

	me   revue.Token
	lots []revue.Lot
}

func newSeveral(t *testing.T, n int) *several {
	t.Helper()
	s := &several{site: newSite(t, nil)}
	s.me = s.session("umbrella", "Ada")
	for i := range n {
		s.ask(revue.Ask{
			Question: "Should we keep orders in Postgres?", Concepts: []string{fmt.Sprint("part", i)},
			Options: []revue.Option{{Value: "pg", Label: "Postgres", Consequence: "slow"}, {Value: "lite", Label: "SQLite"}},
		})
	}
	return s
}

func (s *several) ask(a revue.Ask) revue.Lot {
	s.t.Helper()
	out, err := s.desk.Decider(revue.Agent{Workspace: "umbrella", Credential: "tok_a", Name: "agent", Thread: "t"}).Request(s.t.Context(), a)
	require.NoError(s.t, err)
	lot := s.lot(out.LotID)
	s.lots = append(s.lots, lot)
	return lot
}

func (s *several) lot(id string) revue.Lot {
	s.t.Helper()
	lot, err := s.desk.Reviewer(s.human("umbrella", "Ada")).Lot(s.t.Context(), id)
	require.NoError(s.t, err)
	return lot
}

func (s *several) page(path string) string {
	s.t.Helper()
	res := s.do(call{method: http.MethodGet, path: path, cookie: s.me.Secret})
	body := res.text
	require.Equal(s.t, http.StatusOK, res.StatusCode, body)
	return body
}

// send sends the form with the lots as they were on it.
func (s *several) send(lots []revue.Lot, value string) result {
	s.t.Helper()
	form := url.Values{"csrf": {formToken(s.me.Secret)}, "value": {value}, "note": {"all of them"}}
	for _, l := range lots {
		form.Add("lot", fmt.Sprint(l.ID, ":", l.Revision))
	}
	return s.do(call{method: http.MethodPost, path: "/lots/answer", cookie: s.me.Secret, form: form})
}

// Each lot of the form is answered by itself, and the page says what became of each.
func TestTogether(t *testing.T) {
	s := newSeveral(t, 4)
	require.Contains(t, s.page("/"), "Answer 4 alike together")
	body := s.page("/lots/answer?like=" + s.lots[1].ID)
	for _, l := range s.lots {
		require.Contains(t, body, fmt.Sprintf(`value="%s:%d"`, l.ID, l.Revision))
	}
	require.Contains(t, body, `value="pg"`)
	require.Contains(t, body, "slow")

	// Somebody is faster with one.
	_, err := s.desk.Reviewer(revue.Human{Workspace: "umbrella", ID: "mem_bo", Name: "Bo", Via: "cli"}).Answer(t.Context(), s.lots[2].ID, revue.Answer{Value: "lite"})
	require.NoError(t, err)
	res := s.send(s.lots, "pg")
	require.Equal(t, http.StatusSeeOther, res.StatusCode, res.text)
	for i, l := range s.lots {
		now := s.lot(l.ID)
		require.Equal(t, revue.StatusAnswered, now.Status)
		require.Equal(t, map[bool]string{true: "lite", false: "pg"}[i == 2], now.Answer.Value)
		if i != 2 {
			require.Equal(t, "web", now.Answer.By.Via)
			require.Equal(t, "all of them", now.Answer.Note)
		}
	}
	body = s.page(res.Header.Get("Location"))
	require.Contains(t, body, "3 of 4 answered by you")
	require.Equal(t, 3, strings.Count(body, "answered by you: "))
	require.Contains(t, body, "answered by <bdi>Bo</bdi>: <bdi>lite</bdi>")
	require.Equal(t, res.Header.Get("Location"), s.send(s.lots, "pg").Header.Get("Location"), "the same form again changes nothing")
}

// What is offered is what every one of them offers, and no approval is among them.
func TestTogetherOffers(t *testing.T) {
	s := newSeveral(t, 1)
	other := s.ask(revue.Ask{Question: "Which cache?", Options: []revue.Option{{Value: "lite", Label: "SQLite", Consequence: "no server"}, {Value: "pg", Label: "Postgres 17"}}})
	approval := s.ask(revue.Ask{Kind: revue.KindApproval, Question: "Deploy"})
	words := s.ask(revue.Ask{Question: "What is it called?"})
	q := func(lots ...revue.Lot) string {
		v := url.Values{}
		for _, l := range lots {
			v.Add("lot", l.ID)
		}
		return "/lots/answer?" + v.Encode()
	}
	body := s.page(q(s.lots[0], other, approval))
	require.Contains(t, body, `name="value" value="lite"`)
	require.NotContains(t, body, `name="value" value="pg"`, "another label is another option")
	require.Contains(t, body, "<bdi>SQLite</bdi>: <bdi>no server</bdi>", "where consequences differ each lot says its own")
	require.Contains(t, body, "1 left out")
	require.NotContains(t, body, approval.ID+":")
	require.Contains(t, s.page(q(s.lots[0], words)), "No option is offered by all of these")
	require.Contains(t, s.page(q()), "Tick some questions")
	require.Contains(t, s.page(q(approval)), "Tick some questions")

	before := s.head("umbrella")
	for name, c := range map[string]struct {
		lots  []revue.Lot
		value string
		says  string
	}{
		"an approval":              {[]revue.Lot{s.lots[0], approval}, "lite", "an approval is answered on its own card"},
		"another label":            {[]revue.Lot{s.lots[0], other}, "pg", "not all of these questions offer this option"},
		"no option":                {[]revue.Lot{s.lots[0], words}, "lite", "not all of these questions offer this option"},
		"nothing chosen":           {[]revue.Lot{s.lots[0], other}, "", "choose an option"},
		"nothing ticked":           {nil, "lite", "tick at least one"},
		"not there":                {[]revue.Lot{s.lots[0], {ID: "lot_none", Revision: 1}}, "lite", "lot_none"},
		"no revision":              {[]revue.Lot{{ID: s.lots[0].ID}}, "lite", "load the page again"},
		"a revision that is to be": {[]revue.Lot{{ID: s.lots[0].ID, Revision: 99}}, "lite", "no such revision"},
	} {
		res := s.send(c.lots, c.value)
		require.GreaterOrEqual(t, res.StatusCode, 400, name)
		require.Contains(t, res.text, c.says, name)
	}
	many := make([]revue.Lot, maxTogether+1)
	for i := range many {
		many[i] = revue.Lot{ID: fmt.Sprint("lot_", i), Revision: 1}
	}
	require.Contains(t, s.send(many, "lite").text, "at most 50")
	require.Equal(t, before, s.head("umbrella"))
}

// A wording that joins after the form was loaded is not settled by it.
func TestTogetherSeen(t *testing.T) {
	s := newSeveral(t, 2)
	out, err := s.desk.Decider(revue.Agent{Workspace: "umbrella", Credential: "tok_b", Name: "other", Thread: "t2"}).Request(t.Context(), revue.Ask{
		Question: "Hello, should we keep orders in Postgres?", Concepts: []string{"part0"}, Options: []revue.Option{{Value: "pg", Label: "Postgres"}, {Value: "lite", Label: "SQLite"}},
	})
	require.NoError(t, err)
	require.Equal(t, s.lots[0].ID, out.LotID, "it joined as another wording")
	require.Contains(t, s.page("/lots/answer?lot="+s.lots[0].ID), "Hello, should we keep orders in Postgres?", "all wordings that the answer settles are on the form")
	require.Equal(t, http.StatusSeeOther, s.send(s.lots, "pg").StatusCode)
	require.Equal(t, 1, s.lot(s.lots[0].ID).AskCount)
	open := openNow(t, s.desk.Reviewer(s.human("umbrella", "Ada")))
	require.Len(t, open, 1)
	require.Equal(t, "Hello, should we keep orders in Postgres?", open[0].Text)
}
