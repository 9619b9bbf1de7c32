package kernel

import "math"

// mul returns a b, rounded: the conversion keeps compilers from fusing the product into a sum,
// which would give other bits on other machines.
func mul(a, b float64) float64 { return float64(a * b) }

// normal turns 64 uniform bits into a standard normal by inversion. The upper 52 bits name the
// middle of one of 2^52 equal cells of (0, 1), exactly; the lower 12 are not used.
// Neither it nor anything it calls uses an operation that IEEE 754 does not fix to the bit.
func normal(bits uint64) float64 {
	return quantile((float64(bits>>12) + 0.5) * 0x1p-52)
}

// quantile is the inverse of the standard normal distribution function for 0 < p < 1, with a
// relative error of about 1e-16: algorithm AS 241, routine PPND16 (Wichura 1988, Applied
// Statistics 37, 477-484), whose three rational functions are kept as published.
func quantile(p float64) float64 {
	q := p - 0.5
	if math.Abs(q) <= 0.425 {
		r := 0.180625 - mul(q, q)
		return mul(q, poly(r, &centreTop)) / poly(r, &centreBottom)
	}
	z := tail(math.Sqrt(-logarithm(min(p, 1-p))))
	if q < 0 {
		return -z
	}
	return z
}

// tail returns the quantile at distance exp(-r^2) from the end.
func tail(r float64) float64 {
	if r <= 5 {
		return poly(r-1.6, &middleTop) / poly(r-1.6, &middleBottom)
	}
	return poly(r-5, &farTop) / poly(r-5, &farBottom)
}

// poly evaluates a polynomial, lowest coefficient first, by Horner's rule.
func poly(x float64, c *[8]float64) float64 {
	s := mul(c[7], x) + c[6]
	s = mul(s, x) + c[5]
	s = mul(s, x) + c[4]
	s = mul(s, x) + c[3]
	s = mul(s, x) + c[2]
	s = mul(s, x) + c[1]
	return mul(s, x) + c[0]
}

// The coefficients of AS 241: a and b near the centre, c and d further out, e and f in the tail.
var (
	centreTop = [8]float64{
		3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
		4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3}
	centreBottom = [8]float64{
		1, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
		2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3}
	middleTop = [8]float64{
		1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
		1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4}
	middleBottom = [8]float64{
		1, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
		1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9}
	farTop = [8]float64{
		6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
		2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7}
	farBottom = [8]float64{
		1, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
		7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15}
)

// logarithm is the natural logarithm of a positive, normal x with an error below one unit in
// the last place: the method and constants of e_log.c in fdlibm (Sun Microsystems 1993), with
// every product rounded on its own. math.Log differs in the last bit between machines.
func logarithm(x float64) float64 {
	const (
		ln2Hi = 6.93147180369123816490e-01
		ln2Lo = 1.90821492927058770002e-10
		l1    = 6.666666666666735130e-01
		l2    = 3.999999999940941908e-01
		l3    = 2.857142874366239149e-01
		l4    = 2.222219843214978396e-01
		l5    = 1.818357216161805012e-01
		l6    = 1.531383769920937332e-01
		l7    = 1.479819860511658591e-01
	)
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, e = 2*m, e-1
	}
	f, k := m-1, float64(e)
	s := f / (2 + f)
	z := mul(s, s)
	w := mul(z, z)
	odd := mul(z, l1+mul(w, l3+mul(w, l5+mul(w, l7))))
	even := mul(w, l2+mul(w, l4+mul(w, l6)))
	half := mul(0.5*f, f)
	rest := mul(s, half+(odd+even)) + mul(k, ln2Lo)
	return mul(k, ln2Hi) - ((half - rest) - f)
}
