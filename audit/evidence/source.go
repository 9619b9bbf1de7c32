package evidence

import (
	"context"
	"fmt"
	"io"

	"github.com/hanse-project/hanse/protocol/transcript"
)

// UpTo returns the source as it was when so many bytes were read: a transcript may grow while it is audited.
func (s *Source) UpTo(bytes int64) *Source {
	return &Source{Path: s.Path, Payload: s.Payload, Open: func() (io.ReadCloser, error) {
		file, err := s.Open()
		if err != nil {
			return nil, err
		}
		return struct {
			io.Reader
			io.Closer
		}{io.LimitReader(file, bytes), file}, nil
	}}
}

// Rereading is a transcript read once more.
type Rereading struct {
	io.Closer
	reader *transcript.Reader
	read   uint64
}

// Reread opens a transcript that was read before.
func (s *Source) Reread() (*Rereading, error) {
	file, err := s.Open()
	if err != nil {
		return nil, err
	}
	reader, err := transcript.NewReader(file)
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("it changed while it was read: %w", err)
	}
	return &Rereading{Closer: file, reader: reader}, nil
}

// Next reads a record that was there before.
func (s *Rereading) Next(ctx context.Context, r *transcript.Record) error {
	if s.read%CheckEvery == 0 && ctx.Err() != nil {
		return ctx.Err()
	}
	s.read++
	if err := s.reader.Next(r); err != nil {
		return fmt.Errorf("it changed while it was read: %w", err)
	}
	return nil
}

// CheckEvery is after how many records a reader looks whether it is still wanted.
const CheckEvery = 1 << 16
