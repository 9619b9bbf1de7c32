package figures

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"

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
func Share(hits, rows float64) *Estimate {
	if rows <= 0 {
		return nil
	}
	p := hits / rows
	middle := (hits + z*z/2) / (rows + z*z)
	half := z * math.Sqrt(rows) / (rows + z*z) * math.Sqrt(p*(1-p)+z*z/(4*rows))
	return &Estimate{p, &Interval{max(0, min(middle-half, p)), min(1, max(middle+half, p))}}
}

// The bootstrap's size and its public seed.
const (
	resamples     = 1000
	leastSamples  = 200
	resampledRows = 100_000_000  // of all resamples together: more than 100,000 rows are resampled less often
	seedOfSamples = 0x68616e7365 // "hanse"
)

// bootstrap draws rows with replacement, many times, and returns the middle 95 % of what some statistics come to. of
// writes them; counts says how often each row was drawn. NaN is a statistic that such rows do not have. A statistic
// that fewer than half of the draws have gets no interval.
func bootstrap(rows, statistics int, of func(counts []int32, out []float64)) []*Interval {
	n := max(leastSamples, min(resamples, resampledRows/max(rows, 1)))
	found := make([][]float64, n)
	const workers = 4
	counts := make([][]int32, workers)
	// A worker's memory is its own, and a resample's draws follow from its number.
	_ = parallel.Each(workers, n, func(worker, i int) error {
		if counts[worker] == nil {
			counts[worker] = make([]int32, rows)
		}
		drawn := counts[worker]
		clear(drawn)
		rng := rand.New(rand.NewPCG(seedOfSamples, uint64(i)))
		for range drawn {
			drawn[rng.IntN(rows)]++
		}
		found[i] = make([]float64, statistics)
		of(drawn, found[i])
		return nil
	})
	intervals := make([]*Interval, statistics)
	for s := range intervals {
		var values []float64
		for _, f := range found {
			if !math.IsNaN(f[s]) {
				values = append(values, f[s])
			}
		}
		if 2*len(values) < n {
			continue
		}
		slices.Sort(values)
		intervals[s] = &Interval{
			stat.Quantile(0.025, stat.LinInterp, values, nil), stat.Quantile(0.975, stat.LinInterp, values, nil),
		}
	}
	return intervals
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
