package sqlite

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
)

// swaps are the ways in which a file stops being the one at its path. Each returns where the old one is
// afterwards, "" when it is nowhere.
var swaps = map[string]func(t testing.TB, path string) string{
	"removed": func(t testing.TB, path string) string {
		require.NoError(t, os.Remove(path))
		return ""
	},
	"moved away": func(t testing.TB, path string) string {
		old := path + ".old"
		require.NoError(t, os.Rename(path, old))
		return old
	},
	"replaced by a backup": func(t testing.TB, path string) string {
		old := path + ".old"
		require.NoError(t, os.Link(path, old))
		backup := filepath.Join(t.TempDir(), "backup.db")
		s, err := Open(t.Context(), backup, nil)
		require.NoError(t, err)
		require.NoError(t, s.Close())
		require.NoError(t, os.Rename(backup, path))
		return old
	},
}

func eachSwap(t *testing.T, f func(t *testing.T, s *Store, swap func() string)) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("Windows keeps the file of an open database in its place")
	}
	for name, swap := range swaps {
		t.Run(name, func(t *testing.T) {
			s := open(t, file(t), nil)
			require.NoError(t, s.Update(t.Context(), "ws", increment))
			f(t, s, func() string { return swap(t, s.path) })
		})
	}
}

func requireReplaced(t testing.TB, err error) {
	t.Helper()
	require.ErrorIs(t, err, revue.ErrUnavailable)
	require.Contains(t, revue.MessageOf(err), "restart")
}

// A store whose file is not at its path any more says so at the next call, and for good: what it would
// write nobody would find.
func TestFileIsReplaced(t *testing.T) {
	eachSwap(t, func(t *testing.T, s *Store, swap func() string) {
		old := swap()
		ran := func(revue.Tx) error { t.Error("a function ran on a file that is gone"); return nil }
		requireReplaced(t, s.Update(t.Context(), "ws", ran))
		requireReplaced(t, s.View(t.Context(), "ws", ran))
		requireReplaced(t, s.Watch(t.Context(), func(string) { t.Error("woken by a file that is gone") }))

		if old != "" { // even when it comes back: there may have been another one meanwhile
			require.NoError(t, os.Rename(old, s.path))
			requireReplaced(t, s.View(t.Context(), "ws", ran))
			require.NoError(t, s.Close())
			require.Equal(t, 1, verify(t, open(t, s.path, nil)), "nothing was written to the old file")
			return
		}
		require.NoError(t, s.Close())
		require.Equal(t, 0, verify(t, open(t, s.path, nil)))
	})
}

// The file goes while an Update is under way, at any point of it.
func TestFileIsReplacedDuringAnUpdate(t *testing.T) {
	t.Run("before the commit", func(t *testing.T) {
		eachSwap(t, func(t *testing.T, s *Store, swap func() string) {
			var old string
			requireReplaced(t, s.Update(t.Context(), "ws", func(tx revue.Tx) error {
				old = swap()
				return increment(tx)
			}))
			require.NoError(t, s.Close())
			if old != "" {
				require.NoError(t, os.Rename(old, s.path))
				require.Equal(t, 1, verify(t, open(t, s.path, nil)), "nothing was written to the old file")
			}
		})
	})
	t.Run("at the commit", func(t *testing.T) {
		eachSwap(t, func(t *testing.T, s *Store, swap func() string) {
			s.commit = func(se *session) error {
				swap()
				return se.exec("COMMIT")
			}
			requireReplaced(t, s.Update(t.Context(), "ws", increment))
		})
	})
	t.Run("when the outcome of the commit is unknown", func(t *testing.T) {
		eachSwap(t, func(t *testing.T, s *Store, swap func() string) {
			s.commit = func(se *session) error {
				swap()
				se.broken = true // the next run needs a new connection
				return os.ErrClosed
			}
			requireReplaced(t, s.Update(t.Context(), "ws", increment))
		})
	})
}

// A new connection of a store is one to the file that was opened.
func TestConnectionToAnotherFile(t *testing.T) {
	eachSwap(t, func(t *testing.T, s *Store, swap func() string) {
		swap()
		_, err := s.connect(t.Context(), false)
		require.ErrorIs(t, err, revue.ErrUnavailable)
	})
}

// Watch tells within its poll interval, while nobody calls.
func TestWatchNoticesThatTheFileIsReplaced(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows keeps the file of an open database in its place")
	}
	for name, swap := range swaps {
		t.Run(name, func(t *testing.T) {
			path := file(t)
			synctest.Test(t, func(t *testing.T) {
				s, err := Open(t.Context(), path, &Options{NoBell: true})
				require.NoError(t, err)
				defer s.Close()
				ended := make(chan error, 1)
				go func() { ended <- s.Watch(context.WithoutCancel(t.Context()), func(string) {}) }()
				<-time.After(time.Minute)
				require.Empty(t, ended)
				if name == "replaced by a backup" { // made without a bell, which a bubble can't have
					backup := path + ".backup"
					require.NoError(t, create(backup))
					require.NoError(t, os.Rename(backup, path))
				} else {
					swap(t, path)
				}
				began := time.Now()
				requireReplaced(t, <-ended)
				require.LessOrEqual(t, time.Since(began), 250*time.Millisecond)
				requireReplaced(t, s.View(t.Context(), "ws", func(revue.Tx) error { return nil }))
			})
		})
	}
}

// What cannot be looked at is out of reach for as long as that lasts. A commit before that is one.
func TestFileCannotBeLookedAt(t *testing.T) {
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		t.Skip("nothing keeps this user from looking at a file")
	}
	s := open(t, file(t), nil)
	allow := func(mode os.FileMode) { require.NoError(t, os.Chmod(filepath.Dir(s.path), mode)) }
	defer allow(0o700)
	commit := s.commit
	s.commit = func(se *session) error {
		err := commit(se)
		allow(0)
		return err
	}
	require.NoError(t, s.Update(t.Context(), "ws", increment))
	err := s.Update(t.Context(), "ws", increment)
	require.ErrorIs(t, err, revue.ErrUnavailable)
	require.NotContains(t, revue.MessageOf(err), "restart")
	allow(0o700)
	require.NoError(t, s.Update(t.Context(), "ws", increment))
	allow(0o700)
	require.Equal(t, 2, verify(t, s))
}

func BenchmarkInPlace(b *testing.B) {
	s := open(b, file(b), nil)
	for b.Loop() {
		require.NoError(b, s.inPlace())
	}
}
