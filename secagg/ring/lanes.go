package ring

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/hanse-project/hanse/internal/raced"
)

// First returns the first n entries of a slice. It panics where the slice is shorter, whatever its capacity: what lies
// behind a slice's end is somebody else's, and would go into a message or be overwritten by one.
func First[T any](s []T, n int) []T {
	if n > len(s) {
		panic(fmt.Sprintf("ring: a slice has %d entries, want %d; its capacity of %d does not count", len(s), n, cap(s)))
	}
	return s[:n:n]
}

// AddBytes adds src to dst word by word, wrapping: words of 16, 32 or 64 bits in little-endian bytes, as messages carry
// them. Both have the same length, whole words of that width.
func AddBytes(dst, src []byte, width int) {
	src = First(src, len(dst))
	raced.Read(src)
	raced.Write(dst)
	n := vectorAdd(dst, src, width)
	plainAdd(dst[n:], src[n:], width)
}

// SubBytes is AddBytes with a subtraction.
func SubBytes(dst, src []byte, width int) {
	src = First(src, len(dst))
	raced.Read(src)
	raced.Write(dst)
	n := vectorSub(dst, src, width)
	plainSub(dst[n:], src[n:], width)
}

// Lane is a word that messages carry whole.
type Lane interface{ uint16 | uint32 | uint64 }

// PutBytes writes words to the first bytes of dst.
func PutBytes[W Lane](dst []byte, words []W) {
	size := laneSize[W]()
	dst = First(dst, size*len(words))
	raced.Read(words)
	raced.Write(dst)
	n := vectorPut(dst, words)
	plainPut(dst[n:], words[n/size:])
}

// GetBytes reads words from the first bytes of src.
func GetBytes[W Lane](words []W, src []byte) {
	size := laneSize[W]()
	src = First(src, size*len(words))
	raced.Read(src)
	raced.Write(words)
	n := vectorGet(words, src)
	plainGet(words[n/size:], src[n:])
}

// PutShort writes the lower 32 bits of words to the first bytes of dst.
func PutShort(dst []byte, words []uint64) {
	dst = First(dst, 4*len(words))
	raced.Read(words)
	raced.Write(dst)
	n := vectorPutShort(dst, words)
	plainPutShort(dst[n:], words[n/4:])
}

// GetShort reads words of 32 bits from the first bytes of src.
func GetShort(words []uint64, src []byte) {
	src = First(src, 4*len(words))
	raced.Read(src)
	raced.Write(words)
	n := vectorGetShort(words, src)
	plainGetShort(words[n/4:], src[n:])
}

// plainPutShort is PutShort in plain Go.
//
//go:norace
func plainPutShort(dst []byte, words []uint64) {
	for i, w := range words {
		binary.LittleEndian.PutUint32(dst[4*i:], uint32(w))
	}
}

// plainGetShort is GetShort in plain Go.
//
//go:norace
func plainGetShort(words []uint64, src []byte) {
	for i := range words {
		words[i] = uint64(binary.LittleEndian.Uint32(src[4*i:]))
	}
}

// laneSize returns how many bytes a word has.
func laneSize[W Lane]() int { return bits.Len64(uint64(^W(0))) / 8 }

// plainPut is PutBytes in plain Go.
//
//go:norace
func plainPut[W Lane](dst []byte, words []W) {
	switch words := any(words).(type) {
	case []uint16:
		for ; len(words) >= 4 && len(dst) >= 8; words, dst = words[4:], dst[8:] { // four are written at once
			w := uint64(words[0]) | uint64(words[1])<<16 | uint64(words[2])<<32 | uint64(words[3])<<48
			binary.LittleEndian.PutUint64(dst, w)
		}
		for i, w := range words {
			binary.LittleEndian.PutUint16(dst[2*i:], w)
		}
	case []uint32:
		for i, w := range words {
			binary.LittleEndian.PutUint32(dst[4*i:], w)
		}
	case []uint64:
		for i, w := range words {
			binary.LittleEndian.PutUint64(dst[8*i:], w)
		}
	}
}

// plainGet is GetBytes in plain Go.
//
//go:norace
func plainGet[W Lane](words []W, src []byte) {
	switch words := any(words).(type) {
	case []uint16:
		for ; len(words) >= 4 && len(src) >= 8; words, src = words[4:], src[8:] {
			w := binary.LittleEndian.Uint64(src)
			words[0], words[1], words[2], words[3] = uint16(w), uint16(w>>16), uint16(w>>32), uint16(w>>48)
		}
		for i := range words {
			words[i] = binary.LittleEndian.Uint16(src[2*i:])
		}
	case []uint32:
		for i := range words {
			words[i] = binary.LittleEndian.Uint32(src[4*i:])
		}
	case []uint64:
		for i := range words {
			words[i] = binary.LittleEndian.Uint64(src[8*i:])
		}
	}
}

// plainAdd is AddBytes in plain Go.
//
//go:norace
func plainAdd(dst, src []byte, width int) {
	n := len(dst) &^ 7
	switch width {
	case 16:
		addLanes(dst[:n], src[:n], 0x7fff7fff7fff7fff)
		for ; n < len(dst); n += 2 {
			binary.LittleEndian.PutUint16(dst[n:], binary.LittleEndian.Uint16(dst[n:])+binary.LittleEndian.Uint16(src[n:]))
		}
	case 32:
		addLanes(dst[:n], src[:n], 0x7fffffff7fffffff)
		for ; n < len(dst); n += 4 {
			binary.LittleEndian.PutUint32(dst[n:], binary.LittleEndian.Uint32(dst[n:])+binary.LittleEndian.Uint32(src[n:]))
		}
	case 64:
		addWords(dst, src)
	}
}

