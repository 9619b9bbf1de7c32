package views

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/audit/attack"
	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/internal/wording"
)

// problem is a view as a system of equations in the columns of the other parties, with the truth to
// score a solution against.
type problem struct {
	attack.System
	view      *partyView
	equations []int // of the view
	rows      []int // places in the view's rows
	parties   []int // whose columns are unknown
	names     []unknownColumn
	truth     func(k int, x []float64)
}

// unknownColumn is a column of another party.
type unknownColumn struct {
	party int
	name  string
}

// blindError says what an auditor lacks to try an attack.
type blindError struct{ missing string }

// Error implements error.
func (e *blindError) Error() string { return e.missing }

// errNobodyElse says that a view holds nothing of others, so that there is nothing to attack.
var errNobodyElse = errors.New("nobody else's columns are in it")

// problem sets up the equations of a view. The frequencies come from the public seed; for them the
// columns' names must be known, and the party's own columns where they are in the values.
func (t *attempts) problem(s *partyView) (*problem, error) {
	p := &problem{view: s}
	p.equations, p.rows = s.whole()
	if len(p.equations) == 0 || len(p.rows) < 2 {
		return nil, &blindError{"no two rows were seen with the same features"}
	}
	for _, i := range p.equations {
		for _, party := range s.from[i] {
			if evidence.WithoutData(&t.In.Contract.Parties[party]) {
				continue
			}
			if t.In.Columns[party] == nil {
				return nil, &blindError{fmt.Sprintf("the columns of %s are needed, for their names and to score the result",
					t.In.Contract.Parties[party].Name)}
			}
			if party != s.party && !slices.Contains(p.parties, party) {
				p.parties = append(p.parties, party)
			}
		}
	}
	slices.Sort(p.parties)
	if len(p.parties) == 0 {
		return nil, errNobodyElse
	}
	draws, err := t.frequencies(append(slices.Clone(p.parties), s.party), p)
	if err != nil {
		return nil, err
	}
	if p.name(t.In); len(p.names) == 0 {
		return nil, fmt.Errorf("%w: %s has no columns", errNobodyElse, p.whose(t.In))
	}
	p.Design = mat.NewDense(len(p.equations), len(p.names), nil)
	for e, i := range p.equations {
		at := 0
		for _, party := range p.parties {
			for c, column := range draws[party] {
				if slices.Contains(p.view.from[i], party) {
					p.Design.Set(e, at+c, column[e])
				}
			}
			at += len(draws[party])
		}
	}
	p.values(t.In, draws)
	if s.view == ViewActive || s.exact {
		t.compared = true
		if !p.fits(p.tolerance(len(t.In.Contract.Parties))) {
			return nil, t.unlike(p)
		}
	}
	return p, nil
}

// frequencies draws omega for the columns of some parties and the equations: [party][column][equation],
// in turns a unit.
func (t *attempts) frequencies(parties []int, p *problem) ([][][]float64, error) {
	kind, err := kernel.ParseKind(t.params.Kernel)
	if err != nil {
		return nil, err
	}
	k := kernel.Kernel{Kind: kind, Sigma: t.sigma}
	if err := k.Validate(); err != nil {
		return nil, &blindError{fmt.Sprintf("the kernel's width is not known: %v", err)}
	}
	last := 0
	for _, i := range p.equations {
		last = max(last, p.view.system[i].frequency)
	}
	all := make([]float64, last+1)
	draws := make([][][]float64, len(t.In.Contract.Parties))
	for _, party := range parties {
		if t.In.Columns[party] == nil {
			continue
		}
		for _, name := range t.In.Columns[party].Names {
			k.Draw(t.params.PublicSeed(), t.In.Owner(party), name, 0, len(all), all)
			column := make([]float64, len(p.equations))
			for e, i := range p.equations {
				column[e] = all[p.view.system[i].frequency]
			}
			draws[party] = append(draws[party], column)
		}
	}
	return draws, nil
}

