package audit

import (
	"context"
	"fmt"

	"github.com/hanse-project/hanse/audit/attack"
)

// knownGain is how much more of a column's variance than by chance an attack must explain to have
// gained something.
const knownGain = 0.1

// knownNoise, over the rows tested, is what chance may explain of the best of many columns.
const knownNoise = 30

// leastKnown is the fewest rows a regression is tried on.
const leastKnown = 100

// knownRows lets a coalition that knows a fifth of the rows predict the others from what a view shows.
func (f *follower) knownRows(ctx context.Context, s *sight) (Attack, error) {
	a := Attack{Name: "known rows", Party: f.name(), View: s.view, Verdict: Skipped}
	p, err := f.aim(&a, s)
	if p == nil {
		return a, err
	}
	if p.Rows < leastKnown {
		a.Detail = fmt.Sprintf("not tried: %d rows are too few for a regression", p.Rows)
		return a, nil
	}
	equations, unknowns := p.Design.Dims()
	r, err := attack.KnownRows(ctx, attack.Coalition{Rows: p.Rows, Width: equations, Row: p.Row, Angles: true, Columns: unknowns, Truth: p.truth})
	if err != nil {
		return a, err
	}
	a.Rows, a.UnknownColumns, a.Equations = r.Known+r.Tested, unknowns, r.Features
	a.Statistic, a.Verdict = &r.Best, Clean
	a.Detail = fmt.Sprintf("who knows %d rows of %s and sees what %s sees predicts nothing of the others: at best R2 %.2f, with shuffled rows %.2f", r.Known, p.whose(f.in), a.Party, r.Best, r.Control)
	if r.Best > max(0, r.Control)+max(knownGain, float64(knownNoise)/float64(r.Tested)) {
		a.Verdict = f.blame(s)
		best := p.names[r.BestAt]
		a.Detail = fmt.Sprintf("who knows %d rows of %s and sees what %s sees predicts the others by plain regression: R2 %.2f on average, %.2f for %s of %s",
			r.Known, p.whose(f.in), a.Party, r.Mean, r.Best, f.columnName(p.names, r.BestAt), f.in.Contract.Parties[best.party].Name)
	}
	return a, nil
}
