package pofmklbaseline

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/pofmkl"
)

// The size of the federations in these tests.
const (
	clients = 3
	rounds  = 30
	columns = 4
)

// federation is what all baselines, and POF-MKL, have in common.
type federation interface {
	Round(rows [][]float64, labels, predictions []float64) error
}

var _ = []federation{&Average{}, &Global{}, &Drawn{}, &PerFedAvg{}, &pofmkl.Federation{}}

// params is a job whose labels run from 2 to 6.
func params() pofmkl.Params {
	return pofmkl.Params{Seed: "baseline", Label: "y", Bandwidths: []float64{0.1, 1, 10}, Features: 4, Rounds: rounds,
		LabelLow: 2, LabelHigh: 6}.WithDefaults()
}

// names returns the input columns.
func names() []string { return []string{"a", "b", "c", "d"} }

// newDictionary makes the test's dictionary.
func newDictionary(t *testing.T) *pofmkl.Dictionary {
	t.Helper()
	d, err := pofmkl.NewDictionary(params(), names())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// data draws rows and labels, by round and client.
func data() (rows [][][]float64, labels [][]float64) {
	rng := rand.New(rand.NewPCG(1, 4))
	for r := range rounds {
		rows, labels = append(rows, nil), append(labels, nil)
		for range clients {
			x := make([]float64, columns)
			for c := range x {
				x[c] = rng.Float64() / 2
			}
			rows[r], labels[r] = append(rows[r], x), append(labels[r], 3+x[0]+2*x[1])
		}
	}
	return rows, labels
}

// oracle is a dumb federation of kernels. blend turns the kernels' scores of a client into its
// prediction, from 0 to 1, and learn sees the losses by client and kernel after the round.
type oracle struct {
	features *pofmkl.Features
	theta    [][]float64
	blend    func(scores []float64) float64
	learn    func(losses [][]float64)
}

// round predicts and moves theta by the mean gradient of every kernel.
func (o *oracle) round(t *testing.T, p pofmkl.Params, rows [][]float64, labels []float64) []float64 {
	var predictions []float64
	var losses [][]float64
	step := make([][]float64, len(o.theta))
	for i := range step {
		step[i] = make([]float64, 2*p.Features)
	}
	for k, x := range rows {
		if err := o.features.Set(1, x); err != nil {
			t.Fatal(err)
		}
		y, scores := (labels[k]-2)/4, make([]float64, len(o.theta))
		losses = append(losses, make([]float64, len(o.theta)))
		for i, theta := range o.theta {
			for j, z := range o.features.Kernel(i) {
				scores[i] += theta[j] * z
			}
			losses[k][i] = (scores[i] - y) * (scores[i] - y)
			for j, z := range o.features.Kernel(i) {
				step[i][j] += p.Step * 2 * (scores[i] - y) * z / clients
			}
		}
		predictions = append(predictions, 2+4*o.blend(scores))
	}
	for i := range o.theta {
		for j := range o.theta[i] {
			o.theta[i][j] -= step[i][j]
		}
	}
	o.learn(losses)
	return predictions
}

// newOracle starts an oracle at zero.
func newOracle(d *pofmkl.Dictionary) *oracle {
	o := &oracle{features: d.NewFeatures()}
	for range d.Params().Kernels() {
		o.theta = append(o.theta, make([]float64, 2*d.Params().Features))
	}
	return o
}

// compare runs a federation beside an oracle.
func compare(t *testing.T, f federation, o *oracle) {
	t.Helper()
	rows, labels := data()
	got := make([]float64, clients)
	for r := range rows {
		if err := f.Round(rows[r], labels[r], got); err != nil {
			t.Fatal(err)
		}
		for k, want := range o.round(t, params(), rows[r], labels[r]) {
			if math.Abs(got[k]-want) > 1e-12 {
				t.Fatalf("round %d, client %d: prediction %v, want %v", r+1, k+1, got[k], want)
			}
		}
	}
}

// TestAverageEqualsTheOracle blends by the mean.
func TestAverageEqualsTheOracle(t *testing.T) {
	d := newDictionary(t)
	f, err := NewAverage(d, clients)
	if err != nil {
		t.Fatal(err)
	}
	o := newOracle(d)
	o.blend = func(s []float64) float64 { return (s[0] + s[1] + s[2]) / 3 }
	o.learn = func([][]float64) {}
	compare(t, f, o)
}

// TestGlobalEqualsTheOracle blends by weights that the mean losses drive.
func TestGlobalEqualsTheOracle(t *testing.T) {
	d := newDictionary(t)
	f, err := NewGlobal(d, clients)
	if err != nil {
		t.Fatal(err)
	}
	o, w := newOracle(d), []float64{1, 1, 1}
	o.blend = func(s []float64) float64 { return (w[0]*s[0] + w[1]*s[1] + w[2]*s[2]) / (w[0] + w[1] + w[2]) }
	o.learn = func(losses [][]float64) {
		for i := range w {
			w[i] *= math.Exp(-params().WeightStep * (losses[0][i] + losses[1][i] + losses[2][i]) / clients)
		}
	}
	compare(t, f, o)
}

// TestPOFMKLWithOneBinAndOneClientIsGlobal has nothing to personalise and nothing to draw.
func TestPOFMKLWithOneBinAndOneClientIsGlobal(t *testing.T) {
	p := params()
	p.Chosen = p.Kernels()
	d, err := pofmkl.NewDictionary(p, names())
	if err != nil {
		t.Fatal(err)
	}
	one, err := NewGlobal(d, 1)
	if err != nil {
		t.Fatal(err)
	}
	other, err := pofmkl.NewFederation(d, 1, [32]byte{})
	if err != nil {
		t.Fatal(err)
	}
	rows, labels := data()
	a, b := make([]float64, 1), make([]float64, 1)
	for r := range rows {
		if err := one.Round(rows[r][:1], labels[r][:1], a); err != nil {
			t.Fatal(err)
		}
		if err := other.Round(rows[r][:1], labels[r][:1], b); err != nil {
			t.Fatal(err)
		}
		if math.Abs(a[0]-b[0]) > 1e-12 || math.Abs(one.Regret(0)-other.Regret(0)) > 1e-12 {
			t.Fatalf("round %d: predictions %v and %v, regrets %v and %v", r+1, a[0], b[0], one.Regret(0), other.Regret(0))
		}
	}
}

// TestDrawnWithOneKernelAveragesEveryRound is plain federated descent then: each client moves its own
// copy, and the copies are averaged before the next prediction.
func TestDrawnWithOneKernelAveragesEveryRound(t *testing.T) {
	p := params()
	p.Bandwidths = p.Bandwidths[:1]
	d, err := pofmkl.NewDictionary(p, names())
	if err != nil {
		t.Fatal(err)
	}
	drawn, err := NewDrawn(d, clients, [32]byte{})
	if err != nil {
		t.Fatal(err)
	}
	average, err := NewAverage(d, clients)
	if err != nil {
		t.Fatal(err)
	}
	rows, labels := data()
	a, b := make([]float64, clients), make([]float64, clients)
	for r := range rows {
		if err := drawn.Round(rows[r], labels[r], a); err != nil {
			t.Fatal(err)
		}
		if err := average.Round(rows[r], labels[r], b); err != nil {
			t.Fatal(err)
		}
		for k := range a {
			if math.Abs(a[k]-b[k]) > 1e-12 {
				t.Fatalf("round %d, client %d: prediction %v, want %v", r+1, k+1, a[k], b[k])
			}
		}
	}
}

// TestEveryBaselineLearns compares the errors of the first and the last rounds.
func TestEveryBaselineLearns(t *testing.T) {
	d := newDictionary(t)
	average, _ := NewAverage(d, clients)
	global, _ := NewGlobal(d, clients)
	drawn, _ := NewDrawn(d, clients, [32]byte{1})
	network, _ := NewPerFedAvg(params(), names(), clients, [32]byte{1})
	for _, f := range []federation{average, global, drawn, network} {
		rows, labels := data()
		var first, last float64
		for r := range rows {
			predictions := make([]float64, clients)
			if err := f.Round(rows[r], labels[r], predictions); err != nil {
				t.Fatal(err)
			}
			for k, y := range predictions {
				if r < 5 {
					first += (y - labels[r][k]) * (y - labels[r][k])
				}
				if r >= rounds-5 {
					last += (y - labels[r][k]) * (y - labels[r][k])
				}
			}
		}
		if !(last < first/2) {
			t.Errorf("%T: squared errors are %v at first and %v at last", f, first, last)
		}
	}
}

// TestBadRounds names client, row and column.
func TestBadRounds(t *testing.T) {
	d := newDictionary(t)
	average, _ := NewAverage(d, 2)
	global, _ := NewGlobal(d, 2)
	drawn, _ := NewDrawn(d, 2, [32]byte{})
	network, _ := NewPerFedAvg(params(), names(), 2, [32]byte{})
	good, bad := []float64{0, 0, 0, 0}, []float64{0, 0, math.NaN(), 0}
	for _, f := range []federation{average, global, drawn, network} {
		for _, c := range []struct {
			rows   [][]float64
			labels []float64
			want   string
		}{
			{[][]float64{good}, []float64{3, 3}, "1 rows, 2 labels and room for 2 predictions, want 2, the number of clients"},
			{[][]float64{good, bad}, []float64{3, 3}, `client 2: row 1, column "c": the value is NaN, want a finite number`},
			{[][]float64{good, good[1:]}, []float64{3, 3}, "client 2: row 1 has 3 values, want 4"},
			{[][]float64{good, good}, []float64{3, 7}, `client 2: row 1, label column "y": the label is 7, want a number from 2 to 6`},
		} {
			if err := f.Round(c.rows, c.labels, make([]float64, 2)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%T: error %v, want %q", f, err, c.want)
			}
		}
	}
}

// TestBadFederations names the number of clients and the regulariser.
func TestBadFederations(t *testing.T) {
	d := newDictionary(t)
	p := params()
	p.Lambda = 0.1
	regularised, err := pofmkl.NewDictionary(p, names())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		make func() error
		want string
	}{
		{func() error { _, err := NewAverage(d, 0); return err }, "the federation has 0 clients, want at least 1"},
		{func() error { _, err := NewGlobal(regularised, 1); return err }, "lambda is 0.1, want 0"},
		{func() error { _, err := NewDrawn(d, -1, [32]byte{}); return err }, "the federation has -1 clients"},
		{func() error { _, err := NewPerFedAvg(p, nil, 1, [32]byte{}); return err },
			"1 clients with 0 input columns, want at least 1 of each"},
	} {
		if err := c.make(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

// TestNetworksAreThePapers has two hidden layers for both sets, and none for 520 inputs.
func TestNetworksAreThePapers(t *testing.T) {
	for inputs, want := range map[int]string{14: "[14 20 20 1]", 15: "[15 20 20 1]", 520: "[520 1]"} {
		s := shapeFor(inputs)
		if fmt.Sprint(s) != want || s.numbers() >= maxNumbers {
			t.Errorf("%d inputs: %v with %d numbers, want %s", inputs, s, s.numbers(), want)
		}
	}
}

// TestGradientsAreDifferences compares the network's gradient with central differences.
func TestGradientsAreDifferences(t *testing.T) {
	s := shapeFor(columns)
	p, w := newPass(s), s.start(rand.New(rand.NewPCG(1, 2)))
	for i := range w {
		w[i] += 0.01 // offsets off the kink
	}
	x, y := []float64{0.3, -0.2, 0.9, 0.4}, 0.7
	loss := func() float64 {
		e := p.forward(w, x) - y
		return e * e
	}
	loss()
	gradient := make([]float64, len(w))
	p.addGradient(gradient, 1, w, y)
	const h = 1e-6
	for i := range w {
		at := w[i]
		w[i] = at + h
		up := loss()
		w[i] = at - h
		down := loss()
		w[i] = at
		if want := (up - down) / (2 * h); math.Abs(gradient[i]-want) > 1e-6 {
			t.Fatalf("number %d: gradient %v, want %v", i+1, gradient[i], want)
		}
	}
}
