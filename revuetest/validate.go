package revuetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/revuehq/revue"
)

// many returns n different texts.
func many(n int, prefix string) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%s%03d", prefix, i)
	}
	return out
}

// badAsk is an ask that must be refused, and the fields one of which the refusal names.
type badAsk struct {
	what   string
	fields []string
	ask    revue.Ask
	raw    bool // has invalid UTF-8
}

// refused checks that each ask is refused and that nothing came of it.
func refused(w *world, bad []badAsk) {
	d := w.agent("first")
	for _, b := range bad {
		if b.raw && w.sys.NoRawText {
			continue
		}
		_, err := d.Request(w.ctx, b.ask)
		w.agentInvalid(err, b.what, b.fields...)
	}
	w.untouched()
}

func with(change func(*revue.Ask)) revue.Ask {
	a := askDB()
	change(&a)
	return a
}

func validationCases() []testCase {
	return []testCase{
		{name: "question", run: func(w *world) {
			q := func(s string) revue.Ask { return revue.Ask{Question: s} }
			f := []string{"question"}
			refused(w, []badAsk{
				{what: "an empty question", fields: f, ask: q("")},
				{what: "a question of white space", fields: f, ask: q(" \t\n\u00a0\u3000")},
				{what: "a question of invisible characters", fields: f, ask: q("\u200b\u2060\ufeff")},
				{what: "a question one byte too long", fields: f, ask: q(strings.Repeat("a", revue.MaxQuestion+1))},
				{what: "a question too long in bytes, not in letters", fields: f, ask: q(strings.Repeat("é", revue.MaxQuestion/2+1))},
				{what: "a question with NUL", fields: f, ask: q("Which \x00 database?")},
				{what: "a question that is no UTF-8", fields: f, ask: q("Which \xff database?"), raw: true},
			})
		}},
		{name: "title of an approval", run: func(w *world) {
			q := func(s string) revue.Ask {
				return revue.Ask{Kind: revue.KindApproval, Question: s, Context: "why"}
			}
			f := []string{"title", "question"}
			refused(w, []badAsk{
				{what: "an empty title", fields: f, ask: q("")},
				{what: "a blank title", fields: f, ask: q(" \n\u200b")},
				{what: "a title too long", fields: f, ask: q(strings.Repeat("a", revue.MaxQuestion+1))},
				{what: "a title with NUL", fields: f, ask: q("Delete \x00?")},
			})
		}},
		{name: "option values", run: func(w *world) {
			v := func(values ...string) revue.Ask {
				return revue.Ask{Question: questionDB, Options: opts(values...)}
			}
			f := []string{"option"}
			bad := []badAsk{
				{what: "an empty value", fields: f, ask: v("a", "")},
				{what: "a blank value", fields: f, ask: v("a", " \u00a0")},
				{what: "an invisible value", fields: f, ask: v("a", "\u200b")},
				{what: "a value twice", fields: f, ask: v("a", "b", "a")},
				{what: "a value twice under two labels", fields: f, ask: revue.Ask{
					Question: questionDB,
					Options:  []revue.Option{{Value: "a", Label: "one"}, {Value: "a", Label: "two"}},
				}},
				{what: "a value too long", fields: f, ask: v("a", strings.Repeat("v", revue.MaxOptionText+1))},
				{what: "a value that is no UTF-8", fields: f, ask: v("a", "b\xc3"), raw: true},
				{what: "too many options", fields: f, ask: v(many(revue.MaxOptions+1, "o")...)},
			}
			for _, c := range []string{"\t", "\n", "\r", "\x00", "\x07", "\x1b", "\x7f", "\u0085", "\u202a", "\u202e", "\u2066", "\u2069", "\u200e", "\u200f", "\u2028", "\u2029"} {
				bad = append(bad, badAsk{what: fmt.Sprintf("a value with %q", c), fields: f, ask: v("a", "x"+c+"y")})
			}
			refused(w, bad)
		}},
		{name: "option labels and consequences", run: func(w *world) {
			o := func(o revue.Option) revue.Ask {
				return revue.Ask{Question: questionDB, Options: []revue.Option{{Value: "a", Label: "a"}, o}}
			}
			f := []string{"option", "label", "consequence"}
			long := strings.Repeat("x", revue.MaxOptionText+1)
			refused(w, []badAsk{
				{what: "a label too long", fields: f, ask: o(revue.Option{Value: "b", Label: long})},
				{what: "a label with NUL", fields: f, ask: o(revue.Option{Value: "b", Label: "b\x00"})},
				{what: "a label that is no UTF-8", fields: f, ask: o(revue.Option{Value: "b", Label: "b\xff"}), raw: true},
				{what: "a consequence too long", fields: f, ask: o(revue.Option{Value: "b", Label: "b", Consequence: long})},
				{what: "a consequence with NUL", fields: f, ask: o(revue.Option{Value: "b", Label: "b", Consequence: "\x00"})},
				{what: "a consequence that is no UTF-8", fields: f, ask: o(revue.Option{Value: "b", Label: "b", Consequence: "\xff"}), raw: true},
			})
		}},
		{name: "recommendation", run: func(w *world) {
			f := []string{"recommendation"}
			r := func(s string) revue.Ask { return with(func(a *revue.Ask) { a.Recommendation = s }) }
			refused(w, []badAsk{
				{what: "a recommendation that is no option", fields: f, ask: r("mysql")},
				{what: "a recommendation with a space more", fields: f, ask: r("postgres or so")},
				{what: "a recommendation with NUL", fields: f, ask: revue.Ask{Question: questionDB, Recommendation: "a\x00"}},
				{what: "a recommendation that is no UTF-8", fields: f, ask: revue.Ask{Question: questionDB, Recommendation: "a\xff"}, raw: true},
			})
		}},
		{name: "concepts", run: func(w *world) {
			f := []string{"concept"}
			c := func(l ...string) revue.Ask { return with(func(a *revue.Ask) { a.Concepts = l }) }
			refused(w, []badAsk{
				{what: "too many concepts", fields: f, ask: c(many(revue.MaxConcepts+1, "c")...)},
				{what: "a concept too long", fields: f, ask: c(strings.Repeat("c", revue.MaxTerm+1))},
				{what: "a concept with NUL", fields: f, ask: c("a\x00")},
				{what: "a concept that is no UTF-8", fields: f, ask: c("a\xff"), raw: true},
			})
		}},
		{name: "files", run: func(w *world) {
			f := []string{"file"}
			c := func(l ...string) revue.Ask { return with(func(a *revue.Ask) { a.Files = l }) }
			refused(w, []badAsk{
				{what: "too many files", fields: f, ask: c(many(revue.MaxFiles+1, "f")...)},
				{what: "a file too long", fields: f, ask: c(strings.Repeat("f", revue.MaxTerm+1))},
				{what: "a file with NUL", fields: f, ask: c("a\x00")},
				{what: "a file that is no UTF-8", fields: f, ask: c("a\xff"), raw: true},
			})
		}},
		{name: "context of an ask", run: func(w *world) {
			f := []string{"context"}
			c := func(s string) revue.Ask { return with(func(a *revue.Ask) { a.Context = s }) }
			refused(w, []badAsk{
				{what: "a context too long", fields: f, ask: c(strings.Repeat("x", revue.MaxContext+1))},
				{what: "a context with NUL", fields: f, ask: c("a\x00")},
				{what: "a context that is no UTF-8", fields: f, ask: c("a\xff"), raw: true},
			})
		}},
		{name: "stream", run: func(w *world) {
			f := []string{"stream"}
			c := func(s string) revue.Ask { return with(func(a *revue.Ask) { a.Stream = s }) }
			refused(w, []badAsk{
				{what: "a stream too long", fields: f, ask: c(strings.Repeat("s", revue.MaxStream+1))},
				{what: "a stream with NUL", fields: f, ask: c("a\x00")},
			})
		}},
		{name: "affected", run: func(w *world) {
			f := []string{"affected"}
			c := func(l ...revue.Affected) revue.Ask {
				return revue.Ask{Kind: revue.KindApproval, Question: "Delete stale branches?", Context: "why", Affected: l}
			}
			long := strings.Repeat("x", revue.MaxOptionText+1)
			var over []revue.Affected
			for _, s := range many(revue.MaxAffected+1, "a") {
				over = append(over, revue.Affected{Label: s})
			}
			refused(w, []badAsk{
				{what: "too many affected", fields: f, ask: c(over...)},
				{what: "an affected label too long", fields: f, ask: c(revue.Affected{Label: long})},
				{what: "an affected meta too long", fields: f, ask: c(revue.Affected{Label: "a", Meta: long})},
				{what: "an affected label with NUL", fields: f, ask: c(revue.Affected{Label: "a\x00"})},
				{what: "an affected meta that is no UTF-8", fields: f, ask: c(revue.Affected{Label: "a", Meta: "\xff"}), raw: true},
			})
		}},
		{name: "kind", unless: notLibrary, run: func(w *world) {
			refused(w, []badAsk{{what: "an unknown kind", fields: []string{"kind"}, ask: with(func(a *revue.Ask) { a.Kind = "poll" })}})
		}},
		{name: "query of a lookup", run: func(w *world) {
			d := w.agent("first")
			for what, q := range map[string]revue.Query{
				"an empty query":    {},
				"a blank query":     {Text: " \n\u200b"},
				"a query too long":  {Text: strings.Repeat("q ", revue.MaxQuestion)},
				"a query with NUL":  {Text: "a\x00b"},
				"too many concepts": {Text: "databases", Concepts: many(revue.MaxConcepts+1, "c")},
				"too many files":    {Text: "databases", Files: many(revue.MaxFiles+1, "f")},
			} {
				_, err := d.Lookup(w.ctx, q)
				w.agentInvalid(err, what, "query", "question", "concept", "file")
			}
			w.untouched()
		}},
		{name: "shared context", run: func(w *world) {
			d := w.agent("first")
			for what, c := range map[string]revue.ContextItem{
				"kind: empty":       {Body: "b", Concepts: []string{"c"}},
				"kind: blank":       {Kind: " ", Body: "b", Concepts: []string{"c"}},
				"kind: too long":    {Kind: strings.Repeat("k", revue.MaxContextKind+1), Body: "b", Concepts: []string{"c"}},
				"kind: with NUL":    {Kind: "a\x00", Body: "b", Concepts: []string{"c"}},
				"body: empty":       {Kind: "note", Concepts: []string{"c"}},
				"body: blank":       {Kind: "note", Body: " \u200b\n", Concepts: []string{"c"}},
				"body: too long":    {Kind: "note", Body: strings.Repeat("b", revue.MaxContext+1), Concepts: []string{"c"}},
				"body: with NUL":    {Kind: "note", Body: "a\x00", Concepts: []string{"c"}},
				"concept: too many": {Kind: "note", Body: "b", Concepts: many(revue.MaxConcepts+1, "c")},
				"concept: too long": {Kind: "note", Body: "b", Concepts: []string{strings.Repeat("c", revue.MaxTerm+1)}},
				"concept: with NUL": {Kind: "note", Body: "b", Concepts: []string{"c\x00"}},
			} {
				_, err := d.Share(w.ctx, c)
				field, _, _ := strings.Cut(what, ":")
				w.agentInvalid(err, what, field)
			}
			w.untouched()
		}},
		{name: "at the limits all is taken", run: func(w *world) {
			d := w.agent("first")
			ask := revue.Ask{
				Question: "Which " + strings.Repeat("x", revue.MaxQuestion-len("Which ")),
				Options:  opts(many(revue.MaxOptions, "o")...),
				Context:  strings.Repeat("é", revue.MaxContext/2),
				Concepts: many(revue.MaxConcepts, "c"),
				Files:    many(revue.MaxFiles, "f"),
				Stream:   strings.Repeat("s", revue.MaxStream),
			}
			ask.Options[0].Label = strings.Repeat("l", revue.MaxOptionText)
			ask.Options[1].Consequence = strings.Repeat("q", revue.MaxOptionText)
			w.pend(d, ask)
			l := w.open()
			w.check(l.Question == ask.Question, "the question changed")
			w.check(l.Context == ask.Context, "the context changed: %d bytes of %d", len(l.Context), len(ask.Context))
			w.check(len(l.Options) == revue.MaxOptions && l.Options[0] == ask.Options[0] && l.Options[1] == ask.Options[1], "the options changed")
			w.check(len(l.Concepts) == revue.MaxConcepts && len(l.Files) == revue.MaxFiles, "concepts or files are missing")
			w.check(l.Stream == ask.Stream, "the stream changed: %q", l.Stream)
		}},
		{name: "waits are clamped, never refused", unless: notLibrary, run: func(w *world) {
			ask := askDB()
			ask.Wait = -time.Hour
			out := w.request(w.agent("first"), ask)
			w.check(out.Status == revue.OutcomePending, "a negative wait: %s", out.Status)
			ask.Wait = 1 << 62
			c := make(chan revue.Outcome, 1)
			d := w.agent("first")
			go func() {
				out, _ := d.Request(w.ctx, ask)
				c <- out
			}()
			w.settle(w.open().ID, "sqlite")
			select {
			case out = <-c:
				w.check(out.Answer == "sqlite", "a huge wait: %+v", out)
			case <-time.After(w.sys.Patience):
				w.t.Fatal("a request with a huge wait never returned")
			}
		}},
		{name: "answers", run: func(w *world) {
			w.pend(w.agent("first"), askDB())
			l := w.open()
			before := len(w.journal())
			for _, b := range []struct {
				what   string
				fields []string
				a      revue.Answer
			}{
				{"an empty answer", []string{"value", "text", "answer"}, revue.Answer{}},
				{"a note alone", []string{"value", "text", "answer"}, revue.Answer{Note: "n"}},
				{"a blank text", []string{"text", "answer"}, revue.Answer{Text: " \t\n"}},
				{"an invisible text", []string{"text", "answer"}, revue.Answer{Text: "\u200b\u2060"}},
				{"a blank value", []string{"value", "answer"}, revue.Answer{Value: "  "}},
				{"a value that is no option", []string{"value", "option"}, revue.Answer{Value: "mysql"}},
				{"a value in another case", []string{"value", "option"}, revue.Answer{Value: "Postgres"}},
				{"a value with a space more", []string{"value", "option"}, revue.Answer{Value: "postgres "}},
				{"value and text", []string{"value", "text"}, revue.Answer{Value: "postgres", Text: "postgres"}},
				{"a text too long", []string{"text"}, revue.Answer{Text: strings.Repeat("x", revue.MaxAnswer+1)}},
				{"a text with NUL", []string{"text"}, revue.Answer{Text: "a\x00b"}},
				{"a note too long", []string{"note"}, revue.Answer{Value: "postgres", Note: strings.Repeat("x", revue.MaxNote+1)}},
				{"a note with NUL", []string{"note"}, revue.Answer{Value: "postgres", Note: "\x00"}},
				{"an unknown way to remember", []string{"remember"}, revue.Answer{Value: "postgres", Remember: "forever"}},
			} {
				_, err := w.ada.Answer(w.ctx, l.ID, b.a)
				w.humanInvalid(err, b.what, b.fields...)
			}
			w.check(w.lot(l.ID).Status == revue.StatusOpen, "a refused answer settled the lot")
			w.check(len(w.journal()) == before, "a refused answer left events")
			w.pend(w.agent("first"), askDB())
		}},
		{name: "dismissals and corrections", run: func(w *world) {
			out := w.decided()
			w.pend(w.agent("first"), revue.Ask{Question: "Which cache should the search service use?"})
			l := w.open()
			before := len(w.journal())
			_, err := w.ada.Dismiss(w.ctx, l.ID, revue.Dismissal{Reason: strings.Repeat("x", revue.MaxNote+1)})
			w.humanInvalid(err, "a reason too long", "reason")
			_, err = w.ada.Dismiss(w.ctx, l.ID, revue.Dismissal{Reason: "\x00"})
			w.humanInvalid(err, "a reason with NUL", "reason")
			for _, b := range []struct {
				what   string
				fields []string
				c      revue.Correction
			}{
				{"no verb", []string{"verb"}, revue.Correction{}},
				{"an unknown verb", []string{"verb"}, revue.Correction{Verb: "forget"}},
				{"expires_after without a time", []string{"expires"}, revue.Correction{Verb: revue.VerbExpiresAfter}},
				{"a note too long", []string{"note"}, revue.Correction{Verb: revue.VerbWrong, Note: strings.Repeat("x", revue.MaxNote+1)}},
				{"a note with NUL", []string{"note"}, revue.Correction{Verb: revue.VerbWrong, Note: "\x00"}},
			} {
				b.c.DecisionID = out.DecisionID
				_, err := w.ada.Correct(w.ctx, b.c)
				w.humanInvalid(err, b.what, b.fields...)
			}
			w.check(w.lot(l.ID).Status == revue.StatusOpen, "a refused dismissal settled the lot")
			w.check(len(w.journal()) == before, "a refused dismissal or correction left events")
		}},
	}
}

