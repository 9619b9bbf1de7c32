package attack

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"
)

// keyEquations is how many equations tell how near two rows are.
const keyEquations = 128

// neighbours knows how near rows are to each other: the mean cosine of the differences of their
// values, which the shift cancels in and whole turns do not change.
type neighbours struct {
	keys *mat.Dense // rows by cosines and sines of the values
	best []float64  // of each row: mean cosine to the nearest row that is solved
	ref  []int      // of each row: that row, -1 when there is none
}

// newNeighbours computes the keys of all rows.
func newNeighbours(v *view) *neighbours {
	equations := smallest(v.design, keyEquations)
	rows := len(v.rows)
	n := &neighbours{keys: mat.NewDense(rows, 2*len(equations), nil), best: make([]float64, rows), ref: make([]int, rows)}
	scale := 1 / math.Sqrt(float64(len(equations)))
	for j := range rows {
		n.best[j], n.ref[j] = math.Inf(-1), -1
		values, key := v.values.RawRowView(j), n.keys.RawRowView(j)
		for e, i := range equations {
			sin, cos := math.Sincos(2 * math.Pi * values[i])
			key[2*e], key[2*e+1] = scale*cos, scale*sin
		}
	}
	return n
}

// centre returns the row that is nearest to all others on the whole.
func (n *neighbours) centre() int {
	rows, width := n.keys.Dims()
	sum := mat.NewVecDense(width, nil)
	for j := range rows {
		sum.AddVec(sum, n.keys.RowView(j))
	}
	var near mat.VecDense
	near.MulVec(n.keys, sum)
	best := 0
	for j := range rows {
		if near.AtVec(j) > near.AtVec(best) {
			best = j
		}
	}
	return best
}

// solved tells the open rows of rows that were just solved.
func (n *neighbours) solved(ctx context.Context, open, solved []int) error {
	if len(solved) == 0 {
		return nil
	}
	targets := rowsOf(n.keys, solved)
	for from := 0; from < len(open); from += batchRows {
		if err := ctx.Err(); err != nil {
			return err
		}
		block := open[from:min(from+batchRows, len(open))]
		var near mat.Dense
		near.Mul(rowsOf(n.keys, block), targets.T())
		for k, j := range block {
			n.nearest(j, near.RawRowView(k), solved)
		}
	}
	return nil
}

// nearest keeps the nearest of some rows if it is nearer than the one before.
func (n *neighbours) nearest(j int, near []float64, rows []int) {
	for k, cosine := range near {
		if cosine > n.best[j] {
			n.best[j], n.ref[j] = cosine, rows[k]
		}
	}
}
