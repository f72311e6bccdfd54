package memory

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/revuehq/revue"
)

// What a score may be, and which are left out.
const (
	// MinScore is the threshold: matches below it are not returned.
	MinScore = 0.4

	capLikely   = 0.95 // the same wording that may mean another thing, or only harmless words differ
	capKeywords = 0.8  // found by keywords

	// What is alike gets a score from one of these up, by the relevance, so that no score is above one that is right
	// more often: see docs/matching.md.
	fromForm    = 0.7 // the same in another form
	fromWords   = 0.5 // something differs that may matter
	fromSingle  = 0.4 // one place differs, in a way that matters, and all else is equal: most often another decision
	stepForm    = 0.19
	stepCrucial = 0.09

	outOfScope = 0.85 // factor where the scopes do not fit

	maxExact = 200 // decisions on one question that are judged, the newest

	minRelevance = 0.02 // what is less relevant is not compared

	minCandidates = 20 // that are compared, at least

	defaultLimit = 10
	maxLimit     = 100
)

// findings is what a search of the index found, to be judged without its lock.
type findings struct {
	seq   revue.Seq
	exact []*known            // those on the same question, newest first
	alike []*known            // others, the most relevant first
	on    map[string][]*known // by canonical wording: all that bear on the questions of those in exact
}

// find looks up what may bear on q.
func (sp *space) find(q revue.Query, r *reading, most int) findings {
	sc, ok := sp.scratch.Get().(*ranking)
	if !ok {
		sc = &ranking{}
	}
	defer sp.scratch.Put(sc)

	sp.mu.RLock()
	defer sp.mu.RUnlock()
	ix := sp.ix
	f := findings{seq: ix.seq, on: map[string][]*known{}}
	docs := map[uint32]*known{}
	if k := key(r.toks); k != "" && !r.hidden {
		for _, x := range sp.onKey(&f, docs, k) {
			if x.live {
				f.exact = append(f.exact, x)
			}
		}
		f.exact = newest(f.exact, maxExact)
		for _, x := range f.exact {
			for _, k := range x.keys {
				sp.onKey(&f, docs, k)
			}
		}
	}
	hits, full := ix.relevant(q.Text, most, sc)
	for _, h := range hits {
		rel := min(1, h.score/full)
		if rel < minRelevance {
			break
		}
		if x := docs[h.doc]; x != nil && slices.Contains(f.exact, x) {
			continue
		}
		f.alike = append(f.alike, &known{d: ix.decision(h.doc), rel: rel, live: true})
	}
	return f
}

// onKey returns the decisions with this canonical wording.
func (sp *space) onKey(f *findings, docs map[uint32]*known, k string) []*known {
	if l, ok := f.on[k]; ok {
		return l
	}
	ix := sp.ix
	var l []*known
	ix.byKey.each(ix.hashOf(k), func(n uint32) bool {
		x := docs[n]
		if x == nil {
			if ix.refs[n] == gone {
				return true
			}
			x = &known{d: ix.decision(n), rel: 1}
			x.live, x.keys = x.d.Live(), sp.readings.keys(&x.d)
			docs[n] = x
		}
		if slices.Contains(x.keys, k) && !slices.Contains(l[max(0, len(l)-1):], x) { // another hash alike would give it twice
			l = append(l, x)
		}
		return true
	})
	f.on[k] = l
	return l
}

// judge says how far each finding may be reused, best first.
func (f *findings) judge(rs *readings, q revue.Query, r *reading, limit int, now time.Time) revue.Recalled {
	out := revue.Recalled{Seq: f.seq, Deictic: r.loose() || r.relative != "", Permission: r.permission}
	matches := make([]ranked, 0, len(f.exact)+len(f.alike))
	for _, x := range f.exact {
		matches = append(matches, f.match(rs, x, q, r, true, now))
	}
	for _, x := range f.alike {
		matches = append(matches, f.match(rs, x, q, r, false, now))
	}
	slices.SortFunc(matches, func(x, y ranked) int {
		return cmp.Or(
			cmp.Compare(boolInt(y.ReuseGuidance == revue.Apply), boolInt(x.ReuseGuidance == revue.Apply)),
			cmp.Compare(y.Score, x.Score),
			cmp.Compare(y.relevance, x.relevance),
			y.DecidedAt.Compare(x.DecidedAt),
			cmp.Compare(y.seq, x.seq),
			cmp.Compare(x.DecisionID, y.DecisionID),
		)
	})
	for _, m := range matches {
		if len(out.Matches) == limit {
			break
		}
		if m.Score >= MinScore {
			out.Matches = append(out.Matches, m.Match)
		}
	}
	return out
}

