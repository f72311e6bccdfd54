package memory

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/revuehq/revue"
)

// exhaustive scores every decision, from the texts alone.
type exhaustive struct {
	docs []exhaustiveDoc
	df   map[string]uint32
	mean float64
}

type exhaustiveDoc struct {
	d      revue.Decision
	tf     map[string]int
	length int
}

func readAllOf(ds []revue.Decision) *exhaustive {
	e := &exhaustive{df: map[string]uint32{}}
	total := 0
	for _, d := range ds {
		x := exhaustiveDoc{d: d, tf: map[string]int{}}
		in := map[string]uint8{}
		fields(&d, func(mask uint8, text string) { eachWord(text, func(w string) { in[stemOf(w)] |= mask }) })
		for s, mask := range in {
			x.tf[s] = weighed(mask)
			x.length += x.tf[s]
		}
		if !d.Live() || x.length == 0 {
			continue
		}
		x.length = min(x.length, math.MaxUint16)
		for s := range in {
			e.df[s]++
		}
		total += x.length
		e.docs = append(e.docs, x)
	}
	e.mean = float64(total) / float64(len(e.docs))
	return e
}

func (e *exhaustive) best(text string, most int) (ids []string, scores []float64) {
	var stems []string
	eachWord(text, func(w string) {
		if s := stemOf(w); !slices.Contains(stems, s) {
			stems = append(stems, s)
		}
	})
	type result struct {
		d     *revue.Decision
		score float64
	}
	var all []result
	for i := range e.docs {
		x := &e.docs[i]
		r := result{d: &x.d}
		for _, s := range stems {
			if x.tf[s] > 0 {
				r.score += bm25(idf(s, e.df[s], len(e.docs)), float64(x.tf[s]), against(float64(x.length), e.mean))
			}
		}
		if r.score > 0 {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b result) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.d.Seq, a.d.Seq), cmp.Compare(a.d.ID, b.d.ID))
	})
	for _, r := range all[:min(most, len(all))] {
		ids, scores = append(ids, r.d.ID), append(scores, r.score)
	}
	return ids, scores
}

func rankedBy(ix *index, text string, most int) (ids []string, scores []float64) {
	hits, _ := ix.relevant(text, most, &ranking{})
	for _, h := range hits {
		ids, scores = append(ids, ix.decision(h.doc).ID), append(scores, h.score)
	}
	return ids, scores
}

// madeUp draws a decision out of few words, so that many are alike.
func madeUp(rng *rand.Rand, seq int, words []string) revue.Decision {
	some := func(n int) string {
		var l []string
		for range 1 + rng.IntN(n) {
			l = append(l, words[int(float64(len(words))*rng.Float64()*rng.Float64())])
		}
		return strings.Join(l, " ")
	}
	d := revue.Decision{ID: fmt.Sprintf("dec_%d", seq), Seq: revue.Seq(seq), Question: some(8), Answer: some(2), Remember: revue.RememberDefault}
	if rng.IntN(3) == 0 {
		d.Concepts = []string{some(1), some(2)}
		d.Files = []string{"src/" + some(1) + ".go"}
		d.Options = []revue.Option{{Value: some(1), Label: some(2)}}
		d.Aliases = []revue.Alias{{Text: some(6)}}
	}
	return d
}

func vocabulary(n int) []string {
	out := []string{"service", "data", "user", "database", "delete", "staging", "UserService", "缓存"}
	for i := range n {
		out = append(out, fmt.Sprintf("word%d", i))
	}
	return out
}

