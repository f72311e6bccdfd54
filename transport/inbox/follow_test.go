package inbox

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
)

// After an answer comes what follows it in the list that it was opened from, and from the last one the first.
func TestFollowing(t *testing.T) {
	start := time.Date(2026, 9, 1, 8, 0, 0, 0, time.UTC)
	lot := func(n int, stream string) revue.Lot {
		at := start.Add(time.Duration(n) * time.Minute)
		id := "lot_" + string(rune('a'+n))
		return revue.Lot{ID: id, Seq: revue.Seq(n + 1), Question: id + "?", Stream: stream, Status: revue.StatusOpen, CreatedAt: at, UpdatedAt: at}
	}
	first, middle, last, other := lot(0, "web"), lot(1, "web"), lot(2, "web"), lot(3, "zoo")
	next := func(q query, done revue.Lot, left ...revue.Lot) string {
		return followingIn(boardOf(left...), nil, q, done)
	}
	require.Equal(t, "/lots/lot_c", next(query{Page: 1}, middle, first, last, other))
	require.Equal(t, "/lots/lot_d", next(query{Page: 1}, last, first, middle, other), "the next lane")
	require.Equal(t, "/lots/lot_a", next(query{Page: 1}, other, first, middle, last), "round to the first")
	require.Equal(t, "/lots/lot_a?stream=web", next(query{Stream: "web", Page: 1}, last, first, middle, other))
	require.Equal(t, "/lots/lot_c", next(query{Page: 1}, middle, first, middle, last), "the board is not new yet")
	require.Empty(t, next(query{Page: 1}, middle))
	require.Empty(t, next(query{Q: "nothing", Page: 1}, middle, first, last))
}
