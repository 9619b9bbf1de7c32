package ledger

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/keys"
)

// rowSize is the length of a row in a set, in bytes: of a million rows two have the same with probability 3e-8.
const rowSize = 8

// Rows is a set of rows: keyed hashes of their ids, in ascending order.
type Rows []uint64

// RowsOf returns the set of the rows with these ids.
func RowsOf(key keys.Hash, ids []string) Rows {
	rows := make(Rows, len(ids))
	for i, id := range ids {
		rows[i] = RowOf(key, id)
	}
	slices.Sort(rows)
	return slices.Compact(rows)
}

// RowOf returns the keyed hash of one row's id.
func RowOf(key keys.Hash, id string) uint64 {
	h := keys.HashOf("hanse ledger row v1", key[:], []byte(id))
	return binary.BigEndian.Uint64(h[:])
}

// Digest names the set: the same for the same rows under the same key, in whatever order they were.
func (r Rows) Digest() keys.Hash { return keys.HashOf("hanse ledger rows v1", r.encode()) }

// Difference returns how many rows are in one of two sets and not in the other.
func (r Rows) Difference(o Rows) int {
	common := 0
	r.meet(o, func(int) { common++ })
	return len(r) + len(o) - 2*common
}

// meet calls each with the place in r of every row that is in both sets.
func (r Rows) meet(o Rows, each func(i int)) {
	j := 0
	for i, row := range r {
		for j < len(o) && o[j] < row {
			j++
		}
		if j < len(o) && o[j] == row {
			each(i)
		}
	}
}

// encode returns the rows in eight bytes each, the highest first.
func (r Rows) encode() []byte {
	b := make([]byte, 0, rowSize*len(r))
	for _, row := range r {
		b = binary.BigEndian.AppendUint64(b, row)
	}
	return b
}

// decodeRows reads what encode wrote.
func decodeRows(b []byte) (Rows, error) {
	if len(b)%rowSize != 0 {
		return nil, fmt.Errorf("a set of rows has %d bytes, want a multiple of %d", len(b), rowSize)
	}
	rows := make(Rows, 0, len(b)/rowSize)
	for ; len(b) > 0; b = b[rowSize:] {
		rows = append(rows, binary.BigEndian.Uint64(b))
	}
	if !slices.IsSorted(rows) {
		return nil, fmt.Errorf("a set of %d rows is not in ascending order", len(rows))
	}
	return rows, nil
}
