package rss

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

// The toy: words of three bits, one shift by one bit, and values from -2 to 1.
const (
	toyBits = 3
	toyAll  = 1 << (6 * toyBits) // all six pads' words
	toyMask = 1<<toyBits - 1
)

// toyPads is the Source of the toy: value number i has the i-th of all combinations of the six pads' words, three bits
// each. One use may be left out.
type toyPads struct{ blank Use }

// Pad implements Source.
func (p toyPads) Pad(_ Role, _ Place, use Use) (Pad, error) { return toyPad{p, use}, nil }

// toyPad is one of the six.
type toyPad struct {
	toyPads
	use Use
}

// Words implements Pad.
func (p toyPad) Words(dst []uint64, at int) {
	clear(dst)
	for i := range dst {
		if p.use != p.blank {
			dst[i] = toyWord(at+i, p.use)
		}
	}
}

// toyWord is the word of a pad in the i-th combination.
func toyWord(i int, use Use) uint64 { return uint64(i) >> (toyBits * int(use-useRho)) & toyMask }

// toyKnown lists the pads that the party in each place of an order has.
func toyKnown() [Roles][]Use {
	return [Roles][]Use{{useRho, useV, useT, useM, useN}, {useRho, useV, useM0}, {useT, useM, useN, useM0}}
}

// toyViews truncates all combinations at once, by the package's own code, and counts the views of the party in one
// place of the order: the pads that it has and the words that it receives. What goes modulo 2^64 is looked at modulo 8
// as well: it is made of inner pads and of three-bit words by sums and products alone, so that its low three bits
// follow from theirs.
func toyViews(t *testing.T, order Order, place int, terms [Roles]uint64, blank Use) []int {
	t.Helper()
	var columns [][]uint64 // of the view, one word each for every combination
	for _, use := range toyKnown()[place] {
		known := make([]uint64, toyAll)
		toyPad{toyPads{blank}, use}.Words(known, 0)
		columns = append(columns, known)
	}
	received := toyRun(t, order, place, terms, blank)
	for _, words := range received {
		columns = append(columns, words)
	}
	count := make([]int, toyAll) // pads and words are six together
	for i := range count {
		v := uint64(0)
		for _, c := range columns {
			v = v<<toyBits | c[i]&toyMask
		}
		count[v]++
	}
	return count
}

// toyReceived says what words a party has received: from whom, in which message, and which of two words a value.
type toyReceived struct {
	from Role
	kind string
	word int
}

// toyRun runs a truncation of all combinations, which has parts, and returns what the party in one place received.
func toyRun(t *testing.T, order Order, place int, terms [Roles]uint64, blank Use) map[toyReceived][]uint64 {
	t.Helper()
	h, received := newHub(), make(map[toyReceived][]uint64)
	var mu sync.Mutex
	h.heard = func(kind string, from, to Role, words []uint64) {
		if to != order[place] {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		each := 1
		if strings.HasSuffix(kind, SuffixOut) {
			each = 2
		}
		for word := range each {
			of, n := toyReceived{from, kind, word}, len(words)/each
			received[of] = append(received[of], words[word*n:(word+1)*n]...)
		}
	}
	var all sync.WaitGroup
	for at, r := range order {
		all.Go(func() {
			p := New(r, wireOf{h, r}, toyPads{blank}, 1)
			if _, err := p.Truncate(t.Context(), "toy", toyBits, slices.Repeat(terms[at:at+1], toyAll), order,
				Shift{toyAll, 1}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	return received
}

// toyInputs are what the others may have beside a party with a certain term: for all values of the range, two
// ways to share them out.
func toyInputs(place int) (inputs [][Roles]uint64) {
	const own = 5
	for x := -2; x < 2; x++ {
		for _, one := range []uint64{0, 3} {
			var terms [Roles]uint64
			terms[place] = own
			terms[(place+1)%Roles] = one
			terms[(place+2)%Roles] = (uint64(x) - own - one) & toyMask
			inputs = append(inputs, terms)
		}
	}
	return inputs
}

// toyDiscloses returns how many views of a party are not as frequent for every input as for the first.
func toyDiscloses(t *testing.T, order Order, place int, blank Use) int {
	t.Helper()
	var want []int
	differ := make([]bool, toyAll)
	n := 0
	inputs := toyInputs(place)
	if !thorough { // the ends of the range, and the last as it is shared out otherwise
		inputs = [][Roles]uint64{inputs[0], inputs[6], inputs[7]}
	}
	for _, terms := range inputs {
		got := toyViews(t, order, place, terms, blank)
		if want == nil {
			want = got
		}
		for v := range got {
			if got[v] != want[v] && !differ[v] {
				differ[v] = true
				n++
			}
		}
	}
	return n
}

// TestToyViewsAreEquallyFrequentForAllInputs goes through all pads: whatever the value and however it is shared out
// between the others, a party's view comes as often, and for all the combinations each view once.
func TestToyViewsAreEquallyFrequentForAllInputs(t *testing.T) {
	for _, order := range orders() {
		if !thorough && order != FirstOrder() {
			continue
		}
		for place := range Roles {
			t.Run(fmt.Sprint(order, place), func(t *testing.T) {
				for i, terms := range toyInputs(place) {
					if !thorough && i%3 != 0 { // three of the eight
						continue
					}
					views := toyViews(t, order, place, terms, 0)
					if v := slices.IndexFunc(views, func(n int) bool { return n != 1 }); v >= 0 {
						t.Errorf("terms %v: view %o comes %d times, want once", terms, v, views[v])
					}
				}
			})
		}
	}
}

// TestToyViewsDiscloseWithoutAPad leaves out one pad at a time: the party that lacks it can tell inputs apart, and
// the other two cannot.
func TestToyViewsDiscloseWithoutAPad(t *testing.T) {
	hides := map[Use]int{useRho: 2, useV: 2, useT: 1, useM: 1, useN: 1, useM0: 0} // from which place
	for use, from := range hides {
		for place := range Roles {
			if !thorough && place != from {
				continue
			}
			if n := toyDiscloses(t, FirstOrder(), place, use); n > 0 != (place == from) {
				t.Errorf("without pad %d, %d views of the party in place %d are not equally frequent", use, n, place+1)
			}
		}
	}
}
