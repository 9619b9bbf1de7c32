package cohort

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/he"
)

// serverKeys are a server's part of the keys of homomorphic sums: nothing secret.
type serverKeys struct {
	scheme  *he.Scheme
	plan    *keyPlan // nil while there is no key
	message []byte   // the public key as clients get it
	sentTo  set      // who has it
}

// prepareKey makes sure that there is a collective key and that the candidates have it.
func (s *serverSum) prepareKey(ctx context.Context) error {
	k := &s.Server.keysHE
	if k.scheme == nil {
		var err error
		if k.scheme, err = he.NewScheme(); err != nil {
			return err
		}
	}
	if k.plan != nil && len(s.candidates.among(k.plan.holders)) < k.plan.needed {
		k.plan = nil // too many of its holders are away
	}
	if k.plan == nil {
		if err := s.makeKey(ctx); err != nil {
			return err
		}
	}
	m := s.message(KindHEKey, contract.ClassControl, k.message)
	for _, i := range s.candidates.without(k.sentTo).members() {
		if err := s.send(ctx, i, m); err != nil {
			return err
		}
		k.sentTo.add(i)
	}
	codec, err := encryptedBy(k.scheme, k.plan, s.vector, s.candidates.count())
	s.codec, s.total = codec, make([]byte, codec.size())
	return err
}

// makeKey has the first candidates make a collective key. Holders that are lost meanwhile make it
// fail, and the next sum starts over with others.
func (s *serverSum) makeKey(ctx context.Context) error {
	list := s.candidates.members()
	holders := newSet(s.links.Parties(), list[:min(len(list), s.spec.KeyHolders)]...)
	p := newKeyPlan(s.links, s.spec, s.sum, holders)
	if err := s.nameHolders(ctx, holders); err != nil {
		return err
	}
	deals, err := s.gatherLong(ctx, KindDeal, contract.ClassControl, holders, p.dealSize())
	if err != nil {
		return err
	}
	key := make([]byte, he.PolySize) // the sum of the holders' shares
	for _, i := range p.holders {
		if err := he.AddRLWE(key, deals[i][:he.PolySize]); err != nil {
			return err
		}
	}
	for j, i := range p.holders {
		if err := s.sendLong(ctx, i, s.message(KindDealt, contract.ClassControl, dealtTo(p, deals, j))); err != nil {
			return err
		}
	}
	signatures, err := s.gatherLong(ctx, KindConfirm, contract.ClassControl, holders, signatureSize)
	if err != nil {
		return err
	}
	message := slices.Concat([]byte(holders), number(s.sum), key)
	for _, i := range p.holders {
		message = append(message, signatures[i]...)
	}
	s.Server.keysHE.plan, s.Server.keysHE.message, s.Server.keysHE.sentTo = p, message, newSet(s.links.Parties())
	return nil
}

// nameHolders says to the holders who they are, with the session keys that they lack.
func (s *serverSum) nameHolders(ctx context.Context, holders set) error {
	for _, i := range holders.members() {
		payload := appendKeys(bytes.Clone(holders), s.lacking(i, holders.members()))
		if err := s.send(ctx, i, s.message(KindHolders, contract.ClassControl, payload)); err != nil {
			return err
		}
	}
	return nil
}

// dealtTo puts together what the j-th holder gets: everybody's share with its signature, and what
// was dealt to it.
func dealtTo(p *keyPlan, deals map[int][]byte, j int) []byte {
	const head = he.PolySize + signatureSize
	var out []byte
	for _, i := range p.holders {
		out = append(out, deals[i][:head]...)
	}
	if p.deals() == 0 {
		return out
	}
	for from, i := range p.holders {
		at := j
		switch {
		case from == j:
			continue
		case from < j:
			at-- // a holder deals nothing to itself
		}
		out = append(out, deals[i][head+at*encryptedDealSize:head+(at+1)*encryptedDealSize]...)
	}
	return out
}

// sumEncrypted is the server's part in a homomorphic sum.
func (s *serverSum) sumEncrypted(ctx context.Context) error {
	s.members = s.candidates
	if err := s.collect(ctx); err != nil {
		return err
	}
	p := s.Server.keysHE.plan
	there := s.present.among(s.survivors.among(p.holders))
	if len(there) < p.needed {
		s.Server.keysHE.plan = nil
		return &TooFewError{
			Sum: s.sum, Kind: s.vector.Kind, Step: "the key they hold a share of", Stayed: len(there),
			Want: p.needed, Lost: s.losses,
		}
	}
	active := newSet(s.links.Parties(), there[:p.needed]...)
	if err := s.sendAll(ctx, KindSurvivors, s.survivors, slices.Concat(s.survivors, active)); err != nil {
		return err
	}
	c0, c1, err := he.Split(s.total)
	if err != nil {
		return err
	}
	for _, i := range active.members() {
		if err := s.sendLong(ctx, i, s.message(KindSwitch, contract.ClassHE, c1)); err != nil {
			return err
		}
	}

	// The active holders' shares open the total. A share is made once: when one is missing the key is given up,
	// and so is the sum.
	shares, err := s.gatherLong(ctx, KindOpening, contract.ClassHE, active, len(c0))
	if err != nil {
		s.Server.keysHE.plan = nil
		return err
	}
	all := make([]byte, len(c0))
	for _, i := range active.members() {
		if err := he.AddRLWE(all, shares[i]); err != nil {
			return fmt.Errorf("sum %d (%s): share of %s: %w", s.sum, s.vector.Kind, s.links.Name(i), err)
		}
	}
	words := make([]uint64, s.vector.Words)
	if err := s.codec.(encrypted).packing.Open(words, c0, all); err != nil {
		return fmt.Errorf("sum %d (%s): %w", s.sum, s.vector.Kind, err)
	}
	s.total = toBytes(words)
	return s.sendAll(ctx, KindOpened, s.survivors, nil)
}

// gatherLong hears one message of size bytes from each of some clients, all of whom must answer.
func (s *serverSum) gatherLong(
	ctx context.Context, kind string, class contract.Class, from set, size int,
) (map[int][]byte, error) {
	parts, whole := make(map[int]*assembly), make(map[int][]byte)
	err := s.gather(ctx, kind, class, from, func(m protocol.Message) (bool, error) {
		if parts[m.From] == nil {
			parts[m.From] = &assembly{size: size}
		}
		done, err := parts[m.From].add(m, s.links.Chunk())
		if done && err == nil {
			answer := parts[m.From].bytes
			whole[m.From] = answer
			switch kind { // the polynomials that it consists of, or begins with
			case KindOpening:
				err = he.CheckPolys(kind, answer, len(answer)/he.PolySize)
			case KindDeal:
				err = he.CheckPolys(kind, answer[:he.PolySize], 1)
			}
		}
		return done, err
	})
	if err == nil && len(whole) < from.count() {
		err = &TooFewError{
			Sum: s.sum, Kind: s.vector.Kind, Step: kind, Stayed: len(whole), Want: from.count(), Lost: s.losses,
		}
	}
	return whole, err
}
