package audit

import (
	"slices"
	"testing"

	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
	"github.com/hanse-project/hanse/secagg/cohort"
)

// ofSum selects those records of a kind that are of one sum.
func (m match) ofSum(n uint64) match {
	return func(r *transcript.Record) bool { return m(r) && r.Operation == n }
}

// copied puts a changed copy of the first record selected by m before the first that before selects.
func copied(m, before match, change func(r *transcript.Record)) edit {
	return insert(before, func(all []transcript.Record, _ int) []transcript.Record {
		at := slices.IndexFunc(all, func(r transcript.Record) bool { return m(&r) })
		r := all[at]
		change(&r)
		return []transcript.Record{r}
	})
}

// unchanged leaves a copy as it is.
func unchanged(*transcript.Record) {}

// TestServedDeviationsAreFoundByTheirCheck plants each defect in the transcript of a run in which all
// went along, so that every signature is right.
func TestServedDeviationsAreFoundByTheirCheck(t *testing.T) {
	c := cohortsOf(t)
	countersign := contract.KindCountersign
	for _, d := range []deviation{
		{"mask reused by a client", 0, repeat(of(received, "updates", 2)), finding.CheckMasks, "(operation 2 of session 1, updates, received from p2) has the payload of record"},
		{"mask reused by the party", 3, repeat(of(sent, "updates", 0)), finding.CheckMasks, "(operation 2 of session 1, updates, sent to p0) has the payload of record"},
		{"session key of two clients", 0, alter(operationOf(cohort.KindKey), -1,
			func(r *transcript.Record) { r.Proof = [64]byte{1} }), finding.CheckSessions, "the session key received from"},
		{"kind that is not listed", 1, alter(of(received, "model", 0), 0, func(r *transcript.Record) { r.Kind = "gossip" }),
			finding.CheckOperations, `the contract has no message "gossip"`},
		{"kind that is not listed, sent", 0, alter(of(sent, "model", 1), 0, func(r *transcript.Record) { r.Kind = "gossip" }),
			finding.CheckEgress, "gossip was sent to p1, which the contract does not list"},
		{"over the budget", 0, twice(of(sent, "model", 1)), finding.CheckEgress, "model to p1 is over its budget in session 1: 3 frames of 84 bytes were sent, agreed are 2 frames of 56 bytes"},
		{"over the budget, received", 2, twice(of(received, "model", 0)), finding.CheckEgress, "model from p0 is over its budget in session 1: 3 frames of 84 bytes came, agreed are 2 frames of 56 bytes"},
		{"wrong direction", 0, alter(of(sent, "model", 3), 0, func(r *transcript.Record) { r.Type = received }), finding.CheckOperations, "(model) received from p3: the contract has it go from a server to its clients"},
		{"wrong direction of a sum's message", 2, alter(of(sent, cohort.KindDeposit, 0), 0, func(r *transcript.Record) { r.Type = received }), finding.CheckOperations, "(sum-deposit) received from p0: the contract has it go from clients to their server"},
		{"client to client", 2, alter(of(sent, "updates", 0), 0, func(r *transcript.Record) { r.Peer = 3 }), finding.CheckOperations, "(updates) sent to p3: the contract has it go from clients to their server"},
		{"exchange of session keys", 2,
			alter(of(sent, cohort.KindKey, 0), 0, func(r *transcript.Record) { r.Kind = contract.KindSessionKey }),
			finding.CheckOperations, "(session-key) sent to p0: it has no place"},
		{"another class", 2, alter(of(sent, "updates", 0), 0,
			func(r *transcript.Record) { r.Class = contract.ClassPublished }), finding.CheckOperations,
			"it is published bytes, the contract says masked bytes"},
		{"group of two", 0, drop(func(r *transcript.Record) bool { return of(received, "updates", r.Peer).ofSum(1)(r) && r.Peer > 2 }), finding.CheckContributors, "(updates) opened with the vectors of 2 clients in it, at least 3 are wanted"},
		{"opened to a client", 2, insert(of(sent, cohort.KindShares, 0),
			func(all []transcript.Record, at int) []transcript.Record {
				r := all[at]
				r.Type, r.Peer, r.Kind, r.Class, r.Encoding, r.Proof = opened, 2, "updates", contract.ClassOpening,
					contract.Fixed64, [64]byte{}
				return []transcript.Record{r}
			}), finding.CheckOpenings, "(updates) opened to p2, to whom the contract opens no such total"},
		{"what is no total opened", 0, alter(of(opened, "updates", 0), 0, func(r *transcript.Record) { r.Kind = "model" }),
			finding.CheckOpenings, "(model) opened to p0"},
		{"total of another size", 0, alter(of(opened, "updates", 0), 0, func(r *transcript.Record) {
			r.Size, r.Bytes = 168, 168
		}), finding.CheckOperations, "a total of 168 bytes, the contract says 160 at most"},
		{"total of another size than the vectors", 0, alter(of(opened, "updates", 0), 0, func(r *transcript.Record) {
			r.Size, r.Bytes = 152, 152
		}), finding.CheckOperations, "a total of 152 bytes, the vectors have 160"},
		{"opened twice", 0, twice(of(opened, "updates", 0)), finding.CheckOperations, "opened: it opens again"},
		{"opened before the shares", 0, drop(func(r *transcript.Record) bool {
			return r.Kind == cohort.KindShares &&
				r.Operation == 1
		}), finding.CheckOperations, "no shares have come to take the masks away"},
		{"opened before the vectors", 0, both(drop(of(opened, "updates", 0)),
			copied(of(received, "updates", 1), of(received, "updates", 1), func(r *transcript.Record) {
				r.Type, r.Peer, r.Class, r.Encoding, r.Size, r.Bytes, r.Proof = opened, 0, contract.ClassOpening,
					contract.Fixed64, 160, 160, [64]byte{}
			})), finding.CheckOperations, "the vectors of sum 1 have not all come"},
		{"vector sent twice", 0, twice(of(received, "updates", 4)), finding.CheckOperations,
			"(updates) received from p4: it comes again in sum 1"},
		{"shares handed out twice", 4, twice(of(sent, cohort.KindShares, 0)), finding.CheckOperations,
			"(sum-shares) sent to p0: it comes again in sum 1"},
		{"shares before the tags", 4, drop(of(received, cohort.KindTagged, 0)), finding.CheckOperations, "(sum-shares) sent to p0: sum-tagged had to pass before it in sum 1"},
		{"deposit after the vector", 0, both(drop(of(received, cohort.KindDeposit, 1).ofSum(1)), copied(of(received, cohort.KindDeposit, 1), of(received, cohort.KindTags, 1), unchanged)), finding.CheckOperations, "(sum-members) sent to p1: sum-deposit had to pass before it in sum 1"},
		{"sum that has not begun", 0,
			alter(of(received, cohort.KindDeposit, 1), 0, func(r *transcript.Record) { r.Operation = 9 }),
			finding.CheckOperations, "the server has not begun sum 9 on this link"},
		{"sums back in time", 0, alter(func(r *transcript.Record) bool {
			return r.Kind == cohort.KindBegin &&
				r.Operation == 2 && r.Peer == 1
		}, 0, func(r *transcript.Record) { r.Operation = 1 }), finding.CheckOperations,
			"(sum-begin) sent to p1: it comes again in sum 1"},
		{"vector too long", 2, alter(of(sent, "updates", 0), 1, func(r *transcript.Record) { r.Size++; r.Bytes++ }),
			finding.CheckOperations, "a vector of 162 bytes, the contract says 161 at most"},
		{"vector of another size", 0, alter(of(received, "updates", 2), 1,
			func(r *transcript.Record) { r.Size--; r.Bytes-- }), finding.CheckOperations, "in sum 2 have 16"},
		{"vector without its end", 2, alter(of(sent, "updates", 0), 1, func(r *transcript.Record) { r.Bytes-- }),
			finding.CheckOperations, "chunk 0 has 160 bytes, want 161"},
		{"chunk without its beginning", 2, alter(of(sent, "updates", 0), 1, func(r *transcript.Record) { r.Chunk = 3 }),
			finding.CheckOperations, "chunk 3 comes where a message begins"},
		{"session key twice", 2, twice(of(sent, cohort.KindKey, 0)), finding.CheckOperations, "the session key comes again"},
		{"no session key", 0, drop(of(received, cohort.KindKey, 5)), finding.CheckOperations,
			"(sum-begin) sent to p5: cohort-key had to pass before it"},
		{"frame after the end", 0, copied(of(sent, "model", 3), sealOf(transcript.SignedDone), func(r *transcript.Record) { r.Operation = 9 }), finding.CheckOperations, "operation 9 (model) sent to p3: it comes after its sender was done with the link"},
		{"frame after the end, received", 3, copied(of(received, "finished", 0), of(sent, contract.KindDone, 0), func(r *transcript.Record) { r.Operation = 9 }), finding.CheckOperations, "received from p0: it comes after its sender was done with the link"},
		{"client done first", 3, func(all []transcript.Record) []transcript.Record {
			is := func(event transcript.Type) int {
				return slices.IndexFunc(all, func(r transcript.Record) bool { return of(event, contract.KindDone, 0)(&r) })
			}
			i, j := is(sent), is(received)
			all[i], all[j] = all[j], all[i]
			return all
		}, finding.CheckOperations, "(done) sent to p0: it comes before the server is done"},
		{"signed before the end", 0, drop(of(received, contract.KindDone, 3)), finding.CheckOperations, "(countersign) sent to p3: it comes before both ends are done with the link"},
		{"countersignature that does not fit", 0, drop(of(transcript.TypeCountersigned, countersign, 3)),
			finding.CheckCountersignatures, "the countersignature that p3 sent was not kept"},
		{"frame behind the last seal", 1, func(all []transcript.Record) []transcript.Record { return append(all, all[1]) },
			finding.CheckSeals, "session 1 goes on after the seal that ends it"},
	} {
		t.Run(d.name, func(t *testing.T) {
			all, _ := c.examined(source("forged", c.deviate(d.party, d.change)))
			want := verdictOf(d.check)
			if d.check == finding.CheckOpenings {
				want = finding.Leak
			}
			wantCheck(t, all[0].Checks, d.check, want, d.detail)
		})
	}
}

