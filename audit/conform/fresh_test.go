package conform

import (
	"encoding/binary"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/keys"
)

// hashNumber is one of many hashes.
func hashNumber(n uint64) keys.Hash {
	return keys.HashOf("test hash", binary.BigEndian.AppendUint64(nil, n))
}

// A filter never forgets a hash, whatever came before.
func TestFilterNeverForgets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBloom(rapid.Int64Range(0, 100).Draw(t, "expected"))
		seen := make(map[uint64]bool)
		for _, n := range rapid.SliceOfN(rapid.Uint64Range(0, 300), 0, 400).Draw(t, "hashes") {
			if was := b.add(hashNumber(n)); seen[n] && !was {
				t.Fatalf("%d is forgotten", n)
			}
			seen[n] = true
		}
	})
}

func TestFilterSeldomMistakes(t *testing.T) {
	const n = 1 << 18 // as many as a filter of its size is made for
	b, mistakes := newBloom(n), 0
	for i := range uint64(n) {
		if b.add(hashNumber(i)) {
			mistakes++
		}
	}
	if mistakes > 1 {
		t.Errorf("%d of %d hashes are taken for others", mistakes, n)
	}
}

func TestFilterHasABound(t *testing.T) {
	if n := len(newBloom(1<<50)) * 64; n != maxFilter {
		t.Errorf("%d bytes", n)
	}
	if n := len(newBloom(0)); n != 1 {
		t.Errorf("%d lines for nothing", n)
	}
}
