package memory

import (
	"cmp"
	"math"
	"slices"

	"github.com/revuehq/revue"
)

// BM25 with weighted fields: the frequency of a stem is the sum over the fields it occurs in, each counted once
// with the weight of the field.
const (
	saturation = 1.2 // k1
	byLength   = 0.5 // b

	// background is how many documents the table of common stems counts as, so that a young store
	// tells common words from telling ones.
	background = 2000

	maxQueryTerms = 256
)

// idf is the weight of a stem: how few decisions have it, together with the background.
func idf(s string, df uint32, live int) float64 {
	n := float64(live) + background
	f := backgroundShare(s)*background + float64(df)
	return math.Log(1 + (n-f+0.5)/(f+0.5))
}

// bm25 is what a stem adds to the score of a document: its weight, its frequency, and what the length of the document
// stands against it.
func bm25(weight, tf, against float64) float64 {
	return weight * (saturation + 1) * tf / (tf + against)
}

// against is what a length stands against frequencies, both in units.
func against(length, mean float64) float64 {
	return unit * saturation * (1 - byLength + byLength*length/mean)
}

// hit is a document with its score.
type hit struct {
	doc   uint32
	score float64
}

// cursor walks the postings of one stem of a query.
type cursor struct {
	order  int // in the query
	weight float64
	list   *longPostings
	chunk  int // the next one in list

	// The chunk at hand.
	docs  []uint16
	masks []uint8
	pos   int
	most  float64 // no document in the chunk gets more from this stem
}

// ranking is the working memory of one search.
type ranking struct {
	cursors []cursor
	here    []*cursor // those with documents in the chunk at hand, the least bound first
	upTo    []float64 // upTo[i] is the sum of the bounds of here[:i]
	needed  []*cursor // of a pass: those without which no document gets into the list, the shortest first
	rest    []*cursor // of a pass: the others
	restTo  []float64 // as upTo, of rest
	adds    []float64 // what each stem adds to the document at hand, in the order of the query
	short   []longPostings
	seen    map[string]bool
	best    []hit
	out     []uint64 // a bit for each document that is not looked for; nothing where there is none
}

// leaveOut says that a document is not looked for.
func (r *ranking) leaveOut(ix *index, doc uint32) {
	if len(r.out) == 0 {
		n := len(ix.refs)/64 + 1
		r.out = slices.Grow(r.out, n)[:n]
		clear(r.out)
	}
	r.out[doc/64] |= 1 << (doc % 64)
}

// relevant returns the most relevant documents for a text, and the score that a decision of average length gets which
// has each word of the text in its question. The list is the one that scoring every document gives, bit for bit.
//
// It goes through the documents chunk by chunk, and through a chunk once for each stem, the rarest first: looked at are
// the documents that have this stem and none of those before it. Once the list is full, the bounds of the stems say
// which others a document must have too to get into it; so most passes are over what a few lists have in common, and
// the last ones, where all bounds together do not reach the end of the list, are left out.
func (ix *index) relevant(text string, most int, r *ranking) (hits []hit, full float64) {
	if ix.live == 0 || most <= 0 {
		return nil, 0
	}
	full = ix.query(text, r)
	mean := float64(ix.length) / float64(ix.live)
	r.best = r.best[:0]
	s := search{ix: ix, ranking: r, most: most, mean: mean}
	for {
		upper := uint32(math.MaxUint32)
		for i := range r.cursors {
			if c := &r.cursors[i]; c.chunk < len(c.list.chunks) {
				upper = min(upper, c.list.chunks[c.chunk].upper)
			}
		}
		if upper == math.MaxUint32 {
			break
		}
		s.enter(upper)
		s.scan(upper)
	}
	return r.best, full
}

// query finds the stems of a text, and returns the score of a decision that has them all.
func (ix *index) query(text string, r *ranking) (full float64) {
	if r.seen == nil {
		r.seen = map[string]bool{}
	}
	clear(r.seen)
	r.cursors, r.short = r.cursors[:0], r.short[:0]
	if r.short == nil {
		r.short = make([]longPostings, 0, maxQueryTerms) // cursors point into it
	}
	eachWord(text, func(w string) {
		s := stemOf(w)
		if r.seen[s] || len(r.seen) >= maxQueryTerms {
			return
		}
		r.seen[s] = true
		t, ok := ix.terms[s]
		var p postings
		if ok {
			p = ix.lists[t]
		}
		weight := idf(s, p.df, ix.live)
		full += weight
		if p.df == 0 {
			return
		}
		c := cursor{order: len(r.cursors), weight: weight, list: p.long}
		if c.list == nil {
			n := len(r.short)
			r.short = r.short[:n+1]
			l := &r.short[n]
			l.docs, l.masks, l.chunks = l.docs[:0], l.masks[:0], l.chunks[:0]
			p.each(func(doc uint32, mask uint8) { l.add(doc, mask, p.bound) })
			c.list = l
		}
		r.cursors = append(r.cursors, c)
	})
	r.adds = append(r.adds[:0], make([]float64, len(r.cursors))...)
	return full
}

