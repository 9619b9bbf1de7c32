package enrol

import (
	"github.com/hanse-project/hanse/keys"
)

// The methods; the package comment says what they do.
const (
	methodJoinFetch   = "join/fetch"
	methodJoinSign    = "join/sign"
	methodJoinCharter = "join/charter"
	methodJoinKept    = "join/kept"
	methodPropose     = "charter/propose"
	methodSignature   = "charter/signature"
	methodFetch       = "charter/fetch"
)

// Evolution of the messages: a number is never used again for another meaning. Readers refuse
// fields they do not know, so that a new field needs a method of a new name.

// nothing is a message without content.
type nothing struct{}

// offerReply is what an invitee needs to decide.
type offerReply struct {
	// Invitation is none when the charter is in force already, and where the inviter's signature on the proposal says
	// enough.
	Invitation string `cbor:"1,keyasint,omitempty"`
	Proposal   string `cbor:"2,keyasint"`
	Parent     string `cbor:"3,keyasint,omitempty"` // none when the charter is in force already
	// Proof is how a parent that not all have signed came into force: the versions before it, the latest first, back to
	// one that all have signed.
	Proof []string `cbor:"4,keyasint,omitempty"`
}

// signRequest brings a newcomer's signature.
type signRequest struct {
	Proposal  string `cbor:"1,keyasint"` // hash
	Signature []byte `cbor:"2,keyasint"`
}

// charterRequest asks for a charter by its hash.
type charterRequest struct {
	Proposal string `cbor:"1,keyasint"`
}

// charterReply is a charter.
type charterReply struct {
	Text string `cbor:"1,keyasint"`
}

// textMessage is a charter as a request or a response, empty when there is none.
type textMessage struct {
	Text string `cbor:"1,keyasint"`
}

// signature is one member's.
type signature struct {
	ID   string `cbor:"1,keyasint"`
	Data []byte `cbor:"2,keyasint"`
}

// signaturesRequest brings signatures on a proposal.
type signaturesRequest struct {
	Proposal   string      `cbor:"1,keyasint"` // hash
	Signatures []signature `cbor:"2,keyasint"`
}

// knownReply says whether there is such a proposal here, now with those signatures.
type knownReply struct {
	Known bool `cbor:"1,keyasint"`
}

// versionRequest asks for a version by its number.
type versionRequest struct {
	Version int `cbor:"1,keyasint"`
}

// parseHash reads a hash of a message.
func parseHash(s string) (h keys.Hash, err error) {
	err = h.UnmarshalText([]byte(s))
	return h, err
}
