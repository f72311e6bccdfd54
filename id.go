package revue

import (
	"crypto/rand"
	"encoding/base32"
	"strings"
)

var idEncoding = base32.NewEncoding("abcdefghijkmnpqrstuvwxyz23456789").WithPadding(base32.NoPadding)

// newID returns an opaque id of 130 bits of chance behind a prefix. Ids are never parsed.
func newID(prefix string) string {
	var b [17]byte
	_, _ = rand.Read(b[:]) // never fails
	return prefix + idEncoding.EncodeToString(b[:])[:26]
}

// newSecret returns 256 bits of chance as text.
func newSecret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return strings.TrimRight(idEncoding.EncodeToString(b[:]), "=")
}

// ids hands out the same ids in the same order each time a transaction runs, so that a run which is
// repeated after an unknown commit finds what it made the first time.
type ids struct {
	made []string
	next int
}

func (i *ids) rewind() { i.next = 0 }

func (i *ids) new(prefix string) string {
	if i.next == len(i.made) {
		i.made = append(i.made, "")
	}
	// A repeated run may want another kind of thing here: the chance part is kept, the prefix is not.
	if i.made[i.next] == "" {
		i.made[i.next] = newID("")
	}
	i.next++
	return prefix + i.made[i.next-1]
}
