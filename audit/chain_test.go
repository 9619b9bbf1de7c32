package audit

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/internal/testnet/drawn"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
	"github.com/hanse-project/hanse/secagg/cohort"
)

// newChain is a test network of four that came to the end of a job in its third session.
func newChain(t testing.TB) *testNetwork {
	t.Helper()
	l := newTestNetwork(t, 4)
	l.agree(contract.Job{Privacy: "masked"}, 1, nil, []contract.Operation{
		{Kind: "angles", Stage: 1, Collective: "sum", Root: "p0", Class: "masked", Encoding: "turns16",
			Count: 3, Bytes: 3 * 256},
	})
	failed := errors.New("the disk is full")
	for session := range 3 {
		errs := l.run(func(ctx context.Context, i int, s *protocol.Session) error {
			for range 3 {
				if err := s.Reduce(ctx, noise("angles", contract.Turns16, 0, 256)); err != nil {
					return err
				}
			}
			if session < 2 && i == 2 {
				return failed
			}
			return nil
		})
		if session == 2 {
			must(t, errs)
		}
	}
	return l
}

// ofSession selects the records of a session.
func ofSession(number uint32) match {
	return func(r *transcript.Record) bool { return r.Session == number }
}

// unclean reports whether something of a list of checks is not passed, and whether something failed.
func unclean(checks []finding.Check) (not, failed bool) {
	for _, c := range checks {
		not, failed = not || c.Verdict != finding.Passed, failed || c.Verdict == finding.Failed
	}
	return not, failed
}

// TestWholeSessionsCannotBeTakenOut has a party take sessions out of its own transcript: it numbers and chains the
// records anew, signs its seals again and states of its past and links what is left.
func TestWholeSessionsCannotBeTakenOut(t *testing.T) {
	l := chainOf(t)
	all, cross := l.examined(l.sources()...)
	wantPassed(t, checksOf(all, cross))
	for name, c := range map[string]struct {
		change edit
		alone  bool // the transcript shows it by itself
	}{
		"first":          {drop(ofSession(1)), true},
		"middle":         {drop(ofSession(2)), true},
		"first two":      {drop(func(r *transcript.Record) bool { return r.Session < 3 }), true},
		"last":           {drop(ofSession(3)), false},
		"last two":       {drop(func(r *transcript.Record) bool { return r.Session > 1 }), false},
		"number skipped": {alter(ofSession(3), -1, func(r *transcript.Record) { r.Session = 4 }), true},
		"middle in place": {both(drop(ofSession(2)), alter(ofSession(3), -1, func(r *transcript.Record) { r.Session = 2 })),
			true},
	} {
		t.Run(name, func(t *testing.T) {
			forged := source("forged", l.forge(1, c.change))
			all, _ := l.examined(forged)
			not, failed := unclean(all[0].Checks)
			if !not || failed != c.alone {
				t.Errorf("alone: not clean %v, failed %v", not, failed)
			}
			_, cross := l.examined(forged, l.source(0))
			if _, failed := unclean(cross); !failed {
				t.Errorf("beside p0's: %+v", cross)
			}
		})
	}
}

// TestTheTruthAboutThePastIsUnderSignature: the same party leaves what it has stated as it was.
func TestTheTruthAboutThePastIsUnderSignature(t *testing.T) {
	l := chainOf(t)
	text := l.rewriteStated(1, drop(ofSession(2)))
	all, _ := l.examined(source("forged", text))
	wantCheck(t, all[0].Checks, finding.CheckSequence, finding.Failed, "what the party has stated of the sessions before is not what the transcript has of them")
	text = l.rewriteStated(1, drop(func(r *transcript.Record) bool { return of(sent, "angles", 0)(r) && r.Session == 3 }))
	all, _ = l.examined(source("forged", text))
	wantCheck(t, all[0].Checks, finding.CheckSequence, finding.Failed, "what the party has stated of its links is not what the transcript has of them")
}

// TestTwoWhoColludeCannotTakeASessionOut: p2 and p3 sign for each other whatever they like. p0 and p1 have signed what
// all stated, also of the link between those two.
func TestTwoWhoColludeCannotTakeASessionOut(t *testing.T) {
	l := chainOf(t)
	for name, change := range map[string]edit{
		"a session": drop(ofSession(2)),
		"what passed between two": drop(func(r *transcript.Record) bool {
			return r.Session == 3 && r.Kind == "angles" && r.Operation == 4 && r.Type.Frame() && r.Peer >= 2
		}),
		"what one had stated": alter(func(r *transcript.Record) bool {
			return r.Session == 3 && r.Kind == contract.KindStates && r.Type == received && r.Peer >= 2 && r.Operation > 1
		}, -1, flip),
	} {
		for _, party := range []int{2, 3} {
			all, cross := l.examined(source("forged", l.collude(party, change, 2, 3)), l.source(1))
			wantCheck(t, all[0].Checks, finding.CheckCountersignatures, finding.Failed, "the countersignature is not that of")
			if _, failed := unclean(cross); !failed && name != "what one had stated" { // that went to them alone
				t.Errorf("%s: p%d beside p1: %+v", name, party, cross)
			}
		}
	}
}

