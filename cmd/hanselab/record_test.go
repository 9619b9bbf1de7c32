package main

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
	"github.com/hanse-project/hanse/protocol"
)

// tinyRecordSet writes a small set and returns how it is trained on.
func tinyRecordSet(t *testing.T) *benchmarkSet {
	t.Helper()
	dir := t.TempDir()
	writeTinySet(t, filepath.Join(dir, "phishing.gz"))
	sets, err := chooseSets([]string{"phishing"}, dir)
	if err != nil {
		t.Fatal(err)
	}
	sets[0].features = 32
	return &sets[0]
}

func TestRecordComparesThreeWaysToTrain(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	set := tinyRecordSet(t)
	var r recordReport
	lab(t, &r, "record", "--data", filepath.Dir(set.files[0]), "--set", "phishing", "--features", "32", "--repeat", "2", "--json")
	if r.Rows != 90 || r.Features != 32 || r.Parties != 4 || len(r.Ways) != 3 {
		t.Fatalf("got %+v", r)
	}
	nothing, digests, full := r.Ways[0], r.Ways[1], r.Ways[2]
	if nothing.Ratio != 1 || nothing.Frames != 0 || nothing.TranscriptBytes != 0 || nothing.Seconds <= 0 {
		t.Errorf("without transcripts: %+v", nothing)
	}
	for _, w := range []recordWay{digests, full} {
		if w.Frames%2 != 0 || w.TranscriptBytes < 160*w.Frames || w.HashedBytes < 3*90*32*2 || len(w.Ratios) != 2 || w.Ratio <= 0 {
			t.Errorf("%s: %+v, want each frame at both its ends, a block for each, and all angles hashed", w.Record, w)
		}
	}
	if digests.Frames != full.Frames || digests.HashedBytes >= full.HashedBytes { // openings are hashed for the store
		t.Errorf("frames and bytes of the same training differ: %+v and %+v", digests, full)
	}
	if digests.KeptBytes != 0 || full.KeptBytes < 3*90*32*2 || full.KeptBytes > full.HashedBytes {
		t.Errorf("kept %d bytes with digests and %d in full, of %d hashed", digests.KeptBytes, full.KeptBytes, full.HashedBytes)
	}
}

func TestRecordTableHasALineForEachWay(t *testing.T) {
	r := recordReport{Machine: "a machine", Set: "a9a", Rows: 7, Features: 9, Parties: 4, Repeat: 1, Ways: []recordWay{
		{Record: recordNothing, Seconds: 2, Ratio: 1, Ratios: []float64{1}},
		{Record: protocol.RecordFull, Seconds: 3, Ratio: 1.5, Ratios: []float64{1.5}, CPUSeconds: 4, CPURatio: 1.25, Frames: 10, TranscriptBytes: 2000, BytesPerFrame: 200, HashedBytes: 3e9, KeptBytes: 4e6},
	}}
	var b bytes.Buffer
	if err := r.print(&b, false); err != nil {
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
			protocol.RecordDigests: {seconds: digests, cpu: 4 * nothing, frames: 10, transcript: 2112}, protocol.RecordFull: {seconds: full, frames: 10, transcript: 2112, kept: 5}}
	}
	ways := compareRecords([]map[string]recorded{round(1, 1.1, 2), round(10, 10, 15), round(2, 2.4, 2)})
	for i, want := range []struct{ seconds, ratio, cpu, perFrame float64 }{{2, 1, 1, 0}, {2.4, 1.1, 2, 211.2}, {2, 1.5, 0, 211.2}} {
		w := ways[i]
		if w.Record != recordWays()[i] || w.Seconds != want.seconds || math.Abs(w.Ratio-want.ratio) > 1e-12 || w.CPURatio != want.cpu || w.BytesPerFrame != want.perFrame {
			t.Errorf("got %+v, want %+v", w, want)
		}
	}
}

func TestProcessorSecondsOfAnyName(t *testing.T) {
	const times = " S 1 2 3 4 5 6 7 8 9 10 150 25 0 0"
	for stat, want := range map[string]float64{
		"17 (hanselab)" + times: 1.75, "17 (a) S 9 (b)" + times: 1.75, "17 (hanselab) S 1 2": 0, "": 0,
		"17 (hanselab) S 1 2 3 4 5 6 7 8 9 10 x 25": 0, "17 (hanselab) S 1 2 3 4 5 6 7 8 9 10 25 -1": 0,
	} {
		if got := cpuSeconds(stat); got != want {
			t.Errorf("cpuSeconds(%q) = %v, want %v", stat, got, want)
		}
	}
}

func TestThePartyThatFailsIsNamedAndStopsTheOthers(t *testing.T) {
	l := &recordLeague{recordJob: &recordJob{names: []string{"bank", "insurer", "telco"}}}
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

func TestAFailedRoundLeavesTheLeagueUsable(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	l, err := openRecordLeague(t.Context(), tinyRecordSet(t), t.TempDir())
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
	_, err = l.round(t.Context(), protocol.RecordFull)
	if want := "telco: telco has columns of 7 rows, want 90"; err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
	l.parts[2].Rows = whole
	if _, err := l.round(t.Context(), protocol.RecordFull); err != nil {
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

func TestWrongRecordCommandLines(t *testing.T) {
	empty := t.TempDir()
	for _, c := range []struct{ args, want string }{
		{"--set adult", `there is no set "adult"; there are a9a, defaultcredit, phishing, w8a, ijcnn1`},
		{"--repeat 0", "--repeat is 0 and --features 0, want at least 1, and none or a positive number"},
		{"--features -3", "--repeat is 7 and --features -3, want at least 1, and none or a positive number"},
		{"--set w8a", `the set "w8a" is not here`},
	} {
		var out, said bytes.Buffer
		code := run(t.Context(), append([]string{"hanselab", "record", "--data", empty}, strings.Fields(c.args)...), nil, &out, &said)
		if code != 1 || !strings.Contains(said.String(), c.want) || out.Len() > 0 {
			t.Errorf("record %s: code %d, says %q, want %q", c.args, code, said.String(), c.want)
		}
	}
}
