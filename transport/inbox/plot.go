package inbox

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// plot is a drawing in SVG, as its template needs it. Places across are in percent, so that it fits any width; places down
// are in pixels.
type plot struct {
	ID    string // unique on the page
	Title string
	Says  string // what can be seen in it
	Key   []keyed
	Grid  []gridLine
	Bars  []bar
	Lines []segment
	Dots  []dot
	Below []label
}

type keyed struct{ Class, Name string }

type gridLine struct{ Y, Text string }

type bar struct{ X, Y, W, H, Class, Tip string }

type segment struct{ X1, Y1, X2, Y2, Class string }

type dot struct{ X, Y, R, Class, Tip string }

type label struct{ X, Anchor, Text string }

// The place of what is drawn.
const (
	plotTop    = 14.0 // pixels
	plotBottom = 144.0
	plotLeft   = 18.0 // percent; before it is room for the longest time that a line is named by
	plotRight  = 100.0
)

func part(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) + "%" }

func pixels(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

// column is where the middle of the i-th of n columns is, and how wide one is.
func column(i, n int) (middle, wide float64) {
	wide = (plotRight - plotLeft) / float64(n)
	return plotLeft + (float64(i)+0.5)*wide, wide
}

// height is how far down a value is.
func height(v, top float64) float64 {
	if top <= 0 {
		return plotBottom
	}
	return plotBottom - v/top*(plotBottom-plotTop)
}

// days labels columns that are weeks, every third of them, the last among these.
func days(starts []time.Time) []label {
	var out []label
	for i, at := range starts {
		if (len(starts)-1-i)%3 == 0 {
			x, _ := column(i, len(starts))
			l := label{part(x), "middle", at.Format("2 Jan")}
			if i == len(starts)-1 { // it stays inside
				l.X, l.Anchor = part(plotRight), "end"
			}
			out = append(out, l)
		}
	}
	return out
}

// series is one row of values of a plot, one for each column.
type series struct {
	Class, Name string
	Values      []float64
}

// stacked draws bars, the series on top of each other.
func stacked(id, title string, starts []time.Time, rows []series) plot {
	p := plot{ID: id, Title: title, Below: days(starts)}
	top := 0.0
	for i := range starts {
		sum := 0.0
		for _, r := range rows {
			sum += r.Values[i]
		}
		top = max(top, sum)
	}
	ticks := countTicks(top)
	top = ticks[len(ticks)-1]
	for _, v := range ticks {
		p.Grid = append(p.Grid, gridLine{pixels(height(v, top)), strconv.Itoa(int(v))})
	}
	for i, at := range starts {
		x, wide := column(i, len(starts))
		below := 0.0
		for _, r := range rows {
			v := r.Values[i]
			if v > 0 {
				y := height(below+v, top)
				p.Bars = append(p.Bars, bar{
					X: part(x - wide*0.36), W: part(wide * 0.72), Y: pixels(y), H: pixels(height(below, top) - y), Class: r.Class,
					Tip: fmt.Sprintf("Week of %s: %d %s", at.Format("2 January"), int(v), r.Name),
				})
			}
			below += v
		}
	}
	totals := make([]string, len(rows))
	for i, r := range rows {
		p.Key = append(p.Key, keyed{r.Class, r.Name})
		sum := 0.0
		for _, v := range r.Values {
			sum += v
		}
		totals[i] = fmt.Sprintf("%d %s", int(sum), r.Name)
	}
	p.Says = fmt.Sprintf("Bars for %d weeks. Over all of them: %s.", len(starts), strings.Join(totals, ", "))
	return p
}

// timed draws lines of durations in seconds; a value below 0 is none.
func timed(id, title string, starts []time.Time, rows []series) plot {
	p := plot{ID: id, Title: title, Below: days(starts)}
	top := 0.0
	for _, r := range rows {
		top = max(top, slices.Max(append([]float64{0}, r.Values...)))
	}
	ticks := timeTicks(top)
	top = ticks[len(ticks)-1]
	for _, v := range ticks {
		text := "0"
		if v > 0 {
			text = short(time.Duration(v * float64(time.Second)))
		}
		p.Grid = append(p.Grid, gridLine{pixels(height(v, top)), text})
	}
	var said []string
	for _, r := range rows {
		p.Key = append(p.Key, keyed{r.Class, r.Name})
	}
	for n, r := range slices.Backward(rows) { // the first lies on top, and those below it are larger: they are seen where both are equal
		last := -1
		for i, v := range r.Values {
			if v < 0 {
				continue
			}
			x, _ := column(i, len(starts))
			d := dot{X: part(x), Y: pixels(height(v, top)), R: strconv.Itoa(4 + 2*n), Class: r.Class}
			spent := short(time.Duration(v * float64(time.Second)))
			d.Tip = fmt.Sprintf("Week of %s: %s %s", starts[i].Format("2 January"), r.Name, spent)
			if last >= 0 {
				before := p.Dots[len(p.Dots)-1]
				p.Lines = append(p.Lines, segment{before.X, before.Y, d.X, d.Y, r.Class})
			}
			p.Dots = append(p.Dots, d)
			last = i
		}
		if last >= 0 {
			said = append(said, fmt.Sprintf("%s %s", r.Name, short(time.Duration(r.Values[last]*float64(time.Second)))))
		}
	}
	p.Says = "Nothing was answered yet."
	if len(said) > 0 {
		p.Says = fmt.Sprintf("Lines over %d weeks. In the last one with answers: %s.", len(starts), strings.Join(said, ", "))
	}
	return p
}

// countTicks returns where the lines of the grid are for counts up to top: whole numbers, 0 first, the last at or above top.
func countTicks(top float64) []float64 {
	step := 1.0
	for i := 0; step*4 < top; i++ {
		step *= []float64{2, 2.5, 2}[i%3]
		if step == 2.5 { // a count is whole
			step = 5
		}
	}
	return ticks(step, top)
}

// timeTicks does so for seconds, in steps that people count in.
func timeTicks(top float64) []float64 {
	step := 1.0
	for _, s := range []float64{5, 15, 30, 60, 300, 900, 1800, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 86400, 2 * 86400, 7 * 86400} {
		if step*4 >= top {
			break
		}
		step = s
	}
	for step*4 < top {
		step *= 2
	}
	return ticks(step, top)
}

func ticks(step, top float64) []float64 {
	n := max(1, int(math.Ceil(top/step)))
	out := make([]float64, n+1)
	for i := range out {
		out[i] = float64(i) * step
	}
	return out
}

// short writes a duration with its one or two largest units.
func short(d time.Duration) string {
	switch d = d.Round(100 * time.Millisecond); {
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + " s"
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Round(time.Second).Seconds()))
	case d < time.Hour:
		return two(int(d/time.Minute), "min", int(d%time.Minute/time.Second), "s", d < 10*time.Minute)
	case d < 48*time.Hour:
		return two(int(d/time.Hour), "h", int(d%time.Hour/time.Minute), "min", d < 10*time.Hour)
	default:
		return two(int(d/(24*time.Hour)), "d", int(d%(24*time.Hour)/time.Hour), "h", d < 10*24*time.Hour)
	}
}

func two(a int, unit string, b int, lesser string, both bool) string {
	if !both || b == 0 {
		return fmt.Sprintf("%d %s", a, unit)
	}
	return fmt.Sprintf("%d %s %d %s", a, unit, b, lesser)
}
