package ring

import "golang.org/x/sys/cpu"

// laneBytes is the size of what add16 and its like call a line.
const laneBytes = 64

// vectorAdd does the first bytes of AddBytes with vector instructions and returns how many, 0 where there are none.
//
//go:norace
func vectorAdd(dst, src []byte, width int) int {
	lines := len(dst) / laneBytes
	if lines == 0 || !cpu.X86.HasAVX2 {
		return 0
	}
	switch width {
	case 16:
		add16(&dst[0], &src[0], lines)
	case 32:
		add32(&dst[0], &src[0], lines)
	case 64:
		add64(&dst[0], &src[0], lines)
	}
	return lines * laneBytes
}

// vectorSub is vectorAdd for SubBytes.
//
//go:norace
func vectorSub(dst, src []byte, width int) int {
	lines := len(dst) / laneBytes
	if lines == 0 || !cpu.X86.HasAVX2 {
		return 0
	}
	switch width {
	case 16:
		sub16(&dst[0], &src[0], lines)
	case 32:
		sub32(&dst[0], &src[0], lines)
	case 64:
		sub64(&dst[0], &src[0], lines)
	}
	return lines * laneBytes
}

// vectorPut does the first words of PutBytes with vector instructions and returns how many bytes they have.
//
//go:norace
func vectorPut[W Lane](dst []byte, words []W) int {
	lines := len(dst) / laneBytes
	if lines == 0 || !cpu.X86.HasAVX2 {
		return 0
	}
	switch words := any(words).(type) {
	case []uint16:
		put16(&dst[0], &words[0], lines)
	case []uint32:
		put32(&dst[0], &words[0], lines)
	case []uint64:
		put64(&dst[0], &words[0], lines)
	}
	return lines * laneBytes
}

// vectorGet is vectorPut for GetBytes.
//
//go:norace
func vectorGet[W Lane](words []W, src []byte) int {
	lines := len(src) / laneBytes
	if lines == 0 || !cpu.X86.HasAVX2 {
		return 0
	}
	switch words := any(words).(type) {
	case []uint16:
		get16(&words[0], &src[0], lines)
	case []uint32:
		get32(&words[0], &src[0], lines)
	case []uint64:
		get64(&words[0], &src[0], lines)
	}
	return lines * laneBytes
}

// vectorPutShort is vectorPut for PutShort.
//
//go:norace
func vectorPutShort(dst []byte, words []uint64) int {
	lines := len(dst) / laneBytes
	if lines == 0 || !cpu.X86.HasAVX2 {
		return 0
	}
	putShort(&dst[0], &words[0], lines)
	return lines * laneBytes
}

// vectorGetShort is vectorPut for GetShort.
//
//go:norace
func vectorGetShort(words []uint64, src []byte) int {
	lines := len(src) / laneBytes
	if lines == 0 || !cpu.X86.HasAVX2 {
		return 0
	}
	getShort(&words[0], &src[0], lines)
	return lines * laneBytes
}
