package render

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/hanse-project/hanse/audit/finding"
)

// figure is a drawing with the words around it.
type figure struct {
	Title   string
	SVG     template.HTML
	Caption string
}

// artist numbers the drawings of a page.
type artist struct{ drawn int }

// id returns the next name of a drawing.
func (a *artist) id() string {
	a.drawn++
	return fmt.Sprintf("fig%d", a.drawn)
}

// egress draws each party's budget and what it sent of it; nil when there is nothing to draw.
func (a *artist) egress(r *finding.Report) *figure {
	bars, exceeded := egressBars(r)
	if len(bars) == 0 {
		return nil
	}
	const title = "Bytes sent, by party"
	caption := "Outlined: what the contract allows a party to send in one session. Filled: what it sent " +
		"in the session that sent most."
	if exceeded {
		caption += " Red: some kind of message went over its budget; the table below says which."
	}
	return &figure{title, barChart(a.id(), title, caption, bars, round), caption}
}

// egressBars adds up the lines of every party, and tells whether one of them exceeds its budget.
func egressBars(r *finding.Report) (bars []bar, exceeded bool) {
	index := map[string]int{}
	for _, e := range r.Egress {
		i, known := index[e.From]
		if !known {
			i = len(bars)
			index[e.From] = i
			bars = append(bars, bar{label: named(e.From, "unnamed"), class: "fill"})
		}
		bars[i].value += max(float64(e.Bytes), 0)
		bars[i].outline += max(float64(e.BudgetBytes), 0)
		if over(e) {
			bars[i].class, exceeded = "fill-bad", true
		}
	}
	for i, b := range bars {
		bars[i].note = size(b.value) + " of " + size(b.outline)
		if b.class == "fill-bad" {
			bars[i].note += ", over budget"
		}
		if b.outline == 0 {
			bars[i].note = size(b.value) + ", no budget stated"
		}
	}
	return bars, exceeded
}

// round writes bytes on an axis, without a decimal that is zero.
func round(bytes float64) string { return strings.Replace(size(bytes), ".0 ", " ", 1) }

// systems draws equations against unknown columns for each view; nil when there are none.
func (a *artist) systems(r *finding.Report) *figure {
	var bars []bar
	seen := map[string]bool{}
	for _, t := range r.Attacks {
		who := viewer(t)
		if t.UnknownColumns <= 0 || t.Equations <= 0 || seen[who] {
			continue
		}
		seen[who] = true
		bars = append(bars,
			bar{label: who, note: plural(t.Equations, "equation", "equations") + ", " + count(t.UnknownColumns) + " unknown",
				value: float64(t.Equations), class: "fill"},
			bar{value: float64(t.UnknownColumns), class: "fill-pale", close: true})
	}
	if len(bars) == 0 {
		return nil
	}
	const title = "Equations against unknown columns, by view"
	return &figure{title, barChart(a.id(), title,
		"A pair of bars for each view: the equations it holds for every row, and the columns it does not know.", bars, nil),
		"Dark: the equations a view holds for every row. Pale: the columns it does not know. With as many " +
			"equations as unknown columns, the differences between rows are determined. " +
			"That holds for values a party can read: under a mask every equation brings an unknown of its " +
			"own, and a longer bar is of no use."}
}

// shares draws the share of rows an attack rebuilt next to its control; nil when there is none.
func (a *artist) shares(t finding.Attack) *figure {
	var bars []bar
	if present(t.RecoveredShare) {
		bars = append(bars, bar{label: "this run", note: percent(*t.RecoveredShare), value: *t.RecoveredShare,
			outline: 1, class: "fill"})
	}
	if present(t.ControlShare) {
		bars = append(bars, bar{label: "control: everything can be found", note: percent(*t.ControlShare),
			value: *t.ControlShare, outline: 1, class: "fill-pale"})
	}
	if len(bars) == 0 {
		return nil
	}
	const title = "Rows rebuilt within 1 %"
	caption := "Share of rows of which every column came out within 1 % of its range."
	if present(t.ControlShare) {
		caption += " The control is the same attack where everything can be found: it shows that the attack works."
	}
	return &figure{title, barChart(a.id(), title, caption, bars, nil), caption}
}

