package protocol

import (
	"context"
	"fmt"

	"github.com/hanse-project/hanse/protocol/contract"
)

// Direct describes one vector that goes from one party to another, and that no third party sees.
type Direct struct {
	Kind     string
	Class    contract.Class
	Encoding contract.Encoding
	From, To int // parties by index
	// Size is the bytes of the vector, the same at both ends. Of a vector of none no frame goes.
	Size int
	// Load writes the sender's bytes from offset on into chunk; no other party's is called.
	Load func(offset int, chunk []byte) error
	// Store takes them at the receiver, in order; chunk is valid during the call. No other party's
	// is called.
	Store func(offset int, chunk []byte) error
}

// Pass sends a vector from one party to another, in chunks of at most Encoding.Chunk bytes. All
// parties call it: those whom it does not concern only count it. The sender returns when its
// transport has taken the last chunk, the receiver when it has stored it. Nothing of a vector
// that failed is to be used.
func (s *Session) Pass(ctx context.Context, d Direct) error {
	if err := s.checkDirect(&d); err != nil {
		return err
	}
	operation, err := s.next(ctx)
	if err != nil {
		return err
	}
	return s.pass(ctx, &d, operation)
}

// checkDirect refuses a message that goes nowhere.
func (s *Session) checkDirect(d *Direct) error {
	if q := s.Parties(); d.From < 0 || d.From >= q || d.To < 0 || d.To >= q || d.From == d.To || d.Size < 0 {
		return fmt.Errorf("%s: %d bytes from party %d to party %d, want 0 or more between two different parties of 0 to %d",
			d.Kind, d.Size, d.From, d.To, q-1)
	}
	return nil
}

// pass is Pass under a number.
func (s *Session) pass(ctx context.Context, d *Direct, operation uint64) error {
	if s.self != d.From && s.self != d.To {
		return nil
	}
	if s.self == d.To {
		if err := s.pending.settle(ctx, d.From); err != nil {
			return err
		}
	}
	chunk := d.Encoding.Chunk(s.config.Chunk)
	for offset, n := 0, uint32(0); offset < d.Size; offset, n = offset+chunk, n+1 {
		h := header{class: d.Class, encoding: d.Encoding, kind: d.Kind, operation: operation, size: uint64(d.Size), chunk: n}
		if err := s.passChunk(ctx, d, h, offset, min(chunk, d.Size-offset)); err != nil {
			return err
		}
	}
	return nil
}

// passChunk does one end's part of one chunk of size bytes.
func (s *Session) passChunk(ctx context.Context, d *Direct, h header, offset, size int) error {
	if s.self == d.From {
		chunk := s.ownChunk(size)
		if err := d.Load(offset, chunk); err != nil {
			return fmt.Errorf("operation %d (%s): %w", h.operation, h.kind, err)
		}
		return s.send(ctx, d.To, h, chunk)
	}
	payload, storage, err := s.receive(ctx, d.From, h, s.incoming)
	if err != nil {
		return err
	}
	s.incoming = storage
	if len(payload) != size {
		return s.fail(d.From, &h, deviation("chunk %d has %d bytes, want %d", h.chunk, len(payload), size))
	}
	if err := d.Store(offset, payload); err != nil {
		return fmt.Errorf("operation %d (%s): %w", h.operation, h.kind, err)
	}
	return nil
}

// ownChunk returns room for a chunk that this party fills; the next call returns the same. It grows at most to a whole
// chunk: many sessions pass nothing larger than a few words.
func (s *Session) ownChunk(size int) []byte {
	if cap(s.chunk) < size {
		s.chunk = make([]byte, max(size, min(2*cap(s.chunk), s.config.Chunk)))
	}
	return s.chunk[:size]
}
