package ring

import "github.com/hanse-project/hanse/internal/parallel"

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
	parts := min(workers, units)
	parallel.All(workers, parts, func(i int) {
		do(units*i/parts*unit, min(units*(i+1)/parts*unit, n))
	})
}
