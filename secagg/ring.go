package secagg

import "encoding/binary"

// Ring is a ring Z_{2^k} of words in little-endian bytes.
type Ring uint8

// The rings of secure sums.
const (
	Turns16 Ring = iota + 1 // Z_{2^16}: angles, one turn = 2^16
	Turns32                 // Z_{2^32}: angles, one turn = 2^32
	Fixed64                 // Z_{2^64}: fixed-point numbers, two's complement
)

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
	return "no ring"
}

// WordSize returns the bytes of one word.
func (r Ring) WordSize() int { return 1 << r }

// Add adds src to dst word by word, wrapping. Both have the same length, a multiple of WordSize.
func (r Ring) Add(dst, src []byte) {
	n := len(dst) &^ 7
	src = src[:len(dst)]
	switch r {
	case Turns16:
		addLanes(dst[:n], src[:n], 0x7fff7fff7fff7fff)
	case Turns32:
		addLanes(dst[:n], src[:n], 0x7fffffff7fffffff)
	case Fixed64:
		addWords(dst, src)
	}
	r.addTail(dst[n:], src[n:])
}

// Sub subtracts src from dst word by word, wrapping.
func (r Ring) Sub(dst, src []byte) {
	n := len(dst) &^ 7
	src = src[:len(dst)]
	switch r {
	case Turns16:
		subLanes(dst[:n], src[:n], 0x7fff7fff7fff7fff)
	case Turns32:
		subLanes(dst[:n], src[:n], 0x7fffffff7fffffff)
	case Fixed64:
		subWords(dst, src)
	}
	r.subTail(dst[n:], src[n:])
}

// addTail adds the words behind the last whole 64 bits.
func (r Ring) addTail(dst, src []byte) {
	for len(dst) >= 4 && r == Turns32 || len(dst) >= 2 && r == Turns16 {
		if r == Turns32 {
			binary.LittleEndian.PutUint32(dst, binary.LittleEndian.Uint32(dst)+binary.LittleEndian.Uint32(src))
		} else {
			binary.LittleEndian.PutUint16(dst, binary.LittleEndian.Uint16(dst)+binary.LittleEndian.Uint16(src))
		}
		dst, src = dst[r.WordSize():], src[r.WordSize():]
	}
}

// subTail subtracts the words behind the last whole 64 bits.
func (r Ring) subTail(dst, src []byte) {
	for len(dst) >= 4 && r == Turns32 || len(dst) >= 2 && r == Turns16 {
		if r == Turns32 {
			binary.LittleEndian.PutUint32(dst, binary.LittleEndian.Uint32(dst)-binary.LittleEndian.Uint32(src))
		} else {
			binary.LittleEndian.PutUint16(dst, binary.LittleEndian.Uint16(dst)-binary.LittleEndian.Uint16(src))
		}
		dst, src = dst[r.WordSize():], src[r.WordSize():]
	}
}
