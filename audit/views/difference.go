package views

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/hanse-project/hanse/audit/attack"
	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// difference runs the difference attack on one view of a party, with its controls.
func (t *attempts) difference(ctx context.Context, s *partyView) (finding.Attack, error) {
	a := finding.Attack{Name: "difference", Party: t.In.Contract.Parties[s.party].Name, View: s.view,
		Verdict: finding.Skipped}
	p, err := t.aim(&a, s)
	if p == nil {
		return a, err
	}
	p, r, err := t.strike(ctx, p)
	if err != nil {
		return a, err
	}
	a.Rows, a.UnknownColumns, a.Equations, a.Rank = r.Rows, r.Unknowns, r.Available, r.Rank
	a.RecoveredShare, a.RMS, a.ControlRMS = &r.RecoveredShare, &r.RMS, &r.ControlRMS
	a.Columns, a.Whose = t.columnsOf(p, r), p.whose(t.In)
	a.Plot = &finding.Plot{
		Kind: "scatter", Title: fmt.Sprintf("from the view of %s (%s): the columns of %s", a.Party, a.View, a.Whose),
		X: "true difference between two rows", Y: "rebuilt difference", Points: r.Sample,
	}
	return a, t.judge(ctx, &a, p, r)
}

// aim sets up the equations of a view; without an error it returns none when the attack cannot be tried,
// and the attack says why.
func (t *attempts) aim(a *finding.Attack, s *partyView) (*problem, error) {
	p, err := t.problem(s)
	if errors.Is(err, errNobodyElse) {
		a.Verdict, a.Detail = finding.NotApplicable, err.Error()
		return nil, nil
	}
	var blind *blindError
	if errors.As(err, &blind) {
		a.Detail = "not tried: " + blind.missing
		return nil, nil
	}
	return p, err
}

// strike solves a view, and where that gains nothing what each child sent by itself: a vector without
// masks must not hide among others'.
func (t *attempts) strike(ctx context.Context, p *problem) (*problem, *attack.Recovery, error) {
	r, err := t.solve(ctx, p)
	if err != nil || gained(r) {
		return p, r, err
	}
	for _, child := range p.view.children() {
		one, err := t.problem(p.view.only(child))
		if err != nil {
			continue // too little of it was seen
		}
		s, err := t.solve(ctx, one)
		if err != nil || gained(s) {
			return one, s, err
		}
	}
	return p, r, nil
}

func (t *attempts) solve(ctx context.Context, p *problem) (*attack.Recovery, error) {
	return attack.Difference(ctx, p.System, t.options(p))
}

// mostEquations is how many equations an attack uses, those that wrap least.
const mostEquations = 4096

// options says how hard to attack.
func (t *attempts) options(p *problem) attack.Options {
	return attack.Options{Workers: t.In.Workers, MaxRows: t.In.Rows, MaxEquations: mostEquations, Truth: p.truth}
}

// gained reports whether an attack found anything: rows that prove themselves, or more rows than shuffled
// ones by no chance.
func gained(r *attack.Recovery) bool {
	return r.Solved > attack.GainShare || r.RecoveredShare > r.ControlShare+attack.GainShare &&
		beyondChance(r.RecoveredShare, r.ControlShare, r.Rows)
}

// deviations is how many standard deviations no chance comes to.
const deviations = 5

// beyondChance reports whether two shares of n rows each differ by more than chance makes them.
func beyondChance(a, b float64, n int) bool {
	mean := (a + b) / 2
	return math.Abs(a-b) > deviations*math.Sqrt(mean*(1-mean)*2/float64(n))
}

