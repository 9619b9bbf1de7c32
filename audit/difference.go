package audit

import (
	"context"
	"errors"
	"fmt"

	"github.com/hanse-project/hanse/audit/attack"
	"github.com/hanse-project/hanse/protocol"
)

// gainShare is the share of rows from which on an attack has gained something.
const gainShare = 0.01

// difference runs the difference attack on one view of a party, with its controls.
func (f *follower) difference(ctx context.Context, s *sight) (Attack, error) {
	a := Attack{Name: "difference", Party: f.in.Contract.Parties[s.party].Name, View: s.view, Verdict: Skipped}
	p, err := f.problem(s)
	var blind *blindError
	if errors.As(err, &blind) {
		a.Detail = "not tried: " + blind.missing
		return a, nil
	}
	if err != nil {
		return a, err
	}
	r, err := attack.Difference(ctx, p.System, attack.Options{Workers: f.in.Workers, MaxRows: f.in.Rows, Truth: p.truth})
	if err != nil {
		return a, err
	}
	a.Rows, a.UnknownColumns, a.Equations, a.Rank = r.Rows, r.Unknowns, r.Available, r.Rank
	a.RecoveredShare, a.RMS, a.ControlRMS = &r.RecoveredShare, &r.RMS, &r.ControlRMS
	a.Columns = f.columnsOf(p, r)
	a.Plot = &Plot{
		Kind: "scatter", Title: fmt.Sprintf("what %s, as %s, rebuilt of %s", a.Party, a.View, p.whose(f.in)),
		X: "true difference between two rows", Y: "rebuilt difference", Points: r.Sample,
	}
	return a, f.judge(ctx, &a, p, r)
}

// judge says what the result means, and where nothing was found shows that the attack would have.
func (f *follower) judge(ctx context.Context, a *Attack, p *problem, r *attack.Recovery) error {
	if r.Solved > gainShare || r.RecoveredShare > r.ControlShare+gainShare {
		a.Verdict = f.blame("angles", a.Party)
		a.Detail = fmt.Sprintf("%s, as %s, rebuilt the rows of %s up to one common shift: %.1f %% of %d rows, every column within 1 %% of its range, error %.1g of the range (a guess has %.2g)",
			a.Party, a.View, p.whose(f.in), 100*r.RecoveredShare, r.Rows, r.RMS, r.ControlRMS)
		if minmax(f.params) {
			a.Detail += "; as every column runs from 0 to 1, the shift follows too"
		}
		return nil
	}
	control, err := attack.Difference(ctx, p.unmasked(), attack.Options{Workers: f.in.Workers, MaxRows: f.in.Rows, Truth: p.truth})
	if err != nil {
		return err
	}
	a.Verdict = Clean
	a.ControlShare = &control.RecoveredShare
	a.Detail = fmt.Sprintf("nothing was rebuilt of %s: the error is that of a guess; the same attack on the same columns without masks rebuilds %.1f %% of the rows",
		p.whose(f.in), 100*control.RecoveredShare)
	if control.RecoveredShare < gainShare {
		a.Verdict = Skipped
		a.Detail = fmt.Sprintf("proves nothing: not even without masks would %d equations rebuild the %d columns of %s", r.Available, r.Unknowns, p.whose(f.in))
	}
	return nil
}

// blame returns Declared when the contract says that the party learns values of the kind, and Leak
// when it does not or the job is published, whose contract cannot excuse it.
func (f *follower) blame(kind, party string) Verdict {
	c := f.in.Contract
	if c.Job.Privacy == published {
		return Leak
	}
	for _, o := range c.Openings {
		if o.To == party && o.Kind == kind {
			return Declared
		}
	}
	return Leak
}

// published is the privacy mode that always leaks.
const published = "published"

// columnsOf lists how well each column was rebuilt.
func (f *follower) columnsOf(p *problem, r *attack.Recovery) []Column {
	var list []Column
	for i, c := range r.Columns {
		if !c.Constant {
			list = append(list, Column{Party: f.in.Contract.Parties[p.names[i].party].Name, Name: p.names[i].name, RMS: c.RMS, R2: c.R2})
		}
	}
	return list
}

// membership says what the alignment of the rows revealed: that each party's table has the same ids.
func membership(c *protocol.Contract) Attack {
	same := true
	for _, p := range c.Parties {
		same = same && p.Rows == c.Parties[0].Rows && p.Rowset == c.Parties[0].Rowset
	}
	a := Attack{Name: "membership", Party: "every party", View: "alignment", Rows: c.Parties[0].Rows, Verdict: Clean}
	a.Detail = fmt.Sprintf("all tables have the same %d row ids, so each party knows that everybody in its table is in the others', and learned of nobody else; "+
		"the digest of the ids confirms a whole list to who can guess it, never a single id", a.Rows)
	if !same {
		a.Verdict = Leak
		a.Detail = "the parties' row ids differ, which the contract must not allow: each learns which of its ids the others lack"
	}
	return a
}
