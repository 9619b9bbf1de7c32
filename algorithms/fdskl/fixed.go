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
	if err := t.keepOut(t.Rows, 0); err != nil {
		return nil, err
	}
	if t.Sums != nil {
		m := t.model()
		return m, t.gathered(ctx, m)
	}
	o, err := t.newOpener()
	if err != nil {
		return nil, err
	}
	held := t.newAngles()
	if err := o.openAll(ctx, held); err != nil {
		return nil, err
	}

	// Finds the coefficients from the opened angles. With one active party that is local work:
	// normal equations for the square loss, Newton's method for the others. With several, all parties
	// run L-BFGS together, which needs no matrix of what different parties hold: each holds its own
	// coefficients and gradient, and only inner products, scores and derivatives are summed.
	m := t.model()
	if t.rank >= 0 {
		m.Held = []Run{t.share(t.rank).features()}
	}
	switch {
	case len(t.actives) > 1:
		return m, t.solver.descend(ctx, m, &split{trainer: t, held: held, root: math.Sqrt(float64(t.Params.Features))})
	case t.rank < 0:
		return m, nil
	case t.loss == kernel.Square:
		e, err := t.solver.newEquations()
		if err != nil {
			return nil, err
		}
		if err := t.eachBlock(0, func(lo, hi int) error {
			err := t.solver.addRows(e, lo, held.turns[lo*held.count:hi*held.count])
			t.report("normal equations", hi, t.Rows, math.NaN())
			return err
		}); err != nil {
			return nil, err
		}
		lambda, err := t.solver.ridge(m, e)
		if err != nil {
			return nil, err
		}
		m.Objective, m.TrainError = t.solver.judge(held, m, lambda)
		return m, nil
	}
	return m, t.solver.solveLocal(ctx, m, held)
}

// keepOut notes, at active parties, which rows from the first on choose the regulariser of a job over so many. A job
// whose rows are too few is refused at all.
func (t *trainer) keepOut(rows, first int) (err error) {
	if t.rank < 0 {
		_, err = t.Params.Chooses(rows)
		return err
	}
	if t.heldOut, err = t.Params.HeldOut(rows); t.heldOut != nil {
		t.heldOut = t.heldOut[first : first+t.Rows]
	}
	return err
}

// angles are what an active party holds: the opened turns of all rows for its share of features.
type angles struct {
	turns []uint16 // row-major [rows][count]
	count int      // angles of a row
}

// features returns how many features a row has: cosine and sine of each angle, one behind the other.
func (a *angles) features() int { return 2 * a.count }

// row returns the turns of row j.
func (a *angles) row(j int) []uint16 { return a.turns[j*a.count : (j+1)*a.count] }

// newAngles makes room for this party's angles; a passive party holds none.
func (t *trainer) newAngles() *angles {
	if t.rank < 0 {
		return &angles{}
	}
	count := t.share(t.rank).Count
	return &angles{turns: make([]uint16, t.Rows*count), count: count}
}

// blockRows is how many rows one block of angles has.
func (t *setting) blockRows() int { return blockRows(t.Rows, t.blockBytes, t.Params.Angles()) }

// blockRows is how many of so many rows one block of angles of about the given size has.
func blockRows(rows, bytes, angles int) int {
	return max(1, min(rows, bytes/(2*angles)))
}

// openAll opens every block of rows that no earlier session opened.
func (o *opener) openAll(ctx context.Context, held *angles) error {
	size := o.blockRows()

	// Blocks opened in earlier sessions are loaded. The first one to open is the smallest count among the active
	// parties, who tell each other.
	have := 0
	if o.rank >= 0 {
		var err error
		if have, err = o.loadAngles(held, size, -1); err != nil {
			return err
		}
	}
	from, err := o.checkpoints.smallest(ctx, have, (o.Rows+size-1)/size)
	if err != nil {
		return err
	}
	if o.rank >= 0 && have > from {
		if _, err := o.loadAngles(held, size, from); err != nil {
			return err
		}
	}
	rows := o.matrices()
	return o.eachBlock(from, func(lo, hi int) error {
		for k := range o.actives {
			block, err := o.openAngles(ctx, k, rows, lo, hi)
			if err != nil {
				return err
			}
			if o.rank != k {
				continue
			}
			copy(held.turns[lo*held.count:], block)
			o.opened(KindAngles, len(block))
			if err := o.Vault.Append(anglesFile, encodeTurns(block)); err != nil {
				return err
			}
		}
		o.report("angles", hi, o.Rows, math.NaN())
		return nil
	})
}

// eachBlock runs body for the rows [lo, hi) of each block, from the given one on.
func (t *trainer) eachBlock(from int, body func(lo, hi int) error) error {
	size := t.blockRows()
	block := func(b int) error { return body(b*size, min((b+1)*size, t.Rows)) }
	whole := t.Rows / size
	if err := t.loop(from, whole, 1, block); err != nil {
		return err
	}
	return t.loop(max(from, whole), (t.Rows+size-1)/size, 1, block)
}

// loop runs body from one number up to another. Where operations are counted, numbers that differ by a multiple of
// period are the same, and one of them counts for all.
func (t *trainer) loop(from, to, period int, body func(n int) error) error {
	for n := from; n < to; n++ {
		turn := func() error { return body(n) }
		switch {
		case t.tracer == nil || t.tracer.Following():
			if err := turn(); err != nil {
				return err
			}
		case n < from+period:
			if err := t.tracer.Times((to-n+period-1)/period, turn); err != nil {
				return err
			}
		}
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
