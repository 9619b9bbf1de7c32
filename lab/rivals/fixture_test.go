package rivals

import (
	"math"
	"math/rand/v2"

	"github.com/hanse-project/hanse/algorithms/kernel"
)

// matrixOf makes a part of dense columns from rows of numbers.
func matrixOf(rows [][]float64, names ...string) *kernel.Matrix {
	m := &kernel.Matrix{Rows: len(rows), Dense: names, Starts: make([]uint32, len(rows)+1)}
	for _, row := range rows {
		m.Values = append(m.Values, row...)
	}
	return m
}

// world draws rows of three parties' columns, two each, some of them 0, with labels of a function that is not linear.
func world(n int, seed uint64) (parts []*kernel.Matrix, labels []float64) {
	rng := rand.New(rand.NewPCG(seed, 0))
	columns := make([][][]float64, 3)
	for range n {
		sum := 0.0
		for p := range columns {
			row := make([]float64, 2)
			for c := range row {
				if rng.IntN(3) > 0 {
					row[c] = rng.NormFloat64()
				}
				sum += math.Sin(2*row[c]) + 0.3*row[c]
			}
			columns[p] = append(columns[p], row)
		}
		labels = append(labels, math.Copysign(1, sum+0.2*rng.NormFloat64()))
	}
	for p, rows := range columns {
		parts = append(parts, matrixOf(rows, []string{"a", "c", "e"}[p], []string{"b", "d", "f"}[p]))
	}
	return parts, labels
}

// each makes Rows of every part.
func each(parts []*kernel.Matrix) []*Rows {
	var rows []*Rows
	for _, p := range parts {
		rows = append(rows, Stack(p))
	}
	return rows
}
