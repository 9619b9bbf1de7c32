package sealed

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/trial"
	"github.com/hanse-project/hanse/internal/vertical"
	"github.com/hanse-project/hanse/lab/floatsteps"
)

// openModel is a sealed model learned again in floating point, from all parties' model parts and columns.
type openModel struct {
	params fdskl.Params
	loss   kernel.Loss
	z      *mat.Dense // features of the training rows, centred
	test   *mat.Dense // of the test rows, less the same means
	y      []float64
	weight int     // twice the squared norm of a row's features: D of cosines, twice the columns of bins
	s0     float64 // as in the job: the spectrum's bound is rounded at that scale
	kappa  float64
	lambda float64 // added to the diagonal
	gram   *mat.SymDense
	norm   float64 // of the matrix without it

	factors []sealed.Step
}

// openFeatures returns the features of rows.
func openFeatures(models []*fdskl.Model, tables []*dataset.Table) (*mat.Dense, error) {
	var parts []*kernel.Matrix
	for i, t := range tables {
		rows, err := vertical.PrepareScoring(t, models[i].Model())
		if err != nil {
			return nil, err
		}
		parts = append(parts, rows)
	}
	n, d := tables[0].Rows(), models[0].Params.Features
	z := mat.NewDense(n, d, nil)
	if models[0].Params.Binned() {
		at := 0
		for _, rows := range parts {
			for j := range n {
				rows.EachInRow(j, func(bin int, v float64) { z.Set(j, at+bin, v) })
			}
			at += rows.Columns()
		}
		return z, nil
	}
	b, err := fdskl.BeginScoring(models[0], 0, models, 0)
	if err != nil {
		return nil, err
	}
	for lo := 0; lo < n; lo += joint.ScoreRows {
		hi := min(lo+joint.ScoreRows, n)
		turns, err := b.Turns(parts, lo, hi)
		if err != nil {
			return nil, err
		}
		for i, turn := range turns {
			z.Set(lo+2*i/d, 2*i%d, kernel.Cosine(turn))
			z.Set(lo+2*i/d, 2*i%d+1, kernel.Sine(turn))
		}
	}
	return z, nil
}

// newOpenModel computes features and the system of equations.
func newOpenModel(data *trial.Data, models []*fdskl.Model) (*openModel, error) {
	m := &openModel{params: models[0].Params, kappa: 1}
	var err error
	if m.loss, err = kernel.ParseLoss(m.params.Loss); err != nil {
		return nil, err
	}
	if m.z, err = openFeatures(models, data.Train); err != nil {
		return nil, err
	}
	if m.test, err = openFeatures(models, data.Test); err != nil {
		return nil, err
	}
	labels, err := data.Train[0].Labels(data.Label, dataset.Classification)
	if err != nil {
		return nil, err
	}
	m.y = labels.Values
	n, d := m.z.Dims()
	m.weight = d
	if m.params.Binned() {
		m.weight = 0
		for _, columns := range m.params.PartyColumns {
			m.weight += 2 * columns
		}
	}
	m.s0 = float64(n) * float64(m.weight) / math.Ldexp(1, bits.Len(uint(n-1))+bits.Len(uint(m.weight-1)))
	m.lambda = models[0].Regulariser() * m.s0
	if m.loss == kernel.Square {
		m.lambda /= 2
	} else {
		m.kappa = m.loss.Curvature()
	}
	m.lambda /= m.kappa
	floatsteps.Centre(m.z, m.test)
	m.gram = mat.NewSymDense(d, nil)
	m.gram.SymOuterK(m.s0*2/float64(n*m.weight), m.z.T())
	m.norm = mat.Norm(m.gram, 2)
	for i := range d {
		m.gram.SetSym(i, i, m.gram.At(i, i)+m.lambda)
	}
	return m, nil
}

// reaches are the bounds of the spectrum that the job may have had, of which chance takes one: the norm rounded up to a
// power of the root of two, and the next.
func (m *openModel) reaches() []float64 {
	least := math.Pow(2, math.Ceil(2*math.Log2(m.norm))/2)
	return []float64{least, least * math.Sqrt2}
}

// stepped returns coefficients and intercept by the job's steps: of both bounds those whose scores of the test rows are
// nearer to the job's.
func (m *openModel) stepped(lambda float64, got []float64) (best *mat.VecDense, intercept float64, err error) {
	least := math.Inf(1)
	for _, reach := range m.reaches() {
		rows, _ := m.z.Dims()
		if m.factors, err = sealed.Steps(m.params, rows, lambda, reach); err != nil {
			return nil, 0, err
		}
		beta, mean, err := m.fit(false)
		if err != nil {
			return nil, 0, err
		}
		if off := rootMeanSquare(got, floatsteps.Scores(m.test, beta, mean)); off < least {
			least, best, intercept = off, beta, mean
		}
	}
	return best, intercept, nil
}

