package sealed

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/testnet/drawn"
	"github.com/hanse-project/hanse/internal/testnet/optimum"
	"github.com/hanse-project/hanse/secagg/rss"
)

// minimum is the true minimum of mean log loss + ridge/2 |beta|^2 over coefficients and an intercept; see package
// optimum.
type minimum struct {
	beta          []float64
	intercept     float64
	probabilities []float64
	information   *mat.SymDense // of the coefficients, on the mean of a row, the intercept profiled out
}

// optimumOf finds it for dense rows and labels of -1 and 1.
func optimumOf(z *mat.Dense, y []float64, ridge float64) *minimum {
	n, d := z.Dims()
	labels := make([]float64, n)
	for j, label := range y {
		labels[j] = (1 + label) / 2
	}
	fit, err := optimum.Fit(z, labels, slices.Repeat([]float64{ridge}, d))
	if err != nil {
		panic(err)
	}
	m := &minimum{fit.Weights, fit.Intercept, fit.Probabilities, mat.NewSymDense(d, nil)}
	for i := range d {
		for k := i; k < d; k++ {
			v := fit.Information.At(i, k) - fit.Information.At(i, d)*fit.Information.At(k, d)/fit.Information.At(d, d)
			m.information.SetSym(i, k, v/float64(n))
		}
		m.information.SetSym(i, i, m.information.At(i, i)-ridge)
	}
	return m
}

// cardCase is a table whose scorecard is held against its optimum.
type cardCase struct {
	rows  int                                    // in the quick run; 0: it is of the long one alone
	many  int                                    // in the long one; of a real set 0, which is all
	table func(t *testing.T, rows int) *pooled   // made or read
	holds func(t testing.TB, o *oracle) []string // what the case is for, and does not have
	outer int                                    // 0: the default
	early bool                                   // that many are too few
}

// class is the label of what is above nothing.
func class(x float64) float64 { return math.Copysign(1, x) }

// probit are normal columns, and labels of 1 where what they add up to, and noise, pass cut.
func probit(columns int, cut float64) func(t *testing.T, rows int) *pooled {
	return func(_ *testing.T, rows int) *pooled {
		return madeSet(rows, columns, "", func(x, noise float64) float64 { return class(x + noise - cut) })
	}
}

// family are columns of numbers that draw makes of one that all columns of a row have in common and of one of their
// own, both normal. The share of the rows with the largest sums of noise and of what the first, telling ones have of
// their own is of the second class.
func family(columns, telling int, share float64,
	draw func(common, own float64) float64) func(t *testing.T, rows int) *pooled {
	return func(_ *testing.T, rows int) *pooled {
		rng := rand.New(rand.NewPCG(uint64(rows), math.Float64bits(share)))
		s, common, signal := &pooled{}, make([]float64, rows), make([]float64, rows)
		for j := range common {
			common[j], signal[j] = rng.NormFloat64(), rng.NormFloat64()
		}
		for c := range columns {
			column := kernel.Column{Name: fmt.Sprint("c", c), Values: make([]float64, rows)}
			for j := range column.Values {
				own := rng.NormFloat64()
				column.Values[j] = draw(common[j], own)
				if c < telling {
					signal[j] += own / math.Sqrt(float64(columns))
				}
			}
			s.columns = append(s.columns, column)
		}
		sorted := slices.Sorted(slices.Values(signal))
		for _, x := range signal {
			s.labels = append(s.labels, class(x-sorted[int(float64(rows)*(1-share))]))
		}
		return s
	}
}

