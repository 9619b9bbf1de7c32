package ofmsft

import (
	"bytes"

	"github.com/BurntSushi/toml"

	"github.com/hanse-project/hanse/algorithms/checkpoint"
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

// unseal reads a state of this package.
func unseal(domain string, data []byte, state any) error {
	return checkpoint.Unseal(domain, data, state, checkpoint.Limits{Bytes: maxState, Elements: maxWindowNumbers})
}

// checkOrigin refuses a state of another version or job.
func checkOrigin(version int, of keys.Hash, p Params) error {
	if err := checkpoint.CheckVersion(version, stateVersion); err != nil {
		return err
	}
	want, err := p.Fingerprint()
	if err != nil {
		return err
	}
	return checkpoint.CheckJob(of, want, "parameters")
}
