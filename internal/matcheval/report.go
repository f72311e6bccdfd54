package matcheval

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Report is what was measured.
type Report struct {
	Seed          uint64
	Topics, Pairs int

	Gold       adversary // the changes of the gold set
	Generated  adversary // one-token changes of its wordings
	Titles     *adversary
	TitleCount int

	Repeats     Found // each wording again: what is not applied is held back by a guard
	Variants    Found
	Paraphrases Found
	Near        Found // paraphrases, where what differs in one crucial word is remembered too
	Buckets     []Bucket

	SaidParaphrases, SaidChanges, SaidCross Said // related, and crucial

	JoinedVariants, JoinedParaphrases int // that would be put on an open card of their question

	Young    []Young
	Months   []Month
	Labelled []Labelled
}

// What is demanded of a memory.
const (
	MinTried     = 3000 // generated changes: none of 3,000 wrong is 99.9 percent at 95 percent confidence
	MaxLikely    = 0.01 // share of the other decisions that are joined
	MinFound     = 0.70 // share of the paraphrases in the top 3
	MinCrucial   = 0.95 // share of the changes that are alike and said to differ crucially, whatever wording they are compared with
	MaxRemaining = 0.5  // cards with wordings learned, as a share of those without
)

// Check returns what falls short of what is demanded, one error each, joined.
func (r *Report) Check() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if r.Generated.Tried < MinTried {
		fail("%d generated changes were tried, fewer than %d", r.Generated.Tried, MinTried)
	}
	all := []*adversary{&r.Gold, &r.Generated}
	if r.Titles != nil {
		all = append(all, r.Titles)
	}
	for _, a := range all {
		if a.Applied > 0 {
			fail("%d of %d other decisions are taken for the same: %s", a.Applied, a.Tried, strings.Join(a.Wrong, "; "))
		}
		if float64(a.Likely) > MaxLikely*float64(a.Tried) {
			fail("%d of %d other decisions are joined: %s", a.Likely, a.Tried, strings.Join(a.Wrong, "; "))
		}
		if a.Hidden > 0 {
			fail("%d wrong joins name no difference", a.Hidden)
		}
	}
	if share(r.Paraphrases.Top3, r.Paraphrases.Tried) < MinFound {
		fail("%d of %d paraphrases are in the top 3", r.Paraphrases.Top3, r.Paraphrases.Tried)
	}
	for _, s := range []Said{r.SaidChanges, r.SaidCross} {
		if share(s.Crucial, s.Related) < MinCrucial {
			fail("%d of %d changes that are alike are said to differ crucially", s.Crucial, s.Related)
		}
	}
	before := 1.0
	for _, b := range r.Buckets {
		if b.Tried < minBucket {
			continue
		}
		if now := share(b.Right, b.Tried); now > before {
			fail("scores from %.1f are right more often than higher ones: %d of %d", b.From, b.Right, b.Tried)
		} else {
			before = now
		}
	}
	if len(r.Months) > 0 {
		without, with := r.Months[1], r.Months[3]
		if float64(with.Cards) > MaxRemaining*float64(without.Cards) {
			fail("%d cards with wordings learned, %d without", with.Cards, without.Cards)
		}
	}
	for _, m := range r.Months {
		if m.Wrong > 0 {
			fail("in the month with %s %d asks were given the answer to another decision", m.Name, m.Wrong)
		}
	}
	return errors.Join(errs...)
}

// minBucket is how many matches a bucket must have to say something.
const minBucket = 10

