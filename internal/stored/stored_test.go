package stored_test

import (
	"encoding/json"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/stored"
)

func TestTime(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6789, time.FixedZone("east", 3600))
	require.Equal(t, time.Date(2026, 1, 2, 2, 4, 5, 6000, time.UTC), stored.Time(at))
	require.Equal(t, time.Time{}, stored.Time(time.Time{}))
	require.NotContains(t, stored.Time(time.Now()).String(), "m=")
}

func TestCloneSharesNothing(t *testing.T) {
	type inner struct{ Words []string }
	type outer struct {
		List   []inner
		Ptr    *inner
		Map    map[string][]int
		Bytes  []byte
		Nil    []string
		Empty  []string
		At     time.Time
		hidden int
	}
	a := outer{
		List: []inner{{Words: []string{"a"}}}, Ptr: &inner{Words: []string{"b"}}, Map: map[string][]int{"k": {1}},
		Bytes: []byte("c"), Empty: []string{}, At: time.Unix(1, 1234).UTC(), hidden: 2,
	}
	b := stored.Clone(a)
	want := outer{
		List: []inner{{Words: []string{"a"}}}, Ptr: &inner{Words: []string{"b"}}, Map: map[string][]int{"k": {1}},
		Bytes: []byte("c"), Empty: []string{}, At: time.Unix(1, 1000).UTC(), hidden: 2,
	}
	require.Equal(t, want, b)
	a.List[0].Words[0], a.Ptr.Words[0], a.Map["k"][0], a.Bytes[0] = "!", "!", 9, '!'
	require.Equal(t, want, b)
}

func TestEncode(t *testing.T) {
	b, err := stored.Encode(revue.Option{Value: "<a> & \u2028 \ufffd", Label: `\ufffd \\ufffd`})
	require.NoError(t, err)
	require.Contains(t, string(b), "<a> & ", "text stays readable")
	back, err := stored.Decode[revue.Option](b)
	require.NoError(t, err)
	require.Equal(t, revue.Option{Value: "<a> & \u2028 \ufffd", Label: `\ufffd \\ufffd`}, back)

	for _, bad := range []string{"\xff", "a\xc3", `\` + "\xff", "\ufffd \xed\xa0\x80"} {
		_, err = stored.Encode(revue.Option{Value: bad})
		require.ErrorIs(t, err, revue.ErrInvalid, "%q", bad)
	}
	_, err = stored.Encode(revue.Event{At: time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)})
	require.ErrorIs(t, err, revue.ErrInvalid)
	_, err = stored.Decode[revue.Option]([]byte("{"))
	require.ErrorIs(t, err, revue.ErrInternal)
}

// FuzzText shows that text comes back byte for byte, or is refused.
func FuzzText(f *testing.F) {
	for _, s := range []string{"", "plain", `\ufffd`, `\\ufffd`, "\ufffd", "\xff", "\\\xff", "\u2028</script>", "é\xc3", "\x00\x1f"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b, err := stored.Encode(revue.Option{Value: s})
		if !utf8.ValidString(s) {
			require.Error(t, err)
			return
		}
		require.NoError(t, err)
		require.True(t, json.Valid(b))
		back, err := stored.Decode[revue.Option](b)
		require.NoError(t, err)
		require.Equal(t, s, back.Value)
	})
}

func BenchmarkClone(b *testing.B) {
	d := revue.Decision{ID: "dec_1", Options: make([]revue.Option, 3), Concepts: []string{"a", "b"}, CreatedAt: time.Now()}
	for b.Loop() {
		_ = stored.Clone(d)
	}
}
