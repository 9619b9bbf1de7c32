package lab

import (
	"fmt"
	"math"
	"slices"
)

// Measured is the mean and the standard deviation of one figure over several runs.
type Measured struct {
	Mean      float64 `json:"mean"`
	Deviation float64 `json:"sd"` // with n-1; 0 for one run
}

// Text renders mean and deviation with so many digits.
func (m Measured) Text(digits int) string {
	return fmt.Sprintf("%.*f ± %.*f", digits, m.Mean, digits, m.Deviation)
}

// Spread returns mean and deviation of one or more values.
func Spread(values []float64) Measured {
	var m Measured
	for _, v := range values {
		m.Mean += v / float64(len(values))
	}
	if len(values) == 1 {
		return m
	}
	for _, v := range values {
		m.Deviation += (v - m.Mean) * (v - m.Mean) / float64(len(values)-1)
	}
	m.Deviation = math.Sqrt(m.Deviation)
	return m
}

// Mean returns the mean of one or more values.
func Mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// Median returns the middle one of one or more values, or the mean of the two in the middle.
func Median(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// Each maps values to one of their figures, or to a series of figures.
func Each[T, F any](values []T, figure func(T) F) []F {
	figures := make([]F, len(values))
	for i, v := range values {
		figures[i] = figure(v)
	}
	return figures
}

// Exponent fits figure = a size^b by least squares of the logarithms and returns b.
func Exponent(sizes, figures []float64) float64 {
	n := float64(len(sizes))
	var x, y, xx, xy float64
	for i, size := range sizes {
		u, v := math.Log(size), math.Log(figures[i])
		x, y, xx, xy = x+u/n, y+v/n, xx+u*u/n, xy+u*v/n
	}
	return (xy - x*y) / (xx - x*x)
}
