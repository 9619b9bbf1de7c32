package forecast

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/registry"
	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/internal/figures"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/psi"
	"github.com/hanse-project/hanse/secagg/rss"
)

// load is what one party has to do of one kind.
type load struct {
	party int
	kind  Kind
	units float64
	alone bool // on one core, however many there are
}

// step is what the parties do at the same time; the next one begins when all are done.
type step struct {
	loads   []load
	trips   float64 // messages that wait for each other
	workers int     // of each party, with a core each, who do this step of a job in shards; 0: its node does
}

// work is a job, step by step. Messages are not in it, but for how often they wait.
type work struct {
	steps []*step
	// messages of a few rows wait for each other, so that one party after the other works, and one core of each
	inTurn bool
	// of a solver whose steps nobody can count beforehand: what one is, and how many there may be
	turn  *step
	turns int64
	outer int // the most outer steps of a sealed training
}

// then begins a step.
func (w *work) then() *step {
	s := new(step)
	w.steps = append(w.steps, s)
	return s
}

// add adds to what a party does in a step.
func (s *step) add(party int, kind Kind, units float64) {
	s.loads = append(s.loads, load{party, kind, units, false})
}

// alone adds to what a party does on one core.
func (s *step) alone(party int, kind Kind, units float64) {
	s.loads = append(s.loads, load{party, kind, units, true})
}

// Density is what the own table says of how long angles take.
type Density struct {
	Dense, Binary int     // columns of numbers, and of 0 and 1
	Ones          float64 // of the latter, how many are 1 in a row on average
}

// DensityOf reads a table.
func DensityOf(m *kernel.Matrix) Density {
	d := Density{Dense: len(m.Dense), Binary: len(m.Binary)}
	if m.Rows > 0 {
		d.Ones = float64(len(m.Set)) / float64(m.Rows)
	}
	return d
}

// of returns that of a party with so many columns: as the own ones are, or numbers where this party has no table.
func (d Density) of(columns int) (dense, ones float64) {
	own := d.Dense + d.Binary
	if own == 0 {
		return float64(columns), 0
	}
	share := float64(columns) / float64(own)
	return share * float64(d.Dense), share * d.Ones
}

// angles adds the angles of rows at a party with columns.
func (s *step) angles(party int, d Density, columns int, n float64) {
	if columns == 0 {
		return
	}
	dense, ones := d.of(columns)
	if dense > 0 {
		s.add(party, DenseAngle, n)
		s.add(party, DenseTerm, n*dense)
	}
	if ones > 0 {
		s.add(party, BinaryAngle, n)
		s.add(party, BinaryTerm, n*ones)
	}
}

// unknown says why nobody can tell beforehand how long a job takes.
type unknown string

// Error implements error.
func (u unknown) Error() string { return string(u) }

// Known is what a node knows of a job beside its contract.
type Known struct {
	Density Density       // of its table
	Facts   time.Duration // how long it took to read its table and ids, and to state what the contract says of them
	Part    joint.Part    // of a prediction: the node's own of its model; else nil

	Algorithms registry.List // that are known
}

// outline is that of a job over columns.
func (k Known) outline(c *contract.Contract) (joint.Outline, error) {
	return k.Algorithms.Outline(c.Job, k.Part, c.Parties, nil)
}

// workOf is what a contract asks of its parties. The error is an unknown where there is no telling.
func workOf(c *contract.Contract, known Known) (*work, error) {
	j := c.Job
	switch {
	case j.OverClients():
		return nil, unknown("each round waits for its clients' rows")
	case j.Requests > 0:
		return nil, unknown("rows are scored when they are asked for")
	case j.Encrypted():
		return nil, unknown("there is no model of homomorphic encryption")
	case j.Task == contract.TaskAlign:
		return alignment(c)
	}
	o, err := known.outline(c)
	if err != nil {
		return nil, fmt.Errorf("job %q: %w", j.Name, err)
	}
	p, ok := fdskl.ParamsIn(o)
	switch {
	case !ok:
		return nil, unknown("there is no model of " + j.Algorithm)
	case p.Schedule == fdskl.DoublyStochastic:
		return nil, unknown("there is no model of the doubly stochastic schedule")
	case j.Privacy == keys.PrivacySealed:
		return shared(c, p, known.Density)
	case len(p.Active) > 1 && j.Task == contract.TaskTrain:
		return nil, unknown("how often several label holders' solver asks all parties follows from the data")
	}
	return opened(c, p, known.Density)
}

