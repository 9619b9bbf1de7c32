//go:build !race

package cohort

// hiddenWords is how many words of 16 bits a view has.
const hiddenWords = 1 << 20

// largeRounds is how many sums the large tests run.
const largeRounds = 4
