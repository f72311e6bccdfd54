package memory

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

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

	maxExact = 200     // decisions on one question that are judged, the newest
	maxOnKey = 400     // decisions on one question that are read, the newest, for what they say against those that are judged
	maxFits  = 1 << 20 // pairs of concepts and files that are compared in one recall to find what answers otherwise
	maxRead  = 2000    // decisions that are read in one recall by their wording, and once more than maxOnKey at most

	minRelevance = 0.02 // what is less relevant is not compared

	minCandidates = 50 // that are compared, at least; an Embedder orders no more

	defaultLimit = 10
	maxLimit     = 100
)

// findings is what a search of the index found, to be judged without its lock.
type findings struct {
	seq   revue.Seq
	exact []*known           // those on the same question, newest first
	alike []*known           // others, the most relevant first
	on    map[string]*onWord // by canonical wording: what bears on the questions of those in exact
	fits  int                // pairs that were compared so far: see maxFits
}

// onWord is the decisions with one canonical wording: the newest, and what is to be known of those that were not read.
type onWord struct {
	live      []*known // newest first
	withdrawn []*known
	rest      others
}

// others is what is known of decisions that were not read.
type others struct {
	live      bool
	answer    answer // of one that is live
	several   bool   // not all of the live ones have that answer
	withdrawn bool
}

// answersOtherwise reports whether one of them may be live with another answer.
func (o *others) answersOtherwise(a answer) bool {
	return o.live && (o.several || o.answer.other(a))
}

// find looks up what may bear on q.
func (sp *space) find(q revue.Query, r *reading, most int) findings {
	sc, ok := sp.scratch.Get().(*ranking)
	if !ok {
		sc = &ranking{}
	}
	defer sp.scratch.Put(sc)
	sc.out = sc.out[:0]

	sp.mu.RLock()
	defer sp.mu.RUnlock()
	ix := sp.ix
	f := findings{seq: ix.seq, on: map[string]*onWord{}}
	docs := map[uint32]*known{}
	if k := key(r.toks); k != "" && !r.hidden {
		on := sp.onKey(&f, docs, k)
		f.exact = on.live[:min(maxExact, len(on.live))]
		ix.byKey.each(ix.hashOf(k), func(n uint32) bool {
			sc.leaveOut(ix, n)
			return true
		})
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
		f.alike = append(f.alike, &known{d: ix.decision(h.doc), rel: rel, live: true})
	}
	return f
}

// onKey returns the decisions with this canonical wording. It reads few of many, and no more than maxRead in one recall:
// of the others it says what could stand against one that was read.
func (sp *space) onKey(f *findings, docs map[uint32]*known, k string) *onWord {
	if on, ok := f.on[k]; ok {
		return on
	}
	ix := sp.ix
	on := &onWord{}
	f.on[k] = on
	if len(docs) >= maxRead {
		on.rest = others{live: true, several: true, withdrawn: true}
		return on
	}
	live, withdrawn := newestDocs{ix: ix, most: maxOnKey}, newestDocs{ix: ix, most: maxOnKey / 4}
	ix.byKey.each(ix.hashOf(k), func(n uint32) bool {
		switch {
		case ix.refs[n] == gone:
		case ix.answers[n].live():
			if out, ok := live.add(n); ok {
				on.rest.several = on.rest.several || on.rest.live && on.rest.answer.other(ix.answers[out])
				on.rest.live, on.rest.answer = true, ix.answers[out]
			}
		default:
			_, ok := withdrawn.add(n)
			on.rest.withdrawn = on.rest.withdrawn || ok
		}
		return true
	})
	for _, n := range live.docs {
		if x := sp.known(docs, n); slices.Contains(x.keys, k) { // another hash may be alike
			on.live = append(on.live, x)
		}
	}
	for _, n := range withdrawn.docs {
		if x := sp.known(docs, n); slices.Contains(x.keys, k) {
			on.withdrawn = append(on.withdrawn, x)
		}
	}
	return on
}

// known reads a document, once in a recall.
func (sp *space) known(docs map[uint32]*known, n uint32) *known {
	x := docs[n]
	if x == nil {
		x = &known{d: sp.ix.decision(n), rel: 1, answer: sp.ix.answers[n]}
		x.live, x.keys, x.concepts = x.answer.live(), sp.readings.keys(&x.d), signature(x.d.Concepts)
		docs[n] = x
	}
	return x
}

