package ofmsftbaseline

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/algorithms/ofmsft"
)

var _ = []Federation{&MAB{}, &Fixed{}, &Random{}, &Budgeted{}, &Descent{}, &PerFedAvg{}, &ofmsft.Federation{}}

// The size of the federations in these tests.
const (
	clients = 3
	inputs  = 4
)

// mustDo ends the test on an error.
func mustDo(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// job returns a job with so many networks, and the networks.
func job(t *testing.T, count, rounds int, edit func(*ofmsft.Params)) (ofmsft.Params, []*nn.Network) {
	t.Helper()
	var names []string
	var networks []*nn.Network
	rng := rand.New(rand.NewPCG(3, 3))
	for k := range count {
		n, err := nn.New([]int{inputs}, []nn.Layer{{Kind: nn.Dense, Units: 5, Activation: nn.ReLU},
			{Kind: nn.Dense, Units: 1, Activation: nn.Linear}}, rng)
		mustDo(t, err)
		names, networks = append(names, string(rune('a'+k))), append(networks, n)
	}
	p, err := ofmsft.Params{Label: "y", Budget: 2, Rounds: rounds, Rate: 0.5, Step: 0.05, LabelLow: 2,
		LabelHigh: 6}.WithNetworks(names, networks)
	mustDo(t, err)
	if edit != nil {
		edit(&p)
	}
	return p.WithDefaults(clients), networks
}

// round draws rows and labels from 2 to 6.
func round(rng *rand.Rand, n int) (rows [][]float64, labels []float64) {
	for range n {
		x := make([]float64, inputs)
		for c := range x {
			x[c] = rng.Float64()
		}
		rows, labels = append(rows, x), append(labels, 3+x[0]+2*x[1])
	}
	return rows, labels
}

// single32 returns a row as a network sees it.
func single32(row []float64) (x []float32) {
	for _, v := range row {
		x = append(x, float32(v))
	}
	return x
}

// everyBaseline makes one of each.
func everyBaseline(t *testing.T, p ofmsft.Params, networks []*nn.Network, clients int) map[string]Federation {
	t.Helper()
	all, seed := map[string]Federation{}, [32]byte{1}
	var err error
	all["MAB"], err = NewMAB(p, networks, clients, seed)
	mustDo(t, err)
	all["Non-Fed-OMS"], err = NewFixed(p, networks, clients, seed)
	mustDo(t, err)
	all["RMS-FT"], err = NewRandom(p, networks, clients, seed)
	mustDo(t, err)
	all["B-Fed-OMFT"], err = NewBudgeted(p, networks, clients, seed)
	mustDo(t, err)
	all["Fed-OMD"], err = NewDescent(p, networks, clients, seed)
	mustDo(t, err)
	all["PerFedAvg"], err = NewPerFedAvg(p, networks, clients, seed)
	mustDo(t, err)
	return all
}

// TestMABIsExp3 writes the server's weights down plainly.
func TestMABIsExp3(t *testing.T) {
	p, networks := job(t, 4, 50, nil)
	f, err := NewMAB(p, networks, clients, [32]byte{6})
	mustDo(t, err)
	rng, source, z, got := rand.New(rand.NewPCG(1, 4)), rand.New(rand.NewChaCha8([32]byte{6})), []float64{1, 1, 1,
		1}, make([]float64, clients)
	for r := range p.Rounds {
		rows, labels := round(rng, clients)
		mustDo(t, f.Round(rows, labels, got))
		total, u, sum, k := z[0]+z[1]+z[2]+z[3], source.Float64(), 0.0, 0
		for k = range z {
			if sum += z[k] / total; u < sum {
				break
			}
		}
		mean := 0.0
		for i, row := range rows {
			out := float64(networks[k].NewWorkspace().Predict(single32(row), 1)[0])
			if math.Abs(got[i]-2-4*out) > 1e-12 {
				t.Fatalf("round %d, client %d: prediction %v, want %v", r+1, i+1, got[i], 2+4*out)
			}
			mean += (out - (labels[i]-2)/4) * (out - (labels[i]-2)/4) / clients
		}
		z[k] *= math.Exp(-p.Rate * mean / (z[k] / total))
	}
}

// TestUpdatesOfOneClientAreEquationsAndInPlace has a mean of one, which is the same both ways, and
// plain gradient descent.
func TestUpdatesOfOneClientAreEquationsAndInPlace(t *testing.T) {
	for _, update := range []string{ofmsft.UpdateEquation11, ofmsft.UpdateInPlace} {
		p, networks := job(t, 2, 20, func(p *ofmsft.Params) { p.Update, p.Bandwidth = update, 2 })
		random, err := NewRandom(p, networks, 1, [32]byte{1})
		mustDo(t, err)
		budgeted, err := NewBudgeted(p, networks, 1, [32]byte{1})
		mustDo(t, err)
		rng, got := rand.New(rand.NewPCG(1, 4)), make([]float64, 1)
		plain := []*nn.Network{networks[0].Clone(), networks[1].Clone()}
		for range p.Rounds {
			rows, labels := round(rng, 1)
			mustDo(t, random.Round(rows, labels, got))
			mustDo(t, budgeted.Round(rows, labels, got))
			for _, n := range plain {
				gradient := make([]float32, n.Size())
				n.NewWorkspace().Gradient(single32(rows[0]), []float64{(labels[0] - 2) / 4}, 1, gradient)
				for j, g := range gradient {
					n.Parameters()[j] -= float32(p.Step) * g
				}
			}
		}
		for k, n := range plain {
			for j, v := range n.Parameters() {
				for _, m := range []*models{random.models, budgeted.models} {
					if d := m.networks[k].Parameters()[j] - v; d > 1e-5 || d < -1e-5 {
						t.Fatalf("%s: parameter %d of network %d is off by %v", update, j+1, k+1, d)
					}
				}
			}
		}
	}
}

// TestDescentAveragesTheClients writes one round of two clients down.
func TestDescentAveragesTheClients(t *testing.T) {
	p, networks := job(t, 2, 20, nil)
	f, err := NewDescent(p, networks, 2, [32]byte{1})
	mustDo(t, err)
	g, err := NewPerFedAvg(p, networks, 2, [32]byte{1})
	mustDo(t, err)
	rows, labels := round(rand.New(rand.NewPCG(1, 4)), 2)
	mustDo(t, f.Round(rows, labels, make([]float64, 2)))
	mustDo(t, g.Round(rows, labels, make([]float64, 2)))
	start := networks[f.model]
	mean, adapted := make([]float64, start.Size()), make([]float64, start.Size())
	for i, row := range rows {
		local, gradient := start.Clone(), make([]float32, start.Size())
		local.NewWorkspace().Gradient(single32(row), []float64{(labels[i] - 2) / 4}, 1, gradient)
		for j, v := range gradient {
			local.Parameters()[j] -= localStep * v
			mean[j] += float64(local.Parameters()[j]) / 2
		}
		local.NewWorkspace().Gradient(single32(row), []float64{(labels[i] - 2) / 4}, 1, gradient)
		for j, v := range gradient {
			adapted[j] += float64(v) / 2
		}
	}
	for j, v := range start.Parameters() {
		if math.Abs(float64(f.networks[f.model].Parameters()[j])-mean[j]) > 1e-7 {
			t.Fatalf("parameter %d is %v, want %v", j+1, f.networks[f.model].Parameters()[j], mean[j])
		}
		if want := float64(v) - localStep*adapted[j]; math.Abs(float64(g.networks[g.model].Parameters()[j])-want) > 1e-7 {
			t.Fatalf("PerFedAvg: parameter %d is %v, want %v", j+1, g.networks[g.model].Parameters()[j], want)
		}
	}
}

// TestSetsFitTheirBudgets draws sets of dear and cheap networks.
func TestSetsFitTheirBudgets(t *testing.T) {
	p, networks := job(t, 6, 20, func(p *ofmsft.Params) {
		for k := range p.Models {
			p.Models[k].Cost = float64(k+1) / 3
		}
		p.Budget, p.Budgets = 5, map[string]float64{"2": 4}
	})
	f, err := NewBudgeted(p, networks, clients, [32]byte{1})
	mustDo(t, err)
	for _, budget := range []float64{4, 5} {
		for range 100 {
			cost, set := 0.0, f.fill(budget)
			for _, k := range set {
				cost += p.Models[k].Cost
			}
			for k, m := range p.Models {
				if !slices.Contains(set, k) && cost+m.Cost <= budget {
					t.Fatalf("set %v costs %v of %v and leaves network %d out", set, cost, budget, k)
				}
			}
			if cost > budget*(1+1e-9) {
				t.Fatalf("set %v costs %v of %v", set, cost, budget)
			}
		}
	}
	if f.budget(1) != 4 || f.budget(0) != 5 {
		t.Errorf("budgets are %v and %v", f.budget(0), f.budget(1))
	}
}

// TestEveryBaselineLearns compares the errors of the first and the last rounds, where there is
// anything to learn.
func TestEveryBaselineLearns(t *testing.T) {
	p, networks := job(t, 5, 600, func(p *ofmsft.Params) {
		p.Budget, p.Window, p.WarmUp, p.Update = 5, 40, 10,
			ofmsft.UpdateInPlace
	})
	for name, f := range everyBaseline(t, p, networks, clients) {
		var first, last float64
		rng, got := rand.New(rand.NewPCG(1, 4)), make([]float64, clients)
		for r := range p.Rounds {
			rows, labels := round(rng, clients)
			mustDo(t, f.Round(rows, labels, got))
			for i, y := range got {
				if r < 50 {
					first += (y - labels[i]) * (y - labels[i])
				}
				if r >= p.Rounds-50 {
					last += (y - labels[i]) * (y - labels[i])
				}
			}
		}
		if !(last < 0.9*first) {
			t.Errorf("%s: squared errors are %v at first and %v at last", name, first, last)
		}
	}
}

// TestBadRoundsAreRefused by client, row and value.
func TestBadRoundsAreRefused(t *testing.T) {
	p, networks := job(t, 3, 20, nil)
	good := []float64{0, 0, 0, 0}
	for _, c := range []struct {
		rows   [][]float64
		labels []float64
		want   string
	}{
		{[][]float64{good}, []float64{3, 3}, "1 rows, 2 labels and room for 2 predictions, want 2, the number of clients"},
		{[][]float64{good, {0, 0, math.NaN(), 0}}, []float64{3, 3}, "client 2: row 1: value 3 is NaN, want a finite number"},
		{[][]float64{good, good[1:]}, []float64{3, 3}, "client 2: row 1 has 3 values, want 4"},
		{[][]float64{good, good}, []float64{3, 7}, `client 2: row 1, label column "y": the label is 7, want a number from 2 to 6`},
	} {
		for name, f := range everyBaseline(t, p, networks, 2) {
			if err := f.Round(c.rows, c.labels, make([]float64, 2)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: error %v, want %q", name, err, c.want)
			}
		}
	}
}

// TestBadFederationsAreRefused by what is wrong with them.
func TestBadFederationsAreRefused(t *testing.T) {
	p, networks := job(t, 3, 20, nil)
	long := p
	long.RoundsPerUpload = 2
	for _, c := range []struct {
		p        ofmsft.Params
		networks []*nn.Network
		clients  int
		want     string
	}{
		{p, networks, 0, "the federation has 0 clients, want at least 1"},
		{p, networks[1:], 2, "there are 2 networks, want 3, one for each model"},
		{long, networks, 2, "rounds_per_upload is 2, want 1: the baselines know no other"},
		{ofmsft.Params{}, networks, 2, "there are 0 models"},
	} {
		var errs []error
		_, err := NewMAB(c.p, c.networks, c.clients, [32]byte{})
		errs = append(errs, err)
		_, err = NewFixed(c.p, c.networks, c.clients, [32]byte{})
		errs = append(errs, err)
		_, err = NewRandom(c.p, c.networks, c.clients, [32]byte{})
		errs = append(errs, err)
		_, err = NewBudgeted(c.p, c.networks, c.clients, [32]byte{})
		errs = append(errs, err)
		_, err = NewDescent(c.p, c.networks, c.clients, [32]byte{})
		errs = append(errs, err)
		_, err = NewPerFedAvg(c.p, c.networks, c.clients, [32]byte{})
		errs = append(errs, err)
		for _, err := range errs {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		}
	}
}
