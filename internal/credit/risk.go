package credit

import "math"

// threshold is the risk above which a person defaults: about 22 in 100 do.
const threshold = 1.55

// noise is the standard deviation of what nobody can know.
const noise = 0.35

// defaults draws whether the person defaults.
func (p *person) defaults() bool {
	return p.risk()+noise*p.draw.NormFloat64() > threshold
}

// risk is smooth in the traits.
func (p *person) risk() float64 {
	t := &p.traits
	linear := 0.75*t.strain - 0.75*t.care - 0.5*t.roots + 0.3*t.appetite
	mismatch := 1.0*t.strain*t.roots + 1.0*t.care*t.appetite
	return linear + mismatch + 1.0*bump(t.strain-1, t.appetite+1)
}

// bump is 1 at the origin of the plane and fades with the distance from it.
func bump(x, y float64) float64 { return math.Exp(-(x*x + y*y) / 1.5) }
