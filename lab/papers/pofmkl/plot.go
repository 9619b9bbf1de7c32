package pofmkl

import (
	"fmt"
	"image/color"
	"math"

	"github.com/hanse-project/hanse/algorithms/pofmkl"
	"github.com/hanse-project/hanse/lab/plot"
)

// Draw draws four panels: errors and regrets by rounds, and both by the exploration rate.
func (r *Report) Draw(folder string) error {
	panels := [][]*plot.Panel{{r.drawErrors(), r.drawRegrets()}}
	if len(r.Explored) > 0 {
		panels = append(panels, []*plot.Panel{
			drawExplored(r.Explored, "mean squared error, 1e-3", func(r Row) float64 { return r.Mean }),
			drawExplored(r.Explored, "mean regret of a client", func(r Row) float64 { return r.Regret.Mean }),
		})
	}
	return plot.Save(folder, "pofmkl-"+r.Set, panels, 10, 4*float64(len(panels)))
}

// rowStyle is how the line of the i-th row looks.
func rowStyle(i int, r Row) plot.Style {
	if r.Carried {
		return plot.Style{Color: plot.Tint(i), Dashes: plot.Dashed}
	}
	return plot.Style{Color: plot.Tint(i)}
}

// drawErrors draws the mean squared error of the rounds so far. Of POF-MKL there is M = 1 alone: the others' curves
// lie on it.
func (r *Report) drawErrors() *plot.Panel {
	title := fmt.Sprintf("%s, %d clients, %d draws", r.Set, r.Clients, r.Draws)
	d := plot.New(title, "rounds", "mean squared error so far, 1e-3")
	d.Legend(plot.Place{})
	d.LogY(plot.Powers(nil))
	low, high := math.Inf(1), 0.0
	for i, row := range r.Rows {
		if row.Algorithm == pofMKL && row.Chosen != 1 {
			continue
		}
		d.Line(row.Name(), plot.ByRound(row.errors), rowStyle(i, row))
		for _, e := range row.errors {
			low, high = min(low, e), max(high, e)
		}
	}
	d.Y.Min, d.Y.Max = low/1.2, high*2
	return d
}

// drawRegrets draws the mean regret of a client against t, below Theorem 1's bound, and what would grow like t and
// end where POF-MKL's first row does: what bends below such a line's slope is sub-linear.
func (r *Report) drawRegrets() *plot.Panel {
	d := plot.New("mean regret of a client", "rounds", "regret")
	d.Legend(plot.Place{Bottom: true, Up: 4})
	d.LogX(plot.Powers(nil))
	d.LogY(plot.Powers(nil))
	bound := make([]float64, r.Rounds)
	p := pofmkl.Params{Rounds: r.Rounds}.WithDefaults()
	for t := range bound {
		bound[t] = theoremOne(p, t+1)
	}
	low := bound[0]
	d.Line("Theorem 1's bound", plot.ByRound(bound), plot.Style{Color: plot.Ink(), Dashes: plot.Dashed})
	for _, row := range r.Rows {
		if row.Algorithm == pofMKL && row.regrets[r.Rounds-1] > 0 {
			slope := row.regrets[r.Rounds-1] / float64(r.Rounds)
			line := plot.Points{{X: 1, Y: slope}, {X: float64(r.Rounds), Y: slope * float64(r.Rounds)}}
			d.Line("", line, plot.Style{Color: color.Gray{0xb8}, Width: 1})
			d.Text(line[0], "like t", plot.Ink(), plot.Left, 10, 14)
			break
		}
	}
	for i, row := range r.Rows {
		xy := plot.Positive(row.regrets)
		if len(xy) == 0 || row.Carried && row.Chosen != 1 {
			continue
		}
		d.Line(row.Name(), xy, rowStyle(i, row))
		low = min(low, xy[len(xy)-1].Y)
	}
	d.Y.Min, d.Y.Max = low/1e4, 1.5*bound[len(bound)-1] // the legend stands below the curves' ends
	return d
}

// drawExplored draws a figure against xi.
func drawExplored(rows []Row, label string, figure func(Row) float64) *plot.Panel {
	d := plot.New("exploration", "xi", label)
	d.Legend(plot.Place{})
	low, high := math.Inf(1), math.Inf(-1)
	curves := make(map[string]plot.Points)
	var names []string
	for _, r := range rows {
		name, y := fmt.Sprintf("M=%d D=%d", r.Chosen, r.Features), figure(r)
		if curves[name] == nil {
			names = append(names, name)
		}
		curves[name] = append(curves[name], plot.Point{X: r.Explore, Y: y})
		low, high = min(low, y), max(high, y)
	}
	for n, name := range names {
		d.Line(name, curves[name], plot.Style{Color: plot.Color(n)})
	}
	middle := (low + high) / 2
	space := max(high-low, 0.3*math.Abs(middle)) // so that noise does not look like a trend
	d.X.Min, d.X.Max, d.Y.Min, d.Y.Max = 0, 1.02, middle-0.7*space, middle+0.9*space
	return d
}
