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
	return t.save(0, state{Stage: stageSystem, Mean: s.mean, Reach: s.reach}, s.gram.X, s.gram.Y, s.means.X, s.means.Y, sides.X, sides.Y)
}

// savedSystem returns the system at or before a point, nil when it is still to be made.
func (t *trainer) savedSystem(from point) (*system, error) {
	if from.stage < stageSystem {
		return nil, nil
	}
	if t.role == rss.Outside {
		return &system{reach: 1}, nil
	}
	s, err := t.load(stageSystem.file(0))
	if err != nil {
		return nil, err
	}
	if s == nil {
		return nil, fmt.Errorf("the checkpoint of the system is gone")
	}
	sides := t.features
	if t.loss != kernel.Square {
		sides = 0
	}
	list, err := s.shares(t.features*t.features, t.features, sides)
	if err != nil {
		return nil, err
	}
	return &system{gram: list[0], means: list[1], sides: list[2], reach: s.Reach, mean: s.Mean, session: s.Session}, nil
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
	list, err := s.shares(d.features, d.features)
	if err != nil {
		return err
	}
	d.beta, d.direction = list[0], list[1]
	return nil
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
	list, err := s.shares(t.features)
	if err != nil {
		return err
	}
	o.beta, o.intercept = list[0], s.Intercept
	return nil
}
