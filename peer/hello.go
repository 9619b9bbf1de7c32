package peer

import (
	"errors"
	"fmt"
)

// wireVersion is the version of everything that this package sends. A change that an older
// node would misread takes the next number, and the two then refuse each other by name.
const wireVersion = 3

// Limits of a hello's fields.
const (
	maxName      = 64  // of a charter or a member, in bytes; charters allow 32
	maxAddresses = 8   // as many as a charter lists per member
	maxAddress   = 256 // bytes of one address as text
)

// role says what the sender of a hello wants to be.
type role uint8

const (
	roleMember  role = 0
	roleInvitee role = 1
)

// hello is the first message of each side. TLS has shown the sender's key before; the hello says
// what it stands for.
//
// Evolution: the wire version stays the first field, so that versions can refuse each other
// with a reason. Any other change raises it.
type hello struct {
	version   uint16
	role      role
	dht       bool     // serves the private DHT
	instance  uint64   // drawn at start: tells a restarted node from a second connection
	clock     uint64   // the sender's time of day in milliseconds since 1970; its own claim
	charter   stance   // zero for an invitee
	name      string   // the sender's own name, for display
	addresses []string // where the sender listens, as multiaddrs without its identity
}

const flagDHT = 1

func (h hello) encode() []byte {
	var p packer
	p.u16(h.version)
	p.u8(uint8(h.role))
	var flags uint8
	if h.dht {
		flags |= flagDHT
	}
	p.u8(flags)
	p.u64(h.instance)
	p.u64(h.clock)
	h.charter.pack(&p)
	p.text(h.name, maxName)
	addresses := h.addresses[:min(len(h.addresses), maxAddresses)]
	p.u8(uint8(len(addresses)))
	for _, a := range addresses {
		p.text(a, maxAddress)
	}
	return p
}

// decodeHello reads a hello. Of one in another wire version only the version is read.
func decodeHello(body []byte) (h hello, err error) {
	u := unpacker{rest: body}
	h.version = u.u16()
	if u.err != nil || h.version != wireVersion {
		return h, u.err
	}
	h.role = role(u.u8())
	flags := u.u8()
	h.dht = flags&flagDHT != 0
	h.instance = u.u64()
	h.clock = u.u64()
	h.charter = u.stance()
	h.name = u.text("name", maxName)
	n := int(u.u8())
	if n > maxAddresses {
		return hello{}, fmt.Errorf("the hello lists %d addresses, the limit is %d", n, maxAddresses)
	}
	for range n {
		h.addresses = append(h.addresses, u.text("address", maxAddress))
	}
	if err := u.end(); err != nil {
		return hello{}, err
	}
	return h, h.check(flags)
}

// check refuses values without a meaning, so that each hello has one encoding.
func (h hello) check(flags uint8) error {
	if h.role > roleInvitee {
		return fmt.Errorf("the hello names the unknown role %d", h.role)
	}
	if flags&^flagDHT != 0 {
		return errors.New("the hello sets unknown flags")
	}
	return nil
}
