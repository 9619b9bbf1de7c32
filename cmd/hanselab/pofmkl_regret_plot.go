package main

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// drawPOFMKLRegret draws regrets as they are on the left, and below their bounds on the right.
func drawPOFMKLRegret(folder string, r *pofmklRegretReport) error {
	plain := newPlot(fmt.Sprintf("%s, %d clients, M = %d, D = %d", r.Set, r.Clients, r.Chosen, r.Features), "rounds",
		"sum over clients")
	bounded := newPlot("the same, and their bounds", "rounds", "sum over clients")
	bounded.X.Scale, bounded.X.Tick.Marker = plot.LogScale{}, powers(nil)
	bounded.Y.Scale, bounded.Y.Tick.Marker = plot.LogScale{}, powers(nil)
	for _, d := range []*plot.Plot{plain, bounded} {
		addGrid(d)
		styleLegend(d)
		d.Legend.Left, d.Legend.XOffs = true, vg.Points(6)
	}
	type line struct {
		name   string
		figure func(regretPoint) float64
		bound  bool
	}
	lines := []line{{"whole loss", func(at regretPoint) float64 { return at.Loss }, false}}
	for n, norm := range r.Norms {
		lines = append(lines, line{fmt.Sprintf("equation 12, C = %g", norm),
			func(at regretPoint) float64 { return at.Loss - at.Best[n] }, false})
	}
	lines = append(lines, line{"equation 11, all clients", func(at regretPoint) float64 { return at.Clients }, false})
	largest := len(r.Norms) - 1
	lines = append(lines,
		line{fmt.Sprintf("Theorem 2, C = %g", r.Norms[largest]),
			func(at regretPoint) float64 { return at.Bounds[largest] }, true},
		line{"Theorem 1, all clients", func(at regretPoint) float64 { return at.TheoremOne }, true})
	low, high := 0.0, 0.0
	for i, l := range lines {
		if !l.bound {
			all := r.line(l.figure, math.Inf(-1))
			for _, at := range all {
				low, high = min(low, at.Y), max(high, at.Y)
			}
			if err := addSeries(plain, l.name, all, tint(i), false); err != nil {
				return err
			}
		}
		if xy := r.line(l.figure, r.Points[len(r.Points)-1].Loss/1000); len(xy) > 1 {
			if err := addSeries(bounded, l.name, xy, tint(i), l.bound); err != nil {
				return err
			}
		}
	}
	top := r.Points[len(r.Points)-1].Bounds[largest]
	plain.Y.Min, plain.Y.Max, bounded.Y.Min, bounded.Y.Max = max(low, -high), 1.7*high, high/1000, 1000*top
	return save(folder, "pofmkl-regret-"+r.Set, [][]*plot.Plot{{plain, bounded}}, 10*vg.Inch, 4.2*vg.Inch)
}

// line turns one figure of all points into a line, of those above a floor.
func (r *pofmklRegretReport) line(figure func(regretPoint) float64, floor float64) plotter.XYs {
	var xy plotter.XYs
	for _, at := range r.Points {
		if y := figure(at); y > floor {
			xy = append(xy, plotter.XY{X: float64(at.Round), Y: y})
		}
	}
	return xy
}
