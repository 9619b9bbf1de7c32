package pofmkl

import (
	"fmt"

	"github.com/hanse-project/hanse/algorithms/checkpoint"
	"github.com/hanse-project/hanse/keys"
)

// serverState is what a server needs to go on.
//
// Evolution: as for clientState.
type serverState struct {
	Version int       `cbor:"1,keyasint"`
	Job     keys.Hash `cbor:"2,keyasint"` // the dictionary's fingerprint
	Theta   []float64 `cbor:"3,keyasint"`
	Applied int       `cbor:"4,keyasint"`
}

// State returns the server's state as versioned bytes with a checksum.
func (s *Server) State() ([]byte, error) {
	return checkpoint.Seal(serverDomain, &serverState{stateVersion, s.dictionary.fingerprint, s.theta, s.applied})
}

// RestoreServer makes the server whose State is given, for the same parameters and columns.
func RestoreServer(d *Dictionary, state []byte) (*Server, error) {
	s := new(serverState)
	if err := unseal(serverDomain, state, s); err != nil {
		return nil, err
	}
	if err := checkOrigin(s.Version, s.Job, d.fingerprint); err != nil {
		return nil, err
	}
	if err := checkpoint.CheckVector("theta", s.Theta, d.params.Words()); err != nil {
		return nil, err
	}
	if s.Applied < 0 {
		return nil, fmt.Errorf("state: %d sums were applied, want 0 or more", s.Applied)
	}
	return &Server{dictionary: d, theta: s.Theta, applied: s.Applied}, nil
}
