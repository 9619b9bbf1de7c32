package gfml

import (
	"math"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/algorithms/portable"
)

// written is what a model on random features predicts, by the formula in docs/model-format.md and nothing else.
func written(m *portable.Model, x []float64) float64 {
	k, sum := m.Kernels, 0.0
	for j := range k.Count {
		angle := k.Phases[j]
		for c := range x {
			angle += k.Frequencies[j*len(x)+c] * x[c]
		}
		sum += *k.List[0].Weight * math.Sqrt(2/float64(k.Count)) * k.Theta[j] * math.Cos(angle)
	}
	return sum
}

// TestAClientKeepsWhatItPredictsWith after a whole job: the model predicts as the client's own weights do in one
// process, and as what it exports says. The servers keep theirs.
func TestAClientKeepsWhatItPredictsWith(t *testing.T) {
	p := plan(t, func(p *Params) { p.Iterations, p.Entries = 40, 4 })
	w := newWorld(t, p, 60)
	w.run(nil)
	f := federation(t, p, p.NewServer)
	features, z := p.Features(), make([]float64, p.params.Features)
	for n := range p.params.Iterations {
		must(t, f.Step(n, Round{Sample: func(s, k int) ([]float64, float64, bool) {
			z := make([]float64, p.params.Features)
			must(t, features.Map(z, w.x[s][k][n]))
			return z, w.y[s][k][n], true
		}}))
	}
	for s := range p.Servers() {
		for k := range p.Clients(s) {
			m, err := p.DecodeModel(s, k, w.clients[s][k][federated.ModelSlot])
			must(t, err)
			if m.Round() != 40 {
				t.Errorf("the model of client %d of server %d is of iteration %d", k, s, m.Round())
			}
			for i, x := range w.x[s][k][40:] {
				must(t, features.Map(z, x))
				want, err := f.Clients[s][k].Predict(z)
				must(t, err)
				got, err := m.Predict(i+1, x)
				must(t, err)
				if math.Abs(got.Value-want) > 1e-6 { // sums in fixed point
					t.Errorf("client %d of server %d, row %d: the prediction is %v, want %v", k, s, i+1, got.Value, want)
				}
				if far := math.Abs(written(m.Portable(), x) - got.Value); far > 1e-12 {
					t.Errorf("client %d of server %d, row %d: what is exported is off by %g", k, s, i+1, far)
				}
			}
		}
		m, err := p.DecodeServerModel(s, w.servers[s][federated.ModelSlot])
		must(t, err)
		wantNear(t, "the server's model", m.w, f.Servers[s].Model(), 1e-6)
	}
}

// TestModelsOfOthersAreRefused: of another party, another role and another job.
func TestModelsOfOthersAreRefused(t *testing.T) {
	p := plan(t, func(p *Params) { p.Iterations = 4 })
	w := newWorld(t, p, 4)
	w.run(nil)
	other := plan(t, func(p *Params) { p.Iterations, p.Seed = 4, "other" })
	for what, c := range map[string]struct {
		decode func() (*Model, error)
		want   string
	}{
		"another client's": {func() (*Model, error) { return p.DecodeModel(1, 2, w.clients[1][3][federated.ModelSlot]) },
			"it is of server 1, client 3, want server 1, client 2"},
		"a server's": {func() (*Model, error) { return p.DecodeModel(1, 2, w.servers[1][federated.ModelSlot]) },
			"it is of server 1, client -1"},
		"a client's": {func() (*Model, error) { return p.DecodeServerModel(1, w.clients[1][3][federated.ModelSlot]) },
			"want server 1, client -1"},
		"another job's": {func() (*Model, error) {
			return other.DecodeModel(1, 2,
				w.clients[1][2][federated.ModelSlot])
		}, "a job with other parameters"},
		"no such place": {func() (*Model, error) { return p.DecodeModel(9, 2, nil) }, "server 9 is out of range"},
		"a cut file": {func() (*Model, error) {
			return p.DecodeModel(1, 2,
				w.clients[1][2][federated.ModelSlot][:50])
		}, "model: "},
	} {
		t.Run(what, func(t *testing.T) {
			if _, err := c.decode(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// FuzzDecodeModel: whatever is read predicts a finite number or says why not.
func FuzzDecodeModel(f *testing.F) {
	p := plan(f, func(*Params) {})
	s, c := parts(f, p)
	c.w[3] = 0.1
	one, err := c.Save(7)
	must(f, err)
	two, err := s.Save(400)
	must(f, err)
	f.Add(one)
	f.Add(two)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, decode := range []func() (*Model, error){
			func() (*Model, error) { return p.DecodeModel(c.server, c.client, data) },
			func() (*Model, error) { return p.DecodeServerModel(s.server, data) },
		} {
			m, err := decode()
			if err != nil {
				continue
			}
			if p, err := m.Predict(1, []float64{0.1, 0.2}); err == nil && (math.IsNaN(p.Value) || math.IsInf(p.Value, 0)) {
				t.Fatalf("the prediction is %v", p)
			}
		}
	})
}
