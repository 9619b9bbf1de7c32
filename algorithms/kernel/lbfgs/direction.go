package lbfgs

// mul returns a b, rounded: the conversion keeps compilers from fusing the product into a sum,
// after which parties on different machines would decide differently.
func mul(a, b float64) float64 { return float64(a * b) }

// products is a symmetric n by n matrix of inner products.
type products struct {
	n    int
	data []float64
}

// newProducts returns a zero matrix.
func newProducts(n int) products { return products{n, make([]float64, n*n)} }

// at returns an entry.
func (p products) at(i, j int) float64 { return p.data[i*p.n+j] }

// set sets an entry and its mirror image.
func (p products) set(i, j int, v float64) { p.data[i*p.n+j], p.data[j*p.n+i] = v, v }

// with returns the inner product of a combination of the basis with its j-th vector.
func (p products) with(combination []float64, j int) float64 {
	sum := 0.0
	for i, c := range combination {
		sum += mul(c, p.at(i, j))
	}
	return sum
}

// direction returns the quasi-Newton direction -H g as a combination of the basis, which is the
// pairs' steps, their changes of gradient, and the gradient: the two-loop recursion (Nocedal and
// Wright, Algorithm 7.4) carried out on coefficients (Chen, Wang and Zhou, Algorithm 3).
func (p products) direction() []float64 {
	k := p.n / 2
	step, change := func(i int) int { return i }, func(i int) int { return k + i }
	d := make([]float64, p.n)
	d[2*k] = -1
	a := make([]float64, k)
	for i := k - 1; i >= 0; i-- {
		a[i] = p.with(d, step(i)) / p.at(step(i), change(i))
		d[change(i)] -= a[i]
	}
	if k > 0 {
		scale := p.at(step(k-1), change(k-1)) / p.at(change(k-1), change(k-1))
		for i := range d {
			d[i] = mul(d[i], scale)
		}
	}
	for i := range k {
		b := p.with(d, change(i)) / p.at(step(i), change(i))
		d[step(i)] += a[i] - b
	}
	return d
}
