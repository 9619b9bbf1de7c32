// Package kernel gives random features of shift-invariant kernels, with all angles in turns.
//
// A shift-invariant kernel is the mean of phi(x) phi(x') over random features
//
//	phi_i(x) = sqrt(2) cos(omega_i^T x + b_i),   omega_i from the kernel's spectral measure,
//
// (Rahimi and Recht 2007). A cosine does not care about whole turns, so an angle is kept as a
// 16-bit word, one turn being 2^16: parties that hold different columns add their words modulo
// 2^16, and the total is the angle of the joined row. This is exact arithmetic in a ring, which a
// secure sum can mask perfectly; its rounding moves a kernel value by about 1e-6, ten thousand
// times less than the randomness of a thousand features does.
//
// The way from a table to a model:
//
//	Fit, Normaliser.Apply   columns to a Matrix of numbers and set cells
//	NewMap, Map.Turns       a Matrix to angles; frequencies come from a public Seed (Kernel.Draw)
//	Table                   angles to features, inner products and gradients
//	Gram.Add, Gram.Solve    ridge regression in closed form
//	Loss, Curvature.Step    the other losses, by Newton's method
//	package lbfgs           the same split over parties
//
// Everything that several parties must compute alike (frequencies, the table of cosines) comes
// out the same to the bit on every machine. What a party computes for itself alone does not depend
// on block sizes or goroutines, but may differ in the last bit between processor architectures.
//
// Nothing here is secret-keeping: a Seed is public, and angles are in the clear.
package kernel
