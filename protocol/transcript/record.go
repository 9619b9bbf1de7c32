package transcript

import (
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
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
	TypeSignature     = Type(6) // the party signs the chain so far
	TypeUnkept        = Type(7) // the store is full: payloads are not kept until the next session
)

// String returns what the type says of a record, as errors and reports write it.
func (t Type) String() string {
	names := [...]string{"type 0", "sent", "received", "opened", "countersigned", "session begins", "seal",
		"payloads no longer kept"}
	if int(t) < len(names) {
		return names[t]
	}
	return fmt.Sprintf("type %d", uint8(t))
}

// Frame reports whether the record is of a frame on a link.
func (t Type) Frame() bool { return t == TypeSent || t == TypeReceived }

// signed reports whether the record is of a signature and not of a payload.
func (t Type) signed() bool { return t == TypeCountersigned || t == TypeSignature }

// Payload reports whether the record is of a payload, which a store can have.
func (t Type) Payload() bool { return t.Frame() || t == TypeOpened }

// The reasons of a signature record, its Kind.
const (
	SignedCheckpoint = "checkpoint" // after a round of countersignatures
	SignedDone       = "done"       // the session has ended as it should
	SignedBroken     = "broken"     // the session has ended before its end
)

// signatureReason returns the reason of a signature record by its number in transcripts, which never changes.
func signatureReason(number uint32) (why string, ok bool) {
	reasons := [...]string{1: SignedCheckpoint, 2: SignedDone, 3: SignedBroken}
	if number == 0 || number >= uint32(len(reasons)) {
		return "", false
	}
	return reasons[number], true
}

// signatureNumber returns the number of a reason, 0 when there is no such reason.
func signatureNumber(why string) uint32 {
	for n := uint32(1); ; n++ {
		switch reason, ok := signatureReason(n); {
		case !ok:
			return 0
		case reason == why:
			return n
		}
	}
}

// Where the parts of a record stand that signatures and payloads have in one place.
const (
	signatureAt = 56
	kindAt      = 64
	sumAt       = 88
	keptAt      = 120
)

// Record is one record of a transcript.
//
// Evolution: see Header. Numbers are big endian.
//
//	offset size
//	     0    1  type
//	     1    1  class
//	     2    1  encoding
//	     3    1  length of the kind; 0 in types 4 and 6
//	     4    4  session
//	     8    8  number of the record, from 0
//	    16    8  time, Unix nanoseconds, never less than in the record before
//	    24    4  peer
//	    28    4  chunk; in type 6 the reason: 1 checkpoint, 2 done, 3 broken
//	    32    8  operation
//	    40    8  sequence
//	    48    8  size of the operation's whole vector
//	    56   64  in types 4 and 6 the signature; in all others:
//	    56    8    bytes of the payload
//	    64   24    kind, then zeros
//	    88   32    SHA-256 of the payload; zeros in an opening that is not in the store
//	   120    1  1 when the payload was put into the store
//	   121    7  zero
//	   128   32  SHA-256(hash of the block before || bytes 0 to 127)
type Record struct {
	Type     Type
	Class    contract.Class    // 0 from TypeSession on
	Encoding contract.Encoding // protocol.Bytes from TypeCountersigned on
	// "countersign" in TypeCountersigned, a reason in TypeSignature, empty in TypeSession and TypeUnkept
	Kind      string
	Session   uint32 // from 1
	Number    uint64
	Time      int64 // Unix nanoseconds
	Peer      int   // index of the other end; the party's own where there is none
	Chunk     uint32
	Operation uint64
	Sequence  uint64
	Size      uint64
	Bytes     uint64                      // of the payload; 64 in TypeCountersigned, 0 from TypeSession on
	Proof     [ed25519.SignatureSize]byte // see Sum and Signature
	Kept      bool
	Hash      keys.Hash // of the chain up to and with this record
}

// Sum returns the SHA-256 of the payload of a frame or an opening. That of an opening that is not
// kept is zero.
func (r *Record) Sum() keys.Hash { return keys.Hash(r.Proof[:len(keys.Hash{})]) }

// Signature returns the signature of a signature record or a countersignature. It shares memory with the record.
func (r *Record) Signature() []byte { return r.Proof[:] }

