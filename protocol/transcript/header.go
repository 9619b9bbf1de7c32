package transcript

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/hanse-project/hanse/keys"
)

// BlockSize is the length of the header and of every record, in bytes.
const BlockSize = 160

// version is that of the format that this package reads and writes. Versions 1 and 2 had sessions that did not follow
// from each other, and are refused.
const version = 3

// magic begins every transcript of any version.
const magic = "hanse-transcript"

// domainHeader separates the hashes of headers from all others.
const domainHeader = "hanse transcript v3"

// hashAt is where the hash of a block stands; it covers all before it.
const hashAt = BlockSize - len(keys.Hash{})

// Header says whose transcript it is, and of which job.
//
// The digest of a consent binds the transcript to the record of who agreed to the job at this party; it tells
// nothing of that record to who lacks it. It is zero when the transcript is bound to none.
//
// Evolution: a change of layout or meaning of the header or of a record is a new version, which
// stands at the same place for ever. There are no optional fields: what is zero stays zero.
//
//	offset size
//	     0   16  "hanse-transcript"
//	    16    2  version
//	    18    2  zero
//	    20    4  index of the party in the contract
//	    24   32  contract hash
//	    56   32  party id
//	    88   32  digest of the consent, or zeros
//	   120    8  zero
//	   128   32  HashOf("hanse transcript v3", bytes 0 to 127)
type Header struct {
	Self     int // index of the party in the contract
	Contract keys.Hash
	Party    keys.ID
	Consent  keys.Hash // zero: not bound to one
}

// Encode writes the header into a block.
func (h Header) Encode(block *[BlockSize]byte) {
	clear(block[:])
	copy(block[:], magic)
	binary.BigEndian.PutUint16(block[16:], version)
	binary.BigEndian.PutUint32(block[20:], uint32(h.Self))
	copy(block[24:], h.Contract[:])
	copy(block[56:], h.Party[:])
	copy(block[88:], h.Consent[:])
	sum := keys.HashOf(domainHeader, block[:hashAt])
	copy(block[hashAt:], sum[:])
}

// Hash returns the hash of the header, from which the chain of the records starts.
func (h Header) Hash() keys.Hash {
	var block [BlockSize]byte
	h.Encode(&block)
	return keys.Hash(block[hashAt:])
}

// VersionError says that a transcript is of a version of the format that this package does not read.
type VersionError struct{ Version uint16 }

// Error implements error.
func (e *VersionError) Error() string {
	return fmt.Sprintf("it is a transcript of version %d, this program reads version %d", e.Version, version)
}

// DecodeHeader reads a header. The error says whether the file is no transcript, is of another version (then it is a
// *VersionError), or was changed.
func DecodeHeader(block *[BlockSize]byte) (Header, error) {
	if string(block[:len(magic)]) != magic {
		return Header{}, errors.New("it is not a transcript")
	}
	if v := binary.BigEndian.Uint16(block[16:]); v != version {
		return Header{}, &VersionError{Version: v}
	}
	h := Header{Contract: keys.Hash(block[24:56]), Party: keys.ID(block[56:88]), Consent: keys.Hash(block[88:120])}
	if keys.HashOf(domainHeader, block[:hashAt]) != keys.Hash(block[hashAt:]) {
		return Header{}, errors.New("the hash of its header does not fit: the header was changed")
	}
	self := binary.BigEndian.Uint32(block[20:])
	if self >= keys.MaxMembers {
		return Header{}, fmt.Errorf("its header names party %d, want less than %d", self, keys.MaxMembers)
	}
	if !zero(block[18:20]) || !zero(block[120:hashAt]) {
		return Header{}, fmt.Errorf("its header has bytes that are not zero where version %d has none", version)
	}
	h.Self = int(self)
	return h, nil
}

// zero reports whether all bytes are zero.
func zero(b []byte) bool {
	var all byte
	for _, x := range b {
		all |= x
	}
	return all == 0
}