// errors draws the error of an attack next to that of a guess; nil when there is none.
func (a *artist) errors(t finding.Attack) *figure {
	var bars []bar
	if present(t.RMS) {
		bars = append(bars, bar{label: "this run", note: number(*t.RMS), value: *t.RMS, class: "fill"})
	}
	if present(t.ControlRMS) {
		bars = append(bars, bar{label: "control: nothing to find", note: number(*t.ControlRMS),
			value: *t.ControlRMS, class: "fill-pale"})
	}
	if len(bars) == 0 {
		return nil
	}
	const title = "Error of the rebuilt values"
	caption := "Root mean square, as a share of a column's range: 0 is exact."
	if present(t.ControlRMS) {
		caption += " The control is the same attack where there is nothing to find; to be as bad as that is to know nothing."
	}
	return &figure{title, barChart(a.id(), title, caption, bars, number), caption}
}

// maxBars is how many bars a chart shows.
const maxBars = 40

// thick is how high a bar is, and line what its label takes above it.
const thick, line = 13, 19

// bar is one horizontal bar with its label above it.
type bar struct {
	label   string
	note    string  // at the right end of the label's line
	value   float64 // filled
	outline float64 // drawn around it when positive
	class   string  // of the filled bar
	close   bool    // stands close under the bar before it, without a line of its own
}

// barChart draws bars from zero, with an axis below when write is given.
func barChart(id, title, desc string, bars []bar, write func(float64) string) template.HTML {
	bars = bars[:min(len(bars), maxBars)]
	const left, right = 1, 429
	x := axis{0, longest(bars), left, right}
	height := heightOf(bars)
	d := newDrawing(id, title, desc, figureWidth, height+6)
	if write != nil {
		d.height = height + 30
	}
	y := 0.0
	for i, b := range bars {
		y += gap(b, i)
		if !b.close {
			d.text("label", "start", left, y+13, fit(b.label, right-12-pixels(b.note)))
			d.text("note", "end", right, y+13, clip(b.note, 50))
			y += line
		}
		d.rect(b.class, left, y, x.at(b.value)-left, thick)
		if b.outline > 0 {
			d.rect("outline", left, y, x.at(b.outline)-left, thick)
		}
		y += thick
	}
	d.line("rule", left, height, right, height)
	if write != nil {
		d.below(x, height, write)
	}
	return d.markup()
}

// fit cuts a label to a width in pixels.
func fit(label string, space float64) string {
	if pixels(label) <= space {
		return label
	}
	characters := []rune(label)
	for len(characters) > 1 && pixels(string(characters)+"...") > space {
		characters = characters[:len(characters)-1]
	}
	return string(characters) + "..."
}

// pixels estimates the width of a label from above.
func pixels(label string) float64 {
	wide := 0.0
	for _, c := range label {
		switch {
		case c > unicode.MaxLatin1:
			wide += 13
		case strings.ContainsRune("mwMW%@", c):
			wide += 11.5
		case unicode.IsUpper(c):
			wide += 9.5
		default:
			wide += 7
		}
	}
	return wide
}

// gap returns the space above a bar.
func gap(b bar, i int) float64 {
	switch {
	case i == 0:
		return 0
	case b.close:
		return 3
	}
	return 12
}

// heightOf returns how high all bars stand together.
func heightOf(bars []bar) float64 {
	height := 6.0
	for i, b := range bars {
		height += gap(b, i) + thick
		if !b.close {
			height += line
		}
	}
	return height
}

