package fdskl

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
)

// coefficientBound is the bound that stochastic_angles.go derives: how far the coefficients of the
// last iteration, and so all, may be from the exact run's.
func coefficientBound(o *oracle) float64 {
	p := o.f.params
	loss, _ := kernel.ParseLoss(p.Loss)
	c, q, active := loss.Curvature(), float64(len(o.f.parts)), float64(len(p.Active))
	e := math.Sqrt2*2*math.Pi*q*0x1p-17 + 0x1p-24
	rho := 0.0
	if active > 1 {
		rho = active * 0x1p-37
	}
	s := (math.Sqrt2*o.slope*e/c + rho) * (math.Pow(1+2*p.Step*c, float64(p.Iterations-1)) - 1)
	return p.Step / float64(p.BlockFeatures) * (math.Sqrt2*c*(s+rho) + o.slope*e)
}

// TestMaskedEqualsCentralised compares masked training with the exact algorithm of the same phases.
func TestMaskedEqualsCentralised(t *testing.T) {
	for _, c := range []struct {
		loss         string
		q, active    int
		batch, block int
		step         float64
	}{
		{"logistic", 3, 1, 1, 1, 0.05}, {"logistic", 4, 2, 1, 1, 0.05}, {"logistic", 5, 3, 6, 3, 0.1},
		{"smooth-hinge", 3, 1, 1, 1, 0.02}, {"smooth-hinge", 5, 2, 4, 2, 0.03},
		{"square", 3, 1, 1, 1, 0.01}, {"square", 4, 4, 3, 5, 0.02},
	} {
		t.Run(fmt.Sprintf("%s, %d parties, %d active, B=%d, r=%d", c.loss, c.q, c.active, c.batch, c.block),
			func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, c.q, 40, c.active, stochasticJob(c.loss, c.batch, c.block, 80, c.step))
				o := newOracle(f)
				o.run()
				largest := 0.0
				for _, a := range o.alpha {
					largest = max(largest, math.Abs(a))
				}
				bound := coefficientBound(o)
				d := o.compare(t, f.train(t))
				t.Logf("differ by %.2g, at most %.2g, of %.2g", d, bound, largest)
				if !(d <= bound) || !(bound < largest/4) {
					t.Errorf("coefficients, of up to %g, differ by %g, want at most %g", largest, d, bound)
				}
			})
	}
}

// TestMaskedAngles opens angles by feature maps and compares them with exact ones: off by at most
// 2^-16 (n/2 + 1) turns for each party, which sets n binary cells.
func TestMaskedAngles(t *testing.T) {
	const q = 5
	f := newFixture(t, q, 50, 1, Params{Sigma: 0.5, Features: 34, Seed: "angles"})
	f.params.BlockFeatures = 1 // for the oracle alone
	o := newOracle(f)
	turns := make([]uint16, f.rows*f.params.Angles())
	must(t, f.federation(t).run(func(ctx context.Context, i int, n joint.Network) error {
		tr, err := newTrainer(f.party(i, n, newVault()))
		if err != nil {
			return err
		}
		op, err := tr.newOpener()
		if err != nil {
			return err
		}
		block, err := op.openAngles(ctx, 0, tr.matrices(), 0, f.rows)
		if i == 0 {
			copy(turns, block)
		}
		return err
	}))
	const bound = math.Sqrt2*2*math.Pi*q*(2.0/2+1)*0x1p-16 + 0x1p-24 // a flag and a category: n is 2 at most
	cosine := kernel.Cosines()
	phi := make([]float64, f.params.Features)
	for j := range f.rows {
		cosine.Pairs64(phi, turns[j*len(phi)/2:(j+1)*len(phi)/2])
		for i := range phi {
			if d := math.Abs(phi[i] - o.pair(i, j)); !(d <= bound) {
				t.Fatalf("feature %d of row %d is off by %g, want at most %g", i, j, d, bound)
			}
		}
	}
}
