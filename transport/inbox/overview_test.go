package inbox_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/revuehq/revue"
)

// cells returns the rows of the table that has a caption or a first header.
func cells(t *testing.T, r response, header string) [][]string {
	t.Helper()
	for n := range parsed(t, r).Descendants() {
		if n.Data != "table" {
			continue
		}
		var rows [][]string
		for c := range n.Descendants() {
			if c.Data == "tr" {
				rows = append(rows, nil)
			}
			if c.Data == "td" || c.Data == "th" {
				var b strings.Builder
				for x := range c.Descendants() {
					if x.Type == html.TextNode {
						b.WriteString(x.Data)
					}
				}
				rows[len(rows)-1] = append(rows[len(rows)-1], strings.TrimSpace(b.String()))
			}
		}
		if rows[0][0] == header {
			return rows[1:]
		}
	}
	require.Fail(t, "no such table", header)
	return nil
}

func TestOverviewPage(t *testing.T) {
	o := newOffice(t)
	empty := o.get("/overview")
	require.Equal(t, http.StatusOK, empty.status)
	require.Contains(t, empty.text(t), "No agent has asked anything")
	require.NotContains(t, empty.body, "<svg width")

	ask := database()
	ask.Stream = "web"
	d := o.decided(ask, revue.Answer{Value: "postgres"})          // a card, answered
	require.Equal(t, revue.OutcomeReused, o.ask("b", ask).Status) // reused
	require.Equal(t, revue.OutcomeReused, o.ask("c", ask).Status) // again
	o.ask("a", revue.Ask{Question: "Which colour is it?"})        // a card
	o.ask("b", revue.Ask{Question: "Which colour is it?"})        // joins it
	gone := o.ask("c", revue.Ask{Question: "Which shape is it?"}) // a card, dismissed
	_, err := o.desk.Reviewer(o.me).Dismiss(t.Context(), gone.LotID, revue.Dismissal{})
	require.NoError(t, err)
	_, err = o.desk.Reviewer(o.me).Correct(t.Context(), revue.Correction{DecisionID: d.ID, Verb: revue.VerbTooBroad})
	require.NoError(t, err)

	page := o.get("/overview")
	text := page.text(t)
	require.Contains(t, text, "Asks 6 Interruptions saved 3 Joined a card 1 Reused 2")
	require.Contains(t, text, "Open now 1")
	weeks := cells(t, page, "Week of")
	require.Len(t, weeks, 12)
	require.Equal(t, []string{"6", "3", "1", "2", "3", "1", "1", "0"}, weeks[11][1:9])
	require.Equal(t, []string{"0", "0", "0", "0", "0", "0", "0", "0", "–", "–"}, weeks[0][1:])
	streams := cells(t, page, "Stream")
	require.Len(t, streams, 2)
	for _, row := range streams {
		switch row[0] {
		case "web":
			require.Equal(t, []string{"3", "1", "0", "2", "2", "1", "0", "0"}, row[2:10])
			require.Equal(t, "0", row[12])
		case "agents":
			require.Equal(t, []string{"3", "2", "1", "0", "1", "0", "1", "0", "–", "–", "1"}, row[2:13])
		default:
			require.Fail(t, "an unknown stream", row)
		}
	}
	require.Equal(t, []string{"too broad", "1"}, cells(t, page, "Correction")[1])
	asked := 0
	for _, row := range cells(t, page, "Agent") {
		require.Len(t, row, 2)
		require.NotEmpty(t, row[0])
		asked++
	}
	require.Equal(t, 4, asked, "three, and the one that was answered")

	// One stream by itself.
	one := o.get("/overview?stream=web")
	require.Contains(t, one.text(t), "Overview of web")
	require.Contains(t, one.text(t), "Asks 3 Interruptions saved 2 Joined a card 0 Reused 2")
	require.Equal(t, []string{"3", "1", "0", "2", "2", "1", "0", "0"}, cells(t, one, "Week of")[11][1:9])
	require.Contains(t, o.get("/overview?stream=none").text(t), "Asks 0")

	// What happens next is counted, whoever looks.
	o.ask("d", revue.Ask{Question: "Which sound is it?", Stream: "web"})
	require.Contains(t, o.get("/overview").text(t), "Asks 7")
}

// Each plot is a picture with a name and a description, without styles, and all that it draws lies within it.
func TestPlots(t *testing.T) {
	o := newOffice(t)
	o.decided(database(), revue.Answer{Value: "postgres"})
	page := o.get("/overview")
	clean(t, page)
	plots, bars := 0, 0
	ids := map[string]bool{}
	for n := range parsed(t, page).Descendants() {
		if id, ok := attribute(n, "id"); ok {
			require.False(t, ids[id], "%s is there twice", id)
			ids[id] = true
		}
	}
	for n := range parsed(t, page).Descendants() {
		if n.Data == "rect" && strings.HasSuffix(attr(n, "x"), "%") {
			bars++
		}
		if n.Data != "svg" || attr(n, "aria-labelledby") == "" {
			continue
		}
		plots++
		require.Equal(t, "img", attr(n, "role"))
		for id := range strings.FieldsSeq(attr(n, "aria-labelledby")) {
			require.True(t, ids[id], id)
		}
	}
	require.Equal(t, 3, plots)
	require.Equal(t, 2, bars, "one card, one answer")
}
