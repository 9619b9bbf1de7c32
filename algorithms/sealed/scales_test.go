package sealed

import (
	"math"
	"testing"
)

// TestTurnTableIsRoundedCosAndSin holds every entry against the library's functions, beyond halves that
// could round either way.
func TestTurnTableIsRoundedCosAndSin(t *testing.T) {
	for _, s1 := range []int{7, 10} {
		table := turnTableOf(s1)
		for i := range 1 << 16 {
			sin, cos := math.Sincos(2 * math.Pi * float64(i) / (1 << 16))
			c, s := table.at(uint16(i))
			for _, v := range []struct {
				got  uint64
				want float64
			}{{c, cos}, {s, sin}} {
				if d := math.Abs(float64(int64(v.got)) - math.Ldexp(v.want, s1)); d > 0.5+1e-9 {
					t.Fatalf("turn %d at scale %d: %d, want %v", i, s1, int64(v.got), math.Ldexp(v.want, s1))
				}
			}
		}
	}
}
