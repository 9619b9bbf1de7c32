package peer

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/fault"
)

// Kinds of message on a control stream. Numbers are never used again for another meaning; a
// receiver skips kinds it does not know, so that later versions may add some.
const (
	kindHello   = 1
	kindVerdict = 2
	kindPing    = 3
	kindPong    = 4
	kindCharter = 5
	kindLeft    = 6
	kindBye     = 7
	kindProgram = 8

	kindSeen        = 9
	kindWhereabouts = 10
)

// Limits of the control stream, in bytes.
const (
	maxControl = 4096 // a message
	maxReason  = 512  // a fault
	maxProgram = 64   // the version of a program
)

// writeControl writes one message: its length in 4 bytes, its kind, its body, in one write.
func writeControl(w io.Writer, kind uint8, body []byte) (n int, err error) {
	p := make(packer, 0, 5+len(body))
	p.u32(uint32(1 + len(body)))
	p.u8(kind)
	p.raw(body)
	return w.Write(p)
}

// readControl reads one message. An announced length outside 1..maxControl is an error before
// anything is allocated for it.
func readControl(r io.Reader) (kind uint8, body []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n < 1 || n > maxControl {
		return 0, nil, fmt.Errorf("announced a control message of %d bytes, the limit is %d", n, maxControl)
	}
	body = make([]byte, n-1)
	_, err = io.ReadFull(r, body)
	return head[4], body, err
}

// expectControl reads one message, which must be of that kind.
func expectControl(r io.Reader, want uint8) ([]byte, error) {
	kind, body, err := readControl(r)
	if err == nil && kind != want {
		err = fmt.Errorf("sent control message %d where %d was due", kind, want)
	}
	return body, err
}

// encodeBeat makes a heartbeat: how old the link is for its sender, which the pong repeats.
func encodeBeat(clock uint64) []byte {
	var p packer
	p.u64(clock)
	return p
}

func decodeBeat(body []byte) (clock uint64, err error) {
	u := unpacker{rest: body}
	clock = u.u64()
	return clock, u.end()
}

// encodePong answers a heartbeat: what it said, and the time of day here, as in the hello.
func encodePong(beat, clock uint64) []byte {
	var p packer
	p.u64(beat)
	p.u64(clock)
	return p
}

func decodePong(body []byte) (beat, clock uint64, err error) {
	u := unpacker{rest: body}
	beat, clock = u.u64(), u.u64()
	return beat, clock, u.end()
}

// encodeBye carries why the sender ends the link.
func encodeBye(reason fault.Fault) []byte {
	var p packer
	p.text(string(reason.Encode()), maxReason)
	return p
}

func decodeBye(body []byte) (reason *fault.Fault, err error) {
	u := unpacker{rest: body}
	reason = fault.DecodeFault([]byte(u.text("reason", maxReason)))
	return reason, u.end()
}

// encodeProgram says which version of the program the sender runs.
func encodeProgram(version string) []byte {
	var p packer
	p.text(version, maxProgram)
	return p
}

func decodeProgram(body []byte) (version string, err error) {
	u := unpacker{rest: body}
	version = u.text("version of the program", maxProgram)
	return version, u.end()
}

// encodeSeen tells the peer at which address the sender sees it.
func encodeSeen(address string) []byte {
	var p packer
	p.text(address, maxAddress)
	return p
}

func decodeSeen(body []byte) (address string, err error) {
	u := unpacker{rest: body}
	address = u.text("address", maxAddress)
	return address, u.end()
}

// decodeLeft reads the id of the session that the sender has closed; it is encoded as its 32 bytes.
func decodeLeft(body []byte) (protocol.SessionID, error) {
	u := unpacker{rest: body}
	var id protocol.SessionID
	copy(id[:], u.take(len(id)))
	return id, u.end()
}

// stance is the charter that a side stands under.
type stance struct {
	name    string // of the charter
	version uint32
	digest  keys.Hash
}

// stanceOf returns the stance of the charter in force.
func stanceOf(c *keys.SignedCharter) stance {
	return stance{name: c.Name, version: uint32(c.Version), digest: c.Digest()}
}

// String names the charter as people know it, and the digest's start for when two differ.
func (s stance) String() string {
	return fmt.Sprintf("charter %q version %d (%s)", s.name, s.version, s.digest.Short())
}

// encode tells the other side that this charter has come into force here.
func (s stance) encode() []byte {
	var p packer
	s.pack(&p)
	return p
}

func (s stance) pack(p *packer) {
	p.raw(s.digest[:])
	p.u32(s.version)
	p.text(s.name, maxName)
}

func (u *unpacker) stance() (s stance) {
	copy(s.digest[:], u.take(len(s.digest)))
	s.version = u.u32()
	s.name = u.text("charter's name", maxName)
	return s
}

func decodeCharter(body []byte) (stance, error) {
	u := unpacker{rest: body}
	s := u.stance()
	return s, u.end()
}

// WireVersion is the version of everything that this package sends. A change that an older
// node would misread takes the next number, and the two then refuse each other by name.
const WireVersion = 3

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
	roleWorker  role = 2
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
	charter   stance   // zero for an invitee and a worker
	name      string   // the sender's own name, for display
	addresses []string // where the sender listens, as multiaddrs without its identity
}

// newInstance draws what tells a node that was started again from the one before.
func newInstance() uint64 {
	var instance [8]byte
	rand.Read(instance[:])
	return binary.BigEndian.Uint64(instance[:])
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
	if u.err != nil || h.version != WireVersion {
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
	// Values without a meaning are refused, so that each hello has one encoding.
	if h.role > roleWorker {
		return hello{}, fmt.Errorf("the hello names the unknown role %d", h.role)
	}
	if flags&^flagDHT != 0 {
		return hello{}, errors.New("the hello sets unknown flags")
	}
	return h, nil
}

// level is what a link may be used for. From levelJoin on each allows what those before it do.
type level uint8

const (
	levelNone    level = iota
	levelWorker        // worker streams, which no other level allows, and nothing else
	levelJoin          // calls whose method starts with "join/"
	levelCharter       // calls whose method starts with "charter/": the versions differ
	levelFull          // everything
)

// Verdict codes as sent. Numbers are never used again for another meaning.
const (
	verdictAccepted  = 0
	verdictRefused   = 1 // for a reason that people must settle
	verdictDuplicate = 2 // the two are connected already: nothing is wrong
)

// verdict is a side's answer to the other's hello.
type verdict struct {
	code   uint8
	level  level        // when accepted; not sent, each side computes it from the two hellos
	reason string       // when refused: one sentence for this side
	told   *fault.Fault // when refused: what the other side is told of it
}

func (v verdict) encode() []byte {
	var p packer
	p.u8(v.code)
	told := v.told
	if told == nil {
		told = &fault.Fault{Code: fault.CodeTwice} // the verdict's code says it all
	}
	p.text(string(told.Encode()), maxReason)
	return p
}

func decodeVerdict(body []byte) (v verdict, err error) {
	u := unpacker{rest: body}
	v.code = u.u8()
	v.told = fault.DecodeFault([]byte(u.text("reason", maxReason)))
	if err := u.end(); err != nil {
		return verdict{}, err
	}
	if v.code > verdictDuplicate {
		return verdict{}, fmt.Errorf("the verdict has the unknown code %d", v.code)
	}
	return v, nil
}

// refused is a verdict with what the other side is told, and a sentence for this one.
func refused(told fault.Fault, format string, args ...any) verdict {
	return verdict{code: verdictRefused, told: &told, reason: fmt.Sprintf(format, args...)}
}
