package page

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"github.com/hanse-project/hanse/internal/node"
)

// The size of a curve's drawing; the page stretches it to its own width.
const (
	curveWidth  = 600.0
	curveHeight = 120.0
	curveMargin = 4.0
)

// curve draws a metric as it came, from its least to its greatest value; on a logarithmic scale where it falls or rises
// by more than a hundred. It is "" where there are fewer than two points to join.
func curve(points []node.Point) (svg template.HTML, low, high float64) {
	var finite []node.Point
	for _, p := range points {
		if !math.IsNaN(p.Metric) && !math.IsInf(p.Metric, 0) {
			finite = append(finite, p)
		}
	}
	if len(finite) < 2 {
		return "", 0, 0
	}
	first, last := finite[0].Done, finite[0].Done
	low, high = finite[0].Metric, finite[0].Metric
	for _, p := range finite {
		first, last = min(first, p.Done), max(last, p.Done)
		low, high = min(low, p.Metric), max(high, p.Metric)
	}
	scale := func(v float64) float64 { return v }
	if low > 0 && high/low > 100 {
		scale = math.Log
	}
	bottom, span := scale(low), scale(high)-scale(low)
	if span == 0 || math.IsInf(span, 0) {
		bottom, span = bottom-0.5, 1
	}
	var line []string
	for _, p := range finite {
		x := curveWidth * float64(p.Done-first) / max(float64(last-first), 1)
		y := curveMargin + (curveHeight-2*curveMargin)*(1-(scale(p.Metric)-bottom)/span)
		line = append(line, fmt.Sprintf("%.1f,%.1f", x, y))
	}
	joined := strings.Join(line, " ")
	return template.HTML(fmt.Sprintf(`<svg class="trace" viewBox="0 0 %g %g" preserveAspectRatio="none" `+
		`aria-hidden="true"><polygon class="under" points="0,%g %s %g,%g"/><polyline class="curve" points="%s"/></svg>`,
		curveWidth, curveHeight, curveHeight, joined, curveWidth, curveHeight, joined)), low, high
}
