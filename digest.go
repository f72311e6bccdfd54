package revue

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"strconv"
)

// digest hashes a sequence of values, each preceded by its length, so that no two different
// sequences have the same bytes.
type digest struct{ h hash.Hash }

func newDigest(domain string) digest {
	d := digest{sha256.New()}
	d.str(domain)
	return d
}

func (d digest) num(n int64) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n)) //nolint:gosec // two's complement is the encoding
	d.h.Write(b[:])
}

func (d digest) str(s string) {
	d.num(int64(len(s)))
	d.h.Write([]byte(s))
}

func (d digest) list(l []string) {
	d.num(int64(len(l)))
	for _, s := range l {
		d.str(s)
	}
}

func (d digest) flag(b bool) {
	if b {
		d.num(1)
	} else {
		d.num(0)
	}
}

func (d digest) who(w Who) {
	d.str(w.ID)
	d.str(w.Name)
	d.str(w.Via)
}

func (d digest) hex() string { return hex.EncodeToString(d.h.Sum(nil)) }

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