// What the published protocol takes for each angle at each party: lists of float64 and of places are made of it, cut
// and joined again; and a binary column's part is a float64, where turns are added three in a word.
const (
	publishedBytes = 128
	publishedSteps = 20 // as long as a look-up of a cosine
	float64Terms   = 4
)

// drawings is how much the figures of rows take, in rows drawn for each interval: what is drawn is sorted and counted,
// for the model and for what it is held against.
const drawings = 12

// judge adds the figures of all rows, at a party that has scores and labels; of rows that are scored it may have none,
// which nobody else knows.
func (w *work) judge(c *contract.Contract, party int) {
	rows := c.Rows()
	w.then().add(party, Drawn, drawings*float64(rows)*float64(figures.Resamples(rows)))
}

// opened is a training or prediction whose angles open to the party with labels.
func opened(c *contract.Contract, p fdskl.Params, own Density) (*work, error) {
	w, rows, d := new(work), float64(c.Rows()), float64(p.Features)
	angles, n := w.then(), rows*float64(p.Angles())
	angles.workers = c.Job.Shards
	for i := range c.Parties {
		angles.angles(i, own, c.Parties[i].Columns, n)
	}
	active := c.Job.Index(p.Active[0])
	if c.Job.Privacy == keys.PrivacyPublished { // in float64, on one core, sorted by the tree that each angle goes along
		for i := range angles.loads {
			l := &angles.loads[i]
			if l.alone = true; l.kind == BinaryTerm {
				l.units *= float64Terms
			}
		}
		for i := range c.Parties {
			angles.alone(i, Moved, publishedBytes*n)
			angles.alone(i, Cosine, publishedSteps*n)
		}
	}
	if c.Job.Task == contract.TaskPredict {
		scores := w.then()
		scores.workers = c.Job.Shards
		scores.add(active, Cosine, rows*d*float64(p.Scores()))
		w.judge(c, c.Job.Index(c.Job.OpenTo))
		return w, nil
	}
	if c.Job.Shards == 0 { // workers keep none
		angles.alone(active, Written, 2*n)
		angles.alone(active, Hashed, 2*n)
	}
	solve, candidates := w.then(), 0.0
	solve.workers = c.Job.Shards
	heldOut := rows / fdskl.HeldOutShare
	if p.Lambda == 0 {
		candidates = float64(len(fdskl.Candidates()))
	}
	solve.add(active, Cosine, d*float64(p.Scores())*(rows+candidates*heldOut))
	w.judge(c, active)
	if p.Loss == kernel.Square.String() {
		solve.add(active, Gram, rows*d*d)
		if candidates > 0 {
			solve.add(active, Gram, heldOut*d*d)
		}
		if c.Job.Shards > 0 { // workers sum, the node solves
			solve = w.then()
		}
		solve.add(active, Equation, (1+candidates)*d*d*d)
		return w, nil
	}
	w.turn, w.turns = new(step), (1+int64(candidates))*int64(p.Iterations)*int64(p.Scores())
	w.turn.add(active, Cosine, 3*rows*d)
	if side := float64(p.NewtonSide(c.Rows())); side > 0 { // of a step in which all rows count; a hinge's do but at first
		w.turn.add(active, Gram, rows*d*side)
		w.turn.add(active, Equation, side*side*side)
	}
	return w, nil
}

