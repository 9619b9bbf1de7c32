package peer

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

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

// maxControl is the longest message on a control stream, its kind included, in bytes.
const maxControl = 4096

// writeControl writes one message: its length in 4 bytes, its kind, its body, in one write.
func writeControl(w io.Writer, kind uint8, body []byte) (n int, err error) {
	p := binary.BigEndian.AppendUint32(make([]byte, 0, 5+len(body)), uint32(1+len(body)))
	return w.Write(append(append(p, kind), body...))
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

// Limits of the texts in messages, in bytes, and of how many addresses a hello has.
const (
	maxName      = 64  // of a charter or a member; charters allow 32
	maxAddress   = 256 // of one address as text
	maxReason    = 512 // of a fault
	maxProgram   = 64  // of the version of a program
	maxAddresses = 8   // as many as a charter lists per member
)

// ping is a heartbeat.
type ping struct {
	Clock uint64 `cbor:"1,keyasint"` // how old the link is for the sender, in nanoseconds
}

// pong answers a heartbeat.
type pong struct {
	Ping  uint64 `cbor:"1,keyasint"` // the clock of the ping
	Clock uint64 `cbor:"2,keyasint"` // the sender's time of day, as in the hello
}

// left says that the sender has closed its end of a session.
type left struct {
	Session protocol.SessionID `cbor:"1,keyasint"`
}

// bye carries why the sender ends the link.
type bye struct {
	Fault string `cbor:"1,keyasint"` // encoded
}

// byeOf carries a fault.
func byeOf(told fault.Fault) bye { return bye{string(told.Encode())} }

// reason is the fault that a bye carries.
func (b bye) reason() *fault.Fault { return fault.DecodeFault([]byte(b.Fault)) }

// seen tells the peer at which address the sender sees it.
type seen struct {
	Address string `cbor:"1,keyasint"`
}

// encodeProgram says which version of the program the sender runs, behind its length in two bytes. Programs that speak
// different wires read this message of each other, so that no wire version changes it.
func encodeProgram(version string) []byte { return appendText(nil, clip(version, maxProgram)) }

func decodeProgram(body []byte) (version string, err error) {
	if len(body) < 2 || int(binary.BigEndian.Uint16(body)) != len(body)-2 {
		return "", errors.New("the version of the program has another length than announced")
	}
	version = string(body[2:])
	if err := checkText("version of the program", version, maxProgram); err != nil {
		return "", err
	}
	return version, nil
}

// stance is the charter that a side stands under. As a message it says that the charter has come into force there.
type stance struct {
	Digest  keys.Hash `cbor:"1,keyasint"`
	Version uint32    `cbor:"2,keyasint"`
	Name    string    `cbor:"3,keyasint"` // of the charter
}

// stanceOf returns the stance of the charter in force.
func stanceOf(c *keys.SignedCharter) stance {
	return stance{Name: c.Name, Version: uint32(c.Version), Digest: c.Digest()}
}

// String names the charter as people know it, and the digest's start for when two differ.
func (s stance) String() string {
	return fmt.Sprintf("charter %q version %d (%s)", s.Name, s.Version, s.Digest.Short())
}

// WireVersion is the version of everything that this package sends. A change that an older
// node would misread takes the next number, and the two then refuse each other by name.
const WireVersion = 4

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
// Evolution: the wire version stays the first two bytes, so that versions can refuse each other
// with a reason. Any other change raises it.
type hello struct {
	Version   uint16   `cbor:"-"` // before the CBOR
	Role      role     `cbor:"1,keyasint"`
	DHT       bool     `cbor:"2,keyasint"`           // serves the private DHT
	Instance  uint64   `cbor:"3,keyasint"`           // drawn at start: tells a restarted node from a second connection
	Clock     uint64   `cbor:"4,keyasint"`           // the sender's time of day in milliseconds since 1970; its own claim
	Charter   stance   `cbor:"5,keyasint"`           // zero for an invitee and a worker
	Name      string   `cbor:"6,keyasint"`           // the sender's own name, for display
	Addresses []string `cbor:"7,keyasint,omitempty"` // where the sender listens, as multiaddrs without its identity
}

// newInstance draws what tells a node that was started again from the one before.
func newInstance() uint64 {
	var instance [8]byte
	rand.Read(instance[:])
	return binary.BigEndian.Uint64(instance[:])
}

func (h hello) encode() []byte {
	h.Addresses = slices.Clone(h.Addresses[:min(len(h.Addresses), maxAddresses)])
	return append(binary.BigEndian.AppendUint16(nil, h.Version), encode(h)...)
}

// decodeHello reads a hello. Of one in another wire version only the version is read.
func decodeHello(body []byte) (hello, error) {
	if len(body) < 2 {
		return hello{}, errShort
	}
	version := binary.BigEndian.Uint16(body)
	if version != WireVersion {
		return hello{Version: version}, nil
	}
	h, err := decode[hello](body[2:])
	switch {
	case err != nil:
		return hello{}, err
	case len(h.Addresses) > maxAddresses:
		return hello{}, fmt.Errorf("the hello lists %d addresses, the limit is %d", len(h.Addresses), maxAddresses)
	case h.Role > roleWorker: // values without a meaning are refused
		return hello{}, fmt.Errorf("the hello names the unknown role %d", h.Role)
	}
	h.Version = version
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

// answer is a verdict as it is sent.
type answer struct {
	Code  uint8  `cbor:"1,keyasint"`
	Fault string `cbor:"2,keyasint"` // encoded
}

func (v verdict) encode() []byte {
	told := v.told
	if told == nil {
		told = &fault.Fault{Code: fault.CodeTwice} // the verdict's code says it all
	}
	return encode(answer{v.code, string(told.Encode())})
}

func decodeVerdict(body []byte) (verdict, error) {
	a, err := decode[answer](body)
	if err == nil && a.Code > verdictDuplicate {
		err = fmt.Errorf("the verdict has the unknown code %d", a.Code)
	}
	if err != nil {
		return verdict{}, err
	}
	return verdict{code: a.Code, told: fault.DecodeFault([]byte(a.Fault))}, nil
}

// refused is a verdict with what the other side is told, and a sentence for this one.
func refused(told fault.Fault, format string, args ...any) verdict {
	return verdict{code: verdictRefused, told: &told, reason: fmt.Sprintf(format, args...)}
}
