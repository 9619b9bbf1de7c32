package kernel

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"

	"github.com/hanse-project/hanse/algorithms/kernel/cholesky"
	"github.com/hanse-project/hanse/internal/parallel"
	"github.com/hanse-project/hanse/internal/raced"
	"github.com/hanse-project/hanse/secagg/ring"
)

// Curvature is the second derivative of a mean of losses over random features, at one point:
//
//	H = 1/N sum_j c_j v_j v_j^T + lambda diag(1, ..., 1, 0),   v_j = (phi_j / sqrt(D), 1),
//
// where rows with c_j = 0 are left out. As in a Gram, cosines are whole numbers; here they are first multiplied by the
// root of c_j. H is positive definite however they are rounded, and its sums are exact: until it is factorised, its
// bits are the same on every machine.
type Curvature struct {
	Table    *Table
	Features int     // D, two for each angle
	Rows     int     // N
	Top      float64 // c_j is this times the square of the row's root
	Lambda   float64
	Workers  int
}

// CurvedRow is a row that H counts.
type CurvedRow struct {
	Turns []uint16
	Root  float64 // of c_j / Top, from 0 to 1
}

// leastLambda bounds lambda in H from below: it keeps rounding, about 2^-53 D, from making H indefinite.
const leastLambda = 1e-11

// one is 1 in whole numbers.
const one = 1 << wholeBits

// Step returns the d that minimises gradient . d + d . H d / 2, the intercept's number last. The matrix that it
// factorises has as many rows as there are features or, where these are fewer, rows that count. The result does not
// depend on the number of workers.
func (c *Curvature) Step(gradient []float64, rows []CurvedRow) ([]float64, error) {
	if len(gradient) != c.Features+1 {
		return nil, fmt.Errorf("the gradient has %d numbers for %d features and an intercept", len(gradient), c.Features)
	}
	lambda := max(c.Lambda, leastLambda)
	if len(rows) < c.Features {
		return c.byRows(gradient, rows, lambda)
	}
	return c.byFeatures(gradient, rows, lambda)
}

// scaled writes the whole numbers of a row's features, stride places from one to the next, and returns that of the 1.
func (c *Curvature) scaled(dst []int16, stride int, r CurvedRow) int16 {
	for i, turn := range r.Turns {
		pair := c.Table.whole[turn]
		if r.Root != 1 {
			pair[0] = int16(math.RoundToEven(mul(float64(pair[0]), r.Root)))
			pair[1] = int16(math.RoundToEven(mul(float64(pair[1]), r.Root)))
		}
		dst[2*i*stride], dst[(2*i+1)*stride] = pair[0], pair[1]
	}
	return int16(math.RoundToEven(one * r.Root))
}

// units returns what products of whole numbers count in H: of two features, of a feature and the 1, of two 1.
func (c *Curvature) units() (both, mixed, last float64) {
	unit := math.Sqrt2 / math.Sqrt(float64(c.Features))
	last = c.Top / float64(c.Rows) / (one * one)
	return mul(mul(unit, unit), last), mul(unit, last), last
}

// without returns the right side for the features where the intercept is eliminated: column and all are the sums of
// products of the features and the 1, and of the 1 with itself.
func (c *Curvature) without(gradient, column []float64, all float64) []float64 {
	_, mixed, last := c.units()
	d := c.Features
	step := make([]float64, d+1)
	for i, v := range column {
		step[i] = mul(mul(mixed, v), gradient[d]/mul(last, all)) - gradient[i]
	}
	return step
}

// intercept fills in the step's last number from the others.
func (c *Curvature) intercept(step, gradient, column []float64, all float64) {
	_, mixed, last := c.units()
	d := c.Features
	step[d] = -(gradient[d] + mul(mixed, blas64.Dot(vector(column), vector(step[:d])))) / mul(last, all)
}

// symmetric makes a symmetric n by n matrix, of which entries writes row i from the diagonal on, solves it for the
// right side b and leaves the solution there.
func (c *Curvature) symmetric(n int, b []float64, entries func(i int, row []float64)) error {
	a := cholesky.New(n)
	a.Fill(c.Workers, entries)
	if !a.Factorise(c.Workers) {
		return fmt.Errorf("the second derivative is not positive definite at lambda %v: raise lambda", c.Lambda)
	}
	a.Solve(b)
	return nil
}

