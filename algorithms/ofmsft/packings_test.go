package ofmsft

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawModels draws models whose costs are tenths up to 2, and a budget that holds any two.
func drawModels(t *rapid.T, least int) ([]Model, float64) {
	var models []Model
	for k := range rapid.IntRange(least, 12).Draw(t, "models") {
		models = append(models, Model{
			Name: fmt.Sprintf("m%d", k+1), Size: 1,
			Cost:      float64(rapid.IntRange(1, 20).Draw(t, "cost")) / 10,
			Bandwidth: rapid.Float64Range(0.1, 3).Draw(t, "bandwidth"),
		})
	}
	c := costs(models)
	slices.Sort(c)
	least2 := c[len(c)-1]
	if len(c) > 1 {
		least2 += c[len(c)-2]
	}
	return models, least2 + float64(rapid.IntRange(0, 40).Draw(t, "more"))/10
}

// TestEveryDrawKeepsTheBudgetAndItsProbability enumerates all draws: no selection exceeds the budget,
// each network is stored with probability q_k, and so losses over q_k are the losses on average.
func TestEveryDrawKeepsTheBudgetAndItsProbability(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		models, budget := drawModels(t, 1)
		p, err := NewPackings(models, budget)
		mustDo(t, err)
		w := NewWeights(len(models))
		for k := range models {
			w.Lower(k, rapid.Float64Range(0, 40).Draw(t, "log weight"))
		}
		w.Refresh()
		stored, estimate, need := make([]float64, len(models)), make([]float64, len(models)), 0.0
		for j, share := range w.Shares() {
			clusters := max(p.Clusters(j), 1)
			for c := range clusters {
				s := p.Store(nil, j, c)
				cost := 0.0
				for _, k := range s {
					cost += models[k].Cost
					stored[k] += share / float64(clusters)
					estimate[k] += share / float64(clusters) * float64(k+1) / p.Probability(k, w.Shares())
				}
				if cost > budget*(1+1e-9) || !slices.Contains(s, j) || !slices.IsSorted(s) || len(models) > 1 && len(s) < 2 {
					t.Fatalf("draw %d, cluster %d: %v costs %v of %v", j+1, c+1, s, cost, budget)
				}
				need = max(need, p.Need(s))
			}
		}
		for k, q := range stored {
			if got := p.Probability(k, w.Shares()); math.Abs(got-q) > 1e-12 || math.Abs(estimate[k]-float64(k+1)) > 1e-9 {
				t.Fatalf("model %d is stored with probability %v, want %v; the mean estimate of %d is %v", k+1, q, got, k+1,
					estimate[k])
			}
		}
		if math.Abs(p.LargestNeed()-need) > 1e-12 {
			t.Fatalf("the largest need is %v, want %v", p.LargestNeed(), need)
		}
	})
}

// TestModelsAreStoredAsOftenAsTheirProbabilities counts a client's draws.
func TestModelsAreStoredAsOftenAsTheirProbabilities(t *testing.T) {
	p, _ := small(t, 7, 0, 1, nil)
	packings, err := p.Packings("")
	mustDo(t, err)
	c := NewClient(p, "1", packings, [32]byte{3})
	for k := range 7 {
		c.weights.Lower(k, rand.New(rand.NewPCG(1, uint64(k))).Float64()*3)
	}
	c.weights.Refresh()
	const draws = 50000
	counts, chosen := make([]float64, 7), make([]float64, 7)
	for range draws {
		s := c.Draw()
		chosen[s.Model]++
		for at, k := range s.Stored {
			counts[k]++
			near(t, "importance", s.Importance[at]*packings.Probability(k, c.Shares()), 1, 1e-12)
		}
	}
	for k := range 7 {
		for _, n := range []struct{ got, want float64 }{{counts[k], packings.Probability(k, c.Shares())},
			{chosen[k], c.Shares()[k]}} {
			if sd := math.Sqrt(draws * n.want * (1 - n.want)); math.Abs(n.got-draws*n.want) > 5*sd+1e-9 {
				t.Errorf("model %d came %v times in %d, want %v", k+1, n.got, draws, draws*n.want)
			}
		}
	}
}

// TestDecimalsThatFitOnPaperFit has 0.1 + 0.2 = 0.3.
func TestDecimalsThatFitOnPaperFit(t *testing.T) {
	p, err := NewPackings([]Model{{Name: "a", Cost: 0.1}, {Name: "b", Cost: 0.2}}, 0.3)
	mustDo(t, err)
	if s := p.Store(nil, 0, 0); !slices.Equal(s, []int{0, 1}) {
		t.Errorf("stored are %v", s)
	}
}

// TestSmallBudgetsAreRefused names the two dearest networks.
func TestSmallBudgetsAreRefused(t *testing.T) {
	models := []Model{{Name: "a", Cost: 0.5}, {Name: "b", Cost: 2}, {Name: "c", Cost: 1}}
	_, err := NewPackings(models, 2.9)
	wantError(t, err, `budget is 2.9, want at least 3, the costs of models "b" and "c" together`)
	_, err = NewPackings(models[1:2], 1.9)
	wantError(t, err, `budget is 1.9, want at least 2, the cost of model "b"`)
	_, err = NewPackings(models, math.NaN())
	wantError(t, err, "budget is NaN, want at least 3")
	_, err = NewPackings(nil, 1)
	wantError(t, err, "there are 0 models, want 1 to 1024")
	_, err = NewPackings(make([]Model, 1025), 1)
	wantError(t, err, "there are 1025 models")
}

// TestSharesAddUpToOne draws weights over a wide range.
func TestSharesAddUpToOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := NewWeights(rapid.IntRange(1, 30).Draw(t, "models"))
		for k := range w.log {
			w.Lower(k, rapid.Float64Range(-1e4, 1e4).Draw(t, "log"))
		}
		w.Refresh()
		sum := 0.0
		for _, s := range w.Shares() {
			sum += s
		}
		if math.Abs(sum-1) > 1e-12 {
			t.Fatalf("shares %v add up to %v", w.Shares(), sum)
		}
		if k := w.Draw(1 - 0x1p-53); w.Shares()[k] == 0 {
			t.Fatalf("model %d is drawn with share 0", k+1)
		}
	})
}
