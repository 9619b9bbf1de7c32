// Package secagg adds vectors so that one party, the root, learns the total and nobody learns
// anything else. Vectors live in rings Z_{2^k}; every party adds one-time pairwise masks that
// cancel in the total. Package he sums under encryption, behind the same methods; package cohort
// sums over clients that come and go; package rss computes on shares of three.
package secagg
