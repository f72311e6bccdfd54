package memstore

import (
	"cmp"
	"iter"
	"math/rand/v2"
	"strings"

	"github.com/revuehq/revue"
)

// key orders the entries of a table: by index, then by the value it is of, then by number and id.
type key struct {
	by, of string
	seq    revue.Seq
	id     string
}

func (k key) compare(o key) int {
	if k.by != o.by {
		return strings.Compare(k.by, o.by)
	}
	if k.of != o.of {
		return strings.Compare(k.of, o.of)
	}
	if k.seq != o.seq {
		return cmp.Compare(k.seq, o.seq)
	}
	return strings.Compare(k.id, o.id)
}

// tree is an ordered map that never changes: set and remove return a new root, which shares with the old
// one what is the same in both. So a snapshot is a pointer, and a rollback is to forget one. It is a
// treap; the nil *tree is empty.
type tree[V any] struct {
	key         key
	val         V
	prio        uint64
	left, right *tree[V]
}

func (t *tree[V]) get(k key) (V, bool) {
	for t != nil {
		switch c := k.compare(t.key); {
		case c < 0:
			t = t.left
		case c > 0:
			t = t.right
		default:
			return t.val, true
		}
	}
	var zero V
	return zero, false
}

func (t *tree[V]) set(k key, v V) *tree[V] {
	if t == nil {
		return &tree[V]{key: k, val: v, prio: rand.Uint64()} //nolint:gosec // balance, not secrecy
	}
	n := *t
	switch c := k.compare(t.key); {
	case c < 0:
		n.left = t.left.set(k, v)
		if l := n.left; l.prio > n.prio { // l is new, so it may be changed
			n.left, l.right = l.right, &n
			return l
		}
	case c > 0:
		n.right = t.right.set(k, v)
		if r := n.right; r.prio > n.prio {
			n.right, r.left = r.left, &n
			return r
		}
	default:
		n.val = v
	}
	return &n
}

func (t *tree[V]) remove(k key) *tree[V] {
	if t == nil {
		return nil
	}
	n := *t
	switch c := k.compare(t.key); {
	case c < 0:
		n.left = t.left.remove(k)
	case c > 0:
		n.right = t.right.remove(k)
	default:
		return join(t.left, t.right)
	}
	return &n
}

func join[V any](l, r *tree[V]) *tree[V] {
	switch {
	case l == nil:
		return r
	case r == nil:
		return l
	case l.prio > r.prio:
		n := *l
		n.right = join(l.right, r)
		return &n
	default:
		n := *r
		n.left = join(l, r.left)
		return &n
	}
}

// from yields the entries whose key is lo or after, in order.
func (t *tree[V]) from(lo key) iter.Seq2[key, V] {
	return func(yield func(key, V) bool) { t.up(lo, yield) }
}

func (t *tree[V]) up(lo key, yield func(key, V) bool) bool {
	if t == nil {
		return true
	}
	if lo.compare(t.key) <= 0 {
		if !t.left.up(lo, yield) || !yield(t.key, t.val) {
			return false
		}
	}
	return t.right.up(lo, yield)
}

// before yields the entries whose key is before hi, the last one first.
func (t *tree[V]) before(hi key) iter.Seq2[key, V] {
	return func(yield func(key, V) bool) { t.down(hi, yield) }
}

func (t *tree[V]) down(hi key, yield func(key, V) bool) bool {
	if t == nil {
		return true
	}
	if t.key.compare(hi) < 0 {
		if !t.right.down(hi, yield) || !yield(t.key, t.val) {
			return false
		}
	}
	return t.left.down(hi, yield)
}
