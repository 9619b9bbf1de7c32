package report

import (
	"fmt"
	"html/template"
	"math"
	"slices"

	"github.com/hanse-project/hanse/audit"
)

// maxDots is how many points a plot shows.
const maxDots = 1000

// maxDrawn is the largest value that is drawn; what is larger is no value of a table.
const maxDrawn = 1e9

// figureWidth is the width of every drawing in pixels.
const figureWidth = 430

// scatter draws true against rebuilt values on equal scales, with the diagonal on which both are the
// same; it returns how many points lie outside.
func scatter(id string, p *audit.Plot) (template.HTML, int) {
	points := drawable(p.Points)
	lo, hi := square(points)
	const left, right, top, bottom = 62, 422, 10, 370
	x := axis{lo, hi, left, right}
	y := axis{lo, hi, bottom, top}
	d := newDrawing(id, named(p.Title, "True and rebuilt values"),
		fmt.Sprintf("%s. Across: %s. Up: %s. The diagonal marks values that were rebuilt exactly.",
			plural(len(points), "dot", "dots"), named(p.X, "true value"), named(p.Y, "rebuilt value")), figureWidth, 420)
	d.rect("frame", left, top, right-left, bottom-top)
	d.line("diagonal", left, bottom, right, top)
	d.across(x, bottom, named(p.X, "true value"), number)
	d.up(y, left, named(p.Y, "rebuilt value"), number)
	outside := len(p.Points) - len(points)
	for _, q := range thin(points) {
		d.dot("dot", x.at(q[0]), y.at(q[1]))
	}
	for _, q := range points {
		if outOf(lo, hi, q) {
			outside++
		}
	}
	return d.markup(), outside
}

// drawable drops points that are no numbers or absurdly large.
func drawable(points [][2]float64) [][2]float64 {
	var out [][2]float64
	for _, q := range points {
		if math.Abs(q[0]) <= maxDrawn && math.Abs(q[1]) <= maxDrawn {
			out = append(out, q)
		}
	}
	return out
}

// thin takes every k-th of too many points.
func thin(points [][2]float64) [][2]float64 {
	step := (len(points) + maxDots - 1) / maxDots
	if step < 2 {
		return points
	}
	var out [][2]float64
	for i := 0; i < len(points); i += step {
		out = append(out, points[i])
	}
	return out
}

// square returns the range of both axes: all true values, and rebuilt values as far as three times
// their spread.
func square(points [][2]float64) (float64, float64) {
	if len(points) == 0 {
		return -1, 1
	}
	var truth, rebuilt []float64
	for _, q := range points {
		truth, rebuilt = append(truth, q[0]), append(rebuilt, q[1])
	}
	lo, hi := spread(slices.Min(truth), slices.Max(truth))
	room := hi - lo
	lo, hi = min(lo, max(slices.Min(rebuilt), lo-room)), max(hi, min(slices.Max(rebuilt), hi+room))
	margin := (hi - lo) * 0.04
	return lo - margin, hi + margin
}

// outOf tells whether a point lies outside the drawing.
func outOf(lo, hi float64, q [2]float64) bool {
	return min(q[0], q[1]) < lo || max(q[0], q[1]) > hi
}

// across draws ticks and label of a horizontal axis at a height.
func (d *drawing) across(x axis, height float64, label string, write func(float64) string) {
	for _, v := range x.ticks() {
		d.line("tick", x.at(v), height, x.at(v), height+5)
		d.text("mark", "middle", x.at(v), height+19, write(v))
	}
	d.text("name", "middle", (x.a+x.b)/2, height+40, clip(label, 56))
}

// up draws ticks and label of a vertical axis at a distance from the left.
func (d *drawing) up(y axis, left float64, label string, write func(float64) string) {
	for _, v := range y.ticks() {
		d.line("tick", left-5, y.at(v), left, y.at(v))
		d.text("mark", "end", left-9, y.at(v)+4, write(v))
	}
	if label != "" {
		d.upright("name", 14, (y.a+y.b)/2, clip(label, 48))
	}
}
