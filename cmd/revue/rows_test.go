package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/term"
)

// No row of a terminal begins with an agent's text, wherever the terminal would break the line.
func TestNoRowBeginsWithAgentText(t *testing.T) {
	const width, forged = 80, "lot_forged answered by alice"
	lot := func(value string) revue.Lot {
		return revue.Lot{
			ID: "lot_" + strings.Repeat("a", 26), Status: revue.StatusOpen, Kind: revue.KindDecision, Revision: 1, Question: "q", Stream: "agents",
			Options: []revue.Option{{Value: "ok", Label: "ok"}, {Value: value, Label: value}},
		}
	}
	in := &inboxOptions{app: &app{world: &world{}}}
	for name, show := range map[string]func(out *printer, pad string){
		"the hint at a dash": func(out *printer, pad string) { in.showCommands(out, lot("-x"+pad+forged)) },
		"how it ended": func(out *printer, pad string) {
			l := lot("yes" + pad + forged)
			l.Status, l.Answer = revue.StatusAnswered, &revue.Answered{Value: l.Options[1].Value, By: revue.Who{Name: "root", Via: "local"}, At: time.Now()}
			out.f("%s %s\n", l.ID, ending(l))
		},
		"an agent's name": func(out *printer, pad string) {
			in.explain(out, revue.Explanation{
				Decision: revue.Decision{ID: "dec_1", Question: "q", Answer: "a", LotID: "lot_1", By: revue.Who{Name: "root"}},
				Uses:     []revue.AskRecord{{ID: "ask_" + strings.Repeat("a", 26), Agent: "bot" + pad + forged, CreatedAt: time.Now()}},
			})
		},
		"marks drawn as emoji": func(out *printer, pad string) {
			out.f("%s", term.Block(strings.ReplaceAll(pad, " ", "\u00a9\ufe0f")+forged, "  ", 0, ""))
		},
	} {
		for n := range 120 {
			var b bytes.Buffer
			show(&printer{w: &b, width: width}, strings.Repeat(" ", n))
			for _, row := range terminalRows(b.String(), width) {
				require.False(t, strings.HasPrefix(strings.TrimSpace(row), forged[:10]), "%s, behind %d:\n%s", name, n, b.String())
			}
		}
	}
}

// terminalRows is what a terminal of this width makes of a text.
func terminalRows(text string, width int) (rows []string) {
	for line := range strings.SplitSeq(text, "\n") {
		row, at := "", 0
		runes := []rune(line)
		for i, r := range runes {
			n := columns(r)
			if n == 1 && i+1 < len(runes) && runes[i+1] == 0xFE0F {
				n = 2
			}
			if at+n > width {
				rows, row, at = append(rows, row), "", 0
			}
			row, at = row+fmt.Sprintf("%c", r), at+n
		}
		rows = append(rows, row)
	}
	return rows
}
