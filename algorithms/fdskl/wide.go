package fdskl

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/parameters"
)

// Inner products of an optimiser span many magnitudes: 1e-13 near the optimum is as telling as 10
// at the start, which one fixed point cannot hold. So a scalar travels as wideDigits digits of
// wideBits bits each, from 2^40 down to 2^-100; every digit is an exact addend of its own.
const (
	wideDigits = 7
	wideBits   = 20
	wideTop    = 20 // exponent of the first digit's unit
)

// splitWide writes v as digits, most significant first, each an integer below 2^wideBits in
// magnitude. The remainder, under 2^-100, is dropped.
func splitWide(digits []float64, v float64) error {
	if !(math.Abs(v) < math.Ldexp(1, wideTop+wideBits)) {
		return fmt.Errorf("inner product %v does not fit: the optimisation diverges", v)
	}
	unit := math.Ldexp(1, wideTop)
	for i := range wideDigits {
		d := math.Trunc(v / unit)
		digits[i] = d
		v -= d * unit
		unit /= 1 << wideBits
	}
	return nil
}

// joinWide undoes splitWide for a sum of digit vectors, smallest digit first so that the carry
// of small digits is not lost.
func joinWide(digits []float64) float64 {
	var v float64
	for i := wideDigits - 1; i >= 0; i-- {
		v += digits[i] * math.Ldexp(1, wideTop-i*wideBits)
	}
	return v
}

// broadcastReals tells every party the root's numbers, which must be finite.
func broadcastReals(ctx context.Context, n joint.Network, kind string, root int, v []float64) error {
	data := make([]byte, 0, 8*len(v))
	for _, x := range v {
		data = appendReal(data, x)
	}
	data, err := n.Broadcast(ctx, kind, root, data, 8*len(v))
	if err != nil {
		return err
	}
	if len(data) != 8*len(v) {
		return fmt.Errorf("%s: %d bytes came, want %d", kind, len(data), 8*len(v))
	}
	for i := range v {
		x := math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:]))
		if !parameters.IsFinite(x) {
			return fmt.Errorf("%s: number %d is %v", kind, i, x)
		}
		v[i] = x
	}
	return nil
}

// appendReal appends a number's eight bytes.
func appendReal(data []byte, x float64) []byte {
	return binary.LittleEndian.AppendUint64(data, math.Float64bits(x))
}
