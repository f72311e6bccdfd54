package inbox

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTicks(t *testing.T) {
	for top, want := range map[float64][]float64{
		0: {0, 1}, 1: {0, 1}, 4: {0, 1, 2, 3, 4}, 5: {0, 2, 4, 6}, 17: {0, 5, 10, 15, 20}, 41: {0, 20, 40, 60}, 1000: {0, 500, 1000},
	} {
		require.Equal(t, want, countTicks(top), top)
	}
	require.Equal(t, []float64{0, 1, 2, 3}, timeTicks(2.5))
	require.Equal(t, []float64{0, 3600, 7200, 10800}, timeTicks(9000))
	require.Equal(t, []float64{0, 1}, timeTicks(0))
	for range 2000 {
		top := float64(rand.IntN(1<<uint(rand.IntN(40)) + 1)) //nolint:gosec // any number will do
		for _, ticks := range [][]float64{countTicks(top), timeTicks(top)} {
			require.GreaterOrEqual(t, ticks[len(ticks)-1], top)
			require.LessOrEqual(t, len(ticks), 6, top)
			require.Zero(t, ticks[0])
			require.Equal(t, float64(int(ticks[1])), ticks[1]) //nolint:testifylint // whole
		}
	}
}

func TestShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 s", 1500 * time.Millisecond: "1.5 s", 59 * time.Second: "59 s", 61 * time.Second: "1 min 1 s", 12 * time.Minute: "12 min",
		90 * time.Minute: "1 h 30 min", 11 * time.Hour: "11 h", 50 * time.Hour: "2 d 2 h", 30 * 24 * time.Hour: "30 d",
		59*time.Second + 990*time.Millisecond: "1 min",
	} {
		require.Equal(t, want, short(d), d)
	}
}

// Whatever the numbers are, what is drawn is inside of the picture, and bars of a week stand on each other.
func TestPlotPlaces(t *testing.T) {
	number := func(s string) float64 {
		v, err := strconv.ParseFloat(strings.TrimSuffix(s, "%"), 64)
		require.NoError(t, err)
		return v
	}
	starts := make([]time.Time, weeksShown)
	for i := range starts {
		starts[i] = time.Date(2026, 9, 14+7*i, 0, 0, 0, 0, time.UTC)
	}
	for range 200 {
		rows := []series{{"p1", "a", nil}, {"p2", "b", nil}, {"p3", "c", nil}}
		sum := 0
		for i := range rows {
			for range starts {
				v := rand.IntN(1 << uint(rand.IntN(16))) //nolint:gosec // any number will do
				sum += v
				rows[i].Values = append(rows[i].Values, float64(v))
			}
		}
		p := stacked("x", "X", starts, rows)
		for _, b := range p.Bars {
			require.GreaterOrEqual(t, number(b.X), plotLeft)
			require.LessOrEqual(t, number(b.X)+number(b.W), plotRight)
			require.GreaterOrEqual(t, number(b.Y), plotTop-0.1)
			require.InDelta(t, min(number(b.Y)+number(b.H), plotBottom), number(b.Y)+number(b.H), 0.2)
			require.GreaterOrEqual(t, number(b.H), 0.0)
		}
		require.Len(t, p.Below, 4)
		require.Equal(t, sum > 0, len(p.Bars) > 0)

		for i := range rows {
			for j := range rows[i].Values {
				if rand.IntN(3) == 0 { //nolint:gosec // as above
					rows[i].Values[j] = -1
				}
			}
		}
		p = timed("x", "X", starts, rows[:2])
		for _, d := range p.Dots {
			require.GreaterOrEqual(t, number(d.Y), plotTop-0.1)
			require.LessOrEqual(t, number(d.Y), plotBottom)
		}
		require.LessOrEqual(t, len(p.Lines), len(p.Dots))
	}
}
