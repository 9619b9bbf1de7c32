// Package rss is the arithmetic of three parties on replicated shares of words modulo 2^64 (Araki, Furukawa,
// Lindell, Nof, Ohara 2016), against one of them who keeps to the protocol and is curious.
//
// A shared value is the sum of three components; component j is known to everybody but party j:
//
//	             component 0   component 1   component 2
//	LabelHolder                    X             Y
//	Keeper            Y                          X
//	Helper            X            Y
//
// Sums, products with public numbers and public constants are free. A product of two shared values
// is local too, and leaves each party with an addend of it, a term: inner products, products of a
// matrix and a vector and Gram matrices take as many terms as they have results, however long the
// sums in them are. A term never leaves its party but through Truncate, which makes shares of it again
// while it divides by a power of two, without an error in the last bit beyond the rounding.
//
// Every word on the wire is under a pad of its own, from a key of two parties that its receiver
// does not have: one party's messages are uniform and tell nothing.
package rss
