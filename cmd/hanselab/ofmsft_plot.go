package main

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/hanse-project/hanse/algorithms/ofmsft"
)

// drawOFMSFT draws scores by rounds on the left and regrets by rounds on the right, or the score by the step.
func drawOFMSFT(folder string, r *ofmsftReport) error {
	if r.Scan {
		d, err := stepPlot(r)
		if err != nil {
			return err
		}
		return save(folder, "ofmsft-"+r.Set+"-steps", [][]*plot.Plot{{d}}, 6*vg.Inch, 4*vg.Inch)
	}
	if r.Hindsight > 0 {
		return drawBounds(folder, r)
	}
	scores, err := ofmsftScorePlot(r)
	if err != nil {
		return err
	}
	regrets, err := ofmsftRegretPlot(r)
	if err != nil {
		return err
	}
	return save(folder, "ofmsft-"+r.Set, [][]*plot.Plot{{scores, regrets}}, 11*vg.Inch, 4.6*vg.Inch)
}

// plotBudget returns the budget whose curves are drawn together: Table 1's, or the first.
func (r *ofmsftReport) plotBudget() float64 {
	for _, row := range r.Rows {
		if row.Budget == tableOne {
			return tableOne
		}
	}
	return r.Rows[0].Budget
}

// drawn reports whether a row is among the curves of scores: of a baseline that fine-tunes, the update whose figures the paper has.
func (r *ofmsftReport) drawn(row ofmsftRow) bool {
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

// ofmsftScorePlot draws the score of the rounds so far at one budget.
func ofmsftScorePlot(r *ofmsftReport) (*plot.Plot, error) {
	d := newPlot(fmt.Sprintf("%s, %d clients, B = %g; band: deviation of %d seeds", r.Set, r.Clients, r.plotBudget(), r.Seeds), "rounds", r.Unit+", so far")
	addGrid(d)
	styleLegend(d)
	low, high, first := math.Inf(1), math.Inf(-1), r.Rounds/10 // the first rounds are noise
	var curves []bandedCurve
	for _, row := range r.Rows {
		if !r.drawn(row) {
			continue
		}
		curves = append(curves, bandedCurve{row.legend(), row.scores[first:], row.scoreSD[first:], scoreColor(len(curves)), row.dashes()})
		for _, v := range row.scores[first:] {
			low, high = min(low, v), max(high, v)
		}
	}
	span := high - low
	d.Y.Min, d.Y.Max = low-0.1*span, high+0.9*span // the legend stands above
	if r.accuracy() {
		d.Y.Min, d.Y.Max, d.Legend.Top = low-0.8*span, high+0.1*span, false
	}
	return d, addCurves(d, curves, first)
}

// scoreColor returns the colour of the i-th of up to nine curves; the first is the darkest.
func scoreColor(i int) color.Color {
	if i == 0 {
		return ink()
	}
	return tint(i - 1)
}

// ofmsftRegretPlot draws the mean regret of a client of OFMS-FT, a colour for each budget.
func ofmsftRegretPlot(r *ofmsftReport) (*plot.Plot, error) {
	d := newPlot("OFMS-FT, mean regret of a client", "rounds", "regret against the best network as tuned")
	addGrid(d)
	styleLegend(d)
	d.Legend.Left = true
	colors, high, low := map[float64]color.Color{}, 0.0, 0.0
	var curves []bandedCurve
	for _, row := range r.Rows {
		if row.Algorithm != ofmsFT || row.regrets == nil {
			continue
		}
		if colors[row.Budget] == nil {
			colors[row.Budget] = tint(len(colors))
		}
		curves = append(curves, bandedCurve{row.legend(), row.regrets, row.regretSD, colors[row.Budget], row.dashes()})
		for _, v := range row.regrets {
			high, low = max(high, v), min(low, v)
		}
	}
	d.Y.Min, d.Y.Max = low, high*1.5+1e-9
	return d, addCurves(d, curves, 0)
}

// legend names a row in a plot.
func (r *ofmsftRow) legend() string {
	if r.Algorithm != ofmsFT && r.Algorithm != rmsFT && r.Algorithm != bFedOMFT {
		return r.Algorithm
	}
	if r.Algorithm != ofmsFT {
		return r.Algorithm + ", " + r.updateText()
	}
	return fmt.Sprintf("%s B = %g, %s", r.Algorithm, r.Budget, r.updateText())
}

// dashes returns the dashes of a row's line: none for equation 11 and own ways, dots where nobody fine-tunes.
func (r *ofmsftRow) dashes() []vg.Length {
	switch r.Update {
	case ofmsft.UpdateInPlace:
		return []vg.Length{vg.Points(5), vg.Points(2.5)}
	case ofmsft.UpdateNone:
		return []vg.Length{vg.Points(1.3), vg.Points(2)}
	}
	return nil
}

// bandedCurve is a line with a band of one deviation to either side.
type bandedCurve struct {
	name              string
	means, deviations []float64 // [T]
	color             color.Color
	dashes            []vg.Length
}

// addCurves draws all bands, then all lines, and names the lines in the legend. So many rounds come before the curves.
func addCurves(d *plot.Plot, curves []bandedCurve, before int) error {
	for _, c := range curves {
		band, err := plotter.NewPolygon(c.outline(before))
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		r, g, b, _ := c.color.RGBA()
		band.Color, band.LineStyle.Width = color.NRGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), 0x20}, 0
		d.Add(band)
	}
	for _, c := range curves {
		line, err := plotter.NewLine(c.line(before))
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		line.Color, line.Width, line.Dashes = c.color, vg.Points(1.4), c.dashes
		d.Add(line)
		d.Legend.Add(c.name, line)
	}
	return nil
}

// line returns the points of the line.
func (c bandedCurve) line(before int) plotter.XYs {
	xy := series(c.means)
	for i := range xy {
		xy[i].X += float64(before)
	}
	return xy
}

// outline returns the edge of the band.
func (c bandedCurve) outline(before int) plotter.XYs {
	upper := c.line(before)
	lower := slices.Clone(upper)
	for t, d := range c.deviations {
		upper[t].Y += d
		lower[t].Y -= d
	}
	slices.Reverse(lower)
	return append(upper, lower...)
}

// stepPlot draws the score against the step, beside that without fine-tuning.
func stepPlot(r *ofmsftReport) (*plot.Plot, error) {
	none := r.Rows[0]
	d := newPlot(fmt.Sprintf("%s, B = %g: fine-tuning by equation 11", r.Set, none.Budget), "step", r.Unit)
	addGrid(d)
	styleLegend(d)
	d.X.Scale, d.X.Tick.Marker = plot.LogScale{}, powers(nil)
	var all, late plotter.XYs
	for _, row := range r.Rows {
		if row.Step > 0 && row.Diverged == "" {
			all, late = append(all, plotter.XY{X: row.Step, Y: row.Mean}), append(late, plotter.XY{X: row.Step, Y: row.Late})
		}
	}
	if len(all) == 0 {
		return d, nil
	}
	ends := func(y float64) plotter.XYs {
		return plotter.XYs{{X: all[0].X, Y: y}, {X: all[len(all)-1].X, Y: y}}
	}
	for i, curve := range []struct {
		name   string
		xy     plotter.XYs
		dashed bool
	}{
		{"all rounds", all, false}, {"no fine-tuning, all rounds", ends(none.Mean), true},
		{"last quarter", late, false}, {"no fine-tuning, last quarter", ends(none.Late), true},
	} {
		if err := addSeries(d, curve.name, curve.xy, curveColor(i/2), curve.dashed); err != nil {
			return nil, err
		}
	}
	return d, nil
}
