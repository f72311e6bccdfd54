package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// bell is the file that is written after each commit. It has a folder of its own, so that whoever
// watches that hears nothing else; to watch SQLite's own files would be to wake before a commit can be
// seen.
type bell struct {
	dir string

	file *os.File
}

func newBell(path string) (*bell, error) {
	dir := path + ".bell"
	if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "bell"), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return &bell{dir: dir, file: f}, nil
}

// ring tells the other processes to look. It writes the same byte each time: a file that grew would cost
// the next flush of the log more. What goes wrong here is no failure of the commit, and is made good by
// their polling.
func (b *bell) ring() { _, _ = b.file.WriteAt([]byte{'.'}, 0) }

func (b *bell) close() error { return b.file.Close() }

// watcher is one call of Watch: what this process committed since it last looked.
type watcher struct {
	mu    sync.Mutex
	own   []commit
	ready chan struct{}
}

type commit struct {
	workspace string
	change    int64 // 0 where it is not known
}

func (w *watcher) take() []commit {
	w.mu.Lock()
	defer w.mu.Unlock()
	own := w.own
	w.own = nil
	return own
}

// committed tells everybody of a commit.
func (s *Store) committed(workspace string, change int64) {
	s.mu.Lock()
	for w := range s.watchers {
		w.mu.Lock()
		w.own = append(w.own, commit{workspace, change})
		w.mu.Unlock()
		select {
		case w.ready <- struct{}{}:
		default:
		}
	}
	s.mu.Unlock()
	if s.bell != nil {
		s.bell.ring()
	}
}

// Watch implements [revue.Store]. It returns ctx.Err() when ctx ends, CodeUnavailable when the store is
// closed, cannot be read any more, or has lost its file.
func (s *Store) Watch(ctx context.Context, wake func(workspace string)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.enter(); err != nil {
		return err
	}
	defer s.running.Done()
	return storageError("watch", s.watch(ctx, wake))
}

func (s *Store) watch(ctx context.Context, wake func(workspace string)) error {
	w := &watcher{ready: make(chan struct{}, 1)}
	s.mu.Lock()
	s.watchers[w] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.watchers, w)
		s.mu.Unlock()
	}()

	var rung <-chan fsnotify.Event // nil channels say nothing
	var missed <-chan error
	if s.bell != nil {
		// Without a watch to be had (they are few on some systems) polling does the work.
		if fw, err := fsnotify.NewWatcher(); err == nil {
			defer fw.Close()
			if fw.Add(s.bell.dir) == nil {
				rung, missed = fw.Events, fw.Errors
			}
		}
	}

	se, err := s.connect(ctx, true)
	if err != nil {
		return err
	}
	defer se.close()
	l := &look{s: s, ctx: ctx, se: se}
	if err := l.begin(); err != nil {
		return err
	}
	wake("")

	tick := time.NewTicker(s.poll)
	defer tick.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.closed:
			return errClosed()
		case <-w.ready:
			for _, c := range w.take() {
				l.own(c, wake)
			}
		case _, ok := <-rung:
			if !ok {
				rung = nil
			}
			err = l.changes(wake)
		case _, ok := <-missed:
			if !ok {
				missed = nil
			}
			wake("")
			err = l.changes(wake)
		case <-tick.C:
			err = l.poll(wake)
		}
		if err != nil {
			return err
		}
	}
}

// look finds out what changed, on a connection that never writes.
type look struct {
	s       *Store
	ctx     context.Context //nolint:containedctx // it lives as long as the call that was given it
	se      *session
	seen    int64 // the number of the last change that was woken for
	version int64 // SQLite's own counter: it moves with each commit of another connection
}

func (l *look) begin() error {
	return l.s.patiently(l.ctx, func() error {
		if err := l.se.row("PRAGMA data_version", nil, &l.version); err != nil {
			return err
		}
		return l.se.row("SELECT change FROM workspaces WHERE n = 0", nil, &l.seen)
	})
}

// own wakes for a commit of this process, unless a look has seen it already.
func (l *look) own(c commit, wake func(string)) {
	if c.change != 0 && c.change <= l.seen {
		return
	}
	wake(c.workspace)
	if c.change == l.seen+1 { // otherwise there are others in between, which the next look finds
		l.seen = c.change
	}
}

// poll is the safety net: it costs microseconds while nothing happens. It also sees that the file
// is gone, of which nobody else may learn while nothing is asked.
func (l *look) poll(wake func(string)) error {
	if err := l.s.inPlace(); err != nil {
		return err
	}
	var version int64
	err := l.s.patiently(l.ctx, func() error { return l.se.row("PRAGMA data_version", nil, &version) })
	if err != nil || version == l.version {
		return err
	}
	if err := l.changes(wake); err != nil {
		return err
	}
	l.version = version
	return nil
}

// changes wakes for each workspace that changed since the last look.
func (l *look) changes(wake func(string)) error {
	var names []string
	var top int64
	seen := l.seen
	err := l.s.patiently(l.ctx, func() error {
		names = names[:0]
		if err := l.se.row("SELECT change FROM workspaces WHERE n = 0", nil, &top); err != nil {
			return err
		}
		return l.se.each("SELECT name, change FROM workspaces WHERE n > 0 AND change > ? ORDER BY change", []any{l.seen}, func(row []driver.Value) error {
			var name string
			if err := errors.Join(assign(&name, row[0]), assign(&seen, row[1])); err != nil {
				return err
			}
			names = append(names, name)
			return nil
		})
	})
	if err != nil {
		return err
	}
	if top < l.seen { // put back from a copy: anything may be other than it was
		l.seen = top
		wake("")
		return nil
	}
	l.seen = seen
	for _, name := range names {
		wake(name)
	}
	return nil
}
