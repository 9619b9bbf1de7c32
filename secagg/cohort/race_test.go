//go:build race

package cohort

// The race detector makes arithmetic twenty times slower: tests of distributions look at less.

// hiddenWords is how many words of 16 bits a view has.
const hiddenWords = 1 << 14

// largeRounds is how many sums the large tests run.
const largeRounds = 2
