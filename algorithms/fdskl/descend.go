package fdskl

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/fxamacker/cbor/v2"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel/lbfgs"
)

// solver finds the coefficients.
type solver struct {
	*setting
	checkpoints *checkpoints
}

// solverCheckpoint is how many solver iterations lie between two checkpoints.
const solverCheckpoint = 10

// solverHistory is how many pairs of vectors L-BFGS keeps.
const solverHistory = 10

// solverSums is how often the solver asks for inner products, at most, for each evaluation.
const solverSums = 2

// maxEvaluations bounds the evaluations of the objective in one session of a run of so many
// iterations. One iteration takes 50 at most (two line searches of 25); a run that has used up two
// for each stops at the next. All parties count alike.
func maxEvaluations(iterations int) int { return 2*iterations + 50 }

// errEnough ends a run that has reached the optimum or has used up its evaluations.
var errEnough = errors.New("the run is over")

// objective is a function of the coefficients that L-BFGS minimises; local and split implement it.
type objective interface {
	lbfgs.Oracle
	size() int
	count() int // of rows
	coefficients(x []float64) (alpha []float64, intercept float64)
	share(ctx context.Context) error
	judged(m *Model)
}

// descend minimises an objective and writes the result to m.
func (t *solver) descend(ctx context.Context, m *Model, o objective) error {
	state, q, err := t.minimum(ctx, o)
	if err != nil || state == nil {
		return err
	}
	m.Alpha, m.Intercept = o.coefficients(state.Alpha)
	m.Objective, m.Iterations, m.ToGo = state.Value, state.Iteration, ToGo(q)
	o.judged(m)
	return nil
}

// descendEach minimises, for each of three or more classes, the objective of that class against all others.
func (t *solver) descendEach(ctx context.Context, m *Model, o *local) error {
	for k := range t.Params.Scores() {
		t.class = k
		t.target.against(k)
		state, q, err := t.minimum(ctx, o)
		if err != nil {
			return fmt.Errorf("class %q: %w", t.target.Classes[k], err)
		}
		var f Coefficients
		f.Alpha, f.Intercept = o.coefficients(state.Alpha)
		m.Against = append(m.Against, f)
		m.Iterations += state.Iteration
		m.ToGo = max(m.ToGo, ToGo(q))
	}
	m.Objective, m.TrainError = t.judge(o.held, m, o.lambda)
	return nil
}

// minimum finds the minimum of an objective from the last common checkpoint on; in a dry run it has none. q is how far
// it is from where the run ended, as Reached bounds it.
func (t *solver) minimum(ctx context.Context, o objective) (_ *lbfgs.State, q float64, err error) {
	if err := o.share(ctx); err != nil {
		return nil, 0, err
	}
	from, err := t.resumeSolver(ctx, o.size())
	if err != nil {
		return nil, 0, err
	}
	if t.tracer != nil {
		return nil, 0, t.tracer.solver(ctx, o.(*split))
	}
	state, q, err := t.minimise(ctx, o, make([]float64, o.size()), from, t.Vault)
	if err != nil {
		return nil, 0, fmt.Errorf("solver: %w", err)
	}
	return state, q, nil
}

// minimise runs the objective's solver from a state on, or from a start, and keeps states in a vault unless that is
// nil: newton where one party has all it needs, L-BFGS for several parties and for objectives that are too large.
func (t *solver) minimise(ctx context.Context, o objective, start []float64, from *lbfgs.State, vault joint.Vault) (
	_ *lbfgs.State, q float64, err error) {
	if alone, ok := o.(*local); ok && alone.solvable() {
		return alone.newton(ctx, start, from, vault)
	}
	settings := lbfgs.Settings{History: solverHistory, Iterations: t.Params.Iterations, Gradient: 1e-9, Decrease: 1e-12}
	last := from
	n := float64(o.count())
	state, _, err := lbfgs.Minimise(ctx, o, start, from, settings, func(s *lbfgs.State) error {
		if vault != nil {
			t.report("solver", s.Iteration, t.Params.Iterations, s.Value)
		}
		last = s
		if s.Evaluations >= 2*t.Params.Iterations {
			return errEnough
		}
		if s.Iteration%solverCheckpoint != 0 {
			return nil
		}
		// Who has reached the optimum does not save, lest a resumed run go on from here.
		if n*s.ToGo() <= Reached {
			return errEnough
		}
		if vault == nil {
			return nil
		}
		data, err := cbor.Marshal(s)
		if err != nil {
			return err
		}
		return vault.Save(slotName(solverFile(t.class), s.Iteration/solverCheckpoint), data)
	})
	if errors.Is(err, errEnough) {
		state, err = last, nil
	}
	if err != nil {
		return nil, 0, err
	}
	return state, n * state.ToGo(), nil
}

// resumeSolver returns the newest solver state that every party taking part has; nil means the
// start. A party that solves alone asks nobody.
func (t *solver) resumeSolver(ctx context.Context, size int) (*lbfgs.State, error) {
	states, err := loadSlots(t.Vault, solverFile(t.class), func(s *lbfgs.State) int { return s.Iteration })
	if err != nil {
		return nil, err
	}
	from := slices.Max(append(numbers(states), 0))
	if len(t.actives) > 1 {
		from, err = t.checkpoints.newestCommon(ctx, KindSolverPoint, t.everybody(), numbers(states), t.Params.Iterations)
		if err != nil {
			return nil, err
		}
	}
	s := states[from]
	if s != nil && len(s.Alpha) != size {
		return nil, fmt.Errorf("the checkpoint of solver iteration %d has %d variables, want %d", from, len(s.Alpha), size)
	}
	return s, nil
}

// share implements objective: a party that holds everything has nothing to settle.
func (o *local) share(context.Context) error { return nil }

// judged implements objective.
func (o *local) judged(m *Model) {
	_, m.TrainError = o.solver.judge(o.held, m, o.lambda)
}

// share implements objective.
func (o *split) share(ctx context.Context) error { return o.agree(ctx) }

// judged implements objective: no party sees all scores of the final model against all labels.
func (o *split) judged(m *Model) { m.TrainError = math.NaN() }
