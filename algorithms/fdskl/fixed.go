package fdskl

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/hanse-project/hanse/algorithms/kernel"
)

// fixed runs the schedule "fixed": all features are drawn up front, every angle is opened exactly
// once, in blocks of rows, and the coefficients are solved for.
func (t *trainer) fixed(ctx context.Context) (*Model, error) {
	o, err := t.newOpener()
	if err != nil {
		return nil, err
	}
	held := t.newAngles()
	if err := o.openAll(ctx, held); err != nil {
		return nil, err
	}
	return t.solve(ctx, held)
}

// angles are what an active party holds: the opened turns of all rows for its share of features.
type angles struct {
	turns []uint16 // row-major [rows][count]
	count int
}

// row returns the turns of row j.
func (a *angles) row(j int) []uint16 { return a.turns[j*a.count : (j+1)*a.count] }

// newAngles makes room for this party's angles; a passive party holds none.
func (t *trainer) newAngles() *angles {
	if t.rank < 0 {
		return &angles{}
	}
	_, count := t.share(t.rank)
	return &angles{turns: make([]uint16, t.Rows*count), count: count}
}

// blockRows is how many rows one block of angles has.
func (t *trainer) blockRows() int { return blockRows(t.Rows, t.blockBytes, t.Params.Features) }

// blockRows is how many of so many rows one block of angles of about the given size has.
func blockRows(rows, bytes, features int) int {
	return max(1, min(rows, bytes/(2*features)))
}

// openAll opens every block of rows that no earlier session opened.
func (o *opener) openAll(ctx context.Context, held *angles) error {
	size := o.blockRows()
	blocks := (o.Rows + size - 1) / size
	from, err := o.resumeAngles(ctx, held, size)
	if err != nil {
		return err
	}
	rows := o.matrices()
	for b := from; b < blocks; b++ {
		lo, hi := b*size, min((b+1)*size, o.Rows)
		if err := o.openBlock(ctx, rows, held, lo, hi); err != nil {
			return err
		}
		o.report("angles", hi, o.Rows, math.NaN())
	}
	return nil
}

// matrices returns the rows of this party's parts.
func (t *trainer) matrices() []*kernel.Matrix {
	var rows []*kernel.Matrix
	for _, p := range t.Parts {
		rows = append(rows, p.Rows)
	}
	return rows
}

// openBlock opens rows [lo, hi) to every active party, each its share of the features.
func (o *opener) openBlock(ctx context.Context, rows []*kernel.Matrix, held *angles, lo, hi int) error {
	for k := range o.actives {
		block, err := o.open(ctx, k, rows, lo, hi)
		if err != nil {
			return err
		}
		if o.rank != k {
			continue
		}
		copy(held.turns[lo*held.count:], block)
		o.opened("angles", len(block))
		if err := o.Vault.Append(anglesFile, encodeTurns(block)); err != nil {
			return err
		}
	}
	return nil
}

// resumeAngles loads the blocks opened in earlier sessions and returns the first block to open:
// the smallest count among the active parties, who tell each other.
func (t *trainer) resumeAngles(ctx context.Context, held *angles, size int) (int, error) {
	have := 0
	if t.rank >= 0 {
		var err error
		if have, err = t.loadAngles(held, size, -1); err != nil {
			return 0, err
		}
	}
	from, err := t.smallest(ctx, have, (t.Rows+size-1)/size)
	if err != nil {
		return 0, err
	}
	if t.rank >= 0 && have > from {
		if _, err := t.loadAngles(held, size, from); err != nil {
			return 0, err
		}
	}
	return from, nil
}

// loadAngles reads up to most blocks from the vault and returns how many there are.
func (t *trainer) loadAngles(held *angles, size, most int) (int, error) {
	at := 0
	return t.Vault.Records(anglesFile, most, func(record []byte) error {
		rows := min(size, t.Rows-at/max(held.count, 1))
		if len(record) != 2*rows*held.count {
			return fmt.Errorf("checkpoint: a block of angles has %d bytes, want %d", len(record), 2*rows*held.count)
		}
		for i := range len(record) / 2 {
			held.turns[at+i] = binary.LittleEndian.Uint16(record[2*i:])
		}
		at += len(record) / 2
		return nil
	})
}

// encodeTurns writes turns as little-endian words.
func encodeTurns(turns []uint16) []byte {
	b := make([]byte, 2*len(turns))
	for i, v := range turns {
		binary.LittleEndian.PutUint16(b[2*i:], v)
	}
	return b
}
