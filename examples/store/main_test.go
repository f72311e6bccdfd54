package main

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/storage/memstore"
	"github.com/revuehq/revue/storage/storagetest"
)

func TestRun(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out))
	require.Regexp(t, `^answered: nats, after \d+ reads and [1-9]\d* writes, the slowest in \S+\n$`, out.String())
}

// TestStore is the suite that every store passes.
func TestStore(t *testing.T) {
	storagetest.Run(t, func(*testing.T) revue.Store { return &Measured{Store: memstore.New(nil)} })
}

func TestStats(t *testing.T) {
	m := &Measured{Store: memstore.New(nil)}
	nothing := func(revue.Tx) error { return nil }
	require.NoError(t, m.View(t.Context(), "w", nothing))
	require.NoError(t, m.Update(t.Context(), "w", nothing))
	require.NoError(t, m.Update(t.Context(), "w", nothing))
	broken := errors.New("broken")
	require.ErrorIs(t, m.Update(t.Context(), "w", func(revue.Tx) error { return broken }), broken)
	s := m.Stats()
	require.Equal(t, []int{1, 2, 1}, []int{s.Views, s.Updates, s.Failed})
	require.NoError(t, m.Close())
}
