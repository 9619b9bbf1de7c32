// Package secagg adds vectors so that one party, the root, learns the total and nobody learns
// anything else. Vectors live in rings Z_{2^k}; every party adds one-time pairwise masks that
// cancel in the total. Homomorphic sums will stand beside masks behind the same methods.
package secagg
