package sealed

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/secagg/rss"
)

// TestATruncationsMessagesDiscloseNothing replays truncations in all six orders and all rings, one after the
// other, with other terms at the others; and then of their sums, so that shares which came of one truncation enter the
// next.
func TestATruncationsMessagesDiscloseNothing(t *testing.T) {
	for _, bits := range []int{ringDefault, ringCompact, ringSmall} {
		for _, role := range roleOrder() {
			t.Run(fmt.Sprintf("%d bits, the %s", bits, role), func(t *testing.T) {
				t.Parallel()
				names := []string{"p0", "p1", "p2"}
				r, err := replayed(t, names, role, int(role), 0, func(l *lab, second bool) (string, error) {
					return truncations(t, l, bits, role, second)
				})
				must(t, err)
				t.Logf("%d messages of %d words, solved in %d runs", len(r.log), r.words(), r.sweeps)
			})
		}
	}
}

// truncations truncates in all orders, twice, and returns one party's shares.
func truncations(t testing.TB, l *lab, bits int, subject rss.Role, second bool) (string, error) {
	var result string
	err := l.run(t, func(ctx context.Context, i int, n joint.SealedNetwork) error {
		three, err := n.Three([rss.Roles]int{0, 1, 2})
		if err != nil {
			return err
		}
		seed := uint64(i)
		if second && rss.Role(i) != subject {
			seed += 10
		}
		all, err := truncateAll(ctx, three, bits, rand.New(rand.NewPCG(seed, 3)))
		if rss.Role(i) == subject {
			result = fmt.Sprint(all)
		}
		return err
	})
	return result, err
}

// truncateAll is a party's part: each truncation's terms are random words and the product of the last result
// with itself.
func truncateAll(ctx context.Context, three *rss.Party, bits int, rng *rand.Rand) (all []rss.Share, err error) {
	const count = 3
	last := rss.Zero(three.Role(), count)
	for range 2 {
		for _, order := range []rss.Order{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
			term := []uint64{rng.Uint64(), rng.Uint64(), rng.Uint64()}
			for i := range term {
				term[i] += three.Dot(last.Slice(i, i+1), last.Slice(i, i+1))[0]
			}
			if last, err = three.Truncate(ctx, "test", bits, term, order, rss.Shift{Count: 1, Bits: 1},
				rss.Shift{Count: 2, Bits: bits - 20}); err != nil {
				return nil, err
			}
			all = append(all, last)
		}
	}
	return all, nil
}
