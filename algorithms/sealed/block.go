package sealed

import (
	"slices"

	"github.com/hanse-project/hanse/secagg/rss"
)

// block is some rows on their way from turns to shares.
type block struct {
	lo, hi int
	late   rss.Role // the factors go to it; the other of keeper and helper is early
	pads   map[rss.Use]rss.Pad
	angles []uint16 // A0, at the label holder
	sent   []uint64 // keeper and helper: their message of features
	came   []uint64 // and the other's
	rooms  [][]uint64
}

// room returns room for n words of a block, with anything in it.
func (c *columns) room(b *block, n int) []uint64 {
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
	b.rooms = append(b.rooms, w)
	return w
}

// release takes back the room of a block that is done.
func (c *columns) release(b *block) {
	c.spare = append(c.spare, b.rooms...)
	b.rooms = nil
}

// early returns the one of keeper and helper that knows its part without a message.
func (b *block) early() rss.Role { return rss.Keeper + rss.Helper - b.late }

// words is how many features a block has.
func (c *columns) words(b *block) int { return (b.hi - b.lo) * c.features }

// component makes room for component 0, which may be needed again.
func (c *columns) component(b *block) []uint64 {
	if c.keeps {
		return make([]uint64, c.words(b))
	}
	return c.room(b, c.words(b))
}
