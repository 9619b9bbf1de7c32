package kernel

import "math"

// Loss is a convex, differentiable loss L(f, y) of a score f against a target y
// (Gu, Dang, Li and Huang, "FDSKL", Table 1).
type Loss uint8

// The losses. For classification y is -1 or +1. The zero Loss is none of them.
const (
	Square      Loss = iota + 1 // (f - y)^2, without a factor 1/2
	Logistic                    // log(1 + exp(-y f))
	SmoothHinge                 // with z = y f: 1/2 - z below 0, (1 - z)^2 / 2 up to 1, then 0
)

// lossNames are the names that job files use, in the order of the constants.
func lossNames() []string { return []string{"square", "logistic", "smooth-hinge"} }

// String returns the name that job files use.
func (l Loss) String() string { return nameOf(lossNames(), int(l)) }

// ParseLoss reads a loss's name. The error lists the names there are.
func ParseLoss(s string) (Loss, error) {
	n, err := parseName("loss", lossNames(), s)
	return Loss(n), err
}

// Value returns L(f, y); NaN for an unknown loss.
func (l Loss) Value(f, y float64) float64 {
	switch l {
	case Square:
		return (f - y) * (f - y)
	case Logistic:
		return softplus(-y * f)
	case SmoothHinge:
		z := y * f
		switch {
		case z <= 0:
			return 0.5 - z
		case z < 1:
			return (1 - z) * (1 - z) / 2
		}
		return 0
	}
	return math.NaN()
}

// Derivative returns dL/df at (f, y); NaN for an unknown loss.
func (l Loss) Derivative(f, y float64) float64 {
	switch l {
	case Square:
		return 2 * (f - y)
	case Logistic:
		return -y * Sigmoid(-y*f)
	case SmoothHinge:
		return -y * min(1, max(0, 1-y*f))
	}
	return math.NaN()
}

// Curvature returns the least upper bound of the second derivative in f; NaN for an unknown loss.
func (l Loss) Curvature() float64 {
	switch l {
	case Square:
		return 2
	case Logistic:
		return 0.25
	case SmoothHinge:
		return 1
	}
	return math.NaN()
}

// Second returns the second derivative in f at (f, y), of the smooth hinge at 0 that of its curved side; NaN for an
// unknown loss.
func (l Loss) Second(f, y float64) float64 {
	switch l {
	case Square:
		return 2
	case Logistic:
		p := Sigmoid(f)
		return p * (1 - p)
	case SmoothHinge:
		if z := y * f; z >= 0 && z < 1 {
			return 1
		}
		return 0
	}
	return math.NaN()
}

// Classifies reports whether the loss wants targets -1 and +1 only.
func (l Loss) Classifies() bool { return l == Logistic || l == SmoothHinge }

// softplus returns log(1 + exp(z)) without overflow for large z or cancellation for small.
func softplus(z float64) float64 {
	return max(z, 0) + math.Log1p(math.Exp(-math.Abs(z)))
}

// Sigmoid returns 1 / (1 + exp(-z)), the probability behind a logistic score.
func Sigmoid(z float64) float64 {
	if z >= 0 {
		return 1 / (1 + math.Exp(-z))
	}
	e := math.Exp(z)
	return e / (1 + e)
}
