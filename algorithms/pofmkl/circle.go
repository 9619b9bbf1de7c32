package pofmkl

import "math"

// arcs is the number of equal arcs of the table of sines and cosines; a power of two. With 1,024
// the table takes 16 KiB, and what is left of an angle is at most pi/1024.
const arcs = 1024

// roundingShift makes a float64 sum lose what stands behind the point: 1.5 x 2^52.
const roundingShift = 3 << 51

// circle holds scale sin and scale cos of every arc's start. It never changes.
type circle struct {
	at [arcs][2]float64 // sine, cosine
}

// newCircle computes the table.
func newCircle(scale float64) *circle {
	c := new(circle)
	for k := range arcs {
		sin, cos := arcStart(k)
		c.at[k] = [2]float64{scale * sin, scale * cos}
	}
	return c
}

// arcStart returns sine and cosine of k/arcs of a turn. It goes by eighths of a turn, so that the
// angle that the library sees is at most pi/4 and axes are exact.
func arcStart(k int) (sin, cos float64) {
	const eighth = arcs / 8
	quarter, rest := (k+eighth)/(2*eighth), (k+eighth)%(2*eighth)-eighth
	s, c := math.Sincos(float64(rest) * (2 * math.Pi / arcs))
	switch quarter % 4 {
	case 0:
		return s, c
	case 1:
		return c, -s
	case 2:
		return -s, -c
	}
	return -c, s
}

// write writes scale sin and scale cos of angles in units of 1/arcs of a turn. All three slices
// have the same length.
//
// An angle is the start of an arc plus a rest of at most half an arc; the table knows the former,
// and for the latter Taylor's polynomials of degree 5 and 4 err by less than 2^-60. The sum rule
// joins them; the total is within 4e-16 scale of the exact value of the angle given, for angles
// below 2^40. There is no branch, so that the loop runs at the speed of its multiplications.
func (c *circle) write(sin, cos, angles []float64) {
	const unit = 2 * math.Pi / arcs
	sin, cos = sin[:len(angles)], cos[:len(angles)]
	for i, u := range angles {
		shifted := u + roundingShift
		start := &c.at[math.Float64bits(shifted)%arcs]
		r := (u - (shifted - roundingShift)) * unit
		rr := r * r
		s := r + r*rr*(-1.0/6+rr*(1.0/120))
		v := rr * (-0.5 + rr*(1.0/24)) // cosine less one
		sin[i] = start[0] + (start[0]*v + start[1]*s)
		cos[i] = start[1] + (start[1]*v - start[0]*s)
	}
}
