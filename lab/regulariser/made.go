package regulariser

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
)

// recipe makes a small set.
type recipe struct {
	name          string
	rows, columns int
	target        string
	value         func(x []float64, rng *rand.Rand) float64 // of a row; its sign is the class
}

// made lists the small sets: a few hundred rows each.
func made() []recipe {
	return []recipe{
		{"linear with noise", 300, 8, joint.Regression, func(x []float64, rng *rand.Rand) float64 {
			return 2*x[0] - x[1] + 0.5*x[2] + 0.5*x[3] + 1.5*rng.NormFloat64()
		}},
		{"nonlinear", 400, 5, joint.Regression, func(x []float64, rng *rand.Rand) float64 {
			return math.Sin(3*x[0]) + x[1]*x[2] + 0.05*rng.NormFloat64()
		}},
		{"mostly noise", 300, 20, joint.Classification, func(x []float64, rng *rand.Rand) float64 {
			return 0.5*x[0] + 0.3*x[1] + rng.NormFloat64()
		}},
		{"wide", 200, 120, joint.Regression, func(x []float64, rng *rand.Rand) float64 {
			s := 0.0
			for _, v := range x[:10] {
				s += v
			}
			return s + rng.NormFloat64()
		}},
		{"two classes", 500, 6, joint.Classification, func(x []float64, rng *rand.Rand) float64 {
			return math.Hypot(x[0], x[1]) - 1.2 + 0.2*rng.NormFloat64()
		}},
	}
}

// testRows is how many rows a made set is tested on.
const testRows = 4000

// draw draws a set.
func (r recipe) draw(seed uint64) *split {
	rng := rand.New(rand.NewPCG(seed, uint64(r.rows)))
	all := r.rows + testRows
	columns := make([]kernel.Column, r.columns)
	for i := range columns {
		columns[i] = kernel.Column{Name: fmt.Sprint("x", i), Values: make([]float64, all)}
	}
	y, x := make([]float64, all), make([]float64, r.columns)
	for j := range all {
		for i := range x {
			x[i] = rng.NormFloat64()
			columns[i].Values[j] = x[i]
		}
		y[j] = r.value(x, rng)
		if r.target == joint.Classification {
			y[j] = math.Copysign(1, y[j])
		}
	}
	c, err := cutNumbers(columns, y, r.rows)
	if err != nil {
		panic(err) // numbers that vary
	}
	if r.target == joint.Classification {
		c.target, c.y, c.truth = r.target, y[:r.rows], y[r.rows:]
	}
	return c
}

// cutNumbers normalises the columns of rows by those that are for training, the first so many, and so the numbers that
// are learned.
func cutNumbers(columns []kernel.Column, y []float64, train int) (*split, error) {
	c := &split{target: joint.Regression}
	var mean, squares float64
	for _, v := range y[:train] {
		mean += v / float64(train)
	}
	for _, v := range y[:train] {
		squares += (v - mean) * (v - mean) / float64(train)
	}
	for _, v := range y {
		c.y = append(c.y, (v-mean)/math.Sqrt(squares))
	}
	c.y, c.truth = c.y[:train], c.y[train:]
	of := func(lo, hi int) []kernel.Column {
		var some []kernel.Column
		for _, column := range columns {
			some = append(some, kernel.Column{Name: column.Name, Values: column.Values[lo:hi]})
		}
		return some
	}
	n, err := kernel.Fit(of(0, train), nil, kernel.FitOptions{Numeric: kernel.Standard, DropConstant: true})
	if err != nil {
		return nil, err
	}
	c.scales = []*kernel.Normaliser{n}
	for _, part := range []struct {
		to     *[]*kernel.Matrix
		lo, hi int
	}{{&c.train, 0, train}, {&c.test, train, len(y)}} {
		m, err := n.Apply(of(part.lo, part.hi))
		if err != nil {
			return nil, err
		}
		*part.to = []*kernel.Matrix{m}
	}
	return c, nil
}