// What a value of the three's arithmetic takes of pads, over all three: of a truncation, and of a feature that is the
// cosine or the sine of an angle. They count the pads that rss.Party.Truncate and the blocks of package sealed draw:
// words, and numbers of as many bits as the value or the feature has, which padded says the bytes of.
const (
	wordsOfTruncation, numbersOfTruncation = 8, 4
	wordsOfFeature, numbersOfFeature       = 2.375, 6 // of an angle 4 words, and three times 16 bits
	turnsOfFeature                         = 4        // look-ups of a cosine and a sine, and what is done with them
)

// Blocks of features of sealed trainings, how many of them are between two checkpoints, or how many rows for each
// feature where that is more, how often a checkpoint is copied on its way, and a row that is picked out of a block.
const (
	blockSize  = 4 << 20
	blocksKept = 8
	rowsKept   = 8
	copiesKept = 3
	picks      = 2
)

// wordSize is how many bytes a word of pads has.
const wordSize = 8

// padded returns how many bytes of a pad a number of so many bits takes: two of 32 bits come from one word.
func padded(bits int) float64 {
	if bits == contract.Ring32.Bits() {
		return wordSize / 2
	}
	return wordSize
}

// shared is a training or prediction on shares of three.
func shared(c *contract.Contract, p fdskl.Params, own Density) (*work, error) {
	w, rows, d := new(work), float64(c.Rows()), float64(p.Features)
	var three [rss.Roles]int
	for i, name := range []string{p.Active[0], p.Keeper, p.Helper} {
		three[i] = c.Job.Index(name)
	}
	each := func(s *step, kind Kind, units float64) {
		for _, party := range three {
			s.add(party, kind, units)
		}
	}

	// The features' shares, block by block, and what they add up to.
	features := w.then()
	features.workers = c.Job.Shards
	features.truncations(c.Sharded, each)
	if !p.Binned() {
		for i := range c.Parties {
			features.angles(i, own, c.Parties[i].Columns, rows*float64(p.Angles()))
		}
		each(features, Padded, (wordsOfFeature*wordSize+numbersOfFeature*padded(p.Ring))*rows*d/rss.Roles)
		each(features, Cosine, turnsOfFeature*rows*d/rss.Roles)
	} else {
		each(features, Padded, wordSize*rows*d)
	}
	scores := float64(p.Scores())
	if c.Job.Task == contract.TaskPredict {
		each(features, Product, 2*rows*d*scores)
		w.then().truncations(c.Operations, each)
		w.judge(c, c.Job.Index(c.Job.OpenTo))
		w.inTurn = true
		return w, nil
	}
	square := Square
	if p.Ring == contract.Ring32.Bits() {
		square = SmallSquare
	}
	each(features, square, rows*d*d)
	each(features, Product, 2*rows*d*scores)

	// What the rows add up to is kept now and then, and then the equations: entries of half a matrix for each part of the
	// rows, and both components of whole ones.
	parts := 1.0
	if p.Lambda == 0 && !p.Binned() {
		parts = 2
		each(features, Moved, picks*2*wordSize*rows*d) // the rows of a part are picked out of their block
	}
	saves := math.Floor(rows / max(blocksKept*blockSize/(wordSize*d), rowsKept*d))
	if c.Job.Shards > 0 { // a worker that ends begins its shard anew
		saves = 0
	}
	kept := parts * wordSize * d * d * (saves/2 + 2)
	for _, kind := range []Kind{Hashed, Written} {
		each(features, kind, kept)
	}
	each(features, Moved, copiesKept*kept)
	each(features, Synced, saves+1)

	// Shares of all features are written to a file where the loss needs them again: encrypted, by a key stream as fast as
	// that of pads.
	file := func(s *step, kind Kind) {
		for role, party := range three {
			s.add(party, kind, float64(sealed.FileBytes(p, c.Rows(), rss.Role(role))))
		}
	}
	file(features, Padded)
	file(features, Written)

	// The steps of the solver: of all candidates on a part of the rows, then three runs.
	steps := func(n int, systems float64) *step {
		s := w.then()
		each(s, Product, 2*float64(n)*systems*d*d)
		s.trips += float64(n) * rss.Roles
		return s
	}
	if p.Lambda == 0 && !p.Binned() {
		steps(p.Iterations, float64(len(fdskl.Candidates()))*scores)
	}
	w.outer = p.Outer
	for e := range max(1, p.Outer) {
		s := steps(p.SolverSteps(), rss.Roles*scores)
		if p.Outer > 0 {
			each(s, Product, 2*rows*d)
			each(s, Padded, 2*padded(p.Ring)*rows*d)
			file(s, Padded)
			if e > 0 {
				each(s, Product, 2*rows*d)
				file(s, Padded)
				each(s, Padded, bytesOfSigmoid*rows)
			}
		}
	}
	weighed := float64(sealed.WeighedRows(p, c.Rows()))
	s := w.then()
	each(s, SmallSquare, 2*weighed*d*d)
	each(s, Padded, float64(bytesOfSigmoid+2*contract.Ring32.WordSize()*p.Features)*weighed)
	s.truncations(c.Operations, each)
	return w, nil
}

