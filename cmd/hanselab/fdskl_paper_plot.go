package main

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/hanse-project/hanse/internal/lab/fdsklpaper"
)

// drawFDSKLPaper draws what was measured: fdskl-errors (figure 3), fdskl-shapes (4), fdskl-rows (5), fdskl-splits (6)
// and fdskl-bound.
func drawFDSKLPaper(folder string, r *fdsklPaperReport) error {
	if err := drawPanels(folder, "fdskl-errors", 3.2, r.Figure3, errorsPanel, fdsklpaper.NameOwn,
		fdsklpaper.NameConstant, fdsklpaper.NameDiminishing,
		fdsklpaper.NameFixed, fdsklpaper.NameLIBSVM, fdsklpaper.NamePPSVMV); err != nil {
		return err
	}
	if r.Figure4 != nil {
		if err := drawPanels(folder, "fdskl-shapes", 3, r.Figure4.Shapes, shapesPanel); err != nil {
			return err
		}
	}
	if err := drawPanels(folder, "fdskl-rows", 3.2, r.Figure5, rowsPanel, fdsklpaper.NameOwn, fdsklpaper.NameFixed,
		fdsklpaper.NamePPSVMV); err != nil {
		return err
	}
	if err := drawPanels(folder, "fdskl-splits", 2.6, r.Figure6, splitsPanel); err != nil {
		return err
	}
	if r.Bound == nil {
		return nil
	}
	return drawPanels(folder, "fdskl-bound", 3, r.Bound.All, boundPanel)
}

// drawPanels draws a panel of each figure, two or three in a row; without figures it draws nothing. When methods are
// given, a last panel names them.
func drawPanels[T any](
	folder, name string, height float64, figures []T, panel func(T) (*plot.Plot, error), methods ...string,
) error {
	if len(figures) == 0 {
		return nil
	}
	var all []*plot.Plot
	for _, f := range figures {
		p, err := panel(f)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, p)
	}
	if len(methods) > 0 {
		p, err := namesPanel(methods)
		if err != nil {
			return err
		}
		all = append(all, p)
	}
	wide := min(3, len(all))
	if len(all) == 4 {
		wide = 2
	}
	for len(all)%wide > 0 {
		empty := plot.New()
		empty.HideAxes()
		all = append(all, empty)
	}
	tiles := slices.Collect(slices.Chunk(all, wide))
	return save(folder, name, tiles, vg.Length(wide)*3.6*vg.Inch, vg.Length(float64(len(tiles))*height)*vg.Inch)
}