// TestATranscriptCutAtAnyRecordIsNotClean cuts the end off, record by record (make test: every fifth), also inside one.
func TestATranscriptCutAtAnyRecordIsNotClean(t *testing.T) {
	l := chainOf(t)
	text := l.text(1)
	records, signed := 0, 0
	step := 5 // records between two cuts
	if drawn.All {
		step = 1
	}
	for n := transcript.BlockSize; n < len(text); n += step * transcript.BlockSize {
		for _, at := range []int{n, n + 7} {
			records++
			all, cross := l.examined(source("cut", text[:at]), l.source(0))
			if not, _ := unclean(all[0].Checks); !not {
				t.Errorf("cut at record %d: clean by itself", n/transcript.BlockSize)
			}
			if _, failed := unclean(cross); failed {
				if signed++; !strings.Contains(cross[0].Detail, "p1 cannot show ") {
					t.Errorf("cut at record %d: %s", n/transcript.BlockSize, cross[0].Detail)
				}
			}
		}
	}
	if signed < records*9/10 {
		t.Errorf("of %d cuts %d took out what p1 had signed", records, signed)
	}
}

// TestPayloadsThatAreGoneAreFound removes one that no attack asks for, and all.
func TestPayloadsThatAreGoneAreFound(t *testing.T) {
	tr := newTraining(t, 4, 1, fdskl.Masked, contract.Tree, trainings()["fixed"])
	tr.keep()
	must(t, tr.train(-1, 0, nil))
	run := func(s evidence.Source) []finding.Check {
		r, err := Run(t.Context(), &evidence.Input{Contract: tr.contract, Sources: []evidence.Source{s}})
		mustDo(t, err)
		return r.Checks
	}
	wantCheck(t, run(tr.source(0)), finding.CheckPayloads, finding.Passed, "")
	records := tr.records(0)
	key := records[slices.IndexFunc(records,
		func(r transcript.Record) bool { return of(received, contract.KindSessionKey, 2)(&r) })].Sum()
	one, none := tr.source(0), tr.source(0)
	one.Payload = func(sum [32]byte) ([]byte, error) {
		if sum == key {
			return nil, errors.New("it is not there")
		}
		return tr.stores[0].Get(sum)
	}
	none.Payload = nil
	wantCheck(t, run(one), finding.CheckPayloads, finding.Failed, "that the transcript says were kept are missing or were changed, the first: record ")
	wantCheck(t, run(none), finding.CheckPayloads, finding.Skipped, "the payloads that the transcript says were kept are not beside it")
}

// TestOneTranscriptAloneNeverProvesThatNothingFollows, and the report says so.
func TestOneTranscriptAloneNeverProvesThatNothingFollows(t *testing.T) {
	l := chainOf(t)
	for n, sources := range [][]evidence.Source{{l.source(1)}, {l.source(1), l.source(0)}} {
		r, err := Run(t.Context(), &evidence.Input{Contract: l.contract, Sources: sources})
		mustDo(t, err)
		said := slices.ContainsFunc(r.Unchecked,
			func(s string) bool { return strings.Contains(s, "one transcript alone never proves") })
		if said != (n == 0) {
			t.Errorf("%d transcripts: %q", n+1, r.Unchecked)
		}
	}
}

// TestAClientThatTookASessionOutIsLeftOut, by a server that goes on with the others; a client that was lost and comes
// back is not.
func TestAClientThatTookASessionOutIsLeftOut(t *testing.T) {
	c := newCohorts(t, 5, 1, cohort.Masked, contract.Star)
	c.leaves = map[int]leaving{4: {1, "updates"}}
	c.federate()
	c.leaves = nil
	must(t, c.federate())
	must(t, c.federate())
	mustDo(t, os.WriteFile(c.path(2), c.forge(2, drop(ofSession(2))), 0o600))
	for i, err := range c.federate() {
		if (err != nil) != (i == 2) {
			t.Errorf("p%d: %v", i, err)
		}
	}
	all, cross := c.examined(c.source(2), c.source(0))
	if _, failed := unclean(all[0].Checks); !failed {
		t.Errorf("by itself: %+v", all[0].Checks)
	}
	if _, failed := unclean(cross); !failed {
		t.Errorf("beside the server's: %+v", cross)
	}
}

// TestAClientThatCutItsLastSessionOffIsLeftOut at once: the server has its signature.
func TestAClientThatCutItsLastSessionOffIsLeftOut(t *testing.T) {
	c := newCohorts(t, 5, 1, cohort.Masked, contract.Star)
	must(t, c.federate())
	must(t, c.federate())
	mustDo(t, os.WriteFile(c.path(2), c.forge(2, drop(ofSession(2))), 0o600))
	for i, err := range c.federate() {
		if (err != nil) != (i == 2) {
			t.Errorf("p%d: %v", i, err)
		}
	}
}