// TestForgedCountersignatureOfALinkIsFound: a server rewrites its transcript and signs for a client.
func TestForgedCountersignatureOfALinkIsFound(t *testing.T) {
	c := newCohorts(t, 5, 1, cohort.Masked, contract.Star)
	must(t, c.federate())
	forged := c.forge(0, alter(of(received, "updates", 3), 0, flip))
	all, cross := c.examined(source("forged", forged), c.source(3))
	wantCheck(t, all[0].Checks, finding.CheckCountersignatures, finding.Failed, "the countersignature is not that of")
	wantCheck(t, cross, finding.CheckCross, finding.Failed, "p0 recorded other bytes")
}

// TestUnsignedLinksAreNoFailure: a client that left has signed nothing, and the report says so.
func TestUnsignedLinksAreNoFailure(t *testing.T) {
	c := newCohorts(t, 5, 2, cohort.Masked, contract.Star)
	c.leaves = map[int]leaving{2: {1, "updates"}}
	c.federate()
	r := c.wantFederation(finding.Disclosed)
	wantCheck(t, r.Checks, finding.CheckCountersignatures, finding.Passed, "a client was gone before the end, or the link is not one between server and client: 7 frames with p2 in session 1")
	for _, check := range r.Checks {
		if check.Name == finding.CheckCross && check.Party == "p1, p3" {
			t.Errorf("parties without a link are compared: %+v", check)
		}
	}
}

