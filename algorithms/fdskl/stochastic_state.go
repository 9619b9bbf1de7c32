package fdskl

import (
	"context"
	"fmt"
	"math"

	"github.com/fxamacker/cbor/v2"
)

// stochasticState is a checkpoint of the doubly stochastic loop at one party. Together with the
// job it determines the rest of the run: batches come from the seed and the iteration, angles that
// were held are opened again and are the same.
type stochasticState struct {
	Iteration int       `cbor:"1,keyasint"`
	Scaled    []float64 `cbor:"2,keyasint"`
	Decay     float64   `cbor:"3,keyasint"`
	Running   float64   `cbor:"4,keyasint"`
}

// stateName alternates between two files: parties killed at a checkpoint are one apart at most.
func stateName(iteration int) string {
	return fmt.Sprintf("iteration-%d", (iteration/stochasticCheckpoint)%2)
}

// save writes a checkpoint after the given number of iterations.
func (s *stochastic) save(iteration int) error {
	data, err := cbor.Marshal(stochasticState{Iteration: iteration, Scaled: s.coeffs.scaled, Decay: s.coeffs.decay, Running: s.running})
	if err != nil {
		return err
	}
	return s.Vault.Save(stateName(iteration), data)
}

// saved returns the checkpoints that this party has.
func (s *stochastic) saved() (map[int]stochasticState, error) {
	states := map[int]stochasticState{0: {Decay: 1, Running: math.NaN()}}
	for _, name := range []string{stateName(0), stateName(stochasticCheckpoint)} {
		data, err := s.Vault.Load(name)
		if err != nil {
			return nil, err
		}
		if data == nil {
			continue
		}
		var state stochasticState
		if err := cbor.Unmarshal(data, &state); err != nil {
			return nil, fmt.Errorf("checkpoint %s: %w", name, err)
		}
		states[state.Iteration] = state
	}
	return states, nil
}

// resume agrees on the newest checkpoint that every active party has, takes it, and returns the
// iteration to go on with.
func (s *stochastic) resume(ctx context.Context) (int, error) {
	states, err := s.saved()
	if err != nil {
		return 0, err
	}
	newest := 0
	for n := range states {
		newest = max(newest, n)
	}
	from, err := s.agreeOnStart(ctx, newest, s.Params.Iterations)
	if err != nil || from == 0 {
		return 0, err
	}
	if s.rank >= 0 {
		state, ok := states[from]
		if !ok {
			return 0, fmt.Errorf("the others go on at iteration %d, of which this party has no checkpoint", from)
		}
		s.coeffs = coefficients{scaled: state.Scaled, decay: state.Decay}
		s.running = state.Running
	}
	for n := range from {
		lead := n % len(s.actives)
		for _, o := range s.omegas[lead] {
			o.extend(n*s.Params.BlockFeatures, s.Params.BlockFeatures)
		}
		s.features[lead] += s.Params.BlockFeatures
	}
	return from, nil
}

// model returns the finished model part.
func (s *stochastic) model() *Model {
	m := s.trainer.model()
	m.Iterations = s.Params.Iterations
	if s.rank < 0 {
		return m
	}
	m.Held = s.runs(s.rank)
	m.Alpha = s.coeffs.values()
	if s.rank == 0 {
		m.Objective = s.running
	}
	return m
}
