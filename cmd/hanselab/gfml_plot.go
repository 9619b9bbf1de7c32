package main

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// gfmlRange is the least error that the diagram shows, in dB; the noise of the test rows is about
// -17.6, and no curve comes near.
const gfmlRange = -13

// drawGFML draws the learning curves as Figure 2 does: coordinated left, uncoordinated right, O-GFML in
// both.
func drawGFML(folder string, curves []gfmlCurve) error {
	var row []*plot.Plot
	for i, title := range []string{"coordinated", "uncoordinated"} {
		of := append([]gfmlCurve{curves[caseWhole]}, curves[1+3*i:4+3*i]...)
		p, err := gfmlDiagram(title+": "+lagNote(of), of)
		if err != nil {
			return err
		}
		row = append(row, p)
	}
	return save(folder, "gfml", [][]*plot.Plot{row}, 9*vg.Inch, 3.8*vg.Inch)
}

// lagNote says how far M = 40, the second curve, is behind O-GFML, the first.
func lagNote(curves []gfmlCurve) string {
	c := compare(curves[1], curves[0])
	first, last := 0, len(c.moments)-1
	note := fmt.Sprintf("M = 40 is %.1f dB behind at the %s", c.behind[last][0], c.moments[last])
	if first < last {
		note = fmt.Sprintf("M = 40 is %.1f dB behind at %s, %.1f at the %s", c.behind[first][0], c.moments[first], c.behind[last][0], c.moments[last])
	}
	return note
}

// gfmlDiagram draws one half.
func gfmlDiagram(title string, curves []gfmlCurve) (*plot.Plot, error) {
	p := newPlot(title, "iteration", "test error, dB")
	p.Y.Tick.Marker = everyTwo{}
	addGrid(p)
	for i, c := range curves {
		if err := addBand(p, c.Points, gfmlColor(i)); err != nil {
			return nil, err
		}
	}
	for i, c := range curves {
		if err := addMean(p, c.Points, gfmlColor(i)); err != nil {
			return nil, err
		}
	}
	last := curves[0].Points[len(curves[0].Points)-1]
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, float64(last.N), gfmlRange, 2
	for i, c := range curves {
		corner := vg.Point{X: -vg.Points(6), Y: -vg.Points(10 + 13*float64(i))}
		if err := addText(p, p.X.Max, p.Y.Max, c.Name, gfmlColor(i), text.XRight, corner); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// gfmlColor returns the colour of the i-th curve: O-GFML is the darkest.
func gfmlColor(i int) color.Color {
	if i == 0 {
		return ink()
	}
	return curveColor(i - 1)
}

// addBand fills one deviation to either side of a curve.
func addBand(p *plot.Plot, points []gfmlPoint, c color.Color) error {
	var outline plotter.XYs
	for _, at := range points {
		outline = append(outline, plotter.XY{X: float64(at.N), Y: clampDB(at.High)})
	}
	for i := len(points) - 1; i >= 0; i-- {
		outline = append(outline, plotter.XY{X: float64(points[i].N), Y: clampDB(points[i].Low)})
	}
	band, err := plotter.NewPolygon(outline)
	if err != nil {
		return err
	}
	r, g, b, _ := c.RGBA()
	band.Color, band.LineStyle.Width = color.NRGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), 0x38}, 0
	p.Add(band)
	return nil
}

// addMean draws the mean of a curve.
func addMean(p *plot.Plot, points []gfmlPoint, c color.Color) error {
	var xy plotter.XYs
	for _, at := range points {
		xy = append(xy, plotter.XY{X: float64(at.N), Y: clampDB(at.DB)})
	}
	line, err := plotter.NewLine(xy)
	if err != nil {
		return err
	}
	line.Color, line.Width = c, vg.Points(1.3)
	p.Add(line)
	return nil
}

// clampDB keeps a value inside the diagram.
func clampDB(v float64) float64 { return math.Min(math.Max(v, gfmlRange), 2) }

// everyTwo ticks an axis at even numbers.
type everyTwo struct{}

// Ticks implements plot.Ticker.
func (everyTwo) Ticks(lo, hi float64) []plot.Tick {
	var ticks []plot.Tick
	for v := 2 * math.Ceil(lo/2); v <= hi; v += 2 {
		ticks = append(ticks, plot.Tick{Value: v, Label: fmt.Sprint(v)})
	}
	return ticks
}
