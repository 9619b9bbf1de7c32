package he

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// task is one sum: how its vector becomes plaintexts, and totals become numbers again.
type task struct {
	kind     string
	root     int
	encoding contract.Encoding // of the opened numbers
	size     int               // numbers of the vector
	residues int               // ciphertexts that Degree numbers take
	margin   *margin
	// encrypt writes the ciphertexts of n numbers from first on.
	encrypt func(dst []byte, first, n int) error
	// open returns the numbers of a batch from first on, as the transcript keeps them.
	open func(first, n int, c0, shares []byte) ([]byte, error)
}

// words is the task of summing words; load and store move them from and to the caller's vector.
func (s *Sums) words(
	kind string, root int, p *Packing, e contract.Encoding, n int, load, store func(first int, words []uint64),
) *task {
	group := make([]uint64, min(n, Degree))
	return &task{
		kind: kind, root: root, encoding: e, size: n, residues: p.Residues(), margin: &p.margin,
		encrypt: func(dst []byte, first, n int) error {
			load(first, group[:n])
			return s.key.encryptGroup(p, dst, first, group[:n])
		},
		open: func(first, n int, c0, shares []byte) ([]byte, error) {
			words := make([]uint64, n)
			if err := p.Open(words, c0, shares); err != nil {
				return nil, err
			}
			store(first, words)
			size := e.WordSize()
			b := make([]byte, size*n+8-size) // little-endian; the last word is written whole
			for i, w := range words {
				binary.LittleEndian.PutUint64(b[size*i:], w)
			}
			return b[:size*n], nil
		},
	}
}

// batchSize returns how many numbers are in a batch of at most so many ciphertexts, of which Degree
// numbers take `residues`.
func batchSize(ciphertexts, residues int) int { return ciphertexts / residues * Degree }

// sum runs a task batch by batch.
func (s *Sums) sum(ctx context.Context, t *task) error {
	if len(t.kind) > MaxKind {
		return fmt.Errorf("homomorphic sum: kind is %q, want at most %d characters", t.kind, MaxKind)
	}
	if t.root < 0 || t.root >= s.session.Parties() {
		return fmt.Errorf("%s: root is party %d, want 0 to %d", t.kind, t.root, s.session.Parties()-1)
	}
	size := batchSize(s.ciphertexts, t.residues)
	for first := 0; first < t.size; first += size {
		if err := s.batch(ctx, t, first, min(size, t.size-first)); err != nil {
			return err
		}
	}
	return nil
}

// batch sums and opens n numbers from first on.
func (s *Sums) batch(ctx context.Context, t *task, first, n int) error {
	// The parties' ciphertexts are added. The root has the total's polynomials; the others have nothing, and zeros of
	// the size of c1.
	unit := t.residues * CiphertextSize
	groups := (n + Degree - 1) / Degree
	var c0 []byte
	c1 := make([]byte, groups*unit/2)
	if s.session.Self() == t.root {
		c0 = make([]byte, groups*unit/2)
	}
	vector := stream{unit: make([]byte, unit), at: -1, make: func(g int, dst []byte) error {
		return t.encrypt(dst, first+g*Degree, min(Degree, n-g*Degree))
	}}
	err := s.reduction(ctx, t.kind, t.root, groups*unit, vector.load, func(offset int, chunk []byte) {
		splitAt(c0, c1, offset, chunk)
	})
	if err != nil {
		return err
	}

	// The root broadcasts c1. No share decrypts what another party was not sent.
	for at := 0; at < len(c1); at += broadcastPolys * PolySize {
		piece := c1[at:min(at+broadcastPolys*PolySize, len(c1))]
		got, err := s.session.Broadcast(ctx, t.kind+SuffixC1, contract.ClassControl, t.root, piece, len(piece))
		if err != nil {
			return err
		}
		if len(got) != len(piece) {
			return fmt.Errorf("%s: %s broadcast %d bytes of c1, want %d", t.kind, s.session.Name(t.root), len(got), len(piece))
		}
		copy(piece, got)
	}
	if err := s.session.Confirm(ctx); err != nil {
		return err
	}

	// The decryption shares are added; the root adds its own, and opens.
	s.number++
	own, err := s.holder.share(s.number, t.margin, c1, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", t.kind, err)
	}
	if s.session.Self() != t.root {
		return s.reduce(ctx, t.kind+SuffixShare, t.root, own, nil)
	}
	shares := make([]byte, len(c1))
	if err := s.reduce(ctx, t.kind+SuffixShare, t.root, nil, shares); err != nil {
		return err
	}
	if err := AddRLWE(shares, own); err != nil {
		return fmt.Errorf("%s: %w", t.kind, err)
	}
	opened, err := t.open(first, n, c0, shares)
	if err != nil {
		return fmt.Errorf("%s: %w", t.kind, err)
	}
	for chunk := 0; chunk*contract.DefaultChunk < len(opened); chunk++ {
		at := chunk * contract.DefaultChunk
		piece := opened[at:min(at+contract.DefaultChunk, len(opened))]
		if err := s.session.Opened(t.kind, t.encoding, len(opened), chunk, piece); err != nil {
			return err
		}
	}
	return nil
}

