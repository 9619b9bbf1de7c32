package rss

// Share is one party's two components of a vector of shared words: party i has component i+1 in X and
// component i+2 in Y, counted modulo 3. Outside the three both are nil. Methods that are called in hundreds of places,
// each for a whole vector, are not inlined: the program is smaller.
type Share struct{ X, Y []uint64 }

// Len returns how many words are shared.
func (s Share) Len() int { return len(s.X) }

// Slice returns words [lo, hi).
//
//go:noinline
func (s Share) Slice(lo, hi int) Share {
	if s.X == nil {
		return s
	}
	return Share{s.X[lo:hi], s.Y[lo:hi]}
}

// Clone returns a copy.
//
//go:noinline
func (s Share) Clone() Share {
	return Share{append([]uint64(nil), s.X...), append([]uint64(nil), s.Y...)}
}

// Add adds t to s.
//
//go:noinline
func (s Share) Add(t Share) {
	for i := range s.X {
		s.X[i] += t.X[i]
		s.Y[i] += t.Y[i]
	}
}

// Zero returns shares of n zeros at a party of the given role.
func Zero(r Role, n int) Share {
	if r == Outside {
		return Share{}
	}
	return Share{make([]uint64, n), make([]uint64, n)}
}

// AddPublic adds a public constant to word i: it becomes part of component 0, which the keeper and the
// helper hold.
func (s Share) AddPublic(r Role, i int, c uint64) {
	switch r {
	case Keeper:
		s.Y[i] += c
	case Helper:
		s.X[i] += c
	}
}

// Components builds a party's share from all that it knows; the component of the party's own number
// is not looked at.
func Components(r Role, c [Roles][]uint64) Share {
	if r == Outside {
		return Share{}
	}
	return Share{c[(r+1)%Roles], c[(r+2)%Roles]}
}

// Reconstruct adds the three components that any two parties have together.
func Reconstruct(label, keeper Share) []uint64 {
	out := make([]uint64, label.Len())
	for i := range out {
		out[i] = label.X[i] + label.Y[i] + keeper.Y[i]
	}
	return out
}

// AddTo adds c times the shared vector to a term: the terms of the three parties then have grown by c
// times the vector itself.
//
//go:noinline
func (s Share) AddTo(term []uint64, c uint64) {
	for i, x := range s.X {
		term[i] += c * x
	}
}
