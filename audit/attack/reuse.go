package attack

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"

	"github.com/hanse-project/hanse/internal/parallel"
	"gonum.org/v1/gonum/mathext"
)

// The limits of the search for masks that were used twice.
const (
	DefaultPairs = 4 << 20 // pairs of payloads compared
	maxSample    = 1 << 14 // words of a payload that are looked at
	maxFindings  = 1000    // pairs returned
	reuseLimit   = 1e-9    // corrected p-value below which a pair is reported
	reuseBins    = 16
	leastWords   = perBin * reuseBins
	leastEqual   = 16 // bytes that equal payloads must have
)

// The ways in which two payloads are related.
const (
	Equal   = "equal"      // one begins with the other
	Shared  = "difference" // the same mask: the difference of the two is far from uniform
	Opposed = "sum"        // opposite masks: the sum of the two is far from uniform
)

// Sample is a payload, or how it begins.
type Sample struct {
	ID   string // for the report
	Word int    // bytes of a word: 2, 4 or 8; payloads of other sizes are not compared with it
	Data []byte // little-endian words; 512 words are plenty
}

// Pair is two payloads that share a mask.
type Pair struct {
	A, B     string // IDs
	I, J     int    // indices of the samples, I < J
	Relation string
	P        float64 // probability of this relation among all pairs compared, if every mask is fresh
}

// ReuseResult is what was found of masks used twice.
type ReuseResult struct {
	Samples  int
	Compared int64 // pairs
	// all pairs of equal word size and enough words were compared; false: a random choice of them, and those that begin
	// alike
	All   bool
	Found int64  // pairs that share a mask
	Pairs []Pair // the worst 1,000 of them, worst first
	// of the masks, as far as collisions tell: estimated when Found is not 0, and else at least so many
	EntropyBits float64
	// Words is how many words two payloads were compared over, the fewest. LeastShare is the share of those that must be
	// under one mask, in numbers less than a sixteenth of the circle apart, for the two to be found in 999 of 1,000 cases;
	// above 1 not even all of them suffice.
	Words      int
	LeastShare float64
}

// ReuseOptions says how much to compare.
type ReuseOptions struct {
	MaxPairs int // 0 means DefaultPairs
	Workers  int // 0 means GOMAXPROCS
	Seed     uint64
}

// reuse is a search at work.
type reuse struct {
	samples []Sample
	tops    [][]uint8 // first byte of each word
	first   [][]block // the bits of tops
	opposed [][]block // the bits of 0 less tops
	tests   float64   // for the correction
}

// Reuse compares payloads pair by pair and returns those whose masks cancel. The error says which
// sample is malformed.
func Reuse(ctx context.Context, samples []Sample, o ReuseOptions) (*ReuseResult, error) {
	r := &reuse{samples: samples}
	for i, s := range samples {
		if s.Word != 2 && s.Word != 4 && s.Word != 8 || len(s.Data)%s.Word != 0 {
			return nil, fmt.Errorf("mask reuse: sample %d (%s) has %d bytes in words of %d, want whole words of 2, 4 or 8",
				i, s.ID, len(s.Data), s.Word)
		}
		tops := firstBytes(s)
		r.tops = append(r.tops, tops)
		r.first, r.opposed = append(r.first, planes(tops, false)), append(r.opposed, planes(tops, true))
	}
	pairs, all := r.pairs(orDefault(o.MaxPairs, DefaultPairs), o.Seed)
	r.tests = 2 * float64(max(1, len(pairs)))
	workers := orDefault(o.Workers, runtime.GOMAXPROCS(0))
	found, err := r.search(ctx, pairs, workers)
	if err != nil {
		return nil, err
	}
	result := &ReuseResult{Samples: len(samples), Compared: int64(len(pairs)), All: all,
		EntropyBits: EntropyBits(int64(len(pairs)), int64(len(found)))}
	for _, p := range pairs {
		if n := min(len(r.tops[p[0]]), len(r.tops[p[1]])); n >= leastWords && (result.Words == 0 || n < result.Words) {
			result.Words = n
		}
	}
	result.LeastShare = leastShare(result.Words, r.tests)
	if !all {
		twins, err := r.search(ctx, r.twins(), workers)
		if err != nil {
			return nil, err
		}
		found = append(found, twins...)
	}
	result.sort(found)
	return result, nil
}

// firstBytes returns the first byte of each word of a sample.
func firstBytes(s Sample) []uint8 {
	out := make([]uint8, min(len(s.Data)/s.Word, maxSample))
	for i := range out {
		out[i] = s.Data[(i+1)*s.Word-1]
	}
	return out
}

// comparable reports whether two samples can be compared.
func (r *reuse) comparable(i, j int) bool {
	a, b := r.samples[i], r.samples[j]
	return a.Word == b.Word && min(len(a.Data), len(b.Data)) >= leastEqual
}

