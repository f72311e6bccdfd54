package memstore_test

import (
	"context"
	"math"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/storage/memstore"
	"github.com/revuehq/revue/storage/storagetest"
)

func TestContract(t *testing.T) {
	storagetest.Suite{
		Open: func(*testing.T) revue.Store { return memstore.New(nil) },
		OpenAt: func(_ *testing.T, now func() time.Time) revue.Store {
			return memstore.New(&memstore.Options{Now: now})
		},
	}.Run(t)
}

// Updates of different workspaces run side by side.
func TestWorkspacesDoNotWaitForEachOther(t *testing.T) {
	s := memstore.New(nil)
	defer s.Close()
	require.NoError(t, s.Update(t.Context(), "a", func(revue.Tx) error {
		return s.Update(t.Context(), "b", func(tx revue.Tx) error { return tx.PutRecord("k", "k", nil) })
	}))
}

func TestTransactionIsOverAfterItsFunction(t *testing.T) {
	s := memstore.New(nil)
	defer s.Close()
	var leaked revue.Tx
	require.NoError(t, s.Update(t.Context(), "ws", func(tx revue.Tx) error { leaked = tx; return nil }))
	require.ErrorIs(t, leaked.PutRecord("k", "k", nil), revue.ErrInternal)
	_, err := leaked.Record("k", "k")
	require.ErrorIs(t, err, revue.ErrInternal)
}

// The zero Options are the defaults, the clock is the bubble's, and nothing is left behind.
func TestInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New(&memstore.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		var woken []string
		ended := make(chan error)
		go func() { ended <- s.Watch(ctx, func(ws string) { woken = append(woken, ws) }) }()
		synctest.Wait()

		<-time.After(time.Hour) // the bubble's
		began := time.Now()
		require.NoError(t, s.Update(ctx, "ws", func(tx revue.Tx) error {
			require.True(t, tx.Now().Equal(began))
			return nil
		}))
		synctest.Wait()
		require.Equal(t, []string{"", "ws"}, woken)
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
	})
}

func BenchmarkUpdate(b *testing.B) {
	s := memstore.New(nil)
	defer s.Close()
	n := 0
	for b.Loop() {
		n++
		require.NoError(b, s.Update(b.Context(), "ws", func(tx revue.Tx) error {
			return tx.PutDecision(revue.Decision{ID: strconv.Itoa(n), Seq: revue.Seq(n), Key: strconv.Itoa(n)})
		}))
	}
}

// Nothing comes after the greatest number there is.
func TestAfterTheGreatest(t *testing.T) {
	s := memstore.New(nil)
	require.NoError(t, s.Update(t.Context(), "w", func(tx revue.Tx) error {
		return tx.PutLot(revue.Lot{ID: "lot_1", Seq: 1})
	}))
	require.NoError(t, s.View(t.Context(), "w", func(tx revue.Tx) error {
		for after, want := range map[revue.Seq]int{0: 1, 1: 0, math.MaxInt64 - 1: 0, math.MaxInt64: 0} {
			found, err := tx.FindLots(revue.LotQuery{After: after})
			require.NoError(t, err)
			require.Len(t, found, want, "after %d", after)
		}
		return nil
	}))
}
