// Package ring is arithmetic on vectors and matrices of words modulo 2^64 or 2^32: what the parties of secagg/rss
// compute on their own between two messages, and nearly all of the time they spend. Masked sums add their words, of 16
// bits too, as bytes of messages.
//
// Every matrix is row-major and dense, every function adds to what its result holds, and every result is exact:
// it does not depend on the number of workers, on the order of the sums or on the processor. The caller sees to it that
// lengths fit; a slice that is too short ends in the run-time's panic, as an index out of range does. The argument
// workers is the most goroutines that a call uses (less than 1 counts as 1); all have ended when it returns.
//
// # Sums of products with half the multiplications
//
// A sum of two products is one product and two corrections that depend on one side each (Winograd 1968):
//
//	a b + c e  =  (a + e)(c + b) - a c - b e
//
// A matrix of such sums takes one multiplication per entry and pair of rows, and the corrections are two vectors.
// In floating point this loses digits; modulo 2^64 it is exact. In plain Go AddSquares pairs successive rows so. What
// is right modulo 2^64 is right modulo 2^32, and for sums of numbers with a sign that fit 64 bits: narrower words are
// widened on their way into the processor's first cache, and take the same loops.
//
// # Vector instructions
//
// On amd64 with AVX2, AddSquares and AddSquares16 multiply 8 words of 32 bits or 16 numbers of 16 at once. Panels of
// columns stay in the first-level cache, one as the side of which each word is multiplied by a whole line of the other.
// Words of 64 bits take two such multiplications each, which is still faster than the identity above in plain Go.
// AddBytes and its like, for words as messages carry them, take 64 bytes at once. The program asm writes the assembly;
// GODEBUG=cpu.avx2=off switches it off.
package ring
