package pofmkl

import (
	"github.com/hanse-project/hanse/algorithms/checkpoint"
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

// unseal reads a state of this package.
func unseal(domain string, data []byte, state any) error {
	return checkpoint.Unseal(domain, data, state, checkpoint.Limits{Bytes: maxState, Elements: maxWords})
}

// checkOrigin refuses a state of another version or job.
func checkOrigin(version int, of, want keys.Hash) error {
	if err := checkpoint.CheckVersion(version, stateVersion); err != nil {
		return err
	}
	return checkpoint.CheckJob(of, want, "parameters or columns")
}
