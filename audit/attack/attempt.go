package attack

import (
	"context"
	"math"
	"slices"

	"github.com/hanse-project/hanse/internal/parallel"
	"gonum.org/v1/gonum/mat"
)

// batchRows is how many rows are worked on at once by one worker.
const batchRows = 128

// widest bounds what is believed of the variance of an unwrapped value, in squared turns. Beyond
// it a value modulo one turn says nothing.
const widest = 0.22

// attempt tries to solve rows, each from a guess of its unknown columns relative to the root, with
// beliefs about what the guess leaves open as in prior. It fills in what it found and returns the
// rows that are solved now.
func (c *chase) attempt(ctx context.Context, prior *basis, rows []int, guess func(j int) []float64) ([]int, error) {
	batches := (len(rows) + batchRows - 1) / batchRows
	solved := make([][]int, batches)
	err := parallel.Each(c.view.workers, batches, func(_, k int) error {
		if ctx.Err() == nil {
			solved[k] = c.attemptBatch(prior, rows[k*batchRows:min((k+1)*batchRows, len(rows))], guess)
		}
		return ctx.Err()
	})
	return slices.Concat(solved...), err
}

// attemptBatch is attempt for one batch.
func (c *chase) attemptBatch(prior *basis, rows []int, guess func(j int) []float64) []int {
	guesses := mat.NewDense(len(rows), c.unknowns(), nil)
	for k, j := range rows {
		copy(guesses.RawRowView(k), guess(j))
	}
	y := c.relative(rows, guesses)
	z := mat.DenseCopyOf(y)
	ok := c.basis.settle(z, c.view.wrapped, c.view.limit)
	solved, open := pick(rows, where(ok, true)), where(ok, false)
	if !c.redundant() || !c.view.wrapped {
		c.keep(rows, guesses, c.basis.solve(z))
		if !c.redundant() {
			return nil
		}
		return solved
	}
	for _, k := range open {
		clear(z.RawRowView(k))
	}
	c.keep(rows, guesses, c.basis.solve(z))
	if len(open) == 0 {
		return solved
	}
	return append(solved, c.unwrap(prior, pick(rows, open), rowsOf(guesses, open), rowsOf(y, open))...)
}

// unwrap goes on with the rows that least squares does not solve, those left out whose values, less
// the guess, are all over the circle. Of those that stay open it keeps what it believes, or the
// guess where it is certain and wrong.
func (c *chase) unwrap(prior *basis, rows []int, guesses, y *mat.Dense) []int {
	calm := columnsOf(y, c.calm)
	spread := spreads(calm)
	if hopeful := whereBelow(spread, widest); len(hopeful) < len(rows) {
		if len(hopeful) == 0 {
			return nil
		}
		return c.unwrap(prior, pick(rows, hopeful), rowsOf(guesses, hopeful), rowsOf(y, hopeful))
	}
	fit, sure := prior.unwrap(calm, spread)
	believed := c.calmBasis.solve(near(calm, fit))
	var all mat.Dense
	all.Mul(believed, c.view.design.T())
	z := near(y, &all)
	ok := c.basis.settle(z, true, c.view.limit)
	found, settled := c.calmBasis.solve(fit), c.basis.solve(z)
	for k := range rows {
		switch {
		case ok[k]:
			copy(found.RawRowView(k), settled.RawRowView(k))
		case sure[k]:
			clear(found.RawRowView(k))
		}
	}
	c.keep(rows, guesses, found)
	return pick(rows, where(ok, true))
}

// relative returns the values of rows less those of the root and of the guesses.
func (c *chase) relative(rows []int, guesses *mat.Dense) *mat.Dense {
	var y mat.Dense
	y.Mul(guesses, c.view.design.T())
	root := c.view.values.RawRowView(c.root)
	for k, j := range rows {
		dst := y.RawRowView(k)
		for i, v := range c.view.values.RawRowView(j) {
			dst[i] = v - root[i] - dst[i]
			if c.view.wrapped {
				dst[i] = wrap(dst[i])
			}
		}
	}
	return &y
}

// keep writes guess plus found for rows.
func (c *chase) keep(rows []int, guesses, found *mat.Dense) {
	for k, j := range rows {
		dst, g := c.found.RawRowView(j), guesses.RawRowView(k)
		for i, d := range found.RawRowView(k) {
			dst[i] = g[i] + d
		}
	}
}

// spreads estimates the variance of the unwrapped values of each row from the mean cosine of the
// wrapped ones, as if they were normal.
func spreads(y *mat.Dense) []float64 {
	rows, equations := y.Dims()
	out := make([]float64, rows)
	for j := range rows {
		sum := 0.0
		for _, v := range y.RawRowView(j) {
			sum += math.Cos(2 * math.Pi * v)
		}
		cosine := sum / float64(equations)
		out[j] = widest
		if cosine > 0 {
			out[j] = min(max(-math.Log(cosine)/(2*math.Pi*math.Pi), 1e-6), widest)
		}
	}
	return out
}

// where returns the indices at which a value stands.
func where(list []bool, value bool) []int {
	var at []int
	for i, v := range list {
		if v == value {
			at = append(at, i)
		}
	}
	return at
}

// whereBelow returns the indices of the values below a bound.
func whereBelow(list []float64, bound float64) []int {
	var at []int
	for i, v := range list {
		if v < bound {
			at = append(at, i)
		}
	}
	return at
}

// pick returns the elements at some indices.
func pick(list, at []int) []int {
	out := make([]int, len(at))
	for k, i := range at {
		out[k] = list[i]
	}
	return out
}
