// Package point hashes ids to points of Curve25519 and multiplies them, u coordinates alone: what two parties do with
// their lists in a Diffie-Hellman private set intersection.
//
// Sources: RFC 7748 section 5 (X25519, its clamping); RFC 9380 section 6.7.1 (the map Elligator2 for Montgomery
// curves) and 6.8 (its use for curve25519, Z = 2); Bernstein, Hamburg, Krasnova and Lange, "Elligator: Elliptic-curve
// points indistinguishable from uniform random strings", CCS 2013, section 5.
//
// A hash taken as u as it is would lie on the curve or on its twist, and multiplication keeps it there: one bit of
// every id would show. The image of Elligator2 is always on the curve. It may lie outside the subgroup of prime order;
// a clamped scalar is a multiple of the cofactor 8 and takes it there.
package point

import (
	"errors"
	"fmt"
	"math"

	"filippo.io/edwards25519/field"
	"github.com/cloudflare/circl/dh/x25519"

	"github.com/hanse-project/hanse/internal/parallel"
)

// Size is the length of a point in bytes: u, little-endian, below p = 2^255 - 19.
const Size = 32

// block is how many points a worker takes at a time, and how many share one inversion.
const block = 256

// Hash writes the point of each of wide, 64 uniformly random bytes of a hash, to dst, Size bytes each: Elligator2 of
// the little-endian number modulo p (RFC 9380 section 6.7.1). Its time does not depend on the bytes.
func Hash(dst []byte, wide [][64]byte, workers int) error {
	if len(dst) != len(wide)*Size {
		return fmt.Errorf("point: room of %d bytes for %d points: give %d", len(dst), len(wide), len(wide)*Size)
	}
	return parallel.Each(workers, (len(wide)+block-1)/block, func(_, i int) error {
		start, end := i*block, min((i+1)*block, len(wide))
		return hash(dst[start*Size:end*Size], wide[start:end])
	})
}

// hash is Hash for at most block points. It inverts their denominators 1 + 2 r^2 together (Montgomery's trick): none is
// zero, since -1/2 is no square modulo p.
func hash(dst []byte, wide [][64]byte) error {
	var denominators, products [block]field.Element
	one := new(field.Element).One()
	a := new(field.Element).Mult32(one, 486662)
	negA := new(field.Element).Negate(a)
	product := *one
	for i := range wide {
		d := &denominators[i]
		if _, err := d.SetWideBytes(wide[i][:]); err != nil {
			return fmt.Errorf("point: %w", err)
		}
		d.Square(d)
		d.Add(d, d)
		d.Add(d, one)
		products[i] = product
		product.Multiply(&product, d)
	}
	var inverse, u, other, g, chi, square field.Element
	inverse.Invert(&product)
	for i := len(wide) - 1; i >= 0; i-- {
		u.Multiply(&inverse, &products[i])
		inverse.Multiply(&inverse, &denominators[i])
		u.Multiply(&u, negA)
		other.Subtract(negA, &u)

		// g = u^3 + A u^2 + u is a square exactly when g^((p-1)/2) = (g^((p-5)/8))^4 g^2 is one; zero it never is.
		g.Add(&u, a)
		g.Multiply(&g, &u)
		g.Add(&g, one)
		g.Multiply(&g, &u)
		chi.Pow22523(&g)
		chi.Square(&chi)
		chi.Square(&chi)
		chi.Multiply(&chi, square.Square(&g))
		u.Select(&u, &other, chi.Equal(one))
		copy(dst[i*Size:], u.Bytes())
	}
	return nil
}

// Scalar is a secret factor of points. Use one for one list of one contract.
type Scalar struct {
	key x25519.Key
}

// NewScalar takes 32 secret, uniformly random bytes, clamped as RFC 7748 section 5 has it. The same bytes are the same
// scalar, so that a party that resumes sends the same points.
func NewScalar(secret [32]byte) *Scalar {
	return &Scalar{key: secret}
}

