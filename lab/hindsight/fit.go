package hindsight

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/hanse-project/hanse/algorithms/nn"
)

// Rows are all rows of all clients as a network takes them.
type Rows struct {
	X []float32 // [n][inputs]
	Y []float64 // [n]
}

// Options say how long to look.
type Options struct {
	Epochs int
	Batch  int     // rows of a step
	Step   float64 // at first: it is halved after an epoch that did not help, and grows by a tenth after one that did
	Seed   uint64  // of the order of rows
}

// Fit returns a copy of the network that was trained by gradient descent from where it is, with the mean loss over
// all rows. An epoch after which that is larger is undone.
func Fit(ctx context.Context, n *nn.Network, rows Rows, o Options) (*nn.Network, float64, error) {
	count, inputs := len(rows.Y), n.Inputs()
	if count == 0 || len(rows.X) != count*inputs {
		return nil, 0, fmt.Errorf("there are %d labels and %d inputs, want rows of %d inputs", count, len(rows.X),
			inputs)
	}
	if o.Epochs < 0 || o.Batch < 1 || !(o.Step > 0) {
		return nil, 0, fmt.Errorf("%d epochs of batches of %d rows with step %v, want positive numbers", o.Epochs,
			o.Batch,
			o.Step)
	}
	best, trial := n.Clone(), n.Clone()
	at := trial.NewWorkspace()
	least, step := meanLoss(at, rows), o.Step
	rng := rand.New(rand.NewPCG(o.Seed, 0))
	x, y, gradient := make([]float32, o.Batch*inputs), make([]float64, o.Batch), make([]float32, n.Size())
	for range o.Epochs {
		order := rng.Perm(count)
		for first := 0; first < count; first += o.Batch {
			if err := ctx.Err(); err != nil {
				return nil, 0, err
			}
			batch := order[first:min(first+o.Batch, count)]
			for i, row := range batch {
				copy(x[i*inputs:(i+1)*inputs], rows.X[row*inputs:])
				y[i] = rows.Y[row]
			}
			at.Gradient(x[:len(batch)*inputs], y[:len(batch)], len(batch), gradient)
			for j, g := range gradient {
				trial.Parameters()[j] -= float32(step) * g
			}
		}
		if loss := meanLoss(at, rows); loss < least {
			least, step = loss, 1.1*step
			copy(best.Parameters(), trial.Parameters())
			continue
		}
		step /= 2 // also after NaN
		copy(trial.Parameters(), best.Parameters())
	}
	return best, least, nil
}

// meanLoss returns the mean loss over all rows; NaN where it is no number.
func meanLoss(w *nn.Workspace, rows Rows) float64 {
	losses := make([]float64, len(rows.Y))
	w.Losses(rows.X, rows.Y, len(rows.Y), losses)
	sum := 0.0
	for _, loss := range losses {
		sum += loss
	}
	return sum / float64(len(losses))
}

// Gradient returns the largest norm of a gradient over single rows, of every stride-th row: G of the paper's
// assumption a4 is at least that.
func Gradient(n *nn.Network, rows Rows, stride int) float64 {
	at, gradient, inputs, largest := n.NewWorkspace(), make([]float32, n.Size()), n.Inputs(), 0.0
	for row := 0; row < len(rows.Y); row += max(1, stride) {
		at.Gradient(rows.X[row*inputs:(row+1)*inputs], rows.Y[row:row+1], 1, gradient)
		largest = max(largest, math.Sqrt(Square(gradient)))
	}
	return largest
}

// Square returns the square norm.
func Square(values []float32) float64 {
	sum := 0.0
	for _, v := range values {
		sum += float64(v) * float64(v)
	}
	return sum
}
