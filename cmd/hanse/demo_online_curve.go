package main

import (
	"bytes"
	"fmt"
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
	all := []curve{{"Hanse", "#1b5e9b", r.Curve}}
	if r.clearCurve != nil {
		all = append(all, curve{"together, in one process", "#d98e04", r.clearCurve}, curve{"every client alone", "#8a8a8a", r.aloneCurve})
	}
	return all
}

// printCurve draws the learning curves as rows of blocks.
func (d *onlineDemo) printCurve() error {
	r := &d.result
	fmt.Fprintf(d.c.App.Writer, "\nmean squared error in dB, over %d iterations and all clients\n", curveWindow(r.Rounds))
	w := tabwriter.NewWriter(d.c.App.Writer, 0, 0, 3, ' ', 0)
	for _, c := range r.curves() {
		if len(c.values) > 1 {
			fmt.Fprintf(w, "%s\t%s  %.1f to %.1f\n", c.name, sparkline(c.values, 60), c.values[0], c.values[len(c.values)-1])
		}
	}
	return w.Flush()
}

// The sizes of the drawing, in pixels.
const (
	curveWidth  = 720.0
	curveHeight = 400.0
	curveMargin = 56.0
)

// writeCurves draws learning curves as an SVG file.
func writeCurves(path string, all []curve) error {
	low, high, length := 0.0, 0.0, 1
	for i, c := range all {
		for k, v := range c.values {
			if i == 0 && k == 0 {
				low, high = v, v
			}
			low, high, length = min(low, v), max(high, v), max(length, k)
		}
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" font-family=\"sans-serif\" font-size=\"13\">\n", curveWidth, curveHeight)
	fmt.Fprintf(&b, "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n")
	x := func(k int) float64 { return curveMargin + (curveWidth-2*curveMargin)*float64(k)/float64(length) }
	y := func(v float64) float64 { return curveMargin + (curveHeight-2*curveMargin)*(high-v)/max(high-low, 1e-9) }
	for i, c := range all {
		var points []string
		for k, v := range c.values {
			points = append(points, fmt.Sprintf("%.1f,%.1f", x(k), y(v)))
		}
		fmt.Fprintf(&b, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" points=\"%s\"/>\n", c.colour, strings.Join(points, " "))
		fmt.Fprintf(&b, "<text x=\"%g\" y=\"%g\" fill=\"%s\" text-anchor=\"end\">%s</text>\n", curveWidth-curveMargin, curveMargin+18*float64(i), c.colour, c.name)
	}
	fmt.Fprintf(&b, "<text x=\"8\" y=\"%.1f\">%.1f dB</text>\n<text x=\"8\" y=\"%.1f\">%.1f dB</text>\n", y(high)+4, high, y(low)+4, low)
	fmt.Fprintf(&b, "<text x=\"%g\" y=\"%g\">mean squared error by iteration, 1 to %d</text>\n</svg>\n", curveMargin, curveHeight-16, length+1)
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
