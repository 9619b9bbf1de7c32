package fdskl

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/keys"
)

// oracle is doubly stochastic gradient descent with a constant step (Dai et al. 2014; FDSKL,
// Algorithm 1) without parties, blocks or clever storage: one process that sees everything and
// computes every angle anew. By FDSKL's Lemma 3, Algorithm 3 gives omega . x + b with the b of one
// party, so that the federation does the same iterations.
type oracle struct {
	f     *fixture
	rows  [][][]float64 // [party][row][column]
	omega [][]float64   // [feature][columns of all parties], in turns per unit
	phase []float64     // [feature], radians
	alpha []float64     // [feature]
	slope float64       // the largest |L'| so far
}

// newOracle draws all features.
func newOracle(f *fixture) *oracle {
	o := &oracle{f: f}
	for _, part := range f.parts {
		o.rows = append(o.rows, dense(part.Rows))
	}
	kind, _ := kernel.ParseKind(f.params.Kernel)
	k := kernel.Kernel{Kind: kind, Sigma: f.params.Sigma}
	for i := range f.params.Features {
		var omega []float64
		for _, part := range f.parts {
			for _, name := range append(append([]string{}, part.Rows.Dense...), part.Rows.Binary...) {
				var draw [1]float64
				k.Draw(f.params.PublicSeed(), part.Owner, name, i, 1, draw[:])
				omega = append(omega, draw[0])
			}
		}
		o.omega = append(o.omega, omega)
		o.phase = append(o.phase, o.phaseOf(i))
	}
	return o
}

// dense writes a matrix out.
func dense(m *kernel.Matrix) [][]float64 {
	rows := make([][]float64, m.Rows)
	for j := range rows {
		rows[j] = append(append(rows[j], m.Values[j*len(m.Dense):(j+1)*len(m.Dense)]...), make([]float64, len(m.Binary))...)
		for _, c := range m.Set[m.Starts[j]:m.Starts[j+1]] {
			rows[j][len(m.Dense)+int(c)] = 1
		}
	}
	return rows
}

// phaseOf returns b of feature i: the phase of l' (Algorithm 3, line 6) when published, that of all
// parties together when masked.
func (o *oracle) phaseOf(i int) float64 { return o.phaseAt(i, o.owner(i)) }

// phaseAt is phaseOf for a feature of the given party.
func (o *oracle) phaseAt(i, root int) float64 {
	if o.f.privacy == Masked {
		var turns uint16
		for _, part := range o.f.parts {
			turns += part.Phase.Turns(i, 1)[0]
		}
		return 2 * math.Pi * float64(turns) / 65536
	}
	h := keys.HashOf("hanse excluded v1", []byte(o.f.params.Seed))
	l := rand.New(rand.NewPCG(binary.BigEndian.Uint64(h[:8]), uint64(i))).IntN(len(o.f.parts) - 1)
	if l >= root {
		l++
	}
	return o.f.parts[l].Phase.Radians(i, 1)[0]
}

// owner returns the active party, which is its own number here, that feature i belongs to.
func (o *oracle) owner(i int) int { return i / o.f.params.BlockFeatures % len(o.f.params.Active) }

// phi is feature i of row j where features grow.
func (o *oracle) phi(i, j int) float64 { return math.Sqrt2 * math.Cos(o.angle(i, j)) }

// pair is feature i of row j of the fixed schedule: two have one frequency.
func (o *oracle) pair(i, j int) float64 {
	if i%2 == 1 {
		return math.Sqrt2 * math.Sin(o.angle(i/2, j))
	}
	return math.Sqrt2 * math.Cos(o.angle(i/2, j))
}

// angle is that of frequency i and row j.
func (o *oracle) angle(i, j int) float64 {
	angle, c := 0.0, 0
	for _, rows := range o.rows {
		for _, x := range rows[j] {
			angle += o.omega[i][c] * x
			c++
		}
	}
	return 2*math.Pi*angle + o.phase[i]
}

// score is f(x_j) with the features so far.
func (o *oracle) score(j int) float64 {
	f := 0.0
	for i, a := range o.alpha {
		f += a * o.phi(i, j)
	}
	return f
}

// slopeOf is L' of Table 1.
func slopeOf(loss string, f, y float64) float64 {
	z := y * f
	switch {
	case loss == "square":
		return 2 * (f - y)
	case loss == "logistic":
		return -y / (1 + math.Exp(z))
	case z <= 0:
		return -y
	case z < 1:
		return -y * (1 - z)
	}
	return 0
}

