package main

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// drawGrowth draws the panels, two in a row, with two logarithmic axes each.
func drawGrowth(folder string, panels []panel) error {
	var rows [][]*plot.Plot
	for i, p := range panels {
		diagram, err := growthPlot(p)
		if err != nil {
			return err
		}
		if i%2 == 0 {
			rows = append(rows, nil)
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], diagram)
	}
	return save(folder, "growth", rows, 9*vg.Inch, vg.Length(len(rows))*3.4*vg.Inch)
}

// growthPlot draws one panel.
func growthPlot(p panel) (*plot.Plot, error) {
	d := newPlot(p.Fixed, p.Size, "seconds")
	d.X.Scale, d.Y.Scale = plot.LogScale{}, plot.LogScale{}
	var sizes []float64
	for _, at := range p.Curves[0].Points {
		sizes = append(sizes, at.Size)
	}
	d.X.Tick.Marker, d.Y.Tick.Marker = powers(sizes), powers(nil)
	addGrid(d)
	for i, c := range p.Curves {
		if err := addCurve(d, c, i); err != nil {
			return nil, err
		}
	}
	lo, hi := secondsRange(p)
	d.X.Min, d.X.Max = sizes[0]/1.1, sizes[len(sizes)-1]*1.1
	d.Y.Min, d.Y.Max = lo/1.25, hi*1.25
	for i, c := range p.Curves {
		label := fmt.Sprintf("%s: exponent %.2f", c.Name, c.Exponent)
		corner := vg.Point{X: vg.Points(6), Y: -vg.Points(9 + 13*float64(i))}
		if err := addText(d, d.X.Min, d.Y.Max, label, curveColor(i), text.XLeft, corner); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// addCurve draws one curve with its points.
func addCurve(d *plot.Plot, c curve, i int) error {
	var xy plotter.XYs
	for _, at := range c.Points {
		xy = append(xy, plotter.XY{X: at.Size, Y: at.Seconds})
	}
	line, dots, err := plotter.NewLinePoints(xy)
	if err != nil {
		return err
	}
	line.Color, line.Width = curveColor(i), vg.Points(1.5)
	dots.GlyphStyle = draw.GlyphStyle{Color: curveColor(i), Radius: vg.Points(2.6), Shape: draw.CircleGlyph{}}
	d.Add(line, dots)
	return nil
}

// secondsRange returns the smallest and the largest time of a panel, at least a factor of ten apart
// so that noise does not look like growth, with room for the legend above.
func secondsRange(p panel) (lo, hi float64) {
	lo, hi = math.Inf(1), 0
	for _, c := range p.Curves {
		for _, at := range c.Points {
			lo, hi = min(lo, at.Seconds), max(hi, at.Seconds)
		}
	}
	hi *= 1 + 0.35*math.Log10(hi/lo)
	if hi/lo < 10 {
		middle := math.Sqrt(lo * hi)
		lo, hi = middle/math.Sqrt(10), middle*math.Sqrt(10)
	}
	return lo, hi
}
