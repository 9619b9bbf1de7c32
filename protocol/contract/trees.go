package contract

import (
	"fmt"
	"slices"
	"strings"
)

// LeafSets returns the leaf set of every subtree with more than one leaf: the parties, ascending,
// whose vectors are in the sum that some party holds after one of its additions. A party adds its
// children's vectors one by one, so that it is the tip of one subtree for each of them.
func (p Plan) LeafSets() [][]int {
	var sets [][]int
	p.leaves(p.Root, &sets)
	return sets
}

// leaves returns the leaf set of party i's whole subtree and appends those of its parts to sets.
func (p Plan) leaves(i int, sets *[][]int) []int {
	set := []int{i}
	for _, child := range p.Children[i] {
		set = slices.Concat(set, p.leaves(child, sets))
		slices.Sort(set)
		*sets = append(*sets, set)
	}
	return set
}

// Different checks that two plans are totally different (FDSKL, Definition 2): that no subtree
// with more than one leaf has the same leaf set in both. The error names such a set.
func Different(a, b Plan) error {
	seen := make(map[string]bool)
	for _, set := range a.LeafSets() {
		seen[fmt.Sprint(set)] = true
	}
	for _, set := range b.LeafSets() {
		if seen[fmt.Sprint(set)] {
			return fmt.Errorf("the trees are not totally different: both have a subtree of the parties %s", listed(set))
		}
	}
	return nil
}

// listed writes a leaf set as people do: "0, 2 and 5".
func listed(set []int) string {
	words := strings.Fields(strings.Trim(fmt.Sprint(set), "[]"))
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// PublishedTrees returns the two trees of the published protocol (FDSKL, Algorithm 3): t1 on all
// q parties, t2 on all but the excluded one, both with the given root and totally different
// (Definition 2). For the parties 1 to 4 of the paper's Figure 2, root 1 and excluded party 4:
//
//	         T1                        T2
//
//	         1                         1
//	       /   \                     /   \
//	     1       2                 1       3
//	    / \     / \               / \
//	   1   4   2   3             1   2
//
//	{1,4} {2,3} {1,2,3,4}       {1,2} {1,2,3}
//
// T1 stands on the order root, excluded, others; T2 on root, others. Proof that no leaf set of
// more than one party is in both:
//
// A leaf set of a binomial tree is a run of positions k .. min(k+2^s, n)-1 with s >= 1 and k a
// multiple of 2^s, so that k is even. If k is 0 the run contains positions 0 and 1.
//
//   - A run of T2 that starts at 0 contains the root and not the excluded party. Every run of T1
//     with the root contains position 1 too, and that is the excluded party.
//   - A run of T2 that starts at k >= 2 consists of others. Each of them stands one position
//     further on in T1, so that there it would be a run that starts at k+1, which is odd.
//
// The definition is the paper's and does not make the sums private: it leaves out single leaves
// and differences of sums. That is why the masked sums of package secagg do not rest on it.
func PublishedTrees(q, root, excluded int) (t1, t2 Plan, err error) {
	switch {
	case q < 2:
		return t1, t2, fmt.Errorf("published trees need at least 2 parties, got %d", q)
	case root < 0 || root >= q:
		return t1, t2, fmt.Errorf("root is party %d, want 0 to %d", root, q-1)
	case excluded < 0 || excluded >= q:
		return t1, t2, fmt.Errorf("excluded is party %d, want 0 to %d", excluded, q-1)
	case root == excluded:
		return t1, t2, fmt.Errorf("party %d is the root and cannot be the excluded one", root)
	}
	all := orderOf(q, root, excluded)
	t1 = newPlan(Tree, all, q)
	t2 = newPlan(Tree, slices.Delete(slices.Clone(all), 1, 2), q)
	return t1, t2, nil
}
