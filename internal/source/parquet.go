package source

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
	thriftdecode "github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

const (
	parquetMagic = "PAR1" // begins and ends a Parquet file

	footerTail  = 8         // bytes of the footer's length and the magic at the end
	footerBytes = 16 << 20  // of the metadata of a file, at most
	headerBytes = 1 << 20   // of a page's header, at most
	valuesOnce  = 64        // that are decoded together, of a column
	julianEpoch = 2_440_588 // the Julian day of 1970-01-01
)

// table is a Parquet file, or a folder of parts one after another, while its rows are read.
type table struct {
	parts []string // those still to come
	alone bool     // there is one part, which the caller names
	lim   Limits
	names []string

	file    *os.File
	groups  []parquet.RowGroup // those still to come
	left    int64              // rows of the group that is being read
	columns []*column          // of this part, as they stand in it
	at      []int              // of each, where it stands among names
	cells   []string
	faults  []error // by names
	row     int64
}

// column is one column of a Parquet file while its values are read.
type column struct {
	leaf   int // which column of values it is; -1: its cells are not read
	format func(parquet.Value) (string, error)
	wrong  error // why its cells are not read

	pages  parquet.Pages // of the group that is being read
	page   parquet.Page
	values parquet.ValueReader
	buffer [valuesOnce]parquet.Value
	ready  []parquet.Value // of the buffer
}

// openParts reads Parquet files one after another, as one table. All have the columns of the first, in any order.
func openParts(parts []string, lim Limits) (*Source, error) {
	t := &table{parts: parts, alone: len(parts) == 1, lim: lim}
	if err := Safely(t.nextPart); err != nil {
		return nil, errors.Join(err, t.close())
	}
	t.cells = make([]string, len(t.names))
	return &Source{Columns: t.names, Faults: t.faults, next: t.next, close: t.close}, nil
}

// Safely turns a panic of the Parquet decoder, which damaged files can bring about, into an error.
func Safely(do func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the Parquet file is damaged: %v", r)
		}
	}()
	return do()
}

