package kernel

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"testing"
)

func TestTableIsAccurate(t *testing.T) {
	table := NewTable()
	for k, got := range table.cos {
		want := math.Sqrt2 * math.Cos(2*math.Pi*float64(k)/circle)
		if math.Abs(float64(got)-want) > 0x1p-24*math.Abs(want)+1e-15 {
			t.Fatalf("entry %d is %v, want %v", k, got, want)
		}
	}
}

func TestTableIsSymmetric(t *testing.T) {
	table := NewTable()
	for k := range circle {
		v := table.cos[k]
		if table.cos[(circle-k)%circle] != v || table.cos[(k+circle/2)%circle] != -v {
			t.Fatalf("entry %d breaks a symmetry", k)
		}
	}
	if table.cos[circle/4] != 0 || table.cos[3*circle/4] != 0 {
		t.Error("a right angle has a cosine")
	}
}

// TestTableGolden pins all bits of the table.
func TestTableGolden(t *testing.T) {
	h := fnv.New64a()
	table := NewTable()
	if err := binary.Write(h, binary.LittleEndian, table.cos[:]); err != nil {
		t.Fatal(err)
	}
	if got, want := h.Sum64(), uint64(0x314a1d9b8cc12151); got != want {
		t.Errorf("table hashes to %#x, want %#x", got, want)
	}
}
