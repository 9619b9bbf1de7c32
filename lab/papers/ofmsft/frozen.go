package ofmsft

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/lab"
)

// freeze returns a world in which nobody fine-tunes, and which costs next to nothing to run: a row is what all
// networks say of it, classes by the logarithms of their probabilities, and network k passes on its own part. Draws,
// losses and predictions are those of the world itself, up to rounding in single precision.
func (s *Set) freeze(ctx context.Context, workers int, say func(string, ...any)) (*world, error) {
	outputs, k := max(s.classes, 1), len(s.Live.Networks)
	w := &world{Norm: 1}
	for i := range k {
		n, err := passOn(i, k, outputs, s.classes > 0)
		if err != nil {
			return nil, err
		}
		w.Networks = append(w.Networks, n)
	}
	for _, own := range s.Live.Rows {
		w.Rows = append(w.Rows, newMatrix(len(own), k*outputs))
	}
	say("%s: %d networks on all rows of %d clients", s.name, k, len(w.Rows))
	return w, lab.Share(ctx, workers, k, func(ctx context.Context, i int) error {
		workspace := s.Live.Networks[i].NewWorkspace()
		for c := range w.Rows {
			if err := ctx.Err(); err != nil {
				return err
			}
			for t, said := range s.say(workspace, c) {
				copy(w.Rows[c][t][i*outputs:], said)
			}
		}
		return nil
	})
}

// say returns what a network says of all rows of a client.
func (s *Set) say(w *nn.Workspace, client int) [][]float64 {
	x, y := s.Live.scaled(s.Live.Rows[client]), s.Labels[client]
	said := newMatrix(len(y), max(s.classes, 1))
	for at, v := range w.Predict(x, len(y)) {
		said[at/len(said[0])][at%len(said[0])] = float64(v)
	}
	if s.classes > 0 {
		logarithms(said, y, func(losses []float64) { w.Losses(x, y, len(y), losses) })
	}
	return said
}

// logarithms turns probabilities of classes into their logarithms. That of a label whose probability is too small
// for single precision is taken from its loss; of other classes it does not matter.
func logarithms(said [][]float64, y []float64, losses func([]float64)) {
	var exact []float64
	for t, row := range said {
		for c, p := range row {
			row[c] = math.Log(max(p, math.SmallestNonzeroFloat32))
		}
		if at := int(y[t]); row[at] <= underflow {
			if exact == nil {
				exact = make([]float64, len(y))
				losses(exact)
			}
			row[at] = -exact[t]
		}
	}
}

// underflow is the logarithm below which single precision has lost digits of a probability.
const underflow = -80

// newMatrix makes room for rows of so many numbers.
func newMatrix(rows, columns int) [][]float64 {
	m := make([][]float64, rows)
	for i := range m {
		m[i] = make([]float64, columns)
	}
	return m
}

// scaled returns rows as networks take them, one after another.
func (w *world) scaled(rows [][]float64) []float32 {
	var x []float32
	for _, row := range rows {
		for _, v := range row {
			x = append(x, float32(v/w.Norm))
		}
	}
	return x
}

// passOn returns a network that passes on the i-th of k parts of its input.
func passOn(i, k, outputs int, classes bool) (*nn.Network, error) {
	last := nn.Layer{Kind: nn.Dense, Units: outputs, Activation: nn.Linear}
	if classes {
		last.Activation = nn.Softmax
	}
	n, err := nn.New([]int{k * outputs}, []nn.Layer{last}, rand.New(rand.NewPCG(0, 0)))
	if err != nil {
		return nil, err
	}
	kernel := n.Parameters() // [k*outputs][outputs], then the bias
	clear(kernel)
	for o := range outputs {
		kernel[(i*outputs+o)*outputs+o] = 1
	}
	return n, nil
}
