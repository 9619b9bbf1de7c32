package ofmsft

import (
	"bytes"
	"math"
	"testing"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/algorithms/parameters"
	"github.com/hanse-project/hanse/keys"
)

// TestAClientKeepsWhatItPredictsWith after a whole job: the networks are those that the server announced in the last
// round in which the client learned, the prediction is their mean by its weights, written out, and what is exported is
// the same networks and weights. The server keeps all networks.
func TestAClientKeepsWhatItPredictsWith(t *testing.T) {
	for what, classes := range map[string]int{"numbers": 0, "classes": 3} {
		t.Run(what, func(t *testing.T) {
			p, networks := small(t, 5, classes, 3, func(p *Params) { p.InputNorm, p.LabelLow, p.LabelHigh = 2, -1, 3 })
			if classes > 0 {
				p.LabelLow, p.LabelHigh = 0, 1
			}
			l := newTestNetwork(t, p, networks, 60, 25, 60) // the second client's stream ends early
			var announced [][]keys.Hash                     // by the server's round
			l.at = func(g federated.Progress) { announced = append(announced, l.hashes(t)) }
			first := make([]keys.Hash, len(networks))
			for k, n := range networks {
				first[k] = n.Hash()
			}
			l.run()
			announced = append([][]keys.Hash{first}, announced...)
			for c := range l.clients {
				m, err := DecodeMixture(l.params, false, l.clients[c][federated.ModelSlot])
				mustDo(t, err)
				if want := []int{60, 26, 60}[c]; m.Round() != want { // 26: the stream's end is seen when a 26th row is wanted
					t.Errorf("client %d: the model is of round %d, want %d", c+1, m.Round(), want)
				}
				shares, total := l.shares(t, c), 0.0
				for at, k := range m.held {
					total += shares[k]
					if got := m.runners[at].network.Hash(); got != announced[m.Round()-1][k] {
						t.Errorf("client %d: network %d is not the one announced in round %d", c+1, k+1, m.Round())
					}
				}
				out := m.Portable()
				for i, x := range l.inputs[c][:10] {
					scaled := make([]float32, len(x))
					mustDo(t, l.params.ScaleRow(scaled, i+1, x))
					want := make([]float64, l.params.Task().Outputs)
					for _, k := range m.held {
						n, err := nn.Parse(out.Networks[k].Content)
						mustDo(t, err)
						for o, v := range n.NewWorkspace().Predict(scaled, 1) {
							want[o] += shares[k] / total * float64(v)
						}
					}
					got, err := m.Predict(i+1, x)
					mustDo(t, err)
					value := -1 + want[0]*4
					if classes > 0 {
						value = 0
						for o, v := range want {
							if v > want[int(value)] {
								value = float64(o)
							}
						}
						if math.Abs(got.Probability-want[int(value)]) > 1e-12 {
							t.Errorf("client %d, row %d: probability %v, want %v", c+1, i+1, got.Probability, want[int(value)])
						}
					}
					if math.Abs(got.Value-value) > 1e-12 {
						t.Errorf("client %d, row %d: the prediction is %v, want %v", c+1, i+1, got.Value, value)
					}
				}
			}
			m, err := DecodeMixture(l.params, true, l.server[federated.ModelSlot])
			mustDo(t, err)
			for k, h := range announced[len(announced)-1] {
				if m.runners[k].network.Hash() != h || m.Portable().Networks[k].Weight != nil {
					t.Errorf("the server's network %d is not its last one, or has a weight", k+1)
				}
			}
			if _, err := m.Predict(1, l.inputs[0][0]); err == nil {
				t.Error("a server predicts without weights")
			}
		})
	}
}

// hashes returns those of the networks in the server's vault.
func (l *testNetwork) hashes(t *testing.T) []keys.Hash {
	t.Helper()
	s := new(servingState)
	mustDo(t, unseal(servingDomain, l.server[federated.ServerSlot], s))
	server, err := RestoreServer(l.params, l.networks, s.Server)
	mustDo(t, err)
	var hashes []keys.Hash
	for k := range l.networks {
		hashes = append(hashes, server.Hash(k))
	}
	return hashes
}

// shares returns the weights in a client's vault.
func (l *testNetwork) shares(t *testing.T, k int) []float64 {
	t.Helper()
	s := new(attendanceState)
	mustDo(t, unseal(attendanceDomain, l.clients[k][federated.ClientSlot], s))
	packings, err := l.params.Packings(name(k))
	mustDo(t, err)
	c, err := RestoreClient(l.params, packings, s.Client)
	mustDo(t, err)
	return c.Shares()
}

