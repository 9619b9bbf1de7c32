package sealed

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/checkpoint"
	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
)

// TestPointsComeBack as they were told.
func TestPointsComeBack(t *testing.T) {
	want := []point{{stageSums, 7, 1 << 20}, {stageOuter, 1<<32 - 1, 3}, {stageSolved, 2, 0}, {stageSystem, 0, 0}}
	var data []byte
	for _, p := range want {
		data = append(data, p.encode()...)
	}
	got, err := decodePoints(data)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v and error %v, want %v", got, err, want)
	}
}

// TestPointsThatAreNoneAreRefused by what is wrong with them.
func TestPointsThatAreNoneAreRefused(t *testing.T) {
	for _, c := range []struct {
		data []byte
		want string
	}{
		{make([]byte, 8), "8 bytes, want 9 for each of at most 8 points"},
		{make([]byte, 81), "81 bytes, want 9 for each of at most 8 points"},
		{make([]byte, 9), "point [0 0 0 0 0 0 0 0 0] is none"},
		{[]byte{6, 0, 0, 0, 0, 0, 0, 0, 0}, "point [6 0 0 0 0 0 0 0 0] is none"},
	} {
		_, err := decodePoints(c.data)
		wantError(t, err, c.want)
	}
}

// FuzzPoints: whatever decodes is written as it came.
func FuzzPoints(f *testing.F) {
	f.Add(point{stageOuter, 3, 4}.encode())
	f.Add([]byte("012345678"))
	f.Fuzz(func(t *testing.T, data []byte) {
		points, err := decodePoints(data)
		if err != nil {
			return
		}
		var again []byte
		for _, p := range points {
			again = append(again, p.encode()...)
		}
		if string(again) != string(data) {
			t.Errorf("%x came back as %x", data, again)
		}
	})
}

// FuzzState: a checkpoint of any bytes is read or refused, and its vectors have the lengths asked for.
func FuzzState(f *testing.F) {
	good, err := checkpoint.Encode(&state{Version: stateVersion, Stage: stageSteps, Number: 2,
		Words: [][]byte{make([]byte, 16), make([]byte, 16)}})
	must(f, err)
	f.Add(good)
	f.Add([]byte{0xa0})
	f.Fuzz(func(t *testing.T, data []byte) {
		v := newVault()
		v.files["x"] = data
		tr := newParts(&setting{Party: &Party{Party: &fdskl.Party{Vault: v}}})
		s, err := tr.checkpoints.load("x")
		if err != nil || s == nil {
			return
		}
		if list, err := s.shares(2); err == nil && (len(list) != 1 || list[0].Len() != 2 || len(list[0].Y) != 2) {
			t.Errorf("shares of 2 words are %v", list)
		}
	})
}

// TestSpoiltCheckpointsAreRefused by what is wrong with them.
func TestSpoiltCheckpointsAreRefused(t *testing.T) {
	for _, c := range []struct {
		spoil func(s *state)
		want  string
	}{
		{func(s *state) {}, "<nil>"},
		{func(s *state) { s.Version = 1 }, "checkpoint x: "},
		{func(s *state) { s.Stage = 9 }, "checkpoint x: its numbers are out of range"},
		{func(s *state) { s.Number = -1 }, "checkpoint x: its numbers are out of range"},
		{func(s *state) { s.Intercepts = []float64{0, math.Inf(1)} }, "checkpoint x: its numbers are out of range"},
		{func(s *state) { s.Reach = math.NaN() }, "checkpoint x: its numbers are out of range"},
		{func(s *state) { s.Words = s.Words[:1] }, "checkpoint of steps 2: 1 vectors, want 2"},
		{func(s *state) { s.Words[1] = make([]byte, 15) }, "checkpoint of steps 2: vector 2 has 15 bytes, want 16"},
	} {
		s := state{Version: stateVersion, Stage: stageSteps, Number: 2, Words: [][]byte{make([]byte, 16), make([]byte, 16)}}
		c.spoil(&s)
		data, err := checkpoint.Encode(&s)
		must(t, err)
		v := newVault()
		v.files["x"] = data
		tr := newParts(&setting{Party: &Party{Party: &fdskl.Party{Vault: v}}})
		got, err := tr.checkpoints.load("x")
		if err == nil {
			_, err = got.shares(2)
		}
		if !strings.HasPrefix(fmt.Sprint(err), c.want) {
			wantError(t, err, c.want)
		}
	}
}

// TestASpoiltFileStopsTheJob: nobody goes on from bytes that are no checkpoint, and the owner is told which file it is.
func TestASpoiltFileStopsTheJob(t *testing.T) {
	f := newFixture(t, 3, 20, fdskl.Params{Features: 4, Iterations: 2, Sigma: 1})
	testNetwork := f.testNetwork(t)
	f.vaults[1].files[stageSystem.file(0)] = []byte("spoilt")
	errs := testNetwork.run(func(ctx context.Context, i int, n joint.SealedNetwork) error {
		_, err := Train(ctx, f.party(i, n, 1))
		return err
	})
	if got := fmt.Sprint(errs[1]); !strings.HasPrefix(got, "checkpoint sealed-system: ") {
		t.Errorf("error is %s", got)
	}
}
