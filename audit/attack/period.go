package attack

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

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
		return nil, fmt.Errorf("period: sample %s has %d bytes in words of %d, want whole words of 2, 4 or 8", s.ID, len(s.Data), s.Word)
	}
	tops := firstBytes(s)
	longest := min(orDefault(lags, DefaultLags), len(tops)-leastWords)
	var found []Period
	for lag := 1; lag <= longest; lag++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
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
