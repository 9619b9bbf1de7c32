package node

import (
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/shards"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// The control methods about a job's end.
const (
	methodStanding = "job/standing" // contract -> how the job stands: its end, or its last session
	methodPart     = "job/part"     // contract -> digest of what this party keeps of the session it has finished
	methodSign     = "job/sign"     // contract, unsigned ending -> signature
	methodEnd      = "job/end"      // contract, ending in force -> the ending that stands here
)

// standingRequest names a job by its contract.
type standingRequest struct {
	Contract keys.Hash `cbor:"1,keyasint"`
}

// standing is how a job stands at a party.
type standing struct {
	State    string `cbor:"1,keyasint"`
	Session  uint32 `cbor:"2,keyasint"`
	Ending   []byte `cbor:"3,keyasint,omitempty"` // text of the ending in force, if there is one
	Finished uint32 `cbor:"4,keyasint,omitempty"` // the last session that ended well there
	On       bool   `cbor:"5,keyasint,omitempty"` // a session is on there
	Why      []byte `cbor:"6,keyasint,omitempty"` // the fault that keeps it from going on, if there is one
}

// partResponse commits a party to what it keeps of a session; zero while it has finished none.
type partResponse struct {
	Session uint32    `cbor:"1,keyasint"`
	Digest  keys.Hash `cbor:"2,keyasint"`
	Ending  []byte    `cbor:"3,keyasint,omitempty"`
}

// endingRequest carries an ending, or what is to be signed of one.
type endingRequest struct {
	Contract keys.Hash `cbor:"1,keyasint"`
	Ending   []byte    `cbor:"2,keyasint"`
}

// signResponse is a signature on an ending, or the one that stands already.
type signResponse struct {
	Signature []byte `cbor:"1,keyasint,omitempty"`
	Ending    []byte `cbor:"2,keyasint,omitempty"`
}

// endingResponse is the ending that stands at a party after it was told of one.
type endingResponse struct {
	Ending []byte `cbor:"1,keyasint"`
}

// The control methods about jobs. Requests and responses are CBOR.
const (
	methodDescribe = "job/describe" // job text -> facts
	methodConsent  = "job/consent"  // contract text -> signature, or pending
	methodStart    = "job/start"    // contract text, session number -> nothing
)

// describeRequest asks what a party brings to a job.
type describeRequest struct {
	Job string `cbor:"1,keyasint"`
}

// description is what a party brings to a job, and what its data say of what the job leaves open.
type description struct {
	contract.Facts
	Settled jobs.Settled `cbor:",omitzero"`
}

// consentRequest asks for a party's signature.
type consentRequest struct {
	Contract string `cbor:"1,keyasint"`
}

// consentResponse is the signature, or nothing while a person has yet to decide, or how the job has ended.
type consentResponse struct {
	Signature []byte `cbor:"1,keyasint,omitempty"`
	Session   uint32 `cbor:"2,keyasint,omitempty"` // the last session of the job that was opened here
	Ending    []byte `cbor:"3,keyasint,omitempty"`
	Stored    uint32 `cbor:"4,keyasint,omitempty"` // over columns: the session whose part is kept here
}

// startResponse is nothing, or how the job has ended.
type startResponse struct {
	Ending []byte `cbor:"1,keyasint,omitempty"`
}

// startRequest asks a party to open a session.
type startRequest struct {
	Contract string `cbor:"1,keyasint"`
	Number   uint32 `cbor:"2,keyasint"`
	Closes   uint32 `cbor:"3,keyasint,omitempty"` // of a closing session: the session whose parts all keep
}

// methodShards is how the proposer's node asks how a job's shards stand, and has them go on.
const methodShards = "job/shards"

// shardsRequest is about the shards of a job in one session of it.
type shardsRequest struct {
	Contract keys.Hash      `cbor:"1,keyasint"`
	Session  uint32         `cbor:"2,keyasint"`
	Request  shards.Request `cbor:"3,keyasint"`
}
