package ofmsft

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/nn"
	"pgregory.net/rapid"
)

// wantError checks an error's text.
func wantError(t testing.TB, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

// mustDo ends the test on an error.
func mustDo(t rapid.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// smallInputs is the inputs of small networks.
const smallInputs = 3

// smallNetworks draws networks of different sizes; with classes they end in a softmax.
func smallNetworks(t testing.TB, count, classes int) (names []string, networks []*nn.Network) {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, uint64(count)))
	for k := range count {
		last := nn.Layer{Kind: nn.Dense, Units: 1, Activation: nn.Linear}
		if classes > 0 {
			last.Units, last.Activation = classes, nn.Softmax
		}
		n, err := nn.New([]int{smallInputs}, []nn.Layer{{Kind: nn.Dense, Units: 2 + k%3, Activation: nn.ReLU}, last}, rng)
		mustDo(t, err)
		names, networks = append(names, fmt.Sprintf("m%d", k+1)), append(networks, n)
	}
	return names, networks
}

// small returns a job with so many small networks, whose costs run from 0.5 to 1, and the networks.
func small(t testing.TB, count, classes, clients int, edit func(*Params)) (Params, []*nn.Network) {
	t.Helper()
	names, networks := smallNetworks(t, count, classes)
	p, err := Params{Label: "y", Seed: "small", Budget: 2.1, Rounds: 60, Rate: 0.3, Step: 0.05,
		Clip: 1e3}.WithNetworks(names, networks)
	mustDo(t, err)
	if edit != nil {
		edit(&p)
	}
	p = p.WithDefaults(clients)
	mustDo(t, p.ValidateNumbers())
	return p, networks
}

// drawRows draws the rows of a round and their labels, by client.
func drawRows(rng *rand.Rand, clients, classes int) (rows [][]float64, labels []float64) {
	for range clients {
		x, sum := make([]float64, smallInputs), 0.0
		for i := range x {
			x[i] = 2*rng.Float64() - 1
			sum += x[i] / smallInputs
		}
		y := (1 + sum) / 2
		if classes > 0 {
			y = float64(min(classes-1, int(y*float64(classes))))
		}
		rows, labels = append(rows, x), append(labels, y)
	}
	return rows, labels
}
