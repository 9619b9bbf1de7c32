package rivals

import (
	"math"
	"slices"
	"sort"

	"github.com/hanse-project/hanse/algorithms/kernel"
)

// Boost is gradient boosting of regression trees for two classes, with the logistic loss, second-order gains and
// histograms of binned columns (Chen and Guestrin, "XGBoost", KDD 2016, sections 2.2 and 3.2, equations 5 to 7). It
// sees all columns. SecureBoost (Cheng et al. 2019) grows the same trees over encrypted gradients, so that this is
// its error, and a small part of its time.
type Boost struct {
	Trees  int
	Depth  int     // of each tree
	Shrink float64 // learning rate
	Lambda float64 // added to the curvature of a leaf
	Bins   int     // of a column, at most 256
	Least  float64 // curvature that a leaf has at least

	base  float64
	trees [][]treeNode
}

// DefaultBoost returns settings that do well on every set of the paper that is at hand.
func DefaultBoost() *Boost {
	return &Boost{Trees: 200, Depth: 6, Shrink: 0.1, Lambda: 1, Bins: 64, Least: 1}
}

// treeNode is a leaf (column < 0) or a question: rows whose column is at most the threshold go to left, else to
// left+1.
type treeNode struct {
	column    int
	threshold float64
	left      int
	value     float64
}

// sums are those of the gradients and curvatures of some rows.
type sums struct{ g, h float64 }

// add adds other sums.
func (s *sums) add(o sums) { s.g, s.h = s.g+o.g, s.h+o.h }

// minus returns the difference to other sums.
func (s sums) minus(o sums) sums { return sums{s.g - o.g, s.h - o.h} }

// score is G^2/(H + lambda), twice what a leaf takes from the loss.
func (s sums) score(lambda float64) float64 { return s.g * s.g / (s.h + lambda) }

// binned is a table whose values are numbers of bins. Of a row only what is not in the bin of 0 is kept.
type binned struct {
	edges  [][]float64 // [column]: the largest value of each bin; the last is infinite
	zero   []int       // [column]: the bin of 0
	first  []int       // [column]: place of the column's first bin in a histogram
	places int         // of a histogram
	starts []int
	column []int32
	bin    []uint8
}

// Train learns from rows with labels -1 and +1.
func (b *Boost) Train(rows *Rows, labels []float64) {
	table := b.binned(rows)
	positive := 0.5 // a row of each class more, lest the base be infinite
	for _, y := range labels {
		positive += (y + 1) / 2
	}
	b.base, b.trees = math.Log(positive/(float64(len(labels))+1-positive)), nil
	scores := slices.Repeat([]float64{b.base}, len(labels))
	each := make([]sums, len(labels))
	for range b.Trees {
		for i, y := range labels {
			p := kernel.Sigmoid(scores[i])
			each[i] = sums{p - (y+1)/2, p * (1 - p)}
		}
		b.trees = append(b.trees, b.grow(table, each, scores))
	}
}

// binned cuts every column into bins of about as many rows each, or into one for each value when there are few.
func (b *Boost) binned(rows *Rows) *binned {
	values := make([][]float64, rows.Columns)
	for k, c := range rows.index {
		values[c] = append(values[c], rows.value[k])
	}
	t := &binned{starts: rows.starts, column: rows.index, bin: make([]uint8, len(rows.index))}
	for _, v := range values {
		if len(v) < rows.Len() {
			v = append(v, 0) // once is enough for it to have a bin
		}
		slices.Sort(v)
		edges := cut(v, b.Bins)
		t.edges, t.zero = append(t.edges, edges), append(t.zero, binOf(edges, 0))
		t.first = append(t.first, t.places)
		t.places += len(edges)
	}
	for k, c := range rows.index {
		t.bin[k] = uint8(binOf(t.edges[c], rows.value[k]))
	}
	return t
}

// cut returns the upper edges of at most so many bins of sorted values: halfway between two values that are there.
func cut(sorted []float64, bins int) []float64 {
	distinct := slices.Compact(slices.Clone(sorted))
	var edges []float64
	if len(distinct) <= bins {
		for i := 1; i < len(distinct); i++ {
			edges = append(edges, (distinct[i-1]+distinct[i])/2)
		}
		return append(edges, math.Inf(1))
	}
	for k := 1; k < bins; k++ {
		v := sorted[k*len(sorted)/bins]
		next := sort.Search(len(distinct), func(i int) bool { return distinct[i] > v })
		if next == len(distinct) {
			break
		}
		if edge := (v + distinct[next]) / 2; len(edges) == 0 || edge > edges[len(edges)-1] {
			edges = append(edges, edge)
		}
	}
	return append(edges, math.Inf(1))
}

