package cohort

import (
	"bytes"
	"fmt"
	"math/bits"
)

// set is a set of parties: a bit for each, the lowest of the first byte for party 0.
type set []byte

// setSize returns the bytes of a set of that many parties.
func setSize(parties int) int { return (parties + 7) / 8 }

// newSet returns the set of the members among that many parties.
func newSet(parties int, members ...int) set {
	s := make(set, setSize(parties))
	for _, i := range members {
		s.add(i)
	}
	return s
}

// parseSet reads a set; a bit beyond the parties is an error.
func parseSet(b []byte, parties int) (set, error) {
	if len(b) != setSize(parties) {
		return nil, fmt.Errorf("a set of %d bytes, want %d for %d parties", len(b), setSize(parties), parties)
	}
	if rest := parties % 8; rest != 0 && b[len(b)-1]>>rest != 0 {
		return nil, fmt.Errorf("a set with members beyond the %d parties", parties)
	}
	return set(bytes.Clone(b)), nil
}

func (s set) has(i int) bool { return s[i/8]>>(i%8)&1 == 1 }
func (s set) add(i int)      { s[i/8] |= 1 << (i % 8) }
func (s set) remove(i int)   { s[i/8] &^= 1 << (i % 8) }

// clone returns a copy.
func (s set) clone() set { return set(bytes.Clone(s)) }

// count returns the number of members.
func (s set) count() int {
	n := 0
	for _, b := range s {
		n += bits.OnesCount8(b)
	}
	return n
}

// members lists the set, ascending.
func (s set) members() []int {
	list := make([]int, 0, s.count())
	for i := range 8 * len(s) {
		if s.has(i) {
			list = append(list, i)
		}
	}
	return list
}

// within reports whether every member is in other.
func (s set) within(other set) bool { return s.without(other).count() == 0 }

// meets reports whether the two have a member in common.
func (s set) meets(other set) bool {
	for i := range s {
		if s[i]&other[i] != 0 {
			return true
		}
	}
	return false
}

// join adds all members of other.
func (s set) join(other set) {
	for i := range s {
		s[i] |= other[i]
	}
}

// without returns the members that are not in other.
func (s set) without(other set) set {
	r := s.clone()
	for i := range r {
		r[i] &^= other[i]
	}
	return r
}

// among keeps those of a list that are in the set.
func (s set) among(list []int) []int {
	var kept []int
	for _, i := range list {
		if s.has(i) {
			kept = append(kept, i)
		}
	}
	return kept
}
