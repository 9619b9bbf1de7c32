package kernel

import (
	"fmt"
	"math"
	"slices"

	"github.com/hanse-project/hanse/algorithms/kernel/cholesky"
	"github.com/hanse-project/hanse/algorithms/parameters"
	"github.com/hanse-project/hanse/internal/parallel"
	"github.com/hanse-project/hanse/secagg/ring"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
)

// gramRows is the number of rows that are multiplied at once: as many as ring.AddSquares16 takes in one go. The result
// does not depend on it.
const gramRows = 510

// gramColumns is the number of features whose products with labels one worker adds up: these stay in the first cache.
const gramColumns = 256

// In a Gram cosines are whole numbers in units of 2^-wholeBits.
const wholeBits = 11

// MaxGram bounds the features of a Gram: its matrix then takes 1 GiB, and to solve the equations another.
const MaxGram = 16384

// MaxSides bounds the right sides of a Gram.
const MaxSides = 64

// Gram accumulates the normal equations of ridge regression on random features, row by row: sqrt(2) cos and sqrt(2) sin
// of each angle, one behind the other.
//
// Cosines are rounded to whole numbers of 12 bits with a sign, and sums of their products are exact: their bits are the
// same on every machine, with or without vector instructions, in any order of the rows. The rounding, at most 2^-12, is
// as that of the angles noise in the features, of variance 2^-24 / 3: next to N lambda it is nothing.
// Sums with labels are of floating point numbers, row after row. The result depends on the rows and their order alone,
// to the bit, and that of a right side not on the others.
type Gram struct {
	table    *Table
	features int // two for each angle
	sides    int // right sides
	rows     int
	sums     []int64   // upper triangle of A^T A, as of ring.AddSquares16: A is the whole numbers and a column of ones
	rights   []float64 // [sides][features + 1], A^T y
	block    []int16   // rows of A that are not in sums and rights yet
	labels   []float64 // of these rows, row-major [rows][sides]
}

// NewGram starts normal equations for the given number of features, even and up to 16,384. It takes
// about 4 features^2 bytes, and Solve as many again.
func NewGram(t *Table, features int) (*Gram, error) { return NewGramOf(t, features, 1) }

// NewGramOf is NewGram for several right sides, each with its own labels.
func NewGramOf(t *Table, features, sides int) (*Gram, error) {
	if features < 2 || features > MaxGram || features%2 != 0 {
		return nil, fmt.Errorf("%d features are out of range for the normal equations: want an even number from 2 to %d",
			features, MaxGram)
	}
	if sides < 1 || sides > MaxSides {
		return nil, fmt.Errorf("%d right sides are out of range for the normal equations: want 1 to %d", sides, MaxSides)
	}
	width := features + 1
	return &Gram{table: t, features: features, sides: sides, sums: make([]int64, width*(width+1)/2),
		rights: make([]float64, sides*width)}, nil
}

// Rows returns the number of rows added so far.
func (g *Gram) Rows() int { return g.rows }

// Add adds samples: turns is row-major [rows][features/2], labels row-major [rows][right sides] and finite.
func (g *Gram) Add(turns []uint16, labels []float64, workers int) error {
	each := g.features / 2 // angles of a row
	if len(turns)*g.sides != len(labels)*each {
		return fmt.Errorf("there are %d angles for %d labels: want %d for each", len(turns), len(labels)/g.sides, each)
	}
	if i := slices.IndexFunc(labels, func(y float64) bool { return !parameters.IsFinite(y) }); i >= 0 {
		return fmt.Errorf("label %d is %v: want a finite number", i+1, labels[i])
	}
	g.rows += len(labels) / g.sides
	for rows := len(labels) / g.sides; rows > 0; {
		n := min(rows, gramRows-len(g.labels)/g.sides)
		g.keep(turns[:n*each], labels[:n*g.sides], workers)
		turns, labels, rows = turns[n*each:], labels[n*g.sides:], rows-n
		if len(g.labels) == gramRows*g.sides {
			g.multiply(workers)
		}
	}
	return nil
}

// keep stores rows until there are enough of them.
func (g *Gram) keep(turns []uint16, labels []float64, workers int) {
	width, each, at, rows := g.features+1, g.features/2, len(g.block), len(labels)/g.sides
	g.block = slices.Grow(g.block, rows*width)[:at+rows*width]
	g.labels = append(g.labels, labels...)
	parts := min(max(1, workers), rows)
	parallel.All(workers, parts, func(part int) {
		for r := rows * part / parts; r < rows*(part+1)/parts; r++ {
			row := g.block[at+r*width:][:width]
			for i, turn := range turns[r*each:][:each] {
				*(*[2]int16)(row[2*i:]) = g.table.whole[turn]
			}
			row[g.features] = 1
		}
	})
}

