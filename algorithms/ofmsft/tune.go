package ofmsft

import "fmt"

// tuneBuffer is a worker's room for the steps of one network.
type tuneBuffer struct {
	step, sum []float64
	clipped   int
}

// resize makes room for a network of so many parameters, and clears the sum.
func (b *tuneBuffer) resize(size int) {
	if cap(b.sum) < size {
		b.step, b.sum = make([]float64, size), make([]float64, size)
	}
	b.step, b.sum = b.step[:size], b.sum[:size]
	clear(b.sum)
}

// tune has the group's clients fine-tune. Each network is done by one worker, client by client.
func (f *Federation) tune() error {
	if len(f.group) == 0 {
		return nil
	}
	for _, i := range f.group {
		f.Traffic.upload(f.params, &f.Clients[i].selection)
	}
	err := parallel(len(f.runners), len(f.params.Models), func(worker, k int) error {
		b := &f.buffers[worker]
		b.resize(f.params.Models[k].Size)
		if f.params.Update == UpdateInPlace {
			return f.tuneInPlace(k, f.runners[worker][k], b)
		}
		return f.tuneBySum(k, f.runners[worker][k], b)
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

// tuneBySum applies equation 11 to network k.
func (f *Federation) tuneBySum(k int, model *Runner, b *tuneBuffer) error {
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
}

// tuneInPlace has the group's clients move network k one after another, each from where the one before
// it left the network.
func (f *Federation) tuneInPlace(k int, model *Runner, b *tuneBuffer) error {
	return f.eachStep(k, model, b, func() error { return f.Server.move(k, b.step, 1, f.params.SumBound()) })
}
