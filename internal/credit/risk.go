package credit

import "math"

const (
	// threshold is the risk above which a person defaults: 22 in 100 do.
	threshold = 1.55
	// noise is the standard deviation of what nobody can know.
	noise = 0.35
)

// risk is smooth in the traits, and most of it lies between firms. Each trait alone tells a
// little. Strain weighs on settled people and is relief to movers, and a careful life goes with
// little shopping: those who break one of these patterns are the ones to worry about, which is
// an exclusive or that no weighted sum of columns can follow. And there is a spot of its own
// where people in strain have all but stopped shopping.
func (t *traits) risk() float64 {
	alone := 0.75*t.strain - 0.75*t.care - 0.5*t.roots + 0.3*t.appetite
	together := t.strain*t.roots + t.care*t.appetite
	return alone + together + bump(t.strain-1, t.appetite+1)
}

// bump is 1 at the origin of the plane and fades with the distance from it.
func bump(x, y float64) float64 { return math.Exp(-(x*x + y*y) / 1.5) }
