package audit

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/hanse-project/hanse/keys"
)

// checkTables is the name of the check that the columns given are those that the parties trained on.
const checkTables = "columns"

// checkConsented is the name of the check that the tables given are those that the parties consented to use.
const checkConsented = "tables"

// consented lists the tables given, and checks that each is the one that its party's own record of consent names. A
// table of other people, or with its rows in another order, makes every attack on its columns find nothing.
func (a *auditor) consented() {
	confirmed := 0
	var others []string
	given := func(party int, sum keys.Hash, sure bool) {
		name := a.in.Contract.Parties[party].Name
		a.report.Tables = append(a.report.Tables, Table{Party: name, SHA256: hexOf(sum), Confirmed: sure})
		if sure {
			confirmed++
			return
		}
		others = append(others, name)
	}
	for i, c := range a.in.Columns {
		if c != nil {
			given(i, c.Table, c.Confirmed)
		}
	}
	for i, s := range a.in.Streams {
		if s != nil {
			given(i, s.Table, s.Confirmed)
		}
	}
	check := Check{Name: checkConsented, Verdict: Passed}
	switch {
	case len(a.report.Tables) == 0:
		return
	case len(others) > 0:
		check.Verdict = Skipped
		check.Detail = fmt.Sprintf("nobody confirmed that these are the tables of the job: %s; attacks that were tried "+
			"with others find nothing. It takes the folders of these parties' nodes, with their records of consent",
			several(others))
	default:
		check.Detail = fmt.Sprintf("the SHA-256 of %s given is the one that its party's own record of consent names",
			counted(uint64(confirmed), "table"))
	}
	a.report.Checks = append(a.report.Checks, check)
}

// hexOf writes a digest in hexadecimal, nothing when there is none.
func hexOf(h keys.Hash) string {
	if h.IsZero() {
		return ""
	}
	return h.String()
}

// checkColumns wants columns that can be those of the contract's parties.
func checkColumns(in *Input) error {
	if len(in.Columns) != len(in.Contract.Parties) {
		return fmt.Errorf("audit: columns of %d parties, the contract has %d", len(in.Columns), len(in.Contract.Parties))
	}
	for i, c := range in.Columns {
		if c == nil {
			continue
		}
		p := &in.Contract.Parties[i]
		if err := c.check(p.Rows); err != nil {
			return fmt.Errorf("audit: columns of %s: %w", p.Name, err)
		}
	}
	return nil
}

// check wants so many rows, a name for each column, and finite values.
func (c *Columns) check(rows int) error {
	if c.Rows == nil {
		return errors.New("there are no rows")
	}
	if c.Rows.Rows != rows {
		return fmt.Errorf("%d rows, the contract has %d: this is not the table that was trained on", c.Rows.Rows, rows)
	}
	if err := c.Rows.Validate(); err != nil {
		return err
	}
	if len(c.Names) != c.Rows.Columns() {
		return fmt.Errorf("%d names for %d columns", len(c.Names), c.Rows.Columns())
	}
	if c.Labels != nil && len(c.Labels) != rows {
		return fmt.Errorf("%d labels for %d rows", len(c.Labels), rows)
	}
	if j := slices.IndexFunc(c.Labels, func(v float64) bool { return math.IsInf(v, 0) }); j >= 0 {
		return fmt.Errorf("the label of row %d is %v, want a finite number, or NaN for none", j+1, c.Labels[j])
	}
	return nil
}

// What the columns given must explain of values without masks, to be those that were summed.
const (
	fitRows  = 32
	fitShare = 0.5 // of the values
)

// fits reports whether the columns given explain what was seen, where that is without masks: but for one
// shift for each equation, the values must follow from the columns.
func (p *problem) fits(tolerance float64) bool {
	first, near, all := p.residual(0), 0, 0
	for k := 1; k < min(fitRows, p.Rows); k++ {
		for e, v := range p.residual(k) {
			d := v - first[e]
			if p.Wrapped {
				d -= math.Round(d)
			}
			if math.Abs(d) <= tolerance {
				near++
			}
			all++
		}
	}
	return float64(near) >= fitShare*float64(all)
}

// residual returns the values of a row less what the columns given make of it.
func (p *problem) residual(k int) []float64 {
	equations, unknowns := p.Design.Dims()
	x, y := mat.NewVecDense(unknowns, nil), mat.NewVecDense(equations, nil)
	p.truth(k, x.RawVector().Data)
	y.MulVec(p.Design, x)
	values := make([]float64, equations)
	p.Row(k, values)
	floats.Sub(values, y.RawVector().Data)
	return values
}

// tolerance is how far, in turns, the difference of two rows may be from what the columns make of it:
// every addend of a wrapped value is rounded.
func (p *problem) tolerance(parties int) float64 {
	if p.Wrapped {
		return 4 * float64(parties+4) * p.Noise
	}
	return 1e-6
}

// tables checks, where a total or a sum without masks shows it, that the columns given are those that
// were summed.
func (f *follower) tables() Check {
	if f.unfit != "" {
		return Check{Name: checkTables, Party: f.name(), Verdict: Failed, Detail: f.unfit}
	}
	return Check{Name: checkTables, Party: f.name(), Verdict: Passed, Detail: "the columns given add up to what " + f.name() + " saw without masks"}
}

// unlike says that the columns given are not those that were summed into a sight.
func (f *follower) unlike(p *problem) *blindError {
	reason := fmt.Sprintf("the columns given do not add up to what %s saw as %s, of %s or its own: a table is another party's, or not the one that was trained on", f.name(), p.sight.view, p.whose(f.in))
	f.unfit = cmp.Or(f.unfit, reason)
	return &blindError{reason}
}