// nextPart opens the next file; io.EOF after the last.
func (t *table) nextPart() error {
	if err := t.close(); err != nil {
		return err
	}
	if len(t.parts) == 0 {
		return io.EOF
	}
	path := t.parts[0]
	t.parts = t.parts[1:]
	var err error
	if t.file, err = os.Open(path); err != nil {
		return withoutPath(err)
	}
	info, err := t.file.Stat()
	if err != nil {
		return withoutPath(err)
	}
	if err := t.open(info.Size()); err != nil {
		if t.alone {
			return err
		}
		return fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return nil
}

// open checks what the open file claims and begins to read it.
func (t *table) open(size int64) error {
	f, err := openParquet(t.file, size, t.lim, false)
	if err != nil {
		return err
	}
	var names []string
	t.columns = nil
	for _, c := range f.Root().Columns() {
		column := &column{leaf: -1}
		if column.format, column.wrong = formatOf(c); column.wrong == nil {
			column.leaf = c.Index()
		}
		names, t.columns = append(names, c.Name()), append(t.columns, column)
	}
	if err := checkColumns(names); err != nil {
		return err
	}
	if t.names == nil {
		t.names, t.faults = names, make([]error, len(names))
	}
	if t.at, err = positions(names, t.names); err != nil {
		return err
	}
	for i, c := range t.columns {
		fault(t.faults, t.at[i], 0, names[i], c.wrong)
	}
	t.groups = f.RowGroups()
	return nil
}

// OpenParquet opens a Parquet file whose columns are flat. What its footer and the headers of its pages claim, for
// which the decoder takes memory, is held against its size and the limits first. The decoder may still panic over what
// else is damaged: see Safely.
func OpenParquet(r io.ReaderAt, size int64, lim Limits) (*parquet.File, error) {
	return openParquet(r, size, lim, true)
}

// openParquet is OpenParquet, or takes files with nested columns, of which nothing may be decoded.
func openParquet(r io.ReaderAt, size int64, lim Limits, flat bool) (*parquet.File, error) {
	if err := checkFooter(r, size); err != nil {
		return nil, err
	}
	f, err := parquet.OpenFile(r, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, fmt.Errorf("the Parquet file is damaged: %w", err)
	}
	if n := f.NumRows(); n < 0 || n > lim.Rows {
		return nil, fmt.Errorf("the file says that it has %d rows; the limit is %d", n, lim.Rows)
	}
	// By the place among the columns of values, as the decoder goes by it: their names are but claims.
	nested := make(map[int]bool)
	for _, c := range f.Root().Columns() {
		if err := checkFlat(c); err != nil && flat {
			return nil, fmt.Errorf("column %s %w", quote(c.Name()), err)
		} else if err != nil {
			addLeaves(nested, c)
		}
	}
	for _, g := range f.Metadata().RowGroups {
		for i := range g.Columns {
			if nested[i] {
				continue
			}
			if err := checkPages(r, size, &g.Columns[i].MetaData, g.NumRows, lim); err != nil {
				name := strings.Join(g.Columns[i].MetaData.PathInSchema, ".")
				return nil, fmt.Errorf("column %s: %w", quote(name), err)
			}
		}
	}
	return f, nil
}

// addLeaves adds which columns of values a column is made of.
func addLeaves(leaves map[int]bool, c *parquet.Column) {
	if c.Leaf() {
		leaves[c.Index()] = true
	}
	for _, child := range c.Columns() {
		addLeaves(leaves, child)
	}
}

// checkFlat refuses a column that has more than one value in a cell.
func checkFlat(c *parquet.Column) error {
	if !c.Leaf() || c.Repeated() {
		return errors.New("is nested; a table has one value in each cell: flatten it, or leave it out")
	}
	return nil
}

// positions returns where each name stands among those of the first part.
func positions(names, first []string) ([]int, error) {
	at := make([]int, len(names))
	for i, name := range names {
		if at[i] = slices.Index(first, name); at[i] < 0 || len(names) != len(first) {
			return nil, fmt.Errorf("it has other columns than the first part: %s", quote(name))
		}
	}
	for i, name := range first {
		if !slices.Contains(names, name) || slices.Contains(first[:i], name) {
			return nil, fmt.Errorf("column %s is not there once", quote(name))
		}
	}
	return at, nil
}

// checkFooter checks the metadata at the end of a file before a decoder believes it.
func checkFooter(r io.ReaderAt, size int64) error {
	var tail [footerTail]byte
	if size < int64(len(parquetMagic)+len(tail)) {
		return errors.New("it begins as a Parquet file does (PAR1), whatever its name says, and breaks off")
	}
	if _, err := r.ReadAt(tail[:], size-footerTail); err != nil {
		return err
	}
	n := int64(binary.LittleEndian.Uint32(tail[:4]))
	if string(tail[4:]) != parquetMagic || n > size-footerTail-int64(len(parquetMagic)) {
		return errors.New("it begins as a Parquet file does (PAR1), whatever its name says, and breaks off, or is encrypted")
	}
	if n > footerBytes {
		return fmt.Errorf("the Parquet file's metadata has %d bytes; the limit is %d", n, footerBytes)
	}
	footer := make([]byte, n)
	if _, err := r.ReadAt(footer, size-footerTail-n); err != nil {
		return err
	}
	if _, err := checkThrift(footer); err != nil {
		return fmt.Errorf("the Parquet file's metadata is damaged: %w", err)
	}
	return nil
}

// checkPages walks through the pages of one column of a row group and holds what their headers claim, for which the
// decoder takes memory, against the file and the limits.
func checkPages(r io.ReaderAt, size int64, c *format.ColumnMetaData, rows int64, lim Limits) error {
	at := c.DataPageOffset
	if c.DictionaryPageOffset != 0 {
		at = c.DictionaryPageOffset
	}
	if at < 0 || c.TotalCompressedSize < 0 || at > size || c.TotalCompressedSize > size-at || rows < 0 || rows > lim.Rows {
		return errors.New("the Parquet file is damaged: a column reaches beyond it")
	}
	var compact thriftdecode.CompactProtocol
	for end := at + c.TotalCompressedSize; at < end; {
		data := make([]byte, min(4<<10, end-at))
		var n int
		var err error
		for {
			if _, err := r.ReadAt(data, at); err != nil {
				return err
			}
			n, err = checkThrift(data)
			more := min(int64(len(data))*16, headerBytes, end-at)
			if !errors.Is(err, errShort) || more <= int64(len(data)) {
				break
			}
			data = make([]byte, more)
		}
		if err != nil {
			return fmt.Errorf("the Parquet file is damaged: a page's header: %w", err)
		}
		var h format.PageHeader
		if err := thriftdecode.Unmarshal(&compact, data[:n], &h); err != nil {
			return fmt.Errorf("the Parquet file is damaged: a page's header: %w", err)
		}
		at += int64(n)
		if h.CompressedPageSize < 0 || int64(h.CompressedPageSize) > end-at || h.UncompressedPageSize < 0 {
			return errors.New("the Parquet file is damaged: a page reaches beyond its column")
		}
		at += int64(h.CompressedPageSize)
		if int64(h.UncompressedPageSize) > lim.Page {
			return fmt.Errorf("a page has %d bytes; the limit is %d: write the file with smaller pages",
				h.UncompressedPageSize, lim.Page)
		}
		// A flat column has one value a row, and a dictionary has a value at most.
		values := max(h.DataPageHeader.V.NumValues, h.DataPageHeaderV2.V.NumValues, h.DictionaryPageHeader.V.NumValues)
		if int64(values) > rows {
			return fmt.Errorf("the Parquet file is damaged: a page says that it has %d values in %d rows", values, rows)
		}
	}
	return nil
}

// next returns the next row.
func (t *table) next() (cells []string, err error) {
	return t.cells, Safely(t.advance)
}

// advance reads the next row's cells.
func (t *table) advance() error {
	for t.left == 0 {
		if err := t.checkEnds(); err != nil {
			return err
		}
		if len(t.groups) == 0 {
			if err := t.nextPart(); err != nil {
				return err
			}
			continue
		}
		g := t.groups[0]
		chunks := g.ColumnChunks()
		for _, c := range t.columns {
			if err := c.close(); err != nil {
				return err
			}
			if c.leaf >= 0 {
				c.pages = chunks[c.leaf].Pages()
			}
		}
		t.left, t.groups = g.NumRows(), t.groups[1:]
	}
	t.left--
	t.row++
	for i, c := range t.columns {
		at := t.at[i]
		if t.cells[at] = ""; c.leaf < 0 {
			continue
		}
		v, err := c.next()
		if err != nil {
			return fmt.Errorf("the Parquet file is damaged at row %d, column %s: %w", t.row, quote(t.names[at]), err)
		}
		if !v.IsNull() {
			t.cells[at], err = c.format(v)
			fault(t.faults, at, t.row, t.names[at], err)
		}
	}
	return nil
}

// checkEnds refuses a group of whose columns one goes on behind the last row.
func (t *table) checkEnds() error {
	for i, c := range t.columns {
		if c.pages == nil {
			continue
		}
		_, err := c.next()
		switch err {
		case errEnds:
			continue
		case nil:
			err = errors.New("there are values behind its last row")
		}
		return fmt.Errorf("the Parquet file is damaged at row %d, column %s: %w", t.row, quote(t.names[t.at[i]]), err)
	}
	return nil
}

// errEnds is the error for a column that has no more values in a group.
var errEnds = errors.New("it ends too early")

// next returns the column's next value, which is good until the next call.
func (c *column) next() (parquet.Value, error) {
	for len(c.ready) == 0 {
		if c.values == nil {
			page, err := c.pages.ReadPage()
			if err == io.EOF {
				return parquet.Value{}, errEnds
			}
			if err != nil {
				return parquet.Value{}, err
			}
			c.page, c.values = page, page.Values()
		}
		n, err := c.values.ReadValues(c.buffer[:])
		c.ready = c.buffer[:n]
		switch {
		case n > 0:
		case err == io.EOF:
			parquet.Release(c.page)
			c.page, c.values = nil, nil
		case err != nil:
			return parquet.Value{}, err
		default:
			return parquet.Value{}, io.ErrNoProgress
		}
	}
	v := c.ready[0]
	c.ready = c.ready[1:]
	return v, nil
}

// close ends the reading of a group's pages.
func (c *column) close() error {
	var err error
	if c.pages != nil {
		err = c.pages.Close()
	}
	c.pages, c.page, c.values, c.ready = nil, nil, nil, nil
	return err
}

// close closes the file that is open.
func (t *table) close() error {
	var errs []error
	for _, c := range t.columns {
		errs = append(errs, Safely(c.close))
	}
	if t.file != nil {
		errs = append(errs, t.file.Close())
	}
	t.columns, t.file, t.groups, t.left = nil, nil, nil, 0
	return errors.Join(errs...)
}

// formatOf says how the values of a column are written.
func formatOf(c *parquet.Column) (func(parquet.Value) (string, error), error) {
	if err := checkFlat(c); err != nil {
		return nil, err
	}
	kind := c.Type().Kind()
	var logical format.LogicalTypeValue
	if l := c.Type().LogicalType(); l != nil {
		logical = l.Value
	}
	switch l := logical.(type) {
	case nil:
		switch kind {
		case parquet.Boolean:
			return func(v parquet.Value) (string, error) { return formatBool(v.Boolean()), nil }, nil
		case parquet.Int32:
			return func(v parquet.Value) (string, error) { return strconv.FormatInt(int64(v.Int32()), 10), nil }, nil
		case parquet.Int64:
			return func(v parquet.Value) (string, error) { return strconv.FormatInt(v.Int64(), 10), nil }, nil
		case parquet.Int96:
			return formatInt96, nil
		case parquet.Float:
			return func(v parquet.Value) (string, error) { return formatFloat(float64(v.Float()), 32) }, nil
		case parquet.Double:
			return func(v parquet.Value) (string, error) { return formatFloat(v.Double(), 64) }, nil
		}
	case *format.StringType, *format.EnumType, *format.JsonType:
		return func(v parquet.Value) (string, error) { return string(v.ByteArray()), nil }, nil
	case *format.IntType:
		return func(v parquet.Value) (string, error) {
			switch {
			case kind == parquet.Int32 && l.IsSigned:
				return strconv.FormatInt(int64(v.Int32()), 10), nil
			case kind == parquet.Int32:
				return strconv.FormatUint(uint64(v.Uint32()), 10), nil
			case l.IsSigned:
				return strconv.FormatInt(v.Int64(), 10), nil
			}
			return strconv.FormatUint(v.Uint64(), 10), nil
		}, nil
	case *format.DateType:
		return func(v parquet.Value) (string, error) { return formatDate(time.Unix(int64(v.Int32())*86400, 0)) }, nil
	case *format.TimestampType:
		return formatTimestamp(l), nil
	case *format.DecimalType:
		return formatParquetDecimal(kind, int(l.Scale)), nil
	case *format.UUIDType:
		return func(v parquet.Value) (string, error) {
			h := hex.EncodeToString(v.ByteArray())
			if len(h) != 32 {
				return "", errors.New("it is no UUID")
			}
			return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-"), nil
		}, nil
	}
	return nil, fmt.Errorf("is of type %v, which is no number, text, truth value, date or timestamp; convert it, or "+
		"leave it out", c.Type())
}

// formatTimestamp writes whole numbers of a unit since 1970; one that is of no time zone is taken as of UTC.
func formatTimestamp(t *format.TimestampType) func(parquet.Value) (string, error) {
	return func(v parquet.Value) (string, error) {
		switch t.Unit.Value.(type) {
		case *format.MilliSeconds:
			return formatTime(time.UnixMilli(v.Int64()))
		case *format.MicroSeconds:
			return formatTime(time.UnixMicro(v.Int64()))
		}
		return formatTime(time.Unix(0, v.Int64()))
	}
}

// formatInt96 writes a timestamp as Spark and Hive keep it: nanoseconds of the day, and the Julian day.
func formatInt96(v parquet.Value) (string, error) {
	x := v.Int96()
	nanoseconds := int64(uint64(x[1])<<32 | uint64(x[0]))
	return formatTime(time.Unix((int64(x[2])-julianEpoch)*86400, nanoseconds))
}

// formatParquetDecimal writes an unscaled whole number with so many digits after the point.
func formatParquetDecimal(kind parquet.Kind, scale int) func(parquet.Value) (string, error) {
	return func(v parquet.Value) (string, error) {
		const mostDigits = 76 // of 256 bits
		if scale < 0 || scale > mostDigits {
			return "", fmt.Errorf("a decimal with %d digits after the point; want 0 to %d", scale, mostDigits)
		}
		unscaled := new(big.Int)
		switch kind {
		case parquet.Int32:
			unscaled.SetInt64(int64(v.Int32()))
		case parquet.Int64:
			unscaled.SetInt64(v.Int64())
		default: // two's complement, the highest byte first
			b := v.ByteArray()
			if len(b) == 0 || len(b) > 32 {
				return "", fmt.Errorf("a decimal of %d bytes; want 1 to 32", len(b))
			}
			if unscaled.SetBytes(b); b[0] >= 0x80 {
				unscaled.Sub(unscaled, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
			}
		}
		return formatDecimal(unscaled, scale), nil
	}
}
