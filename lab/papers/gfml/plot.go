package gfml

import (
	"fmt"
	"image/color"

	"github.com/hanse-project/hanse/lab/plot"
)

// lowest is the least error that the diagram shows, in dB; the noise of the test rows is about -17.6, and no curve
// comes near.
const lowest = -13

// Draw draws the learning curves as Figure 2 does: coordinated left, uncoordinated right, O-GFML in both.
func (r *Report) Draw(folder string) error {
	var row []*plot.Panel
	for i, title := range []string{"coordinated", "uncoordinated"} {
		of := append([]Curve{r.Curves[caseWhole]}, r.Curves[1+3*i:4+3*i]...)
		row = append(row, diagram(title+": "+lagNote(of), of))
	}
	return plot.Save(folder, "gfml", [][]*plot.Panel{row}, 9, 3.8)
}

// lagNote says how far M = 40, the second curve, is behind O-GFML, the first.
func lagNote(curves []Curve) string {
	c := compare(curves[1], curves[0])
	first, last := 0, len(c.moments)-1
	if first < last {
		return fmt.Sprintf("M = 40 is %.1f dB behind at %s, %.1f at the %s", c.behind[first][0], c.moments[first],
			c.behind[last][0], c.moments[last])
	}
	return fmt.Sprintf("M = 40 is %.1f dB behind at the %s", c.behind[last][0], c.moments[last])
}

// diagram draws one half: the means over all bands of one deviation to either side. O-GFML is the darkest.
func diagram(title string, curves []Curve) *plot.Panel {
	p := plot.New(title, "iteration", "test error, dB")
	p.Y.Tick.Marker = plot.EveryTwo{}
	colorOf := func(i int) color.Color {
		if i == 0 {
			return plot.Ink()
		}
		return plot.Color(i - 1)
	}
	along := func(points []Point, figure func(Point) float64) (xy plot.Points) {
		for _, at := range points {
			xy = append(xy, plot.Point{X: float64(at.N), Y: min(max(figure(at), lowest), 2)})
		}
		return xy
	}
	for i, c := range curves {
		p.Band(along(c.Points, func(at Point) float64 { return at.High }),
			along(c.Points, func(at Point) float64 { return at.Low }), colorOf(i), 0x38)
	}
	for i, c := range curves {
		p.Line("", along(c.Points, func(at Point) float64 { return at.DB }), plot.Style{Color: colorOf(i),
			Width: 1.3})
	}
	last := curves[0].Points[len(curves[0].Points)-1]
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, float64(last.N), lowest, 2
	for i, c := range curves {
		p.Text(plot.Point{X: p.X.Max, Y: p.Y.Max}, c.Name, colorOf(i), plot.Right, -6, -10-13*float64(i))
	}
	return p
}
