package ofmsft

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// fewest returns the least number of clusters, by trying every way to pack; sizes are at most ten.
func fewest(sizes []int, capacity int) int {
	best := len(sizes)
	var loads []int
	var try func(i int)
	try = func(i int) {
		if len(loads) >= best {
			return
		}
		if i == len(sizes) {
			best = len(loads)
			return
		}
		for j := range loads {
			if loads[j]+sizes[i] <= capacity {
				loads[j] += sizes[i]
				try(i + 1)
				loads[j] -= sizes[i]
			}
		}
		if len(loads)+1 < best {
			loads = append(loads, sizes[i])
			try(i + 1)
			loads = loads[:len(loads)-1]
		}
	}
	try(0)
	return best
}

// checkPacking compares a packing of whole sizes with the best one, and with the rule's plain text.
func checkPacking(t interface{ Fatalf(string, ...any) }, sizes []int, capacity int) {
	var reals []float64
	for _, s := range sizes {
		reals = append(reals, float64(s))
	}
	clusters, err := FirstFitDecreasing(reals, float64(capacity))
	if err != nil {
		t.Fatalf("sizes %v, capacity %d: %v", sizes, capacity, err)
	}
	var all []int
	for _, c := range clusters {
		load := 0
		for _, i := range c {
			load += sizes[i]
		}
		if load > capacity || len(c) == 0 || !slices.IsSorted(c) {
			t.Fatalf("sizes %v, capacity %d: cluster %v has load %d", sizes, capacity, c, load)
		}
		all = append(all, c...)
	}
	slices.Sort(all)
	for i := range all {
		if all[i] != i {
			t.Fatalf("sizes %v: clusters %v", sizes, clusters)
		}
	}
	if m := fewest(sizes, capacity); len(all) != len(sizes) || float64(len(clusters)) > 11.0/9*float64(m)+2.0/3+1e-12 {
		t.Fatalf("sizes %v, capacity %d: %d clusters of %d items, at least %d are needed", sizes, capacity, len(clusters),
			len(all), m)
	}
	want := pack(reals, -1, float64(capacity))
	for _, c := range want {
		slices.Sort(c)
	}
	if len(want) != len(clusters) || len(want) > 0 && !reflect.DeepEqual(want, clusters) {
		t.Fatalf("sizes %v, capacity %d: clusters %v, want %v", sizes, capacity, clusters, want)
	}
}

// TestPackingsAreWithinTheBoundOfTheBest tries every packing of up to ten items.
func TestPackingsAreWithinTheBoundOfTheBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		capacity := rapid.IntRange(1, 30).Draw(t, "capacity")
		checkPacking(t, rapid.SliceOfN(rapid.IntRange(1, capacity), 0, 10).Draw(t, "sizes"), capacity)
	})
}

// FuzzFirstFitDecreasing is the same with any bytes.
func FuzzFirstFitDecreasing(f *testing.F) {
	f.Add([]byte{10, 6, 6, 4, 4, 4, 3, 3})
	f.Add([]byte{101, 51, 27, 26, 23, 51, 27, 26, 23})
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 1 || len(data) > 11 || data[0] == 0 {
			return
		}
		var sizes []int
		for _, b := range data[1:] {
			sizes = append(sizes, 1+int(b)%int(data[0]))
		}
		checkPacking(t, sizes, int(data[0]))
	})
}

// TestEqualItemsGoByIndex has two sizes, each twice.
func TestEqualItemsGoByIndex(t *testing.T) {
	clusters, err := FirstFitDecreasing([]float64{2, 3, 2, 3}, 5)
	mustDo(t, err)
	if want := [][]int{{0, 1}, {2, 3}}; !reflect.DeepEqual(clusters, want) {
		t.Errorf("clusters %v, want %v", clusters, want)
	}
}

// TestItemsThatDoNotFitAreNamed has sizes that no cluster takes.
func TestItemsThatDoNotFitAreNamed(t *testing.T) {
	_, err := FirstFitDecreasing([]float64{1, 6}, 5)
	wantError(t, err, "item 2 has size 6, want a number from 0 to the capacity, 5")
	_, err = FirstFitDecreasing([]float64{math.NaN()}, 5)
	wantError(t, err, "item 1 has size NaN")
	_, err = FirstFitDecreasing([]float64{-1}, 5)
	wantError(t, err, "item 1 has size -1")
	_, err = FirstFitDecreasing([]float64{1}, math.NaN())
	wantError(t, err, "the capacity, NaN")
}
