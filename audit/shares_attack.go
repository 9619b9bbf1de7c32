package audit

import (
	"context"
	"fmt"
	"math"

	"github.com/hanse-project/hanse/audit/attack"
)

// knownCosines is the attack of who knows a fifth of the rows on words of features, taken for cosines. Its controls
// are shuffled rows, and the features themselves.
func (f *follower) knownCosines(ctx context.Context, s *sight) (Attack, error) {
	a, err := f.knownRows(ctx, s)
	if err != nil || a.Verdict != Clean {
		return a, err
	}
	p, err := f.aim(&a, s)
	if p == nil {
		return a, err
	}
	bare := p.unmasked()
	equations, unknowns := p.Design.Dims()
	r, err := attack.KnownRows(ctx, attack.Coalition{Rows: bare.Rows, Width: equations, Row: folded(bare.Row), Angles: true, Columns: unknowns, Truth: p.truth})
	if err != nil {
		return a, err
	}
	a.Detail += fmt.Sprintf(", with the features themselves %.2f", r.Best)
	if r.Best < knownGain {
		a.Verdict = Skipped
		a.Detail = fmt.Sprintf("proves nothing: not even the features themselves would predict the columns of %s", p.whose(f.in))
	}
	return a, nil
}

// cosines lists the views on words of features that have something in them.
func (f *follower) cosines() []*sight {
	var list []*sight
	if f.shares != nil {
		for _, s := range []*sight{f.shares.features, f.shares.both} {
			if len(s.system) > 0 {
				list = append(list, s)
			}
		}
	}
	return list
}

// folded leaves of angles what their cosines tell.
func folded(row func(k int, values []float64)) func(k int, values []float64) {
	return func(k int, values []float64) {
		row(k, values)
		for i, v := range values {
			values[i] = math.Acos(math.Cos(2*math.Pi*v)) / (2 * math.Pi)
		}
	}
}
