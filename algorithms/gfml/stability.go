package gfml

import (
	"fmt"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// maxSamples is how many samples an estimate uses; more are thinned out.
const maxSamples = 512

// Rows that are read ahead for an estimate: at most maxAhead, with at most aheadNumbers features in all.
const (
	maxAhead     = 256
	aheadNumbers = 1 << 22
)

// Warning says that the learning rate is beyond a bound that was estimated from a client's samples.
// It does not stop a job: estimates are rough, and a model may do without the guarantee.
type Warning struct {
	Rule     string  // the rule that is broken
	Estimate float64 // of the quantity in the rule
	Bound    float64 // what the learning rate must be below
	Step     float64 // the learning rate
}

// String says the rule, the estimate and the bound.
func (w Warning) String() string {
	return fmt.Sprintf("step is %v, want a learning rate below %.3g: %s is about %.3g", w.Step, w.Bound, w.Rule,
		w.Estimate)
}

// meanSquareRule is the rule of the mean square.
const meanSquareRule = "E|z|^2 (mean square)"

// PublicWarnings checks the learning rate against public numbers alone. E|z|^2 is 1, whatever the rows
// are, up to the draw of the phases: z is sqrt(2/D) times D cosines. The largest eigenvalue of E zz' is
// less, so that equation 19 is broken by no step that this finds nothing wrong with.
func (p *Plan) PublicWarnings() []Warning {
	w := Warning{Rule: meanSquareRule, Estimate: 1, Bound: 2, Step: p.params.Step}
	if w.Step < w.Bound {
		return nil
	}
	return []Warning{w}
}

// RowsAhead returns how many of a client's first rows are worth reading ahead: see ClientPart.Ahead.
func (p *Plan) RowsAhead() int { return min(maxAhead, aheadNumbers/p.params.Features) }

// StepWarnings checks the learning rate against samples of one client's features z, each of D
// numbers. There are two rules: the mean converges for 0 < mu < 2/lambda_max(E z z^T) (equation 19);
// and the mean square needs mu E|z|^2 < 2, which is the rule that bites where selections differ
// from iteration to iteration. An estimate of lambda_max from few samples is too large rather than
// too small.
func (p *Plan) StepWarnings(samples [][]float64) ([]Warning, error) {
	if len(samples) == 0 {
		return nil, fmt.Errorf("there are no samples to estimate a bound of the learning rate from")
	}
	for i, z := range samples {
		if len(z) != p.params.Features {
			return nil, fmt.Errorf("sample %d has %d features, want %d", i, len(z), p.params.Features)
		}
	}
	samples = thin(samples)
	largest, err := largestEigenvalue(samples)
	if err != nil {
		return nil, err
	}
	var list []Warning
	for _, w := range []Warning{
		{Rule: "the largest eigenvalue of E zz' (equation 19)", Estimate: largest},
		{Rule: meanSquareRule, Estimate: meanSquare(samples)},
	} {
		w.Step, w.Bound = p.params.Step, 2/w.Estimate
		if w.Step >= w.Bound {
			list = append(list, w)
		}
	}
	return list, nil
}

// thin keeps at most maxSamples samples, evenly spaced.
func thin(samples [][]float64) [][]float64 {
	n := min(len(samples), maxSamples)
	list := make([][]float64, n)
	for i := range list {
		list[i] = samples[i*len(samples)/n]
	}
	return list
}

// largestEigenvalue returns that of the samples' mean z z^T: the largest singular value of the matrix
// of samples, squared, by their number.
func largestEigenvalue(samples [][]float64) (float64, error) {
	m := mat.NewDense(len(samples), len(samples[0]), nil)
	for i, z := range samples {
		m.SetRow(i, z)
	}
	var svd mat.SVD
	if !svd.Factorize(m, mat.SVDNone) {
		return 0, fmt.Errorf("the largest eigenvalue of %d samples of %d features was not found", len(samples),
			len(samples[0]))
	}
	s := svd.Values(nil)[0]
	return s * s / float64(len(samples)), nil
}

// meanSquare returns the samples' mean of |z|^2.
func meanSquare(samples [][]float64) float64 {
	sum := 0.0
	for _, z := range samples {
		sum += floats.Dot(z, z)
	}
	return sum / float64(len(samples))
}
