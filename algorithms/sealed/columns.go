package sealed

import (
	"context"
	"errors"
	"fmt"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/secagg/rss"
)

// errOpen is what stops a sealed job that would open angles.
var errOpen = errors.New("a sealed job opens no angles")

// The kinds of the messages that make shares of features.
const (
	kindAngles  = "angles"   // every party's masked turns, to the label holder
	kindFactors = "factors"  // cos and sin of the padded angles, to the keeper or the helper
	kindReshare = "features" // between the keeper and the helper
)

// The uses of a block's pads.
const (
	useFirst    = rss.FirstFree + 11 // the part of cos A0 at whoever the factors do not go to
	useSecond   = rss.FirstFree + 12 // of sin A0
	useTwo      = rss.FirstFree + 13 // component 2 of the features
	useOne      = rss.FirstFree + 14 // component 1
	useRotation = rss.FirstFree + 77 // r
)

// In jobs with features of 32 bits the factors are words of 48, and of their products modulo 2^48 the low 16 bits are
// dropped: p + h = x modulo 2^48 with p uniform, and floor(p / 2^16) + floor(h / 2^16) + 1 is floor(x / 2^16) or one
// more, modulo 2^32, with mean (x + g) / 2^16, where 2^16 is a multiple of g and g divides p: x is rounded by a dither
// that nobody chooses. What wraps modulo 2^48 wraps modulo 2^32 as well. The 1 is the helper's.
const factorRing = 48

// wordsPerTurns is how many turns one word of a pad gives.
const wordsPerTurns = 4

// The blocks of one pass are worked on at the same time, each a step ahead of the next, so that nobody
// waits for a message that a message of the same block brings about.
const (
	aheadAngles  = 2 // blocks by which the sums of turns are ahead of the factors
	aheadHalves  = 1 // by which the first of the two features messages is
	behindHalves = 1 // by which the second is behind them
	behindShares = 2 // and by which shares are put together
)

// source makes shares of features, block by block: *columns of cosines, *bins of bins.
type source interface {
	// each makes shares of rows [lo, hi), size at a time, and hands them to take in order. z is of the block's rows,
	// row-major, modulo 2^k, and take's until it returns. One take runs at a time, while the messages of the next blocks
	// go on: it must send none. Between two takes, and behind the last, each calls behind with how many rows were taken,
	// which may send.
	each(ctx context.Context, lo, hi, size int, take func(b *block, z rss.Share) error,
		behind func(ctx context.Context, row int) error) error
	stored(z rss.Share) [][]uint64             // the components of z that no key stream gives back
	again(b *block, stored []uint64) rss.Share // z, until release: of these components, one behind the other
	release(b *block)
	done() // no block is under way, and none will be soon
}

// columns makes shares of cosines and sines, block by block: of each angle the two, one behind the other.
type columns struct {
	*scales
	roles
	network joint.SealedNetwork
	three   *rss.Party
	table   *turnTable
	turns   func(lo, hi int) ([]uint16, error) // this party's addends of rows
	spare   [][]uint64                         // space of blocks that are done
	tracer  *tracer                            // network, where it has no data; else nil
}

// newColumns prepares for a session. Outside the three nobody looks up a turn.
func newColumns(s *scales, at roles, n joint.SealedNetwork, three *rss.Party) *columns {
	c := &columns{scales: s, roles: at, network: n, three: three}
	c.tracer, _ = n.(*tracer)
	if at.role != rss.Outside {
		c.table = turnTableOf(s.s1)
	}
	return c
}

// each implements source.
func (c *columns) each(ctx context.Context, lo, hi, size int, take func(b *block, z rss.Share) error,
	behind func(ctx context.Context, row int) error) error {
	var blocks []*block
	for at := lo; at < hi; at += size {
		b := &block{lo: at, hi: min(at+size, hi), late: rss.Helper}
		if at/size%2 == 1 {
			b.late = rss.Keeper
		}
		blocks = append(blocks, b)
	}
	taking, done := make(chan error, 1), &block{hi: lo} // the end of the latest take, and what it takes
	taking <- nil
	finish := func() error {
		if err := <-taking; err != nil {
			return err
		}
		c.release(done)
		return behind(ctx, done.hi)
	}
	for i := -aheadAngles; i < len(blocks)+behindShares; i++ {
		if err := c.advance(ctx, blocks, i); err != nil {
			return errors.Join(err, <-taking)
		}
		if i < behindShares {
			continue
		}
		b := blocks[i-behindShares]
		z, err := c.share(ctx, b)
		if err != nil {
			return errors.Join(err, <-taking)
		}
		if err := finish(); err != nil {
			return err
		}
		done = b
		go func() { taking <- take(b, z) }()
		b.sent, b.came = nil, nil
		b.summed, b.known, b.whole = nil, nil, nil // they hold what came, and the list holds all blocks
	}
	return finish()
}

