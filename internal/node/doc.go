// Package node is one member's daemon: it keeps the member's tables, answers the other members'
// proposals by policy or by hand, runs the sessions of agreed jobs, and takes them up again after
// a crash of anybody. It knows no network but a protocol.Transport, so whole federations run in
// one process in its tests.
//
// What a job computes is not here: a job is a jobs.Task, which runs in a jobs.Session.
//
//	propose.go   describe, collect consent           policy.go, charter.go   may it, under policy and charter
//	coordinate.go  sessions, one after the other
//	lifecycle.go, run.go   one session at this node    ending.go             how a job ends, at all parties
//	state.go     what is on the disk                   serve.go, rates.go    what other members may ask
//	socket.go, client.go, caller.go                    the owner's commands
//	algorithms.go  which package runs each algorithm (jobs/columns, jobs/clients)
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
