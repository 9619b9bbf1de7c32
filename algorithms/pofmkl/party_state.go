package pofmkl

import (
	"fmt"

	"github.com/hanse-project/hanse/algorithms/checkpoint"
	"github.com/hanse-project/hanse/algorithms/parameters"
)

// The domains of the checksums of what the parts keep in their vaults.
const (
	servingDomain    = "hanse pofmkl serving v1"
	attendanceDomain = "hanse pofmkl attendance v1"
)

// servingState is what a server's part keeps.
//
// Evolution: as for clientState.
type servingState struct {
	Version int    `cbor:"1,keyasint"`
	Round   int    `cbor:"2,keyasint"` // uploads so far
	Server  []byte `cbor:"3,keyasint"` // Server.State
}

// sealServing encodes the state of a server's part.
func sealServing(round int, server *Server) ([]byte, error) {
	state, err := server.State()
	if err != nil {
		return nil, err
	}
	return checkpoint.Seal(servingDomain, &servingState{stateVersion, round, state})
}

// readServing reads what sealServing wrote.
func readServing(d *Dictionary, data []byte) (round int, server *Server, err error) {
	s := new(servingState)
	if err := unseal(servingDomain, data, s); err != nil {
		return 0, nil, err
	}
	if err := checkpoint.CheckVersion(s.Version, stateVersion); err != nil {
		return 0, nil, err
	}
	if server, err = RestoreServer(d, s.Server); err != nil {
		return 0, nil, err
	}
	if s.Round < server.applied || s.Round > d.params.Uploads() {
		return 0, nil, fmt.Errorf("state: %d rounds were held, want %d to %d", s.Round, server.applied, d.params.Uploads())
	}
	return s.Round, server, nil
}

// attendanceState is what a client's part keeps.
//
// Evolution: as for clientState.
type attendanceState struct {
	Version int     `cbor:"1,keyasint"`
	Row     int     `cbor:"2,keyasint"` // the last one learned
	Squared float64 `cbor:"3,keyasint"` // summed squared errors
	Client  []byte  `cbor:"4,keyasint"` // Client.State
}

// State implements federated.ClientPart: the weights, and where in the stream they are from.
func (a *ClientPart) State() ([]byte, error) {
	state, err := a.client.State()
	if err != nil {
		return nil, err
	}
	return checkpoint.Seal(attendanceDomain, &attendanceState{stateVersion, a.attendance.Row, a.attendance.Squared, state})
}

// readAttendance decodes what State returned.
func readAttendance(data []byte) (*attendanceState, error) {
	s := new(attendanceState)
	if err := unseal(attendanceDomain, data, s); err != nil {
		return nil, err
	}
	if err := checkpoint.CheckVersion(s.Version, stateVersion); err != nil {
		return nil, err
	}
	return s, nil
}

// read takes the part up where it was saved.
func (a *ClientPart) read(data []byte) error {
	s, err := readAttendance(data)
	if err != nil {
		return err
	}
	if a.client, err = RestoreClient(a.Dictionary, s.Client); err != nil {
		return err
	}
	if s.Row < a.client.rounds || !(s.Squared >= 0) || !parameters.IsFinite(s.Squared) {
		return fmt.Errorf("state: row %d after %d rounds, squared errors %v: want a row from there on and a number from 0 on",
			s.Row, a.client.rounds, s.Squared)
	}
	a.attendance.Row, a.attendance.Squared = s.Row, s.Squared
	return nil
}
