package main

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"gonum.org/v1/gonum/mat"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/trial"
	"github.com/hanse-project/hanse/internal/vertical"
)

// exactOuter is how many outer steps with exact solutions stand for the minimum of a loss that is not the square.
const exactOuter = 60

// openModel is a sealed model learned again in floating point, from all parties' model parts and columns.
type openModel struct {
	params fdskl.Params
	loss   kernel.Loss
	z      *mat.Dense // features of the training rows, centred
	test   *mat.Dense // of the test rows, less the same means
	y      []float64
	s0     float64 // as in the job: the spectrum's bound is rounded at that scale
	kappa  float64
	lambda float64 // added to the diagonal
	gram   *mat.SymDense
	reach  float64 // bound of the spectrum

	factors []sealed.Step
}

// openFeatures returns the features of rows.
func openFeatures(models []*fdskl.Model, tables []*dataset.Table) (*mat.Dense, error) {
	b, err := fdskl.BeginScoring(models[0], 0, models, 0)
	if err != nil {
		return nil, err
	}
	var parts []*kernel.Matrix
	for i, t := range tables {
		rows, err := vertical.PrepareScoring(t, models[i])
		if err != nil {
			return nil, err
		}
		parts = append(parts, rows)
	}
	n, d := tables[0].Rows(), models[0].Params.Features
	z := mat.NewDense(n, d, nil)
	for lo := 0; lo < n; lo += fdskl.ScoreRows {
		hi := min(lo+fdskl.ScoreRows, n)
		turns, err := b.Turns(parts, lo, hi)
		if err != nil {
			return nil, err
		}
		for i, turn := range turns {
			z.Set(lo+i/d, i%d, kernel.Cosine(turn))
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
	m.s0 = float64(n) * float64(d) / math.Ldexp(1, bits.Len(uint(n-1))+bits.Len(uint(d-1)))
	m.lambda = m.params.Lambda * m.s0
	if m.loss == kernel.Square {
		m.lambda /= 2
	} else {
		m.kappa = m.loss.Curvature()
	}
	m.lambda /= m.kappa
	m.centre()
	m.gram = mat.NewSymDense(d, nil)
	m.gram.SymOuterK(m.s0*2/float64(n*d), m.z.T())
	m.reach = math.Pow(2, math.Ceil(2*math.Log2(mat.Norm(m.gram, 2)))/2)
	for i := range d {
		m.gram.SetSym(i, i, m.gram.At(i, i)+m.lambda)
	}
	m.factors, err = sealed.Steps(m.params, n, m.reach)
	return m, err
}

// centre takes the training rows' means off all features.
func (m *openModel) centre() {
	n, d := m.z.Dims()
	means := make([]float64, d)
	for j := range n {
		for i, v := range m.z.RawRowView(j) {
			means[i] += v / float64(n)
		}
	}
	for _, rows := range []*mat.Dense{m.z, m.test} {
		count, _ := rows.Dims()
		for j := range count {
			row := rows.RawRowView(j)
			for i, v := range means {
				row[i] -= v
			}
		}
	}
}

// fit returns coefficients and intercept by the job's steps, or exactly.
func (m *openModel) fit(exact bool) (*mat.VecDense, float64, error) {
	solve := m.steps
	if exact {
		var factor mat.Cholesky
		if !factor.Factorize(m.gram) {
			return nil, 0, errors.New("the system of equations is singular")
		}
		solve = func(right *mat.VecDense) *mat.VecDense {
			x := mat.NewVecDense(right.Len(), nil)
			factor.SolveVecTo(x, right) // its error is a warning of a large condition number
			return x
		}
	}
	if m.loss == kernel.Square {
		right, mean := m.side(m.y)
		return solve(right), mean, nil
	}
	outer := m.params.Outer
	if exact {
		outer = exactOuter
	}
	beta, intercept := m.newton(outer, solve)
	return beta, intercept, nil
}

// newton takes outer steps with the fixed Gram matrix.
func (m *openModel) newton(outer int, solve func(*mat.VecDense) *mat.VecDense) (*mat.VecDense, float64) {
	n, d := m.z.Dims()
	beta, intercept := mat.NewVecDense(d, nil), 0.0
	g := make([]float64, n)
	for range outer {
		for j, f := range scoresOf(m.z, beta, intercept) {
			g[j] = -m.loss.Derivative(f, m.y[j]) / m.kappa
		}
		right, mean := m.side(g)
		right.AddScaledVec(right, -m.lambda, beta)
		intercept += mean
		beta.AddVec(beta, solve(right))
	}
	return beta, intercept
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
	h.ScaleVec(m.s0*2/float64(n*d), h)
	return h, mean
}

// steps takes the job's Chebyshev steps from 0.
func (m *openModel) steps(right *mat.VecDense) *mat.VecDense {
	d := right.Len()
	x, direction, residual := mat.NewVecDense(d, nil), mat.NewVecDense(d, nil), mat.NewVecDense(d, nil)
	for _, by := range m.factors {
		residual.MulVec(m.gram, x)
		residual.SubVec(right, residual)
		direction.ScaleVec(by.Direction, direction)
		direction.AddScaledVec(direction, by.Residual, residual)
		x.AddVec(x, direction)
	}
	return x
}

// scoresOf returns f of rows.
func scoresOf(z *mat.Dense, beta *mat.VecDense, intercept float64) []float64 {
	n, _ := z.Dims()
	f := mat.NewVecDense(n, nil)
	f.MulVec(z, beta)
	for j := range n {
		f.SetVec(j, f.AtVec(j)+intercept)
	}
	return f.RawVector().Data
}

// compare fills in errors and differences of the sealed scores of the test rows.
func (r *sealedRun) compare(data *trial.Data, models []*fdskl.Model, file string) error {
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
	for _, exact := range []bool{false, true} {
		beta, intercept, err := m.fit(exact)
		if err != nil {
			return err
		}
		want := scoresOf(m.test, beta, intercept)
		wrong, rms, flips := fdskl.TestError(want, labels.Values, models[0]), rootMeanSquare(got, want), flipped(got, want)
		if exact {
			r.ExactError, r.ExactRMS, r.ExactFlips = wrong, rms, flips
		} else {
			r.FloatError, r.RMS, r.Flips = wrong, rms, flips
		}
	}
	return nil
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