// Whatever is skipped on the way, the list is the one that scoring every decision gives, scores bit for bit.
func TestRankingIsExhaustive(t *testing.T) {
	for _, c := range []struct{ decisions, words int }{{50, 5}, {300, 30}, {3000, 60}, {3000, 3000}} {
		rng := rand.New(rand.NewPCG(3, uint64(c.decisions+c.words)))
		ix, words := newIndex(), vocabulary(c.words)
		byID := map[string]revue.Decision{}
		for i := range c.decisions {
			d := madeUp(rng, i+1, words)
			if rng.IntN(10) == 0 { // another one in the place of an earlier one
				d.ID = fmt.Sprintf("dec_%d", 1+rng.IntN(i+1))
			}
			byID[d.ID] = d
			ix.put(&d)
			if rng.IntN(20) == 0 {
				gone := fmt.Sprintf("dec_%d", 1+rng.IntN(i+1))
				delete(byID, gone)
				ix.remove(gone)
			}
		}
		var all []revue.Decision
		for _, d := range byID {
			all = append(all, d)
		}
		small, naive := ix.compacted(), readAllOf(all)
		for range 30 {
			q := madeUp(rng, 0, words).Question
			for _, most := range []int{1, 10, 50} {
				ids, scores := naive.best(q, most)
				got, gotScores := rankedBy(ix, q, most)
				require.Equal(t, ids, got, q)
				require.Equal(t, scores, gotScores, q)
				got, gotScores = rankedBy(small, q, most)
				require.Equal(t, ids, got, q)
				require.Equal(t, scores, gotScores, q)
			}
		}
	}
}

// The same over more than one chunk of documents, against a ranking that skips nothing.
func TestRankingOverChunks(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	rng := rand.New(rand.NewPCG(5, 6))
	ix, words := newIndex(), vocabulary(400)
	var all []revue.Decision
	for i := range 80_000 {
		d := revue.Decision{ID: fmt.Sprintf("dec_%d", i+1), Seq: revue.Seq(i + 1), Answer: "yes", Remember: revue.RememberDefault}
		for range 3 + rng.IntN(5) {
			d.Question += words[int(float64(len(words))*rng.Float64()*rng.Float64())] + " "
		}
		ix.put(&d)
		all = append(all, d)
	}
	naive := readAllOf(all)
	for range 20 {
		q := all[rng.IntN(len(all))].Question
		ids, scores := naive.best(q, 20)
		got, gotScores := rankedBy(ix, q, 20)
		require.Equal(t, ids, got, q)
		require.Equal(t, scores, gotScores, q)
	}
	// What is gone is let go of, and what stays is found as before.
	for i := range 60_000 {
		ix.remove(all[i].ID)
	}
	require.True(t, ix.wasteful())
	small := ix.compacted()
	require.Less(t, small.size(), ix.size()/2)
	require.Equal(t, 20_000, small.live)
	q := all[70_000].Question
	ids, scores := rankedBy(ix, q, 20)
	got, gotScores := rankedBy(small, q, 20)
	require.Equal(t, ids, got)
	require.Equal(t, scores, gotScores)
}

// Records keep every field that a recall may need. A new field of a decision fails here until it is kept or named.
func TestPackKeepsDecisions(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 7000, time.UTC)
	var fill func(v reflect.Value, n int)
	fill = func(v reflect.Value, n int) {
		switch v.Kind() {
		case reflect.String:
			v.SetString(fmt.Sprintf("text %d\x00é", n))
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Int, reflect.Int64:
			v.SetInt(int64(n + 1))
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			for i := range v.Len() {
				fill(v.Index(i), n*10+i)
			}
		case reflect.Struct:
			if v.Type() == reflect.TypeFor[time.Time]() {
				v.Set(reflect.ValueOf(at.Add(time.Duration(n) * time.Second)))
				return
			}
			for i := range v.NumField() {
				fill(v.Field(i), n*10+i)
			}
		default:
			t.Fatalf("what to do with a %s?", v.Type())
		}
	}
	var d revue.Decision
	fill(reflect.ValueOf(&d).Elem(), 1)
	want := d
	want.Note, want.Stream, want.Supersedes, want.Purged = "", "", nil, false
	want.Aliases = slices.Clone(d.Aliases)
	for i := range want.Aliases {
		want.Aliases[i] = revue.Alias{Text: d.Aliases[i].Text}
	}
	want.Corrections = slices.Clone(d.Corrections)
	for i, c := range d.Corrections {
		want.Corrections[i] = revue.Correction{ID: c.ID, Verb: c.Verb, Undoes: c.Undoes, Expires: c.Expires, At: c.At}
	}
	require.Equal(t, want, unpack(pack(nil, &d)))
	require.Equal(t, revue.Decision{}, unpack(pack(nil, &revue.Decision{})))

	rapid.Check(t, func(t *rapid.T) {
		d := revue.Decision{
			ID: rapid.String().Draw(t, "id"), LotID: rapid.String().Draw(t, "lot"), Seq: revue.Seq(rapid.Int64Range(0, math.MaxInt64).Draw(t, "seq")),
			Key:       rapid.OneOf(rapid.StringMatching(`[0-9a-fA-F]{0,64}`), rapid.String()).Draw(t, "key"),
			Question:  rapid.String().Draw(t, "question"),
			Files:     rapid.SliceOfN(rapid.String(), 1, 5).Draw(t, "files"),
			CreatedAt: time.UnixMicro(rapid.Int64Range(-1<<50, 1<<50).Draw(t, "at")).UTC(), Confirmations: rapid.Int().Draw(t, "confirmations"),
		}
		rec := pack(nil, &d)
		require.Equal(t, d, unpack(rec))
		require.Equal(t, d.ID, string(packedID(rec)))
		require.Equal(t, d.LotID, string(packedLot(rec)))
		var a arena
		refs := []ref{a.add(rec), a.add(make([]byte, arenaPage+1)), a.add(rec)}
		require.Equal(t, rec, a.at(refs[0]))
		require.Len(t, a.at(refs[1]), arenaPage+1)
		require.Equal(t, rec, a.at(refs[2]))
	})
}