// pairs lists the pairs to compare, all of them or a random choice.
func (r *reuse) pairs(limit int, seed uint64) ([][2]int32, bool) {
	n := len(r.samples)
	if n*(n-1)/2 <= limit {
		var all [][2]int32
		for i := range n {
			for j := i + 1; j < n; j++ {
				if r.comparable(i, j) {
					all = append(all, [2]int32{int32(i), int32(j)})
				}
			}
		}
		return all, true
	}
	return r.choice(limit, seed), false
}

func (r *reuse) choice(limit int, seed uint64) [][2]int32 {
	rng := newRand(seed, streamPairs)
	drawn := make([][2]int32, 0, limit)
	for range limit {
		i, j := rng.IntN(len(r.samples)), rng.IntN(len(r.samples))
		if i != j && r.comparable(i, j) {
			drawn = append(drawn, [2]int32{int32(min(i, j)), int32(max(i, j))})
		}
	}
	slices.SortFunc(drawn, comparePairs)
	return slices.Compact(drawn)
}

func comparePairs(a, b [2]int32) int {
	return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
}

// search tests pairs in as many goroutines as there are workers.
func (r *reuse) search(ctx context.Context, pairs [][2]int32, workers int) ([]Pair, error) {
	share := (len(pairs) + workers - 1) / workers
	found := make([][]Pair, workers)
	err := parallel.Each(workers, workers, func(_, w int) error {
		for k, p := range pairs[min(w*share, len(pairs)):min((w+1)*share, len(pairs))] {
			if k%4096 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			if hit, ok := r.test(int(p[0]), int(p[1])); ok {
				found[w] = append(found[w], hit)
			}
		}
		return nil
	})
	return slices.Concat(found...), err
}

func (r *reuse) test(i, j int) (Pair, bool) {
	hit := Pair{A: r.samples[i].ID, B: r.samples[j].ID, I: i, J: j}
	a, b := r.samples[i].Data, r.samples[j].Data
	// nearly all pairs differ in their first bytes, and the race detector follows all that are compared
	if n := min(len(a), len(b)); bytes.Equal(a[:leastEqual], b[:leastEqual]) && bytes.Equal(a[:n], b[:n]) {
		hit.Relation, hit.P = Equal, math.Min(1, math.Pow(256, -float64(n))*r.tests)
		return hit, true
	}
	n := min(len(r.tops[i]), len(r.tops[j]))
	if n < leastWords || !uneven(r.first[i], r.first[j], n) && !uneven(r.first[i], r.opposed[j], n) {
		return hit, false
	}
	differences, sums := relate(r.tops[i][:n], r.tops[j][:n])
	p, _ := chiSquareIf(differences[:], n)
	q, _ := chiSquareIf(sums[:], n)
	hit.Relation, hit.P = Shared, min(1, p*r.tests)
	if q < p {
		hit.Relation, hit.P = Opposed, min(1, q*r.tests)
	}
	return hit, hit.P < reuseLimit
}

// relate counts the first four bits of the wrapped differences and sums of two lists. It only reads them, very many
// times after they were made: the race detector need not follow each byte.
//
//go:norace
func relate(a, b []uint8) (differences, sums [reuseBins]int64) {
	b = b[:len(a)]
	for i, x := range a {
		differences[(x-b[i])>>4]++
		sums[(x+b[i])>>4]++
	}
	return differences, sums
}

// chiSquareIf is chiSquareUniform for counts of n numbers that may be uneven enough to report, and
// 1 for others, of which there are very many.
//
//go:norace
func chiSquareIf(counts []int64, n int) (float64, bool) {
	squares := int64(0)
	for _, c := range counts {
		squares += c * c
	}
	if x := float64(squares)*float64(len(counts))/float64(n) - float64(n); x < 4*float64(len(counts)) {
		return 1, false
	}
	return chiSquareUniform(counts)
}

// power is how far the mean of a normal variable must be above a limit, in standard deviations, for 999 of 1,000 to be.
const power = 3.09

// leastShare says which share of so many words must fall into two bins, alike, beyond chance, for a pair to be reported
// in 999 of 1,000 cases among so many tests. Chi-square with k degrees of freedom has the mean k + m then and the
// variance 2 (k + 2 m), where m is 7 times the squared share for each word.
func leastShare(words int, tests float64) float64 {
	if words == 0 {
		return math.Inf(1)
	}
	const degrees = reuseBins - 1
	limit := 2 * mathext.GammaIncRegCompInv(degrees/2.0, reuseLimit/tests)
	// degrees + m - power sqrt(2 degrees + 4 m) = limit, a square equation in the root
	root := power + math.Sqrt(power*power+limit-degrees/2.0)
	m := (root*root*4 - 2*degrees) / 4
	return math.Sqrt(m / (7 * float64(words)))
}