// search is one run over the chunks.
type search struct {
	*ranking
	ix        *index
	most      int
	mean      float64
	threshold float64 // what the last of a full list has
}

// slack keeps a bound from being undercut by the rounding of sums in another order.
const slack = 1 + 1e-9

// enter puts the cursors that have documents in a chunk on it.
func (s *search) enter(upper uint32) {
	s.here = s.here[:0]
	for i := range s.cursors {
		c := &s.cursors[i]
		if c.chunk == len(c.list.chunks) || c.list.chunks[c.chunk].upper != upper {
			continue
		}
		k := c.list.chunks[c.chunk]
		end := c.list.end(c.chunk)
		c.docs, c.masks, c.pos = c.list.docs[k.start:end], c.list.masks[k.start:end], 0
		c.most = bm25(c.weight, float64(k.bound.most), against(float64(k.bound.shortest), s.mean))
		c.chunk++
		s.here = append(s.here, c)
	}
	slices.SortFunc(s.here, func(a, b *cursor) int { return cmp.Or(cmp.Compare(a.most, b.most), cmp.Compare(a.order, b.order)) })
	s.upTo = append(s.upTo[:0], 0)
	for i, c := range s.here {
		s.upTo = append(s.upTo, s.upTo[i]+c.most)
	}
}

// reaches reports whether a document that has the first n stems, and no others, may get into the list.
func (s *search) reaches(n int) bool { return s.upTo[n]*slack >= s.threshold }

// prepare finds which stems the documents of a pass must have: here[pass], and each of those before it without which
// the others do not reach the threshold.
func (s *search) prepare(pass int) {
	all := s.upTo[pass+1]
	s.needed, s.rest, s.restTo = s.needed[:0], s.rest[:0], append(s.restTo[:0], 0)
	for i, c := range s.here[:pass+1] {
		if i == pass || (all-c.most)*slack < s.threshold {
			s.needed = append(s.needed, c)
			continue
		}
		s.restTo = append(s.restTo, s.restTo[len(s.rest)]+c.most)
		s.rest = append(s.rest, c)
	}
	slices.SortFunc(s.needed, func(a, b *cursor) int {
		return cmp.Or(cmp.Compare(len(a.docs), len(b.docs)), cmp.Compare(a.order, b.order))
	})
}

// scan scores the documents of a chunk that may get into the list.
func (s *search) scan(upper uint32) {
	for pass := len(s.here) - 1; pass >= 0 && s.reaches(pass+1); pass-- {
		for _, c := range s.here {
			c.pos = 0
		}
		s.prepare(pass)
		s.pass(upper, pass)
	}
}

// pass scores the documents that have the stem of here[pass], and none of those behind it.
func (s *search) pass(upper uint32, pass int) {
	lens := s.ix.lens[upper<<chunkBits:]
	for from := 0; ; {
		doc := s.common(from)
		if doc > chunkMask {
			return
		}
		from = doc + 1
		length := lens[doc]
		if length == 0 {
			continue // it is not searched any more
		}
		if len(s.out) > 0 && s.out[upper<<(chunkBits-6)|uint32(doc)/64]&(1<<(doc%64)) != 0 { //nolint:gosec // it is of the chunk
			continue
		}
		k, sum := against(float64(length), s.mean), 0.0
		for _, c := range s.needed {
			sum += s.add(c, k)
		}
		if s.complete(uint16(doc), k, sum) && !s.before(uint16(doc), pass) { //nolint:gosec // it is of the chunk
			threshold := s.threshold
			s.offer(upper<<chunkBits|uint32(doc), s.total()) //nolint:gosec // as above
			if s.threshold > threshold {
				if !s.reaches(pass + 1) {
					clear(s.adds)
					return
				}
				s.prepare(pass)
			}
		}
		clear(s.adds)
	}
}

// before reports whether a document was looked at in an earlier pass.
func (s *search) before(doc uint16, pass int) bool {
	for _, c := range s.here[pass+1:] {
		if c.seek(doc); c.pos < len(c.docs) && c.docs[c.pos] == doc {
			return true
		}
	}
	return false
}

