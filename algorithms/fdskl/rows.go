package fdskl

import (
	"github.com/hanse-project/hanse/algorithms/kernel"
)

// eachInRow calls f with every design column of row j that is not zero and its value; dense columns are
// numbered first, then binary ones.
func eachInRow(m *kernel.Matrix, j int, f func(column int, value float64)) {
	d := len(m.Dense)
	for c, v := range m.Values[j*d : (j+1)*d] {
		if v != 0 {
			f(c, v)
		}
	}
	for _, c := range m.Set[m.Starts[j]:m.Starts[j+1]] {
		f(d+int(c), 1)
	}
	for _, s := range m.Strays {
		if int(s.Row) == j {
			f(d+int(s.Binary), s.Value)
		}
	}
}

// squaredDistance returns |x_i - x_j|^2 over the columns of a matrix.
func squaredDistance(m *kernel.Matrix, i, j int) float64 {
	diff := make([]float64, len(m.Dense)+len(m.Binary))
	eachInRow(m, i, func(c int, v float64) { diff[c] += v })
	eachInRow(m, j, func(c int, v float64) { diff[c] -= v })
	var sum float64
	for _, v := range diff {
		sum += v * v
	}
	return sum
}
