package online

import (
	"bytes"
	"errors"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/algorithms/nn"
)

// trialHouses makes a trial.
func trialHouses(t *testing.T, o Options) *Selection {
	t.Helper()
	o.Servers = 1
	h, err := NewHouses(o)
	must(t, err)
	return h
}

// untrainedHouses makes a trial with networks that were never trained.
func untrainedHouses(t *testing.T, o Options) (*Selection, error) {
	t.Helper()
	var networks []*nn.Network
	for k := range towns() {
		n, err := freshNetwork(newDraw(uint64(k)).Rand, k)
		must(t, err)
		networks = append(networks, n)
	}
	o.Servers = 1
	return newHouses(o, networks)
}

// smallHouses makes one of three clients.
func smallHouses(t *testing.T, o Options) *Selection {
	t.Helper()
	o.Clients, o.Rounds = 3, 3
	h, err := untrainedHouses(t, o)
	must(t, err)
	return h
}

// TestFineTuningBeatsSelectionBeatsAnyNetwork is what the trial is to show, beside that a larger budget helps.
func TestFineTuningBeatsSelectionBeatsAnyNetwork(t *testing.T) {
	h := trialHouses(t, Options{Clients: 12, Seed: 1})
	at := func(learn func(float64) (*Outcome, error), budget float64) *Score {
		return scoreOf(t, h.Federation, func() (*Outcome, error) { return learn(budget) })
	}
	budgets, fixed := h.Budgets(), h.Fixed()
	least, tuned, most := at(h.Tuned, budgets[0]), scoreOf(t, h.Federation, h.Together), at(h.Tuned, budgets[2])
	untuned, alone := at(h.Untuned, h.Budget()), scoreOf(t, h.Federation, h.Alone)
	t.Logf("x 1000: budgets %.3g: %.2f, %.2f ± %.2f, %.2f", budgets, 1e3*least.Error, 1e3*tuned.Error, 1e3*tuned.SD,
		1e3*most.Error)
	t.Logf("never fine-tuned %.2f, alone %.2f, %s for all %.2f, any network %.2f", 1e3*untuned.Error, 1e3*alone.Error,
		fixed.Best, 1e3*fixed.Error, 1e3*fixed.Average)
	for i, pair := range [][2]float64{
		{tuned.Error, untuned.Error}, {untuned.Error, alone.Error}, {alone.Error, fixed.Error}, {fixed.Error, fixed.Average},
		{most.Error, tuned.Error}, {tuned.Error, least.Error}, {tuned.Regret, 0}, {0, untuned.Regret},
	} {
		if !(pair[0] < pair[1]) {
			t.Errorf("comparison %d: %v, want less than %v", i+1, pair[0], pair[1])
		}
	}
}

func TestHousesAreTheSameForASeed(t *testing.T) {
	one, two := trialHouses(t, Options{Clients: 3, Rounds: 12, Seed: 5}),
		trialHouses(t, Options{Clients: 3, Rounds: 12, Seed: 5})
	for k := range one.networks {
		if !bytes.Equal(one.networks[k].Bytes(), two.networks[k].Bytes()) {
			t.Errorf("network %d differs", k+1)
		}
	}
	a, err := one.Together()
	must(t, err)
	b, err := two.Together()
	must(t, err)
	for name, s := range one.Streams {
		if !slices.Equal(s.Labels, two.Streams[name].Labels) || !slices.Equal(a.Predictions[name], b.Predictions[name]) {
			t.Errorf("%s differs", name)
		}
	}
}

func TestHousesKeepToTheirRanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.IntRange(1, 200).Draw(t, "rows")
		s := houseStream(newDraw(rapid.Uint64().Draw(t, "seed")), rows)
		if len(s.Labels) != rows || len(s.Inputs) != rows {
			t.Fatalf("%d labels and %d rows, want %d", len(s.Labels), len(s.Inputs), rows)
		}
		for i, x := range s.Inputs {
			if y := s.Labels[i]; !(y >= 0 && y <= 1) || len(x) != len(s.Columns) {
				t.Fatalf("row %d: label %v, %d inputs", i+1, y, len(x))
			}
			for c, v := range x {
				if !(v >= -1 && v <= 1) {
					t.Fatalf("row %d: %s is %v", i+1, s.Columns[c], v)
				}
			}
		}
	})
}

// TestHousesChangeAThirdAndTwoThirdsOfTheWay looks at what a house is before, between and after, and at how it
// gets there.
func TestHousesChangeAThirdAndTwoThirdsOfTheWay(t *testing.T) {
	for seed := range uint64(50) {
		h := newHouse(newDraw(seed))
		if h.at(0) != h.built || h.at(0.33) != h.built {
			t.Errorf("house %d changes in its first third", seed)
		}
		if h.built.insulation == h.rebuilt.insulation || h.rebuilt.response < 0.5 == (h.retariffed.response < 0.5) {
			t.Errorf("house %d does not change: %+v", seed, h)
		}
		soon, late := h.at(0.35), h.at(0.66)
		if h.drifts != (soon != h.rebuilt) {
			t.Errorf("house %d, which drifts: %v, is %+v after its works", seed, h.drifts, soon)
		}
		if math.Abs(late.insulation-h.rebuilt.insulation) > 0.03 ||
			math.Abs(h.at(0.999).response-h.retariffed.response) > 0.01 {
			t.Errorf("house %d is not what it was to become", seed)
		}
	}
}

