// Package jobs is what a node's daemon and the jobs that it runs know of each other: a job is a Task, which runs in a
// Session, and says what came of it in a Report.
//
//	node      the daemon: proposes, consents, coordinates, resumes
//	  │         asks a Kind for a Task, and runs it in a Session
//	  ▼
//	summary   what a person reads before consent
//	  │
//	  ├──────────────┐
//	  ▼              ▼
//	columns        clients     the two kinds of jobs; neither knows the other, nor the daemon
//	  │ fdskl, glm   │ pofmkl, gfml, ofmsft
//	  └──────┬───────┘
//	         ▼
//	jobs      Task, Kind, Member, Session, Report, Event, Tables, Egress
//	         │
//	         ▼
//	faults    which fault pauses a job, and which ends it
//
// A row's way to the wire goes down: Tables read it, a task of columns or clients prepares it, the algorithm computes,
// and an adapter of columns or clients hands the numbers to a sum of secagg, which sends them over the links of package
// protocol. Nothing on that way is in the daemon.
//
// Neither package names an algorithm to run it: an algorithm is a package of its own, and a line of package registry.
package jobs