// binOf returns the bin of a value.
func binOf(edges []float64, v float64) int { return sort.SearchFloat64s(edges, v) }

// grow grows one tree level by level and adds its leaves to the scores.
func (b *Boost) grow(t *binned, each []sums, scores []float64) []treeNode {
	tree := []treeNode{{column: -1}}
	place := make([]int, len(each)) // the node of each row
	level := []int{0}
	for depth := 0; depth < b.Depth && len(level) > 0; depth++ {
		histograms, totals := t.histograms(each, place, level)
		var next []int
		splits := make(map[int]split, len(level))
		for k, node := range level {
			s := b.best(t, histograms[k], totals[k])
			if s.gain <= 0 {
				continue
			}
			splits[node] = s
			tree[node].column, tree[node].threshold, tree[node].left = s.column, t.edges[s.column][s.bin], len(tree)
			next = append(next, len(tree), len(tree)+1)
			tree = append(tree, treeNode{column: -1}, treeNode{column: -1})
		}
		t.send(place, splits, tree)
		level = next
	}
	leaves := make([]sums, len(tree))
	for i, node := range place {
		leaves[node].add(each[i])
	}
	for node := range tree {
		if tree[node].column < 0 {
			tree[node].value = -b.Shrink * leaves[node].g / (leaves[node].h + b.Lambda)
		}
	}
	for i, node := range place {
		scores[i] += tree[node].value
	}
	return tree
}

// histograms adds up the rows of the level's nodes by column and bin. What is not kept of the rows, the bin of 0, is
// the total less the rest.
func (t *binned) histograms(each []sums, place, level []int) (histograms [][]sums, totals []sums) {
	slot := make(map[int]int, len(level))
	for k, node := range level {
		slot[node] = k
		histograms = append(histograms, make([]sums, t.places))
	}
	totals = make([]sums, len(level))
	for i, s := range each {
		k, ok := slot[place[i]]
		if !ok {
			continue
		}
		totals[k].add(s)
		for e := t.starts[i]; e < t.starts[i+1]; e++ {
			histograms[k][t.first[t.column[e]]+int(t.bin[e])].add(s)
		}
	}
	for k, h := range histograms {
		for c, first := range t.first {
			rest := totals[k]
			for _, s := range h[first : first+len(t.edges[c])] {
				rest = rest.minus(s)
			}
			h[first+t.zero[c]].add(rest)
		}
	}
	return histograms, totals
}

// split is a question: rows whose column is in the bin or a lower one go left.
type split struct {
	column, bin int
	gain        float64
}

// best returns the split with the largest gain (equation 7, times two); without gain there is none.
func (b *Boost) best(t *binned, histogram []sums, total sums) split {
	var found split
	for c, first := range t.first {
		var left sums
		for bin := range len(t.edges[c]) - 1 {
			left.add(histogram[first+bin])
			right := total.minus(left)
			if left.h < b.Least || right.h < b.Least {
				continue
			}
			gain := left.score(b.Lambda) + right.score(b.Lambda) - total.score(b.Lambda)
			if gain > found.gain+1e-12 { // rounding alone does not make a later column better
				found = split{c, bin, gain}
			}
		}
	}
	return found
}

// send moves every row to the child of its node.
func (t *binned) send(place []int, splits map[int]split, tree []treeNode) {
	for i, node := range place {
		s, ok := splits[node]
		if !ok {
			continue
		}
		bin := t.zero[s.column]
		for e := t.starts[i]; e < t.starts[i+1]; e++ {
			if int(t.column[e]) == s.column {
				bin = int(t.bin[e])
			}
		}
		place[i] = tree[node].left
		if bin > s.bin {
			place[i]++
		}
	}
}

// Scores returns the log odds of each row.
func (b *Boost) Scores(rows *Rows) []float64 {
	x := make([]float64, rows.Columns)
	scores := make([]float64, rows.Len())
	for i := range scores {
		rows.scatter(i, x)
		scores[i] = b.base
		for _, tree := range b.trees {
			node := 0
			for tree[node].column >= 0 {
				next := tree[node].left
				if x[tree[node].column] > tree[node].threshold {
					next++
				}
				node = next
			}
			scores[i] += tree[node].value
		}
		clear(x)
	}
	return scores
}
