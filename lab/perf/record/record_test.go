package record

import (
	"bytes"
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/lab/labtest"
	"github.com/hanse-project/hanse/lab/sets"
	"github.com/hanse-project/hanse/protocol/contract"
)

// tinyRecordSet writes a small set and returns how it is trained on.
func tinyRecordSet(t *testing.T) *sets.Benchmark {
	t.Helper()
	dir := t.TempDir()
	labtest.WriteTinySet(t, filepath.Join(dir, "phishing.gz"))
	sets, err := sets.Choose([]string{"phishing"}, dir)
	if err != nil {
		t.Fatal(err)
	}
	sets[0].Features = 32
	return &sets[0]
}

func TestRecordTableHasALineForEachWay(t *testing.T) {
	r := Report{Machine: "a machine", Set: "a9a", Rows: 7, Features: 9, Parties: 4, Repeat: 1, Ways: []Way{
		{Record: recordNothing, Seconds: 2, Ratio: 1, Ratios: []float64{1}},
		{Record: contract.RecordFull, Seconds: 3, Ratio: 1.5, Ratios: []float64{1.5}, CPUSeconds: 4, CPURatio: 1.25,
			Frames: 10, TranscriptBytes: 2000, BytesPerFrame: 200, HashedBytes: 3e9, KeptBytes: 4e6},
	}}
	var b bytes.Buffer
	if err := r.Print(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"a9a, 7 rows, 9 features, 4 parties in one process; medians of 1 rounds",
		"| nothing  |   2.000 |      1.000 | 1.000 | 1.000 |       |            |        |                |             |           |         |",
		"| full     |   3.000 |      1.500 | 1.500 | 1.500 |  4.00 |      1.250 |     10 |            2.0 |       200.0 |     3.000 |     4.0 |",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("got\n%s\nwant the line %s", b.String(), want)
		}
	}
}

func TestSixRoundsHaveAllOrders(t *testing.T) {
	seen := make(map[string]bool)
	for i := range 12 {
		order := recordOrder(i)
		seen[strings.Join(order, " ")] = true
		slices.Sort(order)
		if want := slices.Sorted(slices.Values(recordWays())); !slices.Equal(order, want) {
			t.Errorf("round %d trains %v, want each of %v once", i, order, want)
		}
		if i == 5 && len(seen) != 6 {
			t.Errorf("six rounds have %d orders, want 6", len(seen))
		}
	}
	if len(seen) != 6 {
		t.Errorf("%d orders, want 6", len(seen))
	}
}

func TestRatiosAreOfTheSameRound(t *testing.T) {
	round := func(nothing, digests, full float64) map[string]recorded {
		return map[string]recorded{recordNothing: {seconds: nothing, cpu: 2 * nothing},
			contract.RecordDigests: {seconds: digests, cpu: 4 * nothing, frames: 10,
				transcript: 2112}, contract.RecordFull: {seconds: full, frames: 10, transcript: 2112, kept: 5}}
	}
	ways := compareRecords([]map[string]recorded{round(1, 1.1, 2), round(10, 10, 15), round(2, 2.4, 2)})
	for i, want := range []struct{ seconds, ratio, cpu, perFrame float64 }{{2, 1, 1, 0}, {2.4, 1.1, 2, 211.2},
		{2, 1.5, 0, 211.2}} {
		w := ways[i]
		if w.Record != recordWays()[i] || w.Seconds != want.seconds || math.Abs(w.Ratio-want.ratio) > 1e-12 ||
			w.CPURatio != want.cpu || w.BytesPerFrame != want.perFrame {
			t.Errorf("got %+v, want %+v", w, want)
		}
	}
}

func TestThePartyThatFailsIsNamedAndStopsTheOthers(t *testing.T) {
	l := &recordNetwork{recordJob: &recordJob{names: []string{"bank", "insurer", "telco"}}}
	err := l.together(t.Context(), func(ctx context.Context, i int) error {
		if i == 1 {
			return errors.New("the disk is full")
		}
		<-ctx.Done()
		return ctx.Err()
	})
	if err == nil || err.Error() != "insurer: the disk is full" {
		t.Errorf("error is %v, want insurer's", err)
	}
}

func TestAFailedRoundLeavesTheNetworkUsable(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	l, err := openRecordNetwork(t.Context(), tinyRecordSet(t), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.close(); err != nil {
			t.Error(err)
		}
	}()
	whole := l.parts[2].Rows
	l.parts[2].Rows = &kernel.Matrix{Rows: 7}
	_, err = l.round(t.Context(), contract.RecordFull)
	if want := "telco: telco has columns of 7 rows, want 90"; err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
	l.parts[2].Rows = whole
	if _, err := l.round(t.Context(), contract.RecordFull); err != nil {
		t.Errorf("the round after a failed one: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.round(ctx, recordNothing); !errors.Is(err, context.Canceled) {
		t.Errorf("error of an interrupted round is %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(l.dir, "round-*")); len(left) > 0 {
		t.Errorf("rounds left %v behind", left)
	}
}
