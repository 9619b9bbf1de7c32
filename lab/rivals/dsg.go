package rivals

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/hanse-project/hanse/algorithms/kernel"
)

// DSG is doubly stochastic gradient descent in a kernel's function space with all columns in one place (Dai et al.,
// "Scalable kernel methods via doubly stochastic gradients", NIPS 2014, Algorithms 1 and 2), in blocks: an iteration
// takes a batch of rows and a block of new random features. With a constant step it is what FDSKL's parties compute
// together (FDSKL, Lemma 3).
type DSG struct {
	Loss   kernel.Loss
	Lambda float64 // of (lambda/2)|f|^2

	// Step returns gamma of iteration t, counted from 0.
	Step func(t int) float64
	// Pick returns the rows of iteration t.
	Pick func(t int) []int
	// Draw appends the frequencies of features [first, first+n) to omega, [column][feature] in radians for a unit of
	// the column, and returns their phases in radians.
	Draw func(first, n int, omega [][]float64) (phases []float64)

	Block int // features of an iteration

	rows   *Rows
	labels []float64
	omega  [][]float64 // [column][feature]
	phase  []float64
	alpha  []float64
}

// Start prepares to learn from rows with labels.
func (d *DSG) Start(rows *Rows, labels []float64) {
	d.rows, d.labels = rows, labels
	d.omega, d.phase, d.alpha = make([][]float64, rows.Columns), nil, nil
}

// Iterate makes iteration t: scores of the batch by all features so far, one gradient by the new block, and less of
// what was before.
func (d *DSG) Iterate(t int) {
	batch, gamma, first := d.Pick(t), d.Step(t), len(d.alpha)
	slopes := make([]float64, len(batch))
	for b, j := range batch {
		f := floats.Dot(d.alpha, d.features(d.rows, j, first))
		slopes[b] = d.Loss.Derivative(f, d.labels[j]) / float64(len(batch))
	}
	floats.Scale(1-gamma*d.Lambda, d.alpha)
	d.phase = append(d.phase, d.Draw(first, d.Block, d.omega)...)
	d.alpha = append(d.alpha, make([]float64, d.Block)...)
	for b, j := range batch {
		phi := d.featuresFrom(d.rows, j, first, first+d.Block)
		floats.AddScaled(d.alpha[first:], -gamma/float64(d.Block)*slopes[b], phi)
	}
}

// features returns the first n features of a row.
func (d *DSG) features(rows *Rows, i, n int) []float64 { return d.featuresFrom(rows, i, 0, n) }

// featuresFrom returns sqrt(2) cos(omega . x + b) of row i for the features [lo, hi).
func (d *DSG) featuresFrom(rows *Rows, i, lo, hi int) []float64 {
	phi := append([]float64(nil), d.phase[lo:hi]...)
	columns, values := rows.At(i)
	for k, c := range columns {
		floats.AddScaled(phi, values[k], d.omega[c][lo:hi])
	}
	for k, angle := range phi {
		phi[k] = math.Sqrt2 * math.Cos(angle)
	}
	return phi
}

// Scores returns f of each row of a table with the columns learned from.
func (d *DSG) Scores(rows *Rows) []float64 {
	scores := make([]float64, rows.Len())
	for i := range scores {
		scores[i] = floats.Dot(d.alpha, d.features(rows, i, len(d.alpha)))
	}
	return scores
}

// Alpha returns the coefficients, one for each feature so far.
func (d *DSG) Alpha() []float64 { return d.alpha }

// Constant is the step of FDSKL (Algorithm 1).
func Constant(gamma float64) func(int) float64 { return func(int) float64 { return gamma } }

// Diminishing is the step of Dai et al. (section 5, theta/t): gamma up to iteration turn or so, then falling like
// 1/t.
func Diminishing(gamma, turn float64) func(int) float64 {
	return func(t int) float64 { return gamma / (1 + float64(t)/turn) }
}