// longest returns the largest value of the bars with a little room, at least a tiny one.
func longest(bars []bar) float64 {
	most := 1e-12
	for _, b := range bars {
		for _, v := range []float64{b.value, b.outline} {
			if finite(v) {
				most = max(most, v)
			}
		}
	}
	return most
}

// below draws the ticks of a bar chart; marks at the ends stay inside the drawing.
func (d *drawing) below(x axis, height float64, write func(float64) string) {
	for _, v := range x.ticks() {
		anchor := "middle"
		switch at := x.at(v); {
		case at < x.a+20:
			anchor = "start"
		case at > x.b-20:
			anchor = "end"
		}
		d.line("tick", x.at(v), height, x.at(v), height+5)
		d.text("mark", anchor, x.at(v), height+20, write(v))
	}
}

// maxBins is how many bars a histogram shows; neighbours are added up when there are more.
const maxBins = 128

// histogram draws counts in equal bins against the count that a uniform distribution puts in each.
func histogram(id string, p *finding.Plot) template.HTML {
	counts, expect := binned(p)
	lo, hi := limits(p)
	const left, right, top, bottom = 78, 422, 12, 222
	x := axis{lo, hi, left, right}
	y := axis{0, tallest(counts, expect) * 1.12, bottom, top}
	d := newDrawing(id, named(p.Title, "Histogram"),
		fmt.Sprintf("%s. Across: %s. Up: %s. A line marks the count that uniform noise puts in every bar.",
			plural(len(counts), "bar", "bars"), named(p.X, "value"), named(p.Y, "count")), figureWidth, 272)
	wide := (right - left) / float64(max(len(counts), 1))
	for i, n := range counts {
		height := bottom - y.at(n)
		d.rect("bar", left+float64(i)*wide+0.15*wide, bottom-height, 0.7*wide, height)
	}
	d.line("rule", left, bottom, right, bottom)
	if expect > 0 {
		d.line("expect", left, y.at(expect), right, y.at(expect))
	}
	d.across(x, bottom, named(p.X, "value"), number)
	d.up(y, left, named(p.Y, "count"), whole)
	return d.markup()
}

// binned returns the counts to draw, and what a uniform distribution puts in each.
func binned(p *finding.Plot) ([]float64, float64) {
	group := max((len(p.Counts)+maxBins-1)/maxBins, 1)
	out := make([]float64, (len(p.Counts)+group-1)/group)
	for i, n := range p.Counts {
		out[i/group] += max(float64(n), 0)
	}
	expect := p.Expect * float64(group)
	if !finite(expect) || expect < 0 {
		expect = 0
	}
	return out, min(expect, 1e18)
}

// limits returns the ends of the bins.
func limits(p *finding.Plot) (float64, float64) {
	if !(math.Abs(p.Lo) <= maxDrawn) || !(math.Abs(p.Hi) <= maxDrawn) {
		return 0, 1
	}
	return spread(min(p.Lo, p.Hi), max(p.Lo, p.Hi))
}

// tallest returns the largest of the counts and the expected one, at least 1.
func tallest(counts []float64, expect float64) float64 {
	most := max(expect, 1)
	for _, n := range counts {
		most = max(most, n)
	}
	return most
}

// whole writes a count on an axis: short, as "250 k", when it is large.
func whole(v float64) string {
	switch {
	case v >= 1e9:
		return number(v)
	case v >= 1e6:
		return number(v/1e6) + " m"
	case v >= 1e4:
		return number(v/1e3) + " k"
	case v < 10:
		return number(v)
	}
	return count(int64(v))
}

// maxDots is how many points a plot shows.
const maxDots = 1000

// maxDrawn is the largest value that is drawn; what is larger is no value of a table.
const maxDrawn = 1e9

// figureWidth is the width of every drawing in pixels.
const figureWidth = 430

