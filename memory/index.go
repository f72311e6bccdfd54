package memory

import (
	"cmp"
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
	readings *readings

	seq  revue.Seq // the event it reflects
	hash string    // that event's hash, to notice a store that was put back

	docs   []doc
	lens   []float32 // lengths of docs, beside them because each search reads most of them; -1 for those not searched
	byID   map[string]uint32
	byKey  map[string][]uint32 // canonical wording → decisions, aliases among them
	terms  map[string]*posting
	stems  map[string]string  // cache of the stemmer while building
	tf     map[string]float32 // of the decision that is being added
	seen   map[string]bool    // in the field that is being read
	live   int                // documents that are searched
	dead   int
	length float64 // sum over the searched documents
}

type doc struct {
	d     revue.Decision
	keys  []string
	terms []*posting
	len   float32
	live  bool // it may be found; the others are kept for what they say against one
	gone  bool
}

// posting is where a stem occurs.
type posting struct {
	df      int // documents that are searched
	entries []entry
}

type entry struct {
	doc uint32
	tf  float32
}

func newIndex(r *readings) *index {
	return &index{readings: r, byID: map[string]uint32{}, byKey: map[string][]uint32{}, terms: map[string]*posting{}, stems: map[string]string{}, tf: map[string]float32{}, seen: map[string]bool{}}
}

// BM25 with weighted fields: the frequency of a stem is the sum over the fields it occurs in, each counted once
// with the weight of the field.
const (
	saturation = 1.2 // k1
	byLength   = 0.5 // b

	weightQuestion = 1.0
	weightConcept  = 0.6
	weightAnswer   = 0.35
	weightFile     = 0.35
	weightOption   = 0.25

	// background is how many documents the built-in table of common words counts as, so that a young store
	// tells common words from telling ones.
	background = 50
	rareShare  = 0.01
)

// put adds a decision or replaces it.
func (ix *index) put(d revue.Decision) {
	ix.remove(d.ID)
	if d.Purged || !d.Live() && !d.Stands(revue.VerbWrong) {
		return
	}
	d.Note = ""
	x := doc{d: d, live: d.Live()}
	n := uint32(len(ix.docs)) //nolint:gosec // four billion decisions do not fit in memory
	for _, text := range wordings(d) {
		if k := key(tokenize(text)); k != "" && !hidden(text) && !slices.Contains(x.keys, k) {
			x.keys = append(x.keys, k)
			ix.byKey[k] = append(ix.byKey[k], n)
		}
	}
	if x.live {
		ix.addTerms(&x, n)
		ix.live++
		ix.length += float64(x.len)
	}
	ix.docs = append(ix.docs, x)
	if !x.live {
		x.len = -1
	}
	ix.lens = append(ix.lens, x.len)
	ix.byID[d.ID] = n
	if ix.dead > 256 && ix.dead > len(ix.docs)/2 {
		ix.compact()
	}
}

func (ix *index) addTerms(x *doc, n uint32) {
	tf, seen := ix.tf, ix.seen
	clear(tf)
	field := func(weight float32, texts ...string) {
		clear(seen)
		for _, t := range texts {
			eachWord(t, func(w string) {
				s := ix.stem(w)
				if s != "" && !seen[s] {
					seen[s] = true
					tf[s] += weight
				}
			})
		}
	}
	field(weightQuestion, wordings(x.d)...)
	field(weightConcept, x.d.Concepts...)
	field(weightFile, x.d.Files...)
	field(weightAnswer, x.d.Answer, x.d.AnswerLabel)
	for _, o := range x.d.Options {
		field(weightOption, o.Value, o.Label)
	}
	x.terms = make([]*posting, 0, len(tf))
	for s, f := range tf {
		p := ix.terms[s]
		if p == nil {
			p = &posting{}
			ix.terms[strings.Clone(s)] = p
		}
		p.df++
		p.entries = append(p.entries, entry{n, f})
		x.terms = append(x.terms, p)
		x.len += f
	}
}

func (ix *index) remove(id string) {
	n, ok := ix.byID[id]
	if !ok {
		return
	}
	x := &ix.docs[n]
	for _, k := range x.keys {
		l := slices.DeleteFunc(ix.byKey[k], func(m uint32) bool { return m == n })
		if len(l) == 0 {
			delete(ix.byKey, k)
		} else {
			ix.byKey[k] = l
		}
	}
	if x.live {
		for _, p := range x.terms {
			p.df--
		}
		ix.live--
		ix.length -= float64(x.len)
	}
	delete(ix.byID, id)
	*x = doc{gone: true}
	ix.lens[n] = -1
	ix.dead++
}

// compact builds the index anew without what is gone.
func (ix *index) compact() {
	old := *ix
	*ix = *newIndex(old.readings)
	ix.seq, ix.hash, ix.stems = old.seq, old.hash, old.stems
	for i := range old.docs {
		if !old.docs[i].gone {
			ix.put(old.docs[i].d)
		}
	}
}

