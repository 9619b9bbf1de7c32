// Package checkpoint is what algorithms share in writing and reading the states that their parts keep:
// deterministic CBOR, in one encoding for each state, with a checksum where the algorithm has one.
//
// States stay on the machine that wrote them. What is read may have been damaged, or be another's.
package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"

	"github.com/fxamacker/cbor/v2"

	"github.com/hanse-project/hanse/keys"
)

// Limits are what a state may have at most.
type Limits struct {
	Bytes    int
	Elements int // of one list; 0: the decoder's own limit, 131072
}

// Encode returns a state's bytes: deterministic CBOR (RFC 8949, section 4.2.1).
func Encode(state any) ([]byte, error) {
	var b bytes.Buffer
	if err := EncodeTo(&b, state); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// EncodeTo is Encode into a buffer, behind what is in it.
func EncodeTo(b *bytes.Buffer, state any) error {
	mode, err := cbor.CoreDetEncOptions().UserBufferEncMode()
	if err != nil {
		return err
	}
	return mode.MarshalToBuffer(state, b)
}

// Decode reads into state, a pointer, and refuses fields that it does not have. Other bytes than those of
// Encode pass: CheckEncoding refuses them.
func Decode(data []byte, state any, most Limits) error {
	if len(data) > most.Bytes {
		return fmt.Errorf("%d bytes, want at most %d", len(data), most.Bytes)
	}
	mode, err := cbor.DecOptions{DupMapKey: cbor.DupMapKeyEnforcedAPF, MaxArrayElements: most.Elements,
		ExtraReturnErrors: cbor.ExtraDecErrorUnknownField}.DecMode()
	if err != nil {
		return err
	}
	return mode.Unmarshal(data, state)
}

// CheckEncoding refuses bytes that are not those of the state that was read from them.
func CheckEncoding(data []byte, state any) error {
	again, err := Encode(state)
	if err != nil {
		return err
	}
	if !bytes.Equal(again, data) {
		return fmt.Errorf("its bytes are not the ones that this state has")
	}
	return nil
}

// Seal is Encode with a checksum behind. domain names the kind of state. The checksum finds damage, not
// malice.
func Seal(domain string, state any) ([]byte, error) {
	body, err := Encode(state)
	if err != nil {
		return nil, err
	}
	sum := keys.HashOf(domain, body)
	return append(body, sum[:]...), nil
}

// Unseal checks and decodes into state, a pointer, what Seal wrote, and nothing else: other bytes of the
// same state are refused too.
func Unseal(domain string, data []byte, state any, most Limits) error {
	if len(data) > most.Bytes {
		return fmt.Errorf("state of %d bytes, at most %d are read", len(data), most.Bytes)
	}
	if len(data) < sha256.Size {
		return fmt.Errorf("state of %d bytes, want at least %d", len(data), sha256.Size)
	}
	body, sum := data[:len(data)-sha256.Size], data[len(data)-sha256.Size:]
	if want := keys.HashOf(domain, body); subtle.ConstantTimeCompare(want[:], sum) != 1 {
		return fmt.Errorf("state: its checksum is not the one of its bytes: it is damaged, or of another kind")
	}
	if err := Decode(body, state, most); err != nil {
		return fmt.Errorf("state: %w", err)
	}
	if err := CheckEncoding(body, state); err != nil {
		return fmt.Errorf("state: %w", err)
	}
	return nil
}
