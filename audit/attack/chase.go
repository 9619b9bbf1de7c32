package attack

import (
	"cmp"
	"context"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// The attack tries probeRows rows first, the most promising ones, then stepRows at a time, and
// stops a round once a step solves less than one row in worthwhile. There are at most maxRounds
// rounds, and at most effort failures for each row, so that the attack ends.
const (
	probeRows  = 64
	stepRows   = 512
	worthwhile = 64
	maxRounds  = 64
	effort     = 6
)

// A design has heavy tails when a tenth of its equations have coefficients larger than heavyTail
// medians. Of such a design the unwrapping uses equations of up to calmTail medians.
const (
	heavyTail = 1.6
	calmTail  = 0.4
)

// chase solves rows from one that it calls the root, then rows near those that are solved, and so on.
type chase struct {
	view      *view
	basis     *basis
	calm      []int  // equations that the unwrapping uses
	calmBasis *basis // of those
	near      *neighbours
	root      int
	found     *mat.Dense // rows by unknowns: what was found of the difference to the root
	solved    []bool
	tried     []int // of each row: the row it was last tried from, -1 before
	rounds    int
	failures  int
	progress  func(solved, attacked int)
}

// newChase prepares an attack on a view.
func newChase(v *view, progress func(solved, attacked int)) (*chase, error) {
	b, err := newBasis(v.design)
	if err != nil {
		return nil, err
	}
	calm := calmEquations(v.design, b.rank())
	calmBasis, err := newBasis(rowsOf(v.design, calm))
	if err != nil {
		return nil, err
	}
	rows := len(v.rows)
	_, unknowns := v.design.Dims()
	c := &chase{
		view: v, basis: b, calm: calm, calmBasis: calmBasis, progress: progress,
		found: mat.NewDense(rows, unknowns, nil), solved: make([]bool, rows), tried: make([]int, rows),
	}
	for j := range c.tried {
		c.tried[j] = -1
	}
	return c, nil
}

// calmEquations returns the equations that the unwrapping uses, ascending: all of them or, of a
// design with heavy tails, the small ones, for the others wrap many times and say little.
func calmEquations(a *mat.Dense, rank int) []int {
	equations, _ := a.Dims()
	norms := make([]float64, equations)
	for i := range norms {
		norms[i] = mat.Norm(a.RowView(i), 2)
	}
	sorted := slices.Sorted(slices.Values(norms))
	median := sorted[equations/2]
	if sorted[equations*9/10] <= heavyTail*median {
		return smallest(a, equations)
	}
	limit := max(calmTail*median, sorted[min(2*rank+margin, equations)-1])
	return slices.DeleteFunc(smallest(a, equations), func(i int) bool { return norms[i] > limit })
}

// unknowns returns the number of unknown columns.
func (c *chase) unknowns() int { return c.view.design.RawMatrix().Cols }

// redundant reports whether there are so many equations that a solution proves itself.
func (c *chase) redundant() bool {
	return c.view.design.RawMatrix().Rows >= c.basis.rank()+margin
}

// run attacks until nothing more is solved.
func (c *chase) run(ctx context.Context) error {
	if !c.view.wrapped || !c.redundant() {
		return c.runOnce(ctx)
	}
	c.near = newNeighbours(c.view)
	c.root = c.near.centre()
	if err := c.mark(ctx, []int{c.root}); err != nil {
		return err
	}
	for c.rounds < maxRounds && c.failures <= effort*len(c.solved) {
		c.rounds++
		n, err := c.round(ctx)
		if err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
	}
	return nil
}

// runOnce solves all rows by least squares from the first.
func (c *chase) runOnce(ctx context.Context) error {
	zero := make([]float64, c.unknowns())
	solved, err := c.attempt(ctx, c.basis, c.open(), func(int) []float64 { return zero })
	if err != nil {
		return err
	}
	for _, j := range solved {
		c.solved[j] = true
	}
	c.solved[c.root] = c.redundant()
	return nil
}

// round tries all open rows from their nearest solved rows and, when that gains nothing, with what
// the solved rows teach about the columns. It returns how many rows it solved.
func (c *chase) round(ctx context.Context) (int, error) {
	n, err := c.sweep(ctx, c.calmBasis, c.fresh(), c.fromNearest)
	if err != nil || n > 0 {
		return n, err
	}
	learned, mean, err := c.learn()
	if err != nil || learned == nil {
		return 0, err
	}
	n, err = c.sweep(ctx, learned, c.open(), func(int) []float64 { return mean })
	if err != nil || n > 0 {
		return n, err
	}
	return c.sweep(ctx, learned, c.open(), c.fromNearest)
}

// fromNearest guesses that a row is its nearest solved row.
func (c *chase) fromNearest(j int) []float64 { return c.found.RawRowView(c.near.ref[j]) }

// sweep tries rows, those first that are nearest to a solved row.
func (c *chase) sweep(ctx context.Context, prior *basis, rows []int, guess func(j int) []float64) (int, error) {
	slices.SortStableFunc(rows, func(i, j int) int { return cmp.Compare(c.near.best[j], c.near.best[i]) })
	total := 0
	for step := probeRows; len(rows) > 0; step = stepRows {
		now := rows[:min(step, len(rows))]
		rows = rows[len(now):]
		solved, err := c.attempt(ctx, prior, now, guess)
		if err != nil {
			return total, err
		}
		if prior == c.calmBasis {
			for _, j := range now {
				c.tried[j] = c.near.ref[j]
			}
		}
		if err := c.mark(ctx, solved); err != nil {
			return total, err
		}
		total += len(solved)
		c.failures += len(now) - len(solved)
		if len(solved)*worthwhile < len(now) || c.failures > effort*len(c.solved) {
			break
		}
	}
	return total, nil
}

// mark notes that rows are solved.
func (c *chase) mark(ctx context.Context, rows []int) error {
	for _, j := range rows {
		c.solved[j] = true
	}
	if c.progress != nil {
		c.progress(len(c.solved)-len(c.open()), len(c.solved))
	}
	return c.near.solved(ctx, c.open(), rows)
}

// open returns the rows that are not solved.
func (c *chase) open() []int { return where(c.solved, false) }

// fresh returns the open rows that were not tried from their nearest solved row.
func (c *chase) fresh() []int {
	return slices.DeleteFunc(c.open(), func(j int) bool { return c.tried[j] == c.near.ref[j] })
}
