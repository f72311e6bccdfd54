package sqlite

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/storage/storagetest"
)

// open opens the database of a test, and closes it with it.
func open(t testing.TB, path string, opts *Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, opts)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func file(t testing.TB) string { return filepath.Join(t.TempDir(), "revue.db") }

func TestContract(t *testing.T) {
	for name, opts := range map[string]Options{
		"bell":    {},
		"polling": {NoBell: true, PollInterval: 5 * time.Millisecond, Synchronous: SynchronousNormal},
	} {
		t.Run(name, func(t *testing.T) {
			storagetest.Suite{
				Open: func(t *testing.T) revue.Store { return open(t, file(t), &opts) },
				Place: func(t *testing.T) func() revue.Store {
					path := file(t)
					return func() revue.Store { return open(t, path, &opts) }
				},
				OpenAt: func(t *testing.T, now func() time.Time) revue.Store {
					o := opts
					o.Now = now
					return open(t, file(t), &o)
				},
			}.Run(t)
		})
	}
}
