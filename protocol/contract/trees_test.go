package contract_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/protocol/contract"
)

// TestDifferentAgreesWithOracle compares Different with the sums parties hold, on random plans.
func TestDifferentAgreesWithOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := planOf(t, "a"), planOf(t, "b")
		err := contract.Different(a, b)
		if shared(a, b) != (err != nil) {
			t.Fatalf("Different gives %v for %v and %v", err, a, b)
		}
		if back := contract.Different(b, a); (back != nil) != (err != nil) {
			t.Fatalf("Different gives %v one way and %v the other", err, back)
		}
	})
}

// TestDifferentExhaustively compares Different with the oracle on all trees of up to five parties.
func TestDifferentExhaustively(t *testing.T) {
	var different, same int
	for q := 2; q <= 5; q++ {
		plans := everyTree(q)
		for _, a := range plans {
			for _, b := range plans {
				err := contract.Different(a, b)
				if shared(a, b) != (err != nil) {
					t.Fatalf("Different gives %v for %v and %v", err, a, b)
				}
				if err == nil {
					different++
				} else {
					same++
				}
			}
		}
	}
	if different == 0 || same == 0 {
		t.Fatalf("%d pairs different and %d not: the test shows nothing", different, same)
	}
}

// everyTree lists the binomial trees on all orders of q parties and of all but the last.
func everyTree(q int) []contract.Plan {
	var plans []contract.Plan
	var extend func(order []int)
	extend = func(order []int) {
		if len(order) == q || len(order) == q-1 && !slices.Contains(order, q-1) {
			plans = append(plans, contract.NewPlan(contract.Tree, order))
		}
		for i := range q {
			if !slices.Contains(order, i) {
				extend(append(slices.Clone(order), i))
			}
		}
	}
	extend(nil)
	return plans
}

func TestDifferentNamesTheSet(t *testing.T) {
	for _, test := range []struct {
		a, b []int
		want string
	}{
		{[]int{0, 1, 2, 3}, []int{0, 2, 1}, ""},
		{[]int{0, 1, 2, 3}, []int{1, 0, 2}, "the trees are not totally different: both have a subtree of the parties 0 and 1"},
		{[]int{0, 1, 2, 3}, []int{0, 2, 1, 3}, "the trees are not totally different: both have a subtree of the parties 0, 1, 2 and 3"},
		{[]int{5}, []int{5}, ""},
	} {
		got := ""
		if err := contract.Different(contract.NewPlan(contract.Tree, test.a),
			contract.NewPlan(contract.Tree, test.b)); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("trees on %v and %v: %q, want %q", test.a, test.b, got, test.want)
		}
	}
}

// TestPublishedTrees proves the construction for all q up to 16, all roots and all excluded
// parties, by Different and by its oracle.
func TestPublishedTrees(t *testing.T) {
	for q := 2; q <= largest; q++ {
		for root := range q {
			for excluded := range q {
				if root != excluded {
					checkPublished(t, q, root, excluded)
				}
			}
		}
	}
}

// checkPublished checks one pair of trees.
func checkPublished(t *testing.T, q, root, excluded int) {
	t.Helper()
	t1, t2, err := contract.PublishedTrees(q, root, excluded)
	if err != nil {
		t.Fatalf("q %d, root %d, excluded %d: %v", q, root, excluded, err)
	}
	checkShape(t, t1, q, root)
	checkShape(t, t2, q, root)
	if total, _ := run(t1); total != everyone(q) {
		t.Errorf("q %d, root %d, excluded %d: T1 adds %v", q, root, excluded, setOf(total))
	}
	if total, _ := run(t2); total != everyone(q)&^(1<<excluded) {
		t.Errorf("q %d, root %d, excluded %d: T2 adds %v", q, root, excluded, setOf(total))
	}
	if err := contract.Different(t1, t2); err != nil {
		t.Errorf("q %d, root %d, excluded %d: %v", q, root, excluded, err)
	}
	if shared(t1, t2) {
		t.Errorf("q %d, root %d, excluded %d: the oracle finds a sum held in both trees", q, root, excluded)
	}
	if t2.Has(excluded) {
		t.Errorf("q %d, root %d: T2 has the excluded party %d", q, root, excluded)
	}
}

// TestPublishedTreesLarge draws federations beyond the exhaustive test.
func TestPublishedTreesLarge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := rapid.IntRange(2, 200).Draw(t, "q")
		root := rapid.IntRange(0, q-1).Draw(t, "root")
		excluded := (root + rapid.IntRange(1, q-1).Draw(t, "excluded")) % q
		t1, t2, err := contract.PublishedTrees(q, root, excluded)
		must(t, err)
		must(t, contract.Different(t1, t2))
	})
}

// TestPublishedTreesOfFigure2 is the drawing in PublishedTrees, with the paper's numbers less one.
func TestPublishedTreesOfFigure2(t *testing.T) {
	t1, t2, err := contract.PublishedTrees(4, 0, 3)
	must(t, err)
	if got, want := fmt.Sprint(t1.LeafSets()), "[[0 3] [1 2] [0 1 2 3]]"; got != want {
		t.Errorf("T1 has the leaf sets %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(t2.LeafSets()), "[[0 1] [0 1 2]]"; got != want {
		t.Errorf("T2 has the leaf sets %s, want %s", got, want)
	}
}

func TestPublishedTreesRefuses(t *testing.T) {
	for _, test := range []struct {
		q, root, excluded int
		want              string
	}{
		{1, 0, 0, "published trees need at least 2 parties, got 1"},
		{3, -1, 0, "root is party -1, want 0 to 2"},
		{3, 3, 0, "root is party 3, want 0 to 2"},
		{3, 0, -1, "excluded is party -1, want 0 to 2"},
		{3, 0, 3, "excluded is party 3, want 0 to 2"},
		{3, 2, 2, "party 2 is the root and cannot be the excluded one"},
	} {
		_, _, err := contract.PublishedTrees(test.q, test.root, test.excluded)
		if err == nil || err.Error() != test.want {
			t.Errorf("PublishedTrees(%d, %d, %d) gives error %v, want %s", test.q, test.root, test.excluded, err, test.want)
		}
	}
}
