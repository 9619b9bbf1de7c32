package stream

import (
	"compress/gzip"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Stdin is the path that stands for standard input.
const Stdin = "-"

// maxColumns bounds the columns of a stream.
const maxColumns = 1 << 14

// Row is one row of a stream.
type Row struct {
	Number int       // from 1, the header not counted
	Inputs []float64 // in the order of Columns
	Label  float64   // NaN for a row without one, in a stream that need not have any
	ID     string    // what stands in the column of ids, where one was asked for
}

// Stream reads rows. Next is for one goroutine.
type Stream struct {
	path   string
	inputs []int // places of the inputs in a line
	names  []string
	label  int  // place of the label in a line, -1: it has none
	id     int  // place of the id in a line, -1: none was asked for
	bare   bool // a row need not have a label
	lines  chan line
	number int
	file   bool   // its rows are all there
	ahead  []line // lines that were looked at before their turn

	life    context.Context
	endLife context.CancelFunc
	reading sync.WaitGroup
	closers []io.Closer
}

// line is a line of cells, or why there is none.
type line struct {
	cells []string
	err   error
}

// Open starts to read a stream whose label is the named column. The inputs are all other columns, or
// those named, in their order. Reading a file ends with it; standard input is read until it is closed.
func Open(path, label string, columns []string) (*Stream, error) {
	return open(path, Bare{Label: label, Columns: columns}, false)
}

// Bare says what there is to read in a file of rows that need not have labels.
type Bare struct {
	Label   string   // the column of labels, where the file has it; its cells may be empty
	Columns []string // the inputs', in their order
	ID      string   // a column to hand out as it is; empty: none
}

// OpenBare is Open for such a file: see Row.
func OpenBare(path string, b Bare) (*Stream, error) { return open(path, b, true) }

// open is Open and OpenBare.
func open(path string, b Bare, bare bool) (_ *Stream, err error) {
	s := &Stream{path: path, bare: bare, id: -1, lines: make(chan line)}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.closeFiles())
		}
	}()
	source, err := s.open()
	if err != nil {
		return nil, err
	}
	r := csv.NewReader(source)
	r.ReuseRecord, r.TrimLeadingSpace = false, true
	header, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s is empty: want a line with the columns' names, and rows below it", path)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: header: %w", path, err)
	}
	header[0] = strings.TrimPrefix(header[0], "\ufeff") // a byte order mark, which spreadsheets write
	if err := s.lay(header, b.Label, b.Columns); err != nil {
		return nil, err
	}
	if b.ID != "" {
		if s.id = slices.Index(header, b.ID); s.id < 0 {
			return nil, fmt.Errorf("%s: there is no column %q for the ids; it has %s", path, b.ID, strings.Join(header, ", "))
		}
	}
	s.life, s.endLife = context.WithCancel(context.Background())
	s.reading.Go(func() { s.read(r) })
	return s, nil
}

// open opens the file or standard input.
func (s *Stream) open() (io.Reader, error) {
	if s.path == Stdin {
		return os.Stdin, nil
	}
	f, err := os.Open(s.path)
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, f)
	if s.file, err = isFile(f); err != nil {
		return nil, err
	}
	if !strings.HasSuffix(s.path, ".gz") {
		return f, nil
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.path, err)
	}
	s.closers = append(s.closers, z)
	return z, nil
}

// isFile reports whether rows can be read from f without waiting for them, as from a pipe.
func isFile(f *os.File) (bool, error) {
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular(), err
}

