package graph

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// seedOf makes a seed of a number.
func seedOf(n uint64) [32]byte {
	var seed [32]byte
	random := rand.New(rand.NewPCG(n, 1))
	for i := range seed {
		seed[i] = byte(random.Uint32())
	}
	return seed
}

// anyGraph draws a graph and returns its parties, and the degree it must have.
func anyGraph(t *rapid.T) (g *Graph, parties []int, degree int) {
	parties = rapid.SliceOfNDistinct(rapid.IntRange(0, 500), 1, 60, rapid.ID).Draw(t, "parties")
	degree = rapid.IntRange(-1, 70).Draw(t, "degree")
	g = New(seedOf(rapid.Uint64().Draw(t, "seed")), parties, degree)
	degree = max(degree, 0)
	return g, parties, min(degree+degree%2, len(parties)-1)
}

func TestGraphsAreRegularSymmetricAndAscending(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, parties, degree := anyGraph(t)
		for _, p := range parties {
			list := g.Neighbours(p)
			if len(list) != degree || !slices.IsSorted(list) || len(slices.Compact(slices.Clone(list))) != degree {
				t.Fatalf("party %d has the neighbours %v, want %d ascending", p, list, degree)
			}
			for _, other := range list {
				if other == p || !slices.Contains(parties, other) || !slices.Contains(g.Neighbours(other), p) {
					t.Fatalf("party %d has the neighbour %d, whose neighbours are %v", p, other, g.Neighbours(other))
				}
			}
		}
	})
}

func TestGraphsAreConnected(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, degree := rapid.IntRange(1, 60).Draw(t, "n"), rapid.IntRange(2, 20).Draw(t, "degree")
		g := New(seedOf(rapid.Uint64().Draw(t, "seed")), indices(n), degree)
		if !connected(g, n, func(int) bool { return false }) {
			t.Fatal("the graph falls apart")
		}
	})
}

func TestTheGraphDependsOnTheSeedAndTheSetOfPartiesAlone(t *testing.T) {
	parties := indices(40)
	g := New(seedOf(1), parties, 8)
	slices.Reverse(parties)
	same, other := New(seedOf(1), append(parties, 7), 8), New(seedOf(2), parties, 8)
	differ := false
	for p := range 40 {
		if !slices.Equal(g.Neighbours(p), same.Neighbours(p)) {
			t.Errorf("party %d has other neighbours when the parties are listed otherwise", p)
		}
		differ = differ || !slices.Equal(g.Neighbours(p), other.Neighbours(p))
	}
	if !differ {
		t.Error("two seeds give one graph")
	}
	if parties[0] != 39 {
		t.Error("the caller's list has changed")
	}
}

// TestOneGraphStaysAsItIs: parties of different versions must agree.
func TestOneGraphStaysAsItIs(t *testing.T) {
	g := New([32]byte{1, 2, 3}, indices(12), 4)
	want := []int{5, 10, 7, 4, 9, 2, 0, 3, 8, 1, 6, 11}
	if !slices.Equal(g.circle, want) {
		t.Errorf("the circle is %v, want %v", g.circle, want)
	}
}

func TestStrangersHaveNoNeighbours(t *testing.T) {
	for _, g := range []*Graph{New(seedOf(1), indices(10), 4), New(seedOf(1), indices(10), 9), New(seedOf(1), nil, 4)} {
		for _, p := range []int{-1, 10} {
			if list := g.Neighbours(p); list != nil {
				t.Errorf("party %d has the neighbours %v", p, list)
			}
		}
	}
}

func TestTheLargestDegreesAreComplete(t *testing.T) {
	for _, n := range []int{2, 3, 10, 11} {
		for _, degree := range []int{n - 1, n, n + 5, math.MaxInt} {
			g := New(seedOf(1), indices(n), degree)
			for p := range n {
				if want := slices.Delete(indices(n), p, p+1); !slices.Equal(g.Neighbours(p), want) {
					t.Errorf("degree %d: party %d has the neighbours %v, want %v", degree, p, g.Neighbours(p), want)
				}
			}
		}
	}
}

// TestCirclesAreUniform counts all orders of four parties.
func TestCirclesAreUniform(t *testing.T) {
	const draws = 12000
	counts := make(map[[4]int]int)
	for i := range uint64(draws) {
		counts[[4]int(New(seedOf(i), indices(4), 2).circle)]++
	}
	want, sum := draws/24.0, 0.0
	for _, count := range counts {
		sum += (float64(count) - want) * (float64(count) - want) / want
	}
	if len(counts) != 24 || sum > 75 { // 23 degrees of freedom: p = 2e-7
		t.Errorf("%d orders, chi-square %.1f, want 24 and at most 75", len(counts), sum)
	}
}

// TestAllPairsAreNeighboursEquallyOften: with probability degree/(n-1).
func TestAllPairsAreNeighboursEquallyOften(t *testing.T) {
	const n, degree, draws = 11, 4, 3000
	var counts [n][n]int
	for i := range uint64(draws) {
		g := New(seedOf(i), indices(n), degree)
		for p := range n {
			for _, other := range g.Neighbours(p) {
				counts[p][other]++
			}
		}
	}
	const rate = float64(degree) / (n - 1)
	tolerance := 5 * math.Sqrt(draws*rate*(1-rate))
	for p := range n {
		for other := range p {
			if math.Abs(float64(counts[p][other])-draws*rate) > tolerance {
				t.Errorf("parties %d and %d are neighbours %d times of %d, want about %.0f", p, other, counts[p][other], draws, draws*rate)
			}
		}
	}
}

// TestBelowIsUniform where nearly half of the draws are thrown away.
func TestBelowIsUniform(t *testing.T) {
	random := rand.NewChaCha8(seedOf(1))
	const n, draws, parts = 1<<63 + 1, 30000, 3
	var counts [parts]int
	for range draws {
		x := below(random, n)
		if x >= n {
			t.Fatalf("%d is not below %d", x, uint64(n))
		}
		counts[x/(n/parts+1)]++
	}
	for i, count := range counts {
		if math.Abs(float64(count)-draws/parts) > 450 { // five standard deviations and more
			t.Errorf("part %d has %d draws of %d", i, count, draws)
		}
	}
}

func BenchmarkNew(b *testing.B) {
	parties := indices(10000)
	for b.Loop() {
		New(seedOf(1), parties, 122)
	}
}

// BenchmarkNeighbours lists the neighbours of all of 10000 parties.
func BenchmarkNeighbours(b *testing.B) {
	g := New(seedOf(1), indices(10000), 122)
	for b.Loop() {
		for p := range 10000 {
			g.Neighbours(p)
		}
	}
}

func BenchmarkPick(b *testing.B) {
	for b.Loop() {
		if _, err := Pick(10000, 32, Tolerance{1.0 / 3, 0.1}); err != nil {
			b.Fatal(err)
		}
	}
}
