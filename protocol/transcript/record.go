package transcript

import (
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// Type says what a record tells. The first four are the events of a session.
type Type uint8

// The types. The numbers are in transcripts and never change.
const (
	TypeSent          = Type(protocol.EventSent)
	TypeReceived      = Type(protocol.EventReceived)
	TypeOpened        = Type(protocol.EventOpened)
	TypeCountersigned = Type(protocol.EventCountersigned)
	TypeSession       = Type(5) // a session begins
	TypeSeal          = Type(6) // the party signs the chain so far
	TypeUnkept        = Type(7) // the store is full: payloads are not kept until the next session
)

// String returns what the type says of a record, as errors and reports write it.
func (t Type) String() string {
	names := [...]string{"type 0", "sent", "received", "opened", "countersigned", "session begins", "seal", "payloads no longer kept"}
	if int(t) < len(names) {
		return names[t]
	}
	return fmt.Sprintf("type %d", uint8(t))
}

// Frame reports whether the record is of a frame on a link.
func (t Type) Frame() bool { return t == TypeSent || t == TypeReceived }

// Payload reports whether the record is of a payload, which a store can have.
func (t Type) Payload() bool { return t.Frame() || t == TypeOpened }

// The reasons of a seal, its Kind.
const (
	SealCheckpoint = "checkpoint" // after a round of countersignatures
	SealDone       = "done"       // the session has ended as it should
	SealBroken     = "broken"     // the session has ended before its end
)

// Record is one record of a transcript.
//
// Evolution: see Header. Numbers are big endian.
//
//	offset size
//	     0    1  type
//	     1    1  class
//	     2    1  encoding
//	     3    1  length of the kind
//	     4    4  session
//	     8    8  number of the record, from 0
//	    16    8  time, Unix nanoseconds, never less than in the record before
//	    24    4  peer
//	    28    4  chunk
//	    32    8  operation
//	    40    8  sequence
//	    48    8  size of the operation's whole vector
//	    56    8  bytes of the payload
//	    64   24  kind, then zeros
//	    88   64  SHA-256 of the payload and 32 zeros, or a signature
//	   152    1  1 when the payload was put into the store
//	   153    7  zero
//	   160   32  SHA-256(hash of the block before || bytes 0 to 159)
type Record struct {
	Type      Type
	Class     protocol.Class    // 0 from TypeSession on
	Encoding  protocol.Encoding // protocol.Bytes from TypeCountersigned on
	Kind      string            // empty in TypeSession and TypeUnkept
	Session   uint32            // from 1
	Number    uint64
	Time      int64 // Unix nanoseconds
	Peer      int   // index of the other end; the party's own where there is none
	Chunk     uint32
	Operation uint64
	Sequence  uint64
	Size      uint64
	Bytes     uint64
	Proof     [ed25519.SignatureSize]byte // see Sum and Signature
	Kept      bool
	Hash      keys.Hash // of the chain up to and with this record
}

// Sum returns the SHA-256 of the payload of a frame or an opening.
func (r *Record) Sum() keys.Hash { return keys.Hash(r.Proof[:32]) }

// Signature returns the signature of a seal or a countersignature. It shares memory with the record.
func (r *Record) Signature() []byte { return r.Proof[:] }

// Encode writes the record, its Hash included, into a block. The record must be one that Decode
// could have given.
func (r *Record) Encode(block *[BlockSize]byte) {
	*block = [BlockSize]byte{byte(r.Type), byte(r.Class), byte(r.Encoding), byte(len(r.Kind))}
	binary.BigEndian.PutUint32(block[4:], r.Session)
	binary.BigEndian.PutUint64(block[8:], r.Number)
	binary.BigEndian.PutUint64(block[16:], uint64(r.Time))
	binary.BigEndian.PutUint32(block[24:], uint32(r.Peer))
	binary.BigEndian.PutUint32(block[28:], r.Chunk)
	binary.BigEndian.PutUint64(block[32:], r.Operation)
	binary.BigEndian.PutUint64(block[40:], r.Sequence)
	binary.BigEndian.PutUint64(block[48:], r.Size)
	binary.BigEndian.PutUint64(block[56:], r.Bytes)
	copy(block[64:proofAt], r.Kind)
	copy(block[proofAt:152], r.Proof[:])
	if r.Kept {
		block[152] = 1
	}
	copy(block[hashAt:], r.Hash[:])
}

// Decode reads a record. What it accepts, Encode writes with the same bytes. It does not check the
// hash, for which the block before is needed; a Reader does.
func (r *Record) Decode(block *[BlockSize]byte) error { return r.decode(block, nil) }

// decode is Decode with the kinds read so far, so that a kind that came before costs no memory.
func (r *Record) decode(block *[BlockSize]byte, known kinds) error {
	peer, n := binary.BigEndian.Uint32(block[24:]), int(block[3])
	switch {
	case n > protocol.MaxKind:
		return fmt.Errorf("its kind has %d bytes, at most %d are allowed", n, protocol.MaxKind)
	case peer >= keys.MaxMembers:
		return fmt.Errorf("it names peer %d, want less than %d", peer, keys.MaxMembers)
	case block[152] > 1:
		return fmt.Errorf("its mark of a kept payload is %d, want 0 or 1", block[152])
	case !zero(block[64+n:proofAt]) || !zero(block[153:hashAt]):
		return errors.New("it has bytes that are not zero where version 1 has none")
	}
	r.Type, r.Class, r.Encoding = Type(block[0]), protocol.Class(block[1]), protocol.Encoding(block[2])
	r.Session = binary.BigEndian.Uint32(block[4:])
	r.Number = binary.BigEndian.Uint64(block[8:])
	r.Time = int64(binary.BigEndian.Uint64(block[16:]))
	r.Peer, r.Chunk = int(peer), binary.BigEndian.Uint32(block[28:])
	r.Operation = binary.BigEndian.Uint64(block[32:])
	r.Sequence = binary.BigEndian.Uint64(block[40:])
	r.Size = binary.BigEndian.Uint64(block[48:])
	r.Bytes = binary.BigEndian.Uint64(block[56:])
	r.Kind = known.text(block[64 : 64+n])
	r.Proof = [ed25519.SignatureSize]byte(block[proofAt:152])
	r.Kept, r.Hash = block[152] == 1, keys.Hash(block[hashAt:])
	return r.check()
}

// maxKinds is how many kinds a reader remembers: contracts have some dozens.
const maxKinds = 256

// kinds are the kinds that a reader has met.
type kinds map[string]string

// text returns the bytes as a string.
func (k kinds) text(b []byte) string {
	if s, ok := k[string(b)]; ok {
		return s
	}
	s := string(b)
	if k != nil && len(k) < maxKinds {
		k[s] = s
	}
	return s
}
