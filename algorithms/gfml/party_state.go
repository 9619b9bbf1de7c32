package gfml

import (
	"fmt"
	"math"

	"github.com/hanse-project/hanse/algorithms/checkpoint"
)

// attendanceState is what a client's part keeps in its vault.
//
// Evolution: as for state.
type attendanceState struct {
	Version int     `cbor:"1,keyasint"`
	Row     int     `cbor:"2,keyasint"` // the last one learned
	Learned int     `cbor:"3,keyasint"` // how many
	Squared float64 `cbor:"4,keyasint"` // summed squared errors
	Client  []byte  `cbor:"5,keyasint"` // Client.Save
}

// maxAttendance is what an attendanceState has beside the client's own state, in bytes, at most.
const maxAttendance = 64

// State implements federated.ClientPart: the model as it is between two iterations.
func (a *ClientPart) State() ([]byte, error) {
	client, err := a.client.Save(a.next)
	if err != nil {
		return nil, err
	}
	return checkpoint.Encode(&attendanceState{
		stateVersion, a.attendance.Row, a.learned, a.attendance.Squared, client,
	})
}

// read takes the part up where it was saved.
func (a *ClientPart) read(data []byte) error {
	s, err := decodeAttendance(data, a.Plan.params.Features)
	if err != nil {
		return err
	}
	st, err := a.Plan.decodeState(s.Client, a.Server, a.Client)
	if err != nil {
		return err
	}
	a.client.w, a.client.watch, a.next = st.Model, st.Watch, st.Iteration
	a.attendance.Row, a.learned, a.attendance.Squared = s.Row, s.Learned, s.Squared
	a.judged = s.Learned >= warmup
	return nil
}

// decodeAttendance reads a state of a model of so many features, and checks that it is in the one
// encoding that State gives.
func decodeAttendance(data []byte, features int) (*attendanceState, error) {
	s := new(attendanceState)
	if err := checkpoint.Decode(data, s, checkpoint.Limits{Bytes: maxState(features) + maxAttendance}); err != nil {
		return nil, err
	}
	switch {
	case s.Version != stateVersion:
		return nil, fmt.Errorf("version is %d, want %d", s.Version, stateVersion)
	case s.Learned < 0 || s.Row < s.Learned:
		return nil, fmt.Errorf("%d rows were learned up to row %d, want 0 or more and no more than that", s.Learned, s.Row)
	case !(s.Squared >= 0) || math.IsInf(s.Squared, 0):
		return nil, fmt.Errorf("its squared errors are %v, want a number from 0 on", s.Squared)
	}
	return s, checkpoint.CheckEncoding(data, s)
}
