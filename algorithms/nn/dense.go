package nn

import "math"

// mask clears the slopes where a rectified value is zero. It has no branch, which the processor
// would guess wrong half of the time.
func mask(slope, rectified []float32) {
	rectified = rectified[:len(slope)]
	for i, v := range slope {
		positive := uint32(-int32(math.Float32bits(rectified[i])) >> 31)
		slope[i] = math.Float32frombits(math.Float32bits(v) & positive)
	}
}
