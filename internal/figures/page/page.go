// Package page renders figures as one HTML file that needs no other: ROC curve, calibration and the distribution of
// scores are drawings inside it, and there are no scripts.
package page

import (
	"bytes"
	_ "embed" // the page is a file beside the code
	"fmt"
	"html"
	"html/template"
	"math"
	"strings"

	"github.com/hanse-project/hanse/internal/figures"
)

//go:embed page.html
var text string

// Style has the colours, light and dark, and the look of drawings, for pages that show them.
//
//go:embed look.css
var Style string

// Fact is a line about the model or the job.
type Fact struct{ Name, Value string }

// Page is what a page shows: a title, what is known of the job or the model, and the figures of some rows.
type Page struct {
	Title   string
	Facts   []Fact
	Figures *figures.Report // nil: there are none, and Missing says why
	Missing string
	Note    string // a sentence above the figures, if any
}

// Render returns the page.
func Render(p Page) ([]byte, error) {
	t, err := template.New("page").Parse(text)
	if err != nil {
		return nil, fmt.Errorf("report page: %w", err)
	}
	shown := struct {
		Page
		Style  template.CSS
		Lines  [][2]string
		Drawn  []Drawing
		Tables []table
	}{Page: p, Style: template.CSS(Style)}
	if r := p.Figures; r != nil {
		shown.Lines, shown.Tables = r.Lines(), tables(r)
		if b := r.Binary; b != nil {
			shown.Drawn = Drawings(b)
		}
	}
	var out bytes.Buffer
	if err := t.Execute(&out, shown); err != nil {
		return nil, fmt.Errorf("report page: %w", err)
	}
	return out.Bytes(), nil
}

// table is a table of the page.
type table struct {
	Title string
	Head  []string
	Rows  [][]string
	Note  string // below it, if any
}

// tables lists the tables of a report.
func tables(r *figures.Report) []table {
	var all []table
	if len(r.Against) > 0 {
		t := table{Title: "Against what others would say", Head: []string{"", "error or RMSE (95 %)"}}
		_, rare := r.Rarer()
		if r.Binary != nil {
			t.Head = []string{"", fmt.Sprintf("error at score %s (95 %%)", figures.Number(r.Binary.Threshold)), "AUC (95 %)",
				"AUC lower by (95 %)"}
		}
		for _, rival := range r.Against {
			e := rival.Error
			if rival.RMSE != nil {
				e = rival.RMSE
			}
			row := []string{rival.Name, e.Text()}
			if r.Binary != nil {
				row = append(row, rival.AUC.Text(), rival.AUCGain.Text())
			}
			t.Rows = append(t.Rows, row)
		}
		if rare { // the error says little, and stands last
			for _, row := range append(t.Rows, t.Head) {
				row[1], row[2], row[3] = row[2], row[3], row[1]
			}
		}
		all = append(all, t)
	}
	if b := r.Binary; b != nil {
		c := b.Confusion
		all = append(all, table{
			Title: fmt.Sprintf("At the threshold %s (%s)", figures.Number(b.Threshold), b.Rule),
			Head:  []string{"", "said " + b.Classes[0], "said " + b.Classes[1]},
			Rows: [][]string{
				{"are " + b.Classes[0], fmt.Sprint(c.TrueNegatives), fmt.Sprint(c.FalsePositives)},
				{"are " + b.Classes[1], fmt.Sprint(c.FalseNegatives), fmt.Sprint(c.TruePositives)},
			},
		})
		t := table{Title: "Tenths of the rows, the highest scores first", Head: []string{"tenth", "rows", b.Classes[1],
			"share (95 %)", "lift"}}
		for i, g := range b.Lift {
			t.Rows = append(t.Rows, []string{fmt.Sprint(i + 1), fmt.Sprint(g.Rows), fmt.Sprintf("%.4g", g.Positives),
				g.Share.Text(), fmt.Sprintf("%.2f", g.Lift)})
		}
		if b.Shared() {
			t.Note = figures.SharedWords
		}
		all = append(all, t)
	}
	if s := r.Several; s != nil {
		t := table{Title: "Classes", Head: []string{"class", "rows", "recall (95 %)", "precision (95 %)"}}
		for _, c := range s.Classes {
			t.Rows = append(t.Rows, []string{c.Name, fmt.Sprint(c.Rows), c.Recall.Text(), c.Precision.Text()})
		}
		confusion := table{Title: "What rows were said to be", Head: []string{""}}
		for _, c := range s.Classes {
			confusion.Head = append(confusion.Head, "said "+c.Name)
			row := []string{"are " + c.Name}
			for _, n := range c.Said {
				row = append(row, fmt.Sprint(n))
			}
			confusion.Rows = append(confusion.Rows, row)
		}
		all = append(all, t, confusion)
	}
	return all
}

// Drawing is a drawing with the words around it.
type Drawing struct {
	Title   string
	SVG     template.HTML
	Caption string
}

// The size of a drawing, in pixels: the field inside the axes, and its margins.
const (
	field  = 300.0
	left   = 64.0
	below  = 44.0
	above  = 10.0
	beside = 16.0
)

// canvas collects the elements of a drawing whose axes run from low to high.
type canvas struct {
	b          strings.Builder
	low, right float64
	top        float64 // of an axis from 0
}