type ranked struct {
	revue.Match
	seq       revue.Seq
	relevance float64 // what the score was before the differences
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// match judges one decision. exact says that q has the canonical tokens of one of its wordings.
func (f *findings) match(rs *readings, x *known, q revue.Query, r *reading, exact bool, now time.Time) ranked {
	d := &x.d
	c, w, alias := rs.closest(d, q, r)
	keywords := !exact && keywords(q, r)
	fits := d.Scope().Fits(revue.Scope{Concepts: q.Concepts, Files: q.Files, Repo: q.Repo})
	against := ""
	if exact {
		against = f.against(x, revue.Scope{Concepts: q.Concepts, Files: q.Files, Repo: q.Repo})
	}
	m := revue.Match{
		DecisionID:    d.ID,
		Question:      d.Question,
		Answer:        d.Answer,
		Score:         score(c, x.rel, exact, fits, keywords),
		Freshness:     d.FreshnessAt(now),
		Concepts:      append([]string{}, d.Concepts...),
		Files:         append([]string{}, d.Files...),
		ReuseGuidance: revue.Confirm,
		Verdict:       c.verdict,
		DecidedBy:     d.By,
		DecidedAt:     d.CreatedAt,
	}
	m.Confidence = confidence(d, against != "", now)
	if d.AnswerLabel != d.Answer {
		m.AnswerLabel = d.AnswerLabel
	}
	obstacle := d.Obstacle(q, now)

	switch {
	case c.verdict == revue.VerdictSame && !r.hidden && exact:
		what := "The same question"
		if alias {
			what = "A wording a human accepted as the same question"
		}
		stop := obstacle
		if stop == "" {
			stop = doubt(r, d)
		}
		// The tokens of what was answered are those of an alias, or its articles may say more than those of q.
		if stop == "" {
			stop = doubt(w, d)
		}
		if own := rs.of(d.Question); stop == "" {
			if stop = doubt(own, d); stop == "" && alias && own.loose() {
				stop = "the question that was answered does not say what it is about"
			}
		}
		if stop == "" {
			stop = against
		}
		if stop == "" {
			m.ReuseGuidance = revue.Apply
			m.Reason = what + "."
		} else {
			m.Reason = what + ", but " + stop + "."
		}
	case c.verdict == revue.VerdictSame:
		m.Reason = "The same wording with invisible characters in it."
	case exact:
		m.Reason = "The same wording, but " + c.differs + "."
	case keywords:
		m.Reason = "Found by keywords" + inBoth(r, w) + "."
	case c.verdict == revue.VerdictNone:
		m.Reason = "About similar things" + inBoth(r, w) + "."
	case c.verdict == revue.VerdictLikely:
		m.Reason = "Nearly the same wording; differs in " + c.differs + "."
	default:
		m.Reason = "Alike" + inBoth(r, w) + ", but differs in " + c.differs + "."
	}
	if obstacle != "" && !(exact && c.verdict == revue.VerdictSame) {
		m.Reason += " " + sentence(obstacle)
	}
	return ranked{Match: m, seq: d.Seq, relevance: relevance(c, x.rel)}
}

// doubt says what in a wording stands against applying the answer to it, "" for nothing.
func doubt(r *reading, d *revue.Decision) string {
	switch {
	case r.thin:
		return "it has too few words to say what it is about"
	case r.relative != "":
		return "'" + quote(r.relative) + "' may mean another thing by now"
	case r.permission && d.Remember != revue.RememberRule:
		return "it asks for leave, and the human did not make the answer a standing rule"
	}
	return ""
}

// keywords reports whether a lookup is a list of words and no question.
func keywords(q revue.Query, r *reading) bool {
	return !q.Request && !strings.Contains(q.Text, "?") && !slices.ContainsFunc(r.toks, func(t token) bool { return asking(t.s) })
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] + "." }

// closest compares a query with each wording of a decision and returns the best, its reading, and whether it is an
// alias.
func (c *readings) closest(d *revue.Decision, q revue.Query, r *reading) (best comparison, of *reading, alias bool) {
	asked := q.Question()
	for i, text := range wordings(d) {
		w := c.of(text)
		how := compare(r, w, asked, revue.Question{Text: text, Options: d.Options, Concepts: d.Concepts, Files: d.Files, Repo: d.Repo})
		if i == 0 || rank(how) > rank(best) {
			best, of, alias = how, w, i > 0
		}
	}
	return best, of, alias
}

// maxAlike is how many words that are in both a reason names.
const maxAlike = 4

// inBoth names the first content words that two wordings share, up to inflection, in brackets behind a space.
func inBoth(a, b *reading) string {
	var said []string
	for _, t := range a.toks {
		if function(t.s) || punctuation(t.s) || slices.Contains(said, quote(t.s)) {
			continue
		}
		if rt := rough(t); slices.ContainsFunc(b.toks, func(u token) bool { return rough(u) == rt }) {
			if len(said) == maxAlike {
				said = append(said, "…")
				break
			}
			said = append(said, quote(t.s))
		}
	}
	if len(said) == 0 {
		return ""
	}
	return " (" + strings.Join(said, ", ") + ")"
}

