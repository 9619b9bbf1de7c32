package ofmsft

import (
	"crypto/rand"
	"fmt"

	"github.com/hanse-project/hanse/algorithms/checkpoint"
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

// resume starts the part, or takes it up where the vault has it.
func (p *ServerPart) resume() (*serverRun, error) {
	s := &serverRun{ServerPart: p, files: make([]file, len(p.Params.Models))}
	for _, name := range p.Names {
		packings, err := p.Params.Packings(name)
		if err != nil {
			return nil, err
		}
		s.packings = append(s.packings, packings)
	}
	data, err := p.Vault.Load(serverSlot)
	if err != nil {
		return nil, err
	}
	if data != nil {
		return s, s.read(data)
	}
	s.server, err = NewServer(p.Params, p.Networks, seedOr(p.seed))
	return s, err
}

// save keeps the state in the vault.
func (s *serverRun) save() error {
	state, err := s.server.State()
	if err != nil {
		return err
	}
	data, err := checkpoint.Seal(servingDomain, &servingState{stateVersion, s.round, state})
	if err != nil {
		return err
	}
	return s.Vault.Save(serverSlot, data)
}

// read takes the part up where it was saved.
func (s *serverRun) read(data []byte) error {
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
	s.round = kept.Round
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

// resume starts the part, or takes it up where the vault has it.
func (p *ClientPart) resume() (*clientRun, error) {
	packings, err := p.Params.Packings(p.Name)
	if err != nil {
		return nil, err
	}
	a := &clientRun{ClientPart: p, held: make(map[keys.Hash]*Runner)}
	data, err := p.Vault.Load(clientSlot)
	if err != nil {
		return nil, err
	}
	if data != nil {
		return a, a.read(packings, data)
	}
	a.client = NewClient(p.Params, p.Name, packings, seedOr(p.seed))
	return a, a.save()
}

// save keeps the state in the vault.
func (a *clientRun) save() error {
	state, err := a.client.State()
	if err != nil {
		return err
	}
	data, err := checkpoint.Seal(attendanceDomain, &attendanceState{stateVersion, a.row, a.squared, a.right, state})
	if err != nil {
		return err
	}
	return a.Vault.Save(clientSlot, data)
}

// read takes the part up where it was saved.
func (a *clientRun) read(packings *Packings, data []byte) error {
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
	a.row, a.squared, a.right = s.Row, s.Squared, s.Right
	return nil
}
