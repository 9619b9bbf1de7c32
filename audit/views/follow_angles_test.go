package views

import (
	"encoding/binary"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/audit/attack"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// More batches than the job has iterations do not make features that no party has drawn.
func TestFeaturesBeyondTheJobsAreRefused(t *testing.T) {
	names := []string{"p0", "p1", "p2", "p3"}
	params := fdskl.Params{Schedule: fdskl.DoublyStochastic, Iterations: 4, Batch: 64, BlockFeatures: 4,
		Active: names[:1]}.WithDefaults()
	x := &follower{params: params, clock: newClock(100), active: newView(0, ViewActive, nil),
		layout: fdskl.NewLayout(params, fdskl.Masked, names, 100)}
	batch := binary.LittleEndian.AppendUint32(nil, 7)
	for n := 1; n <= 5; n++ {
		if err := x.layout.Broadcast("batch", batch); err != nil {
			t.Fatal(err)
		}
		x.begin(&transcript.Record{Number: uint64(n), Encoding: contract.Turns16, Size: 8})
		if want := n > 4; (x.broken != nil) != want {
			t.Fatalf("batch %d: %v", n, x.broken)
		}
	}
	if want := "record 5: angles of more than the job's 16 frequencies"; x.blind.Error() != want {
		t.Errorf("%q, want %q", x.blind, want)
	}
}

// TestAFewLuckyRowsAreNoGain: of a single column a guess comes within 1 % of the range now and then.
func TestAFewLuckyRowsAreNoGain(t *testing.T) {
	for _, c := range []struct {
		share, control, solved float64
		rows                   int
		want                   bool
	}{
		{0.03, 0, 0, 100, false}, {0.3, 0, 0, 100, true}, {1, 0, 0, 60, true}, {0.012, 0, 0, 4096, true},
		{0.009, 0, 0, 4096, false},
		{0.33, 0.3, 0, 400, false}, {0, 0, 0.02, 100, true}, {0, 0, 0, 2, false},
	} {
		r := &attack.Recovery{RecoveredShare: c.share, ControlShare: c.control, Solved: c.solved, Rows: c.rows}
		if gained(r) != c.want {
			t.Errorf("%+v: gained is %v", c, !c.want)
		}
	}
}
