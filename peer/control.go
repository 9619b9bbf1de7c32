package peer

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
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
)

// Limits of the control stream, in bytes.
const (
	maxControl = 4096 // a message
	maxReason  = 512  // a fault
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
func encodeBye(reason protocol.Fault) []byte {
	var p packer
	p.text(string(reason.Encode()), maxReason)
	return p
}

func decodeBye(body []byte) (reason *protocol.Fault, err error) {
	u := unpacker{rest: body}
	reason = protocol.DecodeFault([]byte(u.text("reason", maxReason)))
	return reason, u.end()
}

// decodeLeft reads the room whose mesh the sender has closed; it is encoded as its 32 bytes.
func decodeLeft(body []byte) (protocol.Room, error) {
	u := unpacker{rest: body}
	var room protocol.Room
	copy(room[:], u.take(len(room)))
	return room, u.end()
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

// encodeCharter tells the other side that a new version has come into force here.
func encodeCharter(s stance) []byte {
	var p packer
	s.pack(&p)
	return p
}

func decodeCharter(body []byte) (stance, error) {
	u := unpacker{rest: body}
	s := u.stance()
	return s, u.end()
}
