// Package wired runs a party's part of an algorithm over columns in a session of package protocol.
//
// The sums and broadcasts that packages fdskl and sealed ask for are made of those of secagg (network.go): in the open,
// under one-time masks, or by homomorphic encryption (encrypted.go says what that sends).
package wired
