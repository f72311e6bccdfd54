package inbox_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
)

// pinnedCard leaves a card with an earlier decision and another wording, and returns it.
func pinnedCard(t *testing.T, o *office) revue.Lot {
	t.Helper()
	a := database()
	o.ask("claude", a)
	first := o.lots(revue.StatusOpen)[0]
	_, err := o.desk.Reviewer(o.me).Answer(t.Context(), first.ID, revue.Answer{Value: "sqlite", Seen: first.Revision})
	require.NoError(t, err)
	a.Question = "Which database should the invoices service use?"
	o.ask("claude", a)
	a.Question = "Hello, which database should the invoices service use?"
	o.ask("codex", a)
	lots := o.lots(revue.StatusOpen)
	require.Len(t, lots, 1, "the two were not grouped: choose other words for this test")
	require.NotEmpty(t, lots[0].Pinned, "nothing is pinned: choose other words for this test")
	require.Equal(t, 2, lots[0].AskCount)
	return o.lot(lots[0].ID)
}

// Every button that settles something stands below every wording that it settles, apart from the one for the key Enter, which
// nobody sees and which takes a choice.
func TestButtonsAreBelowWhatTheySettle(t *testing.T) {
	o := newOffice(t)
	lot := pinnedCard(t, o)
	body := o.get("/lots/" + lot.ID).body
	from := strings.Index(body, `<form method="post" action="/lots/`+lot.ID+`/answer"`)
	require.Positive(t, from)
	body = body[from:]
	body, _, found := strings.Cut(body, "</form>")
	require.True(t, found)
	last := strings.LastIndex(body, `name="member"`)
	require.Positive(t, last)
	buttons := 0
	for at := 0; ; {
		i := strings.Index(body[at:], "<button")
		if i < 0 {
			break
		}
		at += i + 1
		if strings.HasPrefix(body[at:], `button class="hidden" tabindex="-1" aria-hidden="true"`) {
			continue
		}
		buttons++
		require.Greater(t, at, last, body[at:min(len(body), at+80)])
	}
	require.Equal(t, 2+len(lot.Pinned), buttons, "Same answer, Send answer and Dismiss")
	require.Contains(t, body, `name="confirms"`)
}

// What is said in the form beside "Same answer" is not dropped: nothing is recorded, and what was said is there still.
func TestSameAnswerBesideAnother(t *testing.T) {
	for name, c := range map[string]struct {
		say  url.Values
		want string
	}{
		"an option":   {url.Values{"choice": {"=postgres"}}, "You made a choice"},
		"own words":   {url.Values{"choice": {"own"}, "text": {"MySQL"}}, "You wrote an answer"},
		"blank words": {url.Values{"choice": {"own"}}, "You made a choice"},
		"words alone": {url.Values{"text": {"MySQL"}}, "You wrote an answer"},
		"no option":   {url.Values{"choice": {"=mysql"}}, "You made a choice"},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t)
			lot := pinnedCard(t, o)
			form := o.get("/lots/"+lot.ID).form(t, "/lots/"+lot.ID+"/answer")
			form.Set("confirms", lot.Pinned[0].DecisionID)
			for k, v := range c.say {
				form[k] = v
			}
			page := o.post("/lots/"+lot.ID+"/answer", form)
			require.Equal(t, http.StatusUnprocessableEntity, page.status)
			require.Contains(t, page.text(t), c.want)
			require.Equal(t, lot, o.lot(lot.ID))
			if v := c.say.Get("choice"); v == "=postgres" || v == "own" {
				require.Equal(t, v, page.form(t, "/lots/"+lot.ID+"/answer").Get("choice"))
			}
		})
	}
}

// The sentence of what was done is said only of a card that it is true of, whatever the address has.
func TestDoneSaysWhatIsTrue(t *testing.T) {
	o := newOffice(t)
	r := o.desk.Reviewer(o.me)
	ask := func(a revue.Ask) revue.Lot {
		o.ask("claude", a)
		lots := o.lots(revue.StatusOpen)
		return lots[len(lots)-1]
	}
	ids := map[string]string{}
	end := func(name string, a revue.Ask, answer string) {
		lot := ask(a)
		ids[name] = lot.ID
		switch answer {
		case "":
		case "dismiss", "reopen":
			_, err := r.Dismiss(t.Context(), lot.ID, revue.Dismissal{Seen: lot.Revision})
			require.NoError(t, err)
			if answer == "reopen" {
				_, err = r.Reopen(t.Context(), lot.ID)
				require.NoError(t, err)
			}
		default:
			_, err := r.Answer(t.Context(), lot.ID, revue.Answer{Value: answer, Seen: lot.Revision})
			require.NoError(t, err)
		}
	}
	question := func(q string) revue.Ask {
		a := database()
		a.Question = q
		return a
	}
	approval := func(q string) revue.Ask { return revue.Ask{Kind: revue.KindApproval, Question: q} }
	end("answered", question("Which colour has the crane?"), "sqlite")
	end("dismissed", question("How long is the ferry's queue?"), "dismiss")
	end("approved", approval("Delete 4 stale branches?"), revue.Approved)
	end("declined", approval("Restart the mail gateway?"), revue.Declined)
	end("reopened", question("Who waters the office plants?"), "reopen")
	end("open", question("What does the lighthouse need?"), "")
	end("open approval", approval("Push the hotfix to production?"), "")
	words := []string{"answered", "approved", "declined", "dismissed", "reopened", "signed-out", "", "anything", "revoked", "corrected"}
	sentences := map[string]string{
		"answered": "Answered: the agents that wait get it now.", "approved": "Approved: the agent goes on.", "declined": "Declined: the agent is told.",
		"dismissed": "Dismissed without an answer.", "reopened": "Open again.", "signed-out": "You are signed out.",
	}
	for name, id := range ids {
		for _, word := range words {
			text := o.get("/lots/" + id + "?done=" + word).text(t)
			for of, sentence := range sentences {
				if of == name && word == name {
					require.Contains(t, text, sentence)
				} else {
					require.NotContains(t, text, sentence, "%s?done=%s", name, word)
				}
			}
		}
	}
	for _, path := range []string{"/", "/history", "/memory", "/overview", "/settings", "/settings/connect"} {
		for _, word := range words {
			text := o.get(path + "?done=" + word).text(t)
			for _, sentence := range sentences {
				require.NotContains(t, text, sentence, path)
			}
		}
	}
}
