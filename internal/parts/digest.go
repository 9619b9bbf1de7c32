package parts

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math"

	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/keys"
)

// digestDomain separates the digests of parts from every other hash.
const digestDomain = "hanse part v1"

// digestOf is the digest of all rows of a matrix: of the names of its columns and of all cells, bit by bit. It does not
// depend on where the rows stand.
func digestOf(m *kernel.Matrix) keys.Hash {
	d := newDigester()
	d.add(m)
	return d.sum(m.Dense, m.Binary)
}

// digester takes rows one after another.
type digester struct {
	cells hash.Hash
	rows  uint64
}

func newDigester() *digester { return &digester{cells: sha256.New()} }

// add takes all rows of a matrix.
func (d *digester) add(m *kernel.Matrix) {
	n := len(m.Dense)
	strays := m.Strays
	var b []byte
	for r := range m.Rows {
		for _, v := range m.Values[r*n : (r+1)*n] {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		}
		set := m.Set[m.Starts[r]:m.Starts[r+1]]
		b = appendSet(binary.LittleEndian.AppendUint32(b, uint32(len(set))), set)
		k := straysOf(strays, r)
		b = appendStrays(binary.LittleEndian.AppendUint32(b, uint32(k)), strays[:k])
		strays = strays[k:]
		if len(b) >= 32<<10 {
			d.cells.Write(b)
			b = b[:0]
		}
	}
	d.cells.Write(b)
	d.rows += uint64(m.Rows)
}

// sum returns the digest of the rows so far.
func (d *digester) sum(dense, binaries []string) keys.Hash {
	counts := binary.LittleEndian.AppendUint64(nil, d.rows)
	counts = binary.LittleEndian.AppendUint64(counts, uint64(len(dense)))
	counts = binary.LittleEndian.AppendUint64(counts, uint64(len(binaries)))
	parts := [][]byte{counts}
	for _, names := range [][]string{dense, binaries} {
		for _, name := range names {
			parts = append(parts, []byte(name))
		}
	}
	return keys.HashOf(digestDomain, append(parts, d.cells.Sum(nil))...)
}

// appendSet appends places as they stand in a file.
func appendSet(b []byte, set []uint16) []byte {
	for _, c := range set {
		b = binary.LittleEndian.AppendUint16(b, c)
	}
	return b
}

// appendStrays appends stray cells of one row as they stand in a file.
func appendStrays(b []byte, strays []kernel.Stray) []byte {
	for _, s := range strays {
		b = binary.LittleEndian.AppendUint16(b, s.Binary)
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(s.Value))
	}
	return b
}

// straysOf returns how many of the stray cells, which are those of row r and later ones, are of row r.
func straysOf(strays []kernel.Stray, r int) int {
	n := 0
	for n < len(strays) && int(strays[n].Row) == r {
		n++
	}
	return n
}