// run does all iterations.
func (o *oracle) run() {
	p := o.f.params
	for t := range p.Iterations {
		labels := o.f.labels[t%len(p.Active)].Values
		batch := o.batch(t, labels)
		fresh := make([]float64, p.BlockFeatures)
		for _, j := range batch {
			slope := slopeOf(p.Loss, o.score(j), labels[j])
			o.slope = max(o.slope, math.Abs(slope))
			for i := range fresh {
				fresh[i] -= p.Step / float64(p.BlockFeatures) * slope / float64(len(batch)) * o.phi(t*p.BlockFeatures+i, j)
			}
		}
		for i := range o.alpha {
			o.alpha[i] *= 1 - p.Step*float64(p.Lambda)
		}
		o.alpha = append(o.alpha, fresh...)
	}
}

// batch draws the rows of iteration t: the front of a shuffle of the labelled ones.
func (o *oracle) batch(t int, labels []float64) []int {
	var rows []int
	for j, y := range labels {
		if y == y {
			rows = append(rows, j)
		}
	}
	h := keys.HashOf("hanse batch v1", []byte(o.f.params.Seed), binary.BigEndian.AppendUint32(nil, uint32(t)))
	rng := rand.New(rand.NewChaCha8(h))
	n := min(o.f.params.Batch, len(rows))
	for i := range n {
		k := i + rng.IntN(len(rows)-i)
		rows[i], rows[k] = rows[k], rows[i]
	}
	return rows[:n]
}

// compare returns the largest difference between the parties' coefficients and the oracle's.
func (o *oracle) compare(t *testing.T, models []*Model) float64 {
	t.Helper()
	seen, worst := 0, 0.0
	for _, m := range models {
		at := 0
		for _, r := range m.Held {
			for i := r.First; i < r.First+r.Count; i++ {
				worst = max(worst, math.Abs(m.Alpha[at]-o.alpha[i]))
				at, seen = at+1, seen+1
			}
		}
	}
	if seen != len(o.alpha) {
		t.Fatalf("the parties hold %d coefficients, want %d", seen, len(o.alpha))
	}
	return worst
}

// stochasticJob is a job of the paper's schedule.
func stochasticJob(loss string, batch, block, iterations int, step float64) Params {
	p := Params{Schedule: DoublyStochastic, Loss: loss, Sigma: 1.5, Lambda: 1e-3, Seed: "oracle", Batch: batch,
		BlockFeatures: block, Iterations: iterations, Step: step}
	if loss == "square" {
		p.Target = joint.Classification
	}
	return p
}

// TestPublishedEqualsCentralised is Lemma 3 at work: with B = r = 1 the published protocol is
// Algorithm 1, and with the same seeds the centralised algorithm's coefficients.
func TestPublishedEqualsCentralised(t *testing.T) {
	steps := map[string]float64{"square": 0.1, "logistic": 1, "smooth-hinge": 0.5}
	for loss, step := range steps {
		for q := 2; q <= 6; q++ {
			for _, active := range []int{1, min(q, 1+q/2)} {
				if active == 1 && q > 4 {
					continue
				}
				t.Run(fmt.Sprintf("%s, %d parties, %d active", loss, q, active), func(t *testing.T) {
					t.Parallel()
					comparePublished(t, newFixture(t, q, 40, active, stochasticJob(loss, 1, 1, 200, step)))
				})
			}
		}
	}
}

// TestPublishedBlocksEqualCentralised has batches of several rows and blocks of several features.
func TestPublishedBlocksEqualCentralised(t *testing.T) {
	for _, loss := range []string{"square", "logistic", "smooth-hinge"} {
		for _, kind := range []string{"laplace", "matern32"} {
			t.Run(loss+", "+kind, func(t *testing.T) {
				t.Parallel()
				p := stochasticJob(loss, 5, 4, 40, 0.5)
				p.Kernel = kind
				comparePublished(t, newFixture(t, 4, 23, 3, p))
			})
		}
	}
}

// TestPublishedRegressionEqualsCentralised has a target that is standardised.
func TestPublishedRegressionEqualsCentralised(t *testing.T) {
	p := stochasticJob("square", 3, 2, 60, 0.2)
	p.Target = joint.Regression
	f := newFixture(t, 3, 30, 2, p)
	f.privacy = Published
	models := f.train(t)
	for i := range f.params.Active { // the oracle wants targets as the solver sees them
		labels := *f.labels[i]
		labels.Values = models[0].target().standardised(labels.Values)
		f.labels[i] = &labels
	}
	o := newOracle(f)
	o.run()
	if d := o.compare(t, models); !(d <= 1e-9) {
		t.Errorf("coefficients differ by %g", d)
	}
}

// comparePublished trains by the published protocol and compares with the oracle.
func comparePublished(t *testing.T, f *fixture) {
	t.Helper()
	f.privacy = Published
	o := newOracle(f)
	o.run()
	if d := o.compare(t, f.train(t)); !(d <= 1e-9) {
		t.Errorf("coefficients differ by %g", d)
	}
}
