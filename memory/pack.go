package memory

import (
	"encoding/binary"
	"encoding/hex"
	"time"

	"github.com/revuehq/revue"
)

// pack appends what a recall needs of a decision, as bytes: a workspace of a million decisions then is a few large
// blocks to the garbage collector, and no tree of strings and lists. Notes, lanes and who accepted what are left out.
func pack(b []byte, d *revue.Decision) []byte {
	b = binary.AppendUvarint(b, uint64(d.Seq)) //nolint:gosec // never negative; a wrong one would come back as it is
	b = packText(b, d.ID)
	b = packText(b, d.LotID)
	b = packKey(b, d.Key)
	b = packText(b, d.Question)
	b = packText(b, d.Answer)
	b = packText(b, d.AnswerLabel)
	b = packText(b, d.Repo)
	b = packText(b, string(d.Remember))
	b = packText(b, d.SupersededBy)
	b = packText(b, d.By.ID)
	b = packText(b, d.By.Name)
	b = packText(b, d.By.Via)
	b = packTime(b, d.CreatedAt)
	b = packTime(b, d.ConfirmedAt)
	b = binary.AppendVarint(b, int64(d.Confirmations))
	b = packFlag(b, d.FreeText)
	b = packTexts(b, d.Concepts)
	b = packTexts(b, d.Files)
	b = binary.AppendUvarint(b, uint64(len(d.Options)))
	for _, o := range d.Options {
		b = packText(b, o.Value)
		b = packText(b, o.Label)
		b = packText(b, o.Consequence)
	}
	accepted := d.Accepted() // without ids: what is unpacked has no others
	b = binary.AppendUvarint(b, uint64(len(accepted)))
	for _, a := range accepted {
		b = packText(b, a.Text)
	}
	b = binary.AppendUvarint(b, uint64(len(d.Corrections)))
	for _, c := range d.Corrections {
		b = packText(b, c.ID)
		b = packText(b, string(c.Verb))
		b = packText(b, c.Undoes)
		b = packTime(b, c.Expires)
		b = packTime(b, c.At)
	}
	return b
}

func packText(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

func packTexts(b []byte, l []string) []byte {
	b = binary.AppendUvarint(b, uint64(len(l)))
	for _, s := range l {
		b = packText(b, s)
	}
	return b
}

func packFlag(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

// packTime keeps microseconds, as stores do.
func packTime(b []byte, t time.Time) []byte { return binary.AppendVarint(b, t.UnixMicro()) }

// packKey keeps a digest in half of its size.
func packKey(b []byte, key string) []byte {
	raw, err := hex.DecodeString(key)
	if err != nil || hex.EncodeToString(raw) != key {
		return packText(append(b, 0), key)
	}
	b = binary.AppendUvarint(append(b, 1), uint64(len(raw)))
	return append(b, raw...)
}

// unpacker reads what pack wrote. Its strings are parts of one copy.
type unpacker struct{ s string }

func (u *unpacker) uvarint() uint64 {
	var v uint64
	for shift := 0; ; shift += 7 {
		c := u.s[0]
		u.s = u.s[1:]
		v |= uint64(c&0x7F) << shift
		if c < 0x80 {
			return v
		}
	}
}

func (u *unpacker) varint() int64 {
	v := u.uvarint()
	return int64(v>>1) ^ -int64(v&1) //nolint:gosec // zigzag
}

func (u *unpacker) count() int { return int(u.uvarint()) } //nolint:gosec // it was an int

func (u *unpacker) text() string {
	n := u.count()
	s := u.s[:n]
	u.s = u.s[n:]
	return s
}

func (u *unpacker) texts() []string {
	n := u.count()
	if n == 0 {
		return nil
	}
	l := make([]string, n)
	for i := range l {
		l[i] = u.text()
	}
	return l
}

func (u *unpacker) time() time.Time { return time.UnixMicro(u.varint()).UTC() }

func (u *unpacker) flag() bool {
	v := u.s[0] == 1
	u.s = u.s[1:]
	return v
}

func (u *unpacker) key() string {
	if u.flag() {
		return hex.EncodeToString([]byte(u.text()))
	}
	return u.text()
}

func unpack(b []byte) revue.Decision {
	u := unpacker{string(b)}
	d := revue.Decision{
		Seq:           revue.Seq(u.uvarint()), //nolint:gosec // it was one
		ID:            u.text(),
		LotID:         u.text(),
		Key:           u.key(),
		Question:      u.text(),
		Answer:        u.text(),
		AnswerLabel:   u.text(),
		Repo:          u.text(),
		Remember:      revue.Remember(u.text()),
		SupersededBy:  u.text(),
		By:            revue.Who{ID: u.text(), Name: u.text(), Via: u.text()},
		CreatedAt:     u.time(),
		ConfirmedAt:   u.time(),
		Confirmations: int(u.varint()),
		FreeText:      u.flag(),
		Concepts:      u.texts(),
		Files:         u.texts(),
	}
	if n := u.count(); n > 0 {
		d.Options = make([]revue.Option, n)
		for i := range d.Options {
			d.Options[i] = revue.Option{Value: u.text(), Label: u.text(), Consequence: u.text()}
		}
	}
	if n := u.count(); n > 0 {
		d.Aliases = make([]revue.Alias, n)
		for i := range d.Aliases {
			d.Aliases[i].Text = u.text()
		}
	}
	if n := u.count(); n > 0 {
		d.Corrections = make([]revue.Correction, n)
		for i := range d.Corrections {
			d.Corrections[i] = revue.Correction{ID: u.text(), Verb: revue.Verb(u.text()), Undoes: u.text(), Expires: u.time(), At: u.time()}
		}
	}
	return d
}

// packedID and packedLot read the start of a record without the rest.
func packedID(b []byte) []byte {
	_, n := binary.Uvarint(b)
	id, _ := packedText(b[n:])
	return id
}

func packedLot(b []byte) []byte {
	_, n := binary.Uvarint(b)
	_, rest := packedText(b[n:])
	lot, _ := packedText(rest)
	return lot
}

func packedText(b []byte) (text, rest []byte) {
	v, n := binary.Uvarint(b)
	end := n + int(v) //nolint:gosec // a length within b
	return b[n:end], b[end:]
}

// arena keeps records one behind the other in large pages. What is replaced stays until the index is compacted.
type arena struct {
	pages [][]byte
	bytes int
}

const arenaPage = 1 << 18

// ref is where a record is: its page and its place there. gone stands for none.
type ref uint64

const gone = ^ref(0)

func (a *arena) add(rec []byte) ref {
	n := len(rec) + binary.MaxVarintLen32
	if last := len(a.pages) - 1; last < 0 || len(a.pages[last])+n > cap(a.pages[last]) {
		size := max(arenaPage, n)
		if len(a.pages) == 0 {
			size = max(1<<12, n) // most workspaces are small
		}
		a.pages = append(a.pages, make([]byte, 0, size))
		a.bytes += size
	}
	i := len(a.pages) - 1
	p := a.pages[i]
	r := ref(i)<<32 | ref(len(p)) //nolint:gosec // both are small
	p = binary.AppendUvarint(p, uint64(len(rec)))
	a.pages[i] = append(p, rec...)
	return r
}

func (a *arena) at(r ref) []byte {
	rec, _ := packedText(a.pages[r>>32][uint32(r):]) //nolint:gosec // the lower half
	return rec
}
