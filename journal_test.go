package revue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestVerifyChain(t *testing.T) {
	var chain []Event
	prev := Event{}
	for i := range 5 {
		prev = Event{
			Kind: EventLotAnswered, Lot: "lot_" + itoa(int64(i)), Asks: []string{"a", "b"}, Decision: "dec",
			Verb: VerbWrong, Ref: "r", Actor: "tok", Via: "cli", Digest: "d",
		}.chained(prev, noon.Add(time.Duration(i)))
		chain = append(chain, prev)
	}
	require.NoError(t, VerifyChain(Event{}, chain))
	require.NoError(t, VerifyChain(chain[1], chain[2:]))
	require.Error(t, VerifyChain(Event{}, chain[1:]), "the first one removed")
	require.Error(t, VerifyChain(Event{}, append(append([]Event(nil), chain[:2]...), chain[3:]...)), "one removed")
	for name, change := range map[string]func(*Event){
		"seq":      func(e *Event) { e.Seq++ },
		"at":       func(e *Event) { e.At = e.At.Add(time.Microsecond) },
		"kind":     func(e *Event) { e.Kind = EventLotDismissed },
		"lot":      func(e *Event) { e.Lot = "x" },
		"asks":     func(e *Event) { e.Asks = []string{"ab"} },
		"order":    func(e *Event) { e.Asks = []string{"b", "a"} },
		"decision": func(e *Event) { e.Decision = "x" },
		"verb":     func(e *Event) { e.Verb = "" },
		"ref":      func(e *Event) { e.Ref = "" },
		"actor":    func(e *Event) { e.Actor = "me" },
		"via":      func(e *Event) { e.Via = "web" },
		"digest":   func(e *Event) { e.Digest = "e" },
		"prev":     func(e *Event) { e.Prev = "" },
		"hash":     func(e *Event) { e.Hash = "" },
		"moved":    func(e *Event) { e.Ref, e.Actor = e.Actor, e.Ref },
	} {
		bad := append([]Event(nil), chain...)
		change(&bad[2])
		require.Error(t, VerifyChain(Event{}, bad), name)
		if name != "hash" {
			bad[2].Hash = bad[2].Sum()
			require.Error(t, VerifyChain(Event{}, bad), "%s, with a hash to match", name)
		}
	}
	bad := append([]Event(nil), chain...)
	bad[1], bad[2] = bad[2], bad[1]
	require.Error(t, VerifyChain(Event{}, bad), "reordered")
}

func TestErrors(t *testing.T) {
	err := error(&Error{Code: CodeConflict, ID: "lot_1", Message: "too late", Err: causeOf()})
	require.ErrorIs(t, err, ErrConflict)
	require.NotErrorIs(t, err, ErrInvalid)
	require.Equal(t, CodeConflict, CodeOf(err))
	require.Equal(t, "too late", MessageOf(err))
	require.Contains(t, err.Error(), "the cause")
	require.Equal(t, CodeInternal, CodeOf(causeOf()))
	require.NotContains(t, MessageOf(causeOf()), "the cause", "what is not ours is not shown")
	require.Equal(t, Code(""), CodeOf(nil))
	require.Empty(t, MessageOf(nil))
}

type cause struct{}

func (cause) Error() string { return "the cause" }

func causeOf() error { return cause{} }