// bytesOfSigmoid is how many bytes of pads a score's sigmoid takes at each of the three: what rounds 32 factors, and
// parts of them.
const bytesOfSigmoid = 32 * (8 + 4)

// truncations adds what truncations among some operations of a contract take.
func (s *step) truncations(operations []contract.Operation, each func(s *step, kind Kind, units float64)) {
	var pads float64
	for i := range operations {
		if o := &operations[i]; len(o.Shape) == 1 && strings.HasSuffix(o.Kind, rss.SuffixIn) {
			values := float64(o.Shape[0]) / 2 // two parties send a word of each
			number := float64(wordSize)
			if o.Encoding == contract.Ring32.String() {
				number = padded(contract.Ring32.Bits())
			}
			pads += (wordsOfTruncation*wordSize + numbersOfTruncation*number) * values
		}
	}
	each(s, Padded, pads/rss.Roles)
}

// alignment is a search for common rows.
func alignment(c *contract.Contract) (*work, error) {
	spec, err := psi.SpecOf(c.Job, c.Parties)
	if err != nil {
		return nil, err
	}
	w := new(work)
	for pass := range spec.Passes() {
		n := func(party int) float64 { return float64(spec.Counts[party][pass]) }
		two := []int{spec.Asker, spec.Keeper}

		// Stores come one after the other.
		var outside []int
		for i, counts := range spec.Counts {
			if len(counts) > 0 && !slices.Contains(two, i) {
				outside = append(outside, i)
			}
		}
		stores := w.then()
		for _, i := range outside { // a store of each bucket, with as many keys as it has space for
			if buckets := spec.Buckets; buckets > 1 {
				stores.add(i, StoreKey, float64(buckets*psi.Capacity(spec.Counts[i][pass], buckets)))
			} else {
				stores.alone(i, StoreKey, n(i))
			}
		}
		for range outside {
			s := w.then()
			s.trips = 2
			s.add(spec.Asker, StoreValue, n(spec.Asker))
		}
		own, both := w.then(), w.then()
		for at, i := range two {
			if spec.Helper != psi.None {
				own.add(i, Coded, n(i))
				both.add(spec.Helper, Coded, n(i))
				continue
			}
			own.add(i, PointHash, n(i))
			own.add(i, PointProduct, n(i))
			both.add(i, PointProduct, n(two[1-at]))
			both.alone(i, Coded, n(two[0])+n(two[1]))
		}
		end := w.then()
		end.trips = 10
		for _, i := range outside {
			end.alone(i, Coded, n(i))
		}
	}
	return w, nil
}
