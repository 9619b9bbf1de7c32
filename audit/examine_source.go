package audit

import (
	"context"
	"fmt"
	"hash"
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

// hashed counts and hashes what is read.
type hashed struct {
	source io.Reader
	sum    hash.Hash
	bytes  int64
}

// Read implements io.Reader.
func (h *hashed) Read(p []byte) (int, error) {
	n, err := h.source.Read(p)
	h.sum.Write(p[:n])
	h.bytes += int64(n)
	return n, err
}

// upTo returns the source as it was when so many bytes were read: a transcript may grow while it is audited.
func (s *Source) upTo(bytes int64) *Source {
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