// TestTheBestNetworkOfAHouseChanges counts the houses whose best network of a third is not that of the next.
func TestTheBestNetworkOfAHouseChanges(t *testing.T) {
	h := trialHouses(t, Options{Clients: 20, Seed: 2})
	changes, third := 0, h.Rounds()/3
	for _, name := range h.AllClients() {
		best := func(stage int) int {
			var means []float64
			for _, losses := range h.losses[name] {
				means = append(means, mean(losses[stage*third:(stage+1)*third]))
			}
			return slices.Index(means, slices.Min(means))
		}
		for stage := range 2 {
			if best(stage) != best(stage+1) {
				changes++
			}
		}
	}
	if changes < 20 {
		t.Errorf("the best network changes %d times of 40", changes)
	}
}

func TestNetworksAreReadAsTheyWereWritten(t *testing.T) {
	h, dir := smallHouses(t, Options{}), filepath.Join(t.TempDir(), "networks")
	must(t, h.WriteNetworks(dir))
	files, err := fs.Glob(os.DirFS(dir), "*.safetensors")
	if err != nil || len(files) != len(towns()) {
		t.Fatalf("files %q, %v", files, err)
	}
	for k, name := range towns() {
		data, err := os.ReadFile(filepath.Join(dir, name+".safetensors"))
		must(t, err)
		n, err := nn.Parse(data)
		if err != nil || n.Hash() != h.params.Models[k].Hash || h.params.Models[k].Name != name {
			t.Errorf("%s: %v, or it is another network", name, err)
		}
	}
}

func TestBudgetsOfHouses(t *testing.T) {
	h := smallHouses(t, Options{})
	if b := h.Budgets(); len(b) != 3 || b[0] != 2 || b[1] != 4 || math.Abs(b[2]-7.294) > 0.001 {
		t.Errorf("budgets %v", b)
	}
	if b := smallHouses(t, Options{Budget: 2}).Budgets(); len(b) != 2 {
		t.Errorf("budgets %v, want none twice", b)
	}
	down, up := h.PaperBytes()
	if all := 4 * float64(h.params.Words()); !(down > all/4 && down < all) || down != up {
		t.Errorf("%v bytes down and %v up, of %v for all networks", down, up, all)
	}
	_, err := untrainedHouses(t, Options{Clients: 3, Budget: 1.9})
	if want := `budget is 1.9, want at least 2, the costs of models "bremen" and "luebeck" together`; err == nil ||
		err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if _, err := untrainedHouses(t, Options{Clients: 3, Rounds: -1}); err == nil {
		t.Error("a trial of -1 rounds")
	}
}

// TestAClientAloneKeepsWhatItsBudgetHolds looks at the networks that clients keep.
func TestAClientAloneKeepsWhatItsBudgetHolds(t *testing.T) {
	h := smallHouses(t, Options{})
	for seed := range uint64(50) {
		p, networks := h.kept(newDraw(seed).Rand)
		cost := 0.0
		for k, m := range p.Models {
			cost += m.Cost
			if networks[k].Hash() != m.Hash {
				t.Errorf("network %d is another", k+1)
			}
		}
		if cost > h.Budget() || cost < h.Budget()-1 {
			t.Errorf("networks of cost %v in a budget of %v", cost, h.Budget())
		}
	}
}

func TestRegretsByHand(t *testing.T) {
	h := &Selection{
		Federation: &Federation{Clients: [][]string{{"a", "b"}},
			Streams: map[string]*Stream{"a": {Labels: []float64{0, 0}}, "b": {Labels: []float64{1, 1}}}},
		networks: make([]*nn.Network, 2), losses: map[string][][]float64{"a": {{1, 5}, {2, 0}}, "b": {{0, 0}, {1, 1}}},
	}
	o := newOutcome()
	o.Predictions = map[string][]float64{"a": {1, 1}, "b": {3}}
	must(t, h.CountRegret(o))
	if o.Regret["a"] != 0 || o.Regret["b"] != 4 || !slices.Equal(o.RegretCurve, []float64{2, 0}) {
		t.Errorf("regret %v, curve %v", o.Regret, o.RegretCurve)
	}
	o.Predictions["b"] = nil
	if err := h.CountRegret(o); err == nil || err.Error() != "b predicted 0 rows, want 1 to 2" {
		t.Errorf("error %v", err)
	}
	if err := h.WriteNetworks(filepath.Join(os.DevNull, "networks")); !errors.As(err, new(*fs.PathError)) {
		t.Errorf("error %v", err)
	}
}

// TestNetworksAreTrained trains a small network on a line.
func TestNetworksAreTrained(t *testing.T) {
	draw := newDraw(1)
	n, err := nn.New([]int{2}, []nn.Layer{{Kind: nn.Dense, Units: 8, Activation: nn.ReLU},
		{Kind: nn.Dense, Units: 1, Activation: nn.Linear}}, draw.Rand)
	must(t, err)
	var x []float32
	var y []float64
	for range 3000 {
		a, b := draw.Float64(), draw.Float64()
		x, y = append(x, float32(a), float32(b)), append(y, 0.5*a-b)
	}
	newAdam(n).train(x, y, draw)
	losses := make([]float64, len(y))
	n.NewWorkspace().Losses(x, y, len(y), losses)
	if mse := mean(losses); mse > 1e-4 {
		t.Errorf("mean squared error %v", mse)
	}
}

// newDraw returns a source of draws.
func newDraw(seed uint64) generator { return generator{rand.New(rand.NewPCG(seed, 0))} }
