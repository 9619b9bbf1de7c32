// Package wired runs a party's part of an algorithm over columns in a session of package protocol. A node does its
// jobs over columns with it, and so does a program that trains with others and is no node: docs/library.md is for its
// writer.
//
// Draft makes the contract of a training, which every party makes anew and compares before it signs. Run has a session
// of a contract in force: what leaves is held to the contract's budget, and all of it is on record in a folder that
// hanse audit reads. Part.Train is a masked or published training in such a session, on a Table.
//
// The sums and broadcasts that algorithms ask for (package joint) are made of those of secagg (network.go): in the
// open, under one-time masks, or by homomorphic encryption (encrypted.go says what that sends).
package wired
