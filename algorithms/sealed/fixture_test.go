package sealed

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/secagg/rss"
)

// fixture is a job with everybody's data.
type fixture struct {
	names   []string
	params  fdskl.Params
	rows    int
	parts   [][]fdskl.Part // by party; none at one without data
	labels  *joint.Labels  // of p0
	idle    []int          // parties without data
	block   int
	save    int
	window  int                                   // rows of a window where sums are lifted; 0: as many as fit
	vaults  []*vaultInMemory                      // of a training
	scoring []*vaultInMemory                      // and of a prediction
	coin    string                                // seeds the parts of the coin; empty: secure ones
	opened  func(party, kind string, count int64) // hears what opens to whom; may be nil
}

// newFixture makes parties p0, who has the labels, to p(q-1), each but the idle ones with three columns, and
// labels that depend on all of them.
func newFixture(t testing.TB, q, rows int, p fdskl.Params, idle ...int) *fixture {
	t.Helper()
	return newFixtureOf(t, 1, q, rows, p, idle...)
}

// newFixtureOf is newFixture with data and phases that follow from a seed.
func newFixtureOf(t testing.TB, seed uint64, q, rows int, p fdskl.Params, idle ...int) *fixture {
	t.Helper()
	f := &fixture{rows: rows, idle: idle, block: 16, save: 2}
	rng := rand.New(rand.NewPCG(seed<<32|uint64(q), uint64(rows)))
	p.PartyBins, p.PartyColumns = nil, nil
	signal := make([]float64, rows)
	for i := range q {
		name := fmt.Sprintf("p%d", i)
		f.names = append(f.names, name)
		f.vaults, f.scoring = append(f.vaults, newVault()), append(f.scoring, newVault())
		var parts []fdskl.Part
		if !slices.Contains(idle, i) {
			parts = append(parts, newPart(t, name, rng, signal, p))
		}
		f.parts = append(f.parts, parts)
		if p.Binned() {
			bins, columns := 0, 0
			for _, part := range parts {
				bins, columns = bins+len(part.Rows.Binary), columns+len(part.Normaliser.Columns)
			}
			p.PartyBins, p.PartyColumns = append(p.PartyBins, bins), append(p.PartyColumns, columns)
		}
	}
	p.Active, p.Label = []string{"p0"}, "y"
	if p.Binned() {
		p.Lambda = p.LambdaOf(rows)
	}
	if p.Keeper == "" {
		p.Keeper, p.Helper = "p1", "p2"
	}
	if p.Loss == "" {
		p.Loss = "square"
	}
	if p.Ring == 0 && (!p.Binned() || p.Loss == kernel.Square.String()) {
		p.Ring = ringDefault // the others are asked for
	}
	f.params = WithDefaults(p.WithDefaults())
	must(t, f.params.Validate(f.names))
	proposed := f.params // of which a test may take fewer steps of the logistic loss
	if least, _ := outerOf(proposed); proposed.Outer > 0 {
		proposed.Outer = max(proposed.Outer, least)
	}
	must(t, Validate(proposed, f.names))
	f.labels = &joint.Labels{Classes: []string{"no", "yes"}}
	if n := p.Scores(); n > 1 {
		f.labels.Classes = nil
		for k := range n {
			f.labels.Classes = append(f.labels.Classes, fmt.Sprint("class ", k))
		}
	}
	if p.Target == joint.Regression {
		f.labels.Classes = nil
	}
	for _, s := range signal {
		y := math.Copysign(1, s)
		switch {
		case p.Target == joint.Regression:
			y = 3*s + 7
		case p.Scores() > 1: // classes that alternate along the signal, so that none is at its end alone
			y = math.Mod(math.Floor(1.5*(s+40)), float64(p.Scores()))
		}
		f.labels.Values = append(f.labels.Values, y)
	}
	return f
}

// newPart draws a party's columns, adds what they say of the label to signal, and normalises them.
func newPart(t testing.TB, name string, rng *rand.Rand, signal []float64, p fdskl.Params) fdskl.Part {
	t.Helper()
	columns := make([]kernel.Column, 3)
	for c := range columns {
		columns[c] = kernel.Column{Name: fmt.Sprint("c", c), Values: make([]float64, len(signal))}
		for j := range signal {
			columns[c].Values[j] = rng.NormFloat64()
			signal[j] += math.Sin(2*columns[c].Values[j]) + 0.1*rng.NormFloat64()
		}
	}
	options := kernel.FitOptions{Numeric: kernel.MinMax}
	if p.Binned() {
		options = p.Goal().Scales
		options.DropConstant = false
	}
	n, err := kernel.Fit(columns, nil, options)
	must(t, err)
	rows, err := n.Apply(columns)
	must(t, err)
	return fdskl.Part{Owner: ownerOf(name), Normaliser: n, Rows: rows,
		Phase: fdskl.PhaseSeed(keys.HashOf("test phase", []byte(fmt.Sprint(name, rng.Uint64()))))}
}

