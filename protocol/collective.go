package protocol

import (
	"context"
	"fmt"

	"github.com/hanse-project/hanse/protocol/contract"
)

// anySize stands in a wanted header for a payload whose length only the sender knows.
const anySize = ^uint64(0)

// Broadcast sends root's data to every party and returns it everywhere. limit is the most bytes
// a receiver accepts; it is at most one frame. The data travel down the reversed tree T0, and those who pass them on
// can change them: see Confirm.
func (s *Session) Broadcast(
	ctx context.Context, kind string, class contract.Class, root int, data []byte, limit int,
) ([]byte, error) {
	operation, err := s.next(ctx)
	if err != nil {
		return nil, err
	}
	h := header{class: class, kind: kind, operation: operation, size: anySize}
	plan := contract.PlanFor(contract.Tree, s.Parties(), root)
	if s.self == root {
		if err := checkOwn(&h, data, limit); err != nil {
			return nil, err
		}
	} else {
		received, err := s.receiveWhole(ctx, plan.Parent[s.self], h, limit)
		if err != nil {
			return nil, err
		}
		data = received
	}
	h.size = uint64(len(data))
	for i := len(plan.Children[s.self]) - 1; i >= 0; i-- { // the deepest subtree first
		if err := s.send(ctx, plan.Children[s.self][i], h, data); err != nil {
			return nil, err
		}
	}
	s.absorb(operation, kind, data)
	return data, nil
}

// Exchange sends data to every other party and returns what each sent, by index; the own entry
// is data itself. limit is the most bytes accepted from each.
func (s *Session) Exchange(ctx context.Context, kind string, data []byte, limit int) ([][]byte, error) {
	operation, err := s.next(ctx)
	if err != nil {
		return nil, err
	}
	return s.exchange(ctx, header{class: contract.ClassControl, kind: kind, operation: operation, size: uint64(len(data))},
		data, limit)
}

// exchange is Exchange under a given header. What has begun ends first: nothing else is received in between.
func (s *Session) exchange(ctx context.Context, h header, data []byte, limit int) ([][]byte, error) {
	if err := s.pending.end(ctx); err != nil {
		return nil, err
	}
	if err := checkOwn(&h, data, limit); err != nil {
		return nil, err
	}
	for i := range s.Parties() {
		if i == s.self {
			continue
		}
		if err := s.send(ctx, i, h, data); err != nil {
			return nil, err
		}
	}
	h.size = anySize
	all := make([][]byte, s.Parties())
	for i := range all {
		if i == s.self {
			all[i] = data
			continue
		}
		received, err := s.receiveWhole(ctx, i, h, limit)
		if err != nil {
			return nil, err
		}
		all[i] = received
	}
	return all, nil
}

// checkOwn refuses to send what every receiver would refuse.
func checkOwn(h *header, data []byte, limit int) error {
	if len(data) > limit {
		return fmt.Errorf("operation %d (%s): %d bytes to send, at most %d are allowed", h.operation,
			h.kind, len(data), limit)
	}
	return nil
}

// receiveWhole receives a payload of at most limit bytes that fits one frame.
func (s *Session) receiveWhole(ctx context.Context, from int, h header, limit int) ([]byte, error) {
	if err := s.pending.settle(ctx, from); err != nil {
		return nil, err
	}
	payload, _, err := s.receive(ctx, from, h, nil)
	if err != nil {
		return nil, err
	}
	if len(payload) > limit {
		return nil, s.fail(from, &h, deviation("payload of %d bytes, at most %d are allowed", len(payload), limit))
	}
	return payload, nil
}

// Reduction describes one sum along a plan.
type Reduction struct {
	Kind     string
	Class    contract.Class
	Encoding contract.Encoding
	Plan     contract.Plan
	Size     int // bytes of the vector, the same at every party of the plan
	// Sealed says that the total is a ciphertext, or under a pad that the root lacks: it learns
	// nothing from it, so that no opening is recorded. A padded total is on the record as masked words; what
	// the root learns later it records by Opened.
	Sealed bool
	// Load writes this party's addend for the bytes from offset on into chunk.
	Load func(offset int, chunk []byte) error
	// Add adds src to dst, word by word; both have the same length.
	Add func(dst, src []byte)
	// Store takes the total at the root; chunk is valid during the call.
	Store func(offset int, chunk []byte) error
}

// Reduce adds the parties' vectors along the plan, chunk by chunk: an inner node adds a chunk and
// sends it on while the next arrives, so that it holds one chunk and not the vector. Parties that
// are not in the plan call it too and do nothing. Nothing of a sum that failed is to be used.
func (s *Session) Reduce(ctx context.Context, r Reduction) error {
	operation, err := s.next(ctx)
	if err != nil {
		return err
	}
	return s.reduce(ctx, &r, operation)
}

// reduce is Reduce under a number.
func (s *Session) reduce(ctx context.Context, r *Reduction, operation uint64) error {
	if !r.Plan.Has(s.self) {
		return nil
	}
	if err := s.pending.settle(ctx, r.Plan.Children[s.self]...); err != nil {
		return err
	}
	chunk := r.Encoding.Chunk(s.config.Chunk)
	for offset, n := 0, uint32(0); offset < r.Size; offset, n = offset+chunk, n+1 {
		h := header{class: r.Class, encoding: r.Encoding, kind: r.Kind, operation: operation, size: uint64(r.Size), chunk: n}
		if err := s.reduceChunk(ctx, r, h, offset, min(chunk, r.Size-offset)); err != nil {
			return err
		}
	}
	return nil
}

// reduceChunk does one chunk of a Reduce, of size bytes: own addend, children's, then up or out.
func (s *Session) reduceChunk(ctx context.Context, r *Reduction, h header, offset, size int) error {
	chunk := s.ownChunk(size)
	if err := r.Load(offset, chunk); err != nil {
		return fmt.Errorf("operation %d (%s): %w", h.operation, h.kind, err)
	}
	for _, child := range r.Plan.Children[s.self] {
		payload, storage, err := s.receive(ctx, child, h, s.incoming)
		if err != nil {
			return err
		}
		s.incoming = storage
		if len(payload) != size {
			return s.fail(child, &h, deviation("chunk %d has %d bytes, want %d", h.chunk, len(payload), size))
		}
		r.Add(chunk, payload)
	}
	if r.Plan.Root != s.self {
		return s.send(ctx, r.Plan.Parent[s.self], h, chunk)
	}
	if r.Sealed && r.Class != contract.ClassMasked { // of a ciphertext all that came is on the record
		return r.Store(offset, chunk)
	}
	h.padded = r.Sealed
	if err := s.record(EventOpened, s.self, &h, chunk); err != nil {
		return err
	}
	return r.Store(offset, chunk)
}

// Opened records what this party, the root of the operation before, learned when it opened a total
// that came to it as a ciphertext: the given chunk of a vector of size bytes.
func (s *Session) Opened(kind string, encoding contract.Encoding, size, chunk int, payload []byte) error {
	if err := contract.CheckKind(kind); err != nil {
		return err
	}
	return s.record(EventOpened, s.self, &header{
		encoding: encoding, kind: kind, operation: s.operation, size: uint64(size), chunk: uint32(chunk),
	}, payload)
}
