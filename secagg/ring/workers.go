package ring

import (
	"sync"
	"sync/atomic"
)

// fewWords is the size of a matrix below which a second goroutine costs more than it saves.
const fewWords = 1 << 14

// workersFor returns how many goroutines a matrix of this many words is worth, at most workers.
func workersFor(words, workers int) int {
	return max(1, min(workers, words/fewWords))
}

// split calls do for each of at most workers ranges that together make 0 to n-1, at the same time. Ranges
// start at multiples of unit.
func split(n, unit, workers int, do func(from, to int)) {
	units := (n + unit - 1) / unit
	each(min(workers, units), workers, func(i int) {
		parts := min(workers, units)
		do(units*i/parts*unit, min(units*(i+1)/parts*unit, n))
	})
}

// each calls do for 0 to n-1, at most workers of them at the same time.
func each(n, workers int, do func(i int)) {
	var next atomic.Int64
	work := func() {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			do(i)
		}
	}
	var wg sync.WaitGroup
	for range min(n, workers) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
}