func rank(c comparison) int {
	switch c.verdict {
	case revue.VerdictSame:
		return 4
	case revue.VerdictLikely:
		return 3
	case revue.VerdictRelated:
		if c.crucial {
			return 1
		}
		return 2
	}
	return 0
}

// relevance is the mean of BM25 and the share of content words in both, 0..1.
func relevance(c comparison, rel float64) float64 { return (rel + c.shared) / 2 }

// score is 1 for the same question. Otherwise it is the relevance, put between the bounds for what differs, and lower where
// the scopes do not fit. That a question has other words than a list of keywords says nothing. What is below [MinScore]
// by its relevance stays there.
func score(c comparison, rel float64, exact, fits, keywords bool) float64 {
	s, factor := relevance(c, rel), 1.0
	if !fits {
		factor = outOfScope
	}
	alike := s*factor >= MinScore
	above := (s*factor - MinScore) / (1 - MinScore) // 0..1
	switch {
	case c.verdict == revue.VerdictSame:
		s = factor
	case exact || c.verdict == revue.VerdictLikely:
		s = capLikely * factor
	case keywords:
		s = min(s, capKeywords) * factor
	case !alike:
		s *= factor
	case c.verdict == revue.VerdictRelated && !c.crucial:
		s = fromForm + stepForm*above
	case c.verdict == revue.VerdictRelated && c.single:
		s = fromSingle + stepCrucial*above
	default:
		s = fromWords + stepCrucial*above
	}
	return math.Round(s*1000) / 1000
}

// against says which other decision stands against this one: a live one on the same question that answers
// otherwise where both hold or where it is asked now, or a withdrawn one with the same answer.
func (f *findings) against(x *known, asked revue.Scope) string {
	var other, withdrawn *known // the newest of each, so that the reason is the same each time
	newer := func(than **known, o *known) {
		if *than == nil || o.d.Seq > (*than).d.Seq {
			*than = o
		}
	}
	for _, k := range x.keys {
		for _, o := range f.on[k] {
			switch {
			case o.d.ID == x.d.ID:
			case o.live:
				if !sameAnswer(&o.d, &x.d) && (o.d.Scope().Fits(x.d.Scope()) || o.d.Scope().Fits(asked)) {
					newer(&other, o)
				}
			case o.d.Answer == x.d.Answer:
				if slices.ContainsFunc(o.d.Standing(), func(c revue.Correction) bool {
					return c.Verb == revue.VerbWrong && c.At.After(x.d.ConfirmedAt)
				}) {
					newer(&withdrawn, o)
				}
			}
		}
	}
	switch {
	case other != nil:
		return "another decision on it (" + quote(other.d.ID) + ") answers otherwise"
	case withdrawn != nil:
		return "the same answer was withdrawn as wrong (" + quote(withdrawn.d.ID) + ") after it was last confirmed"
	}
	return ""
}

func sameAnswer(a, b *revue.Decision) bool {
	if a.FreeText != b.FreeText {
		return false
	}
	return a.Answer == b.Answer && a.AnswerLabel == b.AnswerLabel
}

// confidence says how far the answer is likely to hold still, 0..1:
//
//	(0.6 + 0.3·(1 − ½ⁿ) + 0.1 for a standing rule) · age · breadth · contradiction
//
// n is how often it was confirmed. age is 1 while fresh, falls evenly to 0.6 while aging, and is 0.4 when stale and
// 0.2 when expired. breadth is 1 less 0.05 for each of concepts, files and repo that is not named.
// contradiction is ½ where another decision stands against it.
func confidence(d *revue.Decision, contradicted bool, now time.Time) float64 {
	v := 0.6 + 0.3*(1-math.Pow(0.5, float64(max(0, d.Confirmations))))
	if d.Remember == revue.RememberRule {
		v += 0.1
	}
	switch d.FreshnessAt(now) {
	case revue.Fresh:
	case revue.Aging:
		v *= 1 - 0.4*float64(now.Sub(d.ConfirmedAt)-revue.FreshFor)/float64(revue.StaleAfter-revue.FreshFor)
	case revue.Stale:
		v *= 0.4
	case revue.Expired:
		v *= 0.2
	}
	for _, named := range [...]bool{len(d.Concepts) > 0, len(d.Files) > 0, d.Repo != ""} {
		if !named {
			v -= 0.05 * v
		}
	}
	if contradicted {
		v /= 2
	}
	return math.Round(min(1, max(0, v))*1000) / 1000
}
