package ofmsft

import (
	"fmt"
	"image/color"
	"math"

	"github.com/hanse-project/hanse/algorithms/ofmsft"
	"github.com/hanse-project/hanse/lab/plot"
)

// Draw draws scores by rounds on the left and regrets by rounds on the right, or the score by the step, or regrets
// below their bounds.
func (r *Report) Draw(folder string) error {
	switch {
	case r.Scan:
		return plot.Save(folder, "ofmsft-"+r.Set+"-steps", [][]*plot.Panel{{r.drawSteps()}}, 6, 4)
	case r.Hindsight > 0:
		return r.drawBounds(folder)
	}
	return plot.Save(folder, "ofmsft-"+r.Set, [][]*plot.Panel{{r.drawScores(), r.drawRegrets()}}, 11, 4.6)
}

// plotBudget returns the budget whose curves are drawn together: Table 1's, or the first.
func (r *Report) plotBudget() float64 {
	for _, row := range r.Rows {
		if row.Budget == tableOne {
			return tableOne
		}
	}
	return r.Rows[0].Budget
}

// drawn reports whether a row is among the curves of scores: of a baseline that fine-tunes, the update whose figures
// the paper has.
func (r *Report) drawn(row Row) bool {
	if row.Budget != r.plotBudget() {
		return false
	}
	if row.Algorithm != rmsFT && row.Algorithm != bFedOMFT || row.Update == ofmsft.UpdateInPlace {
		return true
	}
	for _, other := range r.Rows {
		if other.Algorithm == row.Algorithm && other.Update == ofmsft.UpdateInPlace {
			return false
		}
	}
	return true
}

// curve is a line with a band of one deviation to either side.
type curve struct {
	row               Row
	means, deviations []float64 // [T]
	color             color.Color
}

// drawCurves draws all bands, then all lines, and names the lines in the legend. So many rounds come before the
// curves.
func drawCurves(d *plot.Panel, curves []curve, before int) {
	line := func(c curve, deviations float64) plot.Points {
		xy := plot.ByRound(c.means)
		for t := range xy {
			xy[t].X += float64(before)
			xy[t].Y += deviations * c.deviations[t]
		}
		return xy
	}
	for _, c := range curves {
		d.Band(line(c, 1), line(c, -1), c.color, 0x20)
	}
	for _, c := range curves {
		d.Line(c.row.legend(), line(c, 0), plot.Style{Color: c.color, Dashes: c.row.dashes()})
	}
}

// drawScores draws the score of the rounds so far at one budget; the first curve is the darkest.
func (r *Report) drawScores() *plot.Panel {
	d := plot.New(fmt.Sprintf("%s, %d clients, B = %g; band: deviation of %d seeds", r.Set, r.Clients, r.plotBudget(),
		r.Seeds), "rounds", r.Unit+", so far")
	low, high, first := math.Inf(1), math.Inf(-1), r.Rounds/10 // the first rounds are noise
	var curves []curve
	for _, row := range r.Rows {
		if !r.drawn(row) {
			continue
		}
		c := curve{row, row.scores[first:], row.scoreSD[first:], plot.Ink()}
		if n := len(curves); n > 0 {
			c.color = plot.Tint(n - 1)
		}
		curves = append(curves, c)
		for _, v := range c.means {
			low, high = min(low, v), max(high, v)
		}
	}
	span := high - low
	d.Legend(plot.Place{Bottom: r.accuracy()})
	d.Y.Min, d.Y.Max = low-0.1*span, high+0.9*span // the legend stands above
	if r.accuracy() {
		d.Y.Min, d.Y.Max = low-0.8*span, high+0.1*span
	}
	drawCurves(d, curves, first)
	return d
}

// drawRegrets draws the mean regret of a client of OFMS-FT, a colour for each budget.
func (r *Report) drawRegrets() *plot.Panel {
	d := plot.New("OFMS-FT, mean regret of a client", "rounds", "regret against the best network as tuned")
	d.Legend(plot.Place{Left: true})
	colors, high, low := map[float64]color.Color{}, 0.0, 0.0
	var curves []curve
	for _, row := range r.Rows {
		if row.Algorithm != ofmsFT || row.regrets == nil {
			continue
		}
		if colors[row.Budget] == nil {
			colors[row.Budget] = plot.Tint(len(colors))
		}
		curves = append(curves, curve{row, row.regrets, row.regretSD, colors[row.Budget]})
		for _, v := range row.regrets {
			high, low = max(high, v), min(low, v)
		}
	}
	d.Y.Min, d.Y.Max = low, high*1.5+1e-9
	drawCurves(d, curves, 0)
	return d
}

