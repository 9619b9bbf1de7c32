package regulariser

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/hanse-project/hanse/algorithms/fdskl"
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
		{"linear with noise", 300, 8, fdskl.Regression, func(x []float64, rng *rand.Rand) float64 {
			return 2*x[0] - x[1] + 0.5*x[2] + 0.5*x[3] + 1.5*rng.NormFloat64()
		}},
		{"nonlinear", 400, 5, fdskl.Regression, func(x []float64, rng *rand.Rand) float64 {
			return math.Sin(3*x[0]) + x[1]*x[2] + 0.05*rng.NormFloat64()
		}},
		{"mostly noise", 300, 20, fdskl.Classification, func(x []float64, rng *rand.Rand) float64 {
			return 0.5*x[0] + 0.3*x[1] + rng.NormFloat64()
		}},
		{"wide", 200, 120, fdskl.Regression, func(x []float64, rng *rand.Rand) float64 {
			s := 0.0
			for _, v := range x[:10] {
				s += v
			}
			return s + rng.NormFloat64()
		}},
		{"two classes", 500, 6, fdskl.Classification, func(x []float64, rng *rand.Rand) float64 {
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
		if r.target == fdskl.Classification {
			y[j] = math.Copysign(1, y[j])
		}
	}
	c := &split{target: r.target}
	if r.target == fdskl.Regression { // standardised by the training rows
		var mean, squares float64
		for _, v := range y[:r.rows] {
			mean += v / float64(r.rows)
		}
		for _, v := range y[:r.rows] {
			squares += (v - mean) * (v - mean) / float64(r.rows)
		}
		for j := range y {
			y[j] = (y[j] - mean) / math.Sqrt(squares)
		}
	}
	c.y, c.truth = y[:r.rows], y[r.rows:]
	of := func(lo, hi int) []kernel.Column {
		var some []kernel.Column
		for _, column := range columns {
			some = append(some, kernel.Column{Name: column.Name, Values: column.Values[lo:hi]})
		}
		return some
	}
	n, err := kernel.Fit(of(0, r.rows), nil, kernel.FitOptions{Numeric: kernel.Standard})
	if err != nil {
		panic(err) // numbers that vary
	}
	c.scales = []*kernel.Normaliser{n}
	for _, part := range []struct {
		to     *[]*kernel.Matrix
		lo, hi int
	}{{&c.train, 0, r.rows}, {&c.test, r.rows, all}} {
		m, err := n.Apply(of(part.lo, part.hi))
		if err != nil {
			panic(err)
		}
		*part.to = []*kernel.Matrix{m}
	}
	return c
}
