package demo

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"strings"

	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/internal/trial/online"
	"github.com/hanse-project/hanse/internal/wording"
)

// milli is what mean squared errors are shown times of.
const milli = 1e3

// measure is how it is shown how well clients predict: by mean squared errors, or accuracies where labels are
// classes.
type measure struct {
	classes     bool
	title, unit string  // of figures; the unit is the end of the title
	short       string  // what the error is that is measured while clients learn
	curveName   string  // what learning curves are
	drawing     drawing // of learning curves
}

// newMeasure returns the measure of labels that are classes or numbers.
func newMeasure(classes bool) measure {
	if classes {
		return measure{true, "accuracy in %", "%", "wrong", "accuracy in %", drawing{"accuracy", " %"}}
	}
	return measure{false, "mean squared error x 1000", "x 1000", "mse", "mean squared error in dB",
		drawing{"mean squared error", " dB"}}
}

// figure is a mean over clients and the standard deviation, as shown: a mean squared error x 1000, or an accuracy in %.
type figure struct{ mean, sd float64 }

// String writes it with two digits.
func (f figure) String() string { return fmt.Sprintf("%.2f ± %.2f", f.mean, f.sd) }

// figure turns a mean error into what is shown.
func (m measure) figure(mean, sd float64) figure {
	if m.classes {
		return figure{100 * (1 - mean), 100 * sd}
	}
	return figure{milli * mean, milli * sd}
}

// of is figure for a score.
func (m measure) of(s *online.Score) figure { return m.figure(s.Error, s.SD) }

// put fills in the one or the other pair of a result.
func (m measure) put(f figure, mse, mseSD, accuracy, accuracySD **float64) {
	if m.classes {
		*accuracy, *accuracySD = &f.mean, &f.sd
		return
	}
	*mse, *mseSD = &f.mean, &f.sd
}

// curve returns a learning curve over a window of rows: in dB, or accuracies in %.
func (m measure) curve(errors []float64, window int) []float64 {
	if !m.classes {
		return online.Decibels(errors, window)
	}
	out := online.Smoothed(errors, window)
	for i, v := range out {
		out[i] = 100 * (1 - v)
	}
	return out
}

// putCurve fills in the one or the other curve of a result.
func (m measure) putCurve(curve []float64, decibels, accuracy *[]float64) {
	if m.classes {
		*accuracy = curve
		return
	}
	*decibels = curve
}

// curve is a named learning curve, in dB by iteration.
type curve struct {
	name, colour string
	values       []float64
}

// curves lists the learning curves there are.
func (r *clientsResult) curves() []curve {
	all := []curve{{"Hanse", "#1b5e9b", r.curve}}
	if r.clearCurve != nil {
		all = append(all, curve{"together, in one process", "#d98e04", r.clearCurve},
			curve{"every client alone", "#8a8a8a", r.aloneCurve})
	}
	if b := r.jobsBudget(); b != nil {
		all = append(all, curve{"never fine-tuned", "#b03a2e", b.untunedCurve})
	}
	return all
}

// printCurve draws the learning curves as rows of blocks.
func (d *clients) printCurve() error {
	r := &d.result
	fmt.Fprintf(d.Out, "\n%s, over %d iterations and all clients\n", d.measure.curveName, curveWindow(r.Rounds))
	w := wording.NewTable(d.Out, "")
	for _, c := range r.curves() {
		if len(c.values) > 1 {
			fmt.Fprintf(w, "%s\t%s  %.1f to %.1f\n", c.name, terminal.Sparkline(c.values, 30), c.values[0],
				c.values[len(c.values)-1])
		}
	}
	return w.Flush()
}

// The sizes of a drawing, in pixels. The curves' names stand to the right of them.
const (
	curveWidth  = 720.0
	curveHeight = 400.0
	curveMargin = 56.0
	curveNames  = 190.0
)

// drawing is what a drawing of curves shows: its title, and the unit of its values.
type drawing struct{ title, unit string }

// writeCurves draws curves as an SVG file.
func writeCurves(path string, d drawing, all []curve) error {
	low, high, length := math.Inf(1), math.Inf(-1), 2
	for _, c := range all {
		for _, v := range c.values {
			low, high = min(low, v), max(high, v)
		}
		length = max(length, len(c.values))
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" font-family=\"sans-serif\" "+
		"font-size=\"13\">\n", curveWidth+curveNames, curveHeight)
	fmt.Fprintf(&b, "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n")
	x := func(k int) float64 { return curveMargin + (curveWidth-2*curveMargin)*float64(k)/float64(length-1) }
	y := func(v float64) float64 { return curveMargin + (curveHeight-2*curveMargin)*(high-v)/max(high-low, 1e-9) }
	for i, c := range all {
		var points []string
		for k, v := range c.values {
			points = append(points, fmt.Sprintf("%.1f,%.1f", x(k), y(v)))
		}
		fmt.Fprintf(&b, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" points=\"%s\"/>\n", c.colour,
			strings.Join(points, " "))
		fmt.Fprintf(&b, "<text x=\"%g\" y=\"%g\" fill=\"%s\">%s</text>\n", curveWidth-curveMargin+16,
			curveMargin+18*float64(i), c.colour, c.name)
	}
	fmt.Fprintf(&b, "<text x=\"4\" y=\"%.1f\">%.1f%s</text>\n<text x=\"4\" y=\"%.1f\">%.1f%s</text>\n", y(high)+4, high,
		d.unit, y(low)+4, low, d.unit)
	fmt.Fprintf(&b, "<text x=\"%g\" y=\"%g\">%s, by iteration, 1 to %d</text>\n</svg>\n", curveMargin, curveHeight-16,
		d.title, length)
	return os.WriteFile(path, b.Bytes(), 0o600)
}
