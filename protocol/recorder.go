package protocol

import (
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// DomainLink separates signatures on link digests from all others.
const DomainLink = "hanse link v2"

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
	Class     contract.Class
	Encoding  contract.Encoding
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
