// Package shards lets a party of a job be larger than one machine. The job's rows are cut into shards; of each shard
// workers of all parties have a session of their own, and the nodes add up what comes out.
//
//	another party's node ── mesh of the shard's session ── node ── streams ── worker
//	                                                        │
//	                                                        ├─ Service   a worker's stream from its first word on
//	                                                        ├─ desk      which workers are there, and what they are told
//	                                                        ├─ run       one job's shards in one session of the job
//	                                                        ├─ slots     what is known of them, and on the disk
//	                                                        └─ relay     frames of a worker to and from the others' nodes
//
// Desk, slots and relay each have the lock of what they know, and call none of the others.
//
// A worker knows its own node alone. It draws a key for one session and says that it is ready; the node signs a
// delegation for that key. When all parties have, the shard's contract follows from the job's and the delegations
// (contract.InForce.Shard), and its digest names the session in which the nodes meet. Each node then passes frames
// between its worker and the other nodes, and reads none of them.
//
// The proposer's node says when a shard begins, and has no other power: every node checks the delegations, that the
// generation is higher than all it knows, and makes the shard's contract itself. Whenever a worker begins anew, all
// begin anew, with the next generation, and what an earlier one made is thrown away. At the end the nodes compare in
// the job's own session what each shard's session was.
//
// On the disk of a node there are, for each shard, a record with the last generation (written before the delegation
// leaves the node), the result of the generation that is done, and a folder with contract and transcript of every
// generation whose worker has handed them in.
package shards