// ownerOf is the id of a party.
func ownerOf(name string) keys.ID { return keys.ID(keys.HashOf("test owner", []byte(name))) }

// party is one party's part of a training.
func (f *fixture) party(i int, n joint.SealedNetwork, session uint32) *Party {
	p := &Party{
		Party: &fdskl.Party{
			Self: i, Names: f.names, Params: f.params, Privacy: fdskl.Sealed, Parts: f.parts[i], Rows: f.rows,
			Vault: f.vaults[i], Workers: 2,
		},
		Network: n, Session: session, Owner: ownerOf(f.names[i]), BlockRows: f.block, SaveEvery: f.save,
		WindowRows: f.window, Scratch: f.vaults[i].newScratch,
	}
	if i == 0 {
		p.Labels = f.labels
	}
	if f.params.Binned() {
		p.Parts = nil
		if len(f.parts[i]) > 0 {
			p.Bins = &f.parts[i][0]
		}
	}
	if f.coin != "" {
		p.Random = f.randomOf(i)
	}
	if f.opened != nil {
		p.Opened = func(kind string, count int64) { f.opened(f.names[i], kind, count) }
	}
	return p
}

// train trains in a fresh federation and returns all model parts.
func (f *fixture) train(t testing.TB, testNetwork *federation) []*fdskl.Model {
	t.Helper()
	d, err := f.disclose()
	must(t, err)
	testNetwork.declare(t, d)
	models := make([]*fdskl.Model, len(f.names))
	must(t, first(testNetwork.run(func(ctx context.Context, i int, n joint.SealedNetwork) (err error) {
		models[i], err = Train(ctx, f.party(i, n, testNetwork.session))
		return err
	})))
	return models
}

// outline is the fixture's training, in blocks of its size.
func (f *fixture) outline() fdskl.Outline {
	return fdskl.Outline{Params: f.params, Privacy: fdskl.Sealed, Parties: f.names, Rows: f.rows, BlockRows: f.block,
		WindowRows: f.window}
}

// prediction is one with the fixture's model, of which so many rows are scored at a time.
func (f *fixture) prediction(rows, batch, receiver int) fdskl.Outline {
	o := f.outline()
	o.Rows, o.Receiver, o.BatchRows = rows, f.names[receiver], batch
	return o
}

// disclose is the job's disclosure, for blocks of the fixture's size.
func (f *fixture) disclose() (joint.Disclosure, error) {
	return Disclose(f.outline())
}

// predict scores the training rows jointly.
func (f *fixture) predict(t testing.TB, testNetwork *federation, models []*fdskl.Model, receiver int) []float64 {
	t.Helper()
	d, err := Disclose(f.prediction(f.rows, f.rows, receiver))
	must(t, err)
	testNetwork.declare(t, d)
	f.forgetScoring()
	var scores []float64
	must(t, first(testNetwork.run(func(ctx context.Context, i int, n joint.SealedNetwork) error {
		got, err := f.score(ctx, i, n, testNetwork.session, models[i], receiver)
		if i == receiver {
			scores = got
		}
		return err
	})))
	return scores
}

// randomOf is where a party's parts of coins come from.
func (f *fixture) randomOf(i int) *rand.ChaCha8 {
	return rand.NewChaCha8(keys.HashOf("test coin", []byte(f.coin), []byte{byte(i)}))
}

// computed shares words among the three, has them compute with their shares under the pads of a tape, and returns what
// comes out.
func (f *fixture) computed(t testing.TB, pads *tape, words []uint64,
	with func(ctx context.Context, tr *trainer, s rss.Share) (rss.Share, error)) []uint64 {
	t.Helper()
	pads.rewind()
	rng := rand.New(rand.NewPCG(uint64(len(words)), words[0]))
	var c [rss.Roles][]uint64
	for _, w := range words {
		a, b := rng.Uint64(), rng.Uint64()
		c[0], c[1], c[2] = append(c[0], a), append(c[1], b), append(c[2], w-a-b)
	}
	var shares [rss.Roles]rss.Share
	must(t, newLab(f.names, pads.source).run(t, func(ctx context.Context, i int, n joint.SealedNetwork) error {
		tr, err := newTrainer(f.party(i, n, 1))
		if err != nil {
			return err
		}
		shares[tr.role], err = with(ctx, tr, rss.Components(tr.role, c).Clone())
		return err
	}))
	return rss.Reconstruct(shares[rss.LabelHolder], shares[rss.Keeper])
}
