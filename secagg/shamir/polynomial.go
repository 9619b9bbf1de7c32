package shamir

// polynomial is given by its values at distinct points, in barycentric form: with w_j the inverse
// of the product of (at_j - at_m) over m but j, and y_j the value at at_j,
//
//	f(x) = (product of (x - at_j)) * (sum of w_j*y_j / (x - at_j)).
type polynomial struct {
	at      []int
	terms   [Words][]uint64 // w_j*y_j by word
	inverse []uint64        // 1/(x - at_j) for the x in hand
}

func newPolynomial(points int) *polynomial {
	buffer := make([]uint64, (Words+1)*points)
	f := &polynomial{at: make([]int, points), inverse: buffer[:points]}
	for w := range f.terms {
		f.terms[w] = buffer[(w+1)*points : (w+2)*points]
	}
	return f
}

// put sets point j: its place, its weight and the value there.
func (f *polynomial) put(j, at int, weight uint64, value *Element) {
	f.at[j] = at
	for w := range f.terms {
		f.terms[w][j] = mul(weight, value[w])
	}
}

// evaluate returns the value at x, none of the points; scale is the product of (x - at_j).
func (f *polynomial) evaluate(s *Scheme, x int, scale uint64) Element {
	for j, at := range f.at {
		f.inverse[j] = s.inverse[x-at+s.last]
	}
	var value Element
	for w := range value {
		value[w] = mul(scale, dot(f.inverse, f.terms[w]))
	}
	return value
}
