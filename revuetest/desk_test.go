package revuetest_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/memory"
	"github.com/revuehq/revue/revuetest"
	"github.com/revuehq/revue/storage/memstore"
	"github.com/revuehq/revue/storage/sqlite"
)

// system is a desk as a System.
func system(desk *revue.Desk) revuetest.System {
	sys := revuetest.System{
		Decider:  func(_ *testing.T, a revue.Agent) revue.Decider { return desk.Decider(a) },
		Reviewer: func(_ *testing.T, h revue.Human) revue.Reviewer { return desk.Reviewer(h) },
		Library:  true,
		Calls:    true,
		Keys: func(t *testing.T) revue.KeySet {
			t.Helper()
			keys, err := desk.Keys(t.Context())
			require.NoError(t, err)
			return keys
		},
	}
	if testing.Short() {
		sys.Rounds = 10
	}
	return sys
}

// run runs the desk until the test ends.
func run(t *testing.T, desk *revue.Desk) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- desk.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
}

func sqliteStore(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	store, err := sqlite.Open(t.Context(), path, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

func TestContractDeskInMemory(t *testing.T) {
	t.Parallel() // much of it is waiting
	revuetest.Contract(t, func(t *testing.T) revuetest.System {
		desk := revue.New(memstore.New(nil), memory.New(nil), nil)
		run(t, desk)
		return system(desk)
	})
}

func TestContractDeskOnSQLite(t *testing.T) {
	t.Parallel() // much of it is waiting
	revuetest.Contract(t, func(t *testing.T) revuetest.System {
		desk := revue.New(sqliteStore(t, filepath.Join(t.TempDir(), "revue.db")), memory.New(nil), nil)
		run(t, desk)
		return system(desk)
	})
}

// Two desks on one file stand for two processes: agents ask one, humans answer at the other.
func TestContractTwoDesksOnOneFile(t *testing.T) {
	t.Parallel() // much of it is waiting
	revuetest.Contract(t, func(t *testing.T) revuetest.System {
		path := filepath.Join(t.TempDir(), "revue.db")
		asking := revue.New(sqliteStore(t, path), memory.New(nil), nil)
		deciding := revue.New(sqliteStore(t, path), memory.New(nil), nil)
		run(t, asking)
		run(t, deciding)
		sys := system(asking)
		sys.Reviewer = func(_ *testing.T, h revue.Human) revue.Reviewer { return deciding.Reviewer(h) }
		sys.Agents, sys.Rounds = 8, 20
		return sys
	})
}
