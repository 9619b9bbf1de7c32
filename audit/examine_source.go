package audit

import (
	"context"
	"fmt"
	"io"

	"github.com/hanse-project/hanse/protocol/transcript"
)

// faulty remembers an error of reading, to tell it from what is wrong with the contents.
type faulty struct {
	source io.Reader
	err    error
}

// Read implements io.Reader.
func (f *faulty) Read(p []byte) (int, error) {
	n, err := f.source.Read(p)
	if err != nil && err != io.EOF {
		f.err = err
	}
	return n, err
}

// rereading is a transcript read once more.
type rereading struct {
	io.Closer
	reader *transcript.Reader
	read   uint64
}

// reread opens a transcript that was read before.
func (s *Source) reread() (*rereading, error) {
	file, err := s.Open()
	if err != nil {
		return nil, err
	}
	reader, err := transcript.NewReader(file)
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("it changed while it was read: %w", err)
	}
	return &rereading{Closer: file, reader: reader}, nil
}

// next reads a record that was there before.
func (s *rereading) next(ctx context.Context, r *transcript.Record) error {
	if s.read%checkEvery == 0 && ctx.Err() != nil {
		return ctx.Err()
	}
	s.read++
	if err := s.reader.Next(r); err != nil {
		return fmt.Errorf("it changed while it was read: %w", err)
	}
	return nil
}
