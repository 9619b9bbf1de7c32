package fdskl

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"

	"github.com/hanse-project/hanse/keys"
)

// excluder draws, for each feature, the party l' whose phase stays in the angle (Algorithm 3, line
// 6): any but the root, once per feature and from the public seed. Drawn anew in every call, as
// the line can also be read, phi would not be a function of x.
type excluder struct {
	high          uint64
	parties, root int
}

// newExcluder binds an excluder to a job's seed and a root.
func newExcluder(seed string, parties, root int) excluder {
	h := keys.HashOf("hanse excluded v1", []byte(seed))
	return excluder{high: binary.BigEndian.Uint64(h[:8]), parties: parties, root: root}
}

// of returns the party whose phase stays in feature i.
func (e excluder) of(i int) int {
	p := rand.New(rand.NewPCG(e.high, uint64(i))).IntN(e.parties - 1)
	if p >= e.root {
		p++
	}
	return p
}

// openRadians is Algorithm 3 for many angles: angles holds this party's omega . x in radians, ids
// the feature of each, and at the root becomes the parties' total plus the phase of one of them.
// Tree 1 sums o + b of all parties; tree 2 the phases of all but l', element by element with the
// same l', though a phase does not depend on the row: that is what the algorithm says.
func (t *trainer) openRadians(ctx context.Context, root int, ids []int, angles []float64) error {
	phases := t.ownRadians()
	for i := range angles {
		angles[i] += phases[ids[i]]
	}
	if len(t.Names) == 1 {
		return nil // alone: the sum of the parts' phases is as good as one of them
	}
	excluder := newExcluder(t.Params.Seed, len(t.Names), root)
	elements := make([][]int, len(t.Names))
	for i, id := range ids {
		l := excluder.of(id)
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
func (t *trainer) openExcluding(ctx context.Context, root, l int, elements, ids []int, angles []float64) error {
	phases := t.ownRadians()
	masked := make([]float64, len(elements))
	rest := make([]float64, len(elements))
	for k, i := range elements {
		masked[k], rest[k] = angles[i], phases[ids[i]]
	}
	if err := t.Network.SumTree(ctx, "published-angles", 1, root, l, masked); err != nil {
		return err
	}
	if err := t.Network.SumTree(ctx, "published-phases", 2, root, l, rest); err != nil {
		return err
	}
	for k, i := range elements {
		angles[i] = masked[k] - rest[k]
	}
	return nil
}

// ownRadians returns the sum of this party's parts' phases for all features.
func (t *trainer) ownRadians() []float64 {
	if t.radians == nil {
		t.radians = make([]float64, t.Params.Features)
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
