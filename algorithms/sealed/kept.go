package sealed

import (
	"context"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/internal/parallel"
	"github.com/hanse-project/hanse/secagg/rss"
)

// kept are the features of all rows, block by block, for losses that need them again. What key streams give is made
// anew each time; component 0 of cosines, and both components of bins, are in a file. So memory holds a few blocks,
// however many there are.
type kept struct {
	source  source
	scratch joint.Scratch // nil: this party has nothing to write
	size    int           // of a word in it, in bytes
	blocks  []*block
	bytes   []byte
	words   [2][]uint64 // of the block that is taken, and of the next one
}

// newKept begins a file of the rows, nil where the loss does not need them again.
func (t *checkpoints) newKept() (*kept, error) {
	if t.Params.Outer == 0 {
		return nil, nil
	}
	k := &kept{source: t.columns, size: t.k / 8}
	size := FileBytes(t.Params, t.Rows, t.role)
	if size == 0 {
		return k, nil
	}
	if t.Scratch == nil {
		return nil, fmt.Errorf("this party has nowhere to put the features' shares, %d bytes", size)
	}
	f, err := t.Scratch(size)
	if err != nil {
		return nil, err
	}
	k.scratch = f
	return k, nil
}

// FileBytes is how many bytes a file has that a party of a role keeps while it trains, 0 for none.
func FileBytes(p fdskl.Params, rows int, role rss.Role) int64 {
	words := int64(rows) * int64(p.Features)
	switch {
	case p.Loss == kernel.Square.String() || role == rss.Outside || role == rss.LabelHolder && !p.Binned():
		return 0
	case p.Binned():
		words *= 2
	}
	return words * int64(p.Ring/8)
}

// close removes the file.
func (k *kept) close() error {
	if k == nil || k.scratch == nil {
		return nil
	}
	return k.scratch.Close()
}

// add adds a block, in the order of the rows.
func (k *kept) add(b *block, z rss.Share) error {
	if k == nil {
		return nil
	}
	k.blocks = append(k.blocks, b)
	if k.scratch == nil {
		return nil
	}
	stored, n := k.source.stored(z), 0
	for _, words := range stored {
		n += k.size * len(words)
	}
	k.bytes = slices.Grow(k.bytes[:0], n)[:n]
	rest := k.bytes
	for _, words := range stored {
		size := k.size * len(words)
		rss.Pack(rest[:size], words, k.size)
		rest = rest[size:]
	}
	return k.scratch.Append(k.bytes)
}

// each makes shares of all rows again and hands them to take, block by block. z is take's until it returns. The next
// block is read meanwhile.
func (k *kept) each(ctx context.Context, take func(b *block, z rss.Share) error) error {
	if err := k.read(0); err != nil {
		return err
	}
	for i, b := range k.blocks {
		if err := ctx.Err(); err != nil {
			return err
		}
		steps := []func() error{
			func() error { return take(b, k.source.again(b, k.words[i%2])) },
			func() error { return k.read(i + 1) },
		}
		if err := parallel.Each(len(steps), len(steps), func(_, j int) error { return steps[j]() }); err != nil {
			return err
		}
		k.source.release(b)
	}
	return nil
}

// read reads what is in the file of a block.
func (k *kept) read(i int) error {
	if k.scratch == nil || i == len(k.blocks) {
		return nil
	}
	data, err := k.scratch.Read(i)
	if err != nil {
		return err
	}
	n := len(data) / k.size
	k.words[i%2] = slices.Grow(k.words[i%2][:0], n)[:n]
	rss.Unpack(k.words[i%2], data, k.size)
	return nil
}