// splitAt puts bytes of ciphertexts from offset on where they belong in c0 and c1.
func splitAt(c0, c1 []byte, offset int, chunk []byte) {
	for len(chunk) > 0 {
		poly := c0
		if offset/PolySize%2 == 1 {
			poly = c1
		}
		n := min(len(chunk), PolySize-offset%PolySize)
		copy(poly[offset/CiphertextSize*PolySize+offset%PolySize:], chunk[:n])
		chunk, offset = chunk[n:], offset+n
	}
}

// stream makes a sequence of equal units as its bytes are asked for, in order.
type stream struct {
	unit []byte
	at   int // which unit was made last
	make func(i int, dst []byte) error
}

// load copies the bytes from offset on.
func (s *stream) load(offset int, chunk []byte) error {
	for len(chunk) > 0 {
		if i := offset / len(s.unit); i != s.at {
			if err := s.make(i, s.unit); err != nil {
				return err
			}
			s.at = i
		}
		n := copy(chunk, s.unit[offset%len(s.unit):])
		chunk, offset = chunk[n:], offset+n
	}
	return nil
}

// broadcastPolys is how many polynomials are broadcast at a time.
const broadcastPolys = 16

// reduce adds sequences of polynomials; own is nil for zeros, total is nil but at the root.
func (s *Sums) reduce(ctx context.Context, kind string, root int, own, total []byte) error {
	load := func(offset int, chunk []byte) error {
		if own == nil {
			clear(chunk)
			return nil
		}
		copy(chunk, own[offset:])
		return nil
	}
	return s.reduction(ctx, kind, root, max(len(own), len(total)), load, func(offset int, chunk []byte) {
		copy(total[offset:], chunk)
	})
}

// reduction runs one Reduce of sealed polynomials. A word that is not below its prime ends it.
func (s *Sums) reduction(
	ctx context.Context, kind string, root, size int, load func(offset int, chunk []byte) error,
	store func(offset int, chunk []byte),
) error {
	at, fault := 0, error(nil)
	err := s.session.Reduce(ctx, protocol.Reduction{
		Kind:     kind,
		Class:    contract.ClassHE,
		Encoding: contract.RLWE,
		Plan:     contract.PlanFor(s.topology, s.session.Parties(), root),
		Size:     size,
		Sealed:   true,
		Load: func(offset int, chunk []byte) error {
			if at = offset; fault != nil {
				return fault
			}
			return load(offset, chunk)
		},
		Add: func(dst, src []byte) {
			if err := addAt(at, dst, src); err != nil && fault == nil {
				fault = fmt.Errorf("%s: received %w", kind, err)
			}
		},
		Store: func(offset int, chunk []byte) error {
			if fault == nil {
				store(offset, chunk)
			}
			return fault
		},
	})
	if err == nil {
		err = fault
	}
	return err
}
