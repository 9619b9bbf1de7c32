package sealed

import (
	"context"
	"io"
	"math"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/secagg/rss"
)

// Party is one party's part of a training.
type Party struct {
	*fdskl.Party // its Network is not used
	Network      joint.SealedNetwork
	Session      uint32 // which execution of the contract this is
	Owner        keys.ID
	Bins         *fdskl.Part // where features are bins: this party's, in place of the Parts of a kernel; nil without data
	BlockRows    int         // rows of a block; 0: chosen by the features
	SaveEvery    int         // blocks, and steps, between two checkpoints; 0: as many as usual

	// Scratch makes a file of about so many bytes, or says why it does not fit. It is called once at most, by those who
	// have FileBytes.
	Scratch func(bytes int64) (joint.Scratch, error)

	// Sums has the sums of all rows made elsewhere, shard by shard, in sessions of their own, and returns this party's
	// parts of them; see SumRows. nil: the training's own session makes them. It is for the square loss.
	Sums func(ctx context.Context, b *Begun) ([]Sums, error)

	// Random is where the party's part of the coin comes from; nil: the system's secure source.
	Random io.Reader

	// WindowRows is the most rows of a window of sums, and twice that of one of labels, for tests; 0: as many as fit.
	WindowRows int

	// Saved is called whenever the party has written a checkpoint; it may be nil.
	Saved func(point string)
}

// roles are the parties of the three roles, and this party's role among them.
type roles struct {
	parties [rss.Roles]int
	role    rss.Role
}

// rolesOf finds a job's roles.
func rolesOf(p fdskl.Params, names []string, self int) roles {
	s := roles{role: rss.Outside}
	for i, name := range names {
		for r, holder := range [rss.Roles]string{p.Active[0], p.Keeper, p.Helper} {
			if name == holder {
				s.parties[r] = i
			}
		}
	}
	for r, i := range s.parties {
		if i == self {
			s.role = rss.Role(r)
		}
	}
	return s
}

// network is a joint.SealedNetwork as FDSKL's own parts see it: they add reals, of which fdskl.SealedWidth bits open,
// and broadcast, and nothing else.
type network struct{ joint.SealedNetwork }

// SumReals implements joint.Summer for numbers that are not negative: what is too large for the width counts as the
// largest.
func (n network) SumReals(ctx context.Context, kind string, root int, v []float64) error {
	words := make([]uint64, len(v))
	for i, x := range v {
		words[i] = uint64(min(max(math.RoundToEven(math.Ldexp(x, fdskl.SealedPoint)), 0), fdskl.SealedMost))
	}
	if err := n.SumPacked(ctx, kind, root, fdskl.SealedWidth, words); err != nil {
		return err
	}
	for i, w := range words {
		v[i] = math.Ldexp(float64(w), -fdskl.SealedPoint)
	}
	return nil
}

// SumTurns implements joint.Summer: sealed jobs open no angles.
func (network) SumTurns(context.Context, string, int, []uint16) error { return errOpen }

// SumTree implements joint.TreeSummer: sealed jobs have no unprotected sums.
func (network) SumTree(context.Context, string, int, int, int, []float64) error { return errOpen }
