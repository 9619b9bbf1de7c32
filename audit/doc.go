// Package audit reads the transcripts of a job, proves that they are whole and fit the contract and
// each other, lists what every party learned, runs real attacks on what was recorded, and says in
// plain words what could be rebuilt from it and how well.
//
// The packages below it, each with what it imports of the others; nothing points up:
//
//	                   audit            Run: checks of the job itself, the ledger, the verdict
//	             ┌───────┴───────┐
//	         conform            views   one transcript, and two, | what a party saw, as equations
//	    ┌───────┴──────┐      ┌───┴────┐
//	lockstep       clients   (angles)  updates   by how a job's parties go together
//	    └───────┬──────┘      └───┬────┘
//	          rules            payload   what a contract says of each kind | the words of what was kept
//	            │                 ├────── attack   numbers only: no contract, no transcript
//	            └───────┬─────────┘
//	          evidence     finding     what an audit reads | what it writes
//	                          │
//	                        render     a report as text and HTML
//
// The wall that matters stands between conform and views. Conform asks whether the transcripts are what an honest run
// of the contract leaves; it looks at heads, hashes and signatures, and at no payload but session keys. Views take the
// payloads for what a curious party had in its hands, and attack. Neither imports the other: they meet in evidence and
// finding, and in Run. Attacks know no contract, so that each can be tested on numbers alone.
//
// Both sides have one package for jobs over columns, whose parties go in lockstep, and one for jobs over clients, where
// each link goes its own way.
//
// The session of a shard is an Input like that of a job: the same auditor reads its transcripts and attacks them. What
// only shards have is checked beside it, in shards.go: whether every session is there, follows from the job, and was
// compared by all.
package audit

import (
	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
)

// What Run takes and returns, for its callers; see packages evidence and finding.
type (
	Input      = evidence.Input
	Source     = evidence.Source
	Columns    = evidence.Columns
	Stream     = evidence.Stream
	Report     = finding.Report
	Origin     = finding.Origin
	Transcript = finding.Transcript
	Attack     = finding.Attack
	Verdict    = finding.Verdict
)

// The verdicts; see package finding.
const (
	Clean        = finding.Clean
	Partial      = finding.Partial
	Disclosed    = finding.Disclosed
	Leak         = finding.Leak
	Unverifiable = finding.Unverifiable
	Passed       = finding.Passed
	Failed       = finding.Failed
	Skipped      = finding.Skipped
)
