package memstore

import (
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
)

// TestTree compares the tree with a map, and every earlier root with what it was then.
func TestTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var root *tree[int]
		model := map[key]int{}
		type past struct {
			root  *tree[int]
			model map[key]int
		}
		var history []past
		keys := rapid.Custom(func(t *rapid.T) key {
			return key{
				by:  rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "by"),
				of:  rapid.SampledFrom([]string{"", "x", "x\x00", "y"}).Draw(t, "of"),
				seq: revue.Seq(rapid.IntRange(-1, 3).Draw(t, "seq")),
				id:  strconv.Itoa(rapid.IntRange(0, 3).Draw(t, "id")),
			}
		})
		for i := range rapid.IntRange(0, 60).Draw(t, "steps") {
			k := keys.Draw(t, "key")
			if rapid.Bool().Draw(t, "remove") {
				root = root.remove(k)
				delete(model, k)
			} else {
				root = root.set(k, i)
				model[k] = i
			}
			copied := map[key]int{}
			for k, v := range model {
				copied[k] = v
			}
			history = append(history, past{root, copied})
		}
		bound := keys.Draw(t, "bound")
		for _, p := range history {
			var above, below []key
			for k, v := range p.model {
				got, ok := p.root.get(k)
				require.True(t, ok)
				require.Equal(t, v, got)
				if k.compare(bound) >= 0 {
					above = append(above, k)
				} else {
					below = append(below, k)
				}
			}
			slices.SortFunc(above, key.compare)
			slices.SortFunc(below, key.compare)
			slices.Reverse(below)
			var up, down []key
			for k := range p.root.from(bound) {
				up = append(up, k)
			}
			for k := range p.root.before(bound) {
				down = append(down, k)
			}
			require.Equal(t, above, up)
			require.Equal(t, below, down)
		}
	})
}
