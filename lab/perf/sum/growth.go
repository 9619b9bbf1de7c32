package sum

import (
	"fmt"
	"math"
	"slices"

	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/lab/table"
	"github.com/hanse-project/hanse/secagg/cohort"
)

// sumGrowth is how the figures of one backend grow with the clients.
type sumGrowth struct {
	Backend  cohort.Backend `json:"backend"`
	Topology string         `json:"topology"`
	Words    int            `json:"words"`
	Clients  []int          `json:"clients"`
	Rows     []growthRow    `json:"rows"`
}

// growthRow is one figure: the exponent that was measured and, for masked sums, those that the formulas
// of the theory have over the same numbers of clients.
type growthRow struct {
	Figure   string  `json:"figure"`
	Exponent float64 `json:"exponent"` // least squares of the logarithms
	Bonawitz *theory `json:"bonawitz_2017,omitempty"`
	Bell     *theory `json:"bell_2020,omitempty"`
}

// theory is an order of growth in n clients and w words, and its exponent over the measured n.
type theory struct {
	Formula  string  `json:"formula"`
	Exponent float64 `json:"exponent"`
}

// order is a formula and its value, up to a constant.
type order struct {
	formula string
	of      func(n, w float64) float64
}

// growthFigure is a figure and what is known of it. Bonawitz et al. 2017 mask everybody against
// everybody, as cohorts do up to cohort.DefaultComplete clients; their server draws the masks between
// all drop-outs and all survivors at worst. Bell et al. 2020 draw a graph of O(log n) neighbours.
type growthFigure struct {
	name           string
	of             func(r *Result) float64
	bonawitz, bell order
}

// growthFigures lists the figures. The clients of a measurement share its cores, so that the seconds
// grow as the server's work and that of all clients together.
func growthFigures() []growthFigure {
	log := math.Log
	return []growthFigure{
		{
			"seconds", func(r *Result) float64 { return r.Seconds },
			order{"n^2 w + n (n^2 + n w)", func(n, w float64) float64 { return n*n*w + n*(n*n+n*w) }},
			order{"n (log^2 n + w log n)", func(n, w float64) float64 { return n * (log(n)*log(n) + w*log(n)) }},
		},
		{
			"bytes of a client", func(r *Result) float64 { return r.Bytes },
			order{"n + w", func(n, w float64) float64 { return n + w }},
			order{"log n + w", func(n, w float64) float64 { return log(n) + w }},
		},
		{
			"CPU of the server", func(r *Result) float64 { return r.ServerCPU },
			order{"n^2 w", func(n, w float64) float64 { return n * n * w }},
			order{"n log^2 n + n w log n", func(n, w float64) float64 { return n*log(n)*log(n) + n*w*log(n) }},
		},
		{
			"CPU of a client", func(r *Result) float64 { return r.ClientCPU / float64(r.Clients) },
			order{"n^2 + n w", func(n, w float64) float64 { return n*n + n*w }},
			order{"log^2 n + w log n", func(n, w float64) float64 { return log(n)*log(n) + w*log(n) }},
		},
	}
}

// sumGrowths fits the growth of all runs that differ in their clients alone.
func sumGrowths(runs []*Result) []sumGrowth {
	var all []sumGrowth
	for i, first := range runs {
		alike := func(r *Result) bool { return r.same(first, false, true) }
		if slices.ContainsFunc(runs[:i], alike) {
			continue
		}
		series := slices.DeleteFunc(slices.Clone(runs), func(r *Result) bool { return !alike(r) })
		if g := growthOf(series); slices.Min(g.Clients) < slices.Max(g.Clients) {
			all = append(all, g)
		}
	}
	return all
}

// growthOf fits the growth of one series.
func growthOf(series []*Result) sumGrowth {
	g := sumGrowth{Backend: series[0].Backend, Topology: series[0].Topology, Words: series[0].Words}
	for _, r := range series {
		g.Clients = append(g.Clients, r.Clients)
	}
	for _, f := range growthFigures() {
		row := growthRow{Figure: f.name, Exponent: fitted(series, f.of)}
		if g.Backend == cohort.Masked {
			row.Bonawitz, row.Bell = f.bonawitz.over(series), f.bell.over(series)
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

// over is the theory over a series.
func (o order) over(series []*Result) *theory {
	return &theory{o.formula, fitted(series, func(r *Result) float64 {
		return o.of(float64(r.Clients),
			float64(r.Words))
	})}
}

// fitted is the exponent of a figure against the clients.
func fitted(series []*Result, figure func(r *Result) float64) float64 {
	clients := lab.Each(series, func(r *Result) float64 { return float64(r.Clients) })
	return lab.Exponent(clients, lab.Each(series, figure))
}

// table lays the growth out, one row for each figure.
func (g sumGrowth) table() *table.Table {
	if g.Backend != cohort.Masked {
		t := table.New("figure", "exponent")
		for _, r := range g.Rows {
			t.Add(r.Figure, fmt.Sprintf("%.2f", r.Exponent))
		}
		return t
	}
	t := table.New("figure", "exponent", "Bonawitz 2017", "exponent", "Bell 2020", "exponent")
	for _, r := range g.Rows {
		t.Addf("%s|%.2f|%s|%.2f|%s|%.2f", r.Figure, r.Exponent, r.Bonawitz.Formula, r.Bonawitz.Exponent,
			r.Bell.Formula, r.Bell.Exponent)
	}
	return t
}
