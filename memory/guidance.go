package memory

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/revuehq/revue"
)

// What a score is at most, and which are left out.
const (
	// MinScore is the threshold: matches below it are not returned.
	MinScore = 0.4

	capLikely  = 0.95 // the same wording that may mean another thing, or only harmless words differ
	capWords   = 0.8  // other words differ
	capCrucial = 0.6  // a negation, a number, an environment, a direction or the like differs

	outOfScope = 0.85 // factor where the scopes do not fit

	maxExact = 200 // decisions on one question that are judged, the newest

	minRelevance = 0.02 // what is less relevant is not compared

	defaultLimit = 10
	maxLimit     = 100
)

// search finds the decisions for q and says how far each may be reused.
func (sp *space) search(q revue.Query, now time.Time) revue.Recalled {
	r := read(q.Text)
	out := revue.Recalled{Deictic: r.loose() || r.relative != "", Permission: r.permission}
	limit := q.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	limit = min(limit, maxLimit)

	sc, ok := sp.scratch.Get().(*scratch)
	if !ok {
		sc = &scratch{}
	}
	defer sp.scratch.Put(sc)

	sp.mu.RLock()
	defer sp.mu.RUnlock()
	ix := sp.ix
	out.Seq = ix.seq

	candidates := ix.relevant(q.Text, max(20, 2*limit), sc)
	var exact []uint32
	if k := key(r.toks); k != "" && !r.hidden {
		exact = ix.newest(ix.byKey[k], maxExact)
	}
	matches := make([]ranked, 0, len(candidates)+len(exact))
	for _, n := range exact {
		if x := &ix.docs[n]; x.live {
			matches = append(matches, ix.match(x, q, &r, 1, true, now))
		}
	}
	for _, c := range candidates {
		if c.rel < minRelevance {
			break
		}
		if x := &ix.docs[c.doc]; x.live && !slices.Contains(exact, c.doc) {
			matches = append(matches, ix.match(x, q, &r, c.rel, false, now))
		}
	}
	slices.SortFunc(matches, func(x, y ranked) int {
		return cmp.Or(
			cmp.Compare(boolInt(y.ReuseGuidance == revue.Apply), boolInt(x.ReuseGuidance == revue.Apply)),
			cmp.Compare(y.Score, x.Score),
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
	seq revue.Seq
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// match judges one decision. exact says that q has the canonical tokens of one of its wordings.
func (ix *index) match(x *doc, q revue.Query, r *reading, rel float64, exact bool, now time.Time) ranked {
	d := &x.d
	c, alias := ix.closest(d, q, r)
	keywords := !exact && keywords(q, r)
	if keywords {
		c.crucial = false // that a question has other words says nothing
	}
	fits := d.Scope().Fits(revue.Scope{Concepts: q.Concepts, Files: q.Files, Repo: q.Repo})
	against := ""
	if exact {
		against = ix.against(x, revue.Scope{Concepts: q.Concepts, Files: q.Files, Repo: q.Repo})
	}
	m := revue.Match{
		DecisionID:    d.ID,
		Question:      d.Question,
		Answer:        d.Answer,
		Score:         score(c, rel, exact, fits),
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
		if own := ix.readings.of(d.Question); stop == "" && alias {
			if stop = doubt(own, d); stop == "" && own.loose() {
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
		m.Reason = "Found by keywords."
	case c.verdict == revue.VerdictNone:
		m.Reason = "About similar things."
	case c.verdict == revue.VerdictLikely:
		m.Reason = "Nearly the same wording; differs in " + c.differs + "."
	default:
		m.Reason = "Alike, but differs in " + c.differs + "."
	}
	if obstacle != "" && !(exact && c.verdict == revue.VerdictSame) {
		m.Reason += " " + sentence(obstacle)
	}
	return ranked{Match: m, seq: d.Seq}
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

// closest compares a query with each wording of a decision and returns the best, and whether it is an alias.
func (ix *index) closest(d *revue.Decision, q revue.Query, r *reading) (comparison, bool) {
	asked := q.Question()
	var best comparison
	alias := false
	for i, text := range wordings(*d) {
		c := compare(r, ix.readings.of(text), asked, revue.Question{Text: text, Options: d.Options, Concepts: d.Concepts, Files: d.Files, Repo: d.Repo})
		if i == 0 || rank(c) > rank(best) {
			best, alias = c, i > 0
		}
	}
	return best, alias
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

// score is 1 for the same question. Otherwise it is the mean of the relevance (BM25) and the share of content words
// in both, at most what the difference allows, and lower where the scopes do not fit.
func score(c comparison, rel float64, exact, fits bool) float64 {
	s := (rel + c.shared) / 2
	switch {
	case c.verdict == revue.VerdictSame:
		s = 1
	case exact || c.verdict == revue.VerdictLikely:
		s = capLikely
	case c.crucial:
		s = min(s, capCrucial)
	default:
		s = min(s, capWords)
	}
	if !fits {
		s *= outOfScope
	}
	return math.Round(s*1000) / 1000
}

// against says which other decision stands against this one: a live one on the same question that answers
// otherwise where both hold or where it is asked now, or a withdrawn one with the same answer.
func (ix *index) against(x *doc, asked revue.Scope) string {
	var other, withdrawn *doc // the newest of each, so that the reason is the same each time
	newer := func(than **doc, o *doc) {
		if *than == nil || o.d.Seq > (*than).d.Seq {
			*than = o
		}
	}
	for _, k := range x.keys {
		for _, n := range ix.byKey[k] {
			o := &ix.docs[n]
			switch {
			case o.gone || o.d.ID == x.d.ID:
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
