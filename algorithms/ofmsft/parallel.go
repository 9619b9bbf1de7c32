package ofmsft

import (
	"sync"
	"sync/atomic"
)

// parallel runs task(worker, i) for all i below n on so many goroutines, numbered from 0, and waits
// for them all. It returns the error of the lowest i.
func parallel(workers, n int, task func(worker, i int) error) error {
	errs := make([]error, n)
	var next atomic.Int64
	var all sync.WaitGroup
	for worker := range min(workers, n) {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				errs[i] = task(worker, int(i))
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
