package lbfgs

import (
	"context"

	"gonum.org/v1/gonum/floats"
)

// Oracle answers for the function to be minimised. All parties of a split run must get the same
// values and sums, to the bit. One Evaluate and one Dots follow each other in turn.
type Oracle interface {
	// Evaluate returns the function's value at the point of which alpha is the own part, and
	// writes the own part of the gradient. A value that is not finite says that the point is too
	// far out; an error ends the run.
	Evaluate(ctx context.Context, alpha, gradient []float64) (value float64, err error)
	// Dots returns the inner product of each pair, summed over the parties' parts. There are at
	// most MaxDots(history) pairs.
	Dots(ctx context.Context, pairs []Pair) (sums []float64, err error)
}

// MaxDots returns the most inner products that a run with the given history asks for at once:
// those of a new step, change and gradient with each other and with the pairs that are kept.
func MaxDots(history int) int { return 6 * history }

// Pair is the own parts, of equal length, of two vectors.
type Pair struct{ A, B []float64 }

// Dot returns the own part's share of the inner product.
func (p Pair) Dot() float64 { return floats.Dot(p.A, p.B) }

// Func is an Oracle for a run in one process: it writes the gradient and returns the value.
type Func func(alpha, gradient []float64) float64

// Evaluate implements Oracle.
func (f Func) Evaluate(ctx context.Context, alpha, gradient []float64) (float64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return f(alpha, gradient), nil
}

// Dots implements Oracle.
func (f Func) Dots(_ context.Context, pairs []Pair) ([]float64, error) {
	sums := make([]float64, len(pairs))
	for i, p := range pairs {
		sums[i] = p.Dot()
	}
	return sums, nil
}
