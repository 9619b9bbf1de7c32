package gfml

import (
	"fmt"
	"math"

	"github.com/hanse-project/hanse/algorithms/checkpoint"
	"github.com/hanse-project/hanse/algorithms/parameters"
	"github.com/hanse-project/hanse/keys"
)

// stateVersion is the version of the states' encoding.
const stateVersion = 1

// state is what a server or client keeps between two iterations. Together with the plan, and the
// stream that follows, it determines the rest of the run.
//
// Evolution: fields are added with new numbers, omitempty, and a zero value that keeps the old
// meaning; a changed meaning is a new version. Numbers are never used twice.
type state struct {
	Version   int       `cbor:"1,keyasint"`
	Params    keys.Hash `cbor:"2,keyasint"` // digest of the job's parameters
	Server    int       `cbor:"3,keyasint"`
	Client    int       `cbor:"4,keyasint"` // -1: the server's own state
	Iteration int       `cbor:"5,keyasint"` // the next one
	Model     []float64 `cbor:"6,keyasint"`
	Watch     watch     `cbor:"7,keyasint"` // all zero at a server
}

// serverItself stands for the server in place of a client's number.
const serverItself = -1

// Save returns the client's state between two iterations as bytes; next is the iteration to go on
// with.
func (c *Client) Save(next int) ([]byte, error) {
	return encodeState(&state{Params: c.plan.digest, Server: c.server, Client: c.client, Iteration: next, Model: c.w,
		Watch: c.watch})
}

// Save returns the server's state between two iterations as bytes; next is the iteration to go on
// with.
func (s *Server) Save(next int) ([]byte, error) {
	return encodeState(&state{Params: s.plan.digest, Server: s.server, Client: serverItself, Iteration: next, Model: s.w})
}

// Restore takes the state that Save wrote for this client of this job, and returns the iteration to go
// on with. After an error the client is as it was.
func (c *Client) Restore(data []byte) (next int, err error) {
	st, err := c.plan.decodeState(data, c.server, c.client)
	if err != nil {
		return 0, fmt.Errorf("%s: saved state: %w", c.name(), err)
	}
	c.w, c.watch = st.Model, st.Watch
	return st.Iteration, nil
}

// Restore takes the state that Save wrote for this server of this job, and returns the iteration to go
// on with. After an error the server is as it was.
func (s *Server) Restore(data []byte) (next int, err error) {
	st, err := s.plan.decodeState(data, s.server, serverItself)
	if err != nil {
		return 0, fmt.Errorf("server %q: saved state: %w", s.name(), err)
	}
	s.w = st.Model
	return st.Iteration, nil
}

// encodeState returns a state's bytes.
func encodeState(st *state) ([]byte, error) {
	st.Version = stateVersion
	return checkpoint.Encode(st)
}

// decodeState reads a state and checks that it is of this place, finite and in the one encoding that
// encodeState gives.
func (p *Plan) decodeState(data []byte, server, client int) (*state, error) {
	st := new(state)
	if err := checkpoint.Decode(data, st, checkpoint.Limits{Bytes: maxState(p.params.Features),
		Elements: maxFeatures}); err != nil {
		return nil, err
	}
	// Refuses a state of another version, job or place, and numbers out of range.
	switch {
	case st.Version != stateVersion:
		return nil, fmt.Errorf("version is %d, want %d", st.Version, stateVersion)
	case st.Params != p.digest:
		return nil, fmt.Errorf("it is of a job with other parameters, %s, want %s", st.Params.Short(), p.digest.Short())
	case st.Server != server || st.Client != client:
		return nil, fmt.Errorf("it is of server %d, client %d, want server %d, client %d", st.Server,
			st.Client, server, client)
	case st.Iteration < 0 || st.Iteration > p.params.Iterations:
		return nil, fmt.Errorf("its iteration is %d, want 0 to %d", st.Iteration, p.params.Iterations)
	case len(st.Model) != p.params.Features:
		return nil, fmt.Errorf("its model has %d weights, want %d", len(st.Model), p.params.Features)
	}
	for i, v := range st.Model {
		if !parameters.IsFinite(v) {
			return nil, fmt.Errorf("weight %d is %v, want a finite number", i, v)
		}
	}
	if client == serverItself && st.Watch != (watch{}) {
		return nil, fmt.Errorf("it holds a client's watch, want none at a server")
	}
	if st.Watch.Rows < 0 || st.Watch.Rows >= watchRows || st.Watch.Rises < 0 {
		return nil, fmt.Errorf("the watch has counts %d and %d, want 0 to %d and none below 0", st.Watch.Rows, st.Watch.Rises,
			watchRows-1)
	}
	for _, v := range []float64{st.Watch.Errors, st.Watch.Power, st.Watch.Last} {
		if !(v >= 0) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("the watch holds %v, want numbers from 0 on", v)
		}
	}
	return st, checkpoint.CheckEncoding(data, st)
}

// maxState is how many bytes the state of a model of so many features has at most.
func maxState(features int) int { return 9*features + 512 }
