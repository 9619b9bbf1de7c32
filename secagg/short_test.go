package secagg

import "testing"

// TestShortAddendsPanic adds bytes that are too few and have others behind them, in every ring: what lies there does
// not go into a sum.
func TestShortAddendsPanic(t *testing.T) {
	for _, r := range []Ring{Turns16, Turns32, Fixed64, Packed(21), Packed(48)} {
		for name, do := range map[string]func(dst, src []byte){"Add": r.Add, "Sub": r.Sub} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s in %v takes bytes behind the end of a slice", name, r)
					}
				}()
				do(make([]byte, 192), make([]byte, 168, 192))
			}()
		}
	}
}
