package protocol

import (
	"encoding/binary"
	"fmt"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// FrameVersion is the first byte of every session frame.
const FrameVersion = 1

// headerSize is the length of a frame's fixed part; the kind follows it, then the payload.
const headerSize = 68

// HeaderSize is how many bytes of a frame with a message of a kind come before its payload.
func HeaderSize(kind string) int { return headerSize + len(kind) }

// header precedes the payload of every session frame. Everything in it is known to an honest
// receiver beforehand, so that the receiver compares it with what it expects and trusts none of it.
//
// Evolution: a change of layout or meaning is a new FrameVersion; there are no optional fields.
//
//	offset size
//	     0    1  version
//	     1    1  class
//	     2    1  length of the kind
//	     3    1  zero
//	     4    4  session number
//	     8    8  sequence number on this link and direction, from 0
//	    16    8  operation: the how-manieth sum or broadcast of the session
//	    24    8  size of the operation's whole vector in bytes
//	    32    4  offset of this chunk, in chunks
//	    36   32  contract hash
//	    68    k  kind
type header struct {
	class     contract.Class
	session   uint32
	sequence  uint64
	operation uint64
	size      uint64
	chunk     uint32
	contract  keys.Hash
	kind      string

	encoding contract.Encoding // not on the wire: both ends know it from the kind
	padded   bool              // not on the wire: a total that opens nothing, since its root lacks a pad
}

// appendTo appends the encoded header to b.
func (h *header) appendTo(b []byte) []byte {
	b = append(b, FrameVersion, byte(h.class), byte(len(h.kind)), 0)
	b = binary.BigEndian.AppendUint32(b, h.session)
	b = binary.BigEndian.AppendUint64(b, h.sequence)
	b = binary.BigEndian.AppendUint64(b, h.operation)
	b = binary.BigEndian.AppendUint64(b, h.size)
	b = binary.BigEndian.AppendUint32(b, h.chunk)
	b = append(b, h.contract[:]...)
	return append(b, h.kind...)
}

// parseHeader splits a frame into header and payload. The payload shares the frame's memory.
func parseHeader(frame []byte) (header, []byte, error) {
	if len(frame) < headerSize {
		return header{}, nil, fmt.Errorf("frame of %d bytes is shorter than a header", len(frame))
	}
	if frame[0] != FrameVersion {
		return header{}, nil, fmt.Errorf("frame version %d, this node speaks %d", frame[0], FrameVersion)
	}
	n := int(frame[2])
	if n > contract.MaxKind || len(frame) < headerSize+n || frame[3] != 0 {
		return header{}, nil, fmt.Errorf("malformed frame header")
	}
	if err := contract.CheckKind(string(frame[headerSize : headerSize+n])); err != nil {
		return header{}, nil, fmt.Errorf("malformed frame header: %w", err)
	}
	if c := contract.Class(frame[1]); !c.Known() {
		return header{}, nil, fmt.Errorf("malformed frame header: there is no %s", c)
	}
	h := header{
		class:     contract.Class(frame[1]),
		session:   binary.BigEndian.Uint32(frame[4:]),
		sequence:  binary.BigEndian.Uint64(frame[8:]),
		operation: binary.BigEndian.Uint64(frame[16:]),
		size:      binary.BigEndian.Uint64(frame[24:]),
		chunk:     binary.BigEndian.Uint32(frame[32:]),
		contract:  keys.Hash(frame[36:68]),
		kind:      string(frame[headerSize : headerSize+n]),
	}
	return h, frame[headerSize+n:], nil
}

// differs says what of h is not as wanted, most telling first, or nothing.
func (h *header) differs(want *header) string {
	switch {
	case h.contract != want.contract:
		return fmt.Sprintf("it is for contract %s, want %s", h.contract.Short(), want.contract.Short())
	case h.session != want.session:
		return fmt.Sprintf("it is of session %d, want %d", h.session, want.session)
	case h.sequence < want.sequence:
		return fmt.Sprintf("frame %d came again, want frame %d", h.sequence, want.sequence)
	case h.sequence > want.sequence:
		return fmt.Sprintf("frame %d came, want frame %d: one is missing or out of order", h.sequence, want.sequence)
	case h.operation != want.operation || h.kind != want.kind:
		return fmt.Sprintf("it belongs to operation %d (%s)", h.operation, h.kind)
	case h.class != want.class:
		return fmt.Sprintf("its class is %s, want %s", h.class, want.class)
	case h.chunk != want.chunk:
		return fmt.Sprintf("it is chunk %d, want chunk %d", h.chunk, want.chunk)
	case h.size != want.size:
		return fmt.Sprintf("its vector has %d bytes, want %d", h.size, want.size)
	}
	return ""
}
