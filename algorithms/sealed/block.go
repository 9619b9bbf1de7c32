package sealed

import (
	"context"
	"slices"

	"github.com/hanse-project/hanse/secagg/rss"
)

// block is some rows on their way from turns to shares.
type block struct {
	lo, hi int
	late   rss.Role // the factors go to it; the other of keeper and helper is early
	pads   map[rss.Use]rss.Pad
	spaces [][]uint64

	angles  []uint16                    // A0, at the label holder
	summed  func(context.Context) error // returns when they are there
	factors []uint64                    // at the label holder and the late one
	known   func(context.Context) error
	sent    []uint64 // keeper and helper: their message of features
	came    []uint64 // and the other's
	whole   func(context.Context) error
}

// space returns room for n words of a block, with anything in it.
func (c *columns) space(b *block, n int) []uint64 {
	best := -1
	for i, w := range c.spare {
		if cap(w) >= n && (best < 0 || cap(w) < cap(c.spare[best])) {
			best = i
		}
	}
	w := make([]uint64, 0)
	if best >= 0 {
		w = c.spare[best]
		c.spare = slices.Delete(c.spare, best, best+1)
	}
	w = slices.Grow(w[:0], n)[:n]
	b.spaces = append(b.spaces, w)
	return w
}

// release implements source: it takes back the room of a block.
func (c *columns) release(b *block) {
	c.spare = append(c.spare, b.spaces...)
	b.spaces = nil
}

// done implements source.
func (c *columns) done() { c.spare = nil }

// early returns the one of keeper and helper that knows its part without a message.
func (b *block) early() rss.Role { return rss.Keeper + rss.Helper - b.late }

// angles is how many angles a block has, of two features each.
func (c *columns) angles(b *block) int { return c.words(b) / 2 }

// words is how many features a block has.
func (c *columns) words(b *block) int { return (b.hi - b.lo) * c.features }
