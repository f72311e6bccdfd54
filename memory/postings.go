package memory

import (
	"encoding/binary"
)

// The fields a stem may occur in, as a mask. How often it occurs in one does not count, so the mask is all there is
// to keep, and one byte with what leads to the document will do.
const (
	inQuestion = 1 << iota
	inConcept
	inFile
	inAnswer
	inOption

	masks = 1 << iota
)

// Weights of the fields, in units of a twentieth: whole numbers, so that sums do not depend on their order.
const (
	unit = 20

	weightQuestion = 20
	weightConcept  = 12
	weightFile     = 7
	weightAnswer   = 7
	weightOption   = 5
)

// weighed is the weighted frequency of a stem with this mask, in units.
func weighed(mask uint8) int {
	n := 0
	for i, w := range [...]int{weightQuestion, weightConcept, weightFile, weightAnswer, weightOption} {
		if mask&(1<<i) != 0 {
			n += w
		}
	}
	return n
}

// Documents are numbered in the order in which they came. A chunk is a stretch of 65,536 numbers, so that within it
// two bytes tell them apart.
const (
	chunkBits = 16
	chunkMask = 1<<chunkBits - 1
)

// postings is where a stem occurs, by ascending document. A short list is deltas as varints with the mask in the
// lowest five bits; a long one is arrays that can be searched as they are.
type postings struct {
	df    uint32 // documents that are searched
	n     uint32 // all, with those that are gone
	last  uint32 // the last document
	bound bound  // over all
	short []byte
	long  *longPostings
}

type longPostings struct {
	docs   []uint16 // within their chunk
	masks  []uint8
	chunks []chunk
}

// chunk is the part of a long list whose documents share their upper half.
type chunk struct {
	upper uint32
	start uint32 // in docs
	bound bound
}

// bound is the greatest frequency and the shortest document of a list: no document in it scores higher than one
// that has both.
type bound struct {
	most     uint8 // in units
	shortest uint16
}

func (b *bound) add(tf uint8, length uint16) {
	b.most = max(b.most, tf)
	if b.shortest == 0 || length < b.shortest {
		b.shortest = length
	}
}

// maxShort is how many postings a short list has at most.
const maxShort = 128

// add appends a document, and returns by how many bytes the list grew.
func (p *postings) add(doc uint32, mask, tf uint8, length uint16) int {
	grown := -p.bytes()
	if p.long == nil && p.n == maxShort {
		p.lengthen()
	}
	if p.long != nil {
		p.long.add(doc, mask, bound{tf, length})
	} else {
		p.short = binary.AppendUvarint(p.short, uint64(doc-p.last)<<5|uint64(mask))
	}
	p.bound.add(tf, length)
	p.last = doc
	p.n++
	return grown + p.bytes()
}

func (l *longPostings) add(doc uint32, mask uint8, b bound) {
	if n := len(l.chunks); n == 0 || l.chunks[n-1].upper != doc>>chunkBits {
		l.chunks = append(l.chunks, chunk{upper: doc >> chunkBits, start: uint32(len(l.docs))}) //nolint:gosec // as many as documents
	}
	l.chunks[len(l.chunks)-1].bound.add(b.most, b.shortest)
	l.docs = append(l.docs, uint16(doc&chunkMask)) //nolint:gosec // cut to size
	l.masks = append(l.masks, mask)
}

// lengthen makes a short list a long one. The bound of the whole holds for each part.
func (p *postings) lengthen() {
	l := &longPostings{}
	p.each(func(doc uint32, mask uint8) { l.add(doc, mask, p.bound) })
	p.short, p.long = nil, l
}

// each yields the postings in order.
func (p *postings) each(yield func(doc uint32, mask uint8)) {
	doc := uint32(0)
	for b := p.short; len(b) > 0; {
		v, n := binary.Uvarint(b)
		b = b[n:]
		doc += uint32(v >> 5) //nolint:gosec // it was one
		yield(doc, uint8(v&(masks-1)))
	}
	if p.long == nil {
		return
	}
	for i, c := range p.long.chunks {
		for j := c.start; j < p.long.end(i); j++ {
			yield(c.upper<<chunkBits|uint32(p.long.docs[j]), p.long.masks[j])
		}
	}
}

// end is where a chunk ends in docs.
func (l *longPostings) end(i int) uint32 {
	if i+1 < len(l.chunks) {
		return l.chunks[i+1].start
	}
	return uint32(len(l.docs)) //nolint:gosec // as many as documents
}

// bytes is what the list takes beside the postings struct itself.
func (p *postings) bytes() int {
	if p.long == nil {
		return cap(p.short)
	}
	return 2*cap(p.long.docs) + cap(p.long.masks) + 12*cap(p.long.chunks) + 72
}

// clip gives back what was kept for growth, where it is much.
func (p *postings) clip() int {
	l := p.long
	if l == nil || cap(l.docs)-len(l.docs) < len(l.docs)/16 {
		return 0
	}
	before := p.bytes()
	l.docs = append(make([]uint16, 0, len(l.docs)), l.docs...)
	l.masks = append(make([]uint8, 0, len(l.masks)), l.masks...)
	return p.bytes() - before
}

// chains finds documents by a hash. What is gone stays in it until the index is compacted.
type chains struct {
	heads   map[uint32]uint32 // hash → its last entry, plus one
	entries []chainEntry
}

type chainEntry struct {
	hash, doc, next uint32
}

func newChains() chains { return chains{heads: map[uint32]uint32{}} }

func (c *chains) add(hash, doc uint32) {
	c.entries = append(c.entries, chainEntry{hash, doc, c.heads[hash]})
	c.heads[hash] = uint32(len(c.entries)) //nolint:gosec // as many as documents and their wordings
}

// each yields the documents with this hash, the last one first, until yield returns false.
func (c *chains) each(hash uint32, yield func(doc uint32) bool) {
	for at := c.heads[hash]; at != 0; at = c.entries[at-1].next {
		if !yield(c.entries[at-1].doc) {
			return
		}
	}
}

func (c *chains) bytes() int { return 12*cap(c.entries) + 14*len(c.heads) }