// legend names a row in a plot.
func (r *Row) legend() string {
	switch r.Algorithm {
	case ofmsFT:
		return fmt.Sprintf("%s B = %g, %s", r.Algorithm, r.Budget, r.updateText())
	case rmsFT, bFedOMFT:
		return r.Algorithm + ", " + r.updateText()
	}
	return r.Algorithm
}

// dashes returns the dashes of a row's line: none for equation 11 and own ways, dots where nobody fine-tunes.
func (r *Row) dashes() plot.Dashes {
	switch r.Update {
	case ofmsft.UpdateInPlace:
		return plot.LongDashed
	case ofmsft.UpdateNone:
		return plot.Dotted
	}
	return plot.Solid
}

// drawSteps draws the score against the step, beside that without fine-tuning.
func (r *Report) drawSteps() *plot.Panel {
	none := r.Rows[0]
	d := plot.New(fmt.Sprintf("%s, B = %g: fine-tuning by equation 11", r.Set, none.Budget), "step", r.Unit)
	d.Legend(plot.Place{})
	d.LogX(plot.Powers(nil))
	var all, late plot.Points
	for _, row := range r.Rows {
		if row.Step > 0 && row.Diverged == "" {
			all = append(all, plot.Point{X: row.Step, Y: row.Mean})
			late = append(late, plot.Point{X: row.Step, Y: row.Late})
		}
	}
	if len(all) == 0 {
		return d
	}
	ends := func(y float64) plot.Points { return plot.Points{{X: all[0].X, Y: y}, {X: all[len(all)-1].X, Y: y}} }
	dashed := func(i int) plot.Style { return plot.Style{Color: plot.Color(i), Dashes: plot.Dashed} }
	d.Line("all rounds", all, plot.Style{Color: plot.Color(0)})
	d.Line("no fine-tuning, all rounds", ends(none.Mean), dashed(0))
	d.Line("last quarter", late, plot.Style{Color: plot.Color(1)})
	d.Line("no fine-tuning, last quarter", ends(none.Late), dashed(1))
	return d
}

// drawBounds draws the clients' regret on the left and the server's on the right, each below its bound, which is
// dashed; dotted is that from the networks' start. The legends stand between regrets and bounds, which are far apart.
func (r *Report) drawBounds(folder string) error {
	left := plot.New(r.Set+": mean regret of a client; dashed: the bound", "rounds", "regret, equation 1")
	right := plot.New("of the server in fine-tuning a network; dotted: from its start", "rounds",
		"regret, equation 3")
	left.Legend(plot.Place{Bottom: true, Up: 1.1 * 72})
	right.Legend(plot.Place{Bottom: true, Up: 1.6 * 72})
	for side, d := range []*plot.Panel{left, right} {
		d.LogY(plot.Powers(nil))
		low, high := math.Inf(1), 0.0
		for i, row := range r.Rows {
			regrets, bounds := row.Bound.regrets, [][]float64{row.Bound.regretMax}
			if side == 1 {
				regrets, bounds = row.Bound.server, [][]float64{row.Bound.serverMax, row.Bound.startMax}
			}
			xy := plot.Positive(regrets)
			if len(xy) == 0 {
				return fmt.Errorf("no regret is above 0 with B = %g and n = %d: there is nothing to draw", row.Budget,
					row.PerUpload)
			}
			d.Line(fmt.Sprintf("B = %g, n = %d", row.Budget, row.PerUpload), xy, plot.Style{Color: plot.Tint(i)})
			for which, values := range bounds {
				dashes := []plot.Dashes{plot.Dashed, plot.Dotted}[which]
				d.Line("", plot.ByRound(values), plot.Style{Color: plot.Tint(i), Dashes: dashes})
			}
			last := bounds[0][len(bounds[0])-1]
			low, high = min(low, xy[len(xy)-1].Y), max(high, last)
		}
		d.Y.Min, d.Y.Max = low/30, high*3
	}
	return plot.Save(folder, "ofmsft-"+r.Set+"-bounds", [][]*plot.Panel{{left, right}}, 11, 4.6)
}
