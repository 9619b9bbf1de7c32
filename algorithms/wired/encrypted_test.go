package wired

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/secagg/he"
)

// TestTheBudgetOfEncryptedSumsIsEnough for any sizes that make up the agreed number of words, and not much
// more than that.
func TestTheBudgetOfEncryptedSumsIsEnough(t *testing.T) {
	p, err := newPackings(4)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.OneOf(rapid.IntRange(0, 3*he.Degree), rapid.IntRange(0, 300*he.Degree)), 1, 12).Draw(t,
			"sizes")
		packing := rapid.SampledFrom([]*he.Packing{p.turns, p.reals}).Draw(t, "packing")
		var words int64
		sent := make(map[string]he.Line)
		for _, n := range sizes {
			words += int64(n)
			for _, l := range packing.Cost("angles", n, 1) {
				have := sent[l.Kind]
				sent[l.Kind] = he.Line{Count: have.Count + l.Count, Bytes: have.Bytes + l.Bytes}
			}
		}
		for i, l := range costOf(packing, "angles", words, int64(len(sizes))) {
			if have := sent[l.Kind]; have.Count > l.Count || have.Bytes > l.Bytes {
				t.Errorf("%s: %d operations of %d bytes are needed, %d of %d are agreed", l.Kind, have.Count, have.Bytes, l.Count,
					l.Bytes)
			}
			if most := sent[l.Kind].Bytes + int64(len(sizes)*packing.Residues()*he.CiphertextSize); i == 0 && l.Bytes > most {
				t.Errorf("%d bytes are agreed for %d", l.Bytes, sent[l.Kind].Bytes)
			}
		}
	})
}

func TestASumOfOneSizeHasExactlyItsBudget(t *testing.T) {
	p, err := newPackings(3)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, he.Degree - 1, he.Degree, he.Degree + 1, 200*he.Degree + 7} {
		got, want := costOf(p.turns, "angles", int64(n), 1), p.turns.Cost("angles", n, 1)
		if got[0] != want[0] || got[2] != want[2] {
			t.Errorf("one sum of %d words is budgeted %+v, want %+v", n, got, want)
		}
	}
}
