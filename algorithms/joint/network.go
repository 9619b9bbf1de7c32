package joint

import (
	"context"

	"github.com/hanse-project/hanse/secagg/rss"
)

// Summer adds vectors so that only the root learns the total.
type Summer interface {
	// SumTurns adds vectors of 16-bit turns; at the root v becomes the total.
	SumTurns(ctx context.Context, kind string, root int, v []uint16) error
	// SumReals adds vectors of reals of magnitude at most RealBound; at the root v becomes the total.
	SumReals(ctx context.Context, kind string, root int, v []float64) error
}

// Broadcaster sends the root's data to all and returns it everywhere; limit is the most bytes a
// receiver accepts.
type Broadcaster interface {
	Broadcast(ctx context.Context, kind string, root int, data []byte, limit int) ([]byte, error)
	// Confirm returns once all have been told the same in all broadcasts: on the way through the tree they can be
	// changed. It is called before what was told decides over what leaves. Masked sums need none: their masks are
	// derived from what was told, too.
	Confirm(ctx context.Context) error
}

// TreeSummer runs the unprotected sums of the published protocol (Algorithm 3): tree 1 spans all
// parties, tree 2 all but the excluded one, totally different from tree 1 (Definition 2).
type TreeSummer interface {
	SumTree(ctx context.Context, kind string, tree, root, excluded int, v []float64) error
}

// Network is all that one party's part asks of the federation. All parties call the same
// operations in the same order.
type Network interface {
	Summer
	Broadcaster
	TreeSummer
}

// RealBound is the largest magnitude of one addend of SumReals.
const RealBound = 1 << 20

// SealedNetwork is all that one party's part of a sealed job asks of the federation. All parties call the same
// operations in the same order.
type SealedNetwork interface {
	Broadcaster
	// BeginPadded adds vectors of 16-bit turns under masks; the root's total is under a pad that it lacks, and there when
	// end has returned. Elsewhere v has gone when it returns.
	BeginPadded(ctx context.Context, kind string, root int, v []uint16) (end func(context.Context) error, err error)
	// SumPacked adds vectors of words modulo 2^bits under masks; the total, of so many bits and no more, opens to the
	// root, in v.
	SumPacked(ctx context.Context, kind string, root, bits int, v []uint64) error
	// Ask has the root of an opening ask all others for its n numbers, and sign that it has.
	Ask(ctx context.Context, root int, kind string, n, number int) error
	// Three starts this party's end of the arithmetic among the parties of the three roles. It is called
	// once in a session.
	Three(parties [rss.Roles]int) (*rss.Party, error)
}
