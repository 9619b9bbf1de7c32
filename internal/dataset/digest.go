package dataset

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hanse-project/hanse/keys"
)

// Domains of a table's digest; they never change.
const (
	tableDomain   = "hanse/table/v1"
	columnsDomain = "hanse/table/columns/v1"
	rowDomain     = "hanse/table/row/v1"
)

// What a cell begins with in a row that is hashed.
const (
	missingCell = 0
	numberCell  = 1 // and the eight bytes of its float64, the highest first
	textCell    = 2 // and its length in eight bytes, and its bytes
)

// digest makes one hash of a table's content while it is read, the same from whatever source:
//
//	HashOf(table, HashOf(columns, name of the id column, names of the others …), hashes of all rows)
//	HashOf(row, id, cells in the order of the names)
//
// Names are in the source's order, which models depend on. The hashes of rows are sorted, so that where there is an id
// column the order of rows does not count. All columns of the source count, read or ignored. A cell is missing, text or
// a number, whatever its owner takes it for, so that whoever has the table finds the same: missing is what DefaultNA
// lists, and a cell that is spelt as programs write numbers, or as the options about the file's numbers say, is the
// number, so that 1, 1.0 and 1e+00 are one cell.
type digest struct {
	order []int // the columns but the id's
	na    map[string]bool
	from  *notation // how numbers are written
	head  keys.Hash
	rows  []keys.Hash
	row   []byte
}

// newDigest begins the digest of a table with these columns; id is the index of the id column, -1 where rows are called
// by their numbers, numbered how they write numbers.
func newDigest(names []string, id int, numbered *notation) *digest {
	d := &digest{na: (&Options{}).missingWords(), from: numbered}
	head := [][]byte{nil}
	for i, name := range names {
		if i == id {
			head[0] = []byte(name)
			continue
		}
		d.order = append(d.order, i)
		head = append(head, []byte(name))
	}
	d.head = keys.HashOf(columnsDomain, head...)
	return d
}

// add takes a row's cells, by column, blanks around them or not.
func (d *digest) add(id string, cells []string) {
	d.row = d.row[:0]
	for _, i := range d.order {
		cell := strings.TrimSpace(cells[i])
		plain, maybe := cell, true
		if d.from != nil {
			plain, maybe = d.from.plain(cell)
		}
		if cell == "" || d.na[cell] {
			d.row = append(d.row, missingCell)
		} else if v, is := writtenNumber(plain); is && maybe {
			d.number(v)
		} else {
			d.row = binary.BigEndian.AppendUint64(append(d.row, textCell), uint64(len(cell)))
			d.row = append(d.row, cell...)
		}
	}
	d.end(id)
}

// addNumbers takes a row of numbers, by column.
func (d *digest) addNumbers(id string, values []float64) {
	d.row = d.row[:0]
	for _, i := range d.order {
		d.number(values[i])
	}
	d.end(id)
}

// number takes one cell.
func (d *digest) number(v float64) {
	if v == 0 {
		v = 0 // not -0
	}
	d.row = binary.BigEndian.AppendUint64(append(d.row, numberCell), math.Float64bits(v))
}

// end ends a row.
func (d *digest) end(id string) { d.rows = append(d.rows, keys.HashOf(rowDomain, []byte(id), d.row)) }

// sum returns the digest of the rows so far.
func (d *digest) sum() keys.Hash {
	slices.SortFunc(d.rows, func(a, b keys.Hash) int { return bytes.Compare(a[:], b[:]) })
	all := make([]byte, 0, len(d.rows)*len(d.head))
	for _, r := range d.rows {
		all = append(all, r[:]...)
	}
	return keys.HashOf(tableDomain, d.head[:], all)
}

// mostDigits is how many digits a whole number may have that a float64 keeps apart from all others.
const mostDigits = 15

// writtenNumber reads a number as programs write them: without a plus, without zeros in front, and with an exponent
// only where there is a point or the exponent has a sign. 007, +49 and 12E4 are codes, and so is a whole number of more
// than 15 digits, of which float64 does not keep all apart.
func writtenNumber(cell string) (float64, bool) {
	mantissa, exponent := strings.TrimPrefix(cell, "-"), ""
	if at := strings.IndexAny(mantissa, "eE"); at >= 0 {
		mantissa, exponent = mantissa[:at], mantissa[at+1:]
		unsigned := strings.TrimLeft(exponent, "+-")
		if len(exponent) > len(unsigned)+1 || unsigned == "" || !allDigits(unsigned) ||
			len(unsigned) == len(exponent) && !strings.Contains(mantissa, ".") {
			return 0, false
		}
	}
	whole, fraction, point := strings.Cut(mantissa, ".")
	if whole == "" && fraction == "" || !allDigits(whole) || !allDigits(fraction) || len(whole) > 1 && whole[0] == '0' ||
		!point && exponent == "" && len(whole) > mostDigits {
		return 0, false
	}
	v, err := strconv.ParseFloat(cell, 64)
	return v, err == nil && math.Abs(v) <= maxMagnitude
}

// allDigits reports whether s holds nothing but digits.
func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// Digest reads a table for its Sum alone, and keeps no column of it.
func Digest(ctx context.Context, location string, o Options) (keys.Hash, error) {
	o = o.ForLoading()
	o.Only, o.First = []string{}, 0
	r, err := load(ctx, location, o)
	if err == nil {
		_, err = r.table(Options{Only: []string{}})
	}
	if err != nil {
		return keys.Hash{}, named(location, err)
	}
	return r.Sum, nil
}
