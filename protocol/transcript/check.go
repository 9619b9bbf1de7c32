package transcript

import (
	"crypto/ed25519"
	"errors"
	"fmt"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// check says what is wrong with a record by itself.
func (r *Record) check() error {
	if err := r.checkFields(); err != nil {
		return err
	}
	return r.checkProof()
}

// checkFields says what is wrong with all but the hash of the payload and signatures.
func (r *Record) checkFields() error {
	if r.Session == 0 {
		return errors.New("its session is 0, want 1 or more")
	}
	if r.Time < 0 {
		return fmt.Errorf("its time is %d, want 0 or more", r.Time)
	}
	switch r.Type {
	case TypeSent, TypeReceived, TypeOpened:
		return r.checkPayload()
	case TypeCountersigned:
		return r.checkCountersigned()
	case TypeSession, TypeUnkept:
		return r.checkMark()
	case TypeSeal:
		return r.checkSeal()
	}
	return fmt.Errorf("its type is %d, want 1 to 7", uint8(r.Type))
}

// checkPayload checks a record of a frame or an opening.
func (r *Record) checkPayload() error {
	if err := r.checkWords(); err != nil {
		return err
	}
	if r.Bytes > protocol.MaxFrame {
		return fmt.Errorf("its payload has %d bytes, at most %d are allowed", r.Bytes, protocol.MaxFrame)
	}
	return nil
}

// checkProof checks that there is a hash of a payload where there must be one, and only there.
func (r *Record) checkProof() error {
	if !r.Type.Payload() {
		return nil
	}
	var none keys.Hash
	switch sum, hashed := r.Sum(), r.Type.Frame() || r.Kept; {
	case keys.Hash(r.Proof[len(none):]) != none:
		return errors.New("it has bytes that are not zero behind the hash of its payload")
	case hashed && sum == none:
		return errors.New("it has zeros for the hash of its payload")
	case !hashed && sum != none:
		return errors.New("it has a hash of an opening that was not put into the store")
	}
	return nil
}

// checkCountersigned checks a record of a peer's signature.
func (r *Record) checkCountersigned() error {
	if err := r.checkWords(); err != nil {
		return err
	}
	if r.Bytes != ed25519.SignatureSize || r.Encoding != protocol.Bytes || r.Kept {
		return fmt.Errorf("a countersignature of %d bytes in %s, want %d bytes that no store has", r.Bytes, r.Encoding, ed25519.SignatureSize)
	}
	if r.Kind != protocol.KindCountersign {
		return fmt.Errorf("a countersignature of kind %q, want %q", clip(r.Kind), protocol.KindCountersign)
	}
	return nil
}

// checkWords checks the class, the encoding and the kind of what happened on a link.
func (r *Record) checkWords() error {
	if !r.Class.Known() {
		return fmt.Errorf("its class is %d, want 1 to %d", uint8(r.Class), uint8(protocol.ClassHE))
	}
	if !r.Encoding.Known() {
		return fmt.Errorf("its encoding is %d, want 0 to %d, or %d to %d", uint8(r.Encoding), uint8(protocol.Ring48),
			uint8(protocol.Packed(protocol.MinPacked)), uint8(protocol.Packed(protocol.MaxPacked)))
	}
	return checkKind(r.Kind)
}

// checkSeal checks a record of the party's own signature.
func (r *Record) checkSeal() error {
	if sealNumber(r.Kind) == 0 {
		return fmt.Errorf("a seal says %q, want %q, %q or %q", clip(r.Kind), SealCheckpoint, SealDone, SealBroken)
	}
	return r.checkEmpty()
}

// checkMark checks a record that says nothing but its type.
func (r *Record) checkMark() error {
	if r.Kind != "" || !zero(r.Proof[:]) {
		return fmt.Errorf("a record %q has a kind, a hash or a signature, want none", r.Type)
	}
	return r.checkEmpty()
}

// checkEmpty wants nothing in the fields that only links and openings have.
func (r *Record) checkEmpty() error {
	if r.Class != 0 || r.Encoding != 0 || r.Chunk != 0 || r.Kept || r.Operation|r.Sequence|r.Size|r.Bytes != 0 {
		return fmt.Errorf("a record %q has fields of a frame, want zeros", r.Type)
	}
	return nil
}

// checkKind refuses what no session accepts as the kind of a message.
func checkKind(kind string) error {
	ok := 1 <= len(kind) && len(kind) <= protocol.MaxKind
	for _, c := range []byte(kind) {
		ok = ok && ('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == ' ')
	}
	if !ok {
		return fmt.Errorf("its kind is %q, want 1 to %d characters of a-z, 0-9, \"-\" and space", clip(kind), protocol.MaxKind)
	}
	return nil
}

// clip shortens a text that an error quotes.
func clip(s string) string {
	const most = 2 * protocol.MaxKind
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}
