package cohort

import (
	"slices"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/he"
	"github.com/hanse-project/hanse/secagg/shamir"
)

// KindVector stands for the vectors' own kind in Messages.
const KindVector = "vector"

// Message is one kind of message between the server and one client in a sum.
type Message struct {
	Kind  string
	Up    bool   // from the client
	After string // the kind of what must have passed before
}

// Messages lists what a sum sends, in its order in each direction: with masks those of a graph's coin, which sums
// among few leave out, and under encryption the making of a key before it.
func (b Backend) Messages() []Message {
	switch b {
	case Masked:
		return []Message{
			{KindBegin, false, KindKey},
			{KindCommit, true, KindBegin},
			{KindPledged, false, KindCommit},
			{KindReveal, true, KindPledged},
			{KindNonces, false, KindReveal},
			{KindDeposit, true, KindBegin}, // KindNonces where the graph has a coin
			{KindMembers, false, KindDeposit},
			{KindVector, true, KindMembers},
			{KindResend, false, KindMembers},
			{KindSurvivors, false, KindVector},
			{KindTags, true, KindSurvivors},
			{KindTagged, false, KindTags},
			{KindShares, true, KindTagged},
		}
	case HE:
		return []Message{
			{KindHolders, false, KindKey},
			{KindDeal, true, KindHolders},
			{KindDealt, false, KindDeal},
			{KindConfirm, true, KindDealt},
			{KindHEKey, false, KindKey},
			{KindBegin, false, KindHEKey},
			{KindVector, true, KindBegin},
			{KindResend, false, KindBegin},
			{KindSurvivors, false, KindVector},
			{KindSwitch, false, KindSurvivors},
			{KindOpening, true, KindSwitch},
		}
	}
	return []Message{
		{KindBegin, false, KindKey},
		{KindVector, true, KindBegin},
		{KindResend, false, KindBegin},
		{KindSurvivors, false, KindVector},
	}
}

// IsKind reports whether messages of a kind belong to sums, whatever protects these, beside their vectors.
func IsKind(kind string) bool {
	is := func(m Message) bool { return m.Kind == kind && kind != KindVector }
	return kind == KindKey || slices.ContainsFunc(Masked.Messages(), is) || slices.ContainsFunc(HE.Messages(), is)
}

// Flow is one kind of message of a cohort's sums, for a contract: how many there are between the
// server and one client, and their bytes in all, at most.
type Flow struct {
	Kind  string
	Up    bool // from clients to the server
	Class contract.Class
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
	if s.Backend == HE { // at worst each is repeated as often as it may be, with a new key each time
		sums *= 1 + maxRepeats
	}
	size := int64(setSize(parties))
	vector := int64(packed{v}.size())
	var list []Flow
	add := func(kind string, up bool, count, bytes int64) {
		list = append(list, Flow{Kind: kind, Up: up, Class: contract.ClassControl, Count: count, Bytes: count * bytes})
	}

	add(KindKey, true, 1, contract.SessionKeySize)
	begun := sums
	begin := beginHead + int64(len(v.Kind)) + size + 2
	if s.Backend == Masked && n > s.Complete { // a sum is begun again when its coin has failed
		begun *= 1 + maxRepeats
	}
	add(KindBegin, false, begun, begin)
	switch s.Backend {
	case Masked:
		// The fewer the candidates, the larger the part of them that may be corrupt, and the more neighbours it takes.
		k := 1
		for fewer := 2; fewer <= n; fewer++ {
			if c, err := s.pick(fewer); err == nil {
				k = max(k, c.Degree)
			}
		}
		newKeys := int64(n) * (2 + contract.SessionKeySize) // each comes once in the session, but nobody knows when
		list[len(list)-1].Bytes += newKeys
		if n > s.Complete {
			add(KindCommit, true, begun, int64(len(keys.Hash{})))
			add(KindPledged, false, begun, size+int64(len(keys.Hash{})))
			add(KindReveal, true, begun, nonceSize)
			add(KindNonces, false, sums, int64(n)*nonceSize+2)
			list[len(list)-1].Bytes += newKeys
		}
		add(KindDeposit, true, sums, int64(depositSize(k, k/2+1)))
		add(KindMembers, false, sums, size)
		add(KindSurvivors, false, sums, size)
		add(KindTags, true, sums, int64(k)*tagSize)
		add(KindTagged, false, sums, size+int64(k)*tagSize)
		add(KindShares, true, sums, int64(k)*shamir.Size)
		list[len(list)-1].Class = contract.ClassMasked
	case HE:
		scheme, err := he.NewScheme()
		if err != nil {
			return nil, err
		}
		packing, err := scheme.NewPacking(ringFor(v.Bits), n, min(n, s.KeyHolders))
		if err != nil {
			return nil, err
		}
		vector = int64(encrypted{packing, v.Words}.size())
		h := int64(s.KeyHolders)
		add(KindHolders, false, sums, size+2+h*(2+contract.SessionKeySize))
		add(KindDeal, true, sums, he.PolySize+signatureSize+h*encryptedDealSize)
		add(KindDealt, false, sums, h*(he.PolySize+signatureSize+encryptedDealSize))
		add(KindConfirm, true, sums, signatureSize)
		add(KindHEKey, false, sums, size+8+he.PolySize+h*signatureSize)
		add(KindSurvivors, false, sums, 2*size)
		add(KindOpened, false, sums, 0)
		add(KindSwitch, false, sums, vector/2)
		list[len(list)-1].Class = contract.ClassHE
		add(KindOpening, true, sums, vector/2)
		list[len(list)-1].Class = contract.ClassHE
	default:
		add(KindSurvivors, false, sums, size)
	}
	add(KindResend, false, sums, size)
	add(v.Kind, true, sums, size+vector)
	list[len(list)-1].Class = s.Backend.class()
	return list, nil
}
