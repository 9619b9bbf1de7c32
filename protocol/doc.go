// Package protocol is what the parties of a job say to each other: the contract they sign, the
// session they run it in, and the reduce and broadcast that carry its sums. It knows no network:
// a Transport brings the links, over libp2p (package peer) or in memory (package testnet).
package protocol
