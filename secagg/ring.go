package secagg

import (
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/ring"
)

// Ring is a ring Z_{2^k} of words in little-endian bytes; the number is that of the encoding.
type Ring uint8

// The rings of secure sums.
const (
	Turns16 Ring = iota + 1 // Z_{2^16}: angles, one turn = 2^16
	Turns32                 // Z_{2^32}: angles, one turn = 2^32
	Fixed64                 // Z_{2^64}: fixed-point numbers, two's complement
)

// Packed is Z_{2^bits} in words without room between them; see contract.Packed.
func Packed(bits int) Ring { return Ring(contract.Packed(bits)) }

// packed reports whether words are no whole bytes.
func (r Ring) packed() bool { return contract.Encoding(r).IsPacked() }

// String returns the ring's name as contracts and transcripts write it.
func (r Ring) String() string {
	switch r {
	case Turns16:
		return "turns16"
	case Turns32:
		return "turns32"
	case Fixed64:
		return "fixed64"
	}
	return contract.Encoding(r).String()
}

// WordSize returns the bytes of one word, of a ring whose words are whole bytes.
func (r Ring) WordSize() int { return 1 << r }

// Add adds src to dst word by word, wrapping. Both have the same length, a multiple of WordSize.
func (r Ring) Add(dst, src []byte) {
	if r.packed() {
		r.combine(dst, src, func(a, b uint64) uint64 { return a + b })
		return
	}
	ring.AddBytes(dst, src, 8*r.WordSize())
}

// Sub subtracts src from dst word by word, wrapping.
func (r Ring) Sub(dst, src []byte) {
	if r.packed() {
		r.combine(dst, src, func(a, b uint64) uint64 { return a - b })
		return
	}
	ring.SubBytes(dst, src, 8*r.WordSize())
}

// packedWords is how many packed words are worked on at a time: groups that fill bytes.
const packedWords = 512

// combine replaces packed words of dst by what f makes of them and of those of src.
func (r Ring) combine(dst, src []byte, f func(a, b uint64) uint64) {
	e := contract.Encoding(r)
	var a, b [packedWords]uint64
	src = ring.First(src, len(dst))
	for len(dst) > 0 {
		size := min(len(dst), e.Size(packedWords))
		n := int(e.Count(int64(size)))
		e.Unpack(a[:n], dst[:size])
		e.Unpack(b[:n], src[:size])
		for i := range n {
			a[i] = f(a[i], b[i])
		}
		e.Pack(dst[:size], a[:n])
		dst, src = dst[size:], src[size:]
	}
}
