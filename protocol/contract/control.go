package contract

import "crypto/ed25519"

// The kinds of frames that a session has beside those of its job.
const (
	KindSessionKey = "session-key"
	// the statements with which a session begins: what a party's transcript holds of those before
	KindPast        = "past"
	KindStates      = "states" // the statements before each round of countersignatures: the states of all links of a party
	KindCountersign = "countersign"
	KindShared      = "shared" // the exchanges in which the parties compare what was broadcast
	KindShards      = "shards" // the exchange in which the parties compare what their shards' sessions were
	KindRowset      = "rowset" // the messages in which two parties compare their row ids
	KindAsk         = "ask"    // the messages by which the receiver of an opening asks for it
	KindDone        = "done"
	KindAbort       = "abort" // by it a party leaves a session before its end
)

// CountersignEvery is after how many operations the parties sign each other's links. Verifying a
// signature takes as long as a hundred records; so many operations make it a tenth of an audit.
const CountersignEvery = 1024

// The payloads of these frames, in bytes.
const (
	SignatureSize  = ed25519.SignatureSize
	SessionKeySize = 32 + SignatureSize // an X25519 public key, signed
	SharedSize     = 32                 // a digest of what was broadcast
	ShardsSize     = 64                 // a digest of all shards' sessions, and the root of a party's transcripts of them
	AskSize        = 8 + 8 + MaxKind    // the opening's number, the count of its numbers, and its kind, padded

	PassedSize   = 8 + 32                // the frames of a link in one direction: how many, and their chain
	StateSize    = 4 + 2*PassedSize      // a link's session, what was sent and received
	BeginSize    = 4 + 4 + 32            // of a past: the sessions before, the last, the transcript's hash
	PastLinkSize = BeginSize + StateSize // a past in a job over clients: each peer is told of its own link
)

// PastSize returns the bytes of a statement of the past in a job of so many parties whose sessions have all of them.
func PastSize(parties int) int { return BeginSize + StateSize*(parties-1) }

// StatesSize returns the bytes of a statement of the states of all links.
func StatesSize(parties int) int { return 2 * PassedSize * (parties - 1) }
