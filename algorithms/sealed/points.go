package sealed

import (
	"context"
	"math"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/rss"
)

// cardmaker opens the points of a scorecard.
type cardmaker struct {
	*setting
	cards *series // nil where none open
	card  *fdskl.Points
}

// kindPoints is the kind of the truncations and openings of a scorecard's points.
const kindPoints = "points"

// Points of a scorecard: 20 of them double the odds of the second class.
const (
	doubles     = 20 / math.Ln2
	doublesBits = 10 // behind the point of that factor
	pointsWidth = 12 // bits of a bin's points that open, one of them the sign: 2,047 points are odds of 2^102
)

// cardOf is of what one party learns a number of a scorecard.
type cardOf struct {
	party int
	bins  []int // of whom it learns the points, by party
	base  bool  // and whether the points of nobody's bins
}

// size is how many numbers open.
func (c *cardOf) size(p fdskl.Params) int {
	n := 0
	for _, i := range c.bins {
		n += p.PartyBins[i]
	}
	if c.base {
		n++
	}
	return n
}

// cardsOf lists who learns which bins' numbers: the party that the job names those of all, or each owner those of its
// own bins. The base, which is the label's mean and not anybody's column, is the named party's or the label holder's.
func cardsOf(to string, base bool, p fdskl.Params, names []string) []cardOf {
	if to == "" {
		return nil
	}
	var list []cardOf
	for i, name := range names {
		c := cardOf{party: i, base: base && (name == to || to == fdskl.ToOwners && name == p.Active[0])}
		for k, n := range p.PartyBins {
			if n > 0 && (name == to || to == fdskl.ToOwners && k == i) {
				c.bins = append(c.bins, k)
			}
		}
		if c.size(p) > 0 {
			list = append(list, c)
		}
	}
	return list
}

// openCards opens numbers of bins, of which terms have so many bits behind the point, and returns those of this party
// and which they are, nil when it learns none. A number is rounded up or down, with the right mean, under the pads of
// one session, and opens once; see openings.
func (t *cardmaker) openCards(
	ctx context.Context, s *series, cards []cardOf, bits int, terms func(c *cardOf) []uint64,
) (own []int64, of *cardOf, err error) {
	for i := range cards {
		c := &cards[i]
		s.root = c.party
		n := c.size(t.Params)
		opened, err := t.openings.openVector(ctx, s, i+1, n, func() (rss.Share, error) {
			var own []uint64
			if t.role != rss.Outside {
				own = terms(c)
			}
			// The check has the turn before.
			return t.truncate(ctx, s.kind, t.Params.Iterations+2+i, wordBits, own, rss.Shift{Count: n, Bits: bits})
		})
		if err != nil {
			return nil, nil, err
		}
		if t.Self == c.party {
			t.told(s.kind, n)
			own, of = opened, c
		}
	}
	return own, of, nil
}

// split deals out numbers of bins to their owners.
func (c *cardOf) split(p fdskl.Params, names []string, all []int64) (owners []string, bins [][]int64) {
	for _, k := range c.bins {
		n := p.PartyBins[k]
		owners, bins = append(owners, names[k]), append(bins, all[:n])
		all = all[n:]
	}
	return owners, bins
}

// binsOf returns where the bins of a party are among all.
func (t *cardmaker) binsOf(party int) (lo, hi int) {
	for _, n := range t.Params.PartyBins[:party] {
		lo += n
	}
	return lo, lo + t.Params.PartyBins[party]
}

// openPoints opens the points that the job opens, once the steps are checked, and returns those of this party.
func (t *cardmaker) openPoints(ctx context.Context, s *solution) (*fdskl.Points, error) {
	opened, c, err := t.openCards(ctx, t.cards, cardsOf(t.Params.Points, true, t.Params, t.Names), coefBits+doublesBits,
		func(c *cardOf) []uint64 { return t.pointTerms(s, c) })
	if err != nil || c == nil {
		return nil, err
	}
	own := new(fdskl.Points)
	if c.base {
		own.Base = &opened[len(opened)-1]
	}
	own.Owners, own.Bins = c.split(t.Params, t.Names, opened)
	return own, nil
}

// pointTerms returns the terms of the points that a party learns, with coefBits + doublesBits behind the point.
func (t *cardmaker) pointTerms(s *solution, c *cardOf) []uint64 {
	factor := uint64(math.Round(math.Ldexp(doubles, doublesBits)))
	var terms []uint64
	for _, k := range c.bins {
		lo, hi := t.binsOf(k)
		part := make([]uint64, hi-lo)
		s.beta.Slice(lo, hi).AddTo(part, factor)
		terms = append(terms, part...)
	}
	if c.base {
		base := make([]uint64, 1)
		s.scored(1).AddTo(base, factor)
		if t.role == rss.LabelHolder {
			base[0] += uint64(int64(math.Round(math.Ldexp(s.intercepts[0], coefBits)))) * factor
		}
		terms = append(terms, base...)
	}
	return terms
}

// pointOpenings lists who learns points.
func pointOpenings(p fdskl.Params, names []string) []contract.Opening {
	var list []contract.Opening
	for _, c := range cardsOf(p.Points, true, p, names) {
		meaning := "the points of its own bins: what each adds to the odds of the second class, 20 double them"
		if p.Points != fdskl.ToOwners {
			meaning = "the points of everybody's bins, without what the bins are, and of the base: 20 double the odds of the " +
				"second class"
		} else if c.base {
			meaning += "; and the base, of a row that is in no bin"
		}
		list = append(list, contract.Opening{To: names[c.party], Kind: kindPoints, Count: int64(c.size(p)), Meaning: meaning})
	}
	return list
}
