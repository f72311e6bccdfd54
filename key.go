package revue

import (
	"slices"
	"strings"
)

// Key identifies what was asked: SHA-256 over a canonical form of the kind, the question, the options
// in their order (value, label, consequence), the recommendation, and the concepts and files as sets;
// for an approval over the context and the affected list too. The wait, thread, repository and stream
// are not part of it. A resume finds its lot by this key, so it never changes between releases.
//
// It returns ErrInvalid where Request would.
func (a Ask) Key() (string, error) {
	a, err := a.normalized()
	if err != nil {
		return "", err
	}
	return a.key(), nil
}

// key is Key of a normalized ask.
func (a Ask) key() string {
	h := newDigest("revue-key-1")
	h.str(string(a.Kind))
	h.str(strings.TrimSpace(a.Question))
	h.num(int64(len(a.Options)))
	for _, o := range a.Options {
		h.str(o.Value)
		h.str(o.Label)
		h.str(o.Consequence)
	}
	h.str(a.Recommendation)
	h.list(sorted(a.Concepts))
	h.list(sorted(a.Files))
	if a.Kind == KindApproval {
		h.str(a.Context)
		h.num(int64(len(a.Affected)))
		for _, x := range a.Affected {
			h.str(x.Label)
			h.str(x.Meta)
		}
	}
	return h.hex()
}

func sorted(l []string) []string {
	l = slices.Clone(l)
	slices.Sort(l)
	return l
}
