// Package testnet is a network in memory: whole federations run in one process, over the same
// protocol.Transport that package peer implements with libp2p, and meet faults on demand.
//
// A Network has one Transport for each member. Faults come by rule and never by chance, so that a
// test that fails fails again: Kill, Restart, Cut and Heal break links and mend them, OnFrame sees
// every session frame on its way and may drop, repeat, alter or hold it back, Delay makes every
// frame late. Blocking is done on channels and timers alone, so that a federation inside a
// testing/synctest bubble runs on fake time.
//
// A Federation is the members on such a network: what a test needs to found them, to have them sign a
// charter and a contract, and to run parts of theirs in sessions.
//
// Nobody shares memory: a frame is copied when it is sent and again when it is received. No
// goroutine runs but those of calls being handled, and Network.Close waits for these.
package testnet
