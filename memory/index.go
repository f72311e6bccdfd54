package memory

import (
	"hash/maphash"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"

	"github.com/revuehq/revue"
)

// index is the decisions of one workspace: an inverted index over their stems, and a map from canonical wordings.
// It is changed under the write lock of its space and read under the read lock.
type index struct {
	seq  revue.Seq // the event it reflects
	hash string    // that event's hash, to notice a store that was put back

	seed maphash.Seed
	recs arena
	refs []ref    // of the documents
	lens []uint16 // in units; 0 for those not searched
	seqs []revue.Seq
	// What is said of many decisions on one question without reading them.
	answers []answer
	byID    chains
	byKey   chains // canonical wordings, those of aliases among them
	terms   map[string]uint32
	lists   []postings
	tf      [masks]uint8 // what weighed says

	live   int    // documents that are searched
	dead   int    // documents that are gone
	length uint64 // sum over the searched documents
	bytes  int    // of terms and lists

	// What follows is of use while documents are added.
	words map[string]uint32 // a few of the words, with the number of their stem plus one
	marks []mark            // of the terms, for the document at hand
	found []uint32          // the terms of the document at hand
	rec   []byte
	stamp uint32
}

// answer is a hash of what a decision answers, the label and whether it is free text included, over a bit that says whether the
// decision is live.
type answer uint64

func (a answer) live() bool { return a&1 != 0 }

// other reports whether two answers differ.
func (a answer) other(b answer) bool { return a>>1 != b>>1 }

func (ix *index) answerOf(d *revue.Decision) answer {
	var h maphash.Hash
	h.SetSeed(ix.seed)
	_, _ = h.WriteString(d.Answer)
	_ = h.WriteByte(0)
	_, _ = h.WriteString(d.AnswerLabel)
	a := answer(h.Sum64()) << 2
	if d.FreeText {
		a |= 2
	}
	if d.Live() {
		a |= 1
	}
	return a
}

// mark says in which fields of the document at hand a term occurs; it counts where the stamp is that of the document.
type mark struct {
	stamp uint32
	mask  uint8
}

func newIndex() *index {
	ix := &index{seed: maphash.MakeSeed(), byID: newChains(), byKey: newChains(), terms: map[string]uint32{}, words: map[string]uint32{}}
	for m := range ix.tf {
		ix.tf[m] = uint8(weighed(uint8(m))) //nolint:gosec // all weights together are less than a byte holds
	}
	return ix
}

func (ix *index) hashOf(s string) uint32 { return uint32(maphash.String(ix.seed, s)) } //nolint:gosec // half will do

// put adds a decision or replaces it.
func (ix *index) put(d *revue.Decision) {
	ix.remove(d.ID)
	live := d.Live()
	if d.Purged || !live && !d.Stands(revue.VerbWrong) {
		return // those withdrawn are kept for what they say against others
	}
	n := uint32(len(ix.refs)) //nolint:gosec // four billion decisions do not fit in memory
	ix.rec = pack(ix.rec[:0], d)
	ix.refs = append(ix.refs, ix.recs.add(ix.rec))
	ix.byID.add(ix.hashOf(d.ID), n)
	for _, k := range keys(d) {
		ix.byKey.add(ix.hashOf(k), n)
	}
	length := 0
	if live {
		for _, t := range ix.analyse(d) {
			length += int(ix.tf[ix.marks[t].mask])
		}
		length = min(length, math.MaxUint16)
	}
	l := uint16(length) //nolint:gosec // cut to size
	ix.lens = append(ix.lens, l)
	ix.seqs = append(ix.seqs, d.Seq)
	ix.answers = append(ix.answers, ix.answerOf(d))
	if l == 0 {
		return
	}
	for _, t := range ix.found {
		p := &ix.lists[t]
		p.df++
		m := ix.marks[t].mask
		ix.bytes += p.add(n, m, ix.tf[m], l)
	}
	ix.live++
	ix.length += uint64(l)
}

