package httpguard

import (
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// DefaultBodies is how many bytes of request bodies one caller may have on their way at once, as they are declared. One
// whose length is not declared counts as DefaultMaxBody.
const DefaultBodies = 16 << 20

// Bodies bounds how much of request bodies each of many callers may have on its way at once, so that one who sends
// slowly, over many connections, can't fill the memory. It is safe for concurrent use.
type Bodies struct {
	limit int64

	mu    sync.Mutex
	bytes map[string]int64 // by caller; none has zero
}

// NewBodies returns a bound in bytes for each caller; 0 is DefaultBodies.
func NewBodies(limit int64) *Bodies {
	if limit <= 0 {
		limit = DefaultBodies
	}
	return &Bodies{limit: limit, bytes: map[string]int64{}}
}

// Admit counts the body of a request, until it was read to its end, its reading failed, or leave is called. Where the
// caller has too much on its way already it answers 429, and returns false. One body alone is always let in.
func (b *Bodies) Admit(w http.ResponseWriter, r *http.Request, caller string) (leave func(), ok bool) {
	size := r.ContentLength
	if size < 0 {
		size = DefaultMaxBody
	}
	if r.Body == nil || r.Body == http.NoBody || size == 0 {
		return func() {}, true
	}
	b.mu.Lock()
	had := b.bytes[caller]
	if ok = had == 0 || had+size <= b.limit; ok {
		b.bytes[caller] = had + size
	}
	b.mu.Unlock()
	if !ok {
		RateLimited(w, time.Second, "this token sends too many large requests at once; wait until some have arrived")
		return nil, false
	}
	counted := &countedBody{ReadCloser: r.Body, bodies: b, caller: caller, size: size}
	r.Body = counted
	return counted.leave, true
}

// countedBody is a body that counts until it is over.
type countedBody struct {
	io.ReadCloser
	bodies *Bodies
	caller string
	size   int64
	over   atomic.Bool
}

func (c *countedBody) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if err != nil {
		c.leave()
	}
	return n, err
}

func (c *countedBody) leave() {
	if c.over.Swap(true) {
		return
	}
	b := c.bodies
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bytes[c.caller] -= c.size; b.bytes[c.caller] <= 0 {
		delete(b.bytes, c.caller)
	}
}
