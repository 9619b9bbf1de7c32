package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
)

// curve is a named learning curve, in dB by iteration.
type curve struct {
	name, colour string
	values       []float64
}

// curves lists the learning curves there are.
func (r *onlineResult) curves() []curve {
	all := []curve{{"Hanse", "#1b5e9b", r.curve}}
	if r.clearCurve != nil {
		all = append(all, curve{"together, in one process", "#d98e04", r.clearCurve}, curve{"every client alone", "#8a8a8a", r.aloneCurve})
	}
	if b := r.jobsBudget(); b != nil {
		all = append(all, curve{"never fine-tuned", "#b03a2e", b.untunedCurve})
	}
	return all
}

// printCurve draws the learning curves as rows of blocks.
func (d *onlineDemo) printCurve() error {
	r := &d.result
	fmt.Fprintf(d.c.App.Writer, "\n%s, over %d iterations and all clients\n", d.measure.curveName(), curveWindow(r.Rounds))
	w := tabwriter.NewWriter(d.c.App.Writer, 0, 0, 3, ' ', 0)
	for _, c := range r.curves() {
		if len(c.values) > 1 {
			fmt.Fprintf(w, "%s\t%s  %.1f to %.1f\n", c.name, sparkline(c.values, 60), c.values[0], c.values[len(c.values)-1])
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

// extent returns the lowest and the highest value of curves, and the length of the longest, 2 at least.
func extent(all []curve) (low, high float64, length int) {
	low, high, length = math.Inf(1), math.Inf(-1), 2
	for _, c := range all {
		for _, v := range c.values {
			low, high = min(low, v), max(high, v)
		}
		length = max(length, len(c.values))
	}
	return low, high, length
}

// writeCurves draws curves as an SVG file.
func writeCurves(path string, d drawing, all []curve) error {
	low, high, length := extent(all)
	var b bytes.Buffer
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" font-family=\"sans-serif\" font-size=\"13\">\n", curveWidth+curveNames, curveHeight)
	fmt.Fprintf(&b, "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n")
	x := func(k int) float64 { return curveMargin + (curveWidth-2*curveMargin)*float64(k)/float64(length-1) }
	y := func(v float64) float64 { return curveMargin + (curveHeight-2*curveMargin)*(high-v)/max(high-low, 1e-9) }
	for i, c := range all {
		var points []string
		for k, v := range c.values {
			points = append(points, fmt.Sprintf("%.1f,%.1f", x(k), y(v)))
		}
		fmt.Fprintf(&b, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" points=\"%s\"/>\n", c.colour, strings.Join(points, " "))
		fmt.Fprintf(&b, "<text x=\"%g\" y=\"%g\" fill=\"%s\">%s</text>\n", curveWidth-curveMargin+16, curveMargin+18*float64(i), c.colour, c.name)
	}
	fmt.Fprintf(&b, "<text x=\"4\" y=\"%.1f\">%.1f%s</text>\n<text x=\"4\" y=\"%.1f\">%.1f%s</text>\n", y(high)+4, high, d.unit, y(low)+4, low, d.unit)
	fmt.Fprintf(&b, "<text x=\"%g\" y=\"%g\">%s, by iteration, 1 to %d</text>\n</svg>\n", curveMargin, curveHeight-16, d.title, length)
	return os.WriteFile(path, b.Bytes(), 0o600)
}

// joinInts lists numbers.
func joinInts(values []int) string {
	var texts []string
	for _, v := range values {
		texts = append(texts, strconv.Itoa(v))
	}
	return strings.Join(texts, ", ")
}
