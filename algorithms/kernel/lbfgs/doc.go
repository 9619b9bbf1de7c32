// Package lbfgs minimises smooth convex functions by limited-memory BFGS, in one process or
// split over parties.
//
// Every party runs the same code on its own part of each vector. What the parties must share is
// scalars only: the function's value and inner products, both sums over parties, which an Oracle
// supplies. The search direction is formed from the inner products of the last steps and
// gradients (the "vector-free" recursion of Chen, Wang and Zhou, "Large-scale L-BFGS using
// MapReduce", NIPS 2014), so that no vector ever leaves its owner. All decisions follow from the
// shared scalars by arithmetic that IEEE 754 fixes to the bit; so parties that see the same
// scalars decide alike, whatever machines they run on.
//
// A run's whole state is a State; a run continued from a stored State ends in the same bits.
package lbfgs