// scatter draws true against rebuilt values on equal scales, with the diagonal on which both are the
// same; it returns how many points lie outside.
func scatter(id string, p *finding.Plot) (template.HTML, int) {
	points := drawable(p.Points)
	lo, hi := square(points)
	const left, right, top, bottom = 62, 422, 10, 370
	x := axis{lo, hi, left, right}
	y := axis{lo, hi, bottom, top}
	d := newDrawing(id, named(p.Title, "True and rebuilt values"),
		fmt.Sprintf("%s. Across: %s. Up: %s. The diagonal marks values that were rebuilt exactly.",
			plural(len(points), "dot", "dots"), named(p.X, "true value"), named(p.Y, "rebuilt value")), figureWidth, 420)
	d.rect("frame", left, top, right-left, bottom-top)
	d.line("diagonal", left, bottom, right, top)
	d.across(x, bottom, named(p.X, "true value"), number)
	d.up(y, left, named(p.Y, "rebuilt value"), number)
	outside := len(p.Points) - len(points)
	for _, q := range thin(points) {
		d.dot("dot", x.at(q[0]), y.at(q[1]))
	}
	for _, q := range points {
		if min(q[0], q[1]) < lo || max(q[0], q[1]) > hi {
			outside++
		}
	}
	return d.markup(), outside
}

// drawable drops points that are no numbers or absurdly large.
func drawable(points [][2]float64) [][2]float64 {
	var out [][2]float64
	for _, q := range points {
		if math.Abs(q[0]) <= maxDrawn && math.Abs(q[1]) <= maxDrawn {
			out = append(out, q)
		}
	}
	return out
}

// thin takes every k-th of too many points.
func thin(points [][2]float64) [][2]float64 {
	step := (len(points) + maxDots - 1) / maxDots
	if step < 2 {
		return points
	}
	var out [][2]float64
	for i := 0; i < len(points); i += step {
		out = append(out, points[i])
	}
	return out
}

// square returns the range of both axes: all true values, and rebuilt values as far as three times
// their spread.
func square(points [][2]float64) (float64, float64) {
	if len(points) == 0 {
		return -1, 1
	}
	var truth, rebuilt []float64
	for _, q := range points {
		truth, rebuilt = append(truth, q[0]), append(rebuilt, q[1])
	}
	lo, hi := spread(slices.Min(truth), slices.Max(truth))
	space := hi - lo
	lo, hi = min(lo, max(slices.Min(rebuilt), lo-space)), max(hi, min(slices.Max(rebuilt), hi+space))
	margin := (hi - lo) * 0.04
	return lo - margin, hi + margin
}

// across draws ticks and label of a horizontal axis at a height.
func (d *drawing) across(x axis, height float64, label string, write func(float64) string) {
	for _, v := range x.ticks() {
		d.line("tick", x.at(v), height, x.at(v), height+5)
		d.text("mark", "middle", x.at(v), height+19, write(v))
	}
	d.text("name", "middle", (x.a+x.b)/2, height+40, clip(label, 56))
}

// up draws ticks and label of a vertical axis at a distance from the left.
func (d *drawing) up(y axis, left float64, label string, write func(float64) string) {
	for _, v := range y.ticks() {
		d.line("tick", left-5, y.at(v), left, y.at(v))
		d.text("mark", "end", left-9, y.at(v)+4, write(v))
	}
	if label != "" {
		d.upright("name", 14, (y.a+y.b)/2, clip(label, 48))
	}
}

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

func (d *drawing) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(&d.b, `<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`+"\n",
		class, coordinate(x1), coordinate(y1), coordinate(x2), coordinate(y2))
}

func (d *drawing) rect(class string, x, y, w, h float64) {
	fmt.Fprintf(&d.b, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`+"\n",
		class, coordinate(x), coordinate(y), coordinate(max(w, 0)), coordinate(max(h, 0)))
}

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
	tolerance := step * 1e-9
	first := math.Ceil((x.lo - tolerance) / step)
	for i := range 8 {
		v := (first + float64(i)) * step
		if v > x.hi+tolerance {
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
