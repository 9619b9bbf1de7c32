package sealed

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/hanse-project/hanse/algorithms/fdskl"
)

// listener is a label holder's Network that notes the scores of training rows that open to it.
type listener struct {
	Network
	scores *[][]float64
}

// SumPacked implements Network.
func (l *listener) SumPacked(ctx context.Context, kind string, root, width int, v []uint64) error {
	err := l.Network.SumPacked(ctx, kind, root, width, v)
	if err != nil || kind != kindScores {
		return err
	}
	var f []float64
	for _, w := range v {
		f = append(f, math.Ldexp(float64(int64(w<<(64-width))>>(64-width)), -trainBits))
	}
	*l.scores = append(*l.scores, f)
	return nil
}

// TestCollectorReadsTrainingScores: a collector that keeps to the protocol trains logistic scorecards on labels that it
// draws at random. Each training opens four scores of each row, sums of a number for each bin: it solves these numbers
// from rows that it knows anyhow, and takes of every other row the bins that fit. Each training is within its contract;
// what the ledger lets through is the first one: see internal/node TestCollectorOfTrainingsIsStopped.
func TestCollectorReadsTrainingScores(t *testing.T) {
	const rows, known, models, bins = 300, 50, 5, 5
	rng := rand.New(rand.NewPCG(3, 5))
	set := madeSet(rows, 9, "", func(_, noise float64) float64 { return math.Copysign(1, noise) })
	f := set.fixture(t, fdskl.Params{Loss: "logistic", Outer: 5, Iterations: 60, BinParams: fdskl.BinParams{Bins: bins}})
	var x [][]int // [rows][columns] the bins of all, of which the first three columns are the collector's own
	for j := range rows {
		var cells []int
		for _, parts := range f.parts {
			column := 0
			parts[0].Rows.EachInRow(j, func(bin int, _ float64) {
				cells = append(cells, bin-bins*column)
				column++
			})
		}
		x = append(x, cells)
	}
	var scores [][]float64
	var right, fewer []float64 // with known rows, and with half as many
	for range models {
		for j := range f.labels.Values {
			f.labels.Values[j] = float64(2*rng.IntN(2) - 1)
		}
		f.forget()
		testNetwork := f.testNetwork(t)
		testNetwork.wrap = func(i int, n *sessionNetwork) Network {
			if i > 0 {
				return n
			}
			return &listener{n, &scores}
		}
		if err := first(testNetwork.run(func(ctx context.Context, i int, n Network) error {
			_, err := Train(ctx, f.party(i, n, testNetwork.session))
			return err
		})); err != nil {
			t.Fatal(err)
		}
		right = append(right, collected(t, x, scores, bins, known))
		fewer = append(fewer, collected(t, x, scores, bins, known/2))
	}
	t.Logf("%d scores a row of %d models; right are %.2f of the cells by models, %.2f with %d rows known; chance is %.2f",
		len(scores), models, right, fewer, known/2, 1.0/bins)
	if right[0] > .5 || right[models-1] < .9 {
		t.Errorf("of one model %.2f of the cells are right, of %d %.2f: want half at most, and .9 at least", right[0], models,
			right[models-1])
	}
}

// collected is the share of the others' cells that a collector reads of the rows that it does not know.
func collected(t *testing.T, x [][]int, scores [][]float64, bins, known int) float64 {
	t.Helper()
	columns := len(x[0])
	const own = 3
	var numbers [][]float64 // [scores][columns x bins]
	for _, f := range scores {
		width := columns * bins
		a, b := mat.NewDense(known+width, width, nil), mat.NewVecDense(known+width, nil)
		for i := range known {
			for c, cell := range x[i] {
				a.Set(i, c*bins+cell, 1)
			}
			b.SetVec(i, f[i])
		}
		for k := range width { // a little of a ridge: the columns' sums are the same
			a.Set(known+k, k, 3e-2)
		}
		var v mat.VecDense
		if err := v.SolveVec(a, b); err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, v.RawVector().Data)
	}
	hits, all := 0, 0
	for i := known; i < len(x); i++ {
		rest := make([]float64, len(scores)) // what the others' cells must add up to
		for m, f := range scores {
			rest[m] = f[i]
			for c := range own {
				rest[m] -= numbers[m][c*bins+x[i][c]]
			}
		}
		best, least := make([]int, columns), math.Inf(1)
		cells := make([]int, columns)
		var search func(c int)
		search = func(c int) {
			if c == columns {
				off := 0.0
				for _, r := range rest {
					off += r * r
				}
				if off < least {
					least = off
					copy(best, cells)
				}
				return
			}
			for cell := range bins {
				cells[c] = cell
				for m := range rest {
					rest[m] -= numbers[m][c*bins+cell]
				}
				search(c + 1)
				for m := range rest {
					rest[m] += numbers[m][c*bins+cell]
				}
			}
		}
		search(own)
		for c := own; c < columns; c++ {
			all++
			if best[c] == x[i][c] {
				hits++
			}
		}
	}
	return float64(hits) / float64(all)
}
