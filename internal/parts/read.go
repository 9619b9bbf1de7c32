package parts

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"

	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/internal/source"
	"github.com/hanse-project/hanse/keys"
)

// Read reads the rows of a part, which are valid, and returns their digest.
func Read(path string, lim Limits) (m *kernel.Matrix, digest keys.Hash, err error) {
	err = open(path, func(r io.ReaderAt, size int64) error {
		m, err = read(r, size, lim)
		return err
	})
	if err != nil {
		return nil, digest, err
	}
	return m, digestOf(m), nil
}

// check returns the number of the first row of a part and the digest of its rows, without having all in memory.
func check(path string) (first int, digest keys.Hash, err error) {
	err = open(path, func(r io.ReaderAt, size int64) error {
		p, err := begin(r, size, Limits{Rows: kernel.MaxRows, Bytes: math.MaxInt64})
		if err != nil {
			return err
		}
		d := newDigester()
		m := &kernel.Matrix{Dense: p.head.Dense, Binary: p.head.Binary}
		for _, g := range p.groups {
			m.Rows, m.Values, m.Set, m.Strays, m.Starts = 0, m.Values[:0], m.Set[:0], m.Strays[:0], append(m.Starts[:0], 0)
			if err := p.add(m, g); err != nil {
				return err
			}
			if err := m.Validate(); err != nil {
				return err
			}
			d.add(m)
		}
		first, digest = p.head.First, d.sum(m.Dense, m.Binary)
		return nil
	})
	return first, digest, err
}

// open opens a file for do, whose panics become errors. An error names the file but not its folder.
func open(path string, do func(r io.ReaderAt, size int64) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		err = source.Safely(func() error { return do(f, info.Size()) })
	}
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return nil
}

// read reads all rows of a part.
func read(r io.ReaderAt, size int64, lim Limits) (*kernel.Matrix, error) {
	p, err := begin(r, size, lim)
	if err != nil {
		return nil, err
	}
	m := &kernel.Matrix{
		Dense: p.head.Dense, Binary: p.head.Binary,
		Values: make([]float64, 0, p.rows*len(p.head.Dense)), Starts: append(make([]uint32, 0, p.rows+1), 0),
	}
	for _, g := range p.groups {
		if err := p.add(m, g); err != nil {
			return nil, err
		}
	}
	return m, m.Validate()
}

// part is a file that is being read.
type part struct {
	head   head
	rows   int
	groups []parquet.RowGroup
	left   int64 // bytes that columns of bytes may still have: what unpacks to more than the file is none of ours
}

// begin opens a part and holds what it says of itself against its size and the limits: dense values are not packed, so
// that a file is as large as they are.
func begin(r io.ReaderAt, size int64, lim Limits) (*part, error) {
	if size > lim.Bytes {
		return nil, fmt.Errorf("it has %d bytes; the limit is %d", size, lim.Bytes)
	}
	const page = 4 << 20 // the longest row takes 1 MiB
	f, err := source.OpenParquet(r, size, source.Limits{Rows: int64(lim.Rows), Page: page})
	if err != nil {
		return nil, err
	}
	text, ok := f.Lookup(headKey)
	if !ok {
		return nil, fmt.Errorf("it is no part: it has no %s", headKey)
	}
	p := &part{rows: int(f.NumRows()), groups: f.RowGroups(), left: size}
	if p.head, err = parse(text); err != nil {
		return nil, err
	}
	if !parquet.EqualNodes(f.Schema(), schemaOf(len(p.head.Dense))) {
		return nil, fmt.Errorf("it has other columns than its head says, which are %d dense ones", len(p.head.Dense))
	}
	if least := int64(p.rows) * int64(8*len(p.head.Dense)+8); least > size {
		return nil, fmt.Errorf("it says that it has %d rows, which take %d bytes; it has %d", p.rows, least, size)
	}
	rows := 0
	for _, g := range p.groups {
		n := g.NumRows()
		if n < 0 || n > int64(p.rows-rows) {
			return nil, fmt.Errorf("%w: its groups have more rows than it has", errDamaged)
		}
		rows += int(n)
	}
	if rows != p.rows {
		return nil, fmt.Errorf("%w: its groups have %d rows, and it has %d", errDamaged, rows, p.rows)
	}
	return p, nil
}

