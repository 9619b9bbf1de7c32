package fdskl

import (
	"fmt"
	"math"

	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/lab/plot"
)

// Draw draws the panels, two in a row, with two logarithmic axes each.
func (r *GrowthReport) Draw(folder string) error {
	tiles := plot.Rows(lab.Each(r.Panels, panel.draw), 2)
	return plot.Save(folder, "growth", tiles, 9, 3.4*float64(len(tiles)))
}

// draw draws one panel. Its times are at least a factor of ten apart so that noise does not look like growth, with
// room for the names of the curves above.
func (p panel) draw() *plot.Panel {
	d := plot.New(p.Fixed, p.Size, "seconds")
	sizes := lab.Each(p.Curves[0].Points, func(at point) float64 { return at.Size })
	d.LogX(plot.Powers(sizes))
	d.LogY(plot.Powers(nil))
	lo, hi := math.Inf(1), 0.0
	for i, c := range p.Curves {
		var xy plot.Points
		for _, at := range c.Points {
			xy = append(xy, plot.Point{X: at.Size, Y: at.Seconds})
			lo, hi = min(lo, at.Seconds), max(hi, at.Seconds)
		}
		d.Line("", xy, plot.Style{Color: plot.Color(i), Width: 1.5, Dots: 2.6})
	}
	hi *= 1 + 0.35*math.Log10(hi/lo)
	if hi/lo < 10 {
		middle := math.Sqrt(lo * hi)
		lo, hi = middle/math.Sqrt(10), middle*math.Sqrt(10)
	}
	d.X.Min, d.X.Max = sizes[0]/1.1, sizes[len(sizes)-1]*1.1
	d.Y.Min, d.Y.Max = lo/1.25, hi*1.25
	for i, c := range p.Curves {
		label := fmt.Sprintf("%s: exponent %.2f", c.Name, c.Exponent)
		d.Text(plot.Point{X: d.X.Min, Y: d.Y.Max}, label, plot.Color(i), plot.Left, 6, -9-13*float64(i))
	}
	return d
}
