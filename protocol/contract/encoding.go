package contract

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/hanse-project/hanse/internal/wording"
)

// Encoding says what the words of a payload are.
type Encoding uint8

// The encodings. The numbers are in transcripts and never change.
const (
	Bytes   Encoding = 0 // no vector of numbers: keys, signatures, row numbers, text
	Turns16 Encoding = 1 // Z_2^16, little-endian: turns of a circle
	Turns32 Encoding = 2 // Z_2^32, little-endian
	Fixed64 Encoding = 3 // Z_2^64, little-endian: fixed-point numbers
	Float64 Encoding = 4 // IEEE 754, little-endian: the published protocol's
	// polynomials modulo the primes of a ring, a little-endian 64-bit word for each coefficient and prime
	RLWE   Encoding = 5
	Ring48 Encoding = 6 // Z_2^48, little-endian words of 6 bytes
	Ring32 Encoding = 7 // Z_2^32, little-endian words of 4 bytes

	packed Encoding = 64 // Packed(b) is packed + b
)

// The widths of packed words, in bits. From 8 bits on the number of words follows from that of bytes.
const (
	MinPacked = 8
	MaxPacked = 56
)

// Packed returns the encoding of words of Z_2^bits without room between them, MinPacked to MaxPacked bits each, the
// lowest bits first; the last byte is filled up with zeros.
func Packed(bits int) Encoding { return packed + Encoding(bits) }

// packedName begins the name of a packed encoding; the bits follow.
const packedName = "packed"

// IsPacked reports whether numbers are no whole bytes.
func (e Encoding) IsPacked() bool { return e > packed }

// Bits returns the bits of one number, 8 for Bytes.
func (e Encoding) Bits() int {
	if e.IsPacked() {
		return int(e - packed)
	}
	return 8 * e.WordSize()
}

// Size returns the bytes of a vector of n numbers.
func (e Encoding) Size(n int) int { return (n*e.Bits() + 7) / 8 }

// Count returns how many numbers a vector of so many bytes has.
func (e Encoding) Count(bytes int64) int64 { return 8 * bytes / int64(e.Bits()) }

// encodingNames are the encodings as contracts and transcripts write them, by number.
func encodingNames() []string {
	return []string{"bytes", "turns16", "turns32", "fixed64", "float64", "rlwe", "ring48", "ring32"}
}

// String returns the encoding's name.
func (e Encoding) String() string {
	if names := encodingNames(); int(e) < len(names) {
		return names[e]
	}
	if e.Known() {
		return packedName + strconv.Itoa(e.Bits())
	}
	return fmt.Sprintf("encoding %d", uint8(e))
}

// WordSize returns the bytes of one number, 1 for Bytes and, where numbers are no whole bytes, for packed words.
func (e Encoding) WordSize() int {
	switch e {
	case Turns16:
		return 2
	case Turns32, Ring32:
		return 4
	case Ring48:
		return 6
	case Fixed64, Float64, RLWE:
		return 8
	}
	return 1
}

// Known reports whether transcripts may have the encoding.
func (e Encoding) Known() bool {
	return e <= Ring32 || e >= Packed(MinPacked) && e <= Packed(MaxPacked)
}

// ring48Group is four words of 6 bytes, so that a chunk of them is words of 8 bytes as well.
const ring48Group = 24

// Chunk returns the payload of one frame of a longer vector where frames have at most the given
// number of bytes, which is a multiple of 8: all of it, but for Ring48 and packed words the most that is whole
// groups of four and of eight words, and at least one.
func (e Encoding) Chunk(most int) int {
	group := 1
	switch {
	case e == Ring48:
		group = ring48Group
	case e.IsPacked():
		group = e.Bits() // bytes of eight words
	}
	return max(1, most/group) * group
}

// ParseEncoding reads an encoding's name.
func ParseEncoding(s string) (Encoding, error) {
	for i, name := range encodingNames() {
		if s == name {
			return Encoding(i), nil
		}
	}
	if digits, ok := strings.CutPrefix(s, packedName); ok && len(digits) <= 2 {
		if bits, err := strconv.Atoi(digits); err == nil && Packed(bits).Known() && Packed(bits).String() == s {
			return Packed(bits), nil
		}
	}
	return 0, fmt.Errorf("encoding is %q, want \"bytes\", \"turns16\", \"turns32\", \"fixed64\", "+
		"\"float64\", \"rlwe\", \"ring48\", \"ring32\" "+
		"or \"packed%d\" to \"packed%d\"", wording.Clip(s), MinPacked, MaxPacked)
}

// Pack writes words, reduced modulo 2^Bits, into dst, which has the Size of so many words and is overwritten whole.
// It is for packed encodings.
func (e Encoding) Pack(dst []byte, words []uint64) {
	clear(dst)
	bits := e.Bits()
	mask := uint64(1)<<bits - 1
	for k, v := range words {
		at, shift := k*bits>>3, k*bits&7
		v = v & mask << shift
		if at+8 <= len(dst) {
			binary.LittleEndian.PutUint64(dst[at:], binary.LittleEndian.Uint64(dst[at:])|v)
			continue
		}
		for i := at; i < len(dst); i++ {
			dst[i] |= byte(v)
			v >>= 8
		}
	}
}

// Unpack reads what Pack wrote: len(words) numbers, of which src has the Size.
func (e Encoding) Unpack(words []uint64, src []byte) {
	bits := e.Bits()
	mask := uint64(1)<<bits - 1
	for k := range words {
		at, shift := k*bits>>3, k*bits&7
		var v uint64
		if at+8 <= len(src) {
			v = binary.LittleEndian.Uint64(src[at:])
		} else {
			for i := len(src) - 1; i >= at; i-- {
				v = v<<8 | uint64(src[i])
			}
		}
		words[k] = v >> shift & mask
	}
}

// Signed reads a number of two's complement in the encoding's bits.
func (e Encoding) Signed(word uint64) int64 {
	shift := 64 - e.Bits()
	return int64(word<<shift) >> shift
}
