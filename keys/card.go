package keys

import "fmt"

const (
	cardDomain = "hanse card v1"
	cardFormat = "hanse-card-v1"
)

// Card is what a member says of itself: it is sent to whoever writes the charter.
type Card struct {
	Name      string   // see CheckName
	ID        ID       // its public key
	Addresses []string // where it can be dialled; see CheckAddress
	Relay     bool     // it relays for members that cannot reach each other
}

// cardText is the body of a card.
//
// Evolution: a key is never renamed and never changes its meaning. A key may be added when its absence says what cards
// said before it, as that of relay does. Readers refuse keys they do not know; anything else needs the format
// "hanse-card-v2" and a domain of its own.
type cardText struct {
	Format string `toml:"format"`
	memberText
}

// Sign returns the card as a text signed by k, which must be the key of the card's ID.
func (c Card) Sign(k *PrivateKey) (*Document, error) {
	if err := Member(c).check(); err != nil {
		return nil, fmt.Errorf("card: %w", err)
	}
	if k.ID() != c.ID {
		return nil, fmt.Errorf("card: %s: the id %s is not that of the key, %s", c.Name, c.ID.Short(), k.ID().Short())
	}
	d := NewDocument(cardDomain, c.body())
	d.Sign(k)
	return d, nil
}

// ParseCard reads a card. It must be signed by its own ID and by nobody else.
func ParseCard(text []byte) (Card, error) {
	d, err := splitDocument(cardDomain, text)
	if err != nil {
		return Card{}, err
	}
	var t cardText
	if err := decodeBody("card", cardFormat, d.Body, &t, &t.Format); err != nil {
		return Card{}, err
	}
	m, err := t.parse()
	if err == nil {
		err = m.check()
	}
	if err != nil {
		return Card{}, fmt.Errorf("card: %w", err)
	}
	if err := d.verifyOnly(m.ID, m.Name); err != nil {
		return Card{}, err
	}
	return Card(m), nil
}

// body renders the card.
func (c Card) body() []byte {
	var p page
	p.comment("The public card of "+c.Name+": who it is and where its node can be reached.", "",
		"Nothing in it is secret. Whoever receives it should compare the id with its owner over",
		"another channel, a telephone for example, before putting it into a charter.")
	p.gap()
	p.text("format", cardFormat)
	Member(c).write(&p)
	p.gap()
	return p.bytes()
}

// verifyOnly accepts exactly one signature: that of id.
func (d *Document) verifyOnly(id ID, name string) error {
	if !d.SignedBy(id) {
		return fmt.Errorf("%s: %s has not signed it", kindOf(d.Domain), name)
	}
	if n := len(d.Signatures); n != 1 {
		return fmt.Errorf("%s: %d signatures, want that of %s only", kindOf(d.Domain), n, name)
	}
	return d.verify(func(ID) string { return name })
}
