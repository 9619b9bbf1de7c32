package transcript

import (
	"crypto/ed25519"
	"errors"
	"fmt"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// check says what is wrong with a record by itself.
func (r *Record) check() error {
	if err := r.checkFields(); err != nil {
		return err
	}
	// Checks that there is a hash of a payload where there must be one, and only there.
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
		// Checks a record of a frame or an opening.
		if err := r.checkWords(); err != nil {
			return err
		}
		if r.Bytes > protocol.MaxFrame {
			return fmt.Errorf("its payload has %d bytes, at most %d are allowed", r.Bytes, protocol.MaxFrame)
		}
		return nil
	case TypeCountersigned:
		// Checks a record of a peer's signature.
		if err := r.checkWords(); err != nil {
			return err
		}
		if r.Bytes != ed25519.SignatureSize || r.Encoding != contract.Bytes || r.Kept {
			return fmt.Errorf("a countersignature of %d bytes in %s, want %d bytes that no store has", r.Bytes,
				r.Encoding, ed25519.SignatureSize)
		}
		if r.Kind != contract.KindCountersign {
			return fmt.Errorf("a countersignature of kind %q, want %q", clip(r.Kind), contract.KindCountersign)
		}
		return nil
	case TypeSession, TypeUnkept:
		if r.Kind != "" || !zero(r.Proof[:]) {
			return fmt.Errorf("a record %q has a kind, a hash or a signature, want none", r.Type)
		}
		return r.checkEmpty()
	case TypeSignature:
		if signatureNumber(r.Kind) == 0 {
			return fmt.Errorf("a seal says %q, want %q, %q or %q", clip(r.Kind), SignedCheckpoint, SignedDone, SignedBroken)
		}
		return r.checkEmpty()
	}
	return fmt.Errorf("its type is %d, want 1 to 7", uint8(r.Type))
}

// checkWords checks the class, the encoding and the kind of what happened on a link.
func (r *Record) checkWords() error {
	if !r.Class.Known() {
		return fmt.Errorf("its class is %d, want 1 to %d", uint8(r.Class), uint8(contract.ClassHE))
	}
	if !r.Encoding.Known() {
		return fmt.Errorf("its encoding is %d, want 0 to %d, or %d to %d", uint8(r.Encoding), uint8(contract.Ring32),
			uint8(contract.Packed(contract.MinPacked)), uint8(contract.Packed(contract.MaxPacked)))
	}
	return checkKind(r.Kind)
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
	ok := 1 <= len(kind) && len(kind) <= contract.MaxKind
	for _, c := range []byte(kind) {
		ok = ok && ('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == ' ')
	}
	if !ok {
		return fmt.Errorf("its kind is %q, want 1 to %d characters of a-z, 0-9, \"-\" and space",
			clip(kind), contract.MaxKind)
	}
	return nil
}

// clip shortens a text that an error quotes.
func clip(s string) string {
	const most = 2 * contract.MaxKind
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}
