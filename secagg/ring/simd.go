//go:build goexperiment.simd && amd64

package ring

import "simd/archsimd"

// lanes is how many words a vector holds.
const lanes = 8

// fastest returns the kernels to use: AVX-512 has a multiplication of 64-bit words.
func fastest() kernels {
	if archsimd.X86.AVX512() {
		return vectorKernels()
	}
	return plainKernels()
}

// vectorKernels are the inner loops for AVX-512. Each leaves the processor's vector registers as other code wants them.
func vectorKernels() kernels {
	return kernels{width: 2 * lanes, depth: 64, block: 512, tile: tileVector, dot: dotVector, dot4: dot4Vector, add4: add4Vector}
}

// load reads the vector that begins at an index.
func load(s []uint64, at int) archsimd.Uint64x8 {
	return archsimd.LoadUint64x8((*[lanes]uint64)(s[at:]))
}

// tileVector is two rows by two vectors.
func tileVector(sum []uint64, stride int, a, b []uint64) {
	c00, c01 := load(sum, 0), load(sum, lanes)
	c10, c11 := load(sum, stride), load(sum, stride+lanes)
	for len(a) >= 4 && len(b) >= 32 {
		p, q := (*[4]uint64)(a), (*[32]uint64)(b)
		u0, u1 := load(q[:], 0), load(q[:], 8)
		z0, z1 := load(q[:], 16), load(q[:], 24)
		x0, x1 := archsimd.BroadcastUint64x8(p[0]), archsimd.BroadcastUint64x8(p[1])
		y0, y1 := archsimd.BroadcastUint64x8(p[2]), archsimd.BroadcastUint64x8(p[3])
		c00 = c00.Add(x0.Add(u0).Mul(y0.Add(z0)))
		c01 = c01.Add(x0.Add(u1).Mul(y0.Add(z1)))
		c10 = c10.Add(x1.Add(u0).Mul(y1.Add(z0)))
		c11 = c11.Add(x1.Add(u1).Mul(y1.Add(z1)))
		a, b = a[4:], b[32:]
	}
	c00.StoreSlice(sum)
	c01.StoreSlice(sum[lanes:])
	c10.StoreSlice(sum[stride:])
	c11.StoreSlice(sum[stride+lanes:])
	archsimd.ClearAVXUpperBits()
}

// total adds the words of a vector.
func total(v archsimd.Uint64x8) uint64 {
	var words [lanes]uint64
	v.Store(&words)
	var sum uint64
	for _, w := range words {
		sum += w
	}
	return sum
}

func dotVector(x, y []uint64) uint64 {
	var c0, c1 archsimd.Uint64x8
	for len(x) >= 2*lanes && len(y) >= 2*lanes {
		c0 = c0.Add(load(x, 0).Mul(load(y, 0)))
		c1 = c1.Add(load(x, lanes).Mul(load(y, lanes)))
		x, y = x[2*lanes:], y[2*lanes:]
	}
	sum := total(c0.Add(c1))
	archsimd.ClearAVXUpperBits()
	return sum + dot(x, y)
}

func dot4Vector(a, b, c, e, v []uint64) (uint64, uint64, uint64, uint64) {
	var a0, b0, c0, e0 archsimd.Uint64x8
	n := len(v)
	a, b, c, e = a[:n], b[:n], c[:n], e[:n]
	i := 0
	for ; i <= n-lanes; i += lanes {
		w := load(v, i)
		a0 = a0.Add(load(a, i).Mul(w))
		b0 = b0.Add(load(b, i).Mul(w))
		c0 = c0.Add(load(c, i).Mul(w))
		e0 = e0.Add(load(e, i).Mul(w))
	}
	sumA, sumB, sumC, sumE := total(a0), total(b0), total(c0), total(e0)
	archsimd.ClearAVXUpperBits()
	tailA, tailB, tailC, tailE := dot4(a[i:], b[i:], c[i:], e[i:], v[i:])
	return sumA + tailA, sumB + tailB, sumC + tailC, sumE + tailE
}

func add4Vector(out, a, b, c, e []uint64, by [4]uint64) {
	n := len(out)
	a, b, c, e = a[:n], b[:n], c[:n], e[:n]
	v, w := archsimd.BroadcastUint64x8(by[0]), archsimd.BroadcastUint64x8(by[1])
	x, y := archsimd.BroadcastUint64x8(by[2]), archsimd.BroadcastUint64x8(by[3])
	j := 0
	for ; j <= n-lanes; j += lanes {
		left := load(a, j).Mul(v).Add(load(b, j).Mul(w))
		right := load(c, j).Mul(x).Add(load(e, j).Mul(y))
		load(out, j).Add(left.Add(right)).StoreSlice(out[j:])
	}
	archsimd.ClearAVXUpperBits()
	add4(out[j:], a[j:], b[j:], c[j:], e[j:], by)
}
