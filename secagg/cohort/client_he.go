package cohort

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/he"
)

// clientKeys are a client's keys of homomorphic sums.
type clientKeys struct {
	scheme *he.Scheme
	plan   *keyPlan
	public *he.PublicKey // nil before the key has come
	holder *he.Holder    // nil for a client that holds no share
	held   *keyPlan      // of the holder's key
	named  uint64        // the latest sum for whose key this client was to deal
}

// prepare handles what a server sends before it begins a homomorphic sum: KindHolders or KindHEKey.
func (c *Client) prepare(ctx context.Context, m protocol.Message) error {
	if m.Kind == KindHolders && m.Operation <= c.keys.named {
		return c.links.Deviation(m, "holders are named for sum %d after sum %d: this client deals once for each",
			m.Operation, c.keys.named)
	}
	if m.Operation <= c.last {
		return c.links.Deviation(m, "it is of sum %d after sum %d: each has one turn", m.Operation, c.last)
	}
	if err := c.needScheme(); err != nil {
		return err
	}
	if m.Kind == KindHolders {
		return c.holdKey(ctx, m)
	}
	return c.acceptPublicKey(m)
}

// needScheme makes the encryption scheme, which takes its time, when it is first needed.
func (c *Client) needScheme() (err error) {
	if c.keys.scheme == nil {
		c.keys.scheme, err = he.NewScheme()
	}
	return err
}

// holdKey makes a new collective key with the other holders. The key before is forgotten.
func (c *Client) holdKey(ctx context.Context, m protocol.Message) error {
	// Who the holders are: their set, and the session keys that this one lacks.
	size := setSize(c.links.Parties())
	if len(m.Payload) < size {
		return c.links.Deviation(m, "it has %d bytes and ends early", len(m.Payload))
	}
	holders, err := parseSet(m.Payload[:size], c.links.Parties())
	if err != nil {
		return c.links.Deviation(m, "%v", err)
	}
	n := holders.count()
	if !holders.has(c.links.Self()) || holders.has(c.spec.Server) || n < 2 || n > c.spec.KeyHolders {
		return c.links.Deviation(m, "it names %d holders of the key, want 2 to %d, this client among them and the server not",
			n, c.spec.KeyHolders)
	}
	list, err := parseKeys(m.Payload[size:], c.links.Parties())
	if err != nil {
		return c.links.Deviation(m, "%v", err)
	}
	for _, k := range list {
		if err := c.learn(m, k); err != nil {
			return err
		}
	}
	for _, i := range holders.members() {
		if i != c.links.Self() && c.links.Pair(i) == nil {
			return c.links.Deviation(m, "the session key of %s is missing", c.links.Name(i))
		}
	}
	p := newKeyPlan(c.links, c.spec, m.Operation, holders)

	// This holder's part, and the others'.
	c.keys.named = m.Operation // what is dealt is encrypted under a key of this number, once
	self := slices.Index(p.holders, c.links.Self())
	holder, err := c.keys.scheme.NewHolder(self, len(p.holders), p.needed)
	if err != nil {
		return err
	}
	deal, err := c.deal(p, holder)
	if err != nil {
		return err
	}
	if err := c.sendLong(ctx, p.operation, KindDeal, deal); err != nil {
		return err
	}
	awaited := len(p.holders)*(he.PolySize+signatureSize) + p.deals()*encryptedDealSize
	dealt, last, err := c.receiveLong(ctx, p.operation, KindDealt, awaited)
	if errors.Is(err, ErrLeftOut) { // another holder was lost: the server starts over
		return nil
	}
	if err != nil {
		return err
	}
	key, err := c.acceptDealt(last, p, holder, dealt)
	if err != nil {
		return err
	}
	c.keys.holder, c.keys.held = holder, p
	return c.sendLong(ctx, p.operation, KindConfirm, c.links.Sign(domainKey, p.keyDigest(c.links, key)))
}

// deal makes this holder's message: its signed share of the public key, and its deals, ascending.
func (c *Client) deal(p *keyPlan, holder *he.Holder) ([]byte, error) {
	share, err := holder.PublicShare(p.seed)
	if err != nil {
		return nil, err
	}
	out := append(share, c.links.Sign(domainShare, p.shareDigest(c.links, c.links.Self(), share))...)
	if p.deals() == 0 {
		return out, nil
	}
	for j, to := range p.holders {
		if to == c.links.Self() {
			continue
		}
		secret, err := holder.Deal(j)
		if err != nil {
			return nil, err
		}
		aead, err := p.dealCipher(c.links, c.links.Self(), to)
		if err != nil {
			return nil, err
		}
		out = aead.Seal(out, make([]byte, aead.NonceSize()), secret, nil)
	}
	return out, nil
}