// common returns the first document at from or behind it that has all stems that are needed.
func (s *search) common(from int) int {
	doc := from
	for i := 0; i < len(s.needed); {
		c := s.needed[i]
		if doc > chunkMask {
			return doc
		}
		c.seek(uint16(doc)) //nolint:gosec // it is of the chunk
		if c.pos == len(c.docs) {
			return chunkMask + 1
		}
		at := int(c.docs[c.pos])
		if at > doc && i > 0 {
			doc, i = at, 0
			continue
		}
		doc = at
		i++
	}
	return doc
}

func (s *search) add(c *cursor, against float64) float64 {
	a := bm25(c.weight, float64(s.ix.tf[c.masks[c.pos]]), against)
	s.adds[c.order] = a
	return a
}

// complete adds what the other stems have to say on a document, and reports whether it may get into the list.
func (s *search) complete(doc uint16, against, sum float64) bool {
	for i := len(s.rest) - 1; i >= 0; i-- {
		if (sum+s.restTo[i+1])*slack < s.threshold {
			return false
		}
		c := s.rest[i]
		c.seek(doc)
		if c.pos < len(c.docs) && c.docs[c.pos] == doc {
			sum += s.add(c, against)
		}
	}
	return sum*slack >= s.threshold
}

// seek moves on to the first document that is not before doc. Mostly it is near.
func (c *cursor) seek(doc uint16) {
	docs := c.docs[c.pos:]
	for i := range min(near, len(docs)) {
		if docs[i] >= doc {
			c.pos += i
			return
		}
	}
	if len(docs) <= near {
		c.pos = len(c.docs)
		return
	}
	from, at := near, near // what is before from is before doc
	for step := near; at < len(docs) && docs[at] < doc; at += step {
		from = at + 1
		step *= 2
	}
	to := min(at, len(docs))
	for from < to {
		m := int(uint(from+to) >> 1) //nolint:gosec // neither is negative
		if docs[m] < doc {
			from = m + 1
		} else {
			to = m
		}
	}
	c.pos += from
}

// near is how many documents are looked at one by one.
const near = 8

// total sums in the order of the query, so that a score does not depend on how the document was found.
func (s *search) total() float64 {
	sum := 0.0
	for _, a := range s.adds {
		sum += a
	}
	return sum
}

// offer puts a document into the list where it is one of the best.
func (s *search) offer(doc uint32, score float64) {
	h := hit{doc, score}
	n := len(s.best)
	if n == s.most && !s.ix.ahead(h, s.best[n-1]) {
		return
	}
	i, _ := slices.BinarySearchFunc(s.best, h, func(x, y hit) int {
		if s.ix.ahead(x, y) {
			return -1
		}
		return 1
	})
	if n == s.most {
		s.best = s.best[:n-1]
	}
	s.best = slices.Insert(s.best, i, h)
	if len(s.best) == s.most {
		s.threshold = s.best[s.most-1].score
	}
}

// ahead orders by score, then newest first, then by id, so that a search gives the same list each time.
func (ix *index) ahead(x, y hit) bool {
	if x.score != y.score {
		return x.score > y.score
	}
	if s, t := ix.seqs[x.doc], ix.seqs[y.doc]; s != t {
		return s > t
	}
	return string(packedID(ix.recs.at(ix.refs[x.doc]))) < string(packedID(ix.recs.at(ix.refs[y.doc])))
}

// newestDocs is some documents, those decided last first, and by id where they were decided at once.
type newestDocs struct {
	ix   *index
	most int
	docs []uint32
}

// add takes a document, and returns the one that there is no room for, where there is one.
func (l *newestDocs) add(doc uint32) (out uint32, dropped bool) {
	if len(l.docs) == l.most && l.ix.seqs[doc] < l.ix.seqs[l.docs[l.most-1]] {
		return doc, true // most often they come newest first
	}
	at, found := slices.BinarySearchFunc(l.docs, doc, func(x, y uint32) int {
		switch {
		case x == y:
			return 0
		case l.ix.ahead(hit{doc: x}, hit{doc: y}):
			return -1
		}
		return 1
	})
	switch {
	case found: // another hash alike gives it twice
		return 0, false
	case at == l.most:
		return doc, true
	case len(l.docs) == l.most:
		out, dropped = l.docs[l.most-1], true
		l.docs = l.docs[:l.most-1]
	}
	l.docs = slices.Insert(l.docs, at, doc)
	return out, dropped
}

// known is a decision as it was when the index was read, so that it is judged without the lock.
type known struct {
	d    revue.Decision
	rel  float64 // 0..1
	live bool

	// Of those that bear on the same question.
	keys     []string
	answer   answer
	concepts uint64 // see signature
}