// fit returns coefficients and intercept by the job's steps, or at the minimum.
func (m *openModel) fit(exact bool) (*mat.VecDense, float64, error) {
	if m.loss != kernel.Square {
		return floatsteps.Optimum(m.z, m.y, m.lambda*m.kappa/m.s0*float64(m.weight)/2)
	}
	right, mean := m.side(m.y)
	if !exact {
		return m.steps(right), mean, nil
	}
	var factor mat.Cholesky
	if !factor.Factorize(m.gram) {
		return nil, 0, errors.New("the system of equations is singular")
	}
	x := mat.NewVecDense(right.Len(), nil)
	factor.SolveVecTo(x, right) // its error is a warning of a large condition number
	return x, mean, nil
}

// side returns the right side of targets, and their mean.
func (m *openModel) side(y []float64) (*mat.VecDense, float64) {
	n, d := m.z.Dims()
	var mean float64
	for _, v := range y {
		mean += v / float64(n)
	}
	h := mat.NewVecDense(d, nil)
	h.MulVec(m.z.T(), mat.NewVecDense(n, y)) // the features have mean 0, so that the targets' does not matter
	h.ScaleVec(m.s0*2/float64(n*m.weight), h)
	return h, mean
}

// steps takes the job's Chebyshev steps from 0.
func (m *openModel) steps(right *mat.VecDense) *mat.VecDense {
	return floatsteps.Steps(m.factors, m.gram, 0, right) // which has lambda on its diagonal
}

// compare fills in errors and differences of the sealed scores of the test rows.
func (r *Result) compare(data *trial.Data, models []*fdskl.Model, file string) error {
	got, err := readScores(file, data.Test[0])
	if err != nil {
		return err
	}
	labels, err := data.Test[0].Labels(data.Label, dataset.Classification)
	if err != nil {
		return err
	}
	m, err := newOpenModel(data, models)
	if err != nil {
		return err
	}
	r.Error = fdskl.TestError(got, labels.Values, models[0])
	r.AUC = areaUnder(got, labels.Values)
	if m.loss == kernel.Logistic {
		r.Calibration = calibration(got, labels.Values)
	}
	for _, exact := range []bool{false, true} {
		if !exact && !r.stepped() {
			continue
		}
		solve := func() (*mat.VecDense, float64, error) { return m.stepped(models[0].Regulariser(), got) }
		if exact {
			solve = func() (*mat.VecDense, float64, error) { return m.fit(true) }
		}
		beta, intercept, err := solve()
		if err != nil {
			return err
		}
		want := floatsteps.Scores(m.test, beta, intercept)
		wrong, rms, flips := fdskl.TestError(want, labels.Values, models[0]), rootMeanSquare(got,
			want), flipped(got, want)
		if exact {
			r.ExactError, r.ExactRMS, r.ExactFlips = wrong, rms, flips
		} else {
			r.FloatError, r.RMS, r.Flips = wrong, rms, flips
		}
	}
	return nil
}

// stepped reports whether the job's steps can be taken again: those of the logistic loss follow from what is on shares.
func (r *Result) stepped() bool { return r.Loss == kernel.Square.String() }

// calibration is the mean probability that scores tell, over the share of the second class.
func calibration(scores, labels []float64) float64 {
	var told, share float64
	for i, x := range scores {
		told += 1 / (1 + math.Exp(-x))
		share += (1 + labels[i]) / 2
	}
	return told / share
}

// readScores reads a scores file in the order of a table's ids.
func readScores(path string, order *dataset.Table) ([]float64, error) {
	t, err := dataset.Read(path, dataset.Options{ID: "id"})
	if err != nil {
		return nil, err
	}
	column, err := t.Column("score")
	if err != nil {
		return nil, err
	}
	at := make(map[string]float64, t.Rows())
	for i, id := range t.IDs {
		at[id] = column.Values[i]
	}
	f := make([]float64, order.Rows())
	for i, id := range order.IDs {
		score, ok := at[id]
		if !ok {
			return nil, fmt.Errorf("%s: no score of row %q", path, id)
		}
		f[i] = score
	}
	return f, nil
}

// rootMeanSquare returns that of the difference of two vectors.
func rootMeanSquare(a, b []float64) float64 {
	var sum float64
	for i := range a {
		sum += (a[i] - b[i]) * (a[i] - b[i])
	}
	return math.Sqrt(sum / float64(len(a)))
}

// flipped counts scores on different sides of zero.
func flipped(a, b []float64) int {
	n := 0
	for i := range a {
		if (a[i] > 0) != (b[i] > 0) {
			n++
		}
	}
	return n
}

// areaUnder is the area under the ROC curve: how often a row of the second class has the higher score, ties half.
func areaUnder(scores, labels []float64) float64 {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(scores[a], scores[b]) })
	var ranks, positive float64
	for lo := 0; lo < len(order); {
		hi := lo + 1
		for hi < len(order) && scores[order[hi]] == scores[order[lo]] {
			hi++
		}
		for _, j := range order[lo:hi] {
			if labels[j] > 0 {
				ranks, positive = ranks+float64(lo+hi+1)/2, positive+1
			}
		}
		lo = hi
	}
	return (ranks - positive*(positive+1)/2) / (positive * (float64(len(order)) - positive))
}