// acceptDealt takes what the others dealt, and returns the public key: the sum of shares that their
// holders have signed, this one's among them.
func (c *Client) acceptDealt(m protocol.Message, p *keyPlan, holder *he.Holder, dealt []byte) ([]byte, error) {
	key := make([]byte, he.PolySize)
	for _, i := range p.holders {
		share, signature := dealt[:he.PolySize], dealt[he.PolySize:he.PolySize+signatureSize]
		dealt = dealt[he.PolySize+signatureSize:]
		d := p.shareDigest(c.links, i, share)
		if !c.links.Party(i).ID.Verify(domainShare, d[:], signature) {
			return nil, c.links.Deviation(m,
				"%s has not signed the share of the public key that came as its own", c.links.Name(i))
		}
		if err := he.AddRLWE(key, share); err != nil {
			return nil, c.links.Deviation(m, "%s: %v", c.links.Name(i), err)
		}
	}
	for j, from := range p.holders {
		if from == c.links.Self() || p.deals() == 0 {
			continue
		}
		aead, err := p.dealCipher(c.links, from, c.links.Self())
		if err != nil {
			return nil, err
		}
		secret, err := aead.Open(nil, make([]byte, aead.NonceSize()), dealt[:encryptedDealSize], nil)
		if err == nil {
			err = holder.Accept(j, secret)
		}
		if err != nil {
			return nil, c.links.Deviation(m, "what %s dealt is refused: %v", c.links.Name(from), err)
		}
		dealt = dealt[encryptedDealSize:]
	}
	return key, nil
}

// acceptPublicKey takes the public key, which all its holders have signed.
func (c *Client) acceptPublicKey(m protocol.Message) error {
	size := setSize(c.links.Parties())
	if len(m.Payload) < size {
		return c.links.Deviation(m, "it has %d bytes and ends early", len(m.Payload))
	}
	holders, err := parseSet(m.Payload[:size], c.links.Parties())
	if err != nil {
		return c.links.Deviation(m, "%v", err)
	}
	n, rest := holders.count(), m.Payload[size:]
	if n < 2 || n > c.spec.KeyHolders || holders.has(c.spec.Server) || len(rest) != 8+he.PolySize+n*signatureSize {
		return c.links.Deviation(m, "a public key of %d holders in %d bytes, want 2 to %d holders without the server",
			n, len(m.Payload), c.spec.KeyHolders)
	}
	p := newKeyPlan(c.links, c.spec, binary.BigEndian.Uint64(rest), holders)
	rest = rest[8:]
	key, signatures := rest[:he.PolySize], rest[he.PolySize:]
	d := p.keyDigest(c.links, key)
	for j, i := range p.holders {
		if !c.links.Party(i).ID.Verify(domainKey, d[:], signatures[signatureSize*j:signatureSize*(j+1)]) {
			return c.links.Deviation(m, "%s has not signed the public key", c.links.Name(i))
		}
	}
	if c.keys.public, err = c.keys.scheme.NewPublicKey(p.seed, key); err != nil {
		return c.links.Deviation(m, "%v", err)
	}
	c.keys.plan = p
	return nil
}

// untilOpened takes part in a sum until the server says that it is open. When a holder of the key is
// lost before it has decrypted, the server repeats the sum under a new key, for another share of the
// same ciphertext must not be made.
func (c *Client) untilOpened(ctx context.Context, s *clientSum, words []uint64) error {
	for {
		err := s.sumEncrypted(ctx, words)
		if err == nil {
			_, err = s.receive(ctx, KindOpened)
		}
		if !errors.Is(err, ErrLeftOut) {
			return err
		}
		if s, err = c.enter(ctx, s.vector, s.operation); err != nil {
			return err
		}
	}
}

// sumEncrypted is a client's part in a homomorphic sum.
func (s *clientSum) sumEncrypted(ctx context.Context, words []uint64) error {
	if s.keys.public == nil {
		return fmt.Errorf("sum %d (%s): the server has sent no public key", s.operation, s.vector.Kind)
	}
	codec, err := encryptedBy(s.keys.scheme, s.keys.plan, s.vector, s.candidates.count())
	if err != nil {
		return err
	}
	s.members, s.codec = s.candidates, codec
	lifted, err := lift(words, s.vector.Bits)
	if err != nil {
		return err
	}
	vector, err := s.keys.public.Encrypt(codec.packing, lifted)
	if err != nil {
		return err
	}
	if err := s.upload(ctx, vector); err != nil {
		return err
	}
	m, err := s.receive(ctx, KindSurvivors)
	if err != nil {
		return err
	}
	size := setSize(s.links.Parties())
	if len(m.Payload) != 2*size {
		return s.links.Deviation(m, "it has %d bytes, want %d", len(m.Payload), 2*size)
	}
	if s.survivors, err = s.setIn(m, m.Payload[:size], s.members, "survivors"); err != nil {
		return err
	}
	chosen, err := parseSet(m.Payload[size:], s.links.Parties())
	if err != nil || !chosen.has(s.links.Self()) {
		return err
	}

	// The server has chosen this holder: it sends its share of the total's decryption.
	if s.keys.holder == nil || s.keys.held.operation != s.keys.plan.operation {
		return s.links.Deviation(m, "it asks for a decryption, and this client holds no share of the key")
	}
	p := s.keys.plan
	var active []int // the chosen ones' places among the holders
	for j, i := range p.holders {
		if chosen.has(i) {
			active = append(active, j)
		}
	}
	if len(active) != chosen.count() || len(active) != p.needed {
		return s.links.Deviation(m, "%d holders of the key are asked to decrypt, want %d", len(active), p.needed)
	}
	if p.deals() == 0 { // all decrypt
		active = nil
	}
	c1, last, err := s.receiveLong(ctx, s.operation, KindSwitch, codec.size()/2)
	if err != nil {
		return err
	}
	share, err := s.keys.holder.Share(s.operation, codec.packing, c1, active)
	if err != nil {
		return s.links.Deviation(last, "%v", err)
	}
	return SendLong(ctx, s.links, s.spec.Server, s.message(KindOpening, contract.ClassHE, share))
}
