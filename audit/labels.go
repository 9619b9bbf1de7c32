package audit

import (
	"context"
	"fmt"
	"math"

	"github.com/hanse-project/hanse/audit/attack"
)

// What a signal must reach for labels to have leaked: a correlation of some use, and far beyond chance.
const (
	labelCorrelation = 0.1
	labelChance      = 1e-6
)

// Signals that a passive party has of every row.
const (
	signalTiming = "time that the row's sum took"
	signalWord   = "a masked word about the row"
	signalOrder  = "place of the row in the table"
)

// labelLeakage correlates what a party without labels saw with the labels: timing and masked words. The
// order of the rows is there for comparison: every party knows it from its own table.
func (f *follower) labelLeakage(ctx context.Context) (Attack, error) {
	a := Attack{Name: "label leakage", Party: f.name(), View: "passive party", Verdict: Skipped}
	labels := f.labels()
	if labels == nil {
		a.Detail = "not tried: the labels are needed, which the active party's table holds"
		return a, nil
	}
	r, err := attack.Labels(ctx, f.signals(), labels, 1)
	if err != nil {
		return a, err
	}
	a.Rows, a.Verdict = r.Rows, Clean
	a.Detail = "neither the timing of sums nor masked words go with the labels"
	for _, s := range r.Signals {
		strength := max(math.Abs(s.Pearson), math.Abs(s.Rank))
		if s.Name == signalOrder || a.Statistic != nil {
			continue
		}
		a.Statistic = &strength
		a.Detail += fmt.Sprintf(": correlation %.3f at most", strength)
		if strength > labelCorrelation && s.Tail < labelChance {
			a.Verdict = Leak
			a.Detail = fmt.Sprintf("the %s goes with the labels: correlation %.2f, by chance p = %.1g", s.Name, strength, s.Tail)
		}
	}
	return a, nil
}

// labels returns the labels of the sampled rows, nil when they are not all known.
func (f *follower) labels() []float64 {
	for _, c := range f.in.Columns {
		if c == nil || c.Labels == nil {
			continue
		}
		var labels []float64
		for _, j := range f.active.rows {
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
func (f *follower) signals() map[string][]float64 {
	rows := f.active.rows
	order, took := make([]float64, len(rows)), make([]float64, len(rows))
	durations := f.durations()
	for k, j := range rows {
		order[k], took[k] = float64(j), durations[j]
	}
	signals := map[string][]float64{signalOrder: order, signalTiming: took}
	if equations, whole := f.parent.whole(); len(whole) == len(rows) {
		signals[signalWord] = f.parent.values[equations[0]]
	}
	return signals
}

// durations returns, by row, the seconds from the beginning of its sum to that of the next.
func (f *follower) durations() map[int]float64 {
	took := make(map[int]float64)
	for i, t := range f.timing {
		var d float64
		if i+1 < len(f.timing) {
			d = float64(f.timing[i+1].time-t.time) / 1e9
		}
		for j := t.rows[0]; j <= t.rows[1]; j++ {
			took[j] = d
		}
	}
	return took
}