// twins lists pairs of samples that begin alike, each sample with the last one before it.
func (r *reuse) twins() [][2]int32 {
	last := make(map[string]int32)
	var pairs [][2]int32
	for j, s := range r.samples {
		if len(s.Data) < leastEqual {
			continue
		}
		key := string(append([]byte{byte(s.Word)}, s.Data[:leastEqual]...))
		if i, ok := last[key]; ok {
			pairs = append(pairs, [2]int32{i, int32(j)})
		}
		last[key] = int32(j)
	}
	return pairs
}

// sort keeps the worst of what was found, each pair once.
func (r *ReuseResult) sort(found []Pair) {
	slices.SortStableFunc(found, func(a, b Pair) int {
		return cmp.Or(cmp.Compare(a.P, b.P), cmp.Compare(a.I, b.I), cmp.Compare(a.J, b.J))
	})
	found = slices.CompactFunc(found, func(a, b Pair) bool { return a.I == b.I && a.J == b.J })
	r.Found = int64(len(found))
	r.Pairs = found[:min(len(found), maxFindings)]
}

// EntropyBits estimates the entropy of a mask generator from the pairs of payloads compared and
// those that collide: with k bits, one pair in 2^k does. Without a collision it is a lower bound.
func EntropyBits(pairs, colliding int64) float64 {
	if pairs < 1 {
		return 0
	}
	return math.Log2(float64(pairs) / float64(max(colliding, 1)))
}

// DefaultLags is how far a payload is compared with itself; maxPeriods of what is found is returned.
const (
	DefaultLags = 4096
	maxPeriods  = 16
)

// Period is a distance, in words, at which a payload repeats.
type Period struct {
	Lag   int
	P     float64 // probability of this at any of the distances compared, if every mask is fresh
	Equal float64 // share of the words that are equal at this distance
}

// Periods compares a payload with itself at every distance up to lags words, 0 for DefaultLags, and
// returns those at which masks cancel, worst first: a key stream that repeats inside a payload.
// Multiples of a period show too, and other distances by chance, for a stream with a short period
// has few different words; the period itself comes first. It looks at the first 16,384 words.
func Periods(ctx context.Context, s Sample, lags int) ([]Period, error) {
	if s.Word != 2 && s.Word != 4 && s.Word != 8 || len(s.Data)%s.Word != 0 {
		return nil, fmt.Errorf("period: sample %s has %d bytes in words of %d, want whole words of 2, 4 or 8",
			s.ID, len(s.Data), s.Word)
	}
	tops := firstBytes(s)
	longest := min(orDefault(lags, DefaultLags), len(tops)-leastWords)
	suspects, err := suspectLags(ctx, tops, longest)
	if err != nil {
		return nil, err
	}
	var found []Period
	for _, lag := range suspects {
		n := len(tops) - lag
		differences, _ := relate(tops[lag:], tops[:n])
		p, _ := chiSquareIf(differences[:], n)
		if p = corrected(p, longest); p < reuseLimit {
			found = append(found, Period{Lag: lag, P: p, Equal: equalWords(s, lag, n)})
		}
	}
	slices.SortStableFunc(found, worsePeriod)
	return found[:min(len(found), maxPeriods)], nil
}

// FirstPeriods compares payloads with themselves in as many goroutines as there are workers, 0 for all cores, and
// returns the periods of the first one that has any.
func FirstPeriods(ctx context.Context, samples []Sample, workers int) (at int, periods []Period, err error) {
	found := make([][]Period, len(samples))
	err = parallel.Each(orDefault(workers, runtime.GOMAXPROCS(0)), len(samples), func(_, i int) (err error) {
		found[i], err = Periods(ctx, samples[i], 0)
		return err
	})
	if at = slices.IndexFunc(found, func(p []Period) bool { return len(p) > 0 }); at < 0 || err != nil {
		return 0, nil, err
	}
	return at, found[at], nil
}

// suspectLags lists the distances up to the longest, ascending, at which the bits of bytes look like each other.
func suspectLags(ctx context.Context, tops []uint8, longest int) ([]int, error) {
	var lags []int
	from := planes(tops, false)
	for by := range min(64, longest+1) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		to := moved(from, by)
		for lag := by; lag <= longest; lag += 64 {
			if lag > 0 && uneven(to[lag/64:], from, len(tops)-lag) {
				lags = append(lags, lag)
			}
		}
	}
	slices.Sort(lags)
	return lags, nil
}

// worsePeriod orders periods: those at which most words are equal, then by p-value; sorting keeps
// the shorter of two that are even.
func worsePeriod(a, b Period) int {
	if equalA, equalB := a.Equal > 0.5, b.Equal > 0.5; equalA != equalB {
		return compareDown(a.Equal, b.Equal)
	}
	return cmp.Compare(a.P, b.P)
}

// equalWords returns the share of the first n words that are equal to those lag places on.
func equalWords(s Sample, lag, n int) float64 {
	equal := 0
	for i := range n {
		a, b := s.Data[i*s.Word:][:s.Word], s.Data[(i+lag)*s.Word:][:s.Word]
		if string(a) == string(b) {
			equal++
		}
	}
	return float64(equal) / float64(n)
}