// judge says how far each finding may be reused, best first.
func (f *findings) judge(rs *readings, q revue.Query, r *reading, limit int, now time.Time) revue.Recalled {
	out := revue.Recalled{Seq: f.seq, Deictic: r.loose(), Permission: r.permission || r.standing() != ""}
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
		if stop == "" {
			stop = doubt(w, d) // spelled otherwise, it may have another form
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
	case d.Remember == revue.RememberRule:
	case r.permission:
		return "it asks for leave, and the human did not make the answer a standing rule"
	case r.standing() != "":
		return r.standing() + ", and the human did not make the answer a standing rule"
	}
	return ""
}

// standing says why a wording is not that of a standing policy, "" where it is.
func (r *reading) standing() string {
	r.guard()
	switch {
	case r.once != "":
		return r.once
	case r.atHand != "":
		return "'the " + quote(r.atHand) + "' may be another one by now"
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
	of := make(map[string]bool, len(b.toks))
	for _, t := range b.toks {
		of[rough(t)] = true
	}
	var said []string
	for _, t := range a.toks {
		if function(t.s) || punctuation(t.s) || !of[rough(t)] || slices.Contains(said, quote(t.s)) {
			continue
		}
		if len(said) == maxAlike {
			said = append(said, "…")
			break
		}
		said = append(said, quote(t.s))
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
	unread := false             // one that was not read may stand against it
	about := signature(asked.Concepts)
	newer := func(than **known, o *known) {
		if *than == nil || o.d.Seq > (*than).d.Seq {
			*than = o
		}
	}
	for _, k := range x.keys {
		on := f.on[k]
		for _, o := range on.live {
			if other != nil && other.d.Seq >= o.d.Seq {
				break // the newest come first
			}
			if o == x || sameAnswer(&o.d, &x.d) {
				continue
			}
			here, there := disjoint(o.concepts, x.concepts), disjoint(o.concepts, about)
			if here && there {
				continue
			}
			if f.fits += pairs(&o.d, x.d.Scope()) + pairs(&o.d, asked); f.fits > maxFits {
				unread = true
				break
			}
			if !here && o.d.Scope().Fits(x.d.Scope()) || !there && o.d.Scope().Fits(asked) {
				newer(&other, o)
			}
		}
		for _, o := range on.withdrawn {
			if o != x && o.d.Answer == x.d.Answer && slices.ContainsFunc(o.d.Standing(), func(c revue.Correction) bool {
				return c.Verb == revue.VerbWrong && c.At.After(x.d.ConfirmedAt)
			}) {
				newer(&withdrawn, o)
			}
		}
		unread = unread || on.rest.answersOtherwise(x.answer) || on.rest.withdrawn
	}
	switch {
	case other != nil:
		return "another decision on it (" + quote(other.d.ID) + ") answers otherwise"
	case withdrawn != nil:
		return "the same answer was withdrawn as wrong (" + quote(withdrawn.d.ID) + ") after it was last confirmed"
	case unread:
		return "there are too many other decisions on it to compare them all"
	}
	return ""
}

// signature has a bit for each of some concepts. Where two have none in common, no concept is in both, as [revue.Scope.Fits]
// compares them.
func signature(concepts []string) uint64 {
	sig := uint64(0)
	for _, c := range concepts {
		c = strings.TrimSpace(c)
		h := uint64(14695981039346656037) // FNV-1a, by runes
		for _, r := range c {
			h = (h ^ uint64(foldRune(r))) * 1099511628211 //nolint:gosec // a rune is not negative
		}
		sig |= 1 << (h >> 58)
	}
	return sig
}

// foldRune is the least of the runes that differ from r in case alone.
func foldRune(r rune) rune {
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	return least
}

// disjoint reports whether both name concepts and none is in both.
func disjoint(a, b uint64) bool { return a != 0 && b != 0 && a&b == 0 }

// pairs is how many pairs of concepts and files are compared to see whether scopes fit.
func pairs(d *revue.Decision, s revue.Scope) int {
	return 1 + len(d.Concepts)*len(s.Concepts) + len(d.Files)*len(s.Files)
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