func textCases() []testCase {
	return []testCase{
		{name: "CRLF becomes LF and the rest stays", run: func(w *world) {
			d := w.agent("first")
			ask := revue.Ask{
				Question: "Which database should the billing service use?\r\nIt must be small.",
				Context:  "# Heading\r\n\r\n\tindented \x1b[31m\u202etext\u202c  \r\nend\r\n",
			}
			w.pend(d, ask)
			l := w.open()
			w.check(l.Question == strings.ReplaceAll(ask.Question, "\r\n", "\n"), "the question became %q", l.Question)
			w.check(l.Context == strings.ReplaceAll(ask.Context, "\r\n", "\n"), "the context became %q", l.Context)
			w.settleWith(l.ID, revue.Answer{Text: "One.\r\nTwo.\n", Note: "a\r\nb"})
			out := w.outcome(d, ask, revue.OutcomeAnswered)
			w.check(out.Answer == "One.\nTwo.\n" || out.Answer == "One.\nTwo.", "the answer became %q", out.Answer)
			w.check(strings.TrimSpace(out.Note) == "a\nb", "the note became %q", out.Note)
		}},
		{name: "option values come back byte for byte", run: func(w *world) {
			values := []string{
				" keep  it ", "yes, please", "a,b", `["a","b"]`, "null", "true", "1.0", "-5", `"quoted"`,
				"<b>bold</b>", "rm -rf / #", "e\u0301", "\u00e9", "ﬁ", "Ａ", "日本語", "שלום", "👩‍👩‍👧", "%s%n", `C:\dir\`,
			}
			for i, v := range values {
				d := w.agent("first")
				ask := revue.Ask{
					Question: fmt.Sprintf("Which spelling should column number %d have?", i),
					Options:  []revue.Option{{Value: "other", Label: "other"}, {Value: v, Label: "label"}},
				}
				w.pend(d, ask)
				l := w.openFor(ask.Question)
				w.check(l.Options[1].Value == v, "the value %q is shown as %q", v, l.Options[1].Value)
				w.settle(l.ID, v)
				out := w.outcome(d, ask, revue.OutcomeAnswered)
				w.check(out.Answer == v && !out.FreeText, "the value %q came back as %q", v, out.Answer)
			}
		}},
		{name: "values that look alike stay apart", run: func(w *world) {
			d := w.agent("first")
			ask := revue.Ask{
				Question: "Which accent should the export use?",
				Options:  []revue.Option{{Value: "e\u0301", Label: "two"}, {Value: "\u00e9", Label: "one"}},
			}
			w.pend(d, ask)
			w.settle(w.open().ID, "\u00e9")
			out := w.outcome(d, ask, revue.OutcomeAnswered)
			w.check(out.Answer == "\u00e9", "got %q", out.Answer)
		}},
		{name: "unicode everywhere", run: func(w *world) {
			d := w.agentAt("first", "thread-ü", "")
			ask := revue.Ask{
				Question:       "“Welche” Datenbank – 数据库 – קבצים – 🗄️👩‍💻 – e\u0301?",
				Options:        []revue.Option{{Value: "ПостгреС", Label: "Œuvre “1”", Consequence: "→ ∞"}, {Value: "数据", Label: "数据"}},
				Recommendation: "数据",
				Context:        "مرحبا\n" + strings.Repeat("漢字🙂", 1000),
				Concepts:       []string{"größe", "支付"},
				Files:          []string{"src/файл.go"},
			}
			w.pend(d, ask)
			l := w.open()
			w.check(l.Question == ask.Question, "question: %q", l.Question)
			w.check(l.Options[0] == ask.Options[0], "option: %+v", l.Options[0])
			w.check(l.Recommendation == ask.Recommendation, "recommendation: %q", l.Recommendation)
			w.check(l.Context == ask.Context, "the context changed")
			w.check(len(l.Files) == 1 && l.Files[0] == ask.Files[0], "files: %q", l.Files)
			w.settleWith(l.ID, revue.Answer{Value: "ПостгреС", Note: "да 👍"})
			out := w.outcome(d, ask, revue.OutcomeAnswered)
			w.check(out.Answer == "ПостгреС" && out.Note == "да 👍", "outcome: %+v", out)
		}},
		{name: "options without labels show their value", run: func(w *world) {
			d := w.agent("first")
			w.pend(d, revue.Ask{Question: questionDB, Options: []revue.Option{{Value: "postgres"}, {Value: "sqlite"}}})
			l := w.open()
			w.check(l.Options[0].Label == "postgres", "label: %q", l.Options[0].Label)
			w.pend(d, askDB())
			w.check(len(w.open().Asks) == 1, "a label equal to the value made another ask")
		}},
	}
}
