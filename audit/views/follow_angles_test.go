package views

import (
	"encoding/binary"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/trace"
	"github.com/hanse-project/hanse/audit/attack"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// TestMoreBatchesThanIterationsAreRefused: they do not make features that no party has drawn.
func TestMoreBatchesThanIterationsAreRefused(t *testing.T) {
	names := []string{"p0", "p1", "p2", "p3"}
	params := fdskl.Params{Schedule: fdskl.DoublyStochastic, Iterations: 4, Batch: 64, BlockFeatures: 4,
		Active: names[:1]}.WithDefaults()
	x := &follower{params: params, clock: newClock(100), active: newView(0, ViewActive, nil),
		layout: fdskl.Follow(fdskl.Outline{Params: params, Privacy: fdskl.Masked, Parties: names, Rows: 100})}
	defer x.layout.Close()
	if err := x.layout.Broadcast(fdskl.KindResumePoint, make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	batch := binary.LittleEndian.AppendUint32(nil, 7)
	for n := 1; n <= 4; n++ {
		if err := x.layout.Broadcast(fdskl.KindBatch, batch); err != nil {
			t.Fatal(err)
		}
		x.begin(&transcript.Record{Number: uint64(n), Kind: fdskl.KindAngles, Encoding: contract.Turns16, Size: 8})
		if x.broken != nil || len(x.angles.Angles) != 4 || x.angles.Angles[0] != (trace.Angle{Row: 7, Frequency: 4*n - 4}) {
			t.Fatalf("batch %d: %+v, %v", n, x.angles, x.broken)
		}
	}
	if err := x.layout.Broadcast(fdskl.KindBatch, batch); err == nil ||
		err.Error() != `"batch" was told where nothing is due any more` {
		t.Errorf("batch 5: %v", err)
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
