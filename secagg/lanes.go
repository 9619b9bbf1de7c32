package secagg

import (
	"encoding/binary"

	"github.com/hanse-project/hanse/internal/raced"
)

// addLanes adds the lanes of 64-bit words without carries between lanes: low has every bit of a
// lane set but its highest, whose sum is an exclusive or.
//
//go:norace
func addLanes(dst, src []byte, low uint64) {
	raced.Write(dst)
	raced.Read(src)
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
	raced.Write(dst)
	raced.Read(src)
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
	raced.Write(dst)
	raced.Read(src)
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
	raced.Write(dst)
	raced.Read(src)
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