// cardCases are the tables.
func cardCases() map[string]cardCase {
	lognormal := func(_, own float64) float64 { return math.Exp(1.5 * own) }
	correlated := func(common, own float64) float64 { return .9*common + .44*own }
	unequal := func(_, own float64) float64 { return math.Floor(max(0, own-1) * 5) } // nothing in 84 of 100 rows
	of := func(file string, o dataset.Options) func(t *testing.T, rows int) *pooled {
		return func(t *testing.T, rows int) *pooled { return realSet(t, rows, o, file) }
	}
	return map[string]cardCase{
		"half":  {rows: 2000, many: 4000, table: probit(9, 0)},
		"22 %":  {many: 6000, table: probit(9, 1.1)},
		"7 %":   {rows: 3000, many: 6000, table: probit(9, 2.1)},
		"2 %":   {many: 8000, table: probit(9, 2.9)},
		"0.2 %": {many: 40000, table: probit(9, 4.05)},
		"separable by all columns": {many: 3000, table: func(_ *testing.T, rows int) *pooled {
			return madeSet(rows, 9, "", func(x, _ float64) float64 { return class(x) })
		}},
		"separable by a column": {rows: 1500, many: 3000, table: func(t *testing.T, rows int) *pooled {
			s := probit(9, 0)(t, rows)
			for j := range s.labels {
				s.columns[0].Values[j] = math.Floor(2 * s.columns[0].Values[j])
				s.labels[j] = class(s.columns[0].Values[j])
			}
			return s
		}},
		"a bin of positives": {rows: 2000, many: 4000, table: func(t *testing.T, rows int) *pooled {
			s, marked := probit(9, 1.1)(t, rows), 0
			for j, y := range s.labels {
				if s.columns[0].Values[j] = math.Floor(math.Abs(s.columns[0].Values[j])); y > 0 && marked < rows/8 {
					s.columns[0].Values[j], marked = 99, marked+1
				}
			}
			return s
		}, holds: func(_ testing.TB, o *oracle) []string {
			rows, bins := o.z.Dims()
			for i := range bins {
				some, all := 0, true
				for j := range rows {
					if o.z.At(j, i)+o.means[i] > .5 {
						some, all = some+1, all && o.y[j] > 0
					}
				}
				if some > 0 && all {
					return nil
				}
			}
			return []string{"a bin of positives alone"}
		}},
		"a bin of positives but for one row": {rows: 2000, many: 4000, table: func(_ *testing.T, rows int) *pooled {
			rng := rand.New(rand.NewPCG(1, 1))
			s := &pooled{labels: slices.Repeat([]float64{-1}, rows)}
			for c := range 4 {
				column := kernel.Column{Name: fmt.Sprint("c", c), Values: make([]float64, rows)}
				for j := range column.Values {
					column.Values[j] = float64(rng.IntN(4))
				}
				s.columns = append(s.columns, column)
			}
			for j := range rows / 10 {
				s.labels[j] = 1
			}
			for j := range 20 {
				s.columns[1].Values[j] = 4
			}
			s.columns[1].Values[rows-1] = 4
			return s
		}},
		"a doubled column": {rows: 2000, many: 4000, table: func(t *testing.T, rows int) *pooled {
			s := probit(9, 1.1)(t, rows)
			s.columns = append(s.columns, kernel.Column{Name: "again", Values: slices.Clone(s.columns[0].Values)})
			return s
		}},
		"too few steps":       {rows: 2000, many: 4000, outer: 2, early: true, table: probit(9, 1.1)},
		"300 bins":            {many: 12000, table: probit(30, 2.9)},
		"lognormal, 0.5 %":    {many: 20000, table: family(6, 6, .005, lognormal)},
		"lognormal, 30 %":     {rows: 1500, many: 5000, table: family(6, 6, .3, lognormal)},
		"correlated, 3 %":     {many: 8000, table: family(12, 12, .03, correlated)},
		"correlated, 40 %":    {many: 5000, table: family(12, 12, .4, correlated)},
		"unequal bins, 1 %":   {many: 15000, table: family(9, 9, .01, unequal)},
		"unequal bins, 15 %":  {rows: 2000, many: 5000, table: family(9, 9, .15, unequal)},
		"columns of two bins": {many: 150000, table: family(6, 2, .3, func(_, own float64) float64 { return class(own) })},
		"a9a":                 {rows: 1500, table: of("a9a.gz", dataset.Options{})},
		"defaultcredit": {rows: 1500, table: of("defaultcredit.csv.gz",
			dataset.Options{Label: "default.payment.next.month"})},
	}
}

