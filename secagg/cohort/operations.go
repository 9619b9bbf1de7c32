package cohort

import (
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/secagg/he"
	"github.com/hanse-project/hanse/secagg/shamir"
)

// Flow is one kind of message of a cohort's sums, for a contract: how many there are between the
// server and one client, and their bytes in all, at most.
type Flow struct {
	Kind  string
	Up    bool // from clients to the server
	Class protocol.Class
	Count int64
	Bytes int64
}

// Flows lists what so many sums of vectors among up to n clients send, in a session of the given
// number of parties.
func (s Spec) Flows(parties, n int, v Vector, sums int64) ([]Flow, error) {
	s, err := s.complete(parties)
	if err != nil {
		return nil, err
	}
	size := int64(setSize(parties))
	bundle := size + int64(packed{v}.size())
	if s.Backend == HE {
		sums *= 1 + maxRepeats
	}
	f := flows{n: sums}
	f.once(KindKey, true, protocol.SessionKeySize)
	if s.Backend == Masked && n > s.Complete { // a sum is begun again when its coin has failed
		f.repeated(KindBegin, false, beginHead+int64(len(v.Kind))+size+2)
	} else {
		f.each(KindBegin, false, beginHead+int64(len(v.Kind))+size+2)
	}
	switch s.Backend {
	case Masked:
		f.masked(s, size, n)
	case HE:
		codec, err := s.largest(n, v)
		if err != nil {
			return nil, err
		}
		bundle = size + int64(codec.size())
		f.encrypted(s, size, int64(codec.size()))
	default:
		f.each(KindSurvivors, false, size)
	}
	f.each(KindResend, false, size)
	f.list = append(f.list, Flow{Kind: v.Kind, Up: true, Class: s.Backend.class(), Count: sums, Bytes: sums * bundle})
	return f.list, nil
}

// flows collects a list.
type flows struct {
	n    int64 // sums
	list []Flow
}

// each adds a control message of every sum, once one of the session.
func (f *flows) each(kind string, up bool, bytes int64) {
	f.list = append(f.list, Flow{Kind: kind, Up: up, Class: protocol.ClassControl, Count: f.n, Bytes: f.n * bytes})
}

func (f *flows) once(kind string, up bool, bytes int64) {
	f.list = append(f.list, Flow{Kind: kind, Up: up, Class: protocol.ClassControl, Count: 1, Bytes: bytes})
}

// repeated adds a control message that every sum may send again for another coin of its graph.
func (f *flows) repeated(kind string, up bool, bytes int64) {
	count := f.n * (1 + maxRepeats)
	f.list = append(f.list, Flow{Kind: kind, Up: up, Class: protocol.ClassControl, Count: count, Bytes: count * bytes})
}

// masked adds what masked sums send.
func (f *flows) masked(s Spec, size int64, n int) {
	k := s.mostNeighbours(n)
	newKeys := int64(n) * (2 + protocol.SessionKeySize) // of neighbours, each once
	f.list[len(f.list)-1].Bytes += newKeys              // in the begins of sums among few
	if n > s.Complete {
		f.repeated(KindCommit, true, int64(len(keys.Hash{})))
		f.repeated(KindPledged, false, size+int64(len(keys.Hash{})))
		f.repeated(KindReveal, true, nonceSize)
		f.each(KindNonces, false, int64(n)*nonceSize+2)
		f.list[len(f.list)-1].Bytes += newKeys
	}
	f.each(KindDeposit, true, int64(depositSize(k, k/2+1)))
	f.each(KindMembers, false, size)
	f.each(KindSurvivors, false, size)
	f.each(KindTags, true, int64(k)*tagSize)
	f.each(KindTagged, false, size+int64(k)*tagSize)
	f.each(KindShares, true, int64(k)*shamir.Size)
	f.list[len(f.list)-1].Class = protocol.ClassMasked
}

// mostNeighbours returns how many neighbours a client has at most in a sum among up to n: the fewer the
// candidates, the larger the part of them that may be corrupt, and the more neighbours it takes.
func (s Spec) mostNeighbours(n int) int {
	most := 1
	for fewer := 2; fewer <= n; fewer++ {
		if c, err := s.pick(fewer); err == nil {
			most = max(most, c.Degree)
		}
	}
	return most
}

// encrypted adds what homomorphic sums send, with a new key for each sum at worst.
func (f *flows) encrypted(s Spec, size, ciphertexts int64) {
	h := int64(s.KeyHolders)
	f.each(KindHolders, false, size+2+h*(2+protocol.SessionKeySize))
	f.each(KindDeal, true, he.PolySize+signatureSize+h*sealedSize)
	f.each(KindDealt, false, h*(he.PolySize+signatureSize+sealedSize))
	f.each(KindConfirm, true, signatureSize)
	f.each(KindHEKey, false, size+8+he.PolySize+h*signatureSize)
	f.each(KindSurvivors, false, 2*size)
	f.each(KindOpened, false, 0)
	f.list = append(f.list,
		Flow{Kind: KindSwitch, Class: protocol.ClassHE, Count: f.n, Bytes: f.n * ciphertexts / 2},
		Flow{Kind: KindOpening, Up: true, Class: protocol.ClassHE, Count: f.n, Bytes: f.n * ciphertexts / 2})
}

// largest is the codec of a sum among as many clients as there are.
func (s Spec) largest(n int, v Vector) (encrypted, error) {
	scheme, err := he.NewScheme()
	if err != nil {
		return encrypted{}, err
	}
	packing, err := scheme.NewPacking(ringFor(v.Bits), n, min(n, s.KeyHolders))
	return encrypted{packing, v.Words}, err
}
