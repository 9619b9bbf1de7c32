package ofmsft

import (
	"fmt"

	"github.com/hanse-project/hanse/internal/parallel"
)

// tuneBuffer is a worker's room for the steps of one network.
type tuneBuffer struct {
	step, sum []float64
	clipped   int
}

// tune has the group's clients fine-tune. Each network is done by one worker, client by client.
func (f *Federation) tune() error {
	if len(f.group) == 0 {
		return nil
	}
	for _, i := range f.group {
		p := f.params
		s := &f.Clients[i].selection
		f.Traffic.Uploaded += s.Need
		f.Traffic.UploadedBytes += bytesOf(p, s)
	}
	err := parallel.Each(len(f.runners), len(f.params.Models), func(worker, k int) error {
		b := &f.buffers[worker]

		// Makes room for a network of so many parameters, and clears the sum.
		size := f.params.Models[k].Size
		if cap(b.sum) < size {
			b.step, b.sum = make([]float64, size), make([]float64, size)
		}
		b.step, b.sum = b.step[:size], b.sum[:size]
		clear(b.sum)
		if f.params.Update == UpdateInPlace {
			return f.tuneInPlace(k, f.runners[worker][k], b)
		}
		model := f.runners[worker][k]
		any := false
		err := f.eachStep(k, model, b, func() error {
			any = true
			for j, v := range b.step {
				b.sum[j] += v
			}
			return nil
		})
		if err != nil || !any {
			return err
		}
		return f.Server.Apply(k, b.sum, len(f.Clients))
	})
	for w := range f.buffers {
		f.Clipped += f.buffers[w].clipped
		f.buffers[w].clipped = 0
	}
	return err
}

// eachStep leaves in b the step for network k of each client of the group that stores it, in turn, and calls
// visit.
func (f *Federation) eachStep(k int, model *Runner, b *tuneBuffer, visit func() error) error {
	for _, i := range f.group {
		c := f.Clients[i]
		if c.position(k) < 0 {
			continue
		}
		clipped, err := c.Step(k, model, f.alpha, b.step)
		if err != nil {
			return fmt.Errorf("client %d: %w", i+1, err)
		}
		b.clipped += clipped
		if err := visit(); err != nil {
			return err
		}
	}
	return nil
}

// tuneInPlace has the group's clients move network k one after another, each from where the one before
// it left the network.
func (f *Federation) tuneInPlace(k int, model *Runner, b *tuneBuffer) error {
	return f.eachStep(k, model, b, func() error { return f.Server.move(k, b.step, 1, f.params.SumBound()) })
}