// Encode writes the record, its Hash included, into a block. The record must be one that Decode
// could have given.
func (r *Record) Encode(block *[BlockSize]byte) {
	*block = [BlockSize]byte{byte(r.Type), byte(r.Class), byte(r.Encoding)}
	binary.BigEndian.PutUint32(block[4:], r.Session)
	binary.BigEndian.PutUint64(block[8:], r.Number)
	binary.BigEndian.PutUint64(block[16:], uint64(r.Time))
	binary.BigEndian.PutUint32(block[24:], uint32(r.Peer))
	binary.BigEndian.PutUint32(block[28:], r.Chunk)
	binary.BigEndian.PutUint64(block[32:], r.Operation)
	binary.BigEndian.PutUint64(block[40:], r.Sequence)
	binary.BigEndian.PutUint64(block[48:], r.Size)
	if r.Type.signed() {
		copy(block[signatureAt:keptAt], r.Proof[:])
	} else {
		block[3] = byte(len(r.Kind))
		binary.BigEndian.PutUint64(block[56:], r.Bytes)
		copy(block[kindAt:sumAt], r.Kind)
		copy(block[sumAt:keptAt], r.Proof[:])
	}
	if r.Type == TypeSignature {
		binary.BigEndian.PutUint32(block[28:], signatureNumber(r.Kind))
	}
	if r.Kept {
		block[keptAt] = 1
	}
	copy(block[hashAt:], r.Hash[:])
}

// Decode reads a record. What it accepts, Encode writes with the same bytes. It does not check the
// hash, for which the block before is needed; a Reader does.
func (r *Record) Decode(block *[BlockSize]byte) error { return r.decode(block, nil) }

// decode is Decode with the kinds read so far, so that a kind that came before costs no memory.
func (r *Record) decode(block *[BlockSize]byte, known kinds) error {
	peer := binary.BigEndian.Uint32(block[24:])
	switch {
	case peer >= keys.MaxMembers:
		return fmt.Errorf("it names peer %d, want less than %d", peer, keys.MaxMembers)
	case block[keptAt] > 1:
		return fmt.Errorf("its mark of a kept payload is %d, want 0 or 1", block[keptAt])
	case !zero(block[keptAt+1 : hashAt]):
		return errNotZero
	}
	r.Type, r.Class, r.Encoding = Type(block[0]), contract.Class(block[1]), contract.Encoding(block[2])
	r.Session = binary.BigEndian.Uint32(block[4:])
	r.Number = binary.BigEndian.Uint64(block[8:])
	r.Time = int64(binary.BigEndian.Uint64(block[16:]))
	r.Peer, r.Chunk = int(peer), binary.BigEndian.Uint32(block[28:])
	r.Operation = binary.BigEndian.Uint64(block[32:])
	r.Sequence = binary.BigEndian.Uint64(block[40:])
	r.Size = binary.BigEndian.Uint64(block[48:])
	r.Kept, r.Hash = block[keptAt] == 1, keys.Hash(block[hashAt:])
	if r.Type.signed() {
		// What is the same for all signatures is filled in.
		if block[3] != 0 {
			return errNotZero
		}
		r.Proof = [ed25519.SignatureSize]byte(block[signatureAt:keptAt])
		r.Kind, r.Bytes = contract.KindCountersign, ed25519.SignatureSize
		if r.Type == TypeSignature {
			why, ok := signatureReason(r.Chunk)
			if !ok {
				return fmt.Errorf("the reason of a seal is %d, want 1 to 3", r.Chunk)
			}
			r.Kind, r.Chunk, r.Bytes = why, 0, 0
		}
		return r.check()
	}
	n := int(block[3])
	if n > contract.MaxKind {
		return fmt.Errorf("its kind has %d bytes, at most %d are allowed", n, contract.MaxKind)
	}
	if !zero(block[kindAt+n : sumAt]) {
		return errNotZero
	}
	if text := block[kindAt : kindAt+n]; r.Kind != string(text) { // most have the kind of the record before
		kind, met := known[string(text)]
		if !met {
			kind = string(text)
			if known != nil && len(known) < maxKinds {
				known[kind] = kind
			}
		}
		r.Kind = kind
	}
	r.Bytes = binary.BigEndian.Uint64(block[56:])
	r.Proof = [ed25519.SignatureSize]byte{}
	copy(r.Proof[:], block[sumAt:keptAt])
	return r.check()
}

// errNotZero refuses a second way to write the same record.
var errNotZero = errors.New("it has bytes that are not zero where version 3 has none")

// maxKinds is how many kinds a reader remembers: contracts have some dozens.
const maxKinds = 256

// kinds are the kinds that a reader has met.
type kinds map[string]string
