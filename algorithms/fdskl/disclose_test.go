package fdskl

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/protocol/contract"
)

// openings counts what each party learned.
type openings []map[string]int64

// opened returns a Party.Opened for party i.
func (o openings) opened(i int) func(string, int64) {
	o[i] = make(map[string]int64)
	return func(kind string, n int64) { o[i][kind] += n }
}

// columnsOf counts the parties' columns.
func (f *fixture) columnsOf() []int {
	var n []int
	for _, c := range f.columns {
		n = append(n, len(c))
	}
	return n
}

// outline is the fixture's training.
func (f *fixture) outline() Outline {
	return Outline{Params: f.params, Privacy: f.privacy, Parties: f.names, Columns: f.columnsOf(), Rows: f.rows}
}

// scoring is a prediction with the fixture's model, of which so many rows are scored at a time.
func (f *fixture) scoring(rows, batch, receiver int) Outline {
	o := f.outline()
	o.Rows, o.Receiver, o.BatchRows = rows, f.names[receiver], batch
	return o
}

// disclose is what the fixture's training opens and does.
func (f *fixture) disclose(t testing.TB) joint.Disclosure {
	t.Helper()
	d, err := Disclose(f.outline())
	mustDo(t, err)
	return d
}

// exact are the kinds of openings whose number is known before the training.
func exact(f *fixture, kind string) bool {
	switch kind {
	case "distances", "target", "labelled":
		return true
	case "angles", "scores":
		return f.params.Schedule == Fixed && len(f.params.Active) == 1 || kind == "angles" && f.params.Schedule == Fixed
	}
	return false
}

// checkOpenings compares what parties learned with what was declared.
func checkOpenings(t *testing.T, f *fixture, d joint.Disclosure, learned openings, exact func(kind string) bool) {
	t.Helper()
	declared := make(map[string]int64)
	for _, o := range d.Openings {
		declared[o.To+" "+o.Kind] = o.Count
		if o.Meaning == "" {
			t.Errorf("%s of %s means nothing", o.Kind, o.To)
		}
	}
	for i, name := range f.names {
		for kind, n := range learned[i] {
			if want := declared[name+" "+kind]; n > want || exact(kind) && n != want {
				t.Errorf("%s learned %d %s, %d were declared", name, n, kind, want)
			}
		}
		for _, o := range d.Openings {
			if o.To == name && exact(o.Kind) && learned[i][o.Kind] == 0 {
				t.Errorf("%s learned no %s, %d were declared", name, o.Kind, o.Count)
			}
		}
	}
}

// TestTrainingKeepsToItsDisclosure runs jobs of all kinds and counts.
func TestTrainingKeepsToItsDisclosure(t *testing.T) {
	for name, p := range jobs() {
		for _, privacy := range []string{Masked, Published} {
			for _, active := range []int{1, 4} {
				t.Run(fmt.Sprintf("%s, %s, %d active", name, privacy, active), func(t *testing.T) {
					t.Parallel()
					f := newFixture(t, 4, 40, active, p)
					f.privacy = privacy
					d := f.disclose(t)
					for _, topology := range []contract.Topology{contract.Tree, contract.Ring} {
						links, learned := f.federation(t), make(openings, len(f.names))
						links.topology = topology
						links.declare(t, d, active)
						must(t, links.run(func(ctx context.Context, i int, n joint.Network) error {
							p := f.party(i, n, newVault())
							p.Opened = learned.opened(i)
							_, err := Train(ctx, p)
							return err
						}))
						checkOpenings(t, f, d, learned, func(kind string) bool { return exact(f, kind) })
					}
				})
			}
		}
	}
}

// TestStochasticAnglesAreBoundedClosely compares the declared number of angles with the real one
// where every row is picked again and again, and where hardly any is picked twice.
func TestStochasticAnglesAreBoundedClosely(t *testing.T) {
	for _, c := range []struct{ rows, batch int }{{10, 8}, {2000, 2}} {
		f := newFixture(t, 3, c.rows, 1, Params{Schedule: DoublyStochastic, Sigma: 1, Iterations: 20, Batch: c.batch,
			BlockFeatures: 3})
		learned := make(openings, 1)
		p := f.pooled()
		p.Opened = learned.opened(0)
		if _, err := Train(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		d := f.disclose(t)
		for _, o := range d.Openings {
			if n := learned[0]["angles"]; o.Kind == "angles" && (n > o.Count || n < o.Count*9/10) {
				t.Errorf("%d rows: %d angles opened, %d declared", c.rows, n, o.Count)
			}
		}
	}
}

// TestMemoryNamesTheMatricesOfTheSolver that a training has.
func TestMemoryNamesTheMatricesOfTheSolver(t *testing.T) {
	const angles, d = 1000, 512
	half := int64(8 * d * (d + 1) / 2) // of a matrix
	for _, c := range []struct {
		name   string
		change func(p *Params)
		rows   int
		want   int64
	}{
		{"square loss", func(*Params) {}, 4000, 2 * half},
		{"square loss, lambda chosen", func(p *Params) { p.Lambda = 0 }, 4000, 3 * half},
		{"smooth hinge", func(p *Params) { p.Loss = "smooth-hinge" }, 4000, 2*half + 2*d*d},
		{"fewer rows than features", func(p *Params) { p.Loss = "logistic" }, 100, 8*100*101 + 2*100*d},
		{"too large for Newton's method", func(p *Params) { p.Loss, p.Features = "logistic", 8192 }, 9000, 0},
		{"several active parties", func(p *Params) { p.Active = []string{"a", "b"} }, 4000, 0},
		{"doubly stochastic", func(p *Params) { p.Schedule = DoublyStochastic }, 4000, 0},
	} {
		p := Params{Features: d, Active: []string{"a"}, Lambda: 1e-3}.WithDefaults()
		p.Loss = "square"
		c.change(&p)
		if got := p.Memory(c.rows, angles); got != 2*angles+c.want {
			t.Errorf("%s: %d bytes, want %d", c.name, got, 2*angles+c.want)
		}
	}
}

// TestMemoryIsWhatAStepTakes, of Newton's method: blocks of rows add some, which memory does not name.
func TestMemoryIsWhatAStepTakes(t *testing.T) {
	const d = 1024
	for _, rows := range []int{600, 1000, 1500} { // by the rows' matrix, and by the features'
		o := newObjective(rows, d, kernel.SmoothHinge, 1e-3, 0.1, 1)
		gradient, scores := make([]float64, o.size()), make([]float64, rows)
		o.evaluate(make([]float64, o.size()), gradient, scores)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := o.direction(gradient, scores); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		took, stated := after.TotalAlloc-before.TotalAlloc, o.Params.Memory(rows, 0)
		if ratio := float64(took) / float64(stated); ratio < 0.7 || ratio > 1.5 {
			t.Errorf("%d rows: a step takes %d bytes, %.2f times the %d that are stated", rows, took, ratio, stated)
		}
	}
}
