package ring

import "github.com/hanse-project/hanse/internal/raced"

// The inner loops in plain Go.

// tileSums is written out: a loop over the pairs takes half as long again.
//
//go:norace
func tileSums(p, q []uint64) (c00, c01, c10, c11 uint64) {
	raced.Read(p)
	raced.Read(q)
	q = q[:len(p)]
	for k := 0; k <= len(p)-32; k += 32 {
		c00 += (p[k] + q[k]) * (p[k+2] + q[k+2])
		c01 += (p[k] + q[k+1]) * (p[k+2] + q[k+3])
		c10 += (p[k+1] + q[k]) * (p[k+3] + q[k+2])
		c11 += (p[k+1] + q[k+1]) * (p[k+3] + q[k+3])

		c00 += (p[k+4] + q[k+4]) * (p[k+6] + q[k+6])
		c01 += (p[k+4] + q[k+5]) * (p[k+6] + q[k+7])
		c10 += (p[k+5] + q[k+4]) * (p[k+7] + q[k+6])
		c11 += (p[k+5] + q[k+5]) * (p[k+7] + q[k+7])

		c00 += (p[k+8] + q[k+8]) * (p[k+10] + q[k+10])
		c01 += (p[k+8] + q[k+9]) * (p[k+10] + q[k+11])
		c10 += (p[k+9] + q[k+8]) * (p[k+11] + q[k+10])
		c11 += (p[k+9] + q[k+9]) * (p[k+11] + q[k+11])

		c00 += (p[k+12] + q[k+12]) * (p[k+14] + q[k+14])
		c01 += (p[k+12] + q[k+13]) * (p[k+14] + q[k+15])
		c10 += (p[k+13] + q[k+12]) * (p[k+15] + q[k+14])
		c11 += (p[k+13] + q[k+13]) * (p[k+15] + q[k+15])

		c00 += (p[k+16] + q[k+16]) * (p[k+18] + q[k+18])
		c01 += (p[k+16] + q[k+17]) * (p[k+18] + q[k+19])
		c10 += (p[k+17] + q[k+16]) * (p[k+19] + q[k+18])
		c11 += (p[k+17] + q[k+17]) * (p[k+19] + q[k+19])

		c00 += (p[k+20] + q[k+20]) * (p[k+22] + q[k+22])
		c01 += (p[k+20] + q[k+21]) * (p[k+22] + q[k+23])
		c10 += (p[k+21] + q[k+20]) * (p[k+23] + q[k+22])
		c11 += (p[k+21] + q[k+21]) * (p[k+23] + q[k+23])

		c00 += (p[k+24] + q[k+24]) * (p[k+26] + q[k+26])
		c01 += (p[k+24] + q[k+25]) * (p[k+26] + q[k+27])
		c10 += (p[k+25] + q[k+24]) * (p[k+27] + q[k+26])
		c11 += (p[k+25] + q[k+25]) * (p[k+27] + q[k+27])

		c00 += (p[k+28] + q[k+28]) * (p[k+30] + q[k+30])
		c01 += (p[k+28] + q[k+29]) * (p[k+30] + q[k+31])
		c10 += (p[k+29] + q[k+28]) * (p[k+31] + q[k+30])
		c11 += (p[k+29] + q[k+29]) * (p[k+31] + q[k+31])
	}
	return c00, c01, c10, c11
}

// dot is Dot.
//
//go:norace
func dot[W Word](x, y []W) W {
	raced.Read(x)
	raced.Read(y)
	var a, b, c, e W
	y = y[:len(x)]
	i := 0
	for ; i <= len(x)-4; i += 4 {
		a += x[i] * y[i]
		b += x[i+1] * y[i+1]
		c += x[i+2] * y[i+2]
		e += x[i+3] * y[i+3]
	}
	for ; i < len(x); i++ {
		a += x[i] * y[i]
	}
	return a + b + c + e
}

// dot4 is four of dot with the same v; all slices have the same length.
//
//go:norace
func dot4[W Word](a, b, c, e, v []W) (a0, b0, c0, e0 W) {
	raced.Read(a)
	raced.Read(b)
	raced.Read(c)
	raced.Read(e)
	raced.Read(v)
	n := len(v)
	a, b, c, e = a[:n], b[:n], c[:n], e[:n]
	i := 0
	for ; i <= n-4; i += 4 {
		a0 += a[i] * v[i]
		b0 += b[i] * v[i]
		c0 += c[i] * v[i]
		e0 += e[i] * v[i]
		a0 += a[i+1] * v[i+1]
		b0 += b[i+1] * v[i+1]
		c0 += c[i+1] * v[i+1]
		e0 += e[i+1] * v[i+1]
		a0 += a[i+2] * v[i+2]
		b0 += b[i+2] * v[i+2]
		c0 += c[i+2] * v[i+2]
		e0 += e[i+2] * v[i+2]
		a0 += a[i+3] * v[i+3]
		b0 += b[i+3] * v[i+3]
		c0 += c[i+3] * v[i+3]
		e0 += e[i+3] * v[i+3]
	}
	for ; i < n; i++ {
		a0 += a[i] * v[i]
		b0 += b[i] * v[i]
		c0 += c[i] * v[i]
		e0 += e[i] * v[i]
	}
	return a0, b0, c0, e0
}

// add4 adds to out four rows of its length, each times a number.
//
//go:norace
func add4[W Word](out, a, b, c, e []W, by [4]W) {
	raced.Read(a)
	raced.Read(b)
	raced.Read(c)
	raced.Read(e)
	raced.Write(out)
	n := len(out)
	a, b, c, e = a[:n], b[:n], c[:n], e[:n]
	v, w, x, y := by[0], by[1], by[2], by[3]
	for j := range out {
		out[j] += a[j]*v + b[j]*w + c[j]*x + e[j]*y
	}
}