// lay finds the columns in the header.
func (s *Stream) lay(header []string, label string, columns []string) error {
	if len(header) > maxColumns {
		return fmt.Errorf("%s: %d columns, at most %d are read", s.path, len(header), maxColumns)
	}
	for i, name := range header {
		header[i] = strings.TrimSpace(name)
		if slices.Contains(header[:i], header[i]) {
			return fmt.Errorf("%s: column %q stands twice in the header", s.path, header[i])
		}
	}
	if s.label = slices.Index(header, label); s.label < 0 && !s.bare {
		return fmt.Errorf("%s: there is no column %q for the label; it has %s", s.path, label, strings.Join(header, ", "))
	}
	if columns == nil {
		columns = slices.Delete(slices.Clone(header), s.label, s.label+1)
	}
	for _, name := range columns {
		at := slices.Index(header, name)
		if at < 0 || at == s.label {
			return fmt.Errorf("%s: there is no input column %q; it has %s", s.path, name, strings.Join(header, ", "))
		}
		s.inputs = append(s.inputs, at)
	}
	s.names = columns
	return nil
}

// Columns returns the names of the inputs.
func (s *Stream) Columns() []string { return s.names }

// read hands lines on until the source or the stream ends.
func (s *Stream) read(r *csv.Reader) {
	for {
		cells, err := r.Read()
		select {
		case s.lines <- line{cells, err}:
		case <-s.life.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// Next waits for the next row. At the end of the stream the error is io.EOF.
func (s *Stream) Next(ctx context.Context) (*Row, error) { return s.NextUntil(ctx, nil) }

// NextUntil is Next at a stream that ends, too, when over is closed while a row is waited for. A row that comes
// later is the next one's. A file, whose rows are all there, takes no notice of over.
func (s *Stream) NextUntil(ctx context.Context, over <-chan struct{}) (*Row, error) {
	l, err := s.next(ctx, over)
	if err != nil {
		return nil, err
	}
	s.number++
	switch {
	case errors.Is(l.err, io.EOF):
		return nil, io.EOF
	case l.err != nil:
		return nil, fmt.Errorf("%s: row %d: %w", s.path, s.number, l.err)
	}
	return s.row(l.cells)
}

// next waits for the next line.
func (s *Stream) next(ctx context.Context, over <-chan struct{}) (line, error) {
	if len(s.ahead) > 0 {
		l := s.ahead[0]
		s.ahead = s.ahead[1:]
		return l, nil
	}
	if s.file {
		over = nil
	}
	return s.receive(ctx, over)
}

// receive waits for the next line of the source.
func (s *Stream) receive(ctx context.Context, over <-chan struct{}) (line, error) {
	select {
	case <-ctx.Done():
		return line{}, ctx.Err()
	case <-over:
		return line{}, io.EOF
	case l := <-s.lines:
		return l, nil
	}
}

// row reads a line's numbers.
func (s *Stream) row(cells []string) (*Row, error) {
	row := &Row{Number: s.number}
	var err error
	if row.Inputs, err = s.numbers(cells); err != nil {
		return nil, err
	}
	if s.id >= 0 {
		row.ID = cells[s.id]
	}
	if s.bare && (s.label < 0 || strings.TrimSpace(cells[s.label]) == "") {
		row.Label = math.NaN()
		return row, nil
	}
	row.Label, err = s.cell(cells[s.label], "the label's")
	return row, err
}

// numbers reads a line's inputs.
func (s *Stream) numbers(cells []string) ([]float64, error) {
	list := make([]float64, len(s.inputs))
	for i, at := range s.inputs {
		var err error
		if list[i], err = s.cell(cells[at], s.names[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// cell reads a finite number.
func (s *Stream) cell(text, column string) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%s: row %d, column %s: %.40q, want a finite number", s.path, s.number, column, text)
	}
	return v, nil
}

// NumberFrom numbers the rows of standard input on from those that came before, in an earlier life of the
// process. A file comes again from its first row.
func (s *Stream) NumberFrom(last int) {
	if s.path == Stdin {
		s.number = max(s.number, last)
	}
}

// Close ends the reading. A read of standard input that is blocked ends with the process.
func (s *Stream) Close() error {
	s.endLife()
	if s.path != Stdin {
		s.reading.Wait()
	}
	return s.closeFiles()
}

// closeFiles closes what was opened, the innermost first.
func (s *Stream) closeFiles() error {
	var errs []error
	for _, c := range slices.Backward(s.closers) {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
