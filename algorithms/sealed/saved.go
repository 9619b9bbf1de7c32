package sealed

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/secagg/rss"
)

// savedSums returns the sums at a point, or empty ones.
func (t *assembler) savedSums(from point) (*sums, error) {
	acc := &sums{cuts: t.cuts()}
	if from.stage == stageSums {
		acc.next = from.number
		// A checkpoint at a cut is written before its windows are lifted.
		for acc.lifted < len(acc.cuts) && acc.cuts[acc.lifted].row < acc.next {
			acc.lifted++
		}
	}
	if t.role == rss.Outside {
		return acc, nil
	}
	squares, words, total := triangle(t.features), 0, 0
	if t.lifts() {
		squares, words, total = 0, triangle(t.features), t.sumsOf(1)
		if !t.sharesLabels() {
			total = t.sumsOf(0)
		}
	}
	var lengths []int
	for i := range t.parts() {
		p := part{squares: make([]uint64, squares), window: make([]uint32, words), total: rss.Zero(t.role, total)}
		t.begin(&p, acc.following(i, acc.lifted))
		acc.parts = append(acc.parts, p)
		lengths = append(lengths, squares+words, t.features, t.features, len(p.sides), p.labels.Len(), p.labels.Len(), total,
			total)
	}
	if from.stage != stageSums {
		return acc, nil
	}
	s, err := t.checkpoints.find(from)
	if err != nil {
		return nil, err
	}
	w, err := s.words(lengths...)
	if err != nil {
		return nil, err
	}
	if s.Number > t.Rows {
		return nil, fmt.Errorf("checkpoint of %d rows, the job has %d", s.Number, t.Rows)
	}
	for i := range acc.parts {
		p := &acc.parts[i]
		p.columns, p.sides, p.labels = rss.Share{X: w[1], Y: w[2]}, w[3], rss.Share{X: w[4], Y: w[5]}
		p.total = rss.Share{X: w[6], Y: w[7]}
		if t.lifts() {
			for j, word := range w[0] {
				p.window[j] = uint32(word)
			}
		} else {
			p.squares = w[0]
		}
		w = w[8:]
	}
	return acc, nil
}

// saveSums keeps the sums.
func (t *assembler) saveSums(place int, acc *sums) error {
	var words [][]uint64
	window := slices.Grow(t.space.window[:0], len(acc.parts)*len(acc.parts[0].window))
	for i := range acc.parts {
		p := &acc.parts[i]
		squares := p.squares
		if t.lifts() {
			at := len(window)
			for _, w := range p.window {
				window = append(window, uint64(w))
			}
			squares = window[at:]
		}
		words = append(words, squares, p.columns.X, p.columns.Y, p.sides, p.labels.X, p.labels.Y,
			p.total.X, p.total.Y)
	}
	t.space.window = window
	return t.checkpoints.save(place, state{Stage: stageSums, Number: acc.next}, words...)
}

// saveSystem keeps the system. Outside the three there is nothing to keep.
func (t *assembler) saveSystem(s *system) error {
	if t.role == rss.Outside {
		return nil
	}
	s.session = t.Session
	sides := s.sides
	if sides.X == nil {
		sides = rss.Zero(t.role, 0)
	}
	words := [][]uint64{s.gram.X, s.gram.Y, s.means.X, s.means.Y, sides.X, sides.Y, s.multiples.X, s.multiples.Y}
	if t.candidates != nil {
		words = append(words, s.held.X, s.held.Y, s.labelSides.X, s.labelSides.Y)
	}
	return t.checkpoints.save(0, state{Stage: stageSystem, Intercepts: s.labelMeans, Reach: s.reach}, words...)
}

// savedSystem returns the system at or before a point, nil when it is still to be made.
func (t *assembler) savedSystem(from point) (*system, error) {
	if from.stage < stageSystem {
		return nil, nil
	}
	if t.role == rss.Outside {
		return &system{reach: 1, precision: t.precisionOf(1)}, nil
	}
	s, err := t.checkpoints.load(stageSystem.file(0))
	if err != nil {
		return nil, err
	}
	if s == nil {
		return nil, fmt.Errorf("the checkpoint of the system is gone")
	}
	each, sides := t.sides*t.features, 0
	if t.loss == kernel.Square {
		sides = runs * each
	}
	lengths := []int{t.features * t.features, t.features, sides, runs - 1}
	if t.candidates != nil {
		lengths = append(lengths, t.features*t.features, 2*each)
	}
	list, err := s.shares(lengths...)
	if err != nil {
		return nil, err
	}
	found := &system{
		gram: list[0], means: list[1], sides: list[2], multiples: list[3], reach: s.Reach, precision: t.precisionOf(s.Reach),
		session: s.Session,
	}
	if t.sharesLabels() {
		if found.labelMeans, err = t.checkpoints.intercepts(s); err != nil {
			return nil, err
		}
	}
	if t.candidates != nil {
		found.held, found.labelSides = list[4], list[5]
	}
	return found, nil
}

// saveSteps keeps an iteration of a square loss now and then.
func (d *descent) saveSteps(c *checkpoints, rests uint32) error {
	d.report("steps", d.step, d.Params.Iterations)
	every := cmp.Or(d.SaveEvery, saveSteps)
	if d.role == rss.Outside || d.step%every != 0 {
		return nil
	}
	return c.save(d.step/every, state{Stage: stageSteps, Number: d.step, Rests: rests},
		d.beta.X, d.beta.Y, d.direction.X, d.direction.Y)
}

// resume takes the iteration at a point.
func (d *descent) resume(c *checkpoints, from point) error {
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
	s, err := c.find(from)
	if err != nil {
		return err
	}
	list, err := s.shares(len(d.lines)*d.features, len(d.lines)*d.features)
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
	words := [][]uint64{s.beta.X, s.beta.Y, s.offsets.X, s.offsets.Y, s.multiples.X, s.multiples.Y, s.base.X, s.base.Y}
	if t.tester.z != nil {
		words = append(words, s.roots.X, s.roots.Y)
	}
	if t.secant {
		words = append(words, s.check, make([]uint64, len(s.check)))
	}
	return t.checkpoints.save(0, state{Stage: stageSolved, Intercepts: s.intercepts, Reach: s.reach}, words...)
}

// lostSolution says that the steps can not be checked any more.
func (t *trainer) lostSolution() error {
	return t.checker.oneOfThree(kindCoin, "the coin that checks the steps has been told, and the solution that it was "+
		"drawn for is gone at one of them: another one would not be checked; propose the job anew")
}

// saveOuter keeps an outer step.
func (t *stepper) saveOuter(o *outer, rests uint32) error {
	if t.role == rss.Outside {
		return nil
	}
	return t.checkpoints.save(o.step, state{Stage: stageOuter, Number: o.step, Rests: rests}, o.words()...)
}

// resumeOuter takes the outer step at a point.
func (t *stepper) resumeOuter(ctx context.Context, o *outer, from point) error {
	if from.stage != stageOuter {
		return nil
	}
	o.step = from.number
	var err error
	if o.distance, err = t.openProgress(ctx, o.step, rss.Share{}); err != nil {
		return err
	}
	if t.role == rss.Outside {
		return nil
	}
	s, err := t.checkpoints.find(from)
	if err != nil {
		return err
	}
	return t.restored(o, s)
}
