package graph

import (
	"encoding/binary"
	"math"
	"testing"
)

// trials is how many graphs a simulation draws.
const trials = 1500

// scene is a sum whose first parties are corrupt and whose last ones drop out; the graph is random.
type scene struct {
	*picker
	degree, threshold int
}

func (s *scene) isCorrupt(party int) bool { return party < s.corrupt }
func (s *scene) isDropped(party int) bool { return party >= s.n-s.dropout }
func (s *scene) isGone(party int) bool    { return s.isCorrupt(party) || s.isDropped(party) }

// fails says what one graph fails.
func (s *scene) fails(g *Graph) (insecure, cut, lost bool) {
	for party := range s.n {
		corrupt, answer := 0, 0
		for _, other := range g.Neighbours(party) {
			if s.isCorrupt(other) {
				corrupt++
			}
			if !s.isDropped(other) {
				answer++
			}
		}
		insecure = insecure || !s.isCorrupt(party) && 2*s.threshold <= s.degree+corrupt
		lost = lost || answer < s.threshold
	}
	return insecure, !connected(g, s.n, s.isGone), lost
}

// connected reports whether the parties that are not gone hang together.
func connected(g *Graph, n int, gone func(int) bool) bool {
	seen, left := make([]bool, n), 0
	var queue []int
	for p := range n {
		if !gone(p) {
			left++
			if queue == nil {
				queue, seen[p] = []int{p}, true
			}
		}
	}
	for i := 0; i < len(queue); i++ {
		for _, other := range g.Neighbours(queue[i]) {
			if !gone(other) && !seen[other] {
				seen[other], queue = true, append(queue, other)
			}
		}
	}
	return len(queue) == left
}

// rates draws graphs and returns how often each condition fails.
func (s *scene) rates() (insecure, cut, lost float64) {
	parties := indices(s.n)
	var failed [3]int
	for trial := range trials {
		var seed [32]byte
		binary.LittleEndian.PutUint64(seed[:], uint64(trial))
		a, b, c := s.fails(New(seed, parties, s.degree))
		for i, f := range []bool{a, b, c} {
			if f {
				failed[i]++
			}
		}
	}
	return float64(failed[0]) / trials, float64(failed[1]) / trials, float64(failed[2]) / trials
}

func indices(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// within reports whether a rate is at most a bound, give or take four standard deviations.
func within(rate, log2Bound float64) bool {
	bound := math.Exp2(log2Bound)
	return rate <= bound+4*math.Sqrt(bound/trials)
}

// TestPickedGraphsFailNoMoreThanWanted, with targets weak enough to see failures.
func TestPickedGraphsFailNoMoreThanWanted(t *testing.T) {
	weak, some := targets{secure: -3, connected: -4, correct: -3}, 0.0
	for _, tolerance := range []Tolerance{{0.1, 0.1}, {0.1, 0.2}, {0.3, 0.1}, {0.2, 0.3}} {
		p := newPicker(60, tolerance, weak)
		c, err := p.pick(tolerance, true)
		if err != nil || c.Complete {
			t.Fatalf("%+v: picked %+v, error %v", tolerance, c, err)
		}
		insecure, cut, lost := (&scene{p, c.Degree, c.Threshold}).rates()
		t.Logf("%+v: %+v fails with rates %v, %v, %v", tolerance, c, insecure, cut, lost)
		if !within(insecure, weak.secure) || !within(cut, weak.connected) || !within(lost, weak.correct) {
			t.Errorf("%+v: %+v fails with rates %v, %v, %v, want at most 1/8, 1/16, 1/8", tolerance, c, insecure, cut, lost)
		}
		some += insecure + lost
	}
	if some == 0 {
		t.Error("nothing ever failed: the simulation would not see a failure")
	}
}

// TestTheBoundsHoldOneByOne, near enough to the rates to be worth having: the union over n counts
// no failure more than a few times.
func TestTheBoundsHoldOneByOne(t *testing.T) {
	for _, s := range []scene{
		{newPicker(60, Tolerance{0.2, 0.2}, paper), 16, 12},
		{newPicker(60, Tolerance{0.3, 0.1}, paper), 20, 17},
		{newPicker(60, Tolerance{0.4, 0.2}, paper), 12, 10},
		{newPicker(61, Tolerance{0.1, 0.4}, paper), 10, 6},
	} {
		insecure, cut, lost := s.rates()
		for name, c := range map[string]struct{ rate, bound float64 }{
			"insecure": {insecure, s.around(s.corrupt, s.degree, 2*s.threshold-s.degree)},
			"cut":      {cut, s.cut(s.degree)},
			"lost":     {lost, s.around(s.dropout, s.degree, s.degree-s.threshold+1)},
		} {
			t.Logf("degree %d: %s at a rate of %v, bound 2^%.2f", s.degree, name, c.rate, c.bound)
			if !within(c.rate, c.bound) {
				t.Errorf("degree %d: %s at a rate of %v, above 2^%.2f", s.degree, name, c.rate, c.bound)
			}
			if c.bound > -5 && c.rate < math.Exp2(min(0, c.bound))/16 {
				t.Errorf("degree %d: %s at a rate of %v only, far below 2^%.2f", s.degree, name, c.rate, c.bound)
			}
		}
	}
}
