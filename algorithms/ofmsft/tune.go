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

// step computes the step of client i for network k, if it stores it.
func (f *Federation) step(i, k int, model *Runner, b *tuneBuffer) (stores bool, err error) {
	c := f.Clients[i]
	if c.position(k) < 0 {
		return false, nil
	}
	clipped, err := c.Step(k, model, f.alpha, b.step)
	if err != nil {
		return false, fmt.Errorf("client %d: %w", i+1, err)
	}
	b.clipped += clipped
	return true, nil
}

// tuneBySum applies equation 11 to network k.
func (f *Federation) tuneBySum(k int, model *Runner, b *tuneBuffer) error {
	any := false
	for _, i := range f.group {
		stores, err := f.step(i, k, model, b)
		if err != nil {
			return err
		}
		if !stores {
			continue
		}
		any = true
		for j, v := range b.step {
			b.sum[j] += v
		}
	}
	if !any {
		return nil
	}
	return f.Server.Apply(k, b.sum, len(f.Clients))
}

// tuneInPlace has the group's clients move network k one after another, each from where the one before
// it left the network.
func (f *Federation) tuneInPlace(k int, model *Runner, b *tuneBuffer) error {
	for _, i := range f.group {
		stores, err := f.step(i, k, model, b)
		if err != nil {
			return err
		}
		if !stores {
			continue
		}
		if err := f.Server.move(k, b.step, 1, f.params.SumBound()); err != nil {
			return err
		}
	}
	return nil
}
