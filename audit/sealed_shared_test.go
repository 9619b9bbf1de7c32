package audit

import (
	"testing"

	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// TestDeviationsFromWhatAllShareAreFound plants, in the transcripts of a sealed job whose helper p2 has no data, what a
// party would record that leaves out a comparison or goes on after one that failed.
func TestDeviationsFromWhatAllShareAreFound(t *testing.T) {
	t.Parallel()
	f := newThrees(t, 200, 2, few())
	must(t, f.learn(-1, 0, nil))
	in := f.input()
	in.Columns = nil
	for _, c := range failedOf(f.audited(in).Checks) {
		t.Errorf("without a deviation: %+v", c)
	}
	other := func(r *transcript.Record) { r.Proof[0] ^= 1 }
	for _, c := range []struct {
		name  string
		who   int
		edit  edit
		check string
		want  string
	}{
		{"row ids not compared", 1, drop(operationOf(contract.KindRowset)), finding.CheckOperations,
			"before the parties have compared their row ids"},
		{"one code of row ids missing", 0, drop(of(received, contract.KindRowset, 3)), finding.CheckOperations,
			"(rowset, from record "},
		{"codes of row ids twice", 0, twice(of(sent, contract.KindRowset, 1)), finding.CheckOperations,
			"(rowset): sent to p1 where sent to p3 was next"},
		{"a code of row ids to the helper", 0, alter(of(sent, contract.KindRowset, 3), 0,
			func(r *transcript.Record) { r.Peer = 2 }), finding.CheckOperations,
			"(rowset): sent to p2 where sent to p3 was next"},
		{"other values told, and it goes on", 3,
			alter(of(received, contract.KindShared, 0), 0, other), finding.CheckOperations,
			"(shared): it is another digest of what was broadcast than was sent, and the session goes on"},
		{"other values told at the end", 3, alter(of(received, contract.KindDone, 0), 0, other), finding.CheckOperations,
			"(done): it is another digest of what was broadcast than was sent"},
		{"nobody compared who is ready", 1, drop(operationOf(contract.KindShared)), finding.CheckOpenings,
			"before the parties have compared that they were told the same"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := f.input()
			in.Columns = nil
			in.Sources = []evidence.Source{source("forged", f.deviate(c.who, c.edit))}
			r := f.audited(in)
			wantCheck(t, r.Checks, c.check, finding.Failed, c.want)
		})
	}
}

// failedOf returns the checks that did not pass.
func failedOf(checks []finding.Check) (failed []finding.Check) {
	for _, c := range checks {
		if c.Verdict == finding.Failed {
			failed = append(failed, c)
		}
	}
	return failed
}