// multiply adds the products of the rows that were kept.
func (g *Gram) multiply(workers int) {
	width := g.features + 1
	ring.AddSquares16(g.sums, g.block, width, workers)
	parallel.All(workers, (width+gramColumns-1)/gramColumns, func(part int) {
		lo, hi := part*gramColumns, min((part+1)*gramColumns, width)
		for r := 0; r < len(g.labels)/g.sides; r++ {
			row := g.block[r*width+lo : r*width+hi]
			for side, y := range g.labels[r*g.sides:][:g.sides] {
				sums := g.rights[side*width+lo:][:len(row)]
				for i, v := range row {
					sums[i] += mul(float64(v), y)
				}
			}
		}
	})
	g.block, g.labels = g.block[:0], g.labels[:0]
}

// Without returns the equations of the rows of g that are not rows of some, which must all be rows of g: sums with
// labels to the rounding of a difference.
func (g *Gram) Without(some *Gram, workers int) *Gram {
	g.multiply(workers)
	some.multiply(workers)
	rest := &Gram{table: g.table, features: g.features, sides: g.sides, rows: g.rows - some.rows,
		sums: slices.Clone(g.sums), rights: slices.Clone(g.rights)}
	for i, sum := range some.sums {
		rest.sums[i] -= sum
	}
	floats.Sub(rest.rights, some.rights)
	return rest
}

// Ridge is the solution of a regularised least squares problem: f(x) = Intercept + Alpha^T phi(x).
type Ridge struct {
	Alpha     []float64
	Intercept float64
}

// Solve minimises (1/N) sum_j (f(x_j) - y_j)^2 + lambda |alpha|^2 over alpha and the intercept,
// which is not penalised: (Phi_c^T Phi_c / N + lambda I) alpha = Phi_c^T y / N with centred
// columns. More rows may be added afterwards. The result does not depend on workers. Of several right sides it
// is the first one's.
func (g *Gram) Solve(lambda float64, workers int) (*Ridge, error) {
	all, err := g.SolveEach(lambda, workers)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// SolveEach is Solve for each right side, on one factorisation.
func (g *Gram) SolveEach(lambda float64, workers int) ([]*Ridge, error) {
	if !(lambda > 0) || !parameters.IsFinite(lambda) {
		return nil, fmt.Errorf("lambda is %v: want a positive number", lambda)
	}
	if g.rows < 2 {
		return nil, fmt.Errorf("%d rows are too few to fit anything: want at least two", g.rows)
	}
	g.multiply(workers)
	d, width, n := g.features, g.features+1, float64(g.rows)
	const unit = math.Sqrt2 / (1 << wholeBits) // what a whole number counts in units of features
	means := make([]float64, d)
	for i := range d {
		means[i] = float64(g.sums[ring.PairIndex(i, d, width)]) * unit / n
	}
	solutions := make([]*Ridge, g.sides)
	for side := range solutions {
		rights := g.rights[side*width:][:width]
		labels, meanY := make([]float64, d), rights[d]/n
		for i := range d {
			labels[i] = rights[i]*unit/n - mul(means[i], meanY)
		}
		solutions[side] = &Ridge{Alpha: labels, Intercept: meanY}
	}
	a := cholesky.New(d)
	a.Fill(workers, func(i int, row []float64) {
		for j, sum := range g.sums[ring.PairIndex(i, i, width):][:d-i] {
			row[j] = float64(sum)/(1<<(2*wholeBits-1))/n - mul(means[i], means[i+j])
		}
		row[0] += lambda
	})
	if !a.Factorise(workers) {
		return nil, fmt.Errorf("the normal equations are not positive definite at lambda %v: raise lambda", lambda)
	}
	for _, s := range solutions {
		a.Solve(s.Alpha)
		for i, v := range s.Alpha {
			if !parameters.IsFinite(v) {
				return nil, fmt.Errorf("coefficient %d came out as %v at lambda %v: raise lambda", i, v, lambda)
			}
		}
		s.Intercept -= blas64.Dot(vector(means), vector(s.Alpha))
	}
	return solutions, nil
}
