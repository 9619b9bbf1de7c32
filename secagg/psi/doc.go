// Package psi finds which rows all parties have, and shows nobody another row: private set intersection of two to many
// parties. A row is an ID, 32 bytes that every party computes of its own table.
//
// Two parties do the work, the asker and the keeper, who must not collude. All others send once and receive once.
//
//	other parties                    asker                                    keeper
//	seed ─────────────────────────────────────────────────────────────────────▶ b(y): XOR of AES under the seeds
//	store of ID -> AES(seed, ID) ──▶ a(x): XOR of what the stores hold of x
//	                                 a and b are equal at a row of all; else random
//
//	mode dh                          points kA·u(x, a) ──────────────────────▶
//	                                 ◀─────────────────────── points kK·u(y, b)
//	                                 commitment to its doubled points ───────▶
//	                                 ◀──── doubled kK·kA·u, in an order of its own
//	                                 doubled kA·kK·u, in an order of its own ▶
//	                                 both count: how many, not which, and keep it to themselves
//
//	mode helper                      tags of (x, a) ──▶ helper ◀── tags of (y, b), under a key of the two
//	                                           it counts, and keeps it to itself
//
//	◀────────────────────────── enough, or too few ─────────────────────────────▶
//	too few: nothing opens, and nobody else hears how many
//	◀───────────────────────────────── how many ────────────────────────────────▶
//	                                 ◀──────── orders, or the helper's places ─▶
//	                                 ◀── proofs that both have the same list ──▶
//	◀──────────────────────────────────────────────────────────────────── digest of the list
//	◀── list ────────────────────────
//
// Sources: zero shares of many parties in bicentric form: Gao, Trieu, Yanai ("Multiparty Private Set Intersection
// Cardinality and Its Applications", PETS 2024) and its successors of CCS 2024; stores: package okvs; the intersection
// of two by Diffie-Hellman: Meadows, 1986, and Huberman, Franklin, Hogg, 1999; points: package point; the helper:
// Kamara, Mohassel, Raykova, Sadeghian ("Scaling Private Set Intersection to Billion-Element Sets", FC 2014).
//
// What differs from them: asker and keeper both count before either tells its order, and the asker has committed to its
// doubled points before it sees the keeper's. So neither can send the other's words back and have all rows count, and
// where they are fewer than the bound, neither gets the list.
//
// What a bound does not stop:
//
//   - An asker or keeper that multiplies an ID by a scalar of its own, unlike the rest, can tell its doubled point
//     from the others by as many multiplications as the other has points. It learns of a few chosen IDs of its own list
//     whether the other party (of more than two parties: whether all) has them, though the job then ends for too few
//     rows. Points without a sign have no cheap proof that all have one scalar.
//   - Who has guessed one of the other's rows, and guesses as well which of the other's points it is, can make it count
//     T times: with lists as long as it likes that works once in T. The lists differ then, and nobody sees one; but the
//     liar sees which of its other rows are common, which a bound of T rows would have kept from it.
//
// Long lists are worked on in buckets, so that a party holds the stores and points of one at a time. An ID's bucket is
// a hash of it and the contract. Parties outside make a store for each bucket, and the asker looks each of its IDs up
// in the store of its bucket; a store has the same size whatever falls into its bucket (Capacity), with noise in what
// is left. Points, doubled points and tags travel in as many pieces, of one secret order of the whole list: a piece is
// no bucket, and what is counted is the whole list. So nobody learns how many common rows a bucket has before all open.
//
// Everything a party sends follows from its list, its root secret and what it received: a session that is resumed sends
// the same bytes again. What came is kept by its digest, and another list in its place is refused: whoever breaks off
// cannot ask again with other points.
package psi