// at returns the place of a point, inside the field.
func (c *canvas) at(x, y float64) (px, py float64) {
	x = min(max((x-c.low)/(c.right-c.low), 0), 1)
	y = min(max(y/c.top, 0), 1)
	return left + field*x, above + field*(1-y)
}

// line draws a line through points.
func (c *canvas) line(class string, points [][2]float64) {
	var text []string
	for _, p := range points {
		x, y := c.at(p[0], p[1])
		text = append(text, fmt.Sprintf("%.1f,%.1f", x, y))
	}
	fmt.Fprintf(&c.b, "<polyline class=\"%s\" points=\"%s\"/>\n", class, strings.Join(text, " "))
}

// svg closes a drawing: axes with five ticks each, and what they are of.
func (c *canvas) svg(title, across, up string) template.HTML {
	var b strings.Builder
	fmt.Fprintf(&b, "<svg viewBox=\"0 0 %g %g\" role=\"img\"><title>%s</title>\n", left+field+beside, above+field+below,
		html.EscapeString(title))
	fmt.Fprintf(&b, "<rect class=\"frame\" x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\"/>\n", left, above, field, field)
	for i := range 5 {
		part := float64(i) / 4
		x, y := left+field*part, above+field*(1-part)
		fmt.Fprintf(&b, "<text class=\"mark\" text-anchor=\"middle\" x=\"%.1f\" y=\"%.1f\">%.2g</text>\n", x,
			above+field+17, c.low+part*(c.right-c.low))
		fmt.Fprintf(&b, "<text class=\"mark\" text-anchor=\"end\" x=\"%.1f\" y=\"%.1f\">%.2g</text>\n", left-6, y+4,
			part*c.top)
	}
	fmt.Fprintf(&b, "<text text-anchor=\"middle\" x=\"%g\" y=\"%g\">%s</text>\n", left+field/2, above+field+37,
		html.EscapeString(across))
	fmt.Fprintf(&b, "<text text-anchor=\"middle\" transform=\"translate(13 %g) rotate(-90)\">%s</text>\n", above+field/2,
		html.EscapeString(up))
	return template.HTML(b.String() + c.b.String() + "</svg>")
}

// Drawings are ROC, calibration and distribution of scores, with the classes of Style.
func Drawings(b *figures.Binary) []Drawing {
	var all []Drawing
	diagonal := [][2]float64{{0, 0}, {1, 1}}
	if last := b.Cuts[len(b.Cuts)-1]; b.AUC != nil {
		c := &canvas{right: 1, top: 1}
		c.line("diagonal", diagonal)
		var points [][2]float64
		for _, cut := range b.Cuts {
			points = append(points, [2]float64{cut.False / last.False, cut.True / last.True})
		}
		c.line("curve", points)
		f := b.Confusion
		x, y := c.at(float64(f.FalsePositives)/last.False, float64(f.TruePositives)/last.True)
		fmt.Fprintf(&c.b, "<circle class=\"dot\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>\n", x, y)
		all = append(all, Drawing{
			"ROC", c.svg("ROC curve", "false alarms", "recall"),
			fmt.Sprintf("What share of the rows that are %s is found, and what share of the others is said to be so: at every "+
				"threshold, and as a dot at %s. The area below is the AUC, %.4f.", b.Classes[1], figures.Number(b.Threshold),
				b.AUC.Value),
		})
	}
	if len(b.Calibration) > 0 {
		top := 0.0
		for _, bin := range b.Calibration {
			top = max(top, bin.Probability, bin.Share.Interval[1])
		}
		top = min(1, math.Ceil(10*top)/10)
		c := &canvas{right: top, top: top}
		c.line("diagonal", diagonal)
		for _, bin := range b.Calibration {
			c.line("range", [][2]float64{{bin.Probability, bin.Share.Interval[0]}, {bin.Probability, bin.Share.Interval[1]}})
			x, y := c.at(bin.Probability, bin.Share.Value)
			fmt.Fprintf(&c.b, "<circle class=\"dot\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>\n", x, y)
		}
		all = append(all, Drawing{
			"Calibration", c.svg("Calibration", "probability that was said", "share that came"),
			"Tenths of the rows by probability, with 95 % intervals: on the line what was said came true.",
		})
	}
	h, most, bins := b.Distribution, 1e-9, float64(len(b.Distribution.Negatives))
	counts := func(n []int) (shares []float64) {
		all := 0
		for _, k := range n {
			all += k
		}
		for _, k := range n {
			shares = append(shares, float64(k)/float64(max(all, 1)))
		}
		return shares
	}
	negatives, positives := counts(h.Negatives), counts(h.Positives)
	for i := range negatives {
		most = max(most, negatives[i], positives[i])
	}
	c := &canvas{low: h.Low, right: h.High, top: most}
	for k, shares := range [][]float64{negatives, positives} {
		var points [][2]float64
		for i, s := range shares {
			for _, edge := range []int{i, i + 1} {
				points = append(points, [2]float64{h.Low + (h.High-h.Low)*float64(edge)/bins, s})
			}
		}
		c.line([]string{"others", "curve"}[k], points)
	}
	if b.Threshold >= h.Low && b.Threshold <= h.High {
		c.line("diagonal", [][2]float64{{b.Threshold, 0}, {b.Threshold, c.top}})
	}
	return append(all, Drawing{
		"Scores", c.svg("Distribution of scores", "score", "share of the class's rows"),
		fmt.Sprintf("Strong: rows that are %s. Faint: the others. The dashed line is the threshold.", b.Classes[1]),
	})
}