// TestEncryptedSumsOpenWithAllShares wants every decryption share that was asked for, once.
func TestEncryptedSumsOpenWithAllShares(t *testing.T) {
	c := newCohorts(t, 4, 2, cohort.HE, contract.Star)
	must(t, c.federate())
	for _, d := range []deviation{
		{"a share is missing", 0, drop(of(received, cohort.KindOpening, 1).ofSum(1)), finding.CheckOperations,
			"2 of 3 decryption shares have come"},
		{"asked twice", 1, twice(of(received, cohort.KindSwitch, 0)), finding.CheckOperations,
			"(sum-switch) received from p0: it comes again in sum 1"},
		{"decrypted twice", 1, twice(of(sent, cohort.KindOpening, 0)), finding.CheckOperations,
			"(sum-opening) sent to p0: it comes again in sum 1"},
		{"ciphertext reused", 0, repeat(of(received, "updates", 1)), finding.CheckCiphertexts, "ciphertext reused: record"},
		{"one total twice", 0, func(all []transcript.Record) []transcript.Record {
			first := slices.IndexFunc(all, func(r transcript.Record) bool { return of(sent, cohort.KindSwitch, 1)(&r) })
			return alter(match(operationOf(cohort.KindSwitch)).ofSum(2), -1,
				func(r *transcript.Record) { r.Proof = all[first].Proof })(all)
		}, finding.CheckCiphertexts, "sum-switch, sent to p1) has the payload of record"},
		{"two totals for decryption", 0, alter(of(sent, cohort.KindSwitch, 3), 0, flip), finding.CheckOperations, "(sum-switch) sent to p3: it is not the same for all that it is sent to in this sum"},
		{"no key", 2, drop(of(received, cohort.KindHEKey, 0)), finding.CheckOperations, "(sum-begin) received from p0: he-key had to pass before it in sum 1"},
	} {
		t.Run(d.name, func(t *testing.T) {
			all, _ := c.examined(source("forged", c.deviate(d.party, d.change)))
			want := verdictOf(d.check)
			if d.check == finding.CheckCiphertexts {
				want = finding.Leak
			}
			wantCheck(t, all[0].Checks, d.check, want, d.detail)
		})
	}
}

