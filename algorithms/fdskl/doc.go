// Package fdskl is federated doubly stochastic kernel learning for vertically partitioned data
// (Gu, Dang, Li, Huang: FDSKL): parties that hold different columns of the same rows learn
//
//	f(x) = intercept + sum_i alpha_i sqrt(2) cos(omega_i . x + b_i)
//
// without showing each other a column. Every party draws omega for its own columns from the job's
// public seed and adds a phase of its own, secret and fixed per feature; a secure sum opens the
// total angle to an active party, one that holds labels, which finds the coefficients alpha.
//
// Two schedules: doubly-stochastic is the paper's Algorithm 1 in blocks; fixed draws all features
// first, opens each angle once and solves for alpha with the best solver of the loss.
// Two privacy modes here (package sealed is the third): masked adds angles as turns in Z_{2^16} under one-time masks;
// published is the paper's Algorithm 3 to the letter, kept for reproduction because it leaks (see the threat model).
// How far rounding to turns can move a model is derived in stochastic_angles.go.
//
// Everything here is one party's straight-line part. It reaches the others through joint.Network alone.
package fdskl
