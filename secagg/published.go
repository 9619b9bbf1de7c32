package secagg

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// SumPublished adds vectors of float64 along a plan with no protection at all: every inner node
// of the plan sees its children's partial sums. It exists for the published FDSKL protocol, whose
// own masks are part of the values. At the root v becomes the total.
func SumPublished(ctx context.Context, session *protocol.Session, kind string, plan contract.Plan, v []float64) error {
	return session.Reduce(ctx, protocol.Reduction{
		Kind:     kind,
		Class:    contract.ClassPublished,
		Encoding: contract.Float64,
		Plan:     plan,
		Size:     8 * len(v),
		Load: func(offset int, chunk []byte) error {
			for i := range len(chunk) / 8 {
				binary.LittleEndian.PutUint64(chunk[8*i:], math.Float64bits(v[offset/8+i]))
			}
			return nil
		},
		Add: addFloats,
		Store: func(offset int, chunk []byte) error {
			for i := range len(chunk) / 8 {
				f := math.Float64frombits(binary.LittleEndian.Uint64(chunk[8*i:]))
				if math.IsNaN(f) || math.IsInf(f, 0) {
					return fmt.Errorf("%s: the total's element %d is %v, so a party sent a number that is not finite",
						kind, offset/8+i, f)
				}
				v[offset/8+i] = f
			}
			return nil
		},
	})
}

// addFloats adds float64 words in little-endian bytes.
func addFloats(dst, src []byte) {
	for len(dst) >= 8 && len(src) >= 8 {
		a := math.Float64frombits(binary.LittleEndian.Uint64(dst))
		b := math.Float64frombits(binary.LittleEndian.Uint64(src))
		binary.LittleEndian.PutUint64(dst, math.Float64bits(a+b))
		dst, src = dst[8:], src[8:]
	}
}
