package storagetest_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/storage/memstore"
	"github.com/revuehq/revue/storage/storagetest"
)

func TestRerun(t *testing.T) {
	add := func(tx revue.Tx) error {
		was, err := tx.Record("test", "n")
		if err != nil && !errors.Is(err, revue.ErrNotFound) {
			return err
		}
		return tx.PutRecord("test", "n", append(was, '+'))
	}
	n := func(s revue.Store) string {
		var got []byte
		require.NoError(t, s.View(t.Context(), "w", func(tx revue.Tx) error {
			var err error
			got, err = tx.Record("test", "n")
			if errors.Is(err, revue.ErrNotFound) {
				return nil
			}
			return err
		}))
		return string(got)
	}
	broken := errors.New("broken")

	t.Run("the second run sees what the first wrote", func(t *testing.T) {
		plain := memstore.New(nil)
		s := storagetest.Rerun(plain)
		require.NoError(t, s.Update(t.Context(), "w", add))
		require.Equal(t, "++", n(s))
		require.Equal(t, "++", n(plain))
		require.NoError(t, s.Close())
		require.ErrorIs(t, plain.Update(t.Context(), "w", add), revue.ErrUnavailable)
	})
	t.Run("a first run that fails is the only one", func(t *testing.T) {
		s := storagetest.Rerun(memstore.New(nil))
		runs := 0
		err := s.Update(t.Context(), "w", func(tx revue.Tx) error {
			runs++
			return errors.Join(add(tx), broken)
		})
		require.ErrorIs(t, err, broken)
		require.Equal(t, 1, runs)
		require.Empty(t, n(s))
	})
	t.Run("a second run that fails takes nothing back", func(t *testing.T) {
		s := storagetest.Rerun(memstore.New(nil))
		runs := 0
		err := s.Update(t.Context(), "w", func(tx revue.Tx) error {
			if runs++; runs == 2 {
				return broken
			}
			return add(tx)
		})
		require.Equal(t, broken, err)
		require.Equal(t, 2, runs)
		require.Equal(t, "+", n(s))
	})
	t.Run("a context that ends between the runs", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := storagetest.Rerun(cancelling{memstore.New(nil), cancel})
		err := s.Update(ctx, "w", add)
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, "+", n(s))
	})
}

// cancelling ends a context after each Update.
type cancelling struct {
	revue.Store
	cancel context.CancelFunc
}

func (s cancelling) Update(ctx context.Context, ws string, fn func(revue.Tx) error) error {
	defer s.cancel()
	return s.Store.Update(ctx, ws, fn)
}
