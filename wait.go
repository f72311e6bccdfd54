package revue

import "sync"

// waiter has one slot: a signal that finds it full is the same news.
type waiter struct{ ch chan struct{} }

func (w *waiter) signal() {
	select {
	case w.ch <- struct{}{}:
	default:
	}
}

// topic is what a waiter waits for: one lot, or with an empty lot anything in its workspace, or with both
// empty anything at all.
type topic struct{ workspace, lot string }

// waiters is the registry of everything that is parked. Whoever waits registers before reading what it
// waits for, so a commit between the read and the wait is never missed.
type waiters struct {
	mu      sync.Mutex
	byTopic map[topic]map[*waiter]struct{}
	byPlace map[string]int // waiters on lots, a workspace
}

func newWaiters() *waiters {
	return &waiters{byTopic: map[topic]map[*waiter]struct{}{}, byPlace: map[string]int{}}
}

func (r *waiters) add(t topic) *waiter {
	w := &waiter{ch: make(chan struct{}, 1)}
	r.mu.Lock()
	defer r.mu.Unlock()
	set := r.byTopic[t]
	if set == nil {
		set = map[*waiter]struct{}{}
		r.byTopic[t] = set
	}
	set[w] = struct{}{}
	if t.workspace != "" {
		r.byPlace[t.workspace]++
	}
	return w
}

func (r *waiters) remove(t topic, w *waiter) {
	r.mu.Lock()
	defer r.mu.Unlock()
	set := r.byTopic[t]
	if _, ok := set[w]; !ok {
		return
	}
	delete(set, w)
	if len(set) == 0 {
		delete(r.byTopic, t)
	}
	if t.workspace != "" {
		if r.byPlace[t.workspace]--; r.byPlace[t.workspace] == 0 {
			delete(r.byPlace, t.workspace)
		}
	}
}

// signal wakes what waits for the events' lots, and what follows the workspace.
func (r *waiters) signal(workspace string, events []Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range events {
		if e.Kind == EventTokenRevoked {
			r.signalWorkspace(workspace)
			return
		}
		if !e.Kind.endsWaits() {
			continue
		}
		r.signalTopic(topic{workspace, e.Lot})
		if e.Kind == EventAskMoved {
			r.signalTopic(topic{workspace, e.Ref})
		}
	}
	r.signalTopic(topic{workspace, ""})
	r.signalTopic(topic{})
}

// signalAll wakes everything in a workspace, or with "" everything.
func (r *waiters) signalAll(workspace string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.signalWorkspace(workspace)
}

func (r *waiters) signalWorkspace(workspace string) {
	for t := range r.byTopic {
		if workspace == "" || t.workspace == workspace || t.workspace == "" {
			r.signalTopic(t)
		}
	}
}

func (r *waiters) signalTopic(t topic) {
	for w := range r.byTopic[t] {
		w.signal()
	}
}

// places returns the workspaces in which something is parked.
func (r *waiters) places() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]string, 0, len(r.byPlace))
	for ws := range r.byPlace {
		out = append(out, ws)
	}
	return out
}

// parked returns how many calls are parked on lots.
func (r *waiters) parked() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for t, set := range r.byTopic {
		if t.lot != "" {
			n += len(set)
		}
	}
	return n
}
