//go:build !amd64

package ring

// vectorAdd does nothing of AddBytes: there are no vector instructions.
func vectorAdd(_, _ []byte, _ int) int { return 0 }

// vectorSub does nothing of SubBytes.
func vectorSub(_, _ []byte, _ int) int { return 0 }

// vectorPut does nothing of PutBytes.
func vectorPut[W Lane](_ []byte, _ []W) int { return 0 }

// vectorGet does nothing of GetBytes.
func vectorGet[W Lane](_ []W, _ []byte) int { return 0 }

// vectorPutShort does nothing of PutShort.
func vectorPutShort(_ []byte, _ []uint64) int { return 0 }

// vectorGetShort does nothing of GetShort.
func vectorGetShort(_ []uint64, _ []byte) int { return 0 }