// name lists the unknown columns and how to read the truth.
func (p *problem) name(in *evidence.Input) {
	for _, party := range p.parties {
		for _, n := range in.Columns[party].Names {
			p.names = append(p.names, unknownColumn{party, n})
		}
	}
	p.truth = func(k int, x []float64) {
		clear(x)
		at := 0
		for _, party := range p.parties {
			c := in.Columns[party]
			c.Rows.EachInRow(p.view.rows[p.rows[k]], func(i int, v float64) { x[at+i] = v })
			at += len(c.Names)
		}
	}
}

// values gives access to what was seen, less the party's own part.
func (p *problem) values(in *evidence.Input, draws [][][]float64) {
	s := p.view
	p.Rows, p.Noise, p.Wrapped = len(p.rows), s.noise, !s.exact
	if s.exact {
		p.Noise = exactNoise
	}
	own := p.own(draws[s.party])
	p.Row = func(k int, values []float64) {
		for e, i := range p.equations {
			values[e] = s.values[i][p.rows[k]]
		}
		if own != nil {
			in.Columns[s.party].Rows.EachInRow(s.rows[p.rows[k]],
				func(c int, v float64) { floats.AddScaled(values, -v, own[c]) })
		}
	}
}

// own returns the coefficients of the party's own columns in every equation, nil when they are in none.
func (p *problem) own(draws [][]float64) [][]float64 {
	var coefficients [][]float64
	for _, column := range draws {
		line := make([]float64, len(p.equations))
		for e, i := range p.equations {
			if slices.Contains(p.view.from[i], p.view.party) {
				line[e] = column[e]
			}
		}
		coefficients = append(coefficients, line)
	}
	return coefficients
}

// exactNoise is what double precision leaves of sums of angles, in turns.
const exactNoise = 1e-12

// unmasked is the same problem as it would be without masks: values made from the truth, with one
// secret shift for each equation, rounded and wrapped as the real ones.
func (p *problem) unmasked() attack.System {
	system := p.System
	equations, unknowns := p.Design.Dims()
	rng := rand.New(rand.NewPCG(2, uint64(equations)))
	shift := make([]float64, equations)
	for i := range shift {
		shift[i] = rng.Float64()
	}
	x, y := mat.NewVecDense(unknowns, nil), mat.NewVecDense(equations, nil)
	system.Row = func(k int, values []float64) {
		p.truth(k, x.RawVector().Data)
		y.MulVec(p.Design, x)
		for e := range values {
			v := shift[e] + y.AtVec(e)
			if p.Wrapped {
				v = math.RoundToEven((v-math.Floor(v))/p.Noise) * p.Noise
			}
			values[e] = v
		}
	}
	return system
}

// whose names the parties that are aimed at.
func (p *problem) whose(in *evidence.Input) string {
	var names []string
	for _, i := range p.parties {
		names = append(names, in.Contract.Parties[i].Name)
	}
	return wording.List(names, "and")
}

// minmax reports whether the job's columns all run from 0 to 1, so that differences give the values.
func minmax(p fdskl.Params) bool { return p.Scale == "" || p.Scale == "auto" || p.Scale == "minmax" }

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
func (t *attempts) tables() finding.Check {
	if t.unfit != "" {
		return finding.Check{Name: finding.CheckTables, Party: t.Name(), Verdict: finding.Failed, Detail: t.unfit}
	}
	return finding.Check{Name: finding.CheckTables, Party: t.Name(), Verdict: finding.Passed,
		Detail: "the columns given add up to what " + t.Name() + " saw without masks"}
}

// unlike says that the columns given are not those that were summed into a view.
func (t *attempts) unlike(p *problem) *blindError {
	reason := fmt.Sprintf("the columns given do not add up to what %s saw as %s, of %s or its own: a "+
		"table is another party's, or not the one that was trained on", t.Name(), p.view.view, p.whose(t.In))
	t.unfit = cmp.Or(t.unfit, reason)
	return &blindError{reason}
}
