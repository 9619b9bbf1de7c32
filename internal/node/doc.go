// Package node is one member's daemon: it keeps the member's tables, answers the other members'
// proposals by policy or by hand, runs the sessions of agreed jobs, and takes them up again after
// a crash of anybody. It knows no network but a protocol.Transport, so whole federations run in
// one process in its tests.
//
// What a job computes is not here: a job is a jobs.Task, which runs in a jobs.Session.
//
// What has come of a job is not here either: package job decides what an event does to it, writes that, and says what
// follows. The node is made of parts. Each owns a piece of state, with a lock of its own, and calls only parts that
// stand below it here:
//
//	socket      the owner's commands                      socket.go, caller.go, workerkeys.go; client.go sends them
//	views       what the owner sees                       status.go, listing.go, card.go, audited.go, page.go, remove.go
//	tender      jobs that nobody else drives, the disk    tend.go
//	answers     what other members may ask                serve.go, rates.go; the messages are in wire.go
//	proposer    propose, collect consent, coordinate      propose.go, coordinate.go, decide.go, rehearsal.go
//	runner      one session at this party                 lifecycle.go, run.go, recorder.go
//	consents    policy, persons, approvals, tables        proposals.go, policy.go, approvals.go, tables.go, limits.go
//	digests     what the owner reads before a consent     notes.go
//	keeper      events, what follows of them, the end     ending.go, keeper.go, own_ids.go
//	workers     those that shards run on                  shards.go
//	accounts    what jobs have told of this node's rows   ledger.go
//	sessions    which are on, and the room for them       sessions.go, memory.go, disk.go
//	roster      the jobs at this node, who hears of them  roster.go, state.go, files.go, forecast.go
//	asker       calls to other members                    ask.go
//	algorithms  which package runs which, the tables      algorithms.go
//	member      who this member is, its charter           charter.go, in_words.go, kept.go
//
// A job's life, the same at every party:
//
//	proposed ──consent──▶ agreed ──start──▶ running ──part stored──▶ all sign ──▶ done
//	    │                    │                ▲  │
//	    │                    │                │  └─▶ paused: by a fault that comes right
//	    │                    │                └──────┘
//	    └──────────┬─────────┴──────────┬────────────┘
//	               ▼                    ▼
//	     refused, expired         cancelled, failed
//
// Those at the ends are final: the job has an ending (contract.Ending), signed by whoever ended it, or, when it is
// done, by all. Endings travel: whoever is told of a job that has ended answers with its ending, and a node asks the
// others about jobs that stand still. One table (package faults) says which fault pauses a job and which ends it.
//
// The proposer's node is the coordinator: it describes, collects consent, starts sessions, and has the end signed. It
// has no other power: what runs is the counter-signed contract. Where it dies after the last session, any other party
// has the end signed in its place.
//
// What must survive a crash is in the job's folder: see package vault for how its bytes are checked. A node signs a
// contract only where its disk says who has consented; a record that is missing or damaged is a proposal.
package node
