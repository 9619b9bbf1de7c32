package views

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/algorithms/trace"
	"github.com/hanse-project/hanse/protocol/contract"
)

func reals(list ...float64) []byte {
	var b []byte
	for _, v := range list {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return b
}

func TestWordsAreReadAsTurns(t *testing.T) {
	for _, c := range []struct {
		encoding contract.Encoding
		word     []byte
		want     float64
	}{
		{contract.Turns16, []byte{0, 0x40}, 0.25},
		{contract.Turns32, []byte{0, 0, 0, 0x80}, 0.5},
		{contract.Fixed64, []byte{0, 0, 0, 0, 0, 0, 0, 0xc0}, 0.75},
		{contract.Float64, reals(-3 * math.Pi), -1.5},
	} {
		if got := turns(c.encoding, c.word); got != c.want {
			t.Errorf("%s: %v, want %v", c.encoding, got, c.want)
		}
	}
}

// What is no angle leaves a hole, so that no attack computes with it.
func TestRealsThatAreNoAnglesAreHoles(t *testing.T) {
	s := newView(0, ViewActive, []int{0, 1, 2, 3, 4})
	var angles []trace.Angle
	for j := range 5 {
		angles = append(angles, trace.Angle{Row: j})
	}
	s.add(angles, ownTotal, nil, contract.Float64, reals(1, math.NaN(), math.Inf(-1), 1e300, 2))
	if _, rows := s.whole(); len(s.values) != 1 || len(rows) != 2 {
		t.Errorf("%v, whole rows %v", s.values, rows)
	}
	for k, want := range []bool{false, true, true, true, false} {
		if math.IsNaN(s.values[0][k]) != want {
			t.Errorf("row %d is %v", k, s.values[0][k])
		}
	}
}

func TestWordsOfAnotherEncodingAreLeftOut(t *testing.T) {
	s := newView(0, ViewActive, []int{0})
	angles := []trace.Angle{{Row: 0, Frequency: 0}, {Row: 0, Frequency: 1}}
	s.add(angles, ownTotal, nil, contract.Turns16, []byte{1, 2, 3, 4})
	s.add(angles, ownTotal, nil, contract.Float64, reals(1, 2))
	if s.exact || s.values[1][0] != float64(0x0403)/(1<<16) {
		t.Errorf("exact %v, values %v", s.exact, s.values)
	}
}

func TestEquationsHaveABound(t *testing.T) {
	s := newView(0, ViewParent, []int{0})
	s.most = 3
	for child := range 2 {
		for feature := range 10 {
			s.add([]trace.Angle{{Row: 0, Frequency: feature}}, child, []int{child}, contract.Turns16, []byte{1, 1})
		}
	}
	if len(s.system) != 6 || s.seen[0] != 3 || s.seen[1] != 3 {
		t.Errorf("%d equations, %v", len(s.system), s.seen)
	}
}

// The oracle looks at all cells one by one.
func TestViewKeepsWhatWasAddedLast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOfNDistinct(rapid.IntRange(0, 9), 1, 6, rapid.ID[int]).Draw(t, "rows")
		slices.Sort(rows)
		s := newView(0, ViewParent, rows)
		want := make(map[[3]int]float64)
		for range rapid.IntRange(1, 30).Draw(t, "adds") {
			child, row, feature := rapid.IntRange(0, 2).Draw(t, "child"), rapid.IntRange(0, 9).Draw(t, "row"),
				rapid.IntRange(0, 3).Draw(t, "feature")
			word := rapid.Uint16().Draw(t, "word")
			s.add([]trace.Angle{{Row: row, Frequency: feature}}, child, []int{child}, contract.Turns16,
				binary.LittleEndian.AppendUint16(nil, word))
			want[[3]int{child, row, feature}] = float64(word) / (1 << 16)
		}
		parts := []*partyView{s}
		for _, child := range s.children() {
			parts = append(parts, s.only(child))
		}
		for _, p := range parts {
			for i, e := range p.system {
				for k, j := range rows {
					v, ok := want[[3]int{e.child, j, e.frequency}]
					if got := p.values[i][k]; ok != !math.IsNaN(got) || ok && got != v {
						t.Fatalf("child %d, row %d, feature %d is %v, want %v, %v", e.child, j, e.frequency, got, v, ok)
					}
				}
			}
		}
	})
}

// A part that ends inside a word, or has more words than angles, is read as far as it goes.
func TestViewReadsNoFurtherThanItsWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		encoding := rapid.SampledFrom([]contract.Encoding{contract.Turns16, contract.Turns32, contract.Fixed64,
			contract.Float64}).Draw(t, "encoding")
		words := rapid.SliceOfN(rapid.Byte(), 0, 60).Draw(t, "words")
		angles := make([]trace.Angle, rapid.IntRange(0, 10).Draw(t, "angles"))
		for i := range angles {
			angles[i].Frequency = i
		}
		s := newView(0, ViewActive, []int{0})
		s.add(angles, ownTotal, nil, encoding, words)
		if want := min(len(angles), len(words)/encoding.WordSize()); len(s.system) != want {
			t.Fatalf("%d equations, want %d", len(s.system), want)
		}
	})
}
