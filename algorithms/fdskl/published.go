package fdskl

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"

	"github.com/hanse-project/hanse/keys"
)

// published is what the parties of a published job have told each other of their phases.
type published struct {
	*setting
	radians []float64     // the sum of the parts' phases, once asked for
	remains map[int][]int // see remainingPhases, by root, once asked for
}

// remainingPhases draws, for each frequency, the party l' whose phase stays in the angle (Algorithm 3, line
// 6): any but the root, once per frequency and from the public seed. Drawn anew in every call, as
// the line can also be read, phi would not be a function of x.
func remainingPhases(p Params, parties, root int) []int {
	h := keys.HashOf("hanse excluded v1", []byte(p.Seed))
	high := binary.BigEndian.Uint64(h[:8])
	remains := make([]int, p.Angles())
	for i := range remains {
		l := rand.New(rand.NewPCG(high, uint64(i))).IntN(parties - 1)
		if l >= root {
			l++
		}
		remains[i] = l
	}
	return remains
}

// openRadians is Algorithm 3 for many angles: angles holds this party's omega . x in radians, ids
// the frequency of each, and at the root becomes the parties' total plus the phase of one of them.
// Tree 1 sums o + b of all parties; tree 2 the phases of all but l', element by element with the
// same l', though a phase does not depend on the row: that is what the algorithm says.
func (t *published) openRadians(ctx context.Context, root int, ids []int, angles []float64) error {
	phases := t.ownRadians()
	for i := range angles {
		angles[i] += phases[ids[i]]
	}
	if len(t.Names) == 1 {
		return nil // alone: the sum of the parts' phases is as good as one of them
	}
	remains, ok := t.remains[root]
	if !ok {
		remains = remainingPhases(t.Params, len(t.Names), root)
		t.remains[root] = remains
	}
	elements := make([][]int, len(t.Names))
	for i, id := range ids {
		l := remains[id]
		elements[l] = append(elements[l], i)
	}
	for l, some := range elements {
		if len(some) == 0 {
			continue
		}
		if err := t.openExcluding(ctx, root, l, some, ids, angles); err != nil {
			return err
		}
	}
	return nil
}

// openExcluding opens the elements whose remaining phase is party l's.
func (t *published) openExcluding(ctx context.Context, root, l int, elements, ids []int, angles []float64) error {
	phases := t.ownRadians()
	masked := make([]float64, len(elements))
	rest := make([]float64, len(elements))
	for k, i := range elements {
		masked[k], rest[k] = angles[i], phases[ids[i]]
	}
	t.tracer.excluding(l, elements)
	if err := t.Network.SumTree(ctx, KindPublishedAngles, 1, root, l, masked); err != nil {
		return err
	}
	if err := t.Network.SumTree(ctx, KindPublishedPhases, 2, root, l, rest); err != nil {
		return err
	}
	for k, i := range elements {
		angles[i] = masked[k] - rest[k]
	}
	return nil
}

// ownRadians returns the sum of this party's parts' phases for all frequencies.
func (t *published) ownRadians() []float64 {
	if t.radians == nil {
		t.radians = make([]float64, t.Params.Angles())
		for _, part := range t.Parts {
			for i, b := range part.Phase.Radians(0, len(t.radians)) {
				t.radians[i] += b
			}
		}
	}
	return t.radians
}

// toTurns rounds a number of turns to Z_{2^16}.
func toTurns(turns float64) uint16 {
	return uint16(int64(math.RoundToEven((turns - math.Floor(turns)) * (1 << 16))))
}
