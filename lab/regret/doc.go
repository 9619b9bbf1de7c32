// Package regret finds what an online learner is held against once all rows are known: the best
// function of one kernel's random features, for square loss and with coefficients in a ball. It has the
// bound that Theorem 2 of the POF-MKL paper puts on the regret of a federation against it.
//
// The ball matters. Without a regulariser, as the paper runs, the minimiser of equation 12 in a Gaussian
// kernel's space goes through all points: its loss is 0, the regret is the whole loss, and the C of
// Theorem 2 has no limit. Assumption 2 of the paper has coefficients of norm C at most: so has the ball.
package regret