// ofLot returns the decisions that came from a lot.
func (ix *index) ofLot(lot string) []string {
	var ids []string
	for i := range ix.docs {
		if x := &ix.docs[i]; !x.gone && x.d.LotID == lot && lot != "" {
			ids = append(ids, x.d.ID)
		}
	}
	return ids
}

// wordings is a decision's question and its aliases.
func wordings(d revue.Decision) []string {
	out := make([]string, 1, 1+len(d.Aliases))
	out[0] = d.Question
	for _, a := range d.Aliases {
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

// stem is the Porter2 stem, for retrieval alone: it takes analog and analogy for one word.
func (ix *index) stem(w string) string {
	if s, ok := ix.stems[w]; ok {
		return s
	}
	s := stemOf(w)
	if len(ix.stems) >= 1<<16 {
		clear(ix.stems)
	}
	ix.stems[strings.Clone(w)] = s
	return s
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

// idf is the weight of a stem: how few decisions have it, together with the background.
func (ix *index) idf(s string, p *posting) float64 {
	df := commonShare(s) * background
	if p != nil {
		df += float64(p.df)
	}
	n := float64(ix.live) + background
	return math.Log(1 + (n-df+0.5)/(df+0.5))
}

// commonShare is in which share of questions about software a stem occurs, roughly.
func commonShare(s string) float64 {
	switch s {
	case "use", "servic", "data", "user", "add", "api", "new":
		return 0.15
	case "test", "databas", "file", "code", "run", "app", "set", "store", "support", "chang", "request", "client", "server", "creat", "system", "version":
		return 0.08
	case "remov", "delet", "updat", "build", "deploy", "configur", "need", "time", "work", "page", "tabl", "field", "type", "name", "list", "project",
		"environ", "keep", "allow", "error", "default", "releas", "branch", "modul", "log", "product", "applic", "write", "read", "allowed":
		return 0.05
	}
	return rareShare
}

// scratch is the working memory of one search.
type scratch struct {
	score   []float32
	touched []uint32
}

// found is a document with its relevance, 0..1.
type found struct {
	doc uint32
	rel float64
}

// relevant returns the most relevant documents for a text: BM25 divided by what a decision of
// average length would get that has each word of the text in its question, at most 1.
func (ix *index) relevant(text string, most int, sc *scratch) []found {
	if ix.live == 0 {
		return nil
	}
	type queryTerm struct {
		p   *posting
		idf float64
	}
	var terms []queryTerm
	seen := map[string]bool{}
	full := 0.0
	eachWord(text, func(w string) {
		s := stemOf(w)
		if seen[s] || len(seen) >= 256 {
			return
		}
		seen[s] = true
		p := ix.terms[s]
		idf := ix.idf(s, p)
		full += idf
		if p != nil && p.df > 0 {
			terms = append(terms, queryTerm{p, idf})
		}
	})
	if full == 0 {
		return nil
	}
	if len(sc.score) < len(ix.docs) {
		sc.score = make([]float32, len(ix.docs)+len(ix.docs)/4)
	}
	mean := float32(ix.length / float64(ix.live))
	for _, t := range terms {
		w := float32(t.idf * (saturation + 1))
		for _, e := range t.p.entries {
			length := ix.lens[e.doc]
			if length < 0 {
				continue
			}
			if sc.score[e.doc] == 0 {
				sc.touched = append(sc.touched, e.doc)
			}
			sc.score[e.doc] += w * e.tf / (e.tf + saturation*(1-byLength+byLength*length/mean))
		}
	}
	// A min-heap would save little here: the list is short, and most documents stay below its end.
	best := make([]found, 0, most+1)
	for _, n := range sc.touched {
		f := found{n, min(1, float64(sc.score[n])/full)}
		sc.score[n] = 0
		if len(best) == most && !ix.before(f, best[most-1]) {
			continue
		}
		i, _ := slices.BinarySearchFunc(best, f, func(x, y found) int {
			if ix.before(x, y) {
				return -1
			}
			return 1
		})
		best = slices.Insert(best, i, f)
		if len(best) > most {
			best = best[:most]
		}
	}
	sc.touched = sc.touched[:0]
	return best
}

// before orders by relevance, then newest first, so that a search gives the same list each time.
func (ix *index) before(x, y found) bool {
	if x.rel != y.rel {
		return x.rel > y.rel
	}
	return cmp.Compare(ix.docs[x.doc].d.Seq, ix.docs[y.doc].d.Seq) > 0
}

// newest returns at most n of the documents, those made last first.
func (ix *index) newest(docs []uint32, n int) []uint32 {
	docs = slices.Clone(docs)
	slices.SortFunc(docs, func(x, y uint32) int { return cmp.Compare(ix.docs[y].d.Seq, ix.docs[x].d.Seq) })
	return docs[:min(n, len(docs))]
}
