// Package regulariser compares the lambda that a sealed job chooses with all that it could have chosen.
package regulariser

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/trial"
	"github.com/hanse-project/hanse/internal/vertical"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/lab/floatsteps"
	"github.com/hanse-project/hanse/lab/sets"
	"github.com/hanse-project/hanse/lab/table"
)

// Options are the choices of Run.
type Options struct {
	Data     string
	Sets     []string
	Features int
	Seeds    int
}

// Report is what the command prints with --json.
type Report struct {
	Runs []Result `json:"runs"`
}

// Result is one set under one seed. Errors are of test rows: wrong classes, or the root mean squared error in
// deviations.
type Result struct {
	Set      string    `json:"set"`
	Rows     int       `json:"rows"`
	Features int       `json:"features"`
	Seed     uint64    `json:"seed"`
	Lambdas  []float64 `json:"lambdas"`
	Errors   []float64 `json:"errors"`
	Chosen   float64   `json:"chosen"`
	Error    float64   `json:"error"`
	Before   float64   `json:"before"` // with fdskl.DefaultLambda
	Best     float64   `json:"best"`
}

// Print implements lab.Report.
func (r *Report) Print(w io.Writer) error {
	t := table.New("set", "rows", "D", "seed", "chosen", "error", "1e-6", "best")
	for _, x := range r.Runs {
		t.Addf("%s|%d|%d|%d|%.0e|%.4f|%.4f|%.4f", x.Set, x.Rows, x.Features, x.Seed, x.Chosen, x.Error, x.Before, x.Best)
	}
	return t.Write(w)
}

// Run chooses in floating point, by the steps of a sealed job with the square loss, on all named
// sets and on small ones that it makes, and solves with every candidate on all rows.
func Run(ctx context.Context, run lab.Run, o Options) error {
	report := new(Report)
	for seed := uint64(1); seed <= uint64(o.Seeds); seed++ {
		for _, m := range made() {
			result, err := choose(ctx, m.draw(seed), m.name, min(o.Features, 1024), seed)
			if err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
			fmt.Fprintf(run.Log, "%s seed %d: %.0e of %.4f\n", m.name, seed, result.Chosen, result.Errors)
			report.Runs = append(report.Runs, *result)
		}
		if len(o.Sets) == 0 {
			continue
		}
		chosen, err := sets.Choose(o.Sets, o.Data)
		if err != nil {
			return err
		}
		for _, s := range chosen {
			c, err := read(s, seed, 0)
			if err != nil {
				return fmt.Errorf("%s: %w", s.Name, err)
			}
			result, err := choose(ctx, c, s.Name, o.Features, seed)
			if err != nil {
				return fmt.Errorf("%s: %w", s.Name, err)
			}
			fmt.Fprintf(run.Log, "%s seed %d: %.0e of %.4f\n", s.Name, seed, result.Chosen, result.Errors)
			report.Runs = append(report.Runs, *result)
		}
	}
	return run.Report(report)
}

// split is a set cut into training and test rows, normalised.
type split struct {
	target      string
	sigma       float64 // 0: the root of the mean squared distance
	scales      []*kernel.Normaliser
	train, test []*kernel.Matrix // of each owner
	y, truth    []float64        // -1 and 1, or standardised by the training rows
	most        int              // training rows that are learned from; 0: all
}

// read reads a set of files, with bins of its columns where there are to be any.
func read(s sets.Benchmark, seed uint64, bins int) (*split, error) {
	data, err := trial.Files(s.Files, s.Options(), sets.Parties, seed)
	if err != nil {
		return nil, err
	}
	p := fdskl.Params{Active: data.Names[:1], Label: data.Label, Scale: s.Scale, Constant: "drop",
		Sigma: s.Sigma, BinParams: fdskl.BinParams{Bins: bins}}.WithDefaults()
	c := &split{target: joint.Classification, sigma: s.Sigma}
	for i, t := range data.Train {
		prepared, err := vertical.PrepareTraining(t, p.Goal(), i == 0)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			c.y = prepared.Labels.Values
		}
		scored, err := vertical.PrepareScoring(data.Test[i], &joint.Model{Columns: prepared.Columns,
			Normaliser: prepared.Normaliser})
		if err != nil {
			return nil, err
		}
		c.scales, c.train, c.test = append(c.scales, prepared.Normaliser), append(c.train, prepared.Rows),
			append(c.test, scored)
	}
	labels, err := data.Test[0].Labels(data.Label, dataset.Classification)
	if err != nil {
		return nil, err
	}
	c.truth = labels.Values
	return c, nil
}

