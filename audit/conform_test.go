package audit

import (
	"testing"

	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// The shorthands of the events.
const (
	sent     = transcript.TypeSent
	received = transcript.TypeReceived
	opened   = transcript.TypeOpened
)

func TestHonestSumsPassAllChecks(t *testing.T) {
	l := sumsOf(t)
	all, cross := l.examined(l.sources()...)
	wantPassed(t, checksOf(all, cross))
	if got := all[0].Learned; len(got) != 2 || got[1].Words != 2*3*5<<18 || got[1].MostWords != 3*5<<18 ||
		got[1].Contributors != 4 || got[0].Told != 2 || got[0].MostTold != 1 {
		t.Errorf("p0 learned %+v", got)
	}
}

// deviation is a run that is not what the contract says, and the check that finds it.
type deviation struct {
	name   string
	party  int
	change edit
	check  string
	detail string
}

// TestDeviationsAreFoundByTheirCheck plants each defect in the transcript of a run in which all parties
// went along, so that every signature is right.
func TestDeviationsAreFoundByTheirCheck(t *testing.T) {
	l := sumsOf(t)
	for _, d := range []deviation{
		{"chunk skipped", 0, drop(of(received, "angles", 1).chunk(1)), finding.CheckOperations, "chunk 1 received from p2 where chunk 1 received from p1 was next"},
		{"chunk skipped by a child", 1, drop(of(sent, "angles", 0).chunk(1)), finding.CheckOperations,
			"chunk 2 sent to p0 where chunk 1 sent to p0 was next"},
		{"child missing", 2, drop(of(received, "angles", 3)), finding.CheckOperations,
			"chunk 0 sent to p0 where chunk 0 received from p3 was next"},
		{"frame doubled", 1, twice(of(sent, "angles", 0).chunk(2)), finding.CheckOperations,
			"chunk 2 sent to p0 where nothing more was next"},
		{"frame to another party", 3, alter(of(sent, "angles", 2), 2, func(r *transcript.Record) { r.Peer = 1 }),
			finding.CheckOperations, "chunk 2 sent to p1 where chunk 2 sent to p2 was next"},
		{"operation not whole", 3, drop(of(sent, "angles", 2).chunk(2)), finding.CheckOperations,
			"is not whole: chunk 2 sent to p2 was next"},
		{"another class", 1, alter(of(sent, "angles", 0), 4, func(r *transcript.Record) { r.Class = 3 }),
			finding.CheckOperations, "it is published turns16, the contract says masked turns16"},
		{"another size", 1, alter(of(sent, "angles", 0), 1, func(r *transcript.Record) { r.Size += 2 }),
			finding.CheckOperations, "a vector of 2621442 bytes, it had 2621440 before"},
		{"another chunk size", 1, alter(of(sent, "angles", 0), 1, func(r *transcript.Record) { r.Bytes -= 2 }),
			finding.CheckOperations, "chunk 1 has 1048574 bytes, want 1048576 in words of 2"},
		{"vectors too large", 3, alter(of(sent, "scores", 2), -1, func(r *transcript.Record) { r.Size += 8; r.Bytes += 8 }), finding.CheckOperations, "the vectors of scores have more bytes in session 1 than the 800 agreed"},
		{"broadcast in two versions", 0, alter(of(sent, "hello", 2), 0, func(r *transcript.Record) { r.Proof[0] ^= 1 }),
			finding.CheckOperations, "it is not the same for all parties"},
		{"broadcast opened", 3, insert(of(received, "hello", 2), func(all []transcript.Record, at int) []transcript.Record {
			r := all[at]
			r.Type, r.Peer, r.Proof = opened, 3, [64]byte{}
			return []transcript.Record{r}
		}), finding.CheckOperations, "opened where"},
		{"kind that is not listed", 0, alter(operationOf("hello"), -1, func(r *transcript.Record) { r.Kind = "gossip" }),
			finding.CheckOperations, `the contract has no message "gossip"`},
		{"kind that is not listed, sent", 0,
			alter(operationOf("hello"), -1, func(r *transcript.Record) { r.Kind = "gossip" }), finding.CheckEgress,
			"gossip was sent to p2, which the contract does not list"},
		{"two kinds in one operation", 1, alter(operationOf("scores"), -1, func(r *transcript.Record) { r.Operation-- }),
			finding.CheckOperations, "another kind of record has the same number"},
		{"operation back in time", 1, alter(operationOf("scores"), -1, func(r *transcript.Record) { r.Operation -= 3 }),
			finding.CheckOperations, "comes after operation 6"},
		{"stage back in time", 1, lateHello, finding.CheckOperations, "is of an earlier stage"},
		{"one operation too many", 3, again("scores"), finding.CheckOperations,
			"scores comes for time 2 in session 1, 1 are agreed"},
		{"over the budget", 3, again("scores"), finding.CheckEgress, "scores to p2 is over its budget in session 1: 2 frames of 1600 bytes were sent, agreed are 1 frame of 800 bytes"},
		{"not as the contract has the recipient",
			3, alter(of(sent, "scores", 2), -1, func(r *transcript.Record) { r.Peer = 0 }), finding.CheckEgress,
			"scores was sent to p0, which the contract does not list"},
		{"group of one", 0, drop(of(received, "angles", 2)), finding.CheckContributors, "2 of 4 parties in it, at least 3 are wanted; the frame of a party that should be in it is missing; a group of one: p0 subtracts its own"},
		{"mask reused by a child", 0, repeat(of(received, "angles", 1).chunk(0)), finding.CheckMasks, "mask reused: record"},
		{"mask reused by the party", 1, repeat(of(sent, "angles", 0).chunk(2)), finding.CheckMasks, "mask reused: record"},
		{"mask of another session", 3, repeat(of(sent, "scores", 2)), finding.CheckMasks, "(operation 7 of session 2, scores, sent to p2) has the payload of record"},
		{"session key of another session", 0, repeat(of(received, contract.KindSessionKey, 1)), finding.CheckSessions, "the session key received from p1 in session 2 is that of record"},
		{"session key of another party", 0, func(all []transcript.Record) []transcript.Record {
			all[6].Proof = all[5].Proof
			return all
		}, finding.CheckSessions, "the session key received from p3 in session 1 is that of record 5"},
		{"word cut in two", 3, alter(of(sent, "scores", 2), -1, func(r *transcript.Record) { r.Size--; r.Bytes-- }),
			finding.CheckOperations, "chunk 0 has 799 bytes, want 799 in words of 8"},
		{"chunk beyond the vector", 3, alter(of(sent, "angles", 2), 1, func(r *transcript.Record) { r.Chunk = 9 }),
			finding.CheckOperations, "chunk 9 of a vector with 3 chunks"},
		{"broadcast in chunks", 0, alter(of(sent, "hello", 2), 0, func(r *transcript.Record) { r.Chunk = 1 }),
			finding.CheckOperations, "chunk 1 of 12 bytes of a vector of 12, want it whole"},
		{"session key too long", 0, alter(of(received, contract.KindSessionKey, 2), 0,
			func(r *transcript.Record) { r.Size++; r.Bytes++ }), finding.CheckOperations, "it has 97 bytes, 96 are agreed"},
		{"abort of another class", 3,
			insert(sealOf(transcript.SignedDone), func(all []transcript.Record, at int) []transcript.Record {
				r := lastWords(all, at)
				r[0].Class = 4
				return r
			}), finding.CheckOperations, "abort (sent) is not as the contract has it: a frame of 32 bytes, opening bytes"},
		{"round after another operation",
			1, alter(of(sent, contract.KindCountersign, 2), 0, func(r *transcript.Record) { r.Operation = 12 }),
			finding.CheckCountersignatures, "it is after another operation than the round began with"},
		{"round after an earlier operation",
			1, alter(operationOf(contract.KindCountersign), -1, func(r *transcript.Record) { r.Operation-- }),
			finding.CheckCountersignatures, "it is after an operation that is over"},
		{"operation inside a round", 1, insert(of(transcript.TypeCountersigned, contract.KindCountersign, 2),
			func(all []transcript.Record, at int) []transcript.Record {
				r := lastWords(all, at)
				r[0].Kind, r[0].Operation = "hello", 9
				return r
			}), finding.CheckCountersignatures, "goes on while a round of countersignatures is not whole"},
		{"frame behind the last seal", 1, both(drop(func(r *transcript.Record) bool { return r.Session == 2 }),
			func(all []transcript.Record) []transcript.Record {
				return append(all, lastWords(all, 0)...)
			}), finding.CheckSeals, "session 1 goes on after the seal that ends it"},
		{"no session keys", 2, drop(operationOf(contract.KindSessionKey)), finding.CheckSessions, "session 1 begins with hello and not with the exchange of session keys"},
		{"one session key missing", 2, drop(of(received, contract.KindSessionKey, 3)), finding.CheckSessions, "(session-key, from record 1) is not whole: received from p3 was next"},
		{"sessions in the wrong order", 0, alter(func(r *transcript.Record) bool { return r.Session == 2 },
			-1, func(r *transcript.Record) { r.Session = 1 }), finding.CheckSessions, "session 1 begins after session 1"},
		{"no last round of countersignatures", 1, drop(lastRounds), finding.CheckCountersignatures,
			"its last round of countersignatures is not whole"},
		{"one countersignature missing", 1, drop(of(transcript.TypeCountersigned, contract.KindCountersign, 2)), finding.CheckCountersignatures, "countersign received from p3 where countersigned by p2 was next"},
		{"not told that it is done", 1, drop(operationOf(contract.KindDone)), finding.CheckOperations,
			"the parties did not tell each other"},
		{"records behind the last seal", 1, twice(sealOf(transcript.SignedDone)), finding.CheckSeals,
			"session 1 is sealed after the seal that ends it"},
		{"operation after the session was left", 3, insert(of(sent, "scores", 2), leave), finding.CheckOperations,
			"goes on after the session was left"},
	} {
		t.Run(d.name, func(t *testing.T) {
			all, _ := l.examined(source("forged", l.deviate(d.party, d.change)))
			wantCheck(t, all[0].Checks, d.check, verdictOf(d.check), d.detail)
		})
	}
}

// verdictOf is the verdict of a check that finds something.
func verdictOf(check string) finding.Verdict {
	if check == finding.CheckMasks || check == finding.CheckContributors || check == finding.CheckTrees {
		return finding.Leak
	}
	return finding.Failed
}

// lateHello adds a broadcast after the last sum of the first session.
func lateHello(all []transcript.Record) []transcript.Record {
	var hello []transcript.Record
	for _, r := range all {
		if r.Kind == "hello" && r.Session == 1 && r.Operation == 3 {
			r.Operation = 7
			hello = append(hello, r)
		}
	}
	return insert(operationOf("scores"),
		func([]transcript.Record, int) []transcript.Record { return hello })(drop(func(r *transcript.Record) bool {
		return r.Session == 1 && (r.Kind == "hello" && r.Operation == 3 || r.Kind == "scores")
	})(insert(of(sent, contract.KindDone, 0), func([]transcript.Record, int) []transcript.Record { return hello })(all)))
}

// again repeats the operation of a kind under the next number.
func again(kind string) edit {
	return func(all []transcript.Record) []transcript.Record {
		var more []transcript.Record
		for _, r := range all {
			if r.Session == 1 && r.Kind == kind {
				more = append(more, r)
			}
		}
		for i := range more {
			more[i].Operation++
			more[i].Proof[0] ^= 1
		}
		for i := range all {
			if r := &all[i]; r.Session == 1 && r.Operation > more[0].Operation-1 {
				r.Operation++
			}
		}
		return insert(operationOf(contract.KindDone), func([]transcript.Record, int) []transcript.Record { return more })(all)
	}
}

// leave is the last word of a party.
func leave(all []transcript.Record, at int) []transcript.Record {
	r := all[at]
	r.Kind, r.Class, r.Encoding, r.Bytes, r.Size, r.Operation = contract.KindAbort, 1, 0, 3, 3, r.Operation-1
	return []transcript.Record{r}
}