// analyse finds the terms of a decision, and marks them with the fields they occur in.
func (ix *index) analyse(d *revue.Decision) []uint32 {
	ix.stamp++
	ix.found = ix.found[:0]
	field := func(mask uint8, text string) {
		eachWord(text, func(w string) {
			t := ix.term(w)
			m := &ix.marks[t]
			if m.stamp != ix.stamp {
				*m = mark{stamp: ix.stamp}
				ix.found = append(ix.found, t)
			}
			m.mask |= mask
		})
	}
	fields(d, field)
	return ix.found
}

// fields yields the texts of a decision that are searched.
func fields(d *revue.Decision, yield func(mask uint8, text string)) {
	for _, t := range wordings(d) {
		yield(inQuestion, t)
	}
	for _, t := range d.Concepts {
		yield(inConcept, t)
	}
	for _, t := range d.Files {
		yield(inFile, t)
	}
	yield(inAnswer, d.Answer)
	if d.AnswerLabel != d.Answer {
		yield(inAnswer, d.AnswerLabel)
	}
	for _, o := range d.Options {
		yield(inOption, o.Value)
		if o.Label != o.Value {
			yield(inOption, o.Label)
		}
	}
}

// Sizes of what is kept beside the postings.
const (
	maxWords  = 1 << 15       // words whose stem is remembered
	termBytes = 48 + 8 + 44   // a list, a mark and an entry of the map, without the text of the term
	wordBytes = 44            // an entry of the map of words, without the text
	docBytes  = 8 + 8 + 2 + 8 // a reference, a number, a length and an answer
	baseBytes = 1 << 12       // of an empty index
)

// term returns the number of a word's stem, a new one where there is none.
func (ix *index) term(w string) uint32 {
	if t := ix.words[w]; t != 0 {
		return t - 1
	}
	t := ix.ofStem(stemOf(w))
	if len(ix.words) >= maxWords {
		clear(ix.words)
	}
	ix.words[strings.Clone(w)] = t + 1
	return t
}

// ofStem returns the number of a stem, a new one where there is none.
func (ix *index) ofStem(s string) uint32 {
	t, ok := ix.terms[s]
	if !ok {
		t = uint32(len(ix.lists)) //nolint:gosec // fewer than there are postings
		ix.terms[strings.Clone(s)] = t
		ix.lists = append(ix.lists, postings{})
		ix.marks = append(ix.marks, mark{})
		ix.bytes += termBytes + len(s)
	}
	return t
}

// lookup returns the document of a decision.
func (ix *index) lookup(id string) (doc uint32, ok bool) {
	ix.byID.each(ix.hashOf(id), func(n uint32) bool {
		if ix.refs[n] != gone && string(packedID(ix.recs.at(ix.refs[n]))) == id {
			doc, ok = n, true
		}
		return !ok
	})
	return doc, ok
}

func (ix *index) decision(doc uint32) revue.Decision { return unpack(ix.recs.at(ix.refs[doc])) }

func (ix *index) remove(id string) {
	n, ok := ix.lookup(id)
	if !ok {
		return
	}
	if ix.lens[n] != 0 {
		d := ix.decision(n)
		for _, t := range ix.analyse(&d) {
			ix.lists[t].df--
		}
		ix.live--
		ix.length -= uint64(ix.lens[n])
	}
	ix.refs[n], ix.lens[n] = gone, 0
	ix.dead++
}

// wasteful reports whether what is gone takes more room than what is there.
func (ix *index) wasteful() bool { return ix.dead > 256 && ix.dead > len(ix.refs)/2 }

// compacted is the index without what is gone. The old one stays as it is, for those who read it.
func (ix *index) compacted() *index {
	out := newIndex()
	out.seq, out.hash, out.seed, out.live, out.length = ix.seq, ix.hash, ix.seed, ix.live, ix.length
	moved := make([]uint32, len(ix.refs))
	for n, r := range ix.refs {
		moved[n] = math.MaxUint32
		if r == gone {
			continue
		}
		moved[n] = uint32(len(out.refs)) //nolint:gosec // fewer than before
		out.refs = append(out.refs, out.recs.add(ix.recs.at(r)))
		out.lens = append(out.lens, ix.lens[n])
		out.seqs = append(out.seqs, ix.seqs[n])
		out.answers = append(out.answers, ix.answers[n])
	}
	for _, c := range [...]struct{ from, to *chains }{{&ix.byID, &out.byID}, {&ix.byKey, &out.byKey}} {
		for _, e := range c.from.entries {
			if n := moved[e.doc]; n != math.MaxUint32 {
				c.to.add(e.hash, n)
			}
		}
	}
	for s, t := range ix.terms {
		from := &ix.lists[t]
		if from.df == 0 {
			continue
		}
		to := &out.lists[out.ofStem(s)]
		to.df = from.df
		from.each(func(doc uint32, mask uint8) {
			if n := moved[doc]; n != math.MaxUint32 && out.lens[n] != 0 {
				out.bytes += to.add(n, mask, out.tf[mask], out.lens[n])
			}
		})
	}
	out.clip()
	return out
}

