package sqlite

import (
	"sync"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/stored"
)

// bodies are the values of bodies that were read or written lately, by the body itself: to copy a value is
// much cheaper than to read its JSON again. What is in the database decides alone, so nothing here can be out
// of date.
type bodies[T any] struct {
	mu       sync.Mutex
	now, old map[string]T
	size     int // of the bodies in now
}

// cacheSize bounds the bodies that are kept of a kind, in bytes: twice as many.
const cacheSize = 1 << 20

// keep notes the value of a body. Nobody may change it any more.
func (b *bodies[T]) keep(body string, v T) {
	if len(body) > cacheSize/16 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.size += len(body); b.size > cacheSize || b.now == nil {
		b.now, b.old, b.size = map[string]T{}, b.now, len(body)
	}
	b.now[body] = v
}

func (b *bodies[T]) kept(body string) (T, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	v, ok := b.now[body]
	if !ok {
		v, ok = b.old[body]
	}
	return v, ok
}

// decode reads a body. The value is the caller's own.
func (b *bodies[T]) decode(body string) (T, error) {
	if v, ok := b.kept(body); ok {
		return stored.Clone(v), nil
	}
	v, err := stored.Decode[T]([]byte(body))
	if err == nil {
		b.keep(body, stored.Clone(v))
	}
	return v, err
}

// encode returns the body of a value. It is kept only where whole, that is where no field is set that JSON
// leaves out.
func (b *bodies[T]) encode(v T, whole bool) (string, error) {
	v = stored.Clone(v)
	text, err := stored.EncodeClone(v)
	if err != nil {
		return "", err
	}
	body := string(text)
	if whole {
		b.keep(body, v)
	}
	return body, nil
}

// cache are the bodies of each table.
type cache struct {
	lots      bodies[revue.Lot]
	asks      bodies[revue.AskRecord]
	decisions bodies[revue.Decision]
	contexts  bodies[revue.ContextItem]
	events    bodies[revue.Event]
	heads     heads
}
