package rivals

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/hanse-project/hanse/algorithms/kernel"
)

// FDSVRG is variance-reduced stochastic descent of a linear logistic model whose columns several parties hold (Zhang,
// Zhao, Gao and Li, "Feature-distributed SVRG for high-dimensional linear classification", 2018, Algorithm 1).
// Party l
// keeps w^l; all that parties tell each other are sums over them of w^l . x_i^l, one number for a row. It minimises
//
//	mean_i log(1 + exp(-y_i w . x_i)) + (lambda/2) |w|^2
type FDSVRG struct {
	Lambda float64
	Step   float64 // 0: a quarter of 1/L, L the largest curvature of one row's loss
	Epochs int     // full gradients
	Inner  int     // steps after each; 0: as many as rows
	Seed   uint64  // of which rows are picked, the same at all parties

	Weights [][]float64 // of each party, once trained
	Sums    int         // numbers that were summed over the parties
}

// Train learns from the parties' columns of the same rows.
func (f *FDSVRG) Train(parts []*Rows, labels []float64) {
	n := parts[0].Len()
	step, inner := f.Step, f.Inner
	if step == 0 {
		step = 0.25 / (f.Lambda + largestSquare(parts)/4)
	}
	if inner == 0 {
		inner = n
	}
	rng := rand.New(rand.NewPCG(f.Seed, 0))
	f.Weights, f.Sums = nil, 0
	for _, p := range parts {
		f.Weights = append(f.Weights, make([]float64, p.Columns))
	}
	for range f.Epochs {
		slopes := make([]float64, n) // at the weights that the epoch begins with
		full := make([][]float64, len(parts))
		for i := range slopes {
			slopes[i] = kernel.Logistic.Derivative(f.sum(parts, i), labels[i])
		}
		for l, p := range parts {
			full[l] = make([]float64, p.Columns)
			for i, g := range slopes {
				addRow(full[l], p, i, g/float64(n))
			}
		}
		for range inner {
			i := rng.IntN(n)
			g := kernel.Logistic.Derivative(f.sum(parts, i), labels[i])
			for l, p := range parts { // each party for itself
				floats.Scale(1-step*f.Lambda, f.Weights[l])
				floats.AddScaled(f.Weights[l], -step, full[l])
				addRow(f.Weights[l], p, i, -step*(g-slopes[i]))
			}
		}
	}
}

// sum is w . x_i, a sum over the parties.
func (f *FDSVRG) sum(parts []*Rows, i int) float64 {
	f.Sums++
	total := 0.0
	for l, p := range parts {
		total += p.Dot(i, f.Weights[l])
	}
	return total
}

// Scores returns w . x of rows with the parties' columns.
func (f *FDSVRG) Scores(parts []*Rows) []float64 {
	scores := make([]float64, parts[0].Len())
	for i := range scores {
		scores[i] = f.sum(parts, i)
	}
	return scores
}

// addRow adds a multiple of row i to a vector.
func addRow(out []float64, r *Rows, i int, factor float64) {
	columns, values := r.At(i)
	for k, c := range columns {
		out[c] += factor * values[k]
	}
}

// largestSquare returns the largest |x_i|^2.
func largestSquare(parts []*Rows) float64 {
	most := 0.0
	for i := range parts[0].Len() {
		sum := 0.0
		for _, p := range parts {
			sum += square(p, i)
		}
		most = math.Max(most, sum)
	}
	return most
}
