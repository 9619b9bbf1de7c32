package main

import (
	"fmt"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// drawSets draws the training times of all sets, one line for each set, on a logarithmic axis.
func drawSets(folder string, sets []setReport) error {
	d := newPlot("", "training seconds", "")
	d.X.Scale, d.X.Tick.Marker = plot.LogScale{}, powers(nil)
	var names []plot.Tick
	var sides [3]plotter.XYs // in the clear, Hanse, svm-train
	for i, s := range sets {
		y := float64(len(sets) - i)
		names = append(names, plot.Tick{Value: y, Label: s.Set})
		sides[0] = append(sides[0], plotter.XY{X: s.ClearSeconds, Y: y})
		sides[1] = append(sides[1], plotter.XY{X: s.Seconds, Y: y})
		if s.SVM != nil {
			sides[2] = append(sides[2], plotter.XY{X: s.SVM.Seconds, Y: y})
		}
	}
	d.Y.Tick.Marker, d.Y.Tick.Length, d.Y.LineStyle.Width = plot.ConstantTicks(names), 0, 0
	addGrid(d)
	if err := addSides(d, sides); err != nil {
		return err
	}
	d.X.Min, d.X.Max = d.X.Min/1.5, d.X.Max*1.5
	d.Y.Min, d.Y.Max = 0.4, float64(len(sets))+0.9
	return save(folder, "fdskl", [][]*plot.Plot{{d}}, 7*vg.Inch, vg.Length(len(sets)+2)*0.42*vg.Inch)
}

// addSides draws the points, and names them above the first set.
func addSides(d *plot.Plot, sides [3]plotter.XYs) error {
	titles := []string{"in the clear", "Hanse, 4 parties", "svm-train"}
	shapes := []draw.GlyphDrawer{draw.RingGlyph{}, draw.CircleGlyph{}, draw.PyramidGlyph{}}
	order := []int{2, 0, 1} // colours: Hanse stands out
	align := []text.XAlignment{text.XRight, text.XLeft, text.XCenter}
	shift := []vg.Length{vg.Points(5), -vg.Points(5), 0} // the names of two points close together part
	for i, xy := range sides {
		if len(xy) == 0 {
			continue
		}
		dots, err := plotter.NewScatter(xy)
		if err != nil {
			return err
		}
		dots.GlyphStyle = draw.GlyphStyle{Color: curveColor(order[i]), Radius: vg.Points(4), Shape: shapes[i]}
		d.Add(dots)
		if err := addText(d, xy[0].X, xy[0].Y, titles[i], curveColor(order[i]), align[i], vg.Point{X: shift[i], Y: vg.Points(13)}); err != nil {
			return fmt.Errorf("%s: %w", titles[i], err)
		}
	}
	return nil
}
