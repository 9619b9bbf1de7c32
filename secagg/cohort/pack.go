package cohort

import "encoding/binary"

// pack writes the lowest bits of each 64-bit word of src (little-endian) one after the other into
// dst, the lowest bit first.
func pack(dst, src []byte, bits int) {
	if bits == 64 {
		copy(dst, src)
		return
	}
	mask := uint64(1)<<bits - 1
	var held uint64 // bits not yet written
	n := 0          // how many
	for ; len(src) >= 8; src = src[8:] {
		w := binary.LittleEndian.Uint64(src) & mask
		held |= w << n
		if n += bits; n < 64 {
			continue
		}
		binary.LittleEndian.PutUint64(dst, held)
		dst = dst[8:]
		n -= 64
		held = w >> (bits - n)
	}
	for ; n > 0; n -= 8 {
		dst[0] = byte(held)
		dst, held = dst[1:], held>>8
	}
}

// addPacked adds words that pack wrote to the 64-bit words of dst, modulo 2^64: the bits above the
// packed ones are of no meaning.
func addPacked(dst, src []byte, bits int) {
	if bits == 64 {
		for ; len(dst) >= 8; dst, src = dst[8:], src[8:] {
			binary.LittleEndian.PutUint64(dst, binary.LittleEndian.Uint64(dst)+binary.LittleEndian.Uint64(src))
		}
		return
	}
	mask := uint64(1)<<bits - 1
	for at := 0; len(dst) >= 8; at, dst = at+bits, dst[8:] {
		w := bitsAt(src, at, bits) & mask
		binary.LittleEndian.PutUint64(dst, binary.LittleEndian.Uint64(dst)+w)
	}
}

// bitsAt returns at least the given number of bits from a place on.
func bitsAt(src []byte, at, bits int) uint64 {
	first, shift := at/8, at%8
	if first+9 <= len(src) {
		return binary.LittleEndian.Uint64(src[first:])>>shift | uint64(src[first+8])<<(63-shift)<<1
	}
	var w uint64
	for i := 0; first+i < len(src) && 8*i < bits+shift; i++ {
		if 8*i >= shift {
			w |= uint64(src[first+i]) << (8*i - shift)
		} else {
			w |= uint64(src[first+i]) >> (shift - 8*i)
		}
	}
	return w
}

// truncate clears what is above the lowest bits of each word.
func truncate(words []uint64, bits int) {
	mask := ^uint64(0) >> (64 - bits)
	for i := range words {
		words[i] &= mask
	}
}

// misfit returns the first word that does not fit into the given bits, or -1.
func misfit(words []uint64, bits int) int {
	mask := ^uint64(0) >> (64 - bits)
	for i, w := range words {
		if w&^mask != 0 {
			return i
		}
	}
	return -1
}

// toBytes writes words as little-endian bytes.
func toBytes(words []uint64) []byte {
	b := make([]byte, 8*len(words))
	for i, w := range words {
		binary.LittleEndian.PutUint64(b[8*i:], w)
	}
	return b
}

// toWords reads what toBytes wrote.
func toWords(b []byte) []uint64 {
	words := make([]uint64, len(b)/8)
	for i := range words {
		words[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return words
}
