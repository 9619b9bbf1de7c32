package main

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"

	"github.com/hanse-project/hanse/algorithms/pofmkl"
)

// drawPOFMKL draws four panels: errors and regrets by rounds, and both by the exploration rate.
func drawPOFMKL(folder string, r *pofmklReport) error {
	errors, err := pofmklErrorPlot(r)
	if err != nil {
		return err
	}
	regrets, err := pofmklRegretPlot(r)
	if err != nil {
		return err
	}
	panels := [][]*plot.Plot{{errors, regrets}}
	if len(r.Explored) > 0 {
		xi, err := explorePlots(r.Explored)
		if err != nil {
			return err
		}
		panels = append(panels, xi)
	}
	return save(folder, "pofmkl-"+r.Set, panels, 10*vg.Inch, vg.Length(len(panels))*4*vg.Inch)
}

// tint returns the colour of the i-th of many curves; they differ in brightness too.
func tint(i int) color.Color {
	colors := []color.Color{
		color.RGBA{0x1b, 0x4f, 0x8a, 0xff}, color.RGBA{0xd9, 0x7a, 0x0b, 0xff}, color.RGBA{0x5a, 0x9a, 0x5a, 0xff}, color.RGBA{0x8e, 0x3b, 0x6e, 0xff},
		color.RGBA{0x6d, 0xa7, 0xd6, 0xff}, color.RGBA{0xa8, 0x2c, 0x2c, 0xff}, color.RGBA{0x77, 0x77, 0x77, 0xff}, color.RGBA{0x3c, 0x9d, 0x9a, 0xff},
	}
	return colors[i%len(colors)]
}

// addSeries draws a line and names it in the legend.
func addSeries(d *plot.Plot, name string, xy plotter.XYs, c color.Color, dashed bool) error {
	line, err := plotter.NewLine(xy)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	line.Color, line.Width = c, vg.Points(1.4)
	if dashed {
		line.Dashes = []vg.Length{vg.Points(4), vg.Points(2.5)}
	}
	d.Add(line)
	d.Legend.Add(name, line)
	return nil
}

// styleLegend puts the legend in the house style.
func styleLegend(d *plot.Plot) {
	d.Legend.TextStyle.Font.Size, d.Legend.TextStyle.Font.Variant, d.Legend.TextStyle.Color = vg.Points(8), sans, ink()
	d.Legend.Top, d.Legend.ThumbnailWidth, d.Legend.Padding = true, vg.Points(18), vg.Points(1.5)
}

// series turns values by round into points.
func series(values []float64) plotter.XYs {
	var xy plotter.XYs
	for t, v := range values {
		xy = append(xy, plotter.XY{X: float64(t + 1), Y: v})
	}
	return xy
}

// pofmklErrorPlot draws the mean squared error of the rounds so far. Of POF-MKL there is M = 1 alone: the
// others' curves lie on it.
func pofmklErrorPlot(r *pofmklReport) (*plot.Plot, error) {
	d := newPlot(fmt.Sprintf("%s, %d clients, %d draws", r.Set, r.Clients, r.Draws), "rounds", "mean squared error so far, 1e-3")
	addGrid(d)
	styleLegend(d)
	d.Y.Scale, d.Y.Tick.Marker = plot.LogScale{}, powers(nil)
	low, high := math.Inf(1), 0.0
	for i, row := range r.Rows {
		if row.Algorithm == pofMKL && row.Chosen != 1 {
			continue
		}
		if err := addSeries(d, row.name(), series(row.errors), tint(i), row.Carried); err != nil {
			return nil, err
		}
		for _, e := range row.errors {
			low, high = min(low, e), max(high, e)
		}
	}
	d.Y.Min, d.Y.Max = low/1.2, high*2
	return d, nil
}

