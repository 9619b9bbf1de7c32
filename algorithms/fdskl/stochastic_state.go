package fdskl

import (
	"context"
	"fmt"

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

// save writes a checkpoint of an active party after the given number of iterations; the others have
// nothing to keep. The last one may come early; it is numbered like the others, lest it take the slot
// of its predecessor.
func (s *stochastic) save(iteration int) error {
	if s.rank < 0 {
		return nil
	}
	data, err := cbor.Marshal(stochasticState{Iteration: iteration, Scaled: s.coeffs.scaled, Decay: s.coeffs.decay,
		Running: s.running})
	if err != nil {
		return err
	}
	n := (iteration + stochasticCheckpoint - 1) / stochasticCheckpoint
	return s.Vault.Save(slotName("iteration", n), data)
}

// resume agrees on the newest checkpoint that every active party has, takes it, and returns the
// iteration to go on with.
func (s *stochastic) resume(ctx context.Context) (int, error) {
	states, err := loadSlots(s.Vault, "iteration", func(s *stochasticState) int { return s.Iteration })
	if err != nil {
		return 0, err
	}
	from, err := s.checkpoints.newestCommon(ctx, "resume-point", s.actives, numbers(states), s.Params.Iterations)
	if err != nil || from == 0 {
		return 0, err
	}
	if s.rank >= 0 {
		s.coeffs = coefficients{scaled: states[from].Scaled, decay: states[from].Decay}
		s.running = states[from].Running
	}
	for n := range from {
		s.grow(n)
	}
	return from, s.checkResumed(from)
}

// checkResumed refuses a checkpoint that is not of this job.
func (s *stochastic) checkResumed(from int) error {
	if s.rank >= 0 && len(s.coeffs.scaled) != s.features[s.rank] {
		return fmt.Errorf("the checkpoint of iteration %d has %d coefficients, want %d", from, len(s.coeffs.scaled),
			s.features[s.rank])
	}
	return nil
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