func share(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

func percent(n, of int) string { return fmt.Sprintf("%.1f %%", 100*share(n, of)) }

func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// row is a line of the table.
type row struct{ what, tried, measured, demanded string }

func (f Found) row(what, demanded string) row {
	return row{what, thousands(f.Tried), fmt.Sprintf("%s · %s · %s", percent(f.Top1, f.Tried), percent(f.Top3, f.Tried), percent(f.Top10, f.Tried)), demanded}
}

func (a *adversary) rows(what string) []row {
	return []row{
		{"`apply` to " + what, thousands(a.Tried), thousands(a.Applied) + " wrong", "0"},
		{"`likely` said of " + what, thousands(a.Tried), fmt.Sprintf("%s wrong, %s", thousands(a.Likely), percent(a.Likely, a.Tried)), "< 1 %"},
		{"of these, joins that show no difference", thousands(a.Likely), thousands(a.Hidden), "0"},
	}
}

func (r *Report) rows() []row {
	var out []row
	out = append(out, r.Gold.rows("the changes of the gold set")...)
	out = append(out, r.Generated.rows("generated one-token changes")...)
	ops := map[string]int{}
	for op, n := range r.Generated.ByOp {
		if kind, ok := strings.CutPrefix(op, opReplace+" "); ok {
			ops["replaced "+kind] += n
		} else if kind, ok := strings.CutPrefix(op, opSpell+" "); ok {
			ops["spelled otherwise: "+kind] += n
		} else {
			ops[op] += n
		}
	}
	for _, op := range slices.Sorted(maps.Keys(ops)) {
		out = append(out, row{"… " + op, thousands(ops[op]), "", ""})
	}
	if r.Titles != nil {
		out = append(out, r.Titles.rows(fmt.Sprintf("one-token changes of %d titles of real decision records", r.TitleCount))...)
	}
	v := r.Variants
	out = append(
		out,
		row{"repeats in the same words, `apply` to what was made a rule", thousands(r.Repeats.Tried), percent(r.Repeats.Applied, r.Repeats.Tried), ""},
		row{"repeats in the same words, `apply` to what was not", thousands(r.Repeats.Tried), percent(r.Repeats.ByDefault, r.Repeats.Tried), ""},
		row{"trivial variants, `apply`", thousands(v.Tried), percent(v.Applied, v.Tried), ""},
		v.row("trivial variants, top 1 · 3 · 10", ""),
		row{"trivial variants, joined to an open card", thousands(v.Tried), percent(r.JoinedVariants, v.Tried), ""},
		row{"paraphrases, joined to an open card", thousands(r.Paraphrases.Tried), percent(r.JoinedParaphrases, r.Paraphrases.Tried), ""},
		r.Paraphrases.row("paraphrases, top 1 · 3 · 10", "top 3 ≥ 70 %"),
		r.Near.row("paraphrases, with the gold changes remembered too", ""),
	)
	out = append(
		out,
		row{"paraphrases that are alike, nothing crucial", thousands(r.SaidParaphrases.Related), percent(r.SaidParaphrases.Related-r.SaidParaphrases.Crucial, r.SaidParaphrases.Related), ""},
		row{"changes that are alike, crucial", thousands(r.SaidChanges.Related), percent(r.SaidChanges.Crucial, r.SaidChanges.Related), "≥ 95 %"},
		row{"changes and paraphrases that are alike, crucial", thousands(r.SaidCross.Related), percent(r.SaidCross.Crucial, r.SaidCross.Related), "≥ 95 %"},
	)
	for _, y := range r.Young {
		out = append(
			out,
			y.Found.row(fmt.Sprintf("paraphrases, in stores of %d decisions", y.Decisions), ""),
			row{"… unrelated questions that are shown a precedent", thousands(y.Others), percent(y.Shown, y.Others), ""},
		)
	}
	for i, b := range r.Buckets {
		if b.Tried == 0 {
			continue
		}
		name := fmt.Sprintf("score %.1f to %.1f, right", b.From, b.From+0.1)
		switch {
		case i == 0:
			name = "score 1, right"
		case b.From == 0:
			name = "score below 0.4, right"
		}
		out = append(out, row{name, thousands(b.Tried), percent(b.Right, b.Tried), ""})
	}
	for i, m := range r.Months {
		demanded := ""
		if i == 3 {
			demanded = fmt.Sprintf("≤ %.1f", MaxRemaining*r.Months[1].Per100())
		}
		weeks := make([]string, len(m.Weeks))
		for w := range m.Weeks {
			weeks[w] = fmt.Sprintf("%.0f", 100*share(m.Weeks[w], m.WeekAsks[w]))
		}
		out = append(
			out,
			row{"cards for 100 asks, " + m.Name, thousands(m.Asks), fmt.Sprintf("%.1f", m.Per100()), demanded},
			row{"… by week", "", strings.Join(weeks, " · "), ""},
			row{"… given another decision's answer", thousands(m.Asks), thousands(m.Wrong), "0"},
			row{"… given an answer that was taken back in other words", thousands(m.Asks), thousands(m.Outdated), ""},
		)
	}
	for _, l := range r.Labelled {
		out = append(
			out,
			row{l.Name + ": `same`, labelled as duplicates", thousands(l.Pairs), fmt.Sprintf("%s of %s", thousands(l.SameRight), thousands(l.Same)), ""},
			row{l.Name + ": `likely`, labelled as duplicates", thousands(l.Pairs), fmt.Sprintf("%s of %s", thousands(l.LikelyRight), thousands(l.Likely)), ""},
			l.Found.row(l.Name+": duplicates, top 1 · 3 · 10", ""),
		)
	}
	return out
}

// Write prints the report as one table of Markdown.
func (r *Report) Write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%d questions, %d pairs, seed %d.\n\n", r.Topics, r.Pairs, r.Seed)
	rows := append([]row{{"what", "tried", "measured", "demanded"}}, r.rows()...)
	var width [4]int
	for _, x := range rows {
		for i, cell := range [4]string{x.what, x.tried, x.measured, x.demanded} {
			width[i] = max(width[i], len([]rune(cell)))
		}
	}
	pad := func(s string, n int) string { return s + strings.Repeat(" ", n-len([]rune(s))) }
	for i, x := range rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", pad(x.what, width[0]), pad(x.tried, width[1]), pad(x.measured, width[2]), pad(x.demanded, width[3]))
		if i == 0 {
			fmt.Fprintf(&b, "|-%s-|-%s:|-%s-|-%s-|\n", strings.Repeat("-", width[0]), strings.Repeat("-", width[1]), strings.Repeat("-", width[2]), strings.Repeat("-", width[3]))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