// choose solves.
func choose(ctx context.Context, c *split, name string, features int, seed uint64) (*Result, error) {
	p := fdskl.Params{Active: []string{"a"}, Label: "y", Target: c.target, Loss: kernel.Square.String(),
		Features: features, Sigma: c.sigma, Seed: fmt.Sprint(seed), Keeper: "b", Helper: "c"}
	p = sealed.WithDefaults(p.WithDefaults())
	rows := len(c.y)
	z, err := c.features(ctx, p, c.train, rows)
	if err != nil {
		return nil, err
	}
	test, err := c.features(ctx, p, c.test, len(c.truth))
	if err != nil {
		return nil, err
	}
	floatsteps.Centre(z, test)
	out, err := p.HeldOut(rows)
	if err != nil {
		return nil, err
	}
	d := p.Features
	s0 := float64(rows) * float64(d) / math.Ldexp(1, bits.Len(uint(rows-1))+bits.Len(uint(d-1)))
	scale := s0 * 2 / float64(d*rows)
	mean := 0.0
	for _, y := range c.y {
		mean += y / float64(rows)
	}
	kept := slices.Clone(c.y) // 0 where a row is kept out
	first := mat.NewDense(rows, d, nil)
	left := 0
	for j := range rows {
		if out[j] {
			kept[j] = mean
			continue
		}
		first.SetRow(j, z.RawRowView(j))
		left++
	}
	whole, part := gram(z, scale), gram(first, scale)
	reach := math.Pow(2, math.Ceil(2*math.Log2(mat.Norm(whole, 2)))/2)
	r := &Result{Set: name, Rows: rows, Features: d, Seed: seed, Lambdas: fdskl.Candidates(), Best: math.Inf(1)}
	var losses []float64 // of a row that is kept out
	for _, lambda := range r.Lambdas {
		share := lambda * float64(left) / float64(rows)
		beta, err := steps(p, rows, part, side(z, kept, mean, scale), share, s0, reach)
		if err != nil {
			return nil, err
		}
		f := floatsteps.Scores(z, beta, mean)
		off := 0.0
		for j, y := range c.y {
			if out[j] {
				off += (f[j] - y) * (f[j] - y) / float64(rows-left)
			}
		}
		losses = append(losses, off)
		if beta, err = steps(p, rows, whole, side(z, c.y, mean, scale), lambda, s0, reach); err != nil {
			return nil, err
		}
		r.Errors = append(r.Errors, c.wrong(floatsteps.Scores(test, beta, mean)))
		r.Best = min(r.Best, r.Errors[len(r.Errors)-1])
	}
	r.Chosen = r.Lambdas[fdskl.Choose(losses, fdskl.Many(left, d))]
	r.Error = r.Errors[slices.Index(r.Lambdas, r.Chosen)]
	r.Before = r.Errors[slices.Index(r.Lambdas, fdskl.DefaultLambda)]
	return r, nil
}

// features returns the cosines and sines of rows.
func (c *split) features(ctx context.Context, p fdskl.Params, parts []*kernel.Matrix, rows int) (*mat.Dense, error) {
	p.Active = []string{"all"}
	if p.Sigma == 0 {
		p.Sigma = c.width()
	}
	values := make([]float64, rows)
	for j := range values {
		values[j] = float64(2*(j%2) - 1) // the labels do not matter
	}
	party := &fdskl.Party{Names: p.Active, Params: p, Privacy: fdskl.Sealed, Rows: rows,
		Labels: &joint.Labels{Values: values, Classes: []string{"0", "1"}}, Network: fdskl.Solo{}}
	if p.Target == joint.Regression {
		party.Labels.Classes = nil
	}
	for i, m := range parts {
		party.Parts = append(party.Parts, fdskl.Part{Owner: keys.ID{byte(i + 1)}, Normaliser: c.scales[i], Rows: m,
			Phase: fdskl.PhaseSeed(keys.HashOf("lab phase", []byte(p.Seed), []byte{byte(i)}))})
	}
	b, err := fdskl.Begin(ctx, party)
	if err != nil {
		return nil, err
	}
	z := mat.NewDense(rows, p.Features, nil)
	for lo := 0; lo < rows; lo += joint.ScoreRows {
		turns, err := b.Turns(parts, lo, min(lo+joint.ScoreRows, rows))
		if err != nil {
			return nil, err
		}
		for i, turn := range turns {
			z.Set(lo+2*i/p.Features, 2*i%p.Features, kernel.Cosine(turn))
			z.Set(lo+2*i/p.Features, 2*i%p.Features+1, kernel.Sine(turn))
		}
	}
	return z, nil
}

// width is the root of the mean squared distance of sampled training rows.
func (c *split) width() float64 {
	rng := rand.New(rand.NewPCG(1, 2))
	sum := 0.0
	const pairs = 1000
	for range pairs {
		a, b := rng.IntN(len(c.y)), rng.IntN(len(c.y))
		for _, m := range c.train {
			difference := make([]float64, m.Columns())
			m.EachInRow(a, func(i int, v float64) { difference[i] += v })
			m.EachInRow(b, func(i int, v float64) { difference[i] -= v })
			for _, v := range difference {
				sum += v * v / pairs
			}
		}
	}
	return math.Sqrt(sum)
}

// wrong is the error of scores of the test rows.
func (c *split) wrong(f []float64) float64 {
	sum := 0.0
	for j, y := range c.truth {
		if c.target == joint.Regression {
			sum += (f[j] - y) * (f[j] - y)
		} else if (f[j] > 0) != (y > 0) {
			sum++
		}
	}
	if c.target == joint.Regression {
		return math.Sqrt(sum / float64(len(f)))
	}
	return sum / float64(len(f))
}

// gram returns the scaled products of all columns.
func gram(z *mat.Dense, scale float64) *mat.SymDense {
	_, d := z.Dims()
	g := mat.NewSymDense(d, nil)
	g.SymOuterK(scale, z.T())
	return g
}

// side returns the right side of targets less a mean.
func side(z *mat.Dense, y []float64, mean, scale float64) *mat.VecDense {
	n, d := z.Dims()
	centred := make([]float64, n)
	for j, v := range y {
		centred[j] = v - mean
	}
	h := mat.NewVecDense(d, nil)
	h.MulVec(z.T(), mat.NewVecDense(n, centred))
	h.ScaleVec(scale, h)
	return h
}

// steps takes the steps of a sealed job.
func steps(p fdskl.Params, rows int, g *mat.SymDense, right *mat.VecDense, lambda, s0, reach float64) (*mat.VecDense,
	error) {
	factors, err := sealed.Steps(p, rows, lambda, reach)
	if err != nil {
		return nil, err
	}
	return floatsteps.Steps(factors, g, lambda/2*s0, right), nil
}
