package ofmsft

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/hanse-project/hanse/algorithms/checkpoint"
	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/algorithms/parameters"
	"github.com/hanse-project/hanse/keys"
)

// The domains of the checksums of what the parts keep in their vaults.
const (
	servingDomain    = "hanse ofmsft serving v1"
	attendanceDomain = "hanse ofmsft attendance v1"
)

// seedOr returns the given seed, or a fresh one.
func seedOr(given *[32]byte) (seed [32]byte) {
	if given != nil {
		return *given
	}
	rand.Read(seed[:]) // never fails
	return seed
}

// servingState is what a server's part keeps.
//
// Evolution: as for clientState.
type servingState struct {
	Version int    `cbor:"1,keyasint"`
	Round   int    `cbor:"2,keyasint"` // communication rounds held
	Server  []byte `cbor:"3,keyasint"` // Server.State
}

// Resume implements federated.ServerPart: a new server has the job's networks.
func (s *ServerPart) Resume(_ context.Context, state []byte) (err error) {
	s.files, s.packings = make([]file, len(s.Params.Models)), nil
	for _, name := range s.Names {
		packings, err := s.Params.Packings(name)
		if err != nil {
			return err
		}
		s.packings = append(s.packings, packings)
	}
	if state != nil {
		return s.read(state)
	}
	s.server, err = NewServer(s.Params, s.Networks, seedOr(s.seed))
	return err
}

// State implements federated.ServerPart: the networks, and how many rounds were held rounds.
func (s *ServerPart) State() ([]byte, error) {
	state, err := s.server.State()
	if err != nil {
		return nil, err
	}
	return checkpoint.Seal(servingDomain, &servingState{stateVersion, s.service.Held, state})
}

// read takes the part up where it was saved.
func (s *ServerPart) read(data []byte) error {
	kept := new(servingState)
	if err := unseal(servingDomain, data, kept); err != nil {
		return err
	}
	if err := checkpoint.CheckVersion(kept.Version, stateVersion); err != nil {
		return err
	}
	if kept.Round < 0 || kept.Round > s.Params.Uploads() {
		return fmt.Errorf("state: %d rounds were held, want 0 to %d", kept.Round, s.Params.Uploads())
	}
	var err error
	s.service.Held = kept.Round
	s.server, err = RestoreServer(s.Params, s.Networks, kept.Server)
	return err
}

// attendanceState is what a client's part keeps.
//
// Evolution: as for clientState.
type attendanceState struct {
	Version int     `cbor:"1,keyasint"`
	Row     int     `cbor:"2,keyasint"` // the last one learned
	Squared float64 `cbor:"3,keyasint"` // summed squared errors
	Right   int     `cbor:"4,keyasint"` // predictions that were the label
	Client  []byte  `cbor:"5,keyasint"` // Client.State
}

// Resume implements federated.ClientPart: a new client draws a seed of its own.
func (a *ClientPart) Resume(_ context.Context, state []byte) error {
	packings, err := a.Params.Packings(a.Name)
	if err != nil {
		return err
	}
	a.held = make(map[keys.Hash]*Runner)
	if state != nil {
		return a.read(packings, state)
	}
	a.client = NewClient(a.Params, a.Name, packings, seedOr(a.seed))
	return federated.Save(a.Vault, federated.ClientSlot, a)
}

// State implements federated.ClientPart: the weights, and the window of rows.
func (a *ClientPart) State() ([]byte, error) {
	state, err := a.client.State()
	if err != nil {
		return nil, err
	}
	return checkpoint.Seal(attendanceDomain, &attendanceState{
		stateVersion, a.attendance.Row, a.attendance.Squared, a.right, state,
	})
}

// read takes the part up where it was saved.
func (a *ClientPart) read(packings *Packings, data []byte) error {
	s := new(attendanceState)
	if err := unseal(attendanceDomain, data, s); err != nil {
		return err
	}
	if err := checkpoint.CheckVersion(s.Version, stateVersion); err != nil {
		return err
	}
	var err error
	if a.client, err = RestoreClient(a.Params, packings, s.Client); err != nil {
		return err
	}
	if s.Row < a.client.rounds || !(s.Squared >= 0) || !parameters.IsFinite(s.Squared) || s.Right < 0 ||
		s.Right > a.client.rounds {
		return fmt.Errorf("state: row %d and %d right of %d, squared errors %v: want a row from there on, no more right, "+
			"and a number from 0 on",
			s.Row, s.Right, a.client.rounds, s.Squared)
	}
	a.attendance.Row, a.attendance.Squared, a.right = s.Row, s.Squared, s.Right
	return nil
}
