package inbox

import (
	"context"
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
)

// worst are the texts that grow most where what hides in them is shown.
func worst() []string {
	return []string{"aᎠ ", "a\u0430 ", "\u202e\u202d", "\x01\x02", "e\u0300\u0301\u0302\u0303\u0304\u0305 ", "\xff", "<", "a|b\n-|-\n", "| |\n|-|\n"}
}

// However hostile the contexts of a card are, its page is bounded, and all of them can be read on the pages of it.
func TestCardIsBounded(t *testing.T) {
	for _, text := range worst() {
		lot := revue.Lot{ID: "lot_1", Question: "q", Kind: revue.KindDecision, Status: revue.StatusOpen}
		for i := range 60 {
			lot.Asks = append(lot.Asks, revue.AskRecord{ID: fmt.Sprintf("ask_%d", i), Question: "q", Context: fmt.Sprintf("%d %s", i, strings.Repeat(text, (62<<10)/len(text)))})
		}
		one := len(newMarkdown().html(lot.Asks[0].Context))
		require.LessOrEqual(t, one, wholeDrawn, "one context of %q", text)
		read, draws := 0, 0
		draw := func(s string) template.HTML {
			draws++
			return template.HTML(strings.Repeat("x", len(s)*one/(62<<10))) //nolint:gosec // no text of anybody
		}
		c := card{Lot: lot}
		c.group(draw)
		total := 0
		for _, m := range c.Own.Asks {
			total += len(m.Shown)
		}
		require.LessOrEqual(t, total, shownDrawn)
		require.LessOrEqual(t, draws, shownMembers)
		require.Positive(t, c.Left)
		for from := 0; ; {
			c := card{Lot: lot, Whole: true, From: from}
			c.group(draw)
			total := 0
			for _, m := range c.Own.Asks {
				total += len(m.Shown)
				if m.Shown != "" {
					require.Equal(t, fmt.Sprintf("ask_%d", read), m.ID, "the order is kept")
					read++
				}
			}
			require.LessOrEqual(t, total, wholeDrawn)
			require.Greater(t, c.Upto, from)
			require.Equal(t, 60, c.Upto+c.Left)
			if from = c.Upto; c.Left == 0 {
				break
			}
		}
		require.Equal(t, 60, read)
	}
}

// A plane that answers with empty pages, or with the same page for ever, is asked a few times and no more.
func TestBoardOfAHostilePlane(t *testing.T) {
	for name, p := range map[string]endless{
		"empty pages": {}, "the same cursor": {lots: 1}, "a new cursor for no lot": {fresh: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				_, err := newBoard(maxOnBoard).current(ctx, &p)
				require.Equal(t, revue.CodeUnavailable, revue.CodeOf(err), "%v", err)
				require.LessOrEqual(t, p.calls, 3)
			})
		})
	}
}

// endless is a reviewer whose list of lots has no end.
type endless struct {
	revue.Reviewer

	lots  int
	fresh bool
	calls int
}

func (e *endless) Journal(context.Context, revue.Seq, int) ([]revue.Event, revue.Seq, error) {
	return nil, 0, nil
}

func (e *endless) Lots(ctx context.Context, _ revue.LotFilter) (revue.Page[revue.Lot], error) {
	e.calls++
	out := revue.Page[revue.Lot]{NextCursor: "again", Items: make([]revue.Lot, e.lots)}
	if e.fresh {
		out.NextCursor = strconv.Itoa(e.calls)
	}
	if e.calls > 1000 {
		return out, context.DeadlineExceeded
	}
	return out, ctx.Err()
}

// What a plane says of a closed set becomes a class only where it is of the set, and an id is one part of a path.
func TestHostileNames(t *testing.T) {
	require.Equal(t, "fresh", freshClass(revue.Fresh))
	require.Equal(t, "expired", freshClass(revue.Expired))
	require.Equal(t, "unknown", freshClass("x hidden primary"))
	require.Equal(t, "unknown", freshClass(""))
	require.Equal(t, "answered", statusClass(revue.StatusAnswered))
	require.Equal(t, "unknown", statusClass("x hidden primary"))
	for in, want := range map[string]string{
		"dec_1": "dec_1", "../../logout?x": "..%2F..%2Flogout%3Fx", "..": "-", ".": "-", "": "-", "a b\"#": "a%20b%22%23", "%2e%2e": "%252e%252e",
	} {
		require.Equal(t, want, pathPart(in))
	}
	for _, name := range []string{"_card.html", "_list.html", "decision.html", "memory.html", "history.html", "together.html", "answered.html", "settings.html", "notes.html"} {
		body, err := files.ReadFile("templates/" + name)
		require.NoError(t, err)
		require.NotRegexp(t, `(href|action|formaction)="/[a-z/]+/\{\{(?:[^p]|p[^a])`, string(body), "an id in an address of %s goes through part", name)
		require.NotRegexp(t, `class="[^"]*\{\{\s*\.`, string(body), "text in a class of %s", name)
	}
}
