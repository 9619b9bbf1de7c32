package ofmsft

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"

	"github.com/BurntSushi/toml"
	"github.com/fxamacker/cbor/v2"

	"github.com/hanse-project/hanse/keys"
)

// stateVersion is the version of the encodings of clients' and servers' states.
const stateVersion = 1

// The domains of the checksums, one for each kind of state, and of the fingerprint of a job's parameters.
const (
	clientDomain = "hanse ofmsft client v1"
	serverDomain = "hanse ofmsft server v1"
	jobDomain    = "hanse ofmsft parameters v1"
)

// maxState bounds the size of any state that is read, in bytes; a job's own bound is checked once it
// is decoded.
const maxState = 8*maxAllSizes + 1<<20

// Fingerprint digests the parameters: what a saved state must agree with.
func (p Params) Fingerprint() (keys.Hash, error) {
	var text bytes.Buffer
	if err := toml.NewEncoder(&text).Encode(p); err != nil {
		return keys.Hash{}, err
	}
	return keys.HashOf(jobDomain, text.Bytes()), nil
}

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
	mode, err := cbor.DecOptions{DupMapKey: cbor.DupMapKeyEnforcedAPF, MaxArrayElements: maxWindowNumbers, ExtraReturnErrors: cbor.ExtraDecErrorUnknownField}.DecMode()
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

// checkOrigin refuses a state of another version or job.
func checkOrigin(version int, of keys.Hash, p Params) error {
	if version != stateVersion {
		return fmt.Errorf("state: version is %d, this program reads version %d", version, stateVersion)
	}
	want, err := p.Fingerprint()
	if err != nil {
		return err
	}
	if of != want {
		return fmt.Errorf("state: it belongs to a job with other parameters, %s, want %s", of.Short(), want.Short())
	}
	return nil
}

// checkFinite refuses numbers of a state that are not finite.
func checkFinite[F float32 | float64](name string, v []F) error {
	for i, x := range v {
		if !finite(float64(x)) {
			return fmt.Errorf("state: number %d of %s is %v, want a finite number", i+1, name, x)
		}
	}
	return nil
}
