package he

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/secagg"
)

// TestWhatAllPartiesDeriveNeverChanges: parties of different builds must get the same common
// polynomial and the same packings, or their sums are garbage.
func TestWhatAllPartiesDeriveNeverChanges(t *testing.T) {
	s := newTestScheme(t)
	common, err := s.commonPolynomial(SessionSeed(keys.HashOf("golden"), 3))
	must(t, err)
	wire := make([]byte, PolySize)
	writePoly(wire, common.Value.Q.Coeffs)
	digest := sha256.Sum256(wire)
	if got, want := hex.EncodeToString(digest[:]), "401708825722c5db3847ec497d0fab4045224e4d5a9f566e6aef0fba0b325058"; got != want {
		t.Errorf("common polynomial has digest %s, want %s", got, want)
	}
	for _, c := range []struct {
		ring    secagg.Ring
		parties int
		want    string
	}{
		{secagg.Turns16, 3, "[2199023288321 2199023566849] 63 59"},
		{secagg.Turns32, 8, "[562949954093057 562949954142209] 63 59"},
		{secagg.Fixed64, 24, "[274878136321 274878349313 274878447617] 45 59"},
	} {
		p, err := s.NewPacking(c.ring, c.parties, c.parties)
		must(t, err)
		var moduli []uint64
		for _, m := range p.plain {
			moduli = append(moduli, m.t)
		}
		if got := fmt.Sprint(moduli, p.spread, p.flood); got != c.want {
			t.Errorf("%s among %d: moduli, spread and flooding are %s, want %s", c.ring, c.parties, got, c.want)
		}
	}
}
