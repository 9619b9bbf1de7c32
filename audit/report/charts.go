package report

import (
	"fmt"
	"html/template"
	"strings"

	"github.com/hanse-project/hanse/audit"
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
func (a *artist) egress(r *audit.Report) *figure {
	bars, exceeded := egressBars(r)
	if len(bars) == 0 {
		return nil
	}
	const title = "Bytes sent, by party"
	caption := "Outlined: what the contract allows a party to send in one session. Filled: what it sent in the session that sent most."
	if exceeded {
		caption += " Red: some kind of message went over its budget; the table below says which."
	}
	return &figure{title, barChart(a.id(), title, caption, bars, round), caption}
}

// egressBars adds up the lines of every party, and tells whether one of them exceeds its budget.
func egressBars(r *audit.Report) (bars []bar, exceeded bool) {
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
func (a *artist) systems(r *audit.Report) *figure {
	var bars []bar
	seen := map[string]bool{}
	for _, t := range r.Attacks {
		who := viewer(t)
		if t.UnknownColumns <= 0 || t.Equations <= 0 || seen[who] {
			continue
		}
		seen[who] = true
		bars = append(bars,
			bar{label: who, note: plural(t.Equations, "equation", "equations") + ", " + count(t.UnknownColumns) + " unknown", value: float64(t.Equations), class: "fill"},
			bar{value: float64(t.UnknownColumns), class: "fill-pale", close: true})
	}
	if len(bars) == 0 {
		return nil
	}
	const title = "Equations against unknown columns, by view"
	return &figure{title, barChart(a.id(), title, "A pair of bars for each view: the equations it holds for every row, and the columns it does not know.", bars, nil),
		"Dark: the equations a view holds for every row. Pale: the columns it does not know. With as many equations as unknown columns, the differences between rows are determined. " +
			"That holds for values a party can read: under a mask every equation brings an unknown of its own, and a longer bar is of no use."}
}

// shares draws the share of rows an attack rebuilt next to its control; nil when there is none.
func (a *artist) shares(t audit.Attack) *figure {
	var bars []bar
	if present(t.RecoveredShare) {
		bars = append(bars, bar{label: "this run", note: percent(*t.RecoveredShare), value: *t.RecoveredShare, outline: 1, class: "fill"})
	}
	if present(t.ControlShare) {
		bars = append(bars, bar{label: "control: everything can be found", note: percent(*t.ControlShare), value: *t.ControlShare, outline: 1, class: "fill-pale"})
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
func (a *artist) errors(t audit.Attack) *figure {
	var bars []bar
	if present(t.RMS) {
		bars = append(bars, bar{label: "this run", note: number(*t.RMS), value: *t.RMS, class: "fill"})
	}
	if present(t.ControlRMS) {
		bars = append(bars, bar{label: "control: nothing to find", note: number(*t.ControlRMS), value: *t.ControlRMS, class: "fill-pale"})
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
