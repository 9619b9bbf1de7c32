package report

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// drawing is an SVG in the making. Coordinates are in its own units, which are CSS pixels at full size.
type drawing struct {
	id            string // unique on the page
	title, desc   string
	width, height float64
	b             strings.Builder
}

// newDrawing starts a drawing; title and description are what a screen reader says.
func newDrawing(id, title, desc string, width, height float64) *drawing {
	return &drawing{id: id, title: title, desc: desc, width: width, height: height}
}

// markup ends the drawing. Everything in it is a number, a constant or escaped.
func (d *drawing) markup() template.HTML {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg role="img" viewBox="0 0 %s %s" style="max-width:%spx" aria-labelledby="%s-t %s-d">`,
		coordinate(d.width), coordinate(d.height), coordinate(d.width), d.id, d.id)
	fmt.Fprintf(&b, `<title id="%s-t">%s</title><desc id="%s-d">%s</desc>`,
		d.id, html.EscapeString(d.title), d.id, html.EscapeString(d.desc))
	b.WriteString("\n" + d.b.String() + "</svg>")
	return template.HTML(b.String())
}

// line draws a straight line.
func (d *drawing) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(&d.b, `<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`+"\n",
		class, coordinate(x1), coordinate(y1), coordinate(x2), coordinate(y2))
}

// rect draws a rectangle.
func (d *drawing) rect(class string, x, y, w, h float64) {
	fmt.Fprintf(&d.b, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`+"\n",
		class, coordinate(x), coordinate(y), coordinate(max(w, 0)), coordinate(max(h, 0)))
}

// dot draws a small disc.
func (d *drawing) dot(class string, x, y float64) {
	fmt.Fprintf(&d.b, `<circle class="%s" cx="%s" cy="%s" r="2.2"/>`+"\n", class, coordinate(x), coordinate(y))
}

// text writes a line of text, anchored at its "start", "middle" or "end".
func (d *drawing) text(class, anchor string, x, y float64, text string) {
	fmt.Fprintf(&d.b, `<text class="%s" text-anchor="%s" x="%s" y="%s">%s</text>`+"\n",
		class, anchor, coordinate(x), coordinate(y), html.EscapeString(text))
}

// upright writes a line of text that runs upwards, centred on a point.
func (d *drawing) upright(class string, x, y float64, text string) {
	fmt.Fprintf(&d.b, `<text class="%s" text-anchor="middle" transform="translate(%s %s) rotate(-90)">%s</text>`+"\n",
		class, coordinate(x), coordinate(y), html.EscapeString(text))
}

// coordinate writes a number with at most one decimal.
func coordinate(v float64) string {
	if !finite(v) || math.Abs(v) > 1e6 {
		v = 0
	}
	s := strconv.FormatFloat(v, 'f', 1, 64)
	if s = strings.TrimSuffix(s, ".0"); s == "-0" {
		return "0"
	}
	return s
}

// axis maps values from lo to hi onto pixels from a to b.
type axis struct {
	lo, hi float64
	a, b   float64
}

// at returns the pixel of a value; what lies outside the axis is put at its end.
func (x axis) at(v float64) float64 {
	share := (v - x.lo) / (x.hi - x.lo)
	return x.a + min(max(share, 0), 1)*(x.b-x.a)
}

// ticks returns three to five round values on the axis, ends included.
func (x axis) ticks() []float64 {
	span := x.hi - x.lo
	if !finite(span) || span <= 0 {
		return nil
	}
	power := math.Pow(10, math.Ceil(math.Log10(span)))
	for range 3 {
		for _, step := range []float64{power, power / 2, power / 4, power / 5} {
			if marks := x.multiples(step); len(marks) >= 3 {
				return marks[:min(len(marks), 6)]
			}
		}
		power /= 10
	}
	return nil
}

// multiples returns the multiples of a step on the axis, a few at most.
func (x axis) multiples(step float64) []float64 {
	if step <= 0 {
		return nil
	}
	var out []float64
	slack := step * 1e-9
	first := math.Ceil((x.lo - slack) / step)
	for i := range 8 {
		v := (first + float64(i)) * step
		if v > x.hi+slack {
			return out
		}
		out = append(out, v+0) // no negative zero
	}
	return out
}

// spread returns a range that holds lo and hi and is wide enough to divide.
func spread(lo, hi float64) (float64, float64) {
	if least := max(math.Abs(lo), math.Abs(hi)) * 1e-6; hi-lo <= least {
		margin := max(least, 0.5)
		return lo - margin, hi + margin
	}
	return lo, hi
}
