package audit

import (
	"fmt"

	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// conclude writes down what was found.
func (x *examiner) conclude() {
	s := x.verifier.Summary()
	x.describe(&s)
	x.out.egress, x.out.learned = x.rules.lines(x.names), x.rules.learned()
	if x.served != nil {
		x.out.egress = x.served.lines(x.out.egress)
	}
	x.gaps.conclude(x.found)
	frames, signed := frames(&s)
	say := x.phrases()
	passed := []Check{
		{Name: checkContract, Detail: "it is of this contract and of its party " + x.found.party + ", and every party has signed the contract"},
		{Name: checkChain, Detail: "the hashes of " + counted(s.Records, "record") + " are an unbroken chain"},
		{Name: checkSeals, Detail: fmt.Sprintf("every seal is the party's signature; the last covers %s of %d", counted(s.Sealed, "record"), s.Records)},
		{Name: checkCountersignatures, Detail: fmt.Sprintf("%d of %d frames are under the signature of the party at the other end", signed, frames) + x.tails.unsigned(say.unsigned)},
		{Name: checkSequence, Detail: "the frames of every link are numbered without a gap"},
		{Name: checkSessions, Detail: counted(uint64(s.Sessions), "session") + say.sessions},
		{Name: checkOperations, Detail: say.operations},
		{Name: checkEgress, Detail: say.egress},
	}
	if x.rules.trees() {
		passed = append(passed, Check{Name: checkTrees, Detail: "the two trees of every sum of the published protocol are totally different, and the phases went along the second"})
	}
	if x.rules.masked() {
		passed = append(passed, x.contributorsPassed("masked"), x.freshPassed(checkMasks, "masked"))
	}
	if x.rules.sealed() || x.served != nil && x.served.protects(protocol.ClassHE) {
		passed = append(passed, x.contributorsPassed("encrypted"), x.freshPassed(checkCiphertexts, "encrypted"))
	}
	if x.ready != nil {
		passed = append(passed, x.ready.passed())
	}
	if x.served != nil {
		passed = append(passed, x.openingsPassed())
		x.out.federation = x.served.report()
	}
	for _, c := range append(passed, x.complete(&s)) {
		c = x.found.check(c.Name, c.Detail)
		if x.out.stopped && c.Verdict == Passed {
			c.Detail += fmt.Sprintf("; looked at up to record %d only", x.out.verified)
		}
		x.out.checks = append(x.out.checks, c)
	}
	x.dropped()
}

// describe fills in the report's line on the transcript.
func (x *examiner) describe(s *transcript.Summary) {
	t := &x.out.transcript
	t.Records, t.Sessions, t.Kept = s.Records, s.Sessions, s.Kept > 0
	t.First, t.Last = stamp(s.First), stamp(s.Last)
	for _, p := range s.Peers {
		t.BytesSent += int64(p.Sent.Bytes)
		t.BytesReceived += int64(p.Received.Bytes)
	}
	if all, signed := frames(s); all > 0 {
		t.Countersigned = float64(signed) / float64(all)
	}
	t.Cut = t.Cut || !x.out.stopped && s.Seal != transcript.SealDone && s.Seal != transcript.SealBroken
}

// frames counts the frames of all links, and those under the other end's signature.
func frames(s *transcript.Summary) (all, signed uint64) {
	for _, p := range s.Peers {
		all += p.Sent.Frames + p.Received.Frames
		signed += p.Countersigned
	}
	return all, signed
}

// complete says how the transcript ends. One that does not end as a job ends is of a job under way, or was cut:
// which of the two it cannot tell.
func (x *examiner) complete(s *transcript.Summary) Check {
	const cut = "the job was under way, or what came later was cut off; everything before it verifies"
	switch {
	case x.out.stopped:
		x.found.fail(checkComplete, "it was read up to record %d, which does not verify; what comes after proves nothing", x.out.verified)
	case x.ending != "":
		x.found.skip(checkComplete, "%s; %s", x.ending, cut)
	case s.Records == 0:
		x.found.skip(checkComplete, "it has no record; %s", cut)
	case s.Seal == "":
		x.found.skip(checkComplete, "it ends after %s without a seal, as a killed process leaves it; %s",
			counted(s.Records, "record"), cut)
	case s.Seal == transcript.SealCheckpoint:
		x.found.skip(checkComplete, "it ends with the seal %q, in the middle of session %d; %s", s.Seal,
			x.session.number, cut)
	case s.Seal == transcript.SealBroken:
		x.found.skip(checkComplete, "it ends with the seal %q: session %d did not come to the job's end; %s", s.Seal,
			x.session.number, cut)
	case x.served != nil && !x.served.finished():
		x.found.skip(checkComplete, "its last session, %d, did not come to the job's end; %s", x.session.number, cut)
	}
	return Check{Name: checkComplete, Detail: fmt.Sprintf("it ends with the seal %q", s.Seal)}
}

// contributorsPassed says how many parties' vectors were in the sums that were protected so.
func (x *examiner) contributorsPassed(how string) Check {
	smallest := 0
	for _, l := range x.out.learned {
		if l.Contributors > 0 && (smallest == 0 || l.Contributors < smallest) {
			smallest = l.Contributors
		}
	}
	c := Check{Name: checkContributors, Detail: "no " + how + " sum opened to this party"}
	if smallest > 0 && x.served != nil {
		c.Detail = fmt.Sprintf("every %s sum that opened to this party has at least %s: %s", how, counted(uint64(smallest), "contributor"), x.served.evidence())
		return c
	}
	if smallest > 0 {
		c.Detail = fmt.Sprintf("every %s sum that opened to this party has the vectors of at least %d parties in it", how, smallest)
	}
	return c
}

// freshPassed says how many payloads were compared.
func (x *examiner) freshPassed(name, how string) Check {
	return Check{Name: name, Detail: fmt.Sprintf("no two of %s and session keys are equal", counted(x.fresh.checked, how+" payload"))}
}

// dropped says that the search for repeated payloads had too many candidates to follow.
func (x *examiner) dropped() {
	for i, c := range x.out.checks {
		if (c.Name == checkMasks || c.Name == checkCiphertexts) && c.Verdict == Passed && x.fresh.dropped > 0 {
			x.out.checks[i].Verdict = Skipped
			x.out.checks[i].Detail = fmt.Sprintf("%s could not be compared with all others: there are too many in one transcript", counted(x.fresh.dropped, "payload"))
		}
	}
}
