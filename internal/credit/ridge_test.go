package credit

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/hanse-project/hanse/internal/dataset"
)

// design is the joined table of some parties as a model sees it: numbers scaled to [0, 1] by
// the training rows, categories one-hot, and a label of -1 or +1.
type design struct {
	train, test *mat.Dense
	y, yTest    []float64
}

// newDesign joins the parts by id and splits the rows three to one.
func newDesign(t testing.TB, parts []Part, label []float64, seed uint64) *design {
	t.Helper()
	var columns [][]float64
	for _, p := range parts {
		for _, c := range byID(p.Table).Without(Label).Columns {
			columns = append(columns, encode(c)...)
		}
	}
	train, test := dataset.SplitRows(len(label), 0.75, seed)
	for _, c := range columns {
		scale(c, train)
	}
	return &design{
		train: rows(columns, train), y: pick(label, train),
		test: rows(columns, test), yTest: pick(label, test),
	}
}

// scale maps a column in place so that the given rows fill [0, 1].
func scale(column []float64, rows []int) {
	known := pick(column, rows)
	low, high := slices.Min(known), slices.Max(known)
	for i, v := range column {
		column[i] = (v - low) / (high - low)
	}
}

// rows returns the given rows of the columns as a matrix.
func rows(columns [][]float64, which []int) *mat.Dense {
	x := mat.NewDense(len(which), len(columns), nil)
	for j, c := range columns {
		x.SetCol(j, pick(c, which))
	}
	return x
}

// pick returns the given elements.
func pick(from []float64, which []int) []float64 {
	out := make([]float64, len(which))
	for i, row := range which {
		out[i] = from[row]
	}
	return out
}

// byID sorts a table's rows by id.
func byID(t *dataset.Table) *dataset.Table {
	order := make([]int, t.Rows())
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(t.IDs[a], t.IDs[b]) })
	return t.Select(order)
}

// encode returns a numeric column as it is and a categorical one as a column for each level.
func encode(c dataset.Column) [][]float64 {
	if c.Kind == dataset.Numeric {
		return [][]float64{c.Values}
	}
	hot := make([][]float64, len(c.Levels))
	for l := range hot {
		hot[l] = make([]float64, len(c.Codes))
		for row, code := range c.Codes {
			if int(code) == l {
				hot[l][row] = 1
			}
		}
	}
	return hot
}

// linearError is the test error of least squares on the columns and a constant.
func (d *design) linearError(t testing.TB) float64 {
	return d.ridge(t, withConstant(d.train), withConstant(d.test), 1e-6)
}

// positives is the share of test rows with the label +1, the rarer one.
func (d *design) positives() float64 {
	n := 0
	for _, y := range d.yTest {
		if y > 0 {
			n++
		}
	}
	return float64(n) / float64(len(d.yTest))
}

// kernelError is the test error of ridge regression on random Fourier features of a Gaussian
// kernel (Rahimi and Recht 2007), with its width by the median heuristic.
func (d *design) kernelError(t testing.TB, features int, seed uint64) float64 {
	const lambda = 1e-5
	sigma := d.medianSigma(seed)
	draw := rand.New(rand.NewPCG(seed, 1))
	_, columns := d.train.Dims()
	omega := mat.NewDense(columns, features, nil)
	omega.Apply(func(_, _ int, _ float64) float64 { return draw.NormFloat64() / sigma }, omega)
	phase := make([]float64, features)
	for i := range phase {
		phase[i] = 2 * math.Pi * draw.Float64()
	}
	lift := func(x *mat.Dense) *mat.Dense {
		var z mat.Dense
		z.Mul(x, omega)
		z.Apply(func(_, j int, v float64) float64 {
			return math.Sqrt(2/float64(features)) * math.Cos(v+phase[j])
		}, &z)
		return withConstant(&z)
	}
	return d.ridge(t, lift(d.train), lift(d.test), lambda)
}

// medianSigma is the median distance of pairs of training rows.
func (d *design) medianSigma(seed uint64) float64 {
	draw := rand.New(rand.NewPCG(seed, 2))
	rows, _ := d.train.Dims()
	distances := make([]float64, 1001)
	for i := range distances {
		var diff mat.VecDense
		diff.SubVec(d.train.RowView(draw.IntN(rows)), d.train.RowView(draw.IntN(rows)))
		distances[i] = mat.Norm(&diff, 2)
	}
	slices.Sort(distances)
	return distances[len(distances)/2]
}

// ridge solves (XᵀX + n·lambda·I) w = Xᵀy and returns the share of test rows with the wrong sign.
func (d *design) ridge(t testing.TB, train, test *mat.Dense, lambda float64) float64 {
	t.Helper()
	rows, columns := train.Dims()
	var gram mat.SymDense
	gram.SymOuterK(1, train.T())
	for j := range columns {
		gram.SetSym(j, j, gram.At(j, j)+lambda*float64(rows))
	}
	var chol mat.Cholesky
	if !chol.Factorize(&gram) {
		t.Fatal("the normal equations are singular")
	}
	var right, w, score mat.VecDense
	right.MulVec(train.T(), mat.NewVecDense(rows, d.y))
	if err := chol.SolveVecTo(&w, &right); err != nil {
		t.Fatal(err)
	}
	score.MulVec(test, &w)
	wrong := 0
	for i, y := range d.yTest {
		if score.AtVec(i)*y <= 0 {
			wrong++
		}
	}
	return float64(wrong) / float64(len(d.yTest))
}

// withConstant appends a column of ones.
func withConstant(x *mat.Dense) *mat.Dense {
	rows, columns := x.Dims()
	out := mat.NewDense(rows, columns+1, nil)
	out.Slice(0, rows, 0, columns).(*mat.Dense).Copy(x)
	for i := range rows {
		out.Set(i, columns, 1)
	}
	return out
}