// namesPanel names the methods in their colours.
func namesPanel(methods []string) (*plot.Plot, error) {
	p := plot.New()
	p.HideAxes()
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 1
	for i, name := range methods {
		corner := vg.Point{X: vg.Points(40), Y: -vg.Points(40 + 15*float64(i))}
		if err := addText(p, 0, 1, name, methodColor(name), text.XLeft, corner); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// methodColor gives a method the same colour in all diagrams.
func methodColor(name string) color.Color {
	switch name {
	case fdsklpaper.NameOwn:
		return curveColor(1)
	case fdsklpaper.NameFixed:
		return curveColor(0)
	case fdsklpaper.NameLIBSVM:
		return curveColor(2)
	case fdsklpaper.NamePPSVMV:
		return color.RGBA{0x8a, 0x3b, 0x8f, 0xff}
	case fdsklpaper.NameConstant:
		return color.RGBA{0xb0, 0x9a, 0x6a, 0xff}
	case fdsklpaper.NameDiminishing:
		return color.Gray{0x80}
	}
	return ink()
}

// errorsPanel draws a set of Figure 3.
func errorsPanel(f *fdsklpaper.Figure3) (*plot.Plot, error) {
	p := newPlot(fmt.Sprintf("%s, %d rows", f.Set, f.Rows), "CPU seconds of all parties", "test error")
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, tens{}
	addGrid(p)
	least, most := math.Inf(1), 0.0
	for _, c := range f.Curves {
		var xy plotter.XYs
		for _, at := range c.Points {
			xy = append(xy, plotter.XY{X: max(at.CPUSeconds, 1e-3), Y: at.Error})
			least, most = min(least, at.Error), max(most, at.Error)
		}
		if err := addTrace(p, xy, methodColor(c.Method), 1.3); err != nil {
			return nil, err
		}
	}
	most = min(most, least+0.1) // the first iterations would flatten the rest
	p.Y.Min, p.Y.Max = least-0.05*(most-least), most
	p.X.Max *= 1.2
	return p, nil
}

// shapesPanel draws one way to link.
func shapesPanel(s fdsklpaper.Shape) (*plot.Plot, error) {
	p := newPlot(s.Name, "nodes", "seconds")
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	var sizes []float64
	for _, q := range s.Nodes {
		sizes = append(sizes, float64(q))
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = powers(sizes), tens{}
	addGrid(p)
	names := []string{"tree", "star", "ring"}
	least, most := math.Inf(1), 0.0
	for k, times := range [][]float64{s.Tree, s.Star, s.Ring} {
		var xy plotter.XYs
		for i, t := range times {
			xy = append(xy, plotter.XY{X: sizes[i], Y: t})
			least, most = min(least, t), max(most, t)
		}
		if err := addTrace(p, xy, curveColor(k), 1.5); err != nil {
			return nil, err
		}
	}
	p.X.Min, p.X.Max = sizes[0]/1.1, sizes[len(sizes)-1]*1.1
	p.Y.Min, p.Y.Max = least/1.5, most*1.5
	for i, name := range names { // where the curves are low
		corner := vg.Point{X: vg.Points(5), Y: -vg.Points(8 + 12*float64(i))}
		if err := addText(p, p.X.Min, p.Y.Max, name, curveColor(i), text.XLeft, corner); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// rowsPanel draws a set of Figure 5.
func rowsPanel(g *fdsklpaper.Growth) (*plot.Plot, error) {
	p := newPlot(g.Set+", CPU seconds", "training rows", "") // a logarithmic axis with a long label gets too much room
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = tens{}, tens{}
	addGrid(p)
	least, most := math.Inf(1), 0.0
	for _, c := range g.Curves {
		var xy plotter.XYs
		for _, at := range c.Points {
			xy = append(xy, plotter.XY{X: float64(at.Size), Y: max(at.CPUSeconds, 1e-3)})
			least, most = min(least, at.CPUSeconds), max(most, at.CPUSeconds)
		}
		if err := addTrace(p, xy, methodColor(c.Method), 1.5); err != nil {
			return nil, err
		}
	}
	p.X.Min, p.X.Max = p.X.Min/1.15, p.X.Max*1.15
	p.Y.Min, p.Y.Max = max(least, 1e-3)/1.4, most*1.4
	if g.Refused == "" {
		return p, nil
	}
	corner := vg.Point{X: -vg.Points(5), Y: vg.Points(8)}
	note := fmt.Sprintf("%d rows at most in %d MB", g.Most, g.Limit>>20)
	return p, addText(p, p.X.Max, p.Y.Min, note, methodColor(fdsklpaper.NamePPSVMV), text.XRight, corner)
}

// splitsPanel draws a set of Figure 6: each split a dot, the median a line.
func splitsPanel(f *fdsklpaper.Figure6) (*plot.Plot, error) {
	p := newPlot(f.Set, "test error", "")
	var names []plot.Tick
	for i, t := range slices.Backward(f.Trials) {
		if len(t.Errors) == 0 {
			continue
		}
		y := float64(len(names))
		names = append(names, plot.Tick{Value: y, Label: f.Trials[i].Method})
		var dots plotter.XYs
		for _, e := range t.Errors {
			dots = append(dots, plotter.XY{X: e, Y: y})
		}
		points, err := plotter.NewScatter(dots)
		if err != nil {
			return nil, err
		}
		points.GlyphStyle = draw.GlyphStyle{Color: methodColor(t.Method), Radius: vg.Points(2.4), Shape: draw.CircleGlyph{}}
		middle, err := plotter.NewLine(plotter.XYs{{X: median(t.Errors), Y: y - 0.3}, {X: median(t.Errors), Y: y + 0.3}})
		if err != nil {
			return nil, err
		}
		middle.Color, middle.Width = methodColor(t.Method), vg.Points(2)
		p.Add(points, middle)
	}
	p.Y.Tick.Marker, p.Y.Tick.Length, p.Y.LineStyle.Width = plot.ConstantTicks(names), 0, 0
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = faint(), nil
	p.Add(grid)
	p.Y.Min, p.Y.Max = -0.6, float64(len(names))-0.4
	margin := 0.04 * (p.X.Max - p.X.Min)
	p.X.Min, p.X.Max = p.X.Min-margin, p.X.Max+margin
	return p, nil
}

// boundPanel draws one setting of Theorem 4.
func boundPanel(r fdsklpaper.BoundRun) (*plot.Plot, error) {
	p := newPlot(fmt.Sprintf("mean (f_t - f*)^2, lambda %v, step %v", r.Lambda, r.Gamma), "iterations", "")
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = tens{}, tens{}
	addGrid(p)
	names := []string{"Theorem 4's bound", "measured", "f = 0"}
	var lines [3]plotter.XYs
	for _, at := range r.Points {
		for k, y := range []float64{at.Bound, at.Measured, r.Zero} {
			lines[k] = append(lines[k], plotter.XY{X: float64(at.Iterations), Y: y})
		}
	}
	colors := []color.Color{curveColor(1), curveColor(0), color.Gray{0x80}}
	least, most := math.Inf(1), 0.0
	for k, xy := range lines {
		for _, at := range xy {
			least, most = min(least, at.Y), max(most, at.Y)
		}
		if err := addTrace(p, xy, colors[k], 1.5); err != nil {
			return nil, err
		}
	}
	p.Y.Min, p.Y.Max = least/1.5, most*max(4, math.Pow(most/least, 0.4))
	for i, name := range names {
		corner := vg.Point{X: -vg.Points(5), Y: -vg.Points(8 + 12*float64(i))}
		if err := addText(p, p.X.Max, p.Y.Max, name, colors[i], text.XRight, corner); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// tens ticks a logarithmic axis like powers, but with powers of ten alone from one and a half decades on: panels are
// small.
type tens struct{}

// Ticks implements plot.Ticker.
func (tens) Ticks(lo, hi float64) []plot.Tick {
	ticks := powers(nil).Ticks(lo, hi)
	for i, t := range ticks {
		if t.Value >= 1e4 && t.Value < 1e6 {
			ticks[i].Label = fmt.Sprintf("%gk", t.Value/1000)
		}
	}
	if hi/lo < 30 {
		return ticks
	}
	return slices.DeleteFunc(ticks, func(t plot.Tick) bool {
		e := math.Log10(t.Value)
		return math.Abs(e-math.Round(e)) > 1e-9
	})
}

// addTrace adds a line with its points.
func addTrace(p *plot.Plot, xy plotter.XYs, c color.Color, width float64) error {
	line, dots, err := plotter.NewLinePoints(xy)
	if err != nil {
		return err
	}
	line.Color, line.Width = c, vg.Points(width)
	dots.GlyphStyle = draw.GlyphStyle{Color: c, Radius: vg.Points(2.2), Shape: draw.CircleGlyph{}}
	p.Add(line, dots)
	return nil
}
