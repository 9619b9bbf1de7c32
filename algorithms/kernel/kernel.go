package kernel

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Kind is a family of shift-invariant kernels.
type Kind uint8

// The families, with r = |x - x'|_2. The zero Kind is none of them.
const (
	Gaussian Kind = iota + 1 // exp(-r^2 / (2 sigma^2))
	Laplace                  // exp(-|x - x'|_1 / sigma)
	Matern32                 // (1 + sqrt(3) r/sigma) exp(-sqrt(3) r/sigma)
	Matern52                 // (1 + sqrt(5) r/sigma + 5 r^2/(3 sigma^2)) exp(-sqrt(5) r/sigma)
)

// kindNames are the names that job files use, in the order of the constants.
func kindNames() []string { return []string{"gaussian", "laplace", "matern32", "matern52"} }

// String returns the name that job files use.
func (k Kind) String() string { return nameOf(kindNames(), int(k)) }

// ParseKind reads a kind's name. The error lists the names there are.
func ParseKind(s string) (Kind, error) {
	n, err := parseName("kernel", kindNames(), s)
	return Kind(n), err
}

// nameOf returns the name of the i-th constant, counted from 1.
func nameOf(names []string, i int) string {
	if i < 1 || i > len(names) {
		return fmt.Sprintf("unknown(%d)", i)
	}
	return names[i-1]
}

// parseName returns the place of s in names, counted from 1.
func parseName(what string, names []string, s string) (int, error) {
	if i := slices.Index(names, s); i >= 0 {
		return i + 1, nil
	}
	return 0, fmt.Errorf("unknown %s %.40q: it must be one of %s", what, s, strings.Join(names, ", "))
}

// The widths a Kernel may have: beyond them turns lose all meaning.
const (
	minSigma = 1e-6
	maxSigma = 1e9
)

// Kernel is a shift-invariant kernel on real vectors.
type Kernel struct {
	Kind  Kind
	Sigma float64 // width, in units of the normalised columns
}

// Validate refuses an unknown kind and a width that is no positive number of reasonable size.
func (k Kernel) Validate() error {
	if k.Kind < Gaussian || k.Kind > Matern52 {
		return fmt.Errorf("unknown kernel kind %d: it must be one of %s", k.Kind, strings.Join(kindNames(), ", "))
	}
	if !(k.Sigma >= minSigma && k.Sigma <= maxSigma) {
		return fmt.Errorf("kernel width sigma is %v: it must lie in [%g, %g]", k.Sigma, minSigma, maxSigma)
	}
	return nil
}

// Value returns K(x, y). Random features never need it; tests and small exact methods do.
// x and y have the same length.
func (k Kernel) Value(x, y []float64) float64 {
	var one, two float64
	for i, v := range x {
		d := v - y[i]
		one += math.Abs(d)
		two += d * d
	}
	r := math.Sqrt(two) / k.Sigma
	switch k.Kind {
	case Gaussian:
		return math.Exp(-r * r / 2)
	case Laplace:
		return math.Exp(-one / k.Sigma)
	case Matern32:
		s := math.Sqrt(3) * r
		return (1 + s) * math.Exp(-s)
	case Matern52:
		s := math.Sqrt(5) * r
		return (1 + s + s*s/3) * math.Exp(-s)
	}
	return math.NaN()
}
