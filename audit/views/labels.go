package views

import (
	"context"
	"fmt"
	"math"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/trace"
	"github.com/hanse-project/hanse/audit/attack"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/protocol/contract"
)

// What a signal must reach for labels to have leaked: a correlation of some use, and far beyond chance.
const (
	labelCorrelation = 0.1
	labelChance      = 1e-6
	leastLabels      = 20 // rows
)

// Signals that a passive party has of every row.
const (
	signalTiming = "time that the row's sums took"
	signalCount  = "number of sums that the row was in"
	signalPlace  = "place of the row in its sums"
	signalWord   = "first word about the row"
	signalOrder  = "place of the row in the table"
)

// labelLeakage correlates what a party without labels saw with the labels: timing, the choice of rows and
// masked words. The order of the rows is there for comparison: every party knows it from its own table,
// and what goes with the labels no better than that tells nothing new.
func (t *attempts) labelLeakage(ctx context.Context) (finding.Attack, error) {
	a := finding.Attack{Name: "label leakage", Party: t.Name(), View: "passive party", Verdict: finding.Skipped}
	if t.In.Contract.Job.Task == contract.TaskPredict {
		a.Verdict, a.Detail = finding.NotApplicable, "no labels take part in a prediction"
		return a, nil
	}
	labels := t.labels()
	if labels == nil {
		a.Detail = "not tried: the labels are needed, which the active party's table holds"
		return a, nil
	}
	if len(labels) < leastLabels {
		a.Detail = fmt.Sprintf("not tried: %d rows are too few for a correlation", len(labels))
		return a, nil
	}
	r, err := attack.Labels(ctx, t.signals(), labels, 1)
	if err != nil {
		return a, err
	}
	a.Rows, a.Verdict = r.Rows, finding.Clean
	a.Detail = "neither the timing of sums nor masked words go with the labels"
	known := 0.0
	for _, s := range r.Signals { // the strongest first
		strength := max(math.Abs(s.Pearson), math.Abs(s.Rank))
		switch {
		case s.Name == signalOrder:
			known = strength
		case a.Statistic == nil:
			a.Statistic = &strength
			judgeSignal(&a, s, strength, known)
		}
	}
	return a, nil
}

// judgeSignal judges the strongest signal; known is what the order of the rows tells when it tells more.
func judgeSignal(a *finding.Attack, s attack.LabelSignal, strength, known float64) {
	a.Detail += fmt.Sprintf(": correlation %.3f at most", strength)
	switch {
	case strength <= labelCorrelation || s.Tail >= labelChance:
	case known > 0:
		a.Detail = fmt.Sprintf("the %s goes with the labels (correlation %.2f), as the order of the rows "+
			"does (%.2f), which every party has in its own table", s.Name, strength, known)
	default:
		a.Verdict = finding.Leak
		a.Detail = fmt.Sprintf("the %s goes with the labels: correlation %.2f, by chance p = %.1g", s.Name, strength, s.Tail)
	}
}

// labels returns the labels of the sampled rows, nil when they are not all known.
func (t *attempts) labels() []float64 {
	for _, c := range t.In.Columns {
		if c == nil || c.Labels == nil {
			continue
		}
		var labels []float64
		for _, j := range t.active.rows {
			if math.IsNaN(c.Labels[j]) {
				return nil
			}
			labels = append(labels, c.Labels[j])
		}
		return labels
	}
	return nil
}

// signals lists what the party saw of each sampled row.
func (t *attempts) signals() map[string][]float64 {
	rows := t.active.rows
	order := make([]float64, len(rows))
	for k, j := range rows {
		order[k] = float64(j)
	}
	signals := map[string][]float64{signalOrder: order, signalTiming: means(t.clock.took, t.clock.timed)}
	if t.params.Schedule == fdskl.DoublyStochastic {
		signals[signalCount] = t.clock.sums
		signals[signalPlace] = means(t.clock.before, t.clock.sums)
	}
	if equations, whole := t.parent.whole(); len(whole) == len(rows) {
		signals[signalWord] = t.parent.values[equations[0]]
	}
	return signals
}

// clock notes, by sampled row, in which sums it was and how long they took: from the beginning of one to
// that of the next in the same session.
type clock struct {
	since  int64     // Unix nanoseconds: when the sum under way began
	open   []int     // sampled rows in it
	took   []float64 // seconds, over all sums that have one behind them
	timed  []float64 // how many those are
	sums   []float64 // how many sums the row was in
	before []float64 // shares of the sums' rows that came before it, over all sums
}

// newClock starts a clock for so many rows.
func newClock(rows int) *clock {
	return &clock{took: make([]float64, rows), timed: make([]float64, rows), sums: make([]float64, rows),
		before: make([]float64, rows)}
}

// start notes that a sum of angles begins; place has the sampled rows.
func (c *clock) start(time int64, angles []trace.Angle, place map[int]int) {
	for _, k := range c.open {
		c.took[k] += float64(time-c.since) / 1e9
		c.timed[k]++
	}
	c.stop()
	c.since = time
	row := -1
	for i, a := range angles {
		if a.Row == row {
			continue
		}
		row = a.Row
		if k, ok := place[row]; ok {
			c.open = append(c.open, k)
			c.sums[k]++
			c.before[k] += float64(i) / float64(len(angles))
		}
	}
}

// stop forgets the sum under way.
func (c *clock) stop() { c.open = c.open[:0] }

// means divides totals by counts, 0 where there is nothing.
func means(totals, counts []float64) []float64 {
	list := make([]float64, len(totals))
	for k, n := range counts {
		if n > 0 {
			list[k] = totals[k] / n
		}
	}
	return list
}
