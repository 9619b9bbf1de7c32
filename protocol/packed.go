package protocol

import "encoding/binary"

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
