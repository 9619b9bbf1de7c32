package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// Limits bound what a source may take.
type Limits struct {
	Time   time.Duration // from the opening to the last row, of a query or a command
	Rows   int64         // that a Parquet file may say it has
	Record int           // bytes of one value of a database
	Bytes  int64         // of the Parquet file that a command writes
	Page   int64         // bytes of a page of a Parquet file, unpacked
}

// StandardLimits fit tables that one machine can train on.
func StandardLimits() Limits {
	return Limits{Time: time.Hour, Rows: 1 << 24, Record: 4 << 20, Bytes: 16 << 30, Page: 256 << 20}
}

// Source is a table that is being read. Its methods may not be called concurrently.
type Source struct {
	// Text is the table as text, CSV or LIBSVM; nil where Next returns its rows.
	Text io.Reader
	// Columns are the names of the columns, as the source has them; nil beside Text.
	Columns []string
	// Faults say of each column why its cells cannot be read, in the words of the first that cannot; nil where all so far
	// can. Next hands such cells out as empty ones.
	Faults []error

	next  func() ([]string, error)
	close func() error
}

// Open starts to read a table. It goes on no longer than the context and the time limit last. The error does not name
// the location.
func Open(ctx context.Context, l Location, lim Limits) (*Source, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, lim.Time,
		fmt.Errorf("it took longer than %v, the limit; ask for less, or write it to a file first", lim.Time))
	open := map[kind]func(context.Context, Location, Limits) (*Source, error){
		files: openFile, postgres: openPostgres, sqliteFile: openSQLite, command: openCommand,
	}[l.kind]
	s, err := open(ctx, l, lim)
	if err != nil {
		err = because(ctx, err)
		cancel()
		return nil, err
	}
	if next := s.next; next != nil {
		s.next = func() ([]string, error) {
			cells, err := next()
			return cells, because(ctx, err)
		}
	}
	release := s.close
	s.close = func() error {
		cancel()
		return release()
	}
	return s, nil
}

// because puts why a context ended in the place of the error that came of it.
func because(ctx context.Context, err error) error {
	if err != nil && err != io.EOF && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// Next returns the cells of the next row, one for each column, missing ones empty; io.EOF after the last. They are
// valid until the next call.
func (s *Source) Next() ([]string, error) { return s.next() }

// Close ends the reading and frees what it held. What a command did after that does not count.
func (s *Source) Close() error { return s.close() }

// openFile opens a text file, a Parquet file or a folder of Parquet parts.
func openFile(_ context.Context, l Location, lim Limits) (*Source, error) {
	parts, err := l.parts()
	if err != nil {
		return nil, err
	}
	if parts != nil {
		return openParts(parts, lim)
	}
	f, err := os.Open(l.path)
	if err != nil {
		return nil, withoutPath(err)
	}
	magic := make([]byte, len(parquetMagic))
	if n, _ := f.ReadAt(magic, 0); string(magic[:n]) != parquetMagic {
		return &Source{Text: f, close: f.Close}, nil
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	return openParts([]string{l.path}, lim)
}

// checkColumns refuses a source without columns.
func checkColumns(names []string) error {
	if len(names) == 0 {
		return errors.New("it has no columns")
	}
	return nil
}

// fault keeps the first error about a column's cells; row counts from 1, and is 0 of an error about the column's type.
func fault(faults []error, i int, row int64, column string, err error) {
	switch {
	case err == nil || faults[i] != nil:
	case row == 0:
		faults[i] = fmt.Errorf("column %s %w", quote(column), err)
	default:
		faults[i] = fmt.Errorf("row %d, column %s: %w", row, quote(column), err)
	}
}

// quote quotes what came from elsewhere and clips it.
func quote(s string) string {
	const most = 60
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return strconv.Quote(s)
}
