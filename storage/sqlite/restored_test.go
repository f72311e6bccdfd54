package sqlite

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
)

// An older state may be put back into the file while it is open, as the backup interface of SQLite does it. A store
// takes nothing for the last event that is not in the file any more, and tells those who watch.
func TestOlderStatePutBack(t *testing.T) {
	path := file(t)
	s := open(t, path, &Options{NoBell: true, PollInterval: 5 * time.Millisecond})
	other := open(t, path, &Options{NoBell: true})
	appendTo := func(st *Store, n int, of string) {
		for i := range n {
			require.NoError(t, st.Update(t.Context(), "w", func(tx revue.Tx) error {
				head, err := tx.Head()
				if err != nil {
					return err
				}
				e := revue.Event{Seq: head.Seq + 1, Kind: revue.EventLotOpened, Prev: head.Hash, At: tx.Now(), Ref: fmt.Sprint(of, i)}
				e.Hash = e.Sum()
				return tx.Append(e)
			}))
		}
	}
	// row is what the file says of the workspace.
	se, err := other.connect(t.Context(), false)
	require.NoError(t, err)
	defer se.close()
	row := func() (change, at int64) {
		require.NoError(t, se.row("SELECT change, at FROM workspaces WHERE name = ?", []any{"w"}, &change, &at))
		return change, at
	}
	appendTo(s, 5, "kept ")
	change, at := row()
	appendTo(s, 5, "lost ") // and with it the change numbers up to here

	woken := make(chan string, 100)
	done := make(chan error, 1)
	go func() { done <- s.Watch(t.Context(), func(ws string) { woken <- ws }) }()
	require.Empty(t, <-woken)

	for _, q := range []string{
		"BEGIN IMMEDIATE", "DELETE FROM events WHERE seq > 5",
		fmt.Sprintf("UPDATE workspaces SET change = %d, at = %d WHERE name = 'w'", change, at),
		fmt.Sprintf("UPDATE workspaces SET change = %d WHERE n = 0", change), "COMMIT",
	} {
		require.NoError(t, se.exec(q))
	}
	require.Empty(t, <-woken, "anything may have changed")
	appendTo(other, 5, "new ")
	appendTo(s, 1, "newer ")
	var events []revue.Event
	require.NoError(t, s.View(t.Context(), "w", func(tx revue.Tx) (err error) {
		events, err = tx.Events(0, 100)
		return err
	}))
	require.Len(t, events, 11)
	require.NoError(t, revue.VerifyChain(revue.Event{}, events))
	require.NoError(t, s.Close())
	require.Error(t, <-done)
}
