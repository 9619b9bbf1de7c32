package report

import (
	"fmt"
	"html/template"
	"math"

	"github.com/hanse-project/hanse/audit"
)

// maxBins is how many bars a histogram shows; neighbours are added up when there are more.
const maxBins = 128

// histogram draws counts in equal bins against the count that a uniform distribution puts in each.
func histogram(id string, p *audit.Plot) template.HTML {
	counts, expect := binned(p)
	lo, hi := limits(p)
	const left, right, top, bottom = 78, 422, 12, 222
	x := axis{lo, hi, left, right}
	y := axis{0, tallest(counts, expect) * 1.12, bottom, top}
	d := newDrawing(id, named(p.Title, "Histogram"), fmt.Sprintf("%s. Across: %s. Up: %s. A line marks the count that uniform noise puts in every bar.",
		plural(len(counts), "bar", "bars"), named(p.X, "value"), named(p.Y, "count")), figureWidth, 272)
	wide := (right - left) / float64(max(len(counts), 1))
	for i, n := range counts {
		height := bottom - y.at(n)
		d.rect("bar", left+float64(i)*wide+0.15*wide, bottom-height, 0.7*wide, height)
	}
	d.line("rule", left, bottom, right, bottom)
	if expect > 0 {
		d.line("expect", left, y.at(expect), right, y.at(expect))
	}
	d.across(x, bottom, named(p.X, "value"), number)
	d.up(y, left, named(p.Y, "count"), whole)
	return d.markup()
}

// binned returns the counts to draw, and what a uniform distribution puts in each.
func binned(p *audit.Plot) ([]float64, float64) {
	group := max((len(p.Counts)+maxBins-1)/maxBins, 1)
	out := make([]float64, (len(p.Counts)+group-1)/group)
	for i, n := range p.Counts {
		out[i/group] += max(float64(n), 0)
	}
	expect := p.Expect * float64(group)
	if !finite(expect) || expect < 0 {
		expect = 0
	}
	return out, min(expect, 1e18)
}

// limits returns the ends of the bins.
func limits(p *audit.Plot) (float64, float64) {
	if !(math.Abs(p.Lo) <= maxDrawn) || !(math.Abs(p.Hi) <= maxDrawn) {
		return 0, 1
	}
	return spread(min(p.Lo, p.Hi), max(p.Lo, p.Hi))
}

// tallest returns the largest of the counts and the expected one, at least 1.
func tallest(counts []float64, expect float64) float64 {
	most := max(expect, 1)
	for _, n := range counts {
		most = max(most, n)
	}
	return most
}

// whole writes a count on an axis: short, as "250 k", when it is large.
func whole(v float64) string {
	switch {
	case v >= 1e9:
		return number(v)
	case v >= 1e6:
		return number(v/1e6) + " m"
	case v >= 1e4:
		return number(v/1e3) + " k"
	case v < 10:
		return number(v)
	}
	return count(int64(v))
}
