package fdskl

import (
	"context"
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

// The one number that opens of a sealed job's kernel width is a word of SealedWidth bits, SealedPoint of them behind
// the point; SealedMost is the largest addend, so that up to 2^6 parties' do not pass its end.
const (
	SealedWidth = 40
	SealedPoint = 16
	SealedMost  = 1<<(SealedWidth-6) - 1
)

// Solo is the Network of a party that is alone: every sum is its own vector. The pooled
// computation in the clear runs on it, through the same code as the federation.
type Solo struct{}

// SumTurns implements Summer.
func (Solo) SumTurns(context.Context, string, int, []uint16) error { return nil }

// SumReals implements Summer.
func (Solo) SumReals(context.Context, string, int, []float64) error { return nil }

// SumTree implements TreeSummer.
func (Solo) SumTree(context.Context, string, int, int, int, []float64) error { return nil }

// Broadcast implements Broadcaster.
func (Solo) Broadcast(_ context.Context, _ string, _ int, data []byte, _ int) ([]byte, error) {
	return data, nil
}

// Confirm implements Broadcaster.
func (Solo) Confirm(context.Context) error { return nil }
