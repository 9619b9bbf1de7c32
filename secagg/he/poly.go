package he

import (
	"encoding/binary"
	"fmt"

	"github.com/hanse-project/hanse/internal/raced"
)

// primeSize is the bytes of a polynomial's words modulo one prime: those of the first precede the second's.
const primeSize = Degree * 8

// primeAt returns the prime of the word at a byte of a sequence of polynomials.
func primeAt(offset int) uint64 {
	if offset%PolySize < primeSize {
		return prime0
	}
	return prime1
}

// CheckPolys checks that b is a given number of polynomials on the wire: their length, and that every
// word is below its prime. what names them in an error.
//
//go:norace
func CheckPolys(what string, b []byte, polys int) error {
	raced.Read(b)
	if len(b) != polys*PolySize {
		return fmt.Errorf("%s: %d bytes, want %d for %d polynomials", what, len(b), polys*PolySize, polys)
	}
	for offset := 0; offset < len(b); offset += primeSize {
		q := primeAt(offset)
		half := b[offset : offset+primeSize]
		for i := 0; i+8 <= len(half); i += 8 {
			if w := binary.LittleEndian.Uint64(half[i:]); w >= q {
				return wordError(what, offset+i, w)
			}
		}
	}
	return nil
}

// wordError says that a word is not below its prime.
func wordError(what string, offset int, w uint64) error {
	return fmt.Errorf("%s: word %d is %d, want less than the prime %d", what, offset/8, w, primeAt(offset))
}

// CheckCiphertexts checks that b is a given number of ciphertexts on the wire. Their degree and modulus
// follow from the length, since nothing on the wire states them.
func CheckCiphertexts(what string, b []byte, ciphertexts int) error {
	return CheckPolys(what, b, 2*ciphertexts)
}

// AddRLWE adds polynomials or ciphertexts on the wire, src to dst, word by word modulo their primes.
// Both begin at a polynomial and have the same length, a multiple of 8. It fails at the first word of
// either that is not below its prime; dst is of no use then.
func AddRLWE(dst, src []byte) error { return addAt(0, dst, src) }

// addAt is AddRLWE for bytes that begin at the given offset of a sequence of polynomials.
func addAt(offset int, dst, src []byte) error {
	if len(dst) != len(src) || len(src)%8 != 0 || offset%8 != 0 {
		return fmt.Errorf("polynomials: %d bytes to be added to %d, want as many, in words of 8 bytes", len(src), len(dst))
	}
	for len(dst) > 0 {
		n := min(len(dst), primeSize-offset%primeSize)
		if i := addModulo(dst[:n], src[:n], primeAt(offset)); i < n {
			return wordError("polynomials", offset+i,
				max(binary.LittleEndian.Uint64(src[i:]), binary.LittleEndian.Uint64(dst[i:])))
		}
		dst, src, offset = dst[n:], src[n:], offset+n
	}
	return nil
}

// addModulo adds words modulo q and returns at which byte it found one that is not below q, or the length.
//
//go:norace
func addModulo(dst, src []byte, q uint64) int {
	raced.Read(src)
	raced.Write(dst)
	src = src[:len(dst):len(src)]
	for i := 0; i+8 <= len(dst); i += 8 {
		a, b := binary.LittleEndian.Uint64(dst[i:]), binary.LittleEndian.Uint64(src[i:])
		if a >= q || b >= q {
			return i
		}
		binary.LittleEndian.PutUint64(dst[i:], lower(a+b, q))
	}
	return len(dst)
}

// writePoly writes coefficients, each below its prime, to the wire.
//
//go:norace
func writePoly(dst []byte, coefficients [][]uint64) {
	for p, half := range coefficients {
		out := dst[p*primeSize : (p+1)*primeSize]
		raced.Read(half)
		raced.Write(out)
		for i, w := range half {
			binary.LittleEndian.PutUint64(out[8*i:], w)
		}
	}
}

// readPoly reads what CheckPolys accepted.
//
//go:norace
func readPoly(coefficients [][]uint64, src []byte) {
	for p, half := range coefficients {
		in := src[p*primeSize : (p+1)*primeSize]
		raced.Read(in)
		raced.Write(half)
		for i := range half {
			half[i] = binary.LittleEndian.Uint64(in[8*i:])
		}
	}
}

// Split takes ciphertexts on the wire apart into their polynomials c0 and c1. Their words are not checked.
func Split(ciphertexts []byte) (c0, c1 []byte, err error) {
	if len(ciphertexts)%CiphertextSize != 0 {
		return nil, nil, fmt.Errorf("ciphertexts: %d bytes, want a multiple of %d", len(ciphertexts), CiphertextSize)
	}
	c0, c1 = make([]byte, 0, len(ciphertexts)/2), make([]byte, 0, len(ciphertexts)/2)
	for len(ciphertexts) > 0 {
		c0 = append(c0, ciphertexts[:PolySize]...)
		c1 = append(c1, ciphertexts[PolySize:CiphertextSize]...)
		ciphertexts = ciphertexts[CiphertextSize:]
	}
	return c0, c1, nil
}

// wordAt reads word i.
func wordAt(b []byte, i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