// plainSub is SubBytes in plain Go.
//
//go:norace
func plainSub(dst, src []byte, width int) {
	n := len(dst) &^ 7
	switch width {
	case 16:
		subLanes(dst[:n], src[:n], 0x7fff7fff7fff7fff)
		for ; n < len(dst); n += 2 {
			binary.LittleEndian.PutUint16(dst[n:], binary.LittleEndian.Uint16(dst[n:])-binary.LittleEndian.Uint16(src[n:]))
		}
	case 32:
		subLanes(dst[:n], src[:n], 0x7fffffff7fffffff)
		for ; n < len(dst); n += 4 {
			binary.LittleEndian.PutUint32(dst[n:], binary.LittleEndian.Uint32(dst[n:])-binary.LittleEndian.Uint32(src[n:]))
		}
	case 64:
		subWords(dst, src)
	}
}

// addLanes adds the lanes of 64-bit words without carries between lanes: low has every bit of a
// lane set but its highest, whose sum is an exclusive or.
//
//go:norace
func addLanes(dst, src []byte, low uint64) {
	high := ^low
	for ; len(dst) >= 32 && len(src) >= 32; dst, src = dst[32:], src[32:] {
		d, s := dst[:32:32], src[:32:32]
		addLane(d[0:8], s[0:8], low, high)
		addLane(d[8:16], s[8:16], low, high)
		addLane(d[16:24], s[16:24], low, high)
		addLane(d[24:32], s[24:32], low, high)
	}
	for ; len(dst) >= 8 && len(src) >= 8; dst, src = dst[8:], src[8:] {
		addLane(dst, src, low, high)
	}
}

// addLane adds the lanes of one 64-bit word.
func addLane(dst, src []byte, low, high uint64) {
	a, b := binary.LittleEndian.Uint64(dst), binary.LittleEndian.Uint64(src)
	binary.LittleEndian.PutUint64(dst, ((a&low)+(b&low))^((a^b)&high))
}

// subLanes subtracts lane by lane: each lane's highest bit is set first, so that it lends to the
// bits below it and not to the next lane, and corrected after.
//
//go:norace
func subLanes(dst, src []byte, low uint64) {
	high := ^low
	for ; len(dst) >= 32 && len(src) >= 32; dst, src = dst[32:], src[32:] {
		d, s := dst[:32:32], src[:32:32]
		subLane(d[0:8], s[0:8], low, high)
		subLane(d[8:16], s[8:16], low, high)
		subLane(d[16:24], s[16:24], low, high)
		subLane(d[24:32], s[24:32], low, high)
	}
	for ; len(dst) >= 8 && len(src) >= 8; dst, src = dst[8:], src[8:] {
		subLane(dst, src, low, high)
	}
}

// subLane subtracts the lanes of one 64-bit word.
func subLane(dst, src []byte, low, high uint64) {
	a, b := binary.LittleEndian.Uint64(dst), binary.LittleEndian.Uint64(src)
	binary.LittleEndian.PutUint64(dst, ((a|high)-(b&low))^(^(a^b)&high))
}

// addWords adds 64-bit words.
//
//go:norace
func addWords(dst, src []byte) {
	for ; len(dst) >= 64 && len(src) >= 64; dst, src = dst[64:], src[64:] {
		d, s := dst[:64:64], src[:64:64]
		addWord(d[0:8], s[0:8])
		addWord(d[8:16], s[8:16])
		addWord(d[16:24], s[16:24])
		addWord(d[24:32], s[24:32])
		addWord(d[32:40], s[32:40])
		addWord(d[40:48], s[40:48])
		addWord(d[48:56], s[48:56])
		addWord(d[56:64], s[56:64])
	}
	for ; len(dst) >= 8 && len(src) >= 8; dst, src = dst[8:], src[8:] {
		addWord(dst, src)
	}
}

// addWord adds one 64-bit word.
func addWord(dst, src []byte) {
	binary.LittleEndian.PutUint64(dst, binary.LittleEndian.Uint64(dst)+binary.LittleEndian.Uint64(src))
}

// subWords subtracts 64-bit words.
//
//go:norace
func subWords(dst, src []byte) {
	for ; len(dst) >= 64 && len(src) >= 64; dst, src = dst[64:], src[64:] {
		d, s := dst[:64:64], src[:64:64]
		subWord(d[0:8], s[0:8])
		subWord(d[8:16], s[8:16])
		subWord(d[16:24], s[16:24])
		subWord(d[24:32], s[24:32])
		subWord(d[32:40], s[32:40])
		subWord(d[40:48], s[40:48])
		subWord(d[48:56], s[48:56])
		subWord(d[56:64], s[56:64])
	}
	for ; len(dst) >= 8 && len(src) >= 8; dst, src = dst[8:], src[8:] {
		subWord(dst, src)
	}
}

// subWord subtracts one 64-bit word.
func subWord(dst, src []byte) {
	binary.LittleEndian.PutUint64(dst, binary.LittleEndian.Uint64(dst)-binary.LittleEndian.Uint64(src))
}