// The estimate is what keeps indexes within their bound, so it has to be near to what the runtime counts.
func TestSizeIsEstimated(t *testing.T) {
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	rng := rand.New(rand.NewPCG(5, 5))
	for _, words := range []int{200, 20_000} {
		vocabulary := vocabulary(words)
		before := heap()
		ix := newIndex()
		for i := range 20_000 {
			d := madeUp(rng, i+1, vocabulary)
			ix.put(&d)
		}
		ix.clip()
		took := float64(heap() - before)
		require.InDelta(t, 1, float64(ix.size())/took, 0.34, "%d estimated, %.0f taken", ix.size(), took)
		t.Logf("%d words: %.0f bytes a decision, %d estimated", words, took/20_000, ix.size()/20_000)
		runtime.KeepAlive(ix)
	}
}

func TestPostings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steps := rapid.SliceOfN(rapid.OneOf(rapid.Uint32Range(1, 3), rapid.Uint32Range(1, 200_000)), 1, 400).Draw(t, "steps")
		var p postings
		grown := 0
		doc := uint32(0)
		var docs []uint32
		for _, s := range steps {
			doc += s
			docs = append(docs, doc)
			grown += p.add(doc, uint8(doc%masks), uint8(1+doc%50), uint16(1+doc%900))
		}
		require.Equal(t, p.bytes(), grown)
		var got []uint32
		p.each(func(d uint32, mask uint8) {
			got = append(got, d)
			require.Equal(t, uint8(d%masks), mask)
		})
		require.Equal(t, docs, got)
		grown += p.clip()
		require.Equal(t, p.bytes(), grown)
	})
}

func TestSeek(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		docs := rapid.SliceOfNDistinct(rapid.Uint16(), 0, 300, rapid.ID[uint16]).Draw(t, "docs")
		slices.Sort(docs)
		c := cursor{docs: docs}
		targets := rapid.SliceOfN(rapid.Uint16(), 1, 20).Draw(t, "targets")
		slices.Sort(targets)
		for _, doc := range targets {
			c.seek(doc)
			want, _ := slices.BinarySearch(docs, doc)
			require.Equal(t, want, c.pos)
		}
	})
}

// The same, of whatever texts.
func FuzzRanking(f *testing.F) {
	f.Add("which database should billing use", "billing database\nbilling billing\nüber 缓存 use\nUserService", uint8(2))
	f.Add("", "\xff\n\n?", uint8(0))
	f.Fuzz(func(t *testing.T, asked, texts string, most uint8) {
		ix := newIndex()
		var all []revue.Decision
		for i, text := range strings.Split(texts, "\n") {
			d := revue.Decision{ID: fmt.Sprintf("dec_%d", i), Seq: revue.Seq(i + 1), Question: text, Answer: text[:len(text)/2], Remember: revue.RememberDefault}
			ix.put(&d)
			all = append(all, d)
		}
		ids, scores := readAllOf(all).best(asked, int(most))
		got, gotScores := rankedBy(ix, asked, int(most))
		require.Equal(t, ids, got)
		require.Equal(t, scores, gotScores)
	})
}
