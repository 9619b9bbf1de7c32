package he

import (
	"context"
	"fmt"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg"
)

// The kinds of frames of a session's key, and what a sum's kind gets appended for its later frames.
const (
	KindKeyShare = "he-key share"
	KindKey      = "he-key"
	SuffixC1     = " c1"
	SuffixShare  = " share"
	// MaxKind is the longest kind of a sum, in bytes.
	MaxKind = contract.MaxKind - len(SuffixShare)
)

// batchCiphertexts bounds the ciphertexts of one batch, and so a root's memory: 32 MiB.
const batchCiphertexts = 128

// Sums runs homomorphic sums in a session. All parties call the same sums in the same order. Every
// party has a share of the key, and all are needed to open.
//
// A sum goes in batches that follow from the vector's length. In each, the ciphertexts are added along
// the topology to the root; the root broadcasts the total's polynomials c1; the others' decryption
// shares are added along the topology to the root, which adds its own, that nobody else ever sees, and
// decodes. The others' shares turn the total into a ciphertext under the root's share of the key
// alone: they are the switch to the root's key. Without it all the others together open nothing.
//
// All parties compare what they were sent of the key and of c1 before anything is encrypted or decrypted
// with it, so that no party in the tree can change it for those below. A root that deviates could still tell all of
// them another c1, such as that of one party's ciphertext, and open it: the others cannot tell. Masked sums have
// no such weakness.
type Sums struct {
	session  *protocol.Session
	topology contract.Topology
	scheme   *Scheme
	key      *PublicKey
	holder   *Holder
	packings map[packingKey]*Packing
	number   uint64 // of the last batch

	ciphertexts int // of one batch, at most
}

// packingKey names a packing: a ring, or signed words up to a bound.
type packingKey struct {
	ring  secagg.Ring
	bound uint64
}

// NewSums makes the session's collective key: the shares of the public key are added along the topology to
// party 0, which broadcasts the total. seed is public and different in every session, see SessionSeed.
// Fewer than secagg.MinParties parties are refused.
func NewSums(
	ctx context.Context, session *protocol.Session, topology contract.Topology, seed keys.Hash,
) (*Sums, error) {
	q := session.Parties()
	if q < secagg.MinParties {
		return nil, fmt.Errorf("homomorphic sums need at least %d parties, this session has %d: the root "+
			"of a sum of two knows the other's addend", secagg.MinParties, q)
	}
	scheme, err := NewScheme()
	if err != nil {
		return nil, err
	}
	s := &Sums{session: session, topology: topology, scheme: scheme, packings: make(map[packingKey]*Packing),
		ciphertexts: batchCiphertexts}
	if s.holder, err = scheme.NewHolder(session.Self(), q, q); err != nil {
		return nil, err
	}
	if _, err := s.packing(secagg.Turns16); err != nil { // too many parties, before anything is sent
		return nil, err
	}
	share, err := s.holder.PublicShare(seed)
	if err != nil {
		return nil, err
	}
	total := make([]byte, PolySize)
	if err := s.reduce(ctx, KindKeyShare, 0, share, total); err != nil {
		return nil, err
	}
	if total, err = session.Broadcast(ctx, KindKey, contract.ClassControl, 0, total, PolySize); err != nil {
		return nil, err
	}
	if err := session.Confirm(ctx); err != nil { // nothing is encrypted under a key that another party was not sent
		return nil, err
	}
	if s.key, err = scheme.NewPublicKey(seed, total); err != nil {
		return nil, err
	}
	return s, nil
}

// Level says in a sentence how hard the scheme is to break.
func (s *Sums) Level() string { return s.scheme.Level() }

// packing returns the packing of a ring's words.
func (s *Sums) packing(ring secagg.Ring) (*Packing, error) {
	return s.cached(packingKey{ring: ring}, func(q int) (*Packing, error) { return s.scheme.NewPacking(ring, q, q) })
}

// cached makes a packing once.
func (s *Sums) cached(k packingKey, make func(parties int) (*Packing, error)) (*Packing, error) {
	if p, ok := s.packings[k]; ok {
		return p, nil
	}
	p, err := make(s.session.Parties())
	if err == nil {
		s.packings[k] = p
	}
	return p, err
}

// SumTurns adds vectors of 16-bit turns. At the root v becomes the total; elsewhere it is left
// as it was. kind has at most MaxKind characters. After an error the root's v is of no use.
func (s *Sums) SumTurns(ctx context.Context, kind string, root int, v []uint16) error {
	return sumRing(ctx, s, kind, root, secagg.Turns16, v)
}

// SumTurns32 adds vectors of 32-bit turns, like SumTurns.
func (s *Sums) SumTurns32(ctx context.Context, kind string, root int, v []uint32) error {
	return sumRing(ctx, s, kind, root, secagg.Turns32, v)
}

// SumWords adds vectors of 64-bit words modulo 2^64, like SumTurns.
func (s *Sums) SumWords(ctx context.Context, kind string, root int, v []uint64) error {
	return sumRing(ctx, s, kind, root, secagg.Fixed64, v)
}

// sumRing adds vectors of a ring's words.
func sumRing[W uint16 | uint32 | uint64](
	ctx context.Context, s *Sums, kind string, root int, ring secagg.Ring, v []W,
) error {
	p, err := s.packing(ring)
	if err != nil {
		return err
	}
	return s.sum(ctx, s.words(kind, root, p, contract.Encoding(ring), len(v), // the numbers are the same
		func(first int, words []uint64) {
			for i := range words {
				words[i] = uint64(v[first+i])
			}
		},
		func(first int, words []uint64) {
			for i, w := range words {
				v[first+i] = W(w)
			}
		}))
}

// SumFixed adds vectors of real numbers in the encoding f; at the root v becomes the exact total of
// the encoded addends, rounded once to a float64. A value that is not finite or beyond the bound is a
// *secagg.RangeError and nothing is sent.
func (s *Sums) SumFixed(ctx context.Context, kind string, root int, f secagg.Fixed, v []float64) error {
	if err := f.Check(kind, s.session.Parties()); err != nil {
		return err
	}
	p, err := s.cached(packingKey{bound: f.Most()},
		func(q int) (*Packing, error) { return s.scheme.NewSigned(f.Most(), q, q) })
	if err != nil {
		return err
	}
	words := make([]uint64, len(v))
	if err := f.Encode(kind, words, v); err != nil {
		return err
	}
	task := s.words(kind, root, p, contract.Fixed64, len(v),
		func(first int, w []uint64) { copy(w, words[first:]) },
		func(first int, w []uint64) { f.Decode(v[first:first+len(w)], w) })
	return s.sum(ctx, task)
}
