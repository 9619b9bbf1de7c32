package attack

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
)

// permutations is how often the labels are shuffled.
const permutations = 1000

// maxLabelRows is how many rows are used, drawn from all.
const maxLabelRows = 20000

// LabelSignal is what one signal tells about the labels.
type LabelSignal struct {
	Name    string
	Pearson float64 // correlation
	Rank    float64 // correlation of the ranks (Spearman)
	AUC     float64 // chance that a row of the higher class has the larger value; 1/2 when there are not two classes
	P       float64 // share of the shuffles in which any signal correlates as much; at least 1/1001
	Tail    float64 // of the larger correlation, as if it were normal, times twice the signals (Bonferroni)
}

// LabelResult is what signals tell about labels.
type LabelResult struct {
	Rows    int
	Signals []LabelSignal // those that vary, the strongest first
}

// Labels correlates signals, one value a row, with the labels, and with shuffled labels. It uses at
// most 20,000 rows. An error names the signal that has a wrong length or is not finite.
func Labels(ctx context.Context, signals map[string][]float64, labels []float64, seed uint64) (*LabelResult, error) {
	if len(labels) < 8 {
		return nil, fmt.Errorf("label leakage: %d labels, want at least 8", len(labels))
	}
	if i := notFinite(labels); i >= 0 {
		return nil, fmt.Errorf("label leakage: label %d is %v, want a finite number", i, labels[i])
	}
	for _, name := range slices.Sorted(maps.Keys(signals)) {
		s := signals[name]
		if len(s) != len(labels) {
			return nil, fmt.Errorf("label leakage: signal %s has %d values, want one for each of %d labels",
				name, len(s), len(labels))
		}
		if i := notFinite(s); i >= 0 {
			return nil, fmt.Errorf("label leakage: value %d of signal %s is %v, want a finite number", i, name, s[i])
		}
	}
	rows := drawn(len(labels), maxLabelRows, seed)
	truth := newVariable(at(labels, rows))
	result := &LabelResult{Rows: len(rows)}
	var variables []*variable
	for _, name := range slices.Sorted(maps.Keys(signals)) {
		v := newVariable(at(signals[name], rows))
		if !v.varies() || !truth.varies() {
			continue
		}
		variables = append(variables, v)
		result.Signals = append(result.Signals, describe(name, v, truth))
	}
	rng := newRand(seed, streamPermutation)
	above := make([]int, len(variables))
	values, ranks := slices.Clone(truth.unit), slices.Clone(truth.ranked)
	for range permutations {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rng.Shuffle(len(values), func(i, j int) {
			values[i], values[j] = values[j], values[i]
			ranks[i], ranks[j] = ranks[j], ranks[i]
		})
		largest := 0.0
		for _, v := range variables {
			largest = max(largest, math.Abs(dot(v.unit, values)), math.Abs(dot(v.ranked, ranks)))
		}
		for k := range result.Signals {
			if largest >= result.Signals[k].strength() {
				above[k]++
			}
		}
	}
	for k := range result.Signals {
		s := &result.Signals[k]
		s.P = float64(1+above[k]) / (1 + permutations)
		s.Tail = corrected(twoSided(s.strength()*math.Sqrt(float64(result.Rows-1))), 2*len(variables))
	}
	slices.SortStableFunc(result.Signals, func(a, b LabelSignal) int { return compareDown(a.strength(), b.strength()) })
	return result, nil
}

// notFinite returns the first index of a value that is no finite number, -1 when there is none.
func notFinite(list []float64) int {
	return slices.IndexFunc(list, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}

// at returns the values at some indices.
func at(list []float64, rows []int) []float64 {
	out := make([]float64, len(rows))
	for k, j := range rows {
		out[k] = list[j]
	}
	return out
}

// compareDown orders numbers from large to small.
func compareDown(a, b float64) int {
	switch {
	case a > b:
		return -1
	case a < b:
		return 1
	}
	return 0
}

// variable is a list of numbers as correlations need it.
type variable struct {
	values []float64
	unit   []float64 // values with mean 0 and length 1; all 0 when they are constant
	ranks  []float64 // from 1, ties shared
	ranked []float64 // ranks with mean 0 and length 1
}

func newVariable(values []float64) *variable {
	r := ranksOf(values)
	return &variable{values: values, unit: unit(values), ranks: r, ranked: unit(r)}
}

// varies reports whether not all values are equal.
func (v *variable) varies() bool {
	return slices.ContainsFunc(v.ranked, func(x float64) bool { return x != 0 })
}

// ranksOf returns ranks from 1; equal values share the mean of theirs.
func ranksOf(values []float64) []float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return -compareDown(values[i], values[j]) })
	ranks := make([]float64, len(values))
	for from := 0; from < len(order); {
		to := from
		for to < len(order) && values[order[to]] == values[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			ranks[i] = float64(from+to+1) / 2
		}
		from = to
	}
	return ranks
}

// unit subtracts the mean and divides by the length.
func unit(values []float64) []float64 {
	mean := meanOf(values)
	out := make([]float64, len(values))
	square := 0.0
	for i, v := range values {
		out[i] = v - mean
		square += out[i] * out[i]
	}
	length := math.Sqrt(square)
	for i := range out {
		if length <= 1e-12*math.Abs(mean)*math.Sqrt(float64(len(out))) {
			out[i] = 0
			continue
		}
		out[i] /= length
	}
	return out
}

func dot(a, b []float64) float64 {
	b = b[:len(a)]
	sum := 0.0
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

// describe computes all but the p-values.
func describe(name string, v, truth *variable) LabelSignal {
	return LabelSignal{Name: name, Pearson: dot(v.unit, truth.unit), Rank: dot(v.ranked, truth.ranked), AUC: auc(v, truth)}
}

// auc returns the area under the curve for labels of two classes, 1/2 for others.
func auc(v, truth *variable) float64 {
	lo, hi := slices.Min(truth.values), slices.Max(truth.values)
	high, sum := 0.0, 0.0
	for i, label := range truth.values {
		switch label {
		case hi:
			high++
			sum += v.ranks[i]
		case lo:
		default:
			return 0.5
		}
	}
	return (sum - high*(high+1)/2) / (high * (float64(len(truth.values)) - high))
}

func (s *LabelSignal) strength() float64 { return max(math.Abs(s.Pearson), math.Abs(s.Rank)) }
