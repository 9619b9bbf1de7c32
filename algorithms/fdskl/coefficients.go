package fdskl

// coefficients are the alphas of one active party, kept as scaled * decay: the shrinking of step 6
// is one multiplication, not a loop.
type coefficients struct {
	scaled []float64
	decay  float64
}

// shrink multiplies every coefficient by factor.
func (c *coefficients) shrink(factor float64) {
	c.decay *= factor
	if c.decay > 1e-100 {
		return
	}
	for i := range c.scaled {
		c.scaled[i] *= c.decay
	}
	c.decay = 1
}

// values returns the coefficients themselves.
func (c *coefficients) values() []float64 {
	out := make([]float64, len(c.scaled))
	for i, a := range c.scaled {
		out[i] = a * c.decay
	}
	return out
}
