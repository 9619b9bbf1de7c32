package sealed

import (
	"cmp"
	"fmt"

	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/secagg/rss"
)

// saveSums keeps the sums of a square loss now and then; other losses need the rows themselves again.
func (t *trainer) saveSums(acc *sums, done bool) error {
	block, every := (acc.next+t.BlockRows-1)/t.BlockRows, cmp.Or(t.SaveEvery, saveBlocks)
	if t.role == rss.Outside || done || t.loss != kernel.Square || block%every != 0 || acc.next == t.Rows {
		return nil
	}
	return t.save(block/every, state{Stage: stageSums, Number: acc.next}, acc.squares, acc.columns.X, acc.columns.Y, acc.sides)
}

// savedSums returns the sums at a point, or empty ones.
func (t *trainer) savedSums(from point) (*sums, error) {
	d := t.features
	if t.role == rss.Outside {
		if from.stage == stageSums {
			return &sums{next: from.number}, nil
		}
		return &sums{}, nil
	}
	if from.stage != stageSums {
		return &sums{squares: make([]uint64, triangle(d)), columns: rss.Zero(t.role, d), sides: make([]uint64, d)}, nil
	}
	s, err := t.find(from)
	if err != nil {
		return nil, err
	}
	w, err := s.words(triangle(d), d, d, d)
	if err != nil {
		return nil, err
	}
	if s.Number > t.Rows {
		return nil, fmt.Errorf("checkpoint of %d rows, the job has %d", s.Number, t.Rows)
	}
	return &sums{next: s.Number, squares: w[0], columns: rss.Share{X: w[1], Y: w[2]}, sides: w[3]}, nil
}

// saveSystem keeps the system. Outside the three there is nothing to keep.
func (t *trainer) saveSystem(s *system) error {
	if t.role == rss.Outside {
		return nil
	}
	s.session = t.Session
	sides := s.sides
	if sides.X == nil {
		sides = rss.Zero(t.role, 0)
	}
	return t.save(0, state{Stage: stageSystem, Mean: s.mean, Reach: s.reach}, s.gram.X, s.gram.Y, s.means.X, s.means.Y, sides.X, sides.Y,
		s.multiples.X, s.multiples.Y)
}

// savedSystem returns the system at or before a point, nil when it is still to be made.
func (t *trainer) savedSystem(from point) (*system, error) {
	if from.stage < stageSystem {
		return nil, nil
	}
	if t.role == rss.Outside {
		return &system{reach: 1, precision: t.precisionOf(1)}, nil
	}
	s, err := t.load(stageSystem.file(0))
	if err != nil {
		return nil, err
	}
	if s == nil {
		return nil, fmt.Errorf("the checkpoint of the system is gone")
	}
	sides := runs * t.features
	if t.loss != kernel.Square {
		sides = 0
	}
	list, err := s.shares(t.features*t.features, t.features, sides, runs-1)
	if err != nil {
		return nil, err
	}
	return &system{
		gram: list[0], means: list[1], sides: list[2], multiples: list[3], reach: s.Reach, precision: t.precisionOf(s.Reach),
		mean: s.Mean, session: s.Session,
	}, nil
}

// saveSteps keeps an iteration of a square loss now and then.
func (d *descent) saveSteps() error {
	d.report("steps", d.step, d.Params.Iterations)
	every := cmp.Or(d.SaveEvery, saveSteps)
	if d.role == rss.Outside || d.step%every != 0 {
		return nil
	}
	return d.save(d.step/every, state{Stage: stageSteps, Number: d.step, Rests: d.system.session},
		d.beta.X, d.beta.Y, d.direction.X, d.direction.Y)
}

// resume takes the iteration at a point.
func (d *descent) resume(from point) error {
	if from.stage != stageSteps {
		return nil
	}
	if from.number > d.Params.Iterations {
		return fmt.Errorf("checkpoint of step %d, the job has %d", from.number, d.Params.Iterations)
	}
	for d.step = 0; d.step < from.number; d.step++ {
		if d.step > 0 {
			d.next()
		}
	}
	if d.role == rss.Outside {
		return nil
	}
	s, err := d.find(from)
	if err != nil {
		return err
	}
	list, err := s.shares(runs*d.features, runs*d.features)
	if err != nil {
		return err
	}
	d.beta, d.direction = list[0], list[1]
	return nil
}

// saveSolution keeps the solution: from here on nothing is computed anew.
func (t *trainer) saveSolution(s *solution) error {
	if t.role == rss.Outside {
		return nil
	}
	return t.save(0, state{Stage: stageSolved, Intercept: s.intercept, Reach: s.reach},
		s.beta.X, s.beta.Y, s.offsets.X, s.offsets.Y, s.multiples.X, s.multiples.Y)
}

// savedSolution returns the solution that is kept.
func (t *trainer) savedSolution() (*solution, error) {
	if t.role == rss.Outside {
		return &solution{reach: 1, precision: t.precisionOf(1)}, nil
	}
	s, err := t.load(stageSolved.file(0))
	if err != nil {
		return nil, err
	}
	if s == nil {
		return nil, t.lostSolution()
	}
	list, err := s.shares(runs*t.features, runs, runs-1)
	if err != nil {
		return nil, err
	}
	return &solution{
		beta: list[0], offsets: list[1], multiples: list[2], intercept: s.Intercept, reach: s.Reach, precision: t.precisionOf(s.Reach),
	}, nil
}

// lostSolution says that the steps can not be checked any more.
func (t *trainer) lostSolution() error {
	return &rss.DeviationError{
		Party: t.oneOfThree(), Kind: kindCoin,
		Reason: "the coin that checks the steps has been told, and the solution that it was drawn for is gone at one of them: " +
			"another one would not be checked; propose the job anew",
	}
}

// saveOuter keeps an outer step.
func (t *trainer) saveOuter(o *outer, rests uint32) error {
	if t.role == rss.Outside {
		return nil
	}
	return t.save(o.step, state{Stage: stageOuter, Number: o.step, Rests: rests, Intercept: o.intercept}, o.beta.X, o.beta.Y)
}

// resumeOuter takes the outer step at a point.
func (t *trainer) resumeOuter(o *outer, from point) error {
	if from.stage != stageOuter {
		return nil
	}
	o.step = from.number
	if t.role == rss.Outside {
		return nil
	}
	s, err := t.find(from)
	if err != nil {
		return err
	}
	list, err := s.shares(runs * t.features)
	if err != nil {
		return err
	}
	o.beta, o.intercept = list[0], s.Intercept
	return nil
}
