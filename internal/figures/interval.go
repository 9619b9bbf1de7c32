package figures

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/hanse-project/hanse/internal/parallel"
)

// z is the 97.5 % quantile of the normal distribution.
const z = 1.959963984540054

// Interval is a 95 % interval: its lower and its upper end.
type Interval [2]float64

// Contains reports whether x lies in the interval.
func (i Interval) Contains(x float64) bool { return i[0] <= x && x <= i[1] }

// Estimate is a figure with its 95 % interval, nil where there is none.
type Estimate struct {
	Value    float64   `json:"value"`
	Interval *Interval `json:"interval_95,omitempty"`
}

// Share returns the share of hits among rows with Wilson's interval (1927; Brown, Cai, DasGupta, Statistical Science
// 16, 2001, equation 4), nil of no rows. Hits need be no whole number: rows with equal scores share theirs.
func Share(hits, rows float64) *Estimate { return wilson(hits, rows, z) }

// wilson is Share with another quantile than the normal distribution's.
func wilson(hits, rows, quantile float64) *Estimate {
	if rows <= 0 {
		return nil
	}
	p, q := hits/rows, quantile*quantile
	middle := (hits + q/2) / (rows + q)
	half := quantile * math.Sqrt(rows) / (rows + q) * math.Sqrt(p*(1-p)+q/(4*rows))
	return &Estimate{p, &Interval{max(0, min(middle-half, p)), min(1, max(middle+half, p))}}
}

// student is the 97.5 % quantile of the t distribution.
func student(freedom float64) float64 { return distuv.StudentsT{Sigma: 1, Nu: freedom}.Quantile(0.975) }

// The bootstrap's size and its public seed.
const (
	resamples     = 1000
	leastSamples  = 200
	resampledRows = 100_000_000  // of all resamples together: more than 100,000 rows are resampled less often
	seedOfSamples = 0x68616e7365 // "hanse"
)

// Resamples is how often so many rows are drawn anew for an interval.
func Resamples(rows int) int { return max(leastSamples, min(resamples, resampledRows/max(rows, 1))) }

// Draw says how often each row is drawn in one resample.
func Draw(counts []int32, resample int) {
	clear(counts)
	rng := rand.New(rand.NewPCG(seedOfSamples, uint64(resample)))
	for range counts {
		counts[rng.IntN(len(counts))]++
	}
}

// bootstrap draws rows with replacement, many times, and returns what some statistics come to, sorted. of writes them;
// counts says how often each row was drawn. NaN is a statistic that such rows do not have: one that fewer than half of
// the draws have is nil.
func bootstrap(rows, statistics int, of func(counts []int32, out []float64)) [][]float64 {
	n := Resamples(rows)
	found := make([][]float64, n)
	const workers = 4
	counts := make([][]int32, workers)
	// A worker's memory is its own, and a resample's draws follow from its number.
	_ = parallel.Each(workers, n, func(worker, i int) error {
		if counts[worker] == nil {
			counts[worker] = make([]int32, rows)
		}
		drawn := counts[worker]
		Draw(drawn, i)
		found[i] = make([]float64, statistics)
		of(drawn, found[i])
		return nil
	})
	values := make([][]float64, statistics)
	for s := range values {
		for _, f := range found {
			if !math.IsNaN(f[s]) {
				values[s] = append(values[s], f[s])
			}
		}
		if 2*len(values[s]) < n {
			values[s] = nil
		}
		slices.Sort(values[s])
	}
	return values
}

// ordered sorts rows of two numbers each, in place: what is drawn of them does not depend on the order in which they
// came.
func ordered(a, b []float64) {
	rows := make([][2]float64, len(a))
	for i := range rows {
		rows[i] = [2]float64{a[i], b[i]}
	}
	slices.SortFunc(rows, func(x, y [2]float64) int { return slices.Compare(x[:], y[:]) })
	for i, row := range rows {
		a[i], b[i] = row[0], row[1]
	}
}

// measured is a statistic of rows and its standard error.
type measured struct{ value, err float64 }

// studentised returns statistics with the interval of the studentised bootstrap (Efron, Tibshirani, An Introduction to
// the Bootstrap, 1993, chapter 12.5; Davison, Hinkley, Bootstrap Methods and their Application, 1997, equation 5.7):
// the quantiles are those of the distance to the rows' own value, in standard errors of the rows drawn. Where a few
// rows make most of a statistic, the middle of what the draws come to is too narrow, and lies too low. A statistic
// that is NaN is nil.
func studentised(rows, statistics int, of func(counts []int32, out []measured)) []*Estimate {
	ones := make([]int32, rows)
	for i := range ones {
		ones[i] = 1
	}
	whole := make([]measured, statistics)
	of(ones, whole)
	distances := bootstrap(rows, statistics, func(counts []int32, out []float64) {
		drawn := make([]measured, statistics)
		of(counts, drawn)
		for s, d := range drawn {
			out[s] = math.NaN()
			if d.err > 1e-9*whole[s].err {
				out[s] = (d.value - whole[s].value) / d.err
			}
		}
	})
	estimates := make([]*Estimate, statistics)
	for s, w := range whole {
		if math.IsNaN(w.value) {
			continue
		}
		estimates[s] = &Estimate{Value: w.value}
		switch d := distances[s]; {
		case w.err == 0: // all rows say the same
			estimates[s].Interval = &Interval{w.value, w.value}
		case d != nil:
			estimates[s].Interval = &Interval{
				min(w.value, w.value-w.err*stat.Quantile(0.975, stat.LinInterp, d, nil)),
				max(w.value, w.value-w.err*stat.Quantile(0.025, stat.LinInterp, d, nil)),
			}
		}
	}
	return estimates
}

// mean is the mean of rows drawn so often, and its standard error. They are summed as distances from about.
func mean(counts []int32, values []float64, about float64) measured {
	var rows, sum, squares float64
	for i, c := range counts {
		w, d := float64(c), values[i]-about
		rows += w
		sum += w * d
		squares += w * d * d
	}
	sum /= rows
	return measured{about + sum, math.Sqrt(max(0, squares/rows-sum*sum) / (rows - 1))}
}

// mapped returns an estimate of a rising function of what was estimated, nil of nil.
func (e *Estimate) mapped(f func(float64) float64) *Estimate {
	if e == nil {
		return nil
	}
	m := &Estimate{Value: f(e.Value)}
	if e.Interval != nil {
		m.Interval = &Interval{f(e.Interval[0]), f(e.Interval[1])}
	}
	return m
}

// within is an estimate whose interval is cut to [low, high].
func (e *Estimate) within(low, high float64) *Estimate {
	if e != nil && e.Interval != nil {
		e.Interval = &Interval{max(low, e.Interval[0]), min(high, e.Interval[1])}
	}
	return e
}

// finite refuses columns of different lengths, none at all, and numbers that are none.
func finite(columns ...[]float64) error {
	if len(columns[0]) == 0 {
		return fmt.Errorf("there are no rows to make figures of")
	}
	for _, c := range columns {
		if len(c) != len(columns[0]) {
			return fmt.Errorf("there are %d labels and %d scores: want one for each row", len(columns[0]), len(c))
		}
		for i, x := range c {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return fmt.Errorf("row %d has the label or score %v: want a finite number", i+1, x)
			}
		}
	}
	return nil
}
