package fdskl

import (
	"fmt"
	"image/color"
	"math"

	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/lab/plot"
)

// Draw draws what was measured: fdskl-errors (figure 3), fdskl-shapes (4), fdskl-rows (5), fdskl-splits (6) and
// fdskl-bound.
func (r *PaperReport) Draw(folder string) error {
	errors := append(lab.Each(r.Figure3, errorsPanel),
		namesPanel(NameOwn, NameConstant, NameDiminishing, NameFixed, NameLIBSVM, NamePPSVMV))
	rows := append(lab.Each(r.Figure5, rowsPanel), namesPanel(NameOwn, NameFixed, NamePPSVMV))
	var shapes, bounds []*plot.Panel
	if r.Figure4 != nil {
		shapes = lab.Each(r.Figure4.Shapes, shapesPanel)
	}
	if r.Bound != nil {
		bounds = lab.Each(r.Bound.All, boundPanel)
	}
	for _, f := range []struct {
		name   string
		height float64
		of     int // figures
		panels []*plot.Panel
	}{
		{"fdskl-errors", 3.2, len(r.Figure3), errors}, {"fdskl-shapes", 3, len(shapes), shapes},
		{"fdskl-rows", 3.2, len(r.Figure5), rows}, {"fdskl-splits", 2.6, len(r.Figure6), lab.Each(r.Figure6,
			splitsPanel)},
		{"fdskl-bound", 3, len(bounds), bounds},
	} {
		if f.of == 0 {
			continue
		}
		wide := min(3, len(f.panels))
		if len(f.panels) == 4 {
			wide = 2
		}
		tiles := plot.Rows(f.panels, wide)
		if err := plot.Save(folder, f.name, tiles, 3.6*float64(wide), f.height*float64(len(tiles))); err != nil {
			return err
		}
	}
	return nil
}

// namesPanel names methods in their colours.
func namesPanel(methods ...string) *plot.Panel {
	p := plot.Blank()
	for i, name := range methods {
		p.Text(plot.Point{X: 0, Y: 1}, name, methodColor(name), plot.Left, 40, -40-15*float64(i))
	}
	return p
}

// methodColor gives a method the same colour in all diagrams.
func methodColor(name string) color.Color {
	switch name {
	case NameOwn:
		return plot.Color(1)
	case NameFixed:
		return plot.Color(0)
	case NameLIBSVM:
		return plot.Color(2)
	case NamePPSVMV:
		return color.RGBA{0x8a, 0x3b, 0x8f, 0xff}
	case NameConstant:
		return color.RGBA{0xb0, 0x9a, 0x6a, 0xff}
	case NameDiminishing:
		return color.Gray{0x80}
	}
	return plot.Ink()
}

// errorsPanel draws a set of Figure 3.
func errorsPanel(f *Figure3) *plot.Panel {
	p := plot.New(fmt.Sprintf("%s, %d rows", f.Set, f.Rows), "CPU seconds of all parties", "test error")
	p.LogX(plot.Tens{})
	least, most := math.Inf(1), 0.0
	for _, c := range f.Curves {
		var xy plot.Points
		for _, at := range c.Points {
			xy = append(xy, plot.Point{X: max(at.CPUSeconds, 1e-3), Y: at.Error})
			least, most = min(least, at.Error), max(most, at.Error)
		}
		p.Line("", xy, plot.Style{Color: methodColor(c.Method), Width: 1.3, Dots: 2.2})
	}
	most = min(most, least+0.1) // the first iterations would flatten the rest
	p.Y.Min, p.Y.Max = least-0.05*(most-least), most
	p.X.Max *= 1.2
	return p
}

// shapesPanel draws one way to link.
func shapesPanel(s Shape) *plot.Panel {
	p := plot.New(s.Name, "nodes", "seconds")
	sizes := lab.Each(s.Nodes, func(q int) float64 { return float64(q) })
	p.LogX(plot.Powers(sizes))
	p.LogY(plot.Tens{})
	least, most := math.Inf(1), 0.0
	for k, times := range [][]float64{s.Tree, s.Star, s.Ring} {
		var xy plot.Points
		for i, t := range times {
			xy = append(xy, plot.Point{X: sizes[i], Y: t})
			least, most = min(least, t), max(most, t)
		}
		p.Line("", xy, plot.Style{Color: plot.Color(k), Width: 1.5, Dots: 2.2})
	}
	p.X.Min, p.X.Max = sizes[0]/1.1, sizes[len(sizes)-1]*1.1
	p.Y.Min, p.Y.Max = least/1.5, most*1.5
	for i, name := range []string{"tree", "star", "ring"} { // where the curves are low
		p.Text(plot.Point{X: p.X.Min, Y: p.Y.Max}, name, plot.Color(i), plot.Left, 5, -8-12*float64(i))
	}
	return p
}

