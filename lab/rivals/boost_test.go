package rivals

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestTreesLearnXOR, of which one split alone tells nothing.
func TestTreesLearnXOR(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var rows [][]float64
	var labels []float64
	for range 400 {
		row := []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
		rows, labels = append(rows, row), append(labels, math.Copysign(1, row[0]*row[1]))
	}
	all := Stack(matrixOf(rows, "a", "b", "c"))
	b := DefaultBoost()
	b.Trees = 60
	b.Train(all.Select(ascending(0, 300)), labels[:300])
	if e := Errors(b.Scores(all.Select(ascending(300, 400))), labels[300:]); e > 0.1 {
		t.Errorf("test error %v", e)
	}
}

// ascending lists the numbers from lo to hi-1.
func ascending(lo, hi int) []int {
	var list []int
	for i := lo; i < hi; i++ {
		list = append(list, i)
	}
	return list
}

// TestHistogramsFindTheBestSplit: with a bin for each value, the split found is the best of all thresholds of all
// columns, tried one by one; and with depth 1 each tree's leaves are the means that the loss's curvature asks for.
func TestHistogramsFindTheBestSplit(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 2))
		var rows [][]float64
		var labels []float64
		for range 40 {
			row := make([]float64, 3)
			for c := range row {
				row[c] = float64(rng.IntN(5) - 1) // many are equal, many are 0, some are less
			}
			rows, labels = append(rows, row), append(labels, math.Copysign(1,
				row[0]-row[2]+0.9*rng.NormFloat64()+0.1))
		}
		b := &Boost{Trees: 1, Depth: 1, Shrink: 1, Lambda: 0.7, Bins: 256, Least: 0.5}
		b.Train(Stack(matrixOf(rows, "a", "b", "c")), labels)
		p := 1 / (1 + math.Exp(-b.base))
		gain, column, threshold := 0.0, -1, 0.0
		var leaves [2]float64
		for c := range 3 {
			for v := -1.0; v < 3; v++ {
				var side [2]sums
				for i, row := range rows {
					k := 0
					if row[c] > v {
						k = 1
					}
					side[k].add(sums{p - (labels[i]+1)/2, p * (1 - p)})
				}
				whole := side[0]
				whole.add(side[1])
				g := side[0].score(0.7) + side[1].score(0.7) - whole.score(0.7)
				if side[0].h >= 0.5 && side[1].h >= 0.5 && g > gain+1e-9 {
					gain, column, threshold = g, c, v
					leaves = [2]float64{-side[0].g / (side[0].h + 0.7), -side[1].g / (side[1].h + 0.7)}
				}
			}
		}
		root := b.trees[0][0]
		if root.column != column || column >= 0 && (root.threshold <= threshold || root.threshold >= threshold+1) {
			t.Fatalf("seed %d: the split is column %d at %v, the best is column %d between %v and %v", seed,
				root.column,
				root.threshold, column, threshold, threshold+1)
		}
		if column < 0 {
			continue
		}
		for k, want := range leaves {
			if got := b.trees[0][root.left+k].value; math.Abs(got-want) > 1e-9 {
				t.Errorf("seed %d: leaf %d is %v, want %v", seed, k, got, want)
			}
		}
	}
}

// TestBinsHoldAboutAsManyRows each where a column has more values than there are bins.
func TestBinsHoldAboutAsManyRows(t *testing.T) {
	var sorted []float64
	for i := range 1000 {
		sorted = append(sorted, float64(i*i))
	}
	edges := cut(sorted, 10)
	counts := make([]int, len(edges))
	for _, v := range sorted {
		counts[binOf(edges, v)]++
	}
	for _, n := range counts {
		if len(counts) != 10 || n < 99 || n > 101 {
			t.Fatalf("rows of the bins: %v, want ten times about 100", counts)
		}
	}
}
