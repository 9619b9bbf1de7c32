package cohort

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"slices"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// nonceSize is the length of what a candidate adds to a graph's coin, in bytes.
const nonceSize = 16

// commitmentOf is what a candidate says of its nonce before anybody shows one. It hides the nonce, which
// has 128 random bits, and binds its owner to it.
func commitmentOf(l *protocol.Links, operation uint64, owner int, nonce []byte) keys.Hash {
	return l.Digest("hanse cohort commitment v1", number(operation), number(uint64(owner)), nonce)
}

// pledgesOf is the digest of the commitments of candidates, ascending: whoever has it before it shows its
// nonce knows that the others' were chosen without it.
func pledgesOf(l *protocol.Links, operation uint64, candidates set, commitments [][]byte) keys.Hash {
	return l.Digest("hanse cohort pledges v1", append([][]byte{number(operation), candidates}, commitments...)...)
}

// coinOf is the coin of a sum's graph: of all candidates' nonces, ascending and of nonceSize bytes each.
func coinOf(l *protocol.Links, operation uint64, candidates set, nonces []byte) keys.Hash {
	return l.Digest("hanse cohort coin v1", number(operation), candidates, nonces)
}

// drawCoin is a client's part in the coin of a graph. It ends with the graph laid, or with ErrLeftOut when the
// server goes on without this client or begins anew.
func (s *clientSum) drawCoin(ctx context.Context) error {
	nonce := make([]byte, nonceSize)
	rand.Read(nonce)
	commitment := commitmentOf(s.links, s.operation, s.links.Self(), nonce)
	if err := s.sendControl(ctx, KindCommit, commitment[:]); err != nil {
		return err
	}
	m, err := s.receive(ctx, KindPledged)
	if err != nil {
		return err
	}
	size := setSize(s.links.Parties())
	if len(m.Payload) != size+len(keys.Hash{}) {
		return s.links.Deviation(m, "it has %d bytes, want %d", len(m.Payload), size+len(keys.Hash{}))
	}
	pledged, err := s.setIn(m, m.Payload[:size], s.candidates, "candidates")
	if err != nil {
		return err
	}
	pledges := keys.Hash(m.Payload[size:])
	if err := s.checkFall(m, pledged.count()); err != nil {
		return err
	}
	if err := s.spend(); err != nil {
		return err
	}
	if err := s.sendControl(ctx, KindReveal, nonce); err != nil {
		return err
	}
	if m, err = s.receive(ctx, KindNonces); err != nil {
		return err
	}

	// All candidates' nonces must be those of the commitments that the server had shown before this client
	// showed its own.
	all := pledged.members()
	if len(m.Payload) < nonceSize*len(all) {
		return s.links.Deviation(m, "it has %d bytes and ends early", len(m.Payload))
	}
	nonces := m.Payload[:nonceSize*len(all)]
	var commitments [][]byte
	for j, i := range all {
		shown := nonces[nonceSize*j : nonceSize*(j+1)]
		if i == s.links.Self() && !bytes.Equal(shown, nonce) {
			return s.links.Deviation(m, "this client's nonce is not the one it has sent")
		}
		c := commitmentOf(s.links, s.operation, i, shown)
		commitments = append(commitments, c[:])
	}
	if pledgesOf(s.links, s.operation, pledged, commitments) != pledges {
		return s.links.Deviation(m, "the nonces are not those that the server had committed itself to "+
			"before it knew this client's")
	}
	list, err := parseKeys(m.Payload[len(nonces):], s.links.Parties())
	if err != nil {
		return s.links.Deviation(m, "%v", err)
	}
	for _, k := range list {
		if err := s.learn(m, k); err != nil {
			return err
		}
	}
	return s.lay(s.spec, pledged, coinOf(s.links, s.operation, pledged, nonces))
}

// untilDrawn takes part in a masked sum. When a candidate is lost between its commitment and its nonce, the
// server repeats the sum among the others, under a new number and with a new coin: nobody has sent
// anything of its vector yet.
func (c *Client) untilDrawn(ctx context.Context, s *clientSum, words []uint64) error {
	for {
		if s.neighbours == nil {
			switch err := s.drawCoin(ctx); {
			case errors.Is(err, ErrLeftOut):
				if s, err = c.enter(ctx, s.vector, s.operation); err != nil {
					return err
				}
				continue
			case err != nil:
				return err
			}
		}
		err := s.sumMasked(ctx, words)
		if err == nil && s.coin != (keys.Hash{}) {
			c.past.Whole++
		}
		return err
	}
}

// drawCoin is the server's part in the coin of a graph: it passes commitments on before nonces. Every candidate
// that has committed itself must show its nonce, or the server, which sees the others' first, could choose
// among coins by leaving some out.
func (s *serverSum) drawCoin(ctx context.Context) error {
	commitments := make(map[int][]byte)
	err := s.gather(ctx, KindCommit, contract.ClassControl, s.candidates, func(m protocol.Message) (bool, error) {
		commitments[m.From] = bytes.Clone(m.Payload)
		return true, ofSize(m, len(keys.Hash{}))
	})
	if err != nil {
		return err
	}
	pledged := newSet(s.links.Parties())
	for i, c := range commitments {
		if len(c) == len(keys.Hash{}) {
			pledged.add(i)
		}
	}
	if err := s.enough(pledged, "their commitments", s.vector); err != nil {
		return err
	}
	var list [][]byte
	for _, i := range pledged.members() {
		list = append(list, commitments[i])
	}
	digest := pledgesOf(s.links, s.operation, pledged, list)
	if err := s.sendAll(ctx, KindPledged, pledged, slices.Concat(pledged, digest[:])); err != nil {
		return err
	}
	nonces := make(map[int][]byte)
	err = s.gather(ctx, KindReveal, contract.ClassControl, pledged, func(m protocol.Message) (bool, error) {
		if err := ofSize(m, nonceSize); err != nil {
			return false, err
		}
		if c := commitmentOf(s.links, s.operation, m.From, m.Payload); !bytes.Equal(c[:], commitments[m.From]) {
			return false, errors.New("it is not the nonce that it has committed itself to")
		}
		nonces[m.From] = bytes.Clone(m.Payload)
		return true, nil
	})
	if err != nil {
		return err
	}
	if len(nonces) < pledged.count() {
		s.spoiled = true
		return &TooFewError{
			Sum: s.sum, Kind: s.vector.Kind, Step: "their nonces", Stayed: len(nonces), Want: pledged.count(), Lost: s.losses,
		}
	}
	return s.sendNonces(ctx, pledged, nonces)
}

// sendNonces lays the graph and shows the candidates all nonces, with the keys of neighbours that they lack.
func (s *serverSum) sendNonces(ctx context.Context, pledged set, nonces map[int][]byte) error {
	var all []byte
	for _, i := range pledged.members() {
		all = append(all, nonces[i]...)
	}
	if err := s.lay(s.spec, pledged, coinOf(s.links, s.operation, pledged, all)); err != nil {
		return err
	}
	for _, i := range pledged.members() {
		payload := appendKeys(slices.Clone(all), s.lacking(i, s.near(i)))
		if err := s.send(ctx, i, s.message(KindNonces, contract.ClassControl, payload)); err != nil {
			return err
		}
	}
	return nil
}
