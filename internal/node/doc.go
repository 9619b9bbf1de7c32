// Package node is one member's daemon: it keeps the member's tables, answers the other members'
// proposals by policy or by hand, runs the sessions of agreed jobs, and takes them up again after
// a crash of anybody. It knows no network but a protocol.Transport, so whole federations run in
// one process in its tests.
//
// A job's life, the same at every party:
//
//	proposed ──consent──▶ agreed ──start──▶ running ──▶ done
//	    │                               ▲      │
//	    └──refusal──▶ refused           └─ paused ◀─ a party is gone
//	                                           │
//	                         failed ◀──────────┘ a party deviates, or its data changed
//
// The proposer's node is the coordinator: it describes, collects consent, and starts sessions. It
// has no other power: what runs is the counter-signed contract.
package node
