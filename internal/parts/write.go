package parts

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/parquet-go/parquet-go"

	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/internal/durable"
)

// cellsAtOnce are the cells that are handed over to a column together, at most.
const cellsAtOnce = 4096

// save writes all rows of a valid matrix, which are a party's from first on, as a file of their own, which only its
// owner may read. When it returns without error the file is on the disk; with an error an older one is untouched.
func save(path string, rows *kernel.Matrix, first int) error {
	err := durable.Write(path, func(w io.Writer) error {
		b := bufio.NewWriterSize(w, pageBytes)
		if err := write(b, rows, first, groupBytes, pageBytes); err != nil {
			return err
		}
		return b.Flush()
	})
	if err != nil {
		return fmt.Errorf("rows %d to %d cannot be written: %w", first, first+rows.Rows, err)
	}
	return nil
}

// write writes all rows of a matrix, in groups and pages of about so many bytes.
func write(w io.Writer, m *kernel.Matrix, first, group, page int) error {
	p, err := begun(w, head{Version: version, First: first, Dense: m.Dense, Binary: m.Binary},
		parquet.PageBufferSize(page))
	if err != nil {
		return err
	}
	bytes := 8*len(m.Values) + 2*len(m.Set) + strayBytes*len(m.Strays) + 8*m.Rows
	step := max(1, group*m.Rows/max(1, bytes), (m.Rows+mostGroups-1)/mostGroups)
	g := &groupWriter{m: m, page: page, strays: m.Strays, values: make([]parquet.Value, 0, cellsAtOnce)}
	for g.hi < m.Rows {
		g.lo, g.hi = g.hi, min(g.hi+step, m.Rows)
		if err := g.write(p.ColumnWriters()); err != nil {
			return err
		}
		if err := p.Flush(); err != nil {
			return err
		}
	}
	return p.Close()
}

// begun returns a writer of files with a head.
func begun(w io.Writer, h head, options ...parquet.WriterOption) (*parquet.GenericWriter[any], error) {
	text, err := h.text()
	if err != nil {
		return nil, err
	}
	schema := schemaOf(len(h.Dense))
	options = append(options, schema, parquet.KeyValueMetadata(headKey, text), parquet.WriteBufferSize(0),
		parquet.CreatedBy("hanse", "", ""))
	for _, path := range schema.Columns() { // nobody looks for the smallest and largest cells, which may be whole rows
		options = append(options, parquet.SkipPageBounds(path...), parquet.SkipPageStatistics(path...))
	}
	return parquet.NewGenericWriter[any](w, options...), nil
}

// groupWriter writes the rows [lo, hi) of a matrix as one row group.
type groupWriter struct {
	m      *kernel.Matrix
	lo, hi int
	page   int
	strays []kernel.Stray // those of row lo and later ones
	values []parquet.Value
}

// write writes the columns one after another.
func (g *groupWriter) write(columns []*parquet.ColumnWriter) error {
	n := len(g.m.Dense)
	if n > separate {
		err := g.bytes(columns[0], func(b []byte, r int) []byte {
			for _, v := range g.m.Values[r*n : (r+1)*n] {
				b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
			}
			return b
		})
		if err != nil {
			return err
		}
		n = 1
	} else {
		for c := range n {
			if err := g.doubles(columns[c], c); err != nil {
				return err
			}
		}
	}
	err := g.bytes(columns[n], func(b []byte, r int) []byte {
		return appendSet(b, g.m.Set[g.m.Starts[r]:g.m.Starts[r+1]])
	})
	if err != nil {
		return err
	}
	return g.bytes(columns[n+1], func(b []byte, r int) []byte {
		k := straysOf(g.strays, r)
		b = appendStrays(b, g.strays[:k])
		g.strays = g.strays[k:]
		return b
	})
}

// doubles writes dense column c.
func (g *groupWriter) doubles(w *parquet.ColumnWriter, c int) error {
	for r := g.lo; r < g.hi; r++ {
		g.values = append(g.values, parquet.DoubleValue(g.m.Values[r*len(g.m.Dense)+c]))
		if len(g.values) == cellsAtOnce || r == g.hi-1 {
			if err := g.flush(w); err != nil {
				return err
			}
		}
	}
	return nil
}

// bytes writes a column of what put appends for each row.
func (g *groupWriter) bytes(w *parquet.ColumnWriter, put func(b []byte, r int) []byte) error {
	var b []byte
	var ends []int
	for r := g.lo; r < g.hi; r++ {
		b = put(b, r)
		ends = append(ends, len(b))
		if len(b) < g.page && len(ends) < cellsAtOnce && r < g.hi-1 {
			continue
		}
		from := 0
		for _, end := range ends {
			g.values = append(g.values, parquet.ByteArrayValue(b[from:end]))
			from = end
		}
		if err := g.flush(w); err != nil {
			return err
		}
		b, ends = b[:0], ends[:0]
	}
	return nil
}

// flush hands the values over to a column.
func (g *groupWriter) flush(w *parquet.ColumnWriter) error {
	_, err := w.WriteRowValues(g.values)
	g.values = g.values[:0]
	return err
}