// advance brings every block by a step nearer to its end, block i by that of the factors.
func (c *columns) advance(ctx context.Context, blocks []*block, i int) error {
	at := func(i int, step func(context.Context, *block) error) error {
		if i < 0 || i >= len(blocks) {
			return nil
		}
		return step(ctx, blocks[i])
	}
	if err := at(i+aheadAngles, c.sum); err != nil {
		return err
	}
	if err := at(i+aheadHalves, c.passEarly); err != nil {
		return err
	}
	if err := at(i, c.passFactors); err != nil {
		return err
	}
	return at(i-behindHalves, c.passLate)
}

// sum adds the parties' turns, and at the keeper r, so that the label holder learns the padded angle A0.
func (c *columns) sum(ctx context.Context, b *block) error {
	b.pads = make(map[rss.Use]rss.Pad)
	step := c.three.Begin(fmt.Sprintf("features|%d|%d|%d|%d|%v", c.k, c.features, b.lo, b.hi, b.late))
	for _, d := range []struct {
		use     rss.Use
		unknown rss.Role
	}{
		{useRotation, rss.LabelHolder}, {useFirst, b.late}, {useSecond, b.late}, {useOne, rss.Keeper}, {useTwo, rss.Helper},
	} {
		pad, err := step.Pad(d.unknown, d.use)
		if err != nil {
			return err
		}
		b.pads[d.use] = pad
	}
	turns, err := c.turns(b.lo, b.hi)
	if err != nil {
		return err
	}
	if c.role == rss.Keeper {
		var r [pieceWords]uint16
		pieces(len(turns), func(lo, hi int) {
			rotation(b, r[:hi-lo], lo)
			for i := lo; i < hi; i++ {
				turns[i] += r[i-lo]
			}
		})
	}
	if c.role == rss.LabelHolder {
		b.angles = turns
	}
	c.tracer.angles(b)
	b.summed, err = c.network.BeginPadded(ctx, kindAngles, c.parties[rss.LabelHolder], turns)
	return err
}

// pieceWords is how many words of pads are made at once where nobody needs the whole: a multiple of
// wordsPerTurns that stays in the first-level cache.
const pieceWords = 1 << 10

// pieces calls f for the pieces of n words.
func pieces(n int, f func(lo, hi int)) {
	for lo := 0; lo < n; lo += pieceWords {
		f(lo, min(lo+pieceWords, n))
	}
}

// rotation writes turns [at, at+len(turns)) of r; at is a multiple of wordsPerTurns.
func rotation(b *block, turns []uint16, at int) {
	var words [pieceWords / wordsPerTurns]uint64
	b.pads[useRotation].Words(words[:(len(turns)+wordsPerTurns-1)/wordsPerTurns], at/wordsPerTurns)
	for i := range turns {
		turns[i] = uint16(words[i/wordsPerTurns] >> (16 * (i % wordsPerTurns)))
	}
}

// pad returns the component of a block's features that a pad of n numbers is.
func (c *columns) pad(b *block, use rss.Use, n int) []uint64 {
	w := c.space(b, n)
	c.draw(b, use, w, 0)
	return w
}

// draw writes a part of it, from number at on.
func (c *columns) draw(b *block, use rss.Use, dst []uint64, at int) {
	if c.k == ringSmall {
		rss.Narrow(b.pads[use], dst, at)
	} else {
		b.pads[use].Words(dst, at)
	}
}

// passEarly sends the early one's part of the features, which its pads give.
func (c *columns) passEarly(ctx context.Context, b *block) error {
	if c.role == b.early() {
		var cos, sin [pieceWords]uint64
		b.sent = c.space(b, c.words(b))
		pieces(c.angles(b), func(lo, hi int) {
			b.pads[useFirst].Words(cos[:hi-lo], lo)
			b.pads[useSecond].Words(sin[:hi-lo], lo)
			c.half(b, b.sent[2*lo:2*hi], cos[:hi-lo], sin[:hi-lo], lo)
		})
	}
	return c.passHalf(ctx, b, b.early())
}

