// Package node is one member's daemon: it keeps the member's tables, answers the other members'
// proposals by policy or by hand, runs the sessions of agreed jobs, and takes them up again after
// a crash of anybody. It knows no network but a protocol.Transport, so whole federations run in
// one process in its tests.
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
// Those at the ends are final: the job has an ending (protocol.Ending), signed by whoever ended it, or, when it is
// done, by all. Endings travel: whoever is told of a job that has ended answers with its ending, and a node asks the
// others about jobs that stand still. One table (faults) says which fault pauses a job and which ends it.
//
// The proposer's node is the coordinator: it describes, collects consent, starts sessions, and has the end signed. It
// has no other power: what runs is the counter-signed contract. Where it dies after the last session, any other party
// has the end signed in its place.
//
// What must survive a crash is in the job's folder: see package vault for how its bytes are checked. A node signs a
// contract only where its disk says who has consented; a record that is missing or damaged is a proposal.
package node