// TestTheMixtureLosesNoMoreThanDraws among the networks held, on average, as its comment says.
func TestTheMixtureLosesNoMoreThanDraws(t *testing.T) {
	p, networks := small(t, 5, 0, 3, nil)
	l := newTestNetwork(t, p, networks, 60, 60, 60)
	l.run()
	m, err := DecodeMixture(l.params, false, l.clients[0][federated.ModelSlot])
	mustDo(t, err)
	var mixed, drawn float64
	for i, x := range l.inputs[0] {
		y := l.labels[0][i]
		got, err := m.Predict(i+1, x)
		mustDo(t, err)
		mixed += (got.Value - y) * (got.Value - y)
		for at, r := range m.runners {
			e := l.params.Prediction(r.Outputs(m.x)) - y
			drawn += m.mixture[at] * e * e
		}
	}
	if !(mixed < drawn) {
		t.Errorf("the mixture's squared errors are %v, those of draws %v", mixed, drawn)
	}
}

// TestMixturesOfOthersAreRefused: of another job, another role, another kind, and damaged.
func TestMixturesOfOthersAreRefused(t *testing.T) {
	p, networks := small(t, 5, 0, 3, nil)
	l := newTestNetwork(t, p, networks, 60, 60, 60)
	l.run()
	data, server := l.clients[0][federated.ModelSlot], l.server[federated.ModelSlot]
	other := l.params
	other.Seed = "other"
	flipped := bytes.Clone(data)
	flipped[len(flipped)/2] ^= 1
	one := networks[0]
	twice, err := encodeMixture(l.params, 3, nil, make([]float64, 5), []int{0, 0}, func(int) *nn.Network { return one })
	mustDo(t, err)
	none, err := encodeMixture(l.params, 3, nil, make([]float64, 5), nil, nil)
	mustDo(t, err)
	swapped, err := encodeMixture(l.params, 3, nil, make([]float64, 5), []int{1}, func(int) *nn.Network { return one })
	mustDo(t, err)
	for what, c := range map[string]struct {
		p      Params
		server bool
		data   []byte
		want   string
	}{
		"another job":       {other, false, data, "it belongs to a job with other parameters"},
		"a server's":        {l.params, false, server, "weights has 0 numbers, want 5"},
		"a client's":        {l.params, true, data, "a server's model has 5 weights"},
		"a flipped bit":     {l.params, false, flipped, "its checksum is not the one of its bytes"},
		"twice the same":    {l.params, false, twice, "network 1 is not one of 5, or out of order"},
		"no network":        {l.params, false, none, "0 names of columns and 0 networks"},
		"a foreign network": {l.params, false, swapped, `state: model "m2": the network of model "m2" has`},
	} {
		t.Run(what, func(t *testing.T) {
			_, err := DecodeMixture(c.p, c.server, c.data)
			wantError(t, err, c.want)
		})
	}
}

// FuzzDecodeMixture: whatever is read predicts a finite number or says why not.
func FuzzDecodeMixture(f *testing.F) {
	p, networks := small(f, 3, 0, 2, nil)
	network := func(k int) *nn.Network { return networks[k] }
	client, err := encodeMixture(p, 3, []string{"a", "b", "c"}, []float64{0, -1, -400}, []int{0, 2}, network)
	mustDo(f, err)
	server, err := encodeMixture(p, 3, nil, nil, []int{0, 1, 2}, network)
	mustDo(f, err)
	f.Add(client[:len(client)-32])
	f.Add(server[:len(server)-32])
	f.Add([]byte{0xa0})
	f.Fuzz(func(t *testing.T, body []byte) {
		sum := keys.HashOf(mixtureDomain, body)
		data := append(bytes.Clone(body), sum[:]...)
		if m, err := DecodeMixture(p, true, data); err == nil && m.mixture != nil {
			t.Fatal("a server's model has weights")
		}
		m, err := DecodeMixture(p, false, data)
		if err != nil {
			return
		}
		if p, err := m.Predict(1, []float64{0.1, 0.2, 0.3}); err == nil && !parameters.IsFinite(p.Value) {
			t.Fatalf("the prediction is %v", p)
		}
		if _, err := m.Portable().Files(); err != nil {
			t.Fatal(err)
		}
	})
}
