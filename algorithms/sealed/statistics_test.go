package sealed

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mathext"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/internal/testnet/drawn"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/secagg/rss"
)

// histogram counts the values of each byte of the words that a party received.
type histogram struct {
	words int
	bytes [8][256]int64 // by the byte's place
}

// add counts a message's words.
func (h *histogram) add(m *message) {
	h.words += len(m.words)
	for _, w := range m.words {
		for i := range m.bits / 8 {
			h.bytes[i][byte(w>>(8*i))]++
		}
	}
}

// least is the smallest of the chi-square tests' p-values, one for each place.
func (h *histogram) least() float64 {
	p := 1.0
	for _, counts := range h.bytes {
		n := int64(0)
		for _, c := range counts {
			n += c
		}
		if n == 0 {
			continue
		}
		x, expected := 0.0, float64(n)/256
		for _, c := range counts {
			x += (float64(c) - expected) * (float64(c) - expected) / expected
		}
		p = min(p, mathext.GammaIncRegComp(255.0/2, x/2))
	}
	return p
}

// without is a Source without the pads of one use.
type without struct {
	rss.Source
	use rss.Use
}

// Pad implements rss.Source.
func (w without) Pad(unknown rss.Role, at rss.Place, use rss.Use) (rss.Pad, error) {
	pad, err := w.Source.Pad(unknown, at, use)
	if use == w.use && err == nil {
		return zeros{}, nil
	}
	return pad, err
}

// zeros is a pad that hides nothing.
type zeros struct{}

// Words implements rss.Pad.
func (zeros) Words(dst []uint64, _ int) { clear(dst) }

// received trains in a lab, with a session's key streams but for those of one use, and returns what each of the three
// received that no opening is.
func (f *fixture) received(t *testing.T, blank rss.Use) [rss.Roles]histogram {
	t.Helper()
	var seen [rss.Roles]histogram
	l := newLab(f.names, func(r rss.Role, _ int) rss.Source {
		var with [rss.Roles]rss.Derive
		for peer := range rss.Roles {
			with[peer] = pairSecret(fmt.Sprint(min(peer, int(r)), max(peer, int(r)))).derive
		}
		return without{rss.NewPads(r, with, func() keys.Hash { return keys.Hash{} }), blank}
	})
	l.heard = func(i int, m *message) error {
		if i < rss.Roles && (m.way == wayDirect || m.way == wayPadded) {
			seen[i].add(m)
		}
		return nil
	}
	f.forget()
	must(t, l.run(t, func(ctx context.Context, i int, n joint.SealedNetwork) error {
		_, err := Train(ctx, f.party(i, n, 1))
		return err
	}))
	return seen
}

// leastP is the p-value below which words count as not uniform.
const leastP = 1e-6

// TestWordsOnTheWireLookUniform counts the bytes of all that each of the three receives in a training.
func TestWordsOnTheWireLookUniform(t *testing.T) {
	rows, least := 6400, 250_000
	if drawn.All {
		rows, least = 29_000, 1_000_000
	}
	for _, ring := range []int{ringDefault, ringCompact, ringSmall} {
		f := newFixture(t, 4, rows, fdskl.Params{Features: 66, Iterations: 20, Sigma: 1, Ring: ring})
		f.block = 100
		for r, seen := range f.received(t, 0) {
			if p := seen.least(); p < leastP || seen.words < least {
				t.Errorf("ring %d, the %s: %d words, want %d or more, with p = %.2g, want %v or more", ring, rss.Role(r),
					seen.words, least, p, leastP)
			}
		}
	}
}

// TestWordsWithoutTheirPadsDoNotLookUniform is the control: the test before would find what is missing.
func TestWordsWithoutTheirPadsDoNotLookUniform(t *testing.T) {
	f := newFixture(t, 4, 600, fdskl.Params{Features: 34, Iterations: 5, Sigma: 1})
	for use, hides := range map[rss.Use][]rss.Role{useRotation: {rss.LabelHolder}, useTwo: {rss.Helper},
		useOne: {rss.Keeper}, padM0: {rss.LabelHolder, rss.Helper}} {
		for r, seen := range f.received(t, use) {
			if role := rss.Role(r); slices.Contains(hides, role) && seen.least() >= leastP {
				t.Errorf("without pad %d the words of the %s look uniform", use, role)
			}
		}
	}
}

// pairSecret is a secret of two parties for tests.
type pairSecret string

// derive is an rss.Derive.
func (s pairSecret) derive(label string, n int) ([]byte, error) {
	key := keys.HashOf(label, []byte(s))
	return key[:n], nil
}
