package views

import (
	"context"
	"fmt"
	"math"

	"github.com/hanse-project/hanse/audit/attack"
	"github.com/hanse-project/hanse/audit/finding"
)

// knownNoise, over the rows tested, is what chance may explain of the best of many columns.
const knownNoise = 30

// leastKnown is the fewest rows a regression is tried on.
const leastKnown = 100

// knownRows lets a coalition that knows a fifth of the rows predict the others from what a view shows.
func (t *attempts) knownRows(ctx context.Context, s *partyView) (finding.Attack, error) {
	a := finding.Attack{Name: "known rows", Party: t.Name(), View: s.view, Verdict: finding.Skipped}
	p, err := t.aim(&a, s)
	if p == nil {
		return a, err
	}
	if p.Rows < leastKnown {
		a.Detail = fmt.Sprintf("not tried: %d rows are too few for a regression", p.Rows)
		return a, nil
	}
	equations, unknowns := p.Design.Dims()
	r, err := attack.KnownRows(ctx,
		attack.Coalition{Rows: p.Rows, Width: equations, Row: p.Row, Angles: true, Columns: unknowns, Truth: p.truth})
	if err != nil {
		return a, err
	}
	a.Rows, a.UnknownColumns, a.Equations = r.Known+r.Tested, unknowns, r.Features
	a.Statistic, a.Verdict = &r.Best, finding.Clean
	a.Detail = fmt.Sprintf("who knows %d rows of %s and sees what %s sees predicts nothing of the others: "+
		"at best R2 %.2f, with shuffled rows %.2f", r.Known, p.whose(t.In), a.Party, r.Best, r.Control)
	if r.Best > max(0, r.Control)+max(attack.KnownGain, float64(knownNoise)/float64(r.Tested)) {
		a.Verdict = t.blame(s)
		best := p.names[r.BestAt]
		a.Detail = fmt.Sprintf("who knows %d rows of %s and sees what %s sees predicts the others by plain "+
			"regression: R2 %.2f on average, %.2f for %s of %s",
			r.Known, p.whose(t.In), a.Party, r.Mean, r.Best, t.columnName(p.names, r.BestAt),
			t.In.Contract.Parties[best.party].Name)
	}
	return a, nil
}

// knownCosines is the attack of who knows a fifth of the rows on words of features, taken for cosines. Its controls
// are shuffled rows, and the features themselves.
func (t *attempts) knownCosines(ctx context.Context, s *partyView) (finding.Attack, error) {
	a, err := t.knownRows(ctx, s)
	if err != nil || a.Verdict != finding.Clean {
		return a, err
	}
	p, err := t.aim(&a, s)
	if p == nil {
		return a, err
	}
	bare := p.unmasked()
	equations, unknowns := p.Design.Dims()
	r, err := attack.KnownRows(ctx, attack.Coalition{Rows: bare.Rows, Width: equations, Row: folded(bare.Row),
		Angles: true, Columns: unknowns, Truth: p.truth})
	if err != nil {
		return a, err
	}
	a.Detail += fmt.Sprintf(", with the features themselves %.2f", r.Best)
	if r.Best < attack.KnownGain {
		a.Verdict = finding.Skipped
		a.Detail = fmt.Sprintf("proves nothing: not even the features themselves would predict the columns of %s",
			p.whose(t.In))
	}
	return a, nil
}

// cosines lists the views on words of features that have something in them.
func (f *follower) cosines() []*partyView {
	var list []*partyView
	if f.shares != nil {
		for _, s := range []*partyView{f.shares.features, f.shares.both} {
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
