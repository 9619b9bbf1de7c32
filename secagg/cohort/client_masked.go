package cohort

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg"
)

// sumMasked is a client's part in a masked sum, in the four rounds of the package's comment.
func (s *clientSum) sumMasked(ctx context.Context, words []uint64) error {
	neighbours := s.neighbours.Neighbours(s.links.Self())
	// Round 1: what the neighbours need to undo this client's masks goes to the server.
	for _, v := range neighbours {
		if s.links.Pair(v) == nil {
			return fmt.Errorf("sum %d (%s): the server has not sent the key of %s", s.operation, s.vector.Kind, s.links.Name(v))
		}
	}
	scheme, err := s.scheme(len(neighbours), s.schemes)
	if err != nil {
		return err
	}
	own, d, err := newDeposit(s.links, s.operation, scheme, neighbours)
	if err != nil {
		return err
	}
	if err := s.sendControl(ctx, KindDeposit, d.encode()); err != nil {
		return err
	}

	// Round 2: the vector under this client's own mask and those that it shares with its partners.
	if s.members, err = s.receiveSet(ctx, KindMembers, s.candidates, "members"); err != nil {
		return err
	}
	partners := s.members.among(neighbours)
	if len(partners) < s.threshold {
		return fmt.Errorf("sum %d (%s): %d of this client's %d neighbours are left, want at least %d: "+
			"its vector would not be hidden, or not recovered", s.operation, s.vector.Kind, len(partners),
			len(neighbours), s.threshold)
	}
	y := toBytes(words)
	masks := secagg.NewMasks(secagg.Fixed64)
	if err := masks.Include(keyFrom(string(selfMask), own), false); err != nil {
		return err
	}
	for _, v := range partners {
		key, err := pairMaskKey(s.links, s.operation, v)
		if err == nil {
			err = masks.Include(key, subtracts(s.links, s.links.Self(), v))
		}
		if err != nil {
			return fmt.Errorf("mask of sum %d: %w", s.operation, err)
		}
	}
	masks.Apply(y)
	if err := s.upload(ctx, y); err != nil {
		return err
	}

	// Round 3: this client says to its neighbours, through the server, which survivors it was shown, and checks what
	// they say. A server that has shown another list to one of them cannot make its tag.
	if s.survivors, err = s.receiveSet(ctx, KindSurvivors, s.members, "survivors"); err != nil {
		return err
	}
	stayed := s.survivors.among(partners)
	var tags []byte
	for _, v := range stayed {
		tag, err := survivorTag(s.links, s.round, s.links.Self(), v)
		if err != nil {
			return err
		}
		tags = append(tags, tag...)
	}
	if err := s.sendControl(ctx, KindTags, tags); err != nil {
		return err
	}
	m, err := s.receive(ctx, KindTagged)
	if err != nil {
		return err
	}
	if err := s.checkTags(m, stayed); err != nil {
		return err
	}

	// Round 4: one share of each partner: of its own mask's secret if its vector is in the total, of its recovery
	// secret if not. A sum comes here once, so that nobody gets both.
	var out []byte
	for _, v := range partners {
		kind := recovery
		if s.survivors.has(v) {
			kind = selfMask
		}
		share, err := shareOf(s.links, s.operation, kind, v, s.links.Self())
		if err != nil {
			return err
		}
		out = share.Append(out)
	}
	return s.links.Send(ctx, s.spec.Server, s.message(KindShares, contract.ClassMasked, out))
}

// checkTags checks the neighbours' tags: a set of those whose tags follow, ascending.
func (s *clientSum) checkTags(m protocol.Message, stayed []int) error {
	size := setSize(s.links.Parties())
	if len(m.Payload) < size {
		return s.links.Deviation(m, "it has %d bytes and ends early", len(m.Payload))
	}
	from, err := parseSet(m.Payload[:size], s.links.Parties())
	if err != nil {
		return s.links.Deviation(m, "%v", err)
	}
	tagged, tags := from.among(stayed), m.Payload[size:]
	switch {
	case len(tagged) != from.count():
		return s.links.Deviation(m, "it has tags of clients who are no neighbours that stayed")
	case len(tags) != tagSize*len(tagged):
		return s.links.Deviation(m, "%d bytes of tags, want %d", len(tags), tagSize*len(tagged))
	case len(tagged) < s.threshold:
		return s.links.Deviation(m, "%d neighbours have confirmed the survivors, want at least %d: no share is handed out",
			len(tagged), s.threshold)
	}
	for i, v := range tagged {
		want, err := survivorTag(s.links, s.round, v, s.links.Self())
		if err != nil {
			return err
		}
		if !hmac.Equal(tags[tagSize*i:tagSize*(i+1)], want) {
			return &EquivocationError{Sum: s.operation, Neighbour: s.links.Name(v)}
		}
	}
	return nil
}

// survivorTag is the MAC with which one client tells another which candidates, members and
// survivors the server has shown it: HMAC-SHA256 under their pair's key for the sum, cut to
// 128 bits. This party is one of them.
func survivorTag(l *protocol.Links, r *round, from, to int) ([]byte, error) {
	other := from
	if from == l.Self() {
		other = to
	}
	key, err := l.Pair(other).Derive(fmt.Sprintf("cohort survivors|%d", r.operation), 32)
	if err != nil {
		return nil, fmt.Errorf("tag of sum %d: %w", r.operation, err)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write(binary.BigEndian.AppendUint16(nil, uint16(from))) // or the server could send a tag back to its sender
	sets := l.Digest("hanse cohort survivors v2", number(r.operation), r.coin[:], r.candidates, r.members, r.survivors)
	mac.Write(sets[:])
	return mac.Sum(nil)[:tagSize], nil
}
