package pofmkl

import (
	"fmt"
	"math"

	"github.com/hanse-project/hanse/lab/plot"
)

// Draw draws regrets as they are on the left, and below their bounds on the right.
func (r *RegretReport) Draw(folder string) error {
	title := fmt.Sprintf("%s, %d clients, M = %d, D = %d", r.Set, r.Clients, r.Chosen, r.Features)
	plain := plot.New(title, "rounds", "sum over clients")
	bounded := plot.New("the same, and their bounds", "rounds", "sum over clients")
	bounded.LogX(plot.Powers(nil))
	bounded.LogY(plot.Powers(nil))
	plain.Legend(plot.Place{Left: true, Right: 6})
	bounded.Legend(plot.Place{Left: true, Right: 6})
	type line struct {
		name   string
		figure func(regretPoint) float64
		dashes plot.Dashes // dashed: a bound
	}
	lines := []line{{"whole loss", func(at regretPoint) float64 { return at.Loss }, plot.Solid}}
	for n, norm := range r.Norms {
		lines = append(lines, line{fmt.Sprintf("equation 12, C = %g", norm),
			func(at regretPoint) float64 { return at.Loss - at.Best[n] }, plot.Solid})
	}
	largest, end := len(r.Norms)-1, r.Points[len(r.Points)-1]
	lines = append(lines,
		line{"equation 11, all clients", func(at regretPoint) float64 { return at.Clients }, plot.Solid},
		line{fmt.Sprintf("Theorem 2, C = %g", r.Norms[largest]),
			func(at regretPoint) float64 { return at.Bounds[largest] }, plot.Dashed},
		line{"Theorem 1, all clients", func(at regretPoint) float64 { return at.TheoremOne }, plot.Dashed})
	low, high := 0.0, 0.0
	for i, l := range lines {
		style := plot.Style{Color: plot.Tint(i), Dashes: l.dashes}
		if l.dashes == plot.Solid {
			all := r.line(l.figure, math.Inf(-1))
			for _, at := range all {
				low, high = min(low, at.Y), max(high, at.Y)
			}
			plain.Line(l.name, all, style)
		}
		if xy := r.line(l.figure, end.Loss/1000); len(xy) > 1 {
			bounded.Line(l.name, xy, style)
		}
	}
	plain.Y.Min, plain.Y.Max = max(low, -high), 1.7*high
	bounded.Y.Min, bounded.Y.Max = high/1000, 1000*end.Bounds[largest]
	return plot.Save(folder, "pofmkl-regret-"+r.Set, [][]*plot.Panel{{plain, bounded}}, 10, 4.2)
}

// line turns one figure of all points into a line, of those above a floor.
func (r *RegretReport) line(figure func(regretPoint) float64, floor float64) plot.Points {
	var xy plot.Points
	for _, at := range r.Points {
		if y := figure(at); y > floor {
			xy = append(xy, plot.Point{X: float64(at.Round), Y: y})
		}
	}
	return xy
}
