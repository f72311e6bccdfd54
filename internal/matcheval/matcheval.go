package matcheval

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/revuehq/revue"
)

// Options say what is measured, and on what.
type Options struct {
	Gold []Topic // required; see [ReadGold]
	// NewMemory returns an empty memory. Required.
	NewMemory func() revue.Memory
	// NewStore returns an empty store whose time is what now returns. Required.
	NewStore func(now func() time.Time) revue.Store

	Seed     uint64 // the default, 0, is a seed too
	Nuisance int    // other decisions in the store that is searched; default 1,000
	Changes  int    // one-token changes that are recalled, at most; default all
	Teams    int    // that play the month; default 8, negative for none
	Asks     int    // of a team in its month; default 3,000
	Own      int    // percent of the asks about a topic that use the words of its question; default 40
	// Data is a folder with texts that are measured where they lie; "" for none. See [Run].
	Data string
}

// Run measures. Where Options.Data names a folder it reads there, as far as they exist, "adr-decisions.jsonl" (objects
// with a "title") and in "eval-only" the files "qqp-dev.tsv" (label, two questions) and "paws-qqp-dev.tsv" (a line of
// headings; id, two sentences, label). It takes about a minute with the defaults.
func Run(ctx context.Context, o *Options) (*Report, error) {
	if o == nil || len(o.Gold) == 0 || o.NewMemory == nil || o.NewStore == nil {
		return nil, errors.New("matcheval: a gold set, a memory and a store are required")
	}
	e := newEvaluation(o)
	r := &Report{Seed: e.Seed, Topics: len(e.Gold)}
	for _, t := range e.Gold {
		r.Pairs += t.Pairs()
	}
	for _, step := range []func(context.Context, *Report) error{e.changes, e.find, e.meaning, e.young, e.months, e.data} {
		if err := step(ctx, r); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Learning plays the months of Options alone, and returns the cards that were answered without wordings learned, and with.
func Learning(ctx context.Context, o *Options) (without, with Month, err error) {
	if o == nil || len(o.Gold) == 0 || o.NewMemory == nil || o.NewStore == nil {
		return without, with, errors.New("matcheval: a gold set, a memory and a store are required")
	}
	e, r := newEvaluation(o), &Report{}
	e.arms = []arm{arms()[1], arms()[3]} // "no wording learned" and "wordings learned"
	if err := e.months(ctx, r); err != nil {
		return without, with, err
	}
	if len(r.Months) != 2 {
		return without, with, errors.New("matcheval: no team plays")
	}
	return r.Months[0], r.Months[1], nil
}

func newEvaluation(o *Options) *evaluation {
	opts := *o
	if opts.Nuisance == 0 {
		opts.Nuisance = 1000
	}
	if opts.Teams == 0 {
		opts.Teams = 8
	}
	if opts.Asks == 0 {
		opts.Asks = 3000
	}
	if opts.Own == 0 {
		opts.Own = 40
	}
	e := &evaluation{Options: opts, known: map[string]bool{}, arms: arms()}
	for _, t := range opts.Gold {
		for _, text := range t.Wordings() {
			e.wordings = append(e.wordings, text)
			e.known[plain(text)] = true
		}
		for _, c := range t.Changes {
			e.known[plain(c.Text)] = true
		}
	}
	e.others = nuisance(e.rng("nuisance"), opts.Nuisance, e.known)
	return e
}

// evaluation is one run.
type evaluation struct {
	Options

	wordings []string        // all of the gold set that ask for its decisions
	known    map[string]bool // in plain form, the changes among them
	others   []string        // other questions
	arms     []arm           // that play the month
}

// rng returns a source of its own for each part, so that one part does not change another.
func (e *evaluation) rng(part string) *rand.Rand {
	h := uint64(14695981039346656037)
	for _, b := range []byte(part) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return rand.New(rand.NewPCG(e.Seed, h)) //nolint:gosec // two runs must draw the same
}

// adversary counts what a memory says of questions that are other decisions.
type adversary struct {
	Tried   int
	ByOp    map[string]int
	Applied int // taken for the same, or the answer applied
	Recalls int // of Tried, those that were put to a recall too
	Likely  int // said to be likely the same: a wrong join, which the human sees and may untick
	Hidden  int // of Likely, those that name no difference
	Wrong   []string
}

// maxWrong bounds how many mistakes are named.
const maxWrong = 20

func (a *adversary) mistake(kind, base, text string) {
	if len(a.Wrong) < maxWrong {
		a.Wrong = append(a.Wrong, kind+": "+base+" | "+text)
	}
}

// judge compares a question with one that is another decision, and asks a memory that remembers the first, in all
// its wordings, for the answer to the second.
func (a *adversary) judge(ctx context.Context, m revue.Memory, s *shelf, op, base, text string, recall bool) error {
	if a.ByOp == nil {
		a.ByOp = map[string]int{}
	}
	a.Tried++
	a.ByOp[op]++
	applied := false
	c := m.Same(revue.Question{Text: base}, revue.Question{Text: text})
	switch c.Verdict {
	case revue.VerdictSame:
		applied = true
	case revue.VerdictLikely:
		a.Likely++
		if c.Differs == "" {
			a.Hidden++
		}
		a.mistake("likely", base, text)
	}
	if recall {
		a.Recalls++
		got, err := m.Recall(ctx, s, request(text))
		if err != nil {
			return err
		}
		applied = applied || slices.ContainsFunc(got.Matches, func(x revue.Match) bool { return x.ReuseGuidance == revue.Apply })
	}
	if applied {
		a.Applied++
		a.mistake("applied", base, text)
	}
	return nil
}

// changes measures what is applied to other decisions: the changes of the gold set, and generated ones of each of its
// wordings. All wordings of a decision are its aliases, so that each of them is within reach of a wrong match.
func (e *evaluation) changes(ctx context.Context, r *Report) error {
	m, s := e.NewMemory(), &shelf{}
	for _, t := range e.Gold {
		s.put(t.Question, t.Wordings()[1:]...)
	}
	for _, q := range e.others {
		s.put(q)
	}
	for _, t := range e.Gold {
		for _, c := range t.Changes {
			if err := r.Gold.judge(ctx, m, s, c.Kind, t.Question, c.Text, true); err != nil {
				return err
			}
		}
	}
	type pair struct {
		base string
		oneTokenChange
	}
	var all []pair
	rng := e.rng("changes")
	c := newChanger(rng, e.wordings)
	for k := range e.known {
		c.known[k] = true
	}
	for _, base := range e.wordings {
		for _, change := range c.of(base) {
			all = append(all, pair{base, change})
		}
	}
	spell := newChanger(e.rng("spellings"), e.wordings)
	for k := range e.known {
		spell.known[k] = true
	}
	for _, base := range e.wordings {
		for _, change := range spell.spellings(base) {
			all = append(all, pair{change.base, change})
		}
	}
	if e.Changes > 0 && len(all) > e.Changes {
		rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		all = all[:e.Changes]
	}
	remembered := map[string]bool{}
	for _, p := range all {
		if p.op == opSpell && !remembered[p.base] {
			remembered[p.base] = true
			s.put(p.base)
		}
	}
	for _, p := range all {
		op := p.op
		if p.kind != "" {
			op += " " + p.kind
		}
		if err := r.Generated.judge(ctx, m, s, op, p.base, p.text, true); err != nil {
			return err
		}
	}
	return nil
}
