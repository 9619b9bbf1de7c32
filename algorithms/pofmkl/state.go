package pofmkl

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"

	"github.com/fxamacker/cbor/v2"

	"github.com/hanse-project/hanse/keys"
)

// stateVersion is the version of the encodings of clients' and servers' states.
const stateVersion = 1

// The domains of the checksums, one for each kind of state.
const (
	clientDomain = "hanse pofmkl client v1"
	serverDomain = "hanse pofmkl server v1"
)

// maxState is the largest state that is read, in bytes: theta with room to spare.
const maxState = 10*maxWords + 1<<20

// seal encodes a state as deterministic CBOR (RFC 8949, section 4.2.1) and appends its checksum. The
// checksum finds damage, not malice: states stay on the machine that wrote them.
func seal(domain string, state any) ([]byte, error) {
	mode, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		return nil, err
	}
	body, err := mode.Marshal(state)
	if err != nil {
		return nil, err
	}
	sum := keys.HashOf(domain, body)
	return append(body, sum[:]...), nil
}

// unseal checks and decodes what seal wrote, and nothing else: other bytes of the same state are
// refused too.
func unseal(domain string, data []byte, state any) error {
	if len(data) > maxState {
		return fmt.Errorf("state of %d bytes, at most %d are read", len(data), maxState)
	}
	if len(data) < sha256.Size {
		return fmt.Errorf("state of %d bytes, want at least %d", len(data), sha256.Size)
	}
	body, sum := data[:len(data)-sha256.Size], data[len(data)-sha256.Size:]
	if want := keys.HashOf(domain, body); subtle.ConstantTimeCompare(want[:], sum) != 1 {
		return fmt.Errorf("state: its checksum is not the one of its bytes: it is damaged, or of another kind")
	}
	mode, err := cbor.DecOptions{DupMapKey: cbor.DupMapKeyEnforcedAPF, MaxArrayElements: maxWords, ExtraReturnErrors: cbor.ExtraDecErrorUnknownField}.DecMode()
	if err != nil {
		return err
	}
	if err := mode.Unmarshal(body, state); err != nil {
		return fmt.Errorf("state: %w", err)
	}
	again, err := seal(domain, state)
	if err != nil {
		return err
	}
	if !bytes.Equal(again, data) {
		return fmt.Errorf("state: its bytes are not the ones that this state has")
	}
	return nil
}

// checkVector refuses a vector of a state that has another length or is not finite.
func checkVector(name string, v []float64, want int) error {
	if len(v) != want {
		return fmt.Errorf("state: %s has %d numbers, want %d", name, len(v), want)
	}
	for i, x := range v {
		if !finite(x) {
			return fmt.Errorf("state: number %d of %s is %v, want a finite number", i+1, name, x)
		}
	}
	return nil
}

// checkOrigin refuses a state of another version or job.
func checkOrigin(version int, of, want keys.Hash) error {
	if version != stateVersion {
		return fmt.Errorf("state: version is %d, this program reads version %d", version, stateVersion)
	}
	if of != want {
		return fmt.Errorf("state: it belongs to a job with other parameters or columns, %s, want %s", of.Short(), want.Short())
	}
	return nil
}