// add adds the rows of a group to a matrix.
func (p *part) add(m *kernel.Matrix, g parquet.RowGroup) error {
	n, rows, base := len(m.Dense), int(g.NumRows()), m.Rows
	columns := g.ColumnChunks()
	m.Rows += rows
	m.Values = append(m.Values, make([]float64, rows*n)...)
	if values := m.Values[base*n:]; n > separate {
		err := pages(columns[0], rows, func(at, count int, v encoding.Values) error {
			data, size := v.FixedLenByteArray()
			if size != 8*n || len(data) != count*size {
				return errDamaged
			}
			for i := range count * n {
				values[at*n+i] = math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:]))
			}
			return nil
		})
		if err != nil {
			return err
		}
		columns = columns[1:]
	} else {
		for c := range n {
			err := pages(columns[c], rows, func(at, count int, v encoding.Values) error {
				data := v.Double()
				if len(data) != count {
					return errDamaged
				}
				for i, x := range data {
					values[(at+i)*n+c] = x
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		columns = columns[n:]
	}
	err := p.bytes(columns[0], rows, 2, func(_ int, b []byte) error {
		for ; len(b) > 0; b = b[2:] {
			m.Set = append(m.Set, binary.LittleEndian.Uint16(b))
		}
		if len(m.Set) > math.MaxUint32 {
			return fmt.Errorf("it has more than %d places", uint32(math.MaxUint32))
		}
		m.Starts = append(m.Starts, uint32(len(m.Set)))
		return nil
	})
	if err != nil {
		return err
	}
	return p.bytes(columns[1], rows, strayBytes, func(r int, b []byte) error {
		for ; len(b) > 0; b = b[strayBytes:] {
			m.Strays = append(m.Strays, kernel.Stray{Row: uint32(base + r), Binary: binary.LittleEndian.Uint16(b),
				Value: math.Float64frombits(binary.LittleEndian.Uint64(b[2:]))})
		}
		return nil
	})
}

// bytes calls f with each row of a column of bytes, which come in units.
func (p *part) bytes(column parquet.ColumnChunk, rows, unit int, f func(r int, b []byte) error) error {
	return pages(column, rows, func(at, count int, v encoding.Values) error {
		data, offsets := v.ByteArray()
		if p.left -= int64(len(data)); p.left < 0 {
			return fmt.Errorf("%w: it unpacks to more than it has", errDamaged)
		}
		if len(offsets) != count+1 {
			return errDamaged
		}
		for i := range count {
			b := data[offsets[i]:offsets[i+1]]
			if len(b)%unit != 0 {
				return fmt.Errorf("%w: a cell has %d bytes, which come in %d", errDamaged, len(b), unit)
			}
			if err := f(at+i, b); err != nil {
				return err
			}
		}
		return nil
	})
}

// pages calls f with the pages of a column, which has so many rows: where a page begins, how many values it has, and
// they.
func pages(column parquet.ColumnChunk, rows int, f func(at, count int, v encoding.Values) error) error {
	p := column.Pages()
	defer p.Close()
	at := 0
	for {
		page, err := p.ReadPage()
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("%w: %w", errDamaged, err)
		}
		count := int(page.NumValues())
		if count > rows-at {
			return fmt.Errorf("%w: a column has more values than rows", errDamaged)
		}
		if err := f(at, count, page.Data()); err != nil {
			return err
		}
		at += count
		parquet.Release(page)
	}
	if at != rows {
		return fmt.Errorf("%w: a column has %d values in %d rows", errDamaged, at, rows)
	}
	return nil
}
