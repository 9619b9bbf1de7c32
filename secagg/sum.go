package secagg

import (
	"context"
	"fmt"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/ring"
)

// MinParties is the smallest number of parties among whom a masked sum hides anything: with two,
// the root subtracts its own addend.
const MinParties = 3

// Masked runs secure sums in a session. All parties call the same sums in the same order.
type Masked struct {
	session  *protocol.Session
	topology contract.Topology
	masks    *masker
}

// NewMasked prepares masked sums over a session along the given topology. Fewer than MinParties
// parties are refused.
func NewMasked(session *protocol.Session, ids []keys.ID, topology contract.Topology) (*Masked, error) {
	if len(ids) != session.Parties() {
		return nil, fmt.Errorf("masked sums: %d ids for %d parties", len(ids), session.Parties())
	}
	if len(ids) < MinParties {
		return nil, fmt.Errorf("masked sums need at least %d parties, this session has %d: the root of "+
			"a sum of two knows the other's addend", MinParties, len(ids))
	}
	return &Masked{session: session, topology: topology, masks: newMasker(session.Self(), ids, session.Pair)}, nil
}

// SumTurns adds vectors of 16-bit turns. At the root v becomes the total; elsewhere it is left
// as it was. After an error the root's v is of no use: some of it may have been summed.
func (m *Masked) SumTurns(ctx context.Context, kind string, root int, v []uint16) error {
	r, err := m.turns(kind, root, v)
	if err != nil {
		return err
	}
	return m.session.Reduce(ctx, r)
}

// turns prepares a masked sum of 16-bit turns.
func (m *Masked) turns(kind string, root int, v []uint16) (protocol.Reduction, error) {
	return m.reduction(kind, root, Turns16, len(v),
		func(first int, chunk []byte) { ring.PutBytes(chunk, v[first:first+len(chunk)/2]) },
		func(first int, chunk []byte) { ring.GetBytes(v[first:first+len(chunk)/2], chunk) })
}

// BeginPadded begins SumTurns with a total that is under a pad which the root lacks: v becomes words that
// are uniform to it, and recorded as masked words, no opening. One of the parties other than the root must
// have added a pad from a key that the root does not have, fresh for each sum; nothing here checks
// that there is one. v is the sum's until end has returned; see protocol.Session.BeginReduce.
func (m *Masked) BeginPadded(
	ctx context.Context, kind string, root int, v []uint16,
) (end func(context.Context) error, err error) {
	r, err := m.turns(kind, root, v)
	if err != nil {
		return nil, err
	}
	r.Sealed = true
	return m.session.BeginReduce(ctx, r)
}

// SumTurns32 adds vectors of 32-bit turns, like SumTurns.
func (m *Masked) SumTurns32(ctx context.Context, kind string, root int, v []uint32) error {
	return m.sum(ctx, kind, root, Turns32, len(v),
		func(first int, chunk []byte) { ring.PutBytes(chunk, v[first:first+len(chunk)/4]) },
		func(first int, chunk []byte) { ring.GetBytes(v[first:first+len(chunk)/4], chunk) })
}

// SumWords adds vectors of 64-bit words modulo 2^64, like SumTurns.
func (m *Masked) SumWords(ctx context.Context, kind string, root int, v []uint64) error {
	return m.sum(ctx, kind, root, Fixed64, len(v),
		func(first int, chunk []byte) { ring.PutBytes(chunk, v[first:first+len(chunk)/8]) },
		func(first int, chunk []byte) { ring.GetBytes(v[first:first+len(chunk)/8], chunk) })
}

// SumPacked adds vectors of words modulo 2^bits, like SumTurns: every party reduces its words before it masks them, and
// no more than bits bits of each total come to the root, whatever the others made of theirs. At the root v becomes the
// total, from 0 to 2^bits - 1.
func (m *Masked) SumPacked(ctx context.Context, kind string, root, bits int, v []uint64) error {
	e := contract.Packed(bits)
	return m.sum(ctx, kind, root, Packed(bits), len(v),
		func(first int, chunk []byte) { e.Pack(chunk, v[first:first+int(e.Count(int64(len(chunk))))]) },
		func(first int, chunk []byte) { e.Unpack(v[first:first+int(e.Count(int64(len(chunk))))], chunk) })
}

// SumFixed adds vectors of real numbers in the encoding f; at the root v becomes the exact total of
// the encoded addends, rounded once to a float64. A value that is not finite or beyond the bound is a *RangeError and
// nothing is sent.
func (m *Masked) SumFixed(ctx context.Context, kind string, root int, f Fixed, v []float64) error {
	if err := f.Check(kind, m.session.Parties()); err != nil {
		return err
	}
	words := make([]uint64, len(v))
	if err := f.Encode(kind, words, v); err != nil {
		return err
	}
	if err := m.SumWords(ctx, kind, root, words); err != nil {
		return err
	}
	if m.session.Self() == root {
		f.Decode(v, words)
	}
	return nil
}

// sum runs one masked sum of n words; see reduction.
func (m *Masked) sum(
	ctx context.Context, kind string, root int, ring Ring, n int, load, store func(first int, chunk []byte),
) error {
	r, err := m.reduction(kind, root, ring, n, load, store)
	if err != nil {
		return err
	}
	return m.session.Reduce(ctx, r)
}

// reduction prepares one masked sum of n words, which must be the session's next operation; load
// and store move words between the caller's vector, from index first on, and a chunk of the wire.
func (m *Masked) reduction(
	kind string, root int, ring Ring, n int, load, store func(first int, chunk []byte),
) (protocol.Reduction, error) {
	// Reduce takes the session's next number. The session never gives it out again, whoever sums.
	masks, err := m.masks.draw(m.session.Operations()+1, m.session.Shared(), ring)
	if err != nil {
		return protocol.Reduction{}, err
	}
	encoding := contract.Encoding(ring) // the numbers are the same
	first := func(offset int) int { return int(encoding.Count(int64(offset))) }
	return protocol.Reduction{
		Kind:     kind,
		Class:    contract.ClassMasked,
		Encoding: encoding,
		Plan:     contract.PlanFor(m.topology, m.session.Parties(), root),
		Size:     encoding.Size(n),
		Load: func(offset int, chunk []byte) error {
			load(first(offset), chunk)
			masks.Apply(chunk)
			return nil
		},
		Add: ring.Add,
		Store: func(offset int, chunk []byte) error {
			store(first(offset), chunk)
			return nil
		},
	}, nil
}