// pofmklRegretPlot draws the mean regret of a client against t, below Theorem 1's bound.
func pofmklRegretPlot(r *pofmklReport) (*plot.Plot, error) {
	d := newPlot("mean regret of a client", "rounds", "regret")
	addGrid(d)
	styleLegend(d)
	d.Legend.Top, d.Legend.YOffs = false, vg.Points(4)
	d.X.Scale, d.X.Tick.Marker, d.Y.Scale, d.Y.Tick.Marker = plot.LogScale{}, powers(nil), plot.LogScale{}, powers(nil)
	bound := make([]float64, r.Rounds)
	p := pofmkl.Params{Rounds: r.Rounds}.WithDefaults()
	for t := range bound {
		bound[t] = theoremOne(p, t+1)
	}
	low := bound[0]
	if err := addSeries(d, "Theorem 1's bound", series(bound), ink(), true); err != nil {
		return nil, err
	}
	if err := addLinear(d, r); err != nil {
		return nil, err
	}
	for i, row := range r.Rows {
		xy := positiveOnly(row.regrets)
		if len(xy) == 0 || row.Carried && row.Chosen != 1 {
			continue
		}
		if err := addSeries(d, row.name(), xy, tint(i), row.Carried); err != nil {
			return nil, err
		}
		low = min(low, xy[len(xy)-1].Y)
	}
	d.Y.Min, d.Y.Max = low/1e4, 1.5*bound[len(bound)-1] // the legend stands below the curves' ends
	return d, nil
}

// addLinear draws what would grow like t and end where POF-MKL's first row does: what bends below such
// a line's slope is sub-linear.
func addLinear(d *plot.Plot, r *pofmklReport) error {
	for _, row := range r.Rows {
		if row.Algorithm == pofMKL && row.regrets[r.Rounds-1] > 0 {
			slope := row.regrets[r.Rounds-1] / float64(r.Rounds)
			line := plotter.XYs{{X: 1, Y: slope}, {X: float64(r.Rounds), Y: slope * float64(r.Rounds)}}
			return addGuide(d, line, "like t")
		}
	}
	return nil
}

// addGuide draws a line to compare with, and names it at its start.
func addGuide(d *plot.Plot, xy plotter.XYs, name string) error {
	line, err := plotter.NewLine(xy)
	if err != nil {
		return err
	}
	line.Color, line.Width = faintLine(), vg.Points(1)
	d.Add(line)
	return addText(d, xy[0].X, xy[0].Y, name, ink(), text.XLeft, vg.Point{X: vg.Points(10), Y: vg.Points(14)})
}

// faintLine returns the colour of a line to compare with.
func faintLine() color.Color { return color.Gray{0xb8} }

// positiveOnly keeps the points that a logarithmic axis can show.
func positiveOnly(values []float64) plotter.XYs {
	var xy plotter.XYs
	for _, at := range series(values) {
		if at.Y > 1e-6 {
			xy = append(xy, at)
		}
	}
	return xy
}

// explorePlots draws error and regret against xi.
func explorePlots(rows []pofmklRow) ([]*plot.Plot, error) {
	errors := newPlot("exploration", "xi", "mean squared error, 1e-3")
	regrets := newPlot("exploration", "xi", "mean regret of a client")
	figures := []func(r pofmklRow) float64{
		func(r pofmklRow) float64 { return r.Mean },
		func(r pofmklRow) float64 { return r.Regret.Mean },
	}
	for i, d := range []*plot.Plot{errors, regrets} {
		addGrid(d)
		styleLegend(d)
		low, high := math.Inf(1), math.Inf(-1)
		curves := make(map[string]plotter.XYs)
		var names []string
		for _, r := range rows {
			name, y := fmt.Sprintf("M=%d D=%d", r.Chosen, r.Features), figures[i](r)
			if curves[name] == nil {
				names = append(names, name)
			}
			curves[name] = append(curves[name], plotter.XY{X: r.Explore, Y: y})
			low, high = min(low, y), max(high, y)
		}
		for n, name := range names {
			if err := addSeries(d, name, curves[name], curveColor(n), false); err != nil {
				return nil, err
			}
		}
		middle := (low + high) / 2
		room := max(high-low, 0.3*math.Abs(middle)) // so that noise does not look like a trend
		d.X.Min, d.X.Max, d.Y.Min, d.Y.Max = 0, 1.02, middle-0.7*room, middle+0.9*room
	}
	return []*plot.Plot{errors, regrets}, nil
}
