package pofmkl

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/hanse-project/hanse/algorithms/checkpoint"
	"github.com/hanse-project/hanse/algorithms/parameters"
	"github.com/hanse-project/hanse/keys"
)

// clientState is what a client that leaves needs to go on. It holds no row; weights tell something of
// the labels, and are the client's own.
//
// Evolution: fields are added with new numbers, omitempty, and a zero value that keeps the old meaning,
// so that older states keep their bytes; a changed meaning is a new version. Numbers are never used
// twice.
type clientState struct {
	Version    int       `cbor:"1,keyasint"`
	Job        keys.Hash `cbor:"2,keyasint"` // the dictionary's fingerprint
	Bandwidths []float64 `cbor:"3,keyasint"`
	Weights    []float64 `cbor:"4,keyasint"` // logarithms
	Source     []byte    `cbor:"5,keyasint"` // secret
	Rounds     int       `cbor:"6,keyasint"`
	Waiting    int       `cbor:"7,keyasint"`
	Update     []float64 `cbor:"8,keyasint,omitempty"` // when rounds wait for their upload
	Loss       float64   `cbor:"9,keyasint"`
	Kernels    []float64 `cbor:"10,keyasint"` // summed losses
	Name       string    `cbor:"11,keyasint,omitempty"`
	Upload     int       `cbor:"12,keyasint,omitempty"` // that was begun last, from 1, where there is a common bin
}

// State returns the client's state as versioned bytes with a checksum. A prediction that awaits its label
// is not part of it: its row is to be predicted again.
func (c *Client) State() ([]byte, error) {
	source, err := c.source.MarshalBinary()
	if err != nil {
		return nil, err
	}
	s := clientState{
		Version: stateVersion, Job: c.dictionary.fingerprint, Bandwidths: c.dictionary.params.Bandwidths,
		Weights: c.weights.log, Source: source, Rounds: c.rounds, Waiting: c.waiting,
		Loss: c.regret.loss, Kernels: c.regret.kernels, Name: c.name, Upload: c.upload + 1,
	}
	if c.waiting > 0 {
		s.Update = c.update
	}
	return checkpoint.Seal(clientDomain, &s)
}

// RestoreClient makes the client whose State is given, for the same parameters and columns. It goes on as the
// first would have, bit for bit on the same processor.
func RestoreClient(d *Dictionary, state []byte) (*Client, error) {
	s, err := readClient(state)
	if err != nil {
		return nil, err
	}
	if err := checkOrigin(s.Version, s.Job, d.fingerprint); err != nil {
		return nil, err
	}
	if err := s.validate(d.params); err != nil {
		return nil, err
	}
	c := NewClient(d, s.Name, [32]byte{})
	c.source = new(rand.ChaCha8)
	if err := c.source.UnmarshalBinary(s.Source); err != nil {
		return nil, fmt.Errorf("state: the source of bins: %w", err)
	}
	copy(c.weights.log, s.Weights)
	c.weights.refresh()
	c.rounds, c.waiting = s.Rounds, s.Waiting
	c.regret.loss = s.Loss
	copy(c.regret.kernels, s.Kernels)
	if s.Upload > 0 {
		c.upload, c.moved = s.Upload-1, d.params.Moved(s.Upload-1)
	}
	if c.waiting > 0 {
		return c, c.keep(s.Update)
	}
	return c, nil
}

// keep takes over an update that waits for its upload.
func (c *Client) keep(update []float64) error {
	copy(c.update, update)
	for i := range c.touched {
		c.touched[i] = slices.ContainsFunc(part(update, i, c.dictionary.params.Features),
			func(v float64) bool { return v != 0 })
		if c.touched[i] && !slices.Contains(c.moved, i) {
			return fmt.Errorf("state: the update moves kernel %d, which is not in the bin of upload %d",
				i+1, c.upload+1)
		}
	}
	return nil
}

// readClient decodes a state.
func readClient(state []byte) (*clientState, error) {
	s := new(clientState)
	if err := unseal(clientDomain, state, s); err != nil {
		return nil, err
	}
	return s, nil
}

// validate checks a state against the job that it is for.
func (s *clientState) validate(p Params) error {
	if err := checkpoint.CheckVector("weights", s.Weights, p.Kernels()); err != nil {
		return err
	}
	if err := checkpoint.CheckVector("the kernels' losses", s.Kernels, p.Kernels()); err != nil {
		return err
	}
	if s.Rounds < 0 || s.Waiting < 0 || s.Waiting > p.RoundsPerUpload || s.Waiting > s.Rounds ||
		!parameters.IsFinite(s.Loss) {
		return fmt.Errorf("state: %d rounds, %d of them not uploaded, loss %v: want at most %d not uploaded "+
			"and finite numbers", s.Rounds, s.Waiting, s.Loss, p.RoundsPerUpload)
	}
	begun := p.CommonBin && s.Rounds > 0
	if s.Upload < 0 || s.Upload > p.Uploads() || s.Upload > 0 && !p.CommonBin || s.Upload == 0 && begun {
		return fmt.Errorf("state: upload %d was begun after %d rounds, want 1 to %d with a common bin and else 0",
			s.Upload, s.Rounds, p.Uploads())
	}
	if s.Waiting == 0 {
		return checkpoint.CheckVector("the update", s.Update, 0)
	}
	if err := checkpoint.CheckVector("the update", s.Update, p.Words()); err != nil {
		return err
	}
	bound := p.SumBound()
	for i, v := range s.Update {
		if v > bound || v < -bound {
			return fmt.Errorf("state: number %d of the update is %v, want magnitude at most %g", i+1, v, bound)
		}
	}
	return nil
}

// WarmStart takes over the weights, and nothing else, of a client's saved state of an earlier job with the
// same bandwidths; seed, features and steps may differ. It is for a client that has learned
// nothing yet.
func (c *Client) WarmStart(state []byte) error {
	if c.rounds > 0 {
		return fmt.Errorf("weights of an earlier job came after %d rounds, want none", c.rounds)
	}
	s, err := readClient(state)
	if err != nil {
		return fmt.Errorf("weights of an earlier job: %w", err)
	}
	if s.Version != stateVersion {
		return fmt.Errorf("weights of an earlier job: version is %d, this program reads version %d", s.Version, stateVersion)
	}
	if !slices.Equal(s.Bandwidths, c.dictionary.params.Bandwidths) {
		return fmt.Errorf("weights of an earlier job: its %d kernels have other bandwidths than this job's %d",
			len(s.Bandwidths), c.dictionary.params.Kernels())
	}
	if err := checkpoint.CheckVector("weights", s.Weights, c.dictionary.params.Kernels()); err != nil {
		return fmt.Errorf("weights of an earlier job: %w", err)
	}
	copy(c.weights.log, s.Weights)
	c.weights.refresh()
	return nil
}
