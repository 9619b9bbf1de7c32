package ofmsft

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/hanse-project/hanse/algorithms/nn"
)

// airShaped draws networks of the shape of the paper's air networks, 14-100-100-100-100-100-1.
func airShaped(t testing.TB, count int) (names []string, networks []*nn.Network) {
	t.Helper()
	layers := []nn.Layer{}
	for range 5 {
		layers = append(layers, nn.Layer{Kind: nn.Dense, Units: 100, Activation: nn.ReLU})
	}
	layers = append(layers, nn.Layer{Kind: nn.Dense, Units: 1, Activation: nn.Linear})
	rng := rand.New(rand.NewPCG(1, 2))
	for k := range count {
		n, err := nn.New([]int{14}, layers, rng)
		mustDo(t, err)
		names, networks = append(names, fmt.Sprintf("m%d", k+1)), append(networks, n)
	}
	return names, networks
}

// BenchmarkRound is one client's round with 20 networks of the air experiment and budget 5: draw, prediction,
// losses and the steps of all stored networks.
func BenchmarkRound(b *testing.B) {
	for _, window := range []int{1, 51} {
		b.Run(fmt.Sprintf("window=%d", window), func(b *testing.B) { benchmarkRound(b, window) })
	}
}

// benchmarkRound times rounds with the given window, full from the start.
func benchmarkRound(b *testing.B, window int) {
	names, networks := airShaped(b, 20)
	p, err := Params{Budget: 5, Window: window, Step: 1e-9}.WithNetworks(names, networks)
	mustDo(b, err)
	p = p.WithDefaults(100)
	packings, err := p.Packings("")
	mustDo(b, err)
	c, runners := NewClient(p, "1", packings, [32]byte{1}), NewRunners(networks)
	x, step := make([]float64, 14), make([]float64, networks[0].Size())
	for i := range x {
		x[i] = float64(i) / 30
	}
	round := func(steps bool) {
		s := c.Draw()
		var stored []*Runner
		for _, k := range s.Stored {
			stored = append(stored, runners[k])
		}
		_, err := c.Predict(stored, x)
		mustDo(b, err)
		mustDo(b, c.Learn(0.5))
		for at, k := range s.Stored {
			if steps {
				_, err := c.Step(k, stored[at], 2, step)
				mustDo(b, err)
			}
		}
	}
	for range window {
		round(false)
	}
	b.ReportAllocs()
	for b.Loop() {
		round(true)
	}
}