// byFeatures solves for the features, the intercept eliminated.
func (c *Curvature) byFeatures(gradient []float64, rows []CurvedRow, lambda float64) ([]float64, error) {
	d, width := c.Features, c.Features+1
	sums := make([]int64, width*(width+1)/2)
	block := make([]int16, min(len(rows), gramRows)*width)
	for lo := 0; lo < len(rows); lo += gramRows {
		some := rows[lo:min(lo+gramRows, len(rows))]
		parallel.All(c.Workers, len(some), func(r int) {
			row := block[r*width:][:width]
			row[d] = c.scaled(row, 1, some[r])
		})
		ring.AddSquares16(sums, block[:len(some)*width], width, c.Workers)
	}
	column, all := make([]float64, d), float64(sums[len(sums)-1])+1 // more than 0, were every root rounded to 0
	for i := range column {
		column[i] = float64(sums[ring.PairIndex(i, d, width)])
	}
	both, _, _ := c.units()
	step := c.without(gradient, column, all)
	if err := c.symmetric(d, step[:d], func(i int, row []float64) {
		mean := column[i] / all
		for j, sum := range sums[ring.PairIndex(i, i, width):][:d-i] {
			row[j] = mul(both, float64(sum)-mul(mean, column[i+j]))
		}
		row[0] += lambda
	}); err != nil {
		return nil, err
	}
	c.intercept(step, gradient, column, all)
	return step, nil
}

// byRows solves for the rows, which is the same by the identity of Woodbury: with the rows B of which the weighted mean
// is taken off, as many as c_j says,
//
//	(u B^T B + lambda)^-1 b  =  (b - u B^T (u B B^T + lambda)^-1 B b) / lambda.
func (c *Curvature) byRows(gradient []float64, rows []CurvedRow, lambda float64) ([]float64, error) {
	d, n := c.Features, len(rows)
	roots := make([]float64, n)
	whole := make([]int16, d*n) // a feature's numbers one behind the other
	parallel.All(c.Workers, n, func(r int) { roots[r] = float64(c.scaled(whole[r:], n, rows[r])) })
	times := func(x []float64) []float64 { // the rows times x
		out := make([]float64, n)
		for i, v := range x {
			addWhole(out, whole[i*n:][:n], v)
		}
		return out
	}
	transposed := func(y []float64) []float64 { // y times the rows
		out := make([]float64, d)
		parallel.All(c.Workers, d, func(i int) {
			out[i] = dotWhole(whole[i*n:][:n], y)
		})
		return out
	}
	column, square := transposed(roots), floats.Dot(roots, roots)
	all := square + 1
	both, _, _ := c.units()
	step := c.without(gradient, column, all)

	// (1 - beta s s^T), where s are the roots, takes the mean off: its square is 1 - s s^T / all.
	beta := (1 - 1/math.Sqrt(all)) / max(1, square)
	centre := func(y []float64) { floats.AddScaled(y, -beta*floats.Dot(y, roots), roots) }
	sums := make([]int64, n*(n+1)/2)
	ring.AddSquares16(sums, whole, n, c.Workers)
	products := times(column) // of the rows' products with each other and s
	middle := beta * beta * floats.Dot(products, roots)
	z := times(step[:d])
	centre(z)
	if err := c.symmetric(n, z, func(i int, row []float64) {
		for j, sum := range sums[ring.PairIndex(i, i, n):][:n-i] {
			ends := mul(roots[i], products[i+j]) + mul(products[i], roots[i+j])
			row[j] = mul(both, float64(sum)-mul(beta, ends)+mul(middle, mul(roots[i], roots[i+j])))
		}
		row[0] += lambda
	}); err != nil {
		return nil, err
	}
	centre(z)
	floats.AddScaled(step[:d], -both, transposed(z))
	floats.Scale(1/lambda, step[:d])
	c.intercept(step, gradient, column, all)
	return step, nil
}

// addWhole adds x times whole numbers to dst.
//
//go:norace
func addWhole(dst []float64, whole []int16, x float64) {
	raced.Read(whole)
	raced.Write(dst)
	for i, w := range whole {
		dst[i] += mul(float64(w), x)
	}
}

// dotWhole returns the sum of the products of whole numbers and y's, the first ones first.
//
//go:norace
func dotWhole(whole []int16, y []float64) (sum float64) {
	raced.Read(whole)
	raced.Read(y)
	for i, w := range whole {
		sum += mul(float64(w), y[i])
	}
	return sum
}