// TestScorecardsAreAtTheirOptimum: with the defaults, points of bins of 20 rows and the base are within 1 of the true
// optimum's, the mean probability within 2 % of the share of the second class, and a z-score below 4 within .2, and the
// rounding of what opens, of that of the true information matrix. Where the steps end before that, no points and no
// z-scores open.
func TestScorecardsAreAtTheirOptimum(t *testing.T) {
	for name, c := range cardCases() {
		rows := c.rows
		if drawn.All {
			rows = c.many
		} else if rows == 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			p := fdskl.Params{Loss: "logistic", Outer: c.outer, BinParams: fdskl.BinParams{Bins: 10, MinCell: 20,
				Points: fdskl.ToOwners, ZScores: fdskl.ToOwners}}
			f := c.table(t, rows).fixture(t, p)
			learned := newTally()
			f.opened = learned.add
			models := f.train(t, newFederation(t, f.names))
			o := f.newOracle(t, 1)
			if c.holds != nil {
				for _, lacks := range c.holds(t, o) {
					t.Fatalf("the table has not %s: the test says nothing", lacks)
				}
			}
			ridge := o.scales.lambda / o.scales.s0 * float64(o.scales.weight) / 2
			best := optimumOf(o.z, o.y, ridge)
			d := f.distance(models, o, best, ridge)
			steps := f.steps(learned)
			open := models[0].Points != nil
			t.Logf("share %.4f, %d rows, %d bins: %d steps, open %t; points off by %.2f, base by %.2f, mean probability %.4f "+
				"of the share, z by %.2f", d.share, f.rows, len(best.beta), steps, open, d.points, d.base, d.mean, d.z)
			if open == c.early {
				t.Error("it is not known whether the steps have converged")
			}
			if !open {
				for i, m := range models {
					if m.Points != nil || m.ZScores != nil {
						t.Errorf("%s learns points or z-scores of steps that have not converged", f.names[i])
					}
				}
				return
			}
			if !(d.points <= 1 && d.base <= 1 && math.Abs(d.mean-1) <= .02) {
				t.Error("it is too far from the optimum")
			}
			if !(d.opened <= 1.1) {
				t.Errorf("points open off by %.2f from what the coefficients are", d.opened)
			}
			if !(d.z <= .2+4./fdskl.ZUnits*1.1) {
				t.Error("z-scores are too far from those of the optimum")
			}
		})
	}
}

// steps is how many steps a training took, by what opened.
func (f *fixture) steps(learned *tally) int64 {
	opened := learned.count[kindProgress+" to p0"]
	if opened == 0 { // the square loss
		return 0
	}
	return int64(progressSteps(f.params)[opened-1])
}

// distance is how far a scorecard is from its optimum.
type distance struct {
	share        float64 // of the second class
	points, base float64 // the largest error of a bin of 20 rows
	opened       float64 // of what opens of points, from what the coefficients are
	mean         float64 // probability, over the share
	z            float64 // the largest error of a z-score below 4
}

// distance measures it; of z-scores and opened points where they are there.
func (f *fixture) distance(models []*fdskl.Model, o *oracle, best *minimum, ridge float64) distance {
	d, features := distance{share: (1 + mean(o.y)) / 2}, len(best.beta)
	at := rolesOf(f.params, f.names, 0).parties
	all := reals(rss.Reconstruct(rss.Share(*models[at[0]].Shares), rss.Share(*models[at[1]].Shares)), coefBits)
	beta, base, truth := all[:features], all[features], best.intercept
	for i, b := range best.beta {
		rows := 0
		for j := range f.rows {
			if o.z.At(j, i)+o.means[i] > .5 {
				rows++
			}
		}
		if rows >= 20 {
			d.points = max(d.points, math.Abs(b-beta[i])*doubles)
		}
		truth -= b * o.means[i]
	}
	d.base = math.Abs(base-truth) * doubles
	score := mat.NewVecDense(f.rows, nil)
	score.MulVec(o.z, mat.NewVecDense(features, beta))
	centre := base
	for i, m := range o.means {
		centre += beta[i] * m
	}
	for j := range f.rows {
		d.mean += 1 / (1 + math.Exp(-score.AtVec(j)-centre)) / float64(f.rows) / d.share
	}
	z, i := best.zScores(f.rows, ridge), 0
	for k, m := range models {
		for b := range f.params.PartyBins[k] {
			if m.Points != nil {
				d.opened = max(d.opened, math.Abs(float64(m.Points.Bins[0][b])-beta[i]*doubles))
			}
			if m.ZScores != nil && math.Abs(z[i]) < 4 {
				d.z = max(d.z, math.Abs(fdskl.ZScore(m.ZScores.Bins[0][b])-z[i]))
			}
			i++
		}
	}
	return d
}

// zScores are those of all coefficients by the textbook: the covariance of a ridge regression over n rows is
// H^-1 I H^-1 over n, where I is the information of a row and H has the ridge in addition.
func (o *minimum) zScores(n int, ridge float64) []float64 {
	d := len(o.beta)
	system := mat.NewSymDense(d, nil)
	system.CopySym(o.information)
	for i := range d {
		system.SetSym(i, i, system.At(i, i)+ridge)
	}
	var inverse, once, covariance mat.Dense
	if err := inverse.Inverse(system); err != nil {
		panic(err)
	}
	once.Mul(&inverse, o.information)
	covariance.Mul(&once, &inverse)
	z := make([]float64, d)
	for i, b := range o.beta {
		z[i] = b / math.Sqrt(covariance.At(i, i)/float64(n))
	}
	return z
}
