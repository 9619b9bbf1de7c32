package attack

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Recovery is what the difference attack found. Fields marked "with truth" are zero when
// Options.Truth is nil.
type Recovery struct {
	Rows      int // rows attacked, the reference row included
	Reference int // the row of the system that differences are taken to
	Unknowns  int
	Equations int // used
	Available int // in the system
	Rank      int // of the design used
	// there are so many equations that a solution proves itself; false: Solved is 0 and what was found is the solution of
	// smallest norm
	Proved bool
	Solved float64 // share of the rows whose solution explains the values to their noise
	Rounds int

	// with truth: share of the rows, every column within 1 % of its range; the reference row does not count
	RecoveredShare float64
	RMS            float64        // with truth: over all cells, in units of the columns' ranges
	ControlRMS     float64        // with truth: the same against the truth of shuffled rows, what a guess gives
	ControlShare   float64        // with truth: share recovered against the truth of shuffled rows
	Columns        []ColumnResult // with truth: one for each unknown column
	Sample         [][2]float64   // with truth: up to 400 differences, true and found
}

// ColumnResult is how well one column was found.
type ColumnResult struct {
	Constant bool    // all rows attacked have the same value: there is nothing to find, RMS and R2 are 0
	RMS      float64 // of the differences, in units of the column's range
	R2       float64 // share of the variance that is explained; negative when a guess of the mean is better
}

// Difference attacks a view whose values share an unknown shift: differences of two rows do not
// contain it, and are linear in the differences of the columns, up to whole turns when the view is
// wrapped. It returns an error when the system has a wrong shape, a value is not finite, or ctx ends.
func Difference(ctx context.Context, s System, o Options) (*Recovery, error) {
	// Checks the shape of a system.
	if s.Design == nil {
		return nil, fmt.Errorf("difference attack: there is no design")
	}
	equations, unknowns := s.Design.Dims()
	switch {
	case equations > maxEquations:
		return nil, fmt.Errorf("difference attack: %d equations, want at most %d", equations, maxEquations)
	case unknowns > maxUnknowns:
		return nil, fmt.Errorf("difference attack: %d unknown columns, want at most %d", unknowns, maxUnknowns)
	case s.Rows < 2:
		return nil, fmt.Errorf("difference attack: %d rows, want at least 2", s.Rows)
	case s.Row == nil:
		return nil, fmt.Errorf("difference attack: there is no access to the values")
	case !(s.Noise >= 0 && s.Noise <= maxNoise):
		return nil, fmt.Errorf("difference attack: noise is %v turns, want 0 to %v", s.Noise, maxNoise)
	}
	if err := finiteDesign(s.Design); err != nil {
		return nil, err
	}
	v, err := newView(ctx, s, o)
	if err != nil {
		return nil, err
	}
	c, err := newChase(v, o.Progress)
	if err != nil {
		return nil, err
	}
	if err := c.run(ctx); err != nil {
		return nil, err
	}
	r := c.report(s)
	if o.Truth != nil {
		// Compares what was found with the truth.
		truth := c.truth(o.Truth)
		ranges := spans(truth)
		r.RecoveredShare, r.RMS, r.Columns = compareRows(c.found, truth, ranges, c.root, nil)
		shuffled := newRand(o.Seed, streamShuffle).Perm(len(c.view.rows))
		r.ControlShare, r.ControlRMS, _ = compareRows(c.found, truth, ranges, c.root, shuffled)
		r.Sample = sampleCells(c.found, truth, ranges, o.Seed)
	}
	return r, nil
}

// report says what the attacker knows of its success.
func (c *chase) report(s System) *Recovery {
	equations, unknowns := c.view.design.Dims()
	available, _ := s.Design.Dims()
	r := &Recovery{
		Rows: len(c.view.rows), Reference: c.view.rows[c.root], Unknowns: unknowns,
		Equations: equations, Available: available, Rank: c.basis.rank(), Proved: c.redundant(), Rounds: c.rounds,
	}
	solved := len(c.solved) - len(c.open())
	r.Solved = float64(max(solved-1, 0)) / float64(len(c.solved)-1)
	return r
}

// truth reads the real columns of the rows attacked, less those of the root.
func (c *chase) truth(read func(j int, x []float64)) *mat.Dense {
	x := mat.NewDense(len(c.view.rows), c.unknowns(), nil)
	for k, j := range c.view.rows {
		read(j, x.RawRowView(k))
	}
	root := append([]float64(nil), x.RawRowView(c.root)...)
	for k := range c.view.rows {
		row := x.RawRowView(k)
		for i := range row {
			row[i] -= root[i]
		}
	}
	return x
}

// spans returns the range of each column.
func spans(x *mat.Dense) []float64 {
	rows, n := x.Dims()
	lo, hi := make([]float64, n), make([]float64, n)
	for j := range rows {
		for i, v := range x.RawRowView(j) {
			lo[i], hi[i] = min(lo[i], v), max(hi[i], v) // the root's 0 is in every range
		}
	}
	for i := range hi {
		hi[i] -= lo[i]
	}
	return hi
}

// compareRows returns the share of rows recovered, the root excepted, the error over all cells, and
// the errors by column. Truth of row k is that of row order[k] when there is an order.
func compareRows(found, truth *mat.Dense, ranges []float64, root int, order []int) (float64, float64, []ColumnResult) {
	rows, n := found.Dims()
	recovered, sums := 0, make([]float64, n)
	for k := range rows {
		other := k
		if order != nil {
			other = order[k]
		}
		worst := addErrors(sums, found.RawRowView(k), truth.RawRowView(other), ranges)
		if worst <= 0.01 && k != root {
			recovered++
		}
	}
	all, cols := columnResults(sums, truth, ranges)
	return float64(recovered) / float64(rows-1), all, cols
}

// addErrors adds the squared errors of one row, in units of the ranges, and returns the largest error.
func addErrors(sums, found, truth, ranges []float64) float64 {
	worst := 0.0
	for i, r := range ranges {
		if r > 0 {
			e := math.Abs(found[i]-truth[i]) / r
			worst = max(worst, e)
			sums[i] += e * e
		}
	}
	return worst
}

// columnResults turns sums of squared errors into the errors over all cells and by column.
func columnResults(sums []float64, truth *mat.Dense, ranges []float64) (float64, []ColumnResult) {
	rows, n := truth.Dims()
	squares := mat.DenseCopyOf(truth)
	centreColumns(squares)
	cols := make([]ColumnResult, n)
	total, varying := 0.0, 0
	for i, r := range ranges {
		if r == 0 {
			cols[i].Constant = true
			continue
		}
		norm := mat.Norm(squares.ColView(i), 2) / r
		cols[i] = ColumnResult{RMS: math.Sqrt(sums[i] / float64(rows)), R2: 1 - sums[i]/(norm*norm)}
		total += sums[i]
		varying++
	}
	if varying == 0 {
		return 0, cols
	}
	return math.Sqrt(total / float64(rows*varying)), cols
}

// sampleCells draws up to 400 cells of columns that vary: true and found differences.
func sampleCells(found, truth *mat.Dense, ranges []float64, seed uint64) [][2]float64 {
	var varying []int
	for i, r := range ranges {
		if r > 0 {
			varying = append(varying, i)
		}
	}
	rows, _ := found.Dims()
	rng := newRand(seed, streamPlot)
	var out [][2]float64
	for range min(400, rows*len(varying)) {
		j, i := rng.IntN(rows), varying[rng.IntN(len(varying))]
		out = append(out, [2]float64{truth.At(j, i), found.At(j, i)})
	}
	return out
}
