package protocol

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hanse-project/hanse/keys"
)

// DomainLink separates signatures on link digests from all others.
const DomainLink = "hanse link v2"

// Encoding says what the words of a payload are.
type Encoding uint8

// The encodings. The numbers are in transcripts and never change.
const (
	Bytes   Encoding = 0 // no vector of numbers: keys, signatures, row numbers, text
	Turns16 Encoding = 1 // Z_2^16, little-endian: turns of a circle
	Turns32 Encoding = 2 // Z_2^32, little-endian
	Fixed64 Encoding = 3 // Z_2^64, little-endian: fixed-point numbers
	Float64 Encoding = 4 // IEEE 754, little-endian: the published protocol's
	RLWE    Encoding = 5 // polynomials modulo the primes of a ring, a little-endian 64-bit word for each coefficient and prime
	Ring48  Encoding = 6 // Z_2^48, little-endian words of 6 bytes

	packed Encoding = 64 // Packed(b) is packed + b
)

// The widths of packed words, in bits. From 8 bits on the number of words follows from that of bytes.
const (
	MinPacked = 8
	MaxPacked = 56
)

// Packed returns the encoding of words of Z_2^bits without room between them, MinPacked to MaxPacked bits each, the
// lowest bits first; the last byte is filled up with zeros.
func Packed(bits int) Encoding { return packed + Encoding(bits) }

// packedName begins the name of a packed encoding; the bits follow.
const packedName = "packed"

// IsPacked reports whether numbers are no whole bytes.
func (e Encoding) IsPacked() bool { return e > packed }

// Bits returns the bits of one number, 8 for Bytes.
func (e Encoding) Bits() int {
	if e.IsPacked() {
		return int(e - packed)
	}
	return 8 * e.WordSize()
}

// Size returns the bytes of a vector of n numbers.
func (e Encoding) Size(n int) int { return (n*e.Bits() + 7) / 8 }

// Count returns how many numbers a vector of so many bytes has.
func (e Encoding) Count(bytes int64) int64 { return 8 * bytes / int64(e.Bits()) }

// encodingNames are the encodings as contracts and transcripts write them, by number.
func encodingNames() []string {
	return []string{"bytes", "turns16", "turns32", "fixed64", "float64", "rlwe", "ring48"}
}

// String returns the encoding's name.
func (e Encoding) String() string {
	if names := encodingNames(); int(e) < len(names) {
		return names[e]
	}
	if e.Known() {
		return packedName + strconv.Itoa(e.Bits())
	}
	return fmt.Sprintf("encoding %d", uint8(e))
}

// WordSize returns the bytes of one number, 1 for Bytes and, where numbers are no whole bytes, for packed words.
func (e Encoding) WordSize() int {
	switch e {
	case Turns16:
		return 2
	case Turns32:
		return 4
	case Ring48:
		return 6
	case Fixed64, Float64, RLWE:
		return 8
	}
	return 1
}

// Known reports whether transcripts may have the encoding.
func (e Encoding) Known() bool {
	return e <= Ring48 || e >= Packed(MinPacked) && e <= Packed(MaxPacked)
}

// ring48Group is four words of 6 bytes, so that a chunk of them is words of 8 bytes as well.
const ring48Group = 24

// Chunk returns the payload of one frame of a longer vector where frames have at most the given
// number of bytes, which is a multiple of 8: all of it, but for Ring48 and packed words the most that is whole
// groups of four and of eight words, and at least one.
func (e Encoding) Chunk(most int) int {
	group := 1
	switch {
	case e == Ring48:
		group = ring48Group
	case e.IsPacked():
		group = e.Bits() // bytes of eight words
	}
	return max(1, most/group) * group
}

// ParseEncoding reads an encoding's name.
func ParseEncoding(s string) (Encoding, error) {
	for i, name := range encodingNames() {
		if s == name {
			return Encoding(i), nil
		}
	}
	if digits, ok := strings.CutPrefix(s, packedName); ok && len(digits) <= 2 {
		if bits, err := strconv.Atoi(digits); err == nil && Packed(bits).Known() && Packed(bits).String() == s {
			return Packed(bits), nil
		}
	}
	return 0, fmt.Errorf("encoding is %q, want \"bytes\", \"turns16\", \"turns32\", \"fixed64\", \"float64\", \"rlwe\", \"ring48\" "+
		"or \"packed%d\" to \"packed%d\"", clip(s), MinPacked, MaxPacked)
}

// Event is what happened to an Entry.
type Event uint8

// The events. The numbers are in transcripts and never change.
const (
	EventSent          Event = 1 // a frame was handed to the transport
	EventReceived      Event = 2 // a frame came and was as wanted
	EventOpened        Event = 3 // this party, the root of a sum, learned a chunk of its total
	EventCountersigned Event = 4 // the peer signed the digest of the link; the payload is its signature
)

// Entry is what a session tells its recorder of a frame, an opening or a countersignature.
type Entry struct {
	Event     Event
	Peer      int // index of the other end; of this party in an opening
	Class     Class
	Encoding  Encoding
	Kind      string
	Session   uint32
	Sequence  uint64 // on this link and direction, from 0
	Operation uint64
	Size      uint64 // bytes of the operation's whole vector
	Chunk     uint32 // which chunk of the vector the payload is
}

// Recorder keeps the transcript of a session. Its methods are not called concurrently.
type Recorder interface {
	// Record keeps an entry. The payload is valid during the call only. Of what is sent the entry is with
	// the system when Record returns: a process that is killed later does not lose it.
	Record(e Entry, payload []byte) error
	// Link returns the digest of all frames exchanged with a party in this session so far, in both
	// directions, and of what all parties have stated of their links: both ends of an honest link compute the same.
	Link(peer int) (keys.Hash, error)
	// States returns what passed over each link in this session so far, by party; the own is zero.
	States() ([]LinkState, error)
	// Past returns what the transcript held when the session began.
	Past() (Past, error)
	// Former returns what the transcript holds of the link to a party in an earlier session, and the chains after so
	// many frames sent and received in it.
	Former(peer int, session uint32, sent, received uint64) (Former, error)
	// Sync returns once everything recorded is safe against a power cut.
	Sync() error
}
