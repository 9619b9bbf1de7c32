package ofmsft

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/hanse-project/hanse/algorithms/checkpoint"
	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/keys"
)

// serverState is what a server needs to go on, beside the networks as they were at first.
//
// Evolution: as for clientState.
type serverState struct {
	Version int          `cbor:"1,keyasint"`
	Job     keys.Hash    `cbor:"2,keyasint"` // the parameters' fingerprint
	Source  []byte       `cbor:"3,keyasint"`
	Models  []modelState `cbor:"4,keyasint"`
}

// modelState is what became of one network.
type modelState struct {
	Version int    `cbor:"1,keyasint"`           // steps so far
	Theta   []byte `cbor:"2,keyasint,omitempty"` // [Size] float64, little endian; none before the first step
}

// State returns the server's state as versioned bytes with a checksum: 8 bytes for each parameter of a
// network that was fine-tuned.
func (s *Server) State() ([]byte, error) {
	source, err := s.source.MarshalBinary()
	if err != nil {
		return nil, err
	}
	if s.job.IsZero() {
		if s.job, err = s.params.Fingerprint(); err != nil {
			return nil, err
		}
	}
	state := serverState{Version: stateVersion, Job: s.job, Source: source}
	for k := range s.tuned {
		state.Models = append(state.Models, modelState{s.tuned[k].version, doublesToBytes(s.tuned[k].theta)})
	}
	return checkpoint.Seal(serverDomain, &state)
}

// RestoreServer makes the server whose State is given, for the same parameters; networks are as they
// were at first, and are cloned.
func RestoreServer(p Params, networks []*nn.Network, state []byte) (*Server, error) {
	s := new(serverState)
	if err := unseal(serverDomain, state, s); err != nil {
		return nil, err
	}
	if err := checkOrigin(s.Version, s.Job, p); err != nil {
		return nil, err
	}
	if len(s.Models) != len(p.Models) {
		return nil, fmt.Errorf("state: it has %d models, want %d", len(s.Models), len(p.Models))
	}
	server, err := NewServer(p, networks, [32]byte{})
	if err != nil {
		return nil, err
	}
	server.source = new(rand.ChaCha8)
	if err := server.source.UnmarshalBinary(s.Source); err != nil {
		return nil, fmt.Errorf("state: the source of groups: %w", err)
	}
	for k, m := range s.Models {
		if err := server.restore(k, m); err != nil {
			return nil, err
		}
	}
	return server, nil
}

// restore takes over what became of one network.
func (s *Server) restore(k int, m modelState) error {
	name, parameters := s.params.Models[k].Name, s.networks[k].Parameters()
	want := 8 * len(parameters)
	if m.Version == 0 {
		want = 0
	}
	if m.Version < 0 || len(m.Theta) != want {
		return fmt.Errorf("state: model %q has %d bytes after %d steps, want %d", name, len(m.Theta), m.Version, want)
	}
	if m.Version == 0 {
		return nil
	}
	b := m.Theta
	theta := make([]float64, len(b)/8)
	for i := range theta {
		theta[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
	}
	if err := checkpoint.CheckFinite(fmt.Sprintf("model %q", name), theta); err != nil {
		return err
	}
	for i, v := range theta {
		parameters[i] = float32(v)
	}
	s.tuned[k] = tuned{theta: theta, version: m.Version}
	return nil
}

// doublesToBytes writes numbers in little endian.
func doublesToBytes(v []float64) []byte {
	b := make([]byte, 0, 8*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b
}
