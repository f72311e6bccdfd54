package memory

import "sync"

// readings keeps what was read of the wordings that are compared again and again: those of the open lots with
// each new ask. What was not used since the last generation is forgotten. It is safe for concurrent use.
type readings struct {
	mu    sync.Mutex
	young map[string]*reading
	old   map[string]*reading
}

// maxReadings bounds a generation; there are two.
const maxReadings = 1 << 13

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
	if c.young == nil || len(c.young) >= maxReadings {
		c.old, c.young = c.young, make(map[string]*reading, maxReadings/8)
	}
	c.young[text] = r
}
