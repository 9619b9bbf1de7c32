package fdskl

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/keys"
)

// fixture is a job with everybody's data.
type fixture struct {
	names   []string
	params  Params
	privacy string
	rows    int
	columns [][]kernel.Column // by party
	parts   []Part            // by party
	labels  []*joint.Labels   // by party; nil where passive
	workers int
}

// newFixture makes parties p0 to p(q-1) with dense, two-valued and categorical columns, and labels
// that depend on all of them; the first `active` parties hold all labels.
func newFixture(t testing.TB, q, rows, active int, p Params) *fixture {
	t.Helper()
	f := &fixture{privacy: Masked, rows: rows, workers: 2}
	rng := rand.New(rand.NewPCG(uint64(q), uint64(rows)))
	signal := make([]float64, rows)
	for i := range q {
		name := fmt.Sprintf("p%d", i)
		f.names = append(f.names, name)
		if i < active {
			p.Active = append(p.Active, name)
		}
		columns := testColumns(rng, rows, signal)
		f.columns = append(f.columns, columns)
		f.parts = append(f.parts, newPart(t, name, columns))
	}
	p.Label = "y"
	f.params = p.WithDefaults()
	mustDo(t, f.params.Validate(f.names))
	for i := range q {
		f.labels = append(f.labels, nil)
		if i < active {
			f.labels[i] = testLabels(f.params, signal)
		}
	}
	return f
}

// testColumns draws a party's columns and adds what they say of the label to signal.
func testColumns(rng *rand.Rand, rows int, signal []float64) []kernel.Column {
	number, flag := make([]float64, rows), make([]float64, rows)
	codes := make([]int32, rows)
	for j := range rows {
		number[j], flag[j], codes[j] = rng.NormFloat64(), float64(rng.IntN(2)), int32(rng.IntN(3))
		signal[j] += math.Sin(2*number[j]) + flag[j]*float64(codes[j]-1) + 0.1*rng.NormFloat64()
	}
	number[0], flag[0], flag[1] = 5, 0, 1
	copy(codes, []int32{0, 1, 2})
	return []kernel.Column{{Name: "number", Values: number}, {Name: "flag", Values: flag},
		{Name: "code", Codes: codes, Levels: []string{"a", "b", "c"}}}
}

// newPart normalises a party's columns; owner and phase follow from its name.
func newPart(t testing.TB, name string, columns []kernel.Column) Part {
	t.Helper()
	n, err := kernel.Fit(columns, nil, kernel.FitOptions{Numeric: kernel.MinMax})
	mustDo(t, err)
	rows, err := n.Apply(columns)
	mustDo(t, err)
	return Part{Owner: keys.ID(keys.HashOf("test owner", []byte(name))), Normaliser: n, Rows: rows,
		Phase: PhaseSeed(keys.HashOf("test phase", []byte(name)))}
}

// testLabels makes labels from the signal.
func testLabels(p Params, signal []float64) *joint.Labels {
	l := &joint.Labels{Values: make([]float64, len(signal))}
	if p.Scores() > 1 { // classes of about the same size, of what lies between which bounds
		order := slices.Sorted(slices.Values(signal))
		for k := range p.Classes {
			l.Classes = append(l.Classes, fmt.Sprintf("class %d", k))
		}
		for j, s := range signal {
			at, _ := slices.BinarySearch(order, s)
			l.Values[j] = float64(at * p.Classes / len(signal))
		}
		return l
	}
	if p.Target == joint.Regression {
		for j, s := range signal {
			l.Values[j] = 100 + 7*s
		}
		return l
	}
	l.Classes = []string{"good", "bad"}
	for j, s := range signal {
		l.Values[j] = math.Copysign(1, s)
	}
	return l
}

// splitLabels leaves each active party the labels of every other row, in turns.
func (f *fixture) splitLabels() {
	whole := f.labels[0]
	for i := range f.params.Active {
		l := &joint.Labels{Values: slices.Clone(whole.Values), Classes: whole.Classes}
		for j := range l.Values {
			if j%len(f.params.Active) != i {
				l.Values[j] = math.NaN()
			}
		}
		f.labels[i] = l
	}
}

// party returns party i, ready to train.
func (f *fixture) party(i int, n joint.Network, v joint.Vault) *Party {
	return &Party{
		Self: i, Names: f.names, Params: f.params, Privacy: f.privacy, Parts: []Part{f.parts[i]}, Rows: f.rows,
		Labels: f.labels[i], Network: n, Vault: v, Workers: f.workers,
	}
}

// pooled returns one party that owns all parts and all labels.
func (f *fixture) pooled() *Party {
	p := f.party(0, Solo{}, newVault())
	p.Names, p.Parts, p.Privacy = []string{"pooled"}, f.parts, Masked
	p.Params.Active = p.Names
	labels := &joint.Labels{Values: slices.Clone(f.labels[0].Values), Classes: f.labels[0].Classes}
	for _, l := range f.labels {
		for j := range labels.Values {
			if l != nil && math.IsNaN(labels.Values[j]) {
				labels.Values[j] = l.Values[j]
			}
		}
	}
	p.Labels = labels
	return p
}

// federation returns the parties' links.
func (f *fixture) federation(t testing.TB) *federation {
	t.Helper()
	return newFederation(t, f.names, f.privacy)
}

// train trains everybody in one session and returns the model parts.
func (f *fixture) train(t testing.TB) []*Model {
	t.Helper()
	return f.trainIn(t, f.federation(t))
}

// trainIn is train over given links.
func (f *fixture) trainIn(t testing.TB, links *federation) []*Model {
	t.Helper()
	models := make([]*Model, len(f.names))
	must(t, links.run(func(ctx context.Context, i int, n joint.Network) (err error) {
		models[i], err = Train(ctx, f.party(i, n, newVault()))
		return err
	}))
	return models
}

// permuted returns the same job with the parties in another order.
func (f *fixture) permuted(order []int) *fixture {
	g := &fixture{params: f.params, privacy: f.privacy, rows: f.rows, workers: f.workers}
	for _, i := range order {
		g.names = append(g.names, f.names[i])
		g.columns = append(g.columns, f.columns[i])
		g.parts = append(g.parts, f.parts[i])
		g.labels = append(g.labels, f.labels[i])
	}
	return g
}

// memory is a Memory that dies at a given write: the write fails and is lost, or it
// fails and is there all the same.
type memory struct {
	*joint.Memory
	writes int
	dieAt  int // 0: never
	stored bool
}

// newVault returns an empty vault that does not fail.
func newVault() *memory {
	return &memory{Memory: joint.NewMemory()}
}

// errDead is what a dying vault says.
var errDead = fmt.Errorf("the disk is gone")

// write does a write, or dies at it.
func (m *memory) write(do func()) error {
	m.writes++
	dies := m.writes == m.dieAt
	if !dies || m.stored {
		do()
	}
	if dies {
		return errDead
	}
	return nil
}

func (m *memory) Save(name string, data []byte) error {
	return m.write(func() { m.Memory.Save(name, data) })
}

func (m *memory) Append(name string, record []byte) error {
	return m.write(func() { m.Memory.Append(name, record) })
}
