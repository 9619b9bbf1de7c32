package ofmsft

import (
	"fmt"
	"math/rand/v2"

	"github.com/hanse-project/hanse/algorithms/checkpoint"
	"github.com/hanse-project/hanse/algorithms/parameters"
	"github.com/hanse-project/hanse/keys"
)

// clientState is what a client that leaves needs to go on. It holds the rows of the window, and
// weights that tell something of labels: it is the client's own.
//
// Evolution: fields are added with new numbers, omitempty, and a zero value that keeps the old meaning,
// so that older states keep their bytes; a changed meaning is a new version. Numbers are never used
// twice.
type clientState struct {
	Version int       `cbor:"1,keyasint"`
	Job     keys.Hash `cbor:"2,keyasint"` // the parameters' fingerprint
	Weights []float64 `cbor:"3,keyasint"` // logarithms
	Source  []byte    `cbor:"4,keyasint"` // secret
	Rounds  int       `cbor:"5,keyasint"`
	Loss    float64   `cbor:"6,keyasint"`
	Rows    []float32 `cbor:"7,keyasint"` // of the window, [rows][inputs], scaled
	Labels  []float64 `cbor:"8,keyasint"` // of the window, [rows], scaled
	Name    string    `cbor:"9,keyasint,omitempty"`
}

// State returns the client's state as versioned bytes with a checksum. A draw under way is not part of
// it, nor is a prediction that awaits its label: who restores the client draws again.
func (c *Client) State() ([]byte, error) {
	source, err := c.source.MarshalBinary()
	if err != nil {
		return nil, err
	}
	if c.job.IsZero() {
		if c.job, err = c.params.Fingerprint(); err != nil {
			return nil, err
		}
	}
	return checkpoint.Seal(clientDomain, &clientState{
		Version: stateVersion, Job: c.job, Weights: c.weights.log, Source: source,
		Rounds: c.rounds, Loss: c.loss, Rows: c.window.x, Labels: c.window.y, Name: c.name,
	})
}

// RestoreClient makes the client whose State is given, for the same parameters and packings. It goes
// on as the first would have, bit for bit on the same processor, if the state was saved between a
// communication round's last row and the next draw.
func RestoreClient(p Params, packings *Packings, state []byte) (*Client, error) {
	s := new(clientState)
	if err := unseal(clientDomain, state, s); err != nil {
		return nil, err
	}
	if err := checkOrigin(s.Version, s.Job, p); err != nil {
		return nil, err
	}
	// Checks a state against the job that it is for.
	if len(s.Weights) != len(p.Models) {
		return nil, fmt.Errorf("state: it has weights of %d models, want %d", len(s.Weights), len(p.Models))
	}
	if s.Rounds < 0 || !(s.Loss >= 0) || !parameters.IsFinite(s.Loss) {
		return nil, fmt.Errorf("state: %d rounds and loss %v, want 0 or more of both", s.Rounds, s.Loss)
	}
	rows := min(s.Rounds, p.windowRows())
	if len(s.Labels) != rows || len(s.Rows) != rows*p.Inputs {
		return nil, fmt.Errorf("state: %d labels and %d inputs after %d rounds, want %d and %d", len(s.Labels), len(s.Rows),
			s.Rounds, rows, rows*p.Inputs)
	}
	for _, y := range s.Labels {
		if p.Classes == 0 && !(y >= 0 && y <= 1) || p.Classes > 0 && !p.isClass(y) {
			return nil, fmt.Errorf("state: a label is %v, which is not one of the job's", y)
		}
	}
	if err := checkpoint.CheckFinite("the rows", s.Rows); err != nil {
		return nil, err
	}
	if err := checkpoint.CheckFinite("the weights", s.Weights); err != nil {
		return nil, err
	}
	c := NewClient(p, s.Name, packings, [32]byte{})
	c.source = new(rand.ChaCha8)
	if err := c.source.UnmarshalBinary(s.Source); err != nil {
		return nil, fmt.Errorf("state: the source of draws: %w", err)
	}
	copy(c.weights.log, s.Weights)
	c.weights.Refresh()
	c.rounds, c.loss = s.Rounds, s.Loss
	c.window.x, c.window.y = append(c.window.x, s.Rows...), append(c.window.y, s.Labels...)
	return c, nil
}
