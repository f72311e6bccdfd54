package memory

import (
	"slices"
	"sync"

	"github.com/revuehq/revue"
)

// readings keeps what was read of the wordings that are compared again and again: those of the open lots with
// each new ask, and those of the decisions that are found often. What was not used since the last generation is
// forgotten. It is safe for concurrent use.
type readings struct {
	mu    sync.Mutex
	young map[string]*reading
	old   map[string]*reading
	text  int // bytes of the wordings in young
}

// Bounds of a generation; there are two. A reading takes about twelve times its text.
const (
	maxReadings    = 1 << 12
	maxReadingText = 1 << 20
)

// of returns the reading of a wording, guarded, so that nobody changes it any more.
func (c *readings) of(text string) *reading {
	if r := c.kept(text); r != nil {
		return r
	}
	r := read(text)
	r.guard()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keep(text, &r)
	return &r
}

func (c *readings) kept(text string) *reading {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.young[text]; r != nil {
		return r
	}
	r := c.old[text]
	if r != nil {
		c.keep(text, r)
	}
	return r
}

func (c *readings) keep(text string, r *reading) {
	if c.young == nil || len(c.young) >= maxReadings || c.text >= maxReadingText {
		c.old, c.young, c.text = c.young, map[string]*reading{}, 0
	}
	c.young[text] = r
	c.text += len(text)
}

// keys is [keys], of wordings that are kept.
func (c *readings) keys(d *revue.Decision) []string {
	var out []string
	for _, text := range wordings(d) {
		r := c.of(text)
		if r.hidden {
			continue
		}
		if k := key(r.toks); k != "" && !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}
