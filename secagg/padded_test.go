package secagg

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestPaddedSumsLackOnlyThePad: less the pad that one of the parties added, what the root has is the
// total of the rest; the others' vectors stay as they were.
func TestPaddedSumsLackOnlyThePad(t *testing.T) {
	testNetworks := []*testNetwork{newTestNetwork(t, 3, testChunk), newTestNetwork(t, 5, testChunk)}
	rapid.Check(t, func(rt *rapid.T) {
		l := rapid.SampledFrom(testNetworks).Draw(rt, "parties")
		q := len(l.IDs)
		m := l.masked(t, rapid.SampledFrom(topologies).Draw(rt, "topology"))
		root := rapid.IntRange(0, q-1).Draw(rt, "root")
		n := rapid.IntRange(0, 90).Draw(rt, "words")
		draw := func(name string) []uint16 { return rapid.SliceOfN(rapid.Uint16(), n, n).Draw(rt, name) }
		vectors, own, want, pad := make([][]uint16, q), make([][]uint16, q), make([]uint16, n), draw("pad")
		for i := range vectors {
			vectors[i] = draw(fmt.Sprintf("vector %d", i))
			own[i] = slices.Clone(vectors[i])
			for j, w := range vectors[i] {
				want[j] += w
				if i == (root+1)%q {
					own[i][j] += pad[j]
				}
			}
		}
		before := slices.Clone(own[(root+1)%q])
		l.Must(t, func(i int) error { return m[i].sumPadded(t.Context(), "angles", root, own[i]) })
		for j := range want {
			if got := own[root][j] - pad[j]; got != want[j] {
				rt.Fatalf("word %d: the total less the pad is %d, want %d", j, got, want[j])
			}
		}
		if !slices.Equal(own[(root+1)%q], before) {
			rt.Fatal("a vector that is not the root's was changed")
		}
	})
}

// TestPaddedSumsTakeTheirMasksOnce: like every sum, a padded one draws the masks of its own number.
func TestPaddedSumsTakeTheirMasksOnce(t *testing.T) {
	l := newTestNetwork(t, 3, testChunk)
	m := l.masked(t, topologies[0])
	for range 2 {
		l.Must(t, func(i int) error { return m[i].sumPadded(t.Context(), "angles", 0, make([]uint16, 3)) })
	}
	if _, err := m[0].masks.draw(m[0].session.Operations(), m[0].session.Shared(), Turns16); err == nil ||
		err.Error() != "masks of sum 3 were drawn before: a mask is used once" {
		t.Errorf("error is %v", err)
	}
}

// sumPadded is BeginPadded and its end.
func (m *Masked) sumPadded(ctx context.Context, kind string, root int, v []uint16) error {
	end, err := m.BeginPadded(ctx, kind, root, v)
	if err != nil {
		return err
	}
	return end(ctx)
}
