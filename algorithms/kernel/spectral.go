package kernel

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"math"

	"github.com/hanse-project/hanse/keys"
)

// Domains of the two key streams. They name the layout below; a new layout takes a new name.
const (
	omegaDomain  = "hanse omega v1"
	maternDomain = "hanse matern v1"
)

// drawSize is the bytes of key stream behind one frequency: two normals of 64 bits.
const drawSize = aes.BlockSize

// chiDraws is the number of draws kept for one chi-square: enough for five normals, one to spare.
const chiDraws = 3

// Seed is the public seed of a job: every party draws its frequencies from it.
// It is no secret and must never serve as one.
type Seed [32]byte

// Draw writes the frequencies of n features, first and following, for one column of one party,
// into out[:n]: omega / 2 pi, that is, turns per unit of the column.
//
// A frequency is a pure function of (k, seed, party, column, feature): parties draw their own
// columns in any order, and get the same bits on every machine. By Bochner's theorem (Rahimi and
// Recht 2007) omega follows the kernel's spectral measure:
//
//	Gaussian        N(0, 1/sigma^2)
//	Laplace         Cauchy(0, 1/sigma), as the ratio of two normals
//	Matern nu       multivariate t, 2 nu degrees of freedom, scale 1/sigma: z sqrt(2 nu / chi2),
//	                where chi2 belongs to the feature and is the same for all parties and columns
//
// k is valid, first >= 0 and len(out) >= n.
func (k Kernel) Draw(seed Seed, party keys.ID, column string, first, n int, out []float64) {
	k.draw(columnStream(seed, party, column), first, k.stretches(seed, first, n), out[:n:len(out)])
}

// draw is Draw with the chi-square factors at hand; stretch is nil where there are none.
func (k Kernel) draw(s stream, first int, stretch, out []float64) {
	s.normals(first, out, k.Kind == Laplace)
	unit := 2 * math.Pi * k.Sigma
	for i, z := range out {
		if stretch != nil {
			z *= stretch[i]
		}
		out[i] = z / unit
	}
}

// stretches returns sqrt(2 nu / chi2) for n features from first on, or nil for kernels without it.
func (k Kernel) stretches(seed Seed, first, n int) []float64 {
	freedom := k.Kind.freedom()
	if freedom == 0 {
		return nil
	}
	s := newStream(keys.HashOf(maternDomain, seed[:]))
	block := make([]byte, n*chiDraws*drawSize)
	s.read(uint64(first)*chiDraws, block)
	out := make([]float64, n)
	for i := range out {
		out[i] = math.Sqrt(float64(freedom) / chiSquare(block[i*chiDraws*drawSize:], freedom))
	}
	return out
}

// freedom returns the degrees of freedom of the kind's multivariate t, 0 for the other kinds.
func (k Kind) freedom() int {
	switch k {
	case Matern32:
		return 3
	case Matern52:
		return 5
	}
	return 0
}

// chiSquare returns the sum of squares of the first n normals in block.
func chiSquare(block []byte, n int) float64 {
	sum := 0.0
	for i := range n {
		z := normal(binary.LittleEndian.Uint64(block[8*i:]))
		sum += mul(z, z)
	}
	return sum
}

// stream is a key stream with random access by draw.
type stream struct{ block cipher.Block }

// columnStream returns the stream of one column of one party.
func columnStream(seed Seed, party keys.ID, column string) stream {
	return newStream(keys.HashOf(omegaDomain, seed[:], party[:], []byte(column)))
}

// newStream keys AES-128 with the front of h.
func newStream(h keys.Hash) stream {
	block, err := aes.NewCipher(h[:16])
	if err != nil {
		panic(err) // only for a key of the wrong size
	}
	return stream{block}
}

// read fills buf with the stream from draw first on: AES-128-CTR whose counter starts at first.
func (s stream) read(first uint64, buf []byte) {
	var iv [aes.BlockSize]byte
	binary.BigEndian.PutUint64(iv[8:], first)
	clear(buf)
	cipher.NewCTR(s.block, iv[:]).XORKeyStream(buf, buf)
}

// normals fills out with one standard normal per draw, or, for ratio, with one standard Cauchy.
func (s stream) normals(first int, out []float64, ratio bool) {
	var buf [256 * drawSize]byte
	for len(out) > 0 {
		n := min(len(out), len(buf)/drawSize)
		s.read(uint64(first), buf[:n*drawSize])
		for i := range out[:n] {
			z := normal(binary.LittleEndian.Uint64(buf[i*drawSize:]))
			if ratio {
				z /= normal(binary.LittleEndian.Uint64(buf[i*drawSize+8:]))
			}
			out[i] = z
		}
		out, first = out[n:], first+n
	}
}
