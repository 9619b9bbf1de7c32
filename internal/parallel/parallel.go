// Package parallel runs the turns of a loop at the same time. Cores of protocols and algorithms start no goroutines but
// through it: their results do not depend on the number of workers, and neither do their errors.
package parallel

import (
	"cmp"
	"sync"
	"sync/atomic"
)

// Each calls do(worker, i) for every i below n, on at most so many workers at the same time, and returns when all calls
// have. The i are handed out in order, so that a slow worker takes fewer. No two calls at the same time have the same
// worker, a number below workers: memory that a call needs may be kept for each worker.
//
// After a call has failed no new ones begin. Each returns the error of the lowest i that fails: with any number of
// workers the same as of a plain loop.
func Each(workers, n int, do func(worker, i int) error) error {
	if workers = min(workers, n); workers <= 1 {
		for i := range n {
			if err := do(0, i); err != nil {
				return err
			}
		}
		return nil
	}
	errs := make([]error, n)
	var next atomic.Int64
	var failed atomic.Bool
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			for !failed.Load() {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if errs[i] = do(worker, i); errs[i] != nil {
					failed.Store(true)
				}
			}
		})
	}
	group.Wait()
	return cmp.Or(errs...)
}

// All is Each for calls that cannot fail.
func All(workers, n int, do func(i int)) {
	Each(workers, n, func(_, i int) error { do(i); return nil })
}
