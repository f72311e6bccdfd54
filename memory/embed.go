package memory

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"
	"time"
)

// Embedder turns wordings into vectors whose cosine says how alike they are. A [Memory] that has one orders the
// first fifty of what it found lexically by it. It has no say in what is the same question.
//
// What it is given are questions as agents asked them; one that sends them elsewhere is a choice to be made.
// It is safe for concurrent use.
type Embedder interface {
	// ID names the model and its version. Vectors of different ids are never compared.
	ID() string
	// Dim is how many numbers a vector has.
	Dim() int
	// Embed returns one vector for each text, in order. It returns soon after ctx has ended.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

const (
	maxReranked = 50
	maxWordings = 4 // of a decision that are embedded

	// How relevance and likeness are mixed.
	lexicalPart = 0.3
	vectorPart  = 0.7

	maxCalls = 4 // of an Embedder that run at the same time

	// How long an Embedder that failed is left alone: doubled with each failure in a row.
	minRest = time.Second
	maxRest = time.Minute
)

// vectors asks an Embedder, and keeps what it said. What was not used since the last generation is forgotten.
type vectors struct {
	embedder Embedder
	timeout  time.Duration
	max      int64 // bytes of both generations
	calls    chan struct{}

	mu       sync.Mutex
	young    map[string][]float32
	old      map[string][]float32
	youngLen int64
	oldLen   int64
	failures int
	restTill time.Time
}

func newVectors(o Options) *vectors {
	v := &vectors{embedder: o.Embedder, timeout: defaultEmbedTimeout, max: defaultVectorBytes, calls: make(chan struct{}, maxCalls), young: map[string][]float32{}}
	if o.EmbedTimeout > 0 {
		v.timeout = o.EmbedTimeout
	}
	if o.MaxVectorBytes > 0 {
		v.max = o.MaxVectorBytes
	}
	return v
}

// rerank sets the relevance of the first of l anew. Where the Embedder fails, is late or returns what can't be,
// nothing changes.
func (v *vectors) rerank(ctx context.Context, asked string, l []*known) {
	if len(l) == 0 {
		return
	}
	top := l[:min(maxReranked, len(l))]
	texts := []string{asked}
	for _, x := range top {
		w := wordings(&x.d)
		texts = append(texts, w[:min(maxWordings, len(w))]...)
	}
	slices.Sort(texts)
	of, ok := v.of(ctx, slices.Compact(texts))
	if !ok {
		return
	}
	like := make([]float64, len(top))
	least := 1.0
	for i, x := range top {
		w := wordings(&x.d)
		for _, text := range w[:min(maxWordings, len(w))] {
			like[i] = max(like[i], dot(of[asked], of[text]))
		}
		least = min(least, like[i])
	}
	for i, x := range l {
		a := least // those that were not compared are no better than those that were
		if i < len(like) {
			a = like[i]
		}
		x.rel = min(1, lexicalPart*x.rel+vectorPart*a)
	}
	slices.SortStableFunc(l, func(a, b *known) int { return cmp.Compare(b.rel, a.rel) })
}

func dot(a, b []float32) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// of returns the vectors of texts, each of length 1.
func (v *vectors) of(ctx context.Context, texts []string) (map[string][]float32, bool) {
	id := v.embedder.ID()
	of := make(map[string][]float32, len(texts))
	var missing []string
	v.mu.Lock()
	for _, t := range texts {
		if x := v.kept(id + "\x00" + t); x != nil {
			of[t] = x
		} else {
			missing = append(missing, t)
		}
	}
	resting := time.Now().Before(v.restTill)
	v.mu.Unlock()
	if len(missing) == 0 {
		return of, true
	}
	if resting {
		return nil, false
	}
	got, ok := v.ask(ctx, id, missing)
	for i, t := range missing {
		if ok {
			of[t] = got[i]
		}
	}
	return of, ok
}

// ask calls the Embedder. One that does not heed its context keeps its place among the calls until it returns, and
// no recall waiting.
func (v *vectors) ask(ctx context.Context, id string, texts []string) ([][]float32, bool) {
	select {
	case v.calls <- struct{}{}:
	default:
		return nil, false
	}
	within, cancel := context.WithTimeout(ctx, v.timeout)
	done := make(chan [][]float32, 1)
	go func() {
		defer func() { <-v.calls }()
		defer cancel()
		got, err := v.embedder.Embed(within, texts)
		if err != nil || !v.unit(got, len(texts)) {
			got = nil
		}
		v.put(id, texts, got)
		done <- got
	}()
	select {
	case got := <-done:
		v.settle(got != nil)
		return got, got != nil
	case <-within.Done():
	}
	select {
	case got := <-done: // it ended because the call did
		v.settle(got != nil)
		return got, got != nil
	default:
	}
	if ctx.Err() == nil { // a caller that gave up is no failure of the Embedder
		v.settle(false)
	}
	return nil, false
}

// unit checks vectors, and makes them of length 1.
func (v *vectors) unit(l [][]float32, n int) bool {
	if len(l) != n {
		return false
	}
	dim := v.embedder.Dim()
	for i, x := range l {
		if len(x) != dim || dim == 0 {
			return false
		}
		length := math.Sqrt(dot(x, x))
		if !(length > 0) || math.IsInf(length, 0) { // NaN is not greater than anything
			return false
		}
		y := make([]float32, dim) // the Embedder may keep its own
		for j := range x {
			y[j] = float32(float64(x[j]) / length)
		}
		l[i] = y
	}
	return true
}

// put keeps what the Embedder said, late or not.
func (v *vectors) put(id string, texts []string, got [][]float32) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i, x := range got {
		v.keep(id+"\x00"+texts[i], x)
	}
}

// settle leaves an Embedder alone for a while that did not help in time.
func (v *vectors) settle(helped bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if helped {
		v.failures, v.restTill = 0, time.Time{}
		return
	}
	v.restTill = time.Now().Add(min(maxRest, minRest<<min(v.failures, 10)))
	v.failures++
}

// kept is called with the lock.
func (v *vectors) kept(key string) []float32 {
	if x := v.young[key]; x != nil {
		return x
	}
	x := v.old[key]
	if x != nil {
		v.keep(key, x)
	}
	return x
}

// keep is called with the lock.
func (v *vectors) keep(key string, x []float32) {
	size := int64(len(key) + 4*len(x) + 100)
	if v.youngLen+size > v.max/2 {
		v.old, v.oldLen = v.young, v.youngLen
		v.young, v.youngLen = map[string][]float32{}, 0
	}
	if size > v.max/2 {
		return
	}
	if v.young[key] == nil {
		v.youngLen += size
	}
	v.young[key] = x
}

func (v *vectors) size() int64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.youngLen + v.oldLen
}