// passFactors sends cos A0 and sin A0, less the early one's parts of them.
func (c *columns) passFactors(ctx context.Context, b *block) error {
	n := c.angles(b)
	if err := b.summed(ctx); err != nil {
		return err
	}
	switch c.role {
	case rss.LabelHolder:
		b.factors = c.factors(b)
		b.angles = nil
	case b.late:
		b.factors = c.space(b, 2*n)
	}
	c.tracer.rows(b)
	var err error
	b.known, err = c.three.BeginPass(ctx, kindFactors, rss.LabelHolder, b.late, max(c.k, factorRing), 2*n, b.factors)
	return err
}

// factors returns cos A0, then sin A0, less the early one's parts.
func (c *columns) factors(b *block) []uint64 {
	n := len(b.angles)
	words := c.space(b, 2*n)
	var first, second [pieceWords]uint64
	pieces(n, func(lo, hi int) {
		b.pads[useFirst].Words(first[:hi-lo], lo)
		b.pads[useSecond].Words(second[:hi-lo], lo)
		for i, angle := range b.angles[lo:hi] {
			cos, sin := c.table.at(angle)
			words[lo+i], words[n+lo+i] = cos-first[i], sin-second[i]
		}
	})
	return words
}

// passLate sends the late one's part of the features, once it has the factors.
func (c *columns) passLate(ctx context.Context, b *block) error {
	if err := b.known(ctx); err != nil {
		return err
	}
	if c.role == b.late {
		b.sent = c.space(b, c.words(b))
		n := c.angles(b)
		pieces(n, func(lo, hi int) { c.half(b, b.sent[2*lo:2*hi], b.factors[lo:hi], b.factors[n+lo:n+hi], lo) })
	}
	b.factors = nil
	return c.passHalf(ctx, b, b.late)
}

// half writes a piece, from angle at on, of what one of keeper and helper tells the other: its part of cos(A0 - r) and
// sin(A0 - r), less its component of the features, which is a pad.
func (c *columns) half(b *block, half, cos, sin []uint64, at int) {
	own := useTwo
	if c.role == rss.Helper {
		own = useOne
	}
	var component [2 * pieceWords]uint64
	var turns [pieceWords]uint16
	c.draw(b, own, component[:len(half)], 2*at)
	rotation(b, turns[:len(cos)], at)
	for i, r := range turns[:len(cos)] {
		cosR, sinR := c.table.at(r)
		half[2*i] = cos[i]*cosR + sin[i]*sinR
		half[2*i+1] = sin[i]*cosR - cos[i]*sinR
	}
	if c.k == ringSmall {
		drop(c.role, half)
	}
	for i, w := range component[:len(half)] {
		half[i] -= w
	}
}

// drop writes one party's part of dithered features over its part of products modulo 2^48.
func drop(r rss.Role, words []uint64) {
	var one uint64
	if r == rss.Helper {
		one = 1
	}
	for i, w := range words {
		words[i] = upper(w, factorRing, ringSmall) + one
	}
}

// upper returns the upper bits of a word modulo 2^from: as many as to says.
func upper(word uint64, from, to int) uint64 { return word << (64 - from) >> (64 - to) }

// passHalf carries one of the two messages of features.
func (c *columns) passHalf(ctx context.Context, b *block, from rss.Role) error {
	n, words := c.words(b), b.sent
	to := rss.Keeper + rss.Helper - from
	if c.role == to {
		b.came = c.space(b, n)
		words = b.came
	}
	c.tracer.rows(b)
	end, err := c.three.BeginPass(ctx, kindReshare, from, to, c.k, n, words)
	if c.role == to {
		b.whole = end
	}
	return err
}

// share puts a block's components together: two pads, and the sum of the two messages.
func (c *columns) share(ctx context.Context, b *block) (rss.Share, error) {
	if c.role == rss.Keeper || c.role == rss.Helper {
		if err := b.whole(ctx); err != nil {
			return rss.Share{}, err
		}
		for i, w := range b.came {
			b.sent[i] += w
		}
	}
	return c.again(b, b.sent), nil
}

// stored implements source: component 0.
func (c *columns) stored(z rss.Share) [][]uint64 {
	switch c.role {
	case rss.Keeper:
		return [][]uint64{z.Y}
	case rss.Helper:
		return [][]uint64{z.X}
	}
	return nil
}

// again implements source.
func (c *columns) again(b *block, stored []uint64) rss.Share {
	if c.role == rss.Outside {
		return rss.Share{}
	}
	n := c.words(b)
	components := [rss.Roles][]uint64{stored, nil, nil}
	if c.role != rss.Keeper {
		components[1] = c.pad(b, useOne, n)
	}
	if c.role != rss.Helper {
		components[2] = c.pad(b, useTwo, n)
	}
	return rss.Components(c.role, components)
}
