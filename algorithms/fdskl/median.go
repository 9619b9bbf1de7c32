package fdskl

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/keys"
)

// medianPairs is how many pairs of rows the median heuristic samples.
const medianPairs = 1000

// width agrees on the kernel width sigma: the job's, or else the median of the distances of
// sampled pairs of rows. The pairs come from the public seed; each party's share of their squared
// distances enters a secure sum that opens the distances to the leader, who tells sigma to all.
func (t *trainer) width(ctx context.Context) error {
	if t.kernel.Sigma > 0 {
		return nil
	}
	known, err := t.checkpoints.savedWidth()
	if err != nil {
		return err
	}
	sigma := []float64{known}
	if err := broadcastReals(ctx, t.Network, KindWidthKnown, t.leader(), sigma); err != nil {
		return err
	}
	if err := t.Network.Confirm(ctx); err != nil { // it decides what all do next
		return err
	}
	if sigma[0] == 0 {
		if sigma[0], err = t.medianDistance(ctx); err != nil {
			return err
		}
		if err := broadcastReals(ctx, t.Network, KindWidth, t.leader(), sigma); err != nil {
			return err
		}
	}
	t.kernel.Sigma = sigma[0]
	if err := t.kernel.Validate(); err != nil {
		return fmt.Errorf("%s's width: %w", t.Names[t.leader()], err)
	}
	return t.Vault.Save(widthFile, binary.LittleEndian.AppendUint64(nil, math.Float64bits(t.kernel.Sigma)))
}

// medianDistance returns the median distance of the sampled pairs at the leader, 0 elsewhere.
func (t *trainer) medianDistance(ctx context.Context) (float64, error) {
	squares := make([]float64, medianPairs)
	for k, p := range samplePairs(t.Params.Seed, t.Rows) {
		for _, part := range t.Parts {
			squares[k] += onGrid(squaredDistance(part.Rows, p[0], p[1]))
		}
	}
	if t.Privacy == Sealed {
		// The root of the mean of the sampled squares takes the median's place: it is a little more, and opens one
		// number instead of one for each pair. The leader alone learns it.
		var sum float64
		for _, s := range squares {
			sum += s
		}
		mean := []float64{sum / medianPairs}
		if err := t.Network.SumReals(ctx, KindDistances, t.leader(), mean); err != nil || t.Self != t.leader() {
			return 0, err
		}
		t.opened(KindDistances, 1)
		if mean[0] <= 0 {
			return 1, nil // all rows are equal: any width serves
		}
		return math.Sqrt(mean[0]), nil
	}
	if err := t.Network.SumReals(ctx, KindDistances, t.leader(), squares); err != nil {
		return 0, err
	}
	if t.Self != t.leader() {
		return 0, nil
	}
	t.opened(KindDistances, medianPairs)
	slices.Sort(squares)
	median := math.Sqrt(squares[medianPairs/2])
	if median == 0 {
		return 1, nil // most rows are equal: any width serves
	}
	return median, nil
}

// squaredDistance returns |x_i - x_j|^2 over the columns of a matrix.
func squaredDistance(m *kernel.Matrix, i, j int) float64 {
	diff := make([]float64, len(m.Dense)+len(m.Binary))
	m.EachInRow(i, func(c int, v float64) { diff[c] += v })
	m.EachInRow(j, func(c int, v float64) { diff[c] -= v })
	var sum float64
	for _, v := range diff {
		sum += v * v
	}
	return sum
}

// onGrid rounds a squared distance to a multiple of 2^-20, at most RealBound: totals of such
// numbers are exact, so that sigma does not depend on who owns which part.
func onGrid(v float64) float64 {
	return min(math.RoundToEven(v*(1<<20))/(1<<20), joint.RealBound)
}

// samplePairs draws pairs of different rows from the public seed, the same at every party.
func samplePairs(seed string, rows int) [][2]int {
	h := keys.HashOf("hanse median pairs v1", []byte(seed))
	rng := rand.New(rand.NewChaCha8(h))
	pairs := make([][2]int, medianPairs)
	for k := range pairs {
		i, j := rng.IntN(rows), rng.IntN(max(rows-1, 1))
		if j >= i && rows > 1 {
			j++
		}
		pairs[k] = [2]int{i, j}
	}
	return pairs
}

// savedWidth returns the width that an earlier session agreed on, 0 when there was none.
func (t *checkpoints) savedWidth() (float64, error) {
	data, err := t.Vault.Load(widthFile)
	if err != nil || len(data) != 8 {
		return 0, err
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(data)), nil
}
