package keys

import (
	"errors"
	"fmt"
)

// Member is an organisation in a charter. A Card says the same of itself.
type Member struct {
	Name      string   // see CheckName
	ID        ID       // its public key
	Addresses []string // where it can be dialled, at most MaxAddresses; none when it only dials out; see CheckAddress
	Relay     bool     // it relays for members that cannot reach each other, within Charter.Relay
}

// memberText is a member, or a card, as it stands in a file.
//
// Evolution: a key is never renamed and never changes its meaning. A reader refuses keys it does
// not know. A new key's absence must say what texts said before it, as that of relay does; else it needs a new format
// name in the text that holds the member.
type memberText struct {
	Name      string   `toml:"name"`
	ID        string   `toml:"id"`
	Addresses []string `toml:"addresses"`
	Relay     bool     `toml:"relay"`
}

// parse reads the id; check must follow.
func (t memberText) parse() (Member, error) {
	if t.ID == "" {
		return Member{}, errors.New("the id is missing")
	}
	id, err := ParseID(t.ID)
	if err != nil {
		return Member{}, err
	}
	return Member{Name: t.Name, ID: id, Addresses: copied(t.Addresses), Relay: t.Relay}, nil
}

// copied shares no memory with list; an empty list is nil, so that equal members are deeply equal.
func copied(list []string) []string { return append([]string(nil), list...) }

// check holds a member against every rule that concerns it alone.
func (m Member) check() error {
	if err := CheckName(m.Name); err != nil {
		return err
	}
	if err := checkID(m.ID); err != nil {
		return fmt.Errorf("%s: %w", m.Name, err)
	}
	if err := checkAddresses(m.Addresses); err != nil {
		return fmt.Errorf("%s: %w", m.Name, err)
	}
	if m.Relay && len(m.Addresses) == 0 {
		return fmt.Errorf("%s: it relays and has no address: a relay is a member that others can dial", m.Name)
	}
	return nil
}

// checkID refuses ids that identify nobody.
func checkID(id ID) error {
	if id.IsZero() {
		return errors.New("the id is missing")
	}
	if id.weak() {
		return fmt.Errorf("id %s is a weak key, which anybody can sign for", id)
	}
	return nil
}

// checkAddresses holds one member's list of addresses against its limits.
func checkAddresses(list []string) error {
	if len(list) > MaxAddresses {
		return fmt.Errorf("%d addresses, at most %d are allowed", len(list), MaxAddresses)
	}
	seen := make(map[string]bool, len(list))
	for _, a := range list {
		if err := CheckAddress(a); err != nil {
			return err
		}
		if seen[a] {
			return fmt.Errorf("address %q is given twice", a)
		}
		seen[a] = true
	}
	return nil
}

// write renders the member's keys and values.
func (m Member) write(p *page) {
	p.text("name", m.Name)
	p.text("id", m.ID.String())
	p.list("addresses", m.Addresses)
	if m.Relay {
		p.flag("relay")
	}
}
