package rivals

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/hanse-project/hanse/algorithms/kernel"
)

// Rows is a table of numbers by rows, of which only what is not 0 is kept.
type Rows struct {
	Columns int
	starts  []int // [rows+1]: row i has the entries from starts[i] to starts[i+1]
	index   []int32
	value   []float64
}

// Stack puts the columns of parts with the same rows side by side.
func Stack(parts ...*kernel.Matrix) *Rows {
	r := &Rows{starts: []int{0}}
	for _, p := range parts {
		r.Columns += p.Columns()
	}
	for i := range parts[0].Rows {
		first := 0
		for _, p := range parts {
			p.EachInRow(i, func(c int, v float64) {
				r.index, r.value = append(r.index, int32(first+c)), append(r.value, v)
			})
			first += p.Columns()
		}
		r.starts = append(r.starts, len(r.index))
	}
	return r
}

// Len returns the number of rows.
func (r *Rows) Len() int { return len(r.starts) - 1 }

// At returns the columns of row i that are not 0, and their values.
func (r *Rows) At(i int) ([]int32, []float64) {
	lo, hi := r.starts[i], r.starts[i+1]
	return r.index[lo:hi], r.value[lo:hi]
}

// Dot returns the inner product of row i with a vector of r.Columns numbers.
func (r *Rows) Dot(i int, w []float64) float64 {
	sum := 0.0
	columns, values := r.At(i)
	for k, c := range columns {
		sum += w[c] * values[k]
	}
	return sum
}

// Select returns the given rows, in their order.
func (r *Rows) Select(rows []int) *Rows {
	s := &Rows{Columns: r.Columns, starts: []int{0}}
	for _, i := range rows {
		columns, values := r.At(i)
		s.index, s.value = append(s.index, columns...), append(s.value, values...)
		s.starts = append(s.starts, len(s.index))
	}
	return s
}

// WithOnes returns the rows with one more column, the last, that is 1 everywhere: the intercept of a model that has
// none.
func (r *Rows) WithOnes() *Rows {
	s := &Rows{Columns: r.Columns + 1, starts: []int{0}}
	for i := range r.Len() {
		columns, values := r.At(i)
		s.index, s.value = append(append(s.index, columns...), int32(r.Columns)), append(append(s.value, values...),
			1)
		s.starts = append(s.starts, len(s.index))
	}
	return s
}

// scatter writes row i into a vector of r.Columns numbers that is 0 elsewhere; clear(out) takes it back.
func (r *Rows) scatter(i int, out []float64) {
	columns, values := r.At(i)
	for k, c := range columns {
		out[c] = values[k]
	}
}

// Errors returns the share of scores that are on the wrong side of 0: labels are -1 and +1, and a score of 0 counts
// as -1.
func Errors(scores, labels []float64) float64 {
	wrong := 0
	for i, f := range scores {
		if (f > 0) != (labels[i] > 0) {
			wrong++
		}
	}
	return float64(wrong) / float64(len(labels))
}

// medianPairs is how many pairs of rows MedianDistance looks at.
const medianPairs = 1000

// MedianDistance returns the median distance of pairs of rows drawn by a seed, a usual width of a kernel; 1 if most
// rows are equal.
func MedianDistance(r *Rows, seed uint64) float64 {
	rng := rand.New(rand.NewPCG(seed, 0x6d656469616e)) // "median"
	squares := make([]float64, medianPairs)
	x := make([]float64, r.Columns)
	for k := range squares {
		i, j := rng.IntN(r.Len()), rng.IntN(r.Len())
		r.scatter(i, x)
		squares[k] = square(r, i) + square(r, j) - 2*r.Dot(j, x)
		clear(x)
	}
	slices.Sort(squares)
	if squares[medianPairs/2] <= 0 {
		return 1
	}
	return math.Sqrt(squares[medianPairs/2])
}
