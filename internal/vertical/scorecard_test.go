package vertical

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/internal/testnet/optimum"
)

// pointsPerUnit turns weights into points: 20 double the odds.
const pointsPerUnit = 20 / math.Ln2

// parted writes the columns of a table as those of two owners.
func parted(x *mat.Dense) []*kernel.Matrix {
	n, d := x.Dims()
	var parts []*kernel.Matrix
	for _, cut := range [][2]int{{0, d / 3}, {d / 3, d}} {
		part := kernel.NoColumns(n)
		for j := cut[0]; j < cut[1]; j++ {
			part.Dense = append(part.Dense, fmt.Sprint(j))
		}
		for i := range n {
			part.Values = append(part.Values, x.RawRowView(i)[cut[0]:cut[1]]...)
		}
		parts = append(parts, part)
	}
	return parts
}

// signs turns labels 0 and 1 into -1 and 1.
func signs(y []float64) []float64 {
	out := make([]float64, len(y))
	for i, label := range y {
		out[i] = 2*label - 1
	}
	return out
}

// holdScorecard compares a card of the logistic loss with the optimum: points within a hundredth, and the mean
// probability within a ten-thousandth of the share of the positive rows.
func holdScorecard(t *testing.T, table optimum.Table, lambda float64) {
	t.Helper()
	_, d := table.X.Dims()
	parts := parted(table.X)
	card, err := FitScorecard(parts, signs(table.Y), table.Columns, lambda, kernel.Logistic)
	must(t, err)
	want, err := optimum.Fit(table.X, table.Y, slices.Repeat([]float64{lambda * float64(table.Columns)}, d))
	must(t, err)
	most := math.Abs(card.Intercept-want.Intercept) * pointsPerUnit
	for j, w := range want.Weights {
		most = max(most, math.Abs(card.Weights[j]-w)*pointsPerUnit)
	}
	mean := 0.0
	for _, f := range card.Score(parts) {
		mean += kernel.Sigmoid(f) / float64(len(table.Y))
	}
	t.Logf("%s: off by %.2g points, mean probability %.6g", table.Name, most, mean)
	if most > .01 || math.Abs(mean/want.Mean()-1) > 1e-4 || card.ToGo != 0 {
		t.Errorf("%s: off by %v points, mean probability %v, want %v; %v standard errors to go", table.Name, most, mean,
			want.Mean(), card.ToGo)
	}
}

// TestScorecardsAreAtTheOptimum of every made table, with the regulariser that a job has by itself, and with a tenth
// and ten times of it.
func TestScorecardsAreAtTheOptimum(t *testing.T) {
	for _, table := range optimum.Tables() {
		for _, times := range []float64{.1, 1, 10} {
			holdScorecard(t, table, times*.2/float64(len(table.Y)))
		}
	}
}

// TestScorecardsOfOtherLosses have no slope where they end, by sums from the losses' definitions: the square loss after
// its one solution, the smooth hinge, whose second derivative is 0 or 1, too.
func TestScorecardsOfOtherLosses(t *testing.T) {
	for _, loss := range []kernel.Loss{kernel.Square, kernel.SmoothHinge} {
		for _, table := range optimum.Tables() {
			n, d := table.X.Dims()
			lambda, y := .2/float64(n), signs(table.Y)
			card, err := FitScorecard(parted(table.X), y, table.Columns, lambda, loss)
			must(t, err)
			gradient := make([]float64, d+1)
			for j, w := range card.Weights {
				gradient[j] = lambda * float64(table.Columns) * w
			}
			for i, label := range y {
				f := card.Intercept
				for j, w := range card.Weights {
					f += w * table.X.At(i, j)
				}
				slope := 2 * (f - label)
				if loss == kernel.SmoothHinge {
					slope = -label * min(max(1-label*f, 0), 1)
				}
				for j := range card.Weights {
					gradient[j] += slope * table.X.At(i, j) / float64(n)
				}
				gradient[d] += slope / float64(n)
			}
			for j, g := range gradient {
				if math.Abs(g) > 1e-9 || card.ToGo != 0 {
					t.Errorf("%s, %s: number %d has slope %v, %v standard errors to go", loss, table.Name, j, g, card.ToGo)
				}
			}
		}
	}
}

// TestScorecardsOfOneLabel: there is no optimum of the logistic loss, since the intercept has no end. Weights are
// about 0, and all numbers finite.
func TestScorecardsOfOneLabel(t *testing.T) {
	table := optimum.Tables()[0]
	for _, loss := range []kernel.Loss{kernel.Square, kernel.Logistic, kernel.SmoothHinge} {
		card, err := FitScorecard(parted(table.X), slices.Repeat([]float64{-1}, len(table.Y)), table.Columns, 1e-4, loss)
		if err != nil {
			t.Errorf("%s: %v", loss, err)
			continue
		}
		for j, w := range card.Weights {
			if !(math.Abs(w) < 1e-3) || !(card.Intercept <= -1+1e-9) || math.IsInf(card.Intercept, 0) {
				t.Errorf("%s: weight %d is %v, the intercept %v", loss, j, w, card.Intercept)
			}
		}
	}
}

// TestScorecardsWithNextToNoLambda of a column that is there twice are refused in words: the bins have no optimum of
// their own.
func TestScorecardsWithNextToNoLambda(t *testing.T) {
	tables := optimum.Tables()
	table := tables[len(tables)-1]
	for _, lambda := range []float64{1e-16, 1e-18, 1e-30} {
		_, err := FitScorecard(parted(table.X), signs(table.Y), table.Columns, lambda, kernel.Logistic)
		if err == nil || err.Error() != "the scorecard's equations are singular: lambda is too small" {
			t.Errorf("lambda %g: error %v", lambda, err)
		}
	}
}
