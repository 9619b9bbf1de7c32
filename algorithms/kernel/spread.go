package kernel

import (
	"sync"
	"sync/atomic"
)

// spread runs job(0) to job(n-1), at most workers at a time, and returns when all are done.
// Jobs are handed out in order, so that a slow worker takes fewer.
func spread(workers, n int, job func(i int)) {
	workers = min(workers, n)
	if workers <= 1 {
		for i := range n {
			job(i)
		}
		return
	}
	var next atomic.Int64
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				job(i)
			}
		})
	}
	group.Wait()
}