// TestLateClientsAreNoFailure: a client's deposit comes when its sum is over, and it takes part in the next.
func TestLateClientsAreNoFailure(t *testing.T) {
	c := cohortsOf(t)
	late := func(r *transcript.Record) bool { return r.Peer == 2 && r.Operation == 1 && r.Kind != "model" }
	text := c.deviate(0, both(copied(of(received, cohort.KindDeposit, 2),
		match(of(received, cohort.KindDeposit, 2)).ofSum(2), unchanged), func(all []transcript.Record) []transcript.Record {
		begun, deposits := false, 0
		return slices.DeleteFunc(all, func(r transcript.Record) bool {
			if !late(&r) || r.Kind == cohort.KindBegin && !begun {
				begun = begun || late(&r)
				return false
			}
			if r.Kind == cohort.KindDeposit {
				deposits++
			}
			return r.Kind != cohort.KindDeposit || deposits == 1
		})
	}))
	all, _ := c.examined(source("late", text))
	wantPassed(t, all[0].Checks)
	if f := all[0].Federation; f.Fewest != 4 || f.Median != 4 || len(f.Dropouts) != 1 ||
		f.Dropouts[0] != (finding.Dropout{Client: "p2", Sums: 1}) {
		t.Errorf("%+v", f)
	}
}

// TestVectorsMayGoToTheServerToo: one that the client above did not pass on goes out a second time, and is no
// mask reused; in another sum it is.
func TestVectorsMayGoToTheServerToo(t *testing.T) {
	c := newCohorts(t, 5, 2, cohort.Masked, contract.Tree)
	must(t, c.federate())
	plan := contract.PlanFor(contract.Tree, 6, 0)
	child := slices.IndexFunc(plan.Parent, func(parent int) bool { return parent > 0 })
	up := of(sent, "updates", plan.Parent[child])
	direct := func(r *transcript.Record) { r.Peer = 0 }
	all, _ := c.examined(source("resent", c.deviate(child, copied(up, of(received, cohort.KindSurvivors, 0), direct))))
	wantPassed(t, all[0].Checks)
	all, _ = c.examined(source("reused", c.deviate(child, copied(up, of(received, cohort.KindSurvivors, 0).ofSum(2),
		func(r *transcript.Record) { r.Peer, r.Operation = 0, 2 }))))
	wantCheck(t, all[0].Checks, finding.CheckMasks, finding.Leak, "(operation 2 of session 1, updates, sent to p0) has the payload of record")
	for _, d := range []deviation{
		{"before the members", child, drop(of(received, cohort.KindMembers, 0)), finding.CheckOperations,
			"sum-members had to pass before it in sum 1"},
		{"twice", child, twice(up), finding.CheckOperations, "it comes again in sum 1"},
		{"another kind", child, alter(of(sent, cohort.KindDeposit, 0),
			0, func(r *transcript.Record) { r.Peer = plan.Parent[child] }), finding.CheckOperations,
			"the contract has it go from clients to their server"},
		{"downwards", plan.Parent[child],
			alter(of(received, "updates", child), 0, func(r *transcript.Record) { r.Type = sent }), finding.CheckOperations,
			"the contract has it go from clients to their server"},
		{"survivors without a vector", child, drop(up), finding.CheckOperations, "vector had to pass before it in sum 1"},
	} {
		t.Run(d.name, func(t *testing.T) {
			all, _ := c.examined(source("forged", c.deviate(d.party, d.change)))
			wantCheck(t, all[0].Checks, d.check, verdictOf(d.check), d.detail)
		})
	}
}
