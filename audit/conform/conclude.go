package conform

import (
	"fmt"

	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// conclude writes down what was found.
func (x *examiner) conclude() {
	s := x.verifier.Summary()
	x.describe(&s)
	x.out.Egress, x.out.Learned = x.rules.Lines(x.names), x.rules.Learned()
	if x.served != nil {
		x.out.Egress = x.served.Lines(x.out.Egress)
	}
	x.gaps.conclude(x.found)
	frames, signed := frames(&s)
	say := x.phrases()
	agreed := "signed the contract"
	if x.in.Contract.Shard != nil {
		agreed = "delegated it"
	}
	passed := []finding.Check{
		{Name: finding.CheckContract, Detail: "it is of this contract and of its party " + x.found.Party +
			", and every party has " + agreed},
		{Name: finding.CheckChain, Detail: "the hashes of " + wording.Count(s.Records, "record") + " are an unbroken chain"},
		{Name: finding.CheckSeals, Detail: fmt.Sprintf("every seal is the party's signature; the last covers %s of %d",
			wording.Count(s.Signed, "record"), s.Records)},
		{Name: finding.CheckCountersignatures, Detail: fmt.Sprintf("%d of %d frames are under the signature "+
			"of the party at the other end", signed, frames) + x.tails.unsigned(say.unsigned)},
		{Name: finding.CheckSequence, Detail: "the frames of every link are numbered without a gap"},
		{Name: finding.CheckSessions, Detail: wording.Count(s.Sessions, "session") + say.sessions},
		{Name: finding.CheckOperations, Detail: say.operations},
		{Name: finding.CheckEgress, Detail: say.egress},
	}
	if x.rules.Trees() {
		passed = append(passed, finding.Check{Name: finding.CheckTrees, Detail: "the two trees of every " +
			"sum of the published protocol are totally different, and the phases went along the second"})
	}
	if x.rules.Masked() {
		passed = append(passed, x.contributorsPassed("masked"), x.freshPassed(finding.CheckMasks, "masked"))
	}
	if x.rules.Encrypted() || x.served != nil && x.served.Protects(contract.ClassHE) {
		passed = append(passed, x.contributorsPassed("encrypted"), x.freshPassed(finding.CheckCiphertexts, "encrypted"))
	}
	if x.aligned != nil {
		passed = append(passed, x.aligned.passed())
		x.out.Learned, x.out.lists = x.aligned.learned(x.out.Self), x.aligned.lists
	}
	if x.ready != nil {
		passed = append(passed, x.ready.passed())
	}
	if x.served != nil {
		passed = append(passed, x.openingsPassed())
		x.out.Federation = x.served.Federation()
	}
	for _, c := range append(passed, x.complete(&s)) {
		c = x.found.Check(c.Name, c.Detail)
		if x.out.Stopped && c.Verdict == finding.Passed {
			c.Detail += fmt.Sprintf("; looked at up to record %d only", x.out.Verified)
		}
		x.out.Checks = append(x.out.Checks, c)
	}
	x.dropped()
}

// describe fills in the report's line on the transcript.
func (x *examiner) describe(s *transcript.Summary) {
	t := &x.out.Transcript
	t.Records, t.Sessions, t.Kept = s.Records, s.Sessions, s.Kept > 0
	t.First, t.Last = stamp(s.First), stamp(s.Last)
	for _, p := range s.Peers {
		t.BytesSent += int64(p.Sent.Bytes)
		t.BytesReceived += int64(p.Received.Bytes)
	}
	if all, signed := frames(s); all > 0 {
		t.Countersigned = float64(signed) / float64(all)
	}
	t.Cut = t.Cut || !x.out.Stopped && s.LastSignature != transcript.SignedDone &&
		s.LastSignature != transcript.SignedBroken
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
func (x *examiner) complete(s *transcript.Summary) finding.Check {
	const cut = "the job was under way, or what came later was cut off; everything before it verifies"
	switch {
	case x.out.Stopped:
		x.found.Fail(finding.CheckComplete,
			"it was read up to record %d, which does not verify; what comes after proves nothing", x.out.Verified)
	case x.ending != "":
		x.found.Skip(finding.CheckComplete, "%s; %s", x.ending, cut)
	case s.Records == 0:
		x.found.Skip(finding.CheckComplete, "it has no record; %s", cut)
	case s.LastSignature == "":
		x.found.Skip(finding.CheckComplete, "it ends after %s without a seal, as a killed process leaves it; %s",
			wording.Count(s.Records, "record"), cut)
	case s.LastSignature == transcript.SignedCheckpoint:
		x.found.Skip(finding.CheckComplete, "it ends with the seal %q, in the middle of session %d; %s", s.LastSignature,
			x.session.number, cut)
	case s.LastSignature == transcript.SignedBroken:
		x.found.Skip(finding.CheckComplete,
			"it ends with the seal %q: session %d did not come to the job's end; %s", s.LastSignature,
			x.session.number, cut)
	case x.served != nil && !x.served.Finished():
		x.found.Skip(finding.CheckComplete, "its last session, %d, did not come to the job's end; %s", x.session.number, cut)
	}
	return finding.Check{Name: finding.CheckComplete, Detail: fmt.Sprintf("it ends with the seal %q", s.LastSignature)}
}

// contributorsPassed says how many parties' vectors were in the sums that were protected so.
func (x *examiner) contributorsPassed(how string) finding.Check {
	smallest := 0
	for _, l := range x.out.Learned {
		if l.Contributors > 0 && (smallest == 0 || l.Contributors < smallest) {
			smallest = l.Contributors
		}
	}
	c := finding.Check{Name: finding.CheckContributors, Detail: "no " + how + " sum opened to this party"}
	if smallest > 0 && x.served != nil {
		c.Detail = fmt.Sprintf("every %s sum that opened to this party has at least %s: %s", how,
			wording.Count(smallest, "contributor"), x.served.Evidence())
		return c
	}
	if smallest > 0 {
		c.Detail = fmt.Sprintf("every %s sum that opened to this party has the vectors of at least %d parties in it",
			how, smallest)
	}
	return c
}

// freshPassed says how many payloads were compared.
func (x *examiner) freshPassed(name, how string) finding.Check {
	return finding.Check{Name: name,
		Detail: fmt.Sprintf("no two of %s and session keys are equal", wording.Count(x.fresh.checked, how+" payload"))}
}

// dropped says that the search for repeated payloads had too many candidates to follow.
func (x *examiner) dropped() {
	for i, c := range x.out.Checks {
		if (c.Name == finding.CheckMasks || c.Name == finding.CheckCiphertexts) &&
			c.Verdict == finding.Passed && x.fresh.dropped > 0 {
			x.out.Checks[i].Verdict = finding.Skipped
			x.out.Checks[i].Detail = fmt.Sprintf("%s could not be compared with all others: there are too "+
				"many in one transcript", wording.Count(x.fresh.dropped, "payload"))
		}
	}
}
