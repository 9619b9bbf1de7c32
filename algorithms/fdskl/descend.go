package fdskl

import (
	"context"
	"fmt"
	"math"

	"github.com/fxamacker/cbor/v2"

	"github.com/hanse-project/hanse/algorithms/kernel/lbfgs"
)

// solverCheckpoint is how many solver iterations lie between two checkpoints.
const solverCheckpoint = 10

// objective is a function of the coefficients that L-BFGS minimises; local and joint implement it.
type objective interface {
	lbfgs.Oracle
	size() int
	coefficients(x []float64) (alpha []float64, intercept float64)
	share(ctx context.Context) error
	judged(m *Model)
}

// descend minimises an objective from the last common checkpoint on and writes the result to m.
func (t *trainer) descend(ctx context.Context, m *Model, o objective) error {
	if err := o.share(ctx); err != nil {
		return err
	}
	from, err := t.resumeSolver(ctx)
	if err != nil {
		return err
	}
	settings := lbfgs.Settings{Iterations: t.Params.Iterations, Gradient: 1e-5, Decrease: 1e-8}
	state, _, err := lbfgs.Minimise(ctx, o, make([]float64, o.size()), from, settings, func(s *lbfgs.State) error {
		t.report("solver", s.Iteration, t.Params.Iterations, s.Value)
		if s.Iteration%solverCheckpoint != 0 {
			return nil
		}
		return t.saveSolver(s)
	})
	if err != nil {
		return fmt.Errorf("solver: %w", err)
	}
	m.Alpha, m.Intercept = o.coefficients(state.Alpha)
	m.Objective, m.Iterations = state.Value, state.Iteration
	o.judged(m)
	return nil
}

// solverName alternates between two files, as parties killed at a checkpoint are one apart.
func solverName(iteration int) string {
	return fmt.Sprintf("solver-%d", iteration/solverCheckpoint%2)
}

// saveSolver writes a checkpoint of the solver.
func (t *trainer) saveSolver(s *lbfgs.State) error {
	data, err := cbor.Marshal(s)
	if err != nil {
		return err
	}
	return t.Vault.Save(solverName(s.Iteration), data)
}

// resumeSolver returns the newest solver state that every party taking part has; nil means the
// start. A party that solves alone asks nobody.
func (t *trainer) resumeSolver(ctx context.Context) (*lbfgs.State, error) {
	states := make(map[int]*lbfgs.State)
	newest := 0
	for _, name := range []string{solverName(0), solverName(solverCheckpoint)} {
		data, err := t.Vault.Load(name)
		if err != nil {
			return nil, err
		}
		if data == nil {
			continue
		}
		s := new(lbfgs.State)
		if err := cbor.Unmarshal(data, s); err != nil {
			return nil, fmt.Errorf("checkpoint %s: %w", name, err)
		}
		states[s.Iteration] = s
		newest = max(newest, s.Iteration)
	}
	if len(t.actives) > 1 {
		var err error
		if newest, err = t.agreeAmongAll(ctx, newest, t.Params.Iterations); err != nil {
			return nil, err
		}
	}
	if s, ok := states[newest]; ok || newest == 0 {
		return s, nil
	}
	return nil, fmt.Errorf("the others go on at solver iteration %d, of which this party has no checkpoint", newest)
}

// share implements objective: a party that holds everything has nothing to settle.
func (o *local) share(context.Context) error { return nil }

// judged implements objective.
func (o *local) judged(m *Model) {
	_, m.TrainError = o.judge(o.held, m)
}

// share implements objective.
func (o *joint) share(ctx context.Context) error { return o.agree(ctx) }

// judged implements objective: no party sees all scores of the final model against all labels.
func (o *joint) judged(m *Model) { m.TrainError = math.NaN() }