// clip gives back what was kept for growth.
func (ix *index) clip() {
	for i := range ix.lists {
		ix.bytes += ix.lists[i].clip()
	}
	ix.refs, ix.lens, ix.seqs, ix.answers = slices.Clone(ix.refs), slices.Clone(ix.lens), slices.Clone(ix.seqs), slices.Clone(ix.answers)
}

// size estimates the bytes the index takes.
func (ix *index) size() int {
	return baseBytes + ix.bytes + ix.recs.bytes + ix.byID.bytes() + ix.byKey.bytes() + docBytes*cap(ix.refs) + (wordBytes+8)*len(ix.words)
}

// ofLot returns the decisions that came from a lot.
func (ix *index) ofLot(lot string) []string {
	var ids []string
	for _, r := range ix.refs {
		if lot == "" || r == gone {
			continue
		}
		if rec := ix.recs.at(r); string(packedLot(rec)) == lot {
			ids = append(ids, string(packedID(rec)))
		}
	}
	return ids
}

// keys is the canonical wordings of a decision.
func keys(d *revue.Decision) []string {
	var out []string
	for _, text := range wordings(d) {
		if hidden(text) {
			continue
		}
		if k := key(tokenize(text)); k != "" && !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

// wordings is a decision's question and its aliases in force.
func wordings(d *revue.Decision) []string {
	out := make([]string, 1, 1+len(d.Aliases))
	out[0] = d.Question
	for _, a := range d.Accepted() {
		if a.Text != "" {
			out = append(out, a.Text)
		}
	}
	return out
}

// key is the tokens as one string. No token has the separator in it, apart from those of text with hidden
// characters, which has no key.
func key(toks []token) string {
	if len(toks) == 0 {
		return ""
	}
	var sb strings.Builder
	for i, t := range toks {
		if i > 0 {
			sb.WriteByte(0)
		}
		sb.WriteString(t.s)
	}
	return sb.String()
}

// eachWord yields the words of a text for retrieval, in lower case: stretches of letters and digits, the parts of
// a camelCase word beside it, and each character of a script without spaces. Words without content are left out.
func eachWord(text string, yield func(string)) {
	emit := func(s string) {
		s = strings.ToLower(s)
		if s != "" && (!function(s) || len(s) == 1 && s[0] >= '0' && s[0] <= '9') {
			yield(expandShort(s))
		}
	}
	text = folded(text)
	start, prevLower, part, mixed := -1, false, 0, false
	flush := func(end int) {
		if start >= 0 {
			if mixed {
				emit(text[part:end])
			}
			emit(text[start:end])
		}
		start, mixed, prevLower = -1, false, false
	}
	for i, r := range text {
		switch {
		case r >= utf8.RuneSelf && unspacedRune(r):
			flush(i)
			emit(text[i : i+utf8.RuneLen(r)])
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
			upper := unicode.IsUpper(r)
			if start < 0 {
				start, part = i, i
			} else if upper && prevLower {
				emit(text[part:i])
				part, mixed = i, true
			}
			prevLower = unicode.IsLower(r)
		default:
			flush(i)
		}
	}
	flush(len(text))
}

func stemOf(w string) string {
	if len(w) < 4 || len(w) > 40 {
		return w
	}
	for i := range len(w) {
		if w[i] >= utf8.RuneSelf {
			return w
		}
	}
	return english.Stem(w, false)
}
