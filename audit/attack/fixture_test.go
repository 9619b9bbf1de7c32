package attack

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/testnet/needs"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// planted is a view made from known columns.
type planted struct {
	System
	columns *mat.Dense // rows by unknowns: the truth
	shift   []float64
	share   float64 // of the differences to row 0 that wrap
}

func (p *planted) truth(j int, x []float64) { copy(x, p.columns.RawRowView(j)) }

// mixed makes columns as people have them: groups of one-hot columns of unequal sizes and skewed
// shares, and every fifth column a number in [0, 1].
func mixed(rng *rand.Rand, rows, unknowns int) *mat.Dense {
	x := mat.NewDense(rows, unknowns, nil)
	for c := 0; c < unknowns; {
		size := min(2+rng.IntN(14), unknowns-c)
		if rng.IntN(3) == 0 || size < 2 {
			for j := range rows {
				x.Set(j, c, math.Pow(rng.Float64(), 2))
			}
			c++
			continue
		}
		for j := range rows {
			x.Set(j, c+int(float64(size)*math.Pow(rng.Float64(), 2)), 1)
		}
		c += size
	}
	return x
}

// gaussian draws the design of a Gaussian kernel of width sigma.
func gaussian(rng *rand.Rand, equations, unknowns int, sigma float64) *mat.Dense {
	a := mat.NewDense(equations, unknowns, nil)
	for i := range equations {
		for c := range unknowns {
			a.Set(i, c, rng.NormFloat64()/(2*math.Pi*sigma))
		}
	}
	return a
}

// plant makes a view of columns: 16-bit turns, or exact numbers when exact.
func plant(rng *rand.Rand, design, columns *mat.Dense, exact bool) *planted {
	equations, _ := design.Dims()
	rows, _ := columns.Dims()
	p := &planted{columns: columns, shift: make([]float64, equations)}
	for i := range p.shift {
		p.shift[i] = rng.Float64()
	}
	var angles, values mat.Dense
	angles.Mul(columns, design.T())
	values.CloneFrom(&angles)
	wrapped := 0
	for j := range rows {
		for i, s := range p.shift {
			if math.Abs(angles.At(j, i)-angles.At(0, i)) > 0.5 {
				wrapped++
			}
			values.Set(j, i, rounded(angles.At(j, i)+s, exact))
		}
	}
	p.share = float64(wrapped) / float64((rows-1)*equations)
	p.System = System{Design: design, Rows: rows, Wrapped: !exact,
		Row: func(j int, dst []float64) { copy(dst, values.RawRowView(j)) }}
	if !exact {
		p.Noise = 1.0 / 65536
	}
	return p
}

// rounded is a value as 16-bit turns carry it, or as it is.
func rounded(v float64, exact bool) float64 {
	if exact {
		return v
	}
	return wrap(math.Round(v*65536) / 65536)
}

// adult reads the first rows of a9a, all columns but those of the first of four parties.
func adult(t testing.TB, rows int) *mat.Dense {
	t.Helper()
	table, err := dataset.Read(needs.Data(t, "a9a.gz"), dataset.Options{})
	must(t, err)
	features := table.Without("label").Columns
	features = features[len(features)/4:]
	x := mat.NewDense(rows, len(features), nil)
	for c, column := range features {
		for j := range rows {
			x.Set(j, c, column.Values[j])
		}
	}
	return x
}

// must ends the test on an error.
func must(t rapid.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