// Mul writes each of the points times the scalar to dst, which may be the points' own memory. A result of zero is an
// error: such a point has low order, and Check refuses it.
//
// It multiplies with circl, which took 23 us a point on one core where crypto/ecdh took 32 (BenchmarkX25519). The
// inversion at the end, 2.6 of the 23, is each point's own: neither package has a call for many points. A ladder on
// circl's field arithmetic, which could share it, takes 31 us without it.
func (s *Scalar) Mul(dst, points []byte, workers int) error {
	if len(points)%Size != 0 || len(dst) != len(points) {
		return fmt.Errorf("point: %d bytes of points and room for %d: both must be the same multiple of %d",
			len(points), len(dst), Size)
	}
	n := len(points) / Size
	return parallel.Each(workers, (n+block-1)/block, func(_, b int) error {
		for i := b * block; i < min((b+1)*block, n); i++ {
			at := i * Size
			public, product := x25519.Key(points[at:at+Size]), x25519.Key{}
			if !x25519.Shared(&product, &s.key, &public) {
				return fmt.Errorf("point: the product at position %d is zero: the point has low order", i)
			}
			copy(dst[at:], product[:])
		}
		return nil
	})
}

// lowOrder are the u below p whose order divides 8 on the curve or 4 on its twist: every one that a clamped scalar
// takes to zero (Bernstein, "Curve25519: new Diffie-Hellman speed records", PKC 2006; RFC 7748 section 6.1).
var lowOrder = map[[Size]byte]bool{
	{}:     true,
	{0: 1}: true,
	{ // order 8
		0xe0, 0xeb, 0x7a, 0x7c, 0x3b, 0x41, 0xb8, 0xae, 0x16, 0x56, 0xe3, 0xfa, 0xf1, 0x9f, 0xc4, 0x6a,
		0xda, 0x09, 0x8d, 0xeb, 0x9c, 0x32, 0xb1, 0xfd, 0x86, 0x62, 0x05, 0x16, 0x5f, 0x49, 0xb8, 0x00,
	}: true,
	{ // order 8
		0x5f, 0x9c, 0x95, 0xbc, 0xa3, 0x50, 0x8c, 0x24, 0xb1, 0xd0, 0xb1, 0x55, 0x9c, 0x83, 0xef, 0x5b,
		0x04, 0x44, 0x5c, 0xc4, 0x58, 0x1c, 0x8e, 0x86, 0xd8, 0x22, 0x4e, 0xdd, 0xd0, 0x9f, 0x11, 0x57,
	}: true,
	{ // p - 1
		0xec, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f,
	}: true,
}

// Check refuses a list of points from another party unless each is below p, none has low order, and all are distinct.
// The error names the first position at fault of the first rule broken, and no value. It takes memory for 8 to 16 bytes
// a point beside the list.
func Check(points []byte) error {
	if len(points)%Size != 0 {
		return fmt.Errorf("point: a list of %d bytes is no multiple of %d: it was cut", len(points), Size)
	}
	for i := range len(points) / Size {
		u := [Size]byte(points[i*Size:])
		if !canonical(&u) {
			return fmt.Errorf("point: the point at position %d is not below p: its sender must reduce it", i)
		}
		if lowOrder[u] {
			return fmt.Errorf("point: the point at position %d has low order: it tells about the scalar", i)
		}
	}
	at, distinct, err := Distinct(points, Size)
	if err != nil {
		return err
	}
	if !distinct {
		return fmt.Errorf("point: the point at position %d stands before in the list: all must be distinct", at)
	}
	return nil
}

// canonical says whether u is below p = 2^255 - 19.
func canonical(u *[Size]byte) bool {
	if u[Size-1] != 0x7f {
		return u[Size-1] < 0x7f
	}
	for _, b := range u[1 : Size-1] {
		if b != 0xff {
			return true
		}
	}
	return u[0] < 0xed
}

// Distinct says whether no two of the words of size bytes in list are equal; if two are, at is the position of the
// first that stands before.
func Distinct(list []byte, size int) (at int, distinct bool, err error) {
	if size <= 0 || len(list)%size != 0 {
		return 0, false, fmt.Errorf("point: a list of %d bytes is not of words of %d: it was cut", len(list), size)
	}
	n := len(list) / size
	if n > math.MaxInt32 {
		return 0, false, errors.New("point: a list of more than 2^31 - 1 words: split it")
	}
	if _, again := NewIndex(list, size); again >= 0 {
		return again, false, nil
	}
	return 0, true, nil
}
