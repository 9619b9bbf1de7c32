package sealed

import (
	"context"
	"fmt"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/rss"
)

// The kinds of the messages that make shares of bins.
const (
	kindBins    = "bins"     // an owner's words, to one of the three, or from outside to two
	kindBinKeys = "bin keys" // of the pads of an owner outside the three
)

// bins makes shares of features that are bins of the parties' columns. The words of a row are one-hot: for each column
// of its owner a 1, at the scale of a feature, in the bin that the row is in, and zeros; the owners' words stand one
// behind another, in the order of the parties. An owner shares its own words; see rss.Party.Share. There are no angles:
// what a row costs is a word for each bin of one of the three, and two for each of a party outside.
//
// No bin is left out as a reference. The bins of a column add up to 1 in every row that is in one of them, so that the
// centred Gram matrix is singular. lambda makes it regular, and takes of all equally good coefficients those that add
// up to 0 in each column: points are above and below a mean of the bins. The steps begin at 0 and stay in the range of
// the Gram matrix, so that the rounding alone can leave it.
type bins struct {
	*scales
	roles
	self   int
	three  *rss.Party
	counts []int          // of bins, by party
	matrix *kernel.Matrix // this party's rows; nil where it has none
	owners []rss.Owner    // by party, once those outside have given keys
}

// newBins prepares for a session.
func newBins(s *scales, at roles, p fdskl.Params, self int, three *rss.Party) *bins {
	return &bins{scales: s, roles: at, self: self, three: three, counts: p.PartyBins}
}

// each implements source. Messages of bins bring about none, so that nobody waits for more than the slowest owner.
func (c *bins) each(ctx context.Context, lo, hi, size int, take func(b *block, z rss.Share) error,
	behind func(ctx context.Context, row int) error) error {
	if c.owners == nil {
		if err := c.keys(ctx); err != nil {
			return err
		}
	}
	for at := lo; at < hi; at += size {
		b := &block{lo: at, hi: min(at+size, hi)}
		z, err := c.share(ctx, b)
		if err != nil {
			return err
		}
		if err := take(b, z); err != nil {
			return err
		}
		if err := behind(ctx, b.hi); err != nil {
			return err
		}
	}
	return nil
}

// keys has the owners outside the three give the keys of their pads.
func (c *bins) keys(ctx context.Context) error {
	owners := make([]rss.Owner, len(c.counts))
	for i, n := range c.counts {
		role := rss.Outside
		for r, party := range c.parties {
			if party == i {
				role = rss.Role(r)
			}
		}
		owners[i] = rss.Owner{Role: role}
		if n == 0 || role != rss.Outside {
			continue
		}
		var err error
		if owners[i], err = c.three.Keys(ctx, kindBinKeys, i); err != nil {
			return err
		}
	}
	c.owners = owners
	return nil
}

// share shares a block's words, owner by owner.
func (c *bins) share(ctx context.Context, b *block) (rss.Share, error) {
	rows := b.hi - b.lo
	z := rss.Zero(c.role, rows*c.features)
	at := 0
	for i, n := range c.counts {
		if n == 0 {
			continue
		}
		var words []uint64
		if i == c.self {
			if c.matrix == nil || len(c.matrix.Binary) != n || len(c.matrix.Dense) > 0 {
				return z, fmt.Errorf("%s: this party has other bins than the %d that it told", kindBins, n)
			}
			words = make([]uint64, rows*n)
			for j := range rows {
				c.matrix.EachInRow(b.lo+j, func(bin int, _ float64) { words[j*n+bin] = 1 << c.sz })
			}
		}
		own, err := c.three.Share(ctx, kindBins, c.owners[i], c.k, rows*n, words)
		if err != nil {
			return z, err
		}
		if c.role != rss.Outside {
			for j := range rows {
				copy(z.X[j*c.features+at:], own.X[j*n:(j+1)*n])
				copy(z.Y[j*c.features+at:], own.Y[j*n:(j+1)*n])
			}
		}
		at += n
	}
	return z, nil
}

// stored implements source: both components.
func (c *bins) stored(z rss.Share) [][]uint64 { return [][]uint64{z.X, z.Y} }

// again implements source.
func (c *bins) again(_ *block, stored []uint64) rss.Share {
	if c.role == rss.Outside {
		return rss.Share{}
	}
	n := len(stored) / 2
	return rss.Share{X: stored[:n], Y: stored[n:]}
}

// release implements source.
func (c *bins) release(*block) {}

// done implements source.
func (c *bins) done() {}

// WithFacts returns the parameters of a job once its parties have said how many bins they have. Those of a job with a
// kernel stay as they are.
func WithFacts(p fdskl.Params, facts []contract.Facts) (fdskl.Params, error) {
	if !p.Binned() {
		return p, nil
	}
	p.PartyBins, p.PartyColumns, p.Features, p.Lambda = nil, nil, 0, p.LambdaOf(contract.RowsOf(facts))
	names := make([]string, len(facts))
	for i, f := range facts {
		p.PartyBins, p.PartyColumns = append(p.PartyBins, f.Bins), append(p.PartyColumns, f.Columns)
		p.Features += f.Bins
		names[i] = f.Name
	}
	if p.Features < 2 {
		return p, fmt.Errorf("the parties' columns have %d bins together, want 2 or more: columns that hold one value in "+
			"nearly all rows have none", p.Features)
	}
	if err := p.Validate(names); err != nil {
		return p, err
	}
	return p, Validate(p, names)
}
