package fdskl

import (
	"gonum.org/v1/gonum/floats"

	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/keys"
)

// omega holds one part's frequencies for a run of features in double precision: one slice over
// the features for every column. It serves where features grow or angles are reals; the fixed
// masked schedule uses kernel.Map.
type omega struct {
	kernel  kernel.Kernel
	seed    kernel.Seed
	owner   keys.ID
	names   []string
	columns [][]float64 // [column][feature], in turns per unit
}

// newOmega prepares a part's frequencies; it holds no feature yet.
func newOmega(k kernel.Kernel, seed kernel.Seed, part Part) *omega {
	dense, binary := part.Normaliser.Names()
	names := append(append([]string(nil), dense...), binary...)
	return &omega{kernel: k, seed: seed, owner: part.Owner, names: names, columns: make([][]float64, len(names))}
}

// extend appends features [first, first+count).
func (o *omega) extend(first, count int) {
	draw := make([]float64, count)
	for c, name := range o.names {
		o.kernel.Draw(o.seed, o.owner, name, first, count, draw)
		o.columns[c] = append(o.columns[c], draw...)
	}
}

// addTo adds omega . x of row j of rows to out, in turns, for len(out) features from position from
// on.
func (o *omega) addTo(out []float64, from int, rows *kernel.Matrix, j int) {
	rows.EachInRow(j, func(c int, x float64) {
		floats.AddScaled(out, x, o.columns[c][from:from+len(out)])
	})
}
