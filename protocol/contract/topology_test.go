package contract_test

import (
	"fmt"
	"math/bits"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/protocol/contract"
)

var topologies = []contract.Topology{contract.Tree, contract.Star, contract.Ring}

// largest is the number of parties up to which tests are exhaustive.
const largest = 16

// run adds 2^i for every party i along a plan, as the parties do, and returns what each of them
// holds after each of its additions: the leaf sets as bits, found without the code under test.
func run(p contract.Plan) (total uint64, held []uint64) {
	sum := make([]uint64, len(p.Parent))
	var add func(i int)
	add = func(i int) {
		sum[i] = 1 << i
		for _, child := range p.Children[i] {
			add(child)
			sum[i] += sum[child]
			held = append(held, sum[i])
		}
	}
	add(p.Root)
	return sum[p.Root], held
}

// shared is the oracle of Different: a sum of more than one addend that is held in both plans.
func shared(a, b contract.Plan) bool {
	_, inA := run(a)
	_, inB := run(b)
	for _, x := range inA {
		if slices.Contains(inB, x) {
			return true
		}
	}
	return false
}

// setOf turns bits into a leaf set.
func setOf(x uint64) []int {
	var set []int
	for ; x != 0; x &= x - 1 {
		set = append(set, bits.TrailingZeros64(x))
	}
	return set
}

// everyone is the sum of all of q parties.
func everyone(q int) uint64 { return 1<<q - 1 }

func TestParseTopology(t *testing.T) {
	for _, want := range topologies {
		got, err := contract.ParseTopology(want.String())
		if err != nil || got != want {
			t.Errorf("ParseTopology(%q) = %v, %v", want.String(), got, err)
		}
	}
	for _, s := range []string{"", "Tree", "tree ", "mesh", "topology 0"} {
		_, err := contract.ParseTopology(s)
		if want := fmt.Sprintf("topology is %q, want \"tree\", \"star\" or \"ring\"", s); err == nil || err.Error() != want {
			t.Errorf("ParseTopology(%q) gives error %v, want %s", s, err, want)
		}
	}
	if got := contract.Topology(9).String(); got != "topology 9" {
		t.Errorf("unknown topology prints as %q", got)
	}
}

// TestPlanAddsEveryoneOnce runs every topology with every root.
func TestPlanAddsEveryoneOnce(t *testing.T) {
	for q := 1; q <= largest; q++ {
		for root := range q {
			for _, topology := range topologies {
				p := contract.PlanFor(topology, q, root)
				if total, _ := run(p); total != everyone(q) {
					t.Errorf("%v of %d parties, root %d: adds parties %v", topology, q, root, setOf(total))
				}
				checkShape(t, p, q, root)
			}
		}
	}
}

// checkShape checks that parents and children agree and that the root has no parent.
func checkShape(t *testing.T, p contract.Plan, q, root int) {
	t.Helper()
	if p.Root != root || len(p.Parent) != q || len(p.Children) != q || p.Parent[root] != -1 {
		t.Fatalf("root %d and %d parents, want root %d, %d parents and none of the root's", p.Root, len(p.Parent), root, q)
	}
	for i, children := range p.Children {
		for _, child := range children {
			if p.Parent[child] != i {
				t.Errorf("party %d is a child of %d and has parent %d", child, i, p.Parent[child])
			}
		}
	}
}

func TestPlanShapes(t *testing.T) {
	for _, test := range []struct {
		topology contract.Topology
		children [][]int // on the order 2, 0, 1, 3, 4, 5
	}{
		{contract.Tree, [][]int{2: {0, 1, 4}, 1: {3}, 4: {5}, 5: nil}},
		{contract.Star, [][]int{2: {0, 1, 3, 4, 5}, 5: nil}},
		{contract.Ring, [][]int{2: {0}, 0: {1}, 1: {3}, 3: {4}, 4: {5}, 5: nil}},
	} {
		p := contract.PlanFor(test.topology, 6, 2)
		if !slices.EqualFunc(p.Children, test.children, slices.Equal) {
			t.Errorf("%v: children %v, want %v", test.topology, p.Children, test.children)
		}
		same := contract.NewPlan(test.topology, []int{2, 0, 1, 3, 4, 5})
		if !slices.EqualFunc(same.Children, p.Children, slices.Equal) {
			t.Errorf("%v: NewPlan gives children %v, PlanFor %v", test.topology, same.Children, p.Children)
		}
	}
}

func TestDepthAndRounds(t *testing.T) {
	for q := 1; q <= 70; q++ {
		floor, ceil := bits.Len(uint(q))-1, bits.Len(uint(q-1))
		for topology, want := range map[contract.Topology][2]int{
			contract.Tree: {floor, ceil},
			contract.Star: {min(1, q-1), q - 1},
			contract.Ring: {q - 1, q - 1},
		} {
			p := contract.PlanFor(topology, q, q/2)
			if got := [2]int{p.Depth(), p.Rounds()}; got != want {
				t.Errorf("%v of %d parties: %d hops and %d rounds, want %d and %d", topology, q, got[0], got[1], want[0], want[1])
			}
		}
	}
}

func TestHas(t *testing.T) {
	p := contract.NewPlan(contract.Tree, []int{4, 1, 3})
	for i := -2; i < 8; i++ {
		if got, want := p.Has(i), i == 1 || i == 3 || i == 4; got != want {
			t.Errorf("Has(%d) = %v in a plan of the parties 4, 1 and 3", i, got)
		}
	}
}

func TestNewPlanPanics(t *testing.T) {
	for name, f := range map[string]func(){
		"empty order":      func() { contract.NewPlan(contract.Tree, nil) },
		"party twice":      func() { contract.NewPlan(contract.Star, []int{0, 1, 1}) },
		"root twice":       func() { contract.NewPlan(contract.Ring, []int{0, 1, 0}) },
		"negative party":   func() { contract.NewPlan(contract.Ring, []int{0, -1}) },
		"negative root":    func() { contract.NewPlan(contract.Ring, []int{-1, 0}) },
		"lone root":        func() { contract.NewPlan(contract.Tree, []int{-1}) },
		"root too large":   func() { contract.PlanFor(contract.Star, 1, 1) },
		"unknown topology": func() { contract.NewPlan(contract.Topology(9), []int{0, 1}) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}

// TestLeafSetsAreWhatPartiesHold compares leaf sets with the sums that parties hold, for random
// orders of some of the parties.
func TestLeafSetsAreWhatPartiesHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := planOf(t, "plan")
		_, held := run(p)
		var want [][]int
		for _, x := range held {
			want = append(want, setOf(x))
		}
		got := p.LeafSets()
		slices.SortFunc(got, slices.Compare)
		slices.SortFunc(want, slices.Compare)
		if !slices.EqualFunc(got, want, slices.Equal) {
			t.Fatalf("leaf sets %v, want %v", got, want)
		}
	})
}

// planOf draws a plan on some of nine parties.
func planOf(t *rapid.T, label string) contract.Plan {
	parties := rapid.Permutation([]int{0, 1, 2, 3, 4, 5, 6, 7, 8}).Draw(t, label)
	n := rapid.IntRange(1, len(parties)).Draw(t, label+" size")
	return contract.NewPlan(rapid.SampledFrom(topologies).Draw(t, label+" topology"), parties[:n])
}