// rowsPanel draws a set of Figure 5.
func rowsPanel(g *Growth) *plot.Panel {
	p := plot.New(g.Set+", CPU seconds", "training rows",
		"") // a logarithmic axis with a long label gets too much room
	p.LogX(plot.Tens{})
	p.LogY(plot.Tens{})
	least, most := math.Inf(1), 0.0
	for _, c := range g.Curves {
		var xy plot.Points
		for _, at := range c.Points {
			xy = append(xy, plot.Point{X: float64(at.Size), Y: max(at.CPUSeconds, 1e-3)})
			least, most = min(least, at.CPUSeconds), max(most, at.CPUSeconds)
		}
		p.Line("", xy, plot.Style{Color: methodColor(c.Method), Width: 1.5, Dots: 2.2})
	}
	p.X.Min, p.X.Max = p.X.Min/1.15, p.X.Max*1.15
	p.Y.Min, p.Y.Max = max(least, 1e-3)/1.4, most*1.4
	if g.Refused != "" {
		note := fmt.Sprintf("%d rows at most in %d MB", g.Most, g.Limit>>20)
		p.Text(plot.Point{X: p.X.Max, Y: p.Y.Min}, note, methodColor(NamePPSVMV), plot.Right, -5, 8)
	}
	return p
}

// splitsPanel draws a set of Figure 6: each split a dot, the median a line; the last method at the bottom.
func splitsPanel(f *Figure6) *plot.Panel {
	p := plot.New(f.Set, "test error", "")
	var names []string
	for i := len(f.Trials) - 1; i >= 0; i-- {
		t := f.Trials[i]
		if len(t.Errors) == 0 {
			continue
		}
		y := float64(len(names))
		names = append(names, t.Method)
		dots := lab.Each(t.Errors, func(e float64) plot.Point { return plot.Point{X: e, Y: y} })
		p.Dots(dots, plot.Circle, methodColor(t.Method), 2.4)
		middle := plot.Points{{X: lab.Median(t.Errors), Y: y - 0.3}, {X: lab.Median(t.Errors), Y: y + 0.3}}
		p.Line("", middle, plot.Style{Color: methodColor(t.Method), Width: 2})
	}
	p.NameRows(names...)
	p.Y.Min, p.Y.Max = -0.6, float64(len(names))-0.4
	margin := 0.04 * (p.X.Max - p.X.Min)
	p.X.Min, p.X.Max = p.X.Min-margin, p.X.Max+margin
	return p
}

// boundPanel draws one setting of Theorem 4.
func boundPanel(r BoundRun) *plot.Panel {
	p := plot.New(fmt.Sprintf("mean (f_t - f*)^2, lambda %v, step %v", r.Lambda, r.Gamma), "iterations", "")
	p.LogX(plot.Tens{})
	p.LogY(plot.Tens{})
	lines := []struct {
		name   string
		color  color.Color
		figure func(at BoundPoint) float64
	}{
		{"Theorem 4's bound", plot.Color(1), func(at BoundPoint) float64 { return at.Bound }},
		{"measured", plot.Color(0), func(at BoundPoint) float64 { return at.Measured }},
		{"f = 0", color.Gray{0x80}, func(BoundPoint) float64 { return r.Zero }},
	}
	least, most := math.Inf(1), 0.0
	for _, l := range lines {
		var xy plot.Points
		for _, at := range r.Points {
			xy = append(xy, plot.Point{X: float64(at.Iterations), Y: l.figure(at)})
			least, most = min(least, l.figure(at)), max(most, l.figure(at))
		}
		p.Line("", xy, plot.Style{Color: l.color, Width: 1.5, Dots: 2.2})
	}
	p.Y.Min, p.Y.Max = least/1.5, most*max(4, math.Pow(most/least, 0.4))
	for i, l := range lines {
		p.Text(plot.Point{X: p.X.Max, Y: p.Y.Max}, l.name, l.color, plot.Right, -5, -8-12*float64(i))
	}
	return p
}
