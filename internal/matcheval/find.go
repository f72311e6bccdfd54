package matcheval

import (
	"context"
	"slices"

	"github.com/revuehq/revue"
)

// Found counts at which place the right decision came.
type Found struct {
	Tried, Top1, Top3, Top10 int
	Applied                  int // the best match was the right one and said apply
	ByDefault                int // of Applied, those that need no rule; of the repeats alone
}

func (f *Found) add(matches []revue.Match, id string) {
	f.Tried++
	i := slices.IndexFunc(matches, func(m revue.Match) bool { return m.DecisionID == id })
	if i < 0 {
		return
	}
	if i == 0 {
		f.Top1++
		if matches[0].ReuseGuidance == revue.Apply {
			f.Applied++
		}
	}
	if i < 3 {
		f.Top3++
	}
	if i < 10 {
		f.Top10++
	}
}

// Bucket is how often matches of a score were right.
type Bucket struct {
	From         float64 // the least score of the bucket
	Tried, Right int
}

// buckets returns the empty buckets of scores.
func buckets() []Bucket {
	out := []Bucket{{From: 1}}
	for _, from := range []float64{0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0} {
		out = append(out, Bucket{From: from})
	}
	return out
}

// find measures what is found in a store with other decisions around, and what the score means.
func (e *evaluation) find(ctx context.Context, r *Report) error {
	m, s := e.NewMemory(), &shelf{}
	near, sn := e.NewMemory(), &shelf{} // where what differs in one crucial word is remembered too
	ids := make([]string, len(e.Gold))
	for i, t := range e.Gold {
		ids[i] = s.put(t.Question)
		sn.put(t.Question)
	}
	for _, q := range e.others {
		s.put(q)
		sn.put(q)
	}
	for _, t := range e.Gold {
		for _, c := range t.Changes {
			sn.put(c.Text)
		}
	}
	r.Buckets = buckets()
	score := func(matches []revue.Match, right string) {
		for _, x := range matches[:min(3, len(matches))] {
			for i := range r.Buckets {
				if b := &r.Buckets[i]; x.Score >= b.From {
					b.Tried++
					if x.DecisionID == right {
						b.Right++
					}
					break
				}
			}
		}
	}
	for _, text := range e.wordings {
		m, s := e.NewMemory(), &shelf{}
		id := s.put(text)
		got, err := m.Recall(ctx, s, request(text))
		if err != nil {
			return err
		}
		before := r.Repeats.Applied
		r.Repeats.add(got.Matches, id)
		if !got.Permission {
			r.Repeats.ByDefault += r.Repeats.Applied - before
		}
	}
	joined := func(base, text string) int {
		switch m.Same(revue.Question{Text: base}, revue.Question{Text: text}).Verdict {
		case revue.VerdictSame, revue.VerdictLikely:
			return 1
		}
		return 0
	}
	for i, t := range e.Gold {
		for _, text := range t.Variants {
			r.JoinedVariants += joined(t.Question, text)
			got, err := m.Recall(ctx, s, request(text))
			if err != nil {
				return err
			}
			r.Variants.add(got.Matches, ids[i])
			score(got.Matches, ids[i])
		}
		for _, text := range t.Paraphrases {
			r.JoinedParaphrases += joined(t.Question, text)
			got, err := m.Recall(ctx, s, request(text))
			if err != nil {
				return err
			}
			r.Paraphrases.add(got.Matches, ids[i])
			score(got.Matches, ids[i])
			if got, err = near.Recall(ctx, sn, request(text)); err != nil {
				return err
			}
			r.Near.add(got.Matches, ids[i])
		}
		for _, c := range t.Changes {
			got, err := m.Recall(ctx, s, request(c.Text))
			if err != nil {
				return err
			}
			score(got.Matches, "")
		}
	}
	return nil
}

// Said counts the pairs that are alike, and those of them that differ in something crucial.
type Said struct {
	Tried, Related, Crucial int // of Tried, those related; of Related, those crucial
}

func (s *Said) add(c revue.Comparison) {
	s.Tried++
	if c.Verdict == revue.VerdictRelated {
		s.Related++
		if c.Crucial {
			s.Crucial++
		}
	}
}

// meaning measures what is said to differ crucially: of paraphrases, of changes, and of changes against paraphrases of the
// same topic, which are two decisions in two forms.
func (e *evaluation) meaning(_ context.Context, r *Report) error {
	m := e.NewMemory()
	same := func(a, b string) revue.Comparison {
		return m.Same(revue.Question{Text: a}, revue.Question{Text: b})
	}
	for _, t := range e.Gold {
		for _, p := range t.Paraphrases {
			r.SaidParaphrases.add(same(t.Question, p))
		}
		for _, c := range t.Changes {
			r.SaidChanges.add(same(t.Question, c.Text))
			for _, p := range t.Paraphrases {
				r.SaidCross.add(same(p, c.Text))
			}
		}
	}
	return nil
}

// Young is what a store with few decisions finds.
type Young struct {
	Decisions int
	Found     Found
	Others    int // questions about what is not in the store
	Shown     int // of these, those that were shown a precedent
}

// youngStores is how many young stores of each size are made.
const youngStores = 40

// young measures what is found in stores of 5 to 50 decisions.
func (e *evaluation) young(ctx context.Context, r *Report) error {
	rng := e.rng("young")
	for _, size := range []int{5, 10, 20, 50} {
		y := Young{Decisions: size}
		for range youngStores {
			m, s := e.NewMemory(), &shelf{}
			in := rng.Perm(len(e.Gold))[:min(size, len(e.Gold))]
			ids := make([]string, len(in))
			for i, n := range in {
				ids[i] = s.put(e.Gold[n].Question)
			}
			for i, n := range in {
				for _, text := range e.Gold[n].Paraphrases {
					got, err := m.Recall(ctx, s, request(text))
					if err != nil {
						return err
					}
					y.Found.add(got.Matches, ids[i])
				}
			}
			for n := range e.Gold {
				if slices.Contains(in, n) {
					continue
				}
				got, err := m.Recall(ctx, s, request(e.Gold[n].Question))
				if err != nil {
					return err
				}
				y.Others++
				if len(got.Matches) > 0 {
					y.Shown++
				}
			}
		}
		r.Young = append(r.Young, y)
	}
	return nil
}