// judge says what the result means, and where nothing was found shows that the attack would have.
func (t *attempts) judge(ctx context.Context, a *finding.Attack, p *problem, r *attack.Recovery) error {
	if gained(r) {
		a.Verdict = t.blame(p.view)
		a.Detail = fmt.Sprintf("%s, as %s, rebuilt %.1f %% of %d rows of %s, with an error of %.1g of the "+
			"columns' ranges where a guess has %.2g",
			a.Party, a.View, 100*r.RecoveredShare, r.Rows, p.whose(t.In), r.RMS, r.ControlRMS)
		a.Detail += "; a row counts when every column is within 1 % of its range, up to a shift that is the same for all rows"
		if minmax(t.params) && t.In.Contract.Job.Task == contract.TaskTrain {
			a.Detail += " and follows from every column running from 0 to 1"
		}
		return nil
	}
	control, err := attack.Difference(ctx, p.unmasked(), t.options(p))
	if err != nil {
		return err
	}
	a.Verdict = finding.Clean
	a.ControlShare = &control.RecoveredShare
	a.Detail = fmt.Sprintf("nothing was rebuilt of %s: the error is that of a guess; the same attack "+
		"on the same columns without masks rebuilds %.1f %% of the rows",
		p.whose(t.In), 100*control.RecoveredShare)
	if control.RecoveredShare < attack.ControlShare {
		a.Verdict = finding.Skipped
		a.Detail = fmt.Sprintf("proves nothing: not even without masks would %d equations rebuild the %d columns of %s",
			r.Available, r.Unknowns, p.whose(t.In))
	}
	return nil
}

// blame returns Disclosed when the contract says that the party learns the totals that the view shows,
// and Leak when it does not: no contract opens the parts of a total to who adds them, and a published
// job's excuses nothing.
func (t *attempts) blame(s *partyView) finding.Verdict {
	c := t.In.Contract
	if c.Job.Privacy == keys.PrivacyPublished || s.view != ViewActive {
		return finding.Leak
	}
	for _, o := range c.Openings {
		if o.To == t.Name() && o.Kind == evidence.OpeningAngles {
			return finding.Disclosed
		}
	}
	return finding.Leak
}

// columnsOf lists how well each column was rebuilt.
func (t *attempts) columnsOf(p *problem, r *attack.Recovery) []finding.Column {
	var list []finding.Column
	for i, c := range r.Columns {
		if !c.Constant {
			list = append(list, finding.Column{Party: t.In.Contract.Parties[p.names[i].party].Name,
				Name: t.columnName(p.names, i), RMS: c.RMS, R2: c.R2})
		}
	}
	return list
}

// columnName names a column in the report: the auditor's own by its name, another's by its number among that party's.
func (t *attempts) columnName(names []unknownColumn, i int) string {
	party := names[i].party
	if id := t.In.Auditor; !id.IsZero() && t.In.Owner(party) == id {
		return names[i].name
	}
	number := 0
	for _, n := range names[:i+1] {
		if n.party == party {
			number++
		}
	}
	return fmt.Sprintf("column %d", number)
}

// Membership says what the comparison of the row ids revealed: that each party's table has the same ids.
func Membership(c *contract.Contract) finding.Attack {
	same, first := true, (*contract.Facts)(nil)
	for i := range c.Parties {
		switch p := &c.Parties[i]; {
		case evidence.WithoutData(p):
		case first == nil:
			first = p
		default:
			same = same && p.Rows == first.Rows
		}
	}
	compares := func(o contract.Operation) bool { return o.Kind == contract.KindRowset }
	a := finding.Attack{Name: "membership", Party: "every party", View: "alignment",
		Rows: evidence.JobRows(c), Verdict: finding.Clean}
	a.Detail = fmt.Sprintf("each two parties with data compared their %d row ids, "+
		"by a code under a key of the session that only the two have: "+
		"where the session went on, each knows that everybody in its table is in the others', and learned of nobody else; "+
		"a party of the job that guesses the whole list "+
		"of another can test its guess, never a single id, and nobody else can test any", a.Rows)
	switch {
	case c.Job.Task == contract.TaskAlign:
		a.Detail = "which rows are common is what the job was for, and the contract lists it; who padded its list with " +
			"guesses tested as many as the contract says that it has rows, and each is bound to its list by a commitment there"
	case !same:
		a.Verdict = finding.Leak
		a.Detail = "the parties' tables have different numbers of rows, which the contract must not allow: " +
			"rows of different people were put together"
	case !slices.ContainsFunc(c.Operations, compares):
		a.Detail = fmt.Sprintf("all tables have %d rows; the contract lists no comparison of their ids, "+
			"so nobody learned anything of them", a.Rows)
	}
	return a
}
