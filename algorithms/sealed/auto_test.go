package sealed

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/secagg/rss"
)

// validate takes the steps in floating point for all candidates on the rows that are not kept out, and returns how much
// nearer to the targets each is on those kept out than their mean, over the next power of two of rows.
func (o *oracle) validate(t testing.TB, f *fixture, candidates []float64) []float64 {
	t.Helper()
	out, err := f.params.HeldOut(f.rows)
	if err != nil {
		t.Fatal(err)
	}
	rows, d := o.z.Dims()
	_, s := o.gram(f)
	gram, right := mat.NewSymDense(d, nil), make([]float64, d)
	kept := 0
	for j := range rows {
		if out[j] {
			continue
		}
		kept++
		gram.SymRankOne(gram, o.scales.s0*2/float64(d*rows), mat.NewVecDense(d, mat.Row(nil, j, o.z)))
		for i := range d {
			right[i] += o.scales.s0 * 2 / float64(d*rows) * o.z.At(j, i) * (o.y[j] - mean(o.y))
		}
	}
	next := math.Pow(2, math.Ceil(math.Log2(float64(rows-kept))))
	var list []float64
	for _, lambda := range candidates {
		// The steps are those of lambda times the share of rows, and so is the diagonal.
		trial := &oracle{scales: o.scales, loss: kernel.Square, steps: o.steps, beta: make([]float64, d),
			lambda: lambda * float64(kept) / float64(rows)}
		system := mat.NewSymDense(d, nil)
		system.CopySym(gram)
		for i := range d {
			system.SetSym(i, i, system.At(i, i)+o.scales.scaled(trial.lambda)/o.scales.kappa)
		}
		trial.solve(f, system, s, right, false)
		q := 0.0
		for j := range rows {
			if out[j] {
				y, score := o.y[j]-mean(o.y), 0.0
				for i := range d {
					score += o.z.At(j, i) * trial.beta[i]
				}
				q += ((score-y)*(score-y) - y*y) / next
			}
		}
		list = append(list, q)
	}
	return list
}

// opened returns what opened of the candidates, from what the three have kept.
func (f *fixture) openedLosses(t testing.TB, tr *trainer) []int64 {
	t.Helper()
	words := make([]uint64, len(tr.candidates))
	for _, i := range rolesOf(f.params, f.names, 0).parties {
		o := openings{session: math.MaxUint32, vault: f.vaults[i]}
		r, err := o.find(tr.losses, 1)
		if err != nil || r == nil {
			t.Fatalf("%s keeps no losses: %v", f.names[i], err)
		}
		for k, w := range r.words {
			words[k] += w
		}
	}
	var list []int64
	for _, w := range words {
		list = append(list, int64(w<<(64-validationWidth))>>(64-validationWidth))
	}
	return list
}

// labelHolder returns the label holder's trainer, without a network.
func (f *fixture) labelHolder(t testing.TB) *trainer {
	t.Helper()
	begun, err := fdskl.Begin(t.Context(), &fdskl.Party{Names: []string{"alone"}, Params: f.alone(),
		Privacy: fdskl.Sealed, Parts: f.parts[0], Rows: f.rows, Labels: f.labels, Network: fdskl.Solo{}, Vault: newVault(),
		Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	p := f.party(0, &counter{names: f.names, stage: func(string) int64 { return 1 }}, 1)
	tr, err := newTrainer(p)
	if err != nil {
		t.Fatal(err)
	}
	tr.begun = begun
	return tr
}

// alone are the parameters of the label holder alone.
func (f *fixture) alone() fdskl.Params {
	p := f.params
	p.Active, p.Sigma = []string{"alone"}, 1
	return p
}

// turned turns a share of the labels over, or adds noise to the numbers of a regression.
func (f *fixture) turned(share float64) *fixture {
	for j := range f.labels.Values {
		u := float64(j*7919%1000) / 1000
		switch {
		case f.params.Target == fdskl.Regression:
			f.labels.Values[j] += 40 * share * (u - 0.5)
		case u < share && f.params.Scores() > 1:
			f.labels.Values[j] = math.Mod(f.labels.Values[j]+1, float64(f.params.Scores()))
		case u < share:
			f.labels.Values[j] *= -1
		}
	}
	return f
}

// TestAutoIsTheSameStepsInTheClear trains in sessions that a contract holds. What opens of each candidate is what the
// same steps leave in floating point, to the last of its bits and what the shares' rounding moves: scores that are
// off by d in the root mean square change a mean square e by at most d(2 sqrt(e) + d), and large scores are off by
// more, in proportion. The label holder takes the oracle's candidate, everybody is told, and the scores are those of
// the steps on all rows with it.
func TestAutoIsTheSameStepsInTheClear(t *testing.T) {
	seen := make(map[float64]bool)
	for name, c := range map[string]struct {
		rows   int
		noise  float64
		params fdskl.Params
		within float64
	}{
		"square":            {200, 0, fdskl.Params{Features: 24, Iterations: 60}, 5e-3},
		"square, noise":     {90, 0.35, fdskl.Params{Features: 64, Iterations: 60}, 5e-3},
		"few rows":          {41, 0, fdskl.Params{Features: 96, Iterations: 100}, 5e-3},
		"regression":        {160, 0.02, fdskl.Params{Features: 96, Iterations: 60, Target: fdskl.Regression}, 5e-3},
		"regression, noise": {80, 0.9, fdskl.Params{Features: 40, Iterations: 60, Target: fdskl.Regression}, 5e-3},
		"three classes":     {160, 0, fdskl.Params{Features: 48, Iterations: 60, Classes: 3}, 5e-3},
		"six classes, few":  {60, 0.3, fdskl.Params{Features: 40, Iterations: 60, Classes: 6}, 5e-3},
		"small":             {200, 0.2, fdskl.Params{Features: 48, Iterations: 60, Ring: 32}, 1e-2},
		"small, classes":    {160, 0, fdskl.Params{Features: 48, Iterations: 60, Ring: 32, Classes: 4}, 1e-2},
		"small, logistic": {150, 0.1, fdskl.Params{Features: 32, Iterations: 40, Ring: 32, Loss: "logistic", Outer: 4},
			3e-2},
		"compact":        {150, 0.2, fdskl.Params{Features: 48, Iterations: 60, Ring: 48}, 4e-2},
		"a public bound": {150, 0.2, fdskl.Params{Features: 48, Iterations: 60, Bound: boundPublic}, 5e-3},
		"logistic":       {150, 0.1, fdskl.Params{Features: 32, Iterations: 40, Loss: "logistic", Outer: 4}, 3e-2},
		"smooth hinge": {150, 0.3, fdskl.Params{Features: 32, Iterations: 40, Loss: "smooth-hinge", Outer: 2},
			3e-2},
	} {
		t.Run(name, func(t *testing.T) {
			c.params.ScoreBits, c.params.Seed = 14, name
			f := newFixture(t, 4, c.rows, c.params).turned(c.noise)
			testNetwork := newFederation(t, f.names)
			models := f.train(t, testNetwork)
			tr := f.labelHolder(t)
			list := f.newOracles(t, models[0].Sigma)
			want, opened := make([]float64, len(tr.candidates)), f.openedLosses(t, tr)
			for _, o := range list {
				for i, q := range o.validate(t, f, tr.candidates) {
					want[i] += math.Ldexp(q, -tr.sumShift())
				}
			}
			guess := tr.guessing()
			for i, q := range want {
				point := tr.point(tr.scaled(tr.candidates[i]) / tr.kappa)
				got := unwrapped(opened[i], point, guess)
				unit, off := math.Ldexp(1, -point), c.within*(2*math.Sqrt(guess+q)+c.within)+math.Abs(q)/100
				if math.Abs(got-q) > unit+off {
					t.Errorf("lambda %v: %v opened, the steps in the clear leave %v", tr.candidates[i], got, q)
				}
			}
			best := tr.best(opened, guess)
			t.Logf("guessing %.4f, steps %.4f, opened %v: lambda %v", guess, want, opened, tr.candidates[best])
			for i, m := range models {
				if m.Lambda != tr.candidates[best] {
					t.Errorf("%s has lambda %v, want %v", f.names[i], m.Lambda, tr.candidates[best])
				}
			}
			if least := slices.Min(want); want[best] > least+math.Ldexp(1, -coarsePoint) {
				t.Errorf("lambda %v leaves %v, the best leaves %v", tr.candidates[best], want[best], least)
			}
			seen[tr.candidates[best]] = true
			for _, o := range list {
				o.lambda = tr.candidates[best]
				o.fit(f, false)
			}
			if d := rms(f.predict(t, testNetwork, models, 0), together(list)); !(d < c.within) {
				t.Errorf("scores differ by %.2g from the same steps with lambda %v, want less than %.2g", d,
					tr.candidates[best], c.within)
			}
			if c.params.Loss == "" {
				f.solved(t, models)
			}
		})
	}
	if len(seen) < 3 {
		t.Errorf("all jobs together choose %v: the test says little", seen)
	}
}

// TestTheChoiceOfLosses takes the larger of two lambdas with one loss, reads what opened in its range, and does not
// look beyond a candidate that is far worse than one before.
func TestTheChoiceOfLosses(t *testing.T) {
	f := newFixture(t, 3, 400, fdskl.Params{Features: 50, Iterations: 5, Sigma: 1})
	tr := f.labelHolder(t)
	guess := tr.guessing()
	word := func(q float64) int64 { return int64(math.Round(math.Ldexp(q, finePoint))) }
	for _, c := range []struct {
		q    []float64
		want int
	}{
		{[]float64{0, 0, 0, 0, 0, 0}, 0},
		{[]float64{-0.1, -0.2, -0.3, -0.3, -0.2, -0.1}, 2},
		{[]float64{-0.1, -0.2, -0.3, -0.4, -0.5, -0.501}, 5},
		{[]float64{-0.1, -0.2, -0.3, -0.4, 0.7, -0.5}, 3},  // worse than guessing, and then out of range
		{[]float64{0.01, 0.01, 0.01, 0.02, 0.02, 0.02}, 0}, // nothing to learn
	} {
		var opened []int64
		for _, q := range c.q {
			opened = append(opened, word(q))
		}
		if got := tr.best(opened, guess); got != c.want {
			t.Errorf("of %v, guessing %.3f, number %d is taken, want %d", c.q, guess, got, c.want)
		}
	}
	many := newFixture(t, 3, 600, fdskl.Params{Features: 50, Iterations: 5, Sigma: 1}).labelHolder(t)
	for _, c := range []struct {
		last float64
		want int
	}{{-0.3, 5}, {-0.3 + 2.0/512, 5}, {-0.3 + 3.0/512, 2}} {
		opened := []int64{word(-0.1), word(-0.2), word(-0.3), word(-0.3), word(-0.3), word(c.last)}
		if got := many.best(opened, guess); got != c.want {
			t.Errorf("with many rows and %v at the smallest, number %d is taken, want %d", c.last, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		point := rapid.SampledFrom([]int{finePoint, coarsePoint}).Draw(t, "point")
		guess := rapid.Float64Range(0, 3).Draw(t, "guess")
		unit := math.Ldexp(1, -point)
		least := -min(guess, 1)
		q := rapid.Float64Range(least, least+math.Ldexp(1, validationWidth-point)-3*unit).Draw(t, "q")
		w := int64(math.Floor(q/unit)) + int64(rapid.IntRange(0, 1).Draw(t, "up")) // as a truncation rounds
		opened := w << (64 - validationWidth) >> (64 - validationWidth)
		if got := unwrapped(opened, point, guess); math.Abs(got-q) > unit {
			t.Fatalf("%v opens as %d and is read as %v", q, opened, got)
		}
	})
}

// TestLiesInTheValidationChooseAndNoMore: whatever one of the three does to the steps for the candidates, or to their
// losses, the training ends with the checked coefficients of one of them.
func TestLiesInTheValidationChooseAndNoMore(t *testing.T) {
	f := newFixture(t, 3, 60, fdskl.Params{Features: 8, Iterations: 12, Sigma: 1, Seed: "s"}).turned(0.3)
	models, _, err := f.attacked(t, "honest")
	if err != nil {
		t.Fatal(err)
	}
	honest := models[0].Lambda
	others := 0
	for _, lie := range []falsehood{
		{rss.Helper, kindTrial + rss.SuffixOut, 1, nil}, {rss.LabelHolder, kindTrial + rss.SuffixOut, 3, nil},
		{rss.Keeper, kindTrial + rss.SuffixCarry, 5, nil}, {rss.Keeper, kindTrialErrors + rss.SuffixIn, 1, nil},
		{rss.LabelHolder, kindTrialErrors + rss.SuffixOut, 1, nil}, {rss.Helper, kindValidation + rss.SuffixOut, 1, nil},
		{rss.LabelHolder, kindValidation + rss.SuffixIn, 1, nil}, {rss.Keeper, kindValidation + rss.SuffixIn, 1, nil},
	} {
		lie.judge = func(words []uint64) {
			for i := range words {
				words[i] += uint64(i+1) * 0x0123456789abcdef
			}
		}
		models, _, err := f.attacked(t, "honest", lie)
		if err != nil {
			t.Errorf("%s of the %s: %v", lie.kind, lie.from, err)
			continue
		}
		for _, m := range models {
			if !slices.Contains(fdskl.Candidates(), m.Lambda) || m.Lambda != models[0].Lambda {
				t.Errorf("%s of the %s: lambda %v", lie.kind, lie.from, m.Lambda)
			}
		}
		if models[0].Lambda != honest {
			others++
		}
		f.solved(t, models)
	}
	if others == 0 {
		t.Error("no lie has changed the choice: the test says little")
	}
}

// TestAddingToTheStepsOfAutoIsCaught: after the choice the check protects what is kept as it does with a lambda of
// the job's own.
func TestAddingToTheStepsOfAutoIsCaught(t *testing.T) {
	f := newFixture(t, 3, 40, fdskl.Params{Features: 8, Iterations: 12, Sigma: 1})
	models, sent, err := f.attacked(t, "honest")
	if err != nil {
		t.Fatal(err)
	}
	step := f.precision(t, models).step
	kind := kindProduct + rss.SuffixOut
	for _, role := range []rss.Role{rss.LabelHolder, rss.Helper} {
		n := sent[kind+" of the "+role.String()]
		for e := 0; e <= 16; e += 8 {
			_, _, err := f.attacked(t, "attack", falsehood{role, kind, n, func(words []uint64) {
				words[6*f.params.Features+1] += 1 << (step + e)
			}})
			wantCaught(t, err)
		}
	}
}

// liar is a Network whose party says another number of a candidate.
type liar struct {
	Network
	says []byte
}

// Broadcast implements Network.
func (l *liar) Broadcast(ctx context.Context, kind string, root int, data []byte, limit int) ([]byte, error) {
	if kind == kindChoice {
		data = l.says
	}
	return l.Network.Broadcast(ctx, kind, root, data, limit)
}

// TestALabelHolderThatLiesInTheChoice gets the candidate that it names, or is named when that is none.
func TestALabelHolderThatLiesInTheChoice(t *testing.T) {
	f := newFixture(t, 3, 60, fdskl.Params{Features: 8, Iterations: 12, Sigma: 1})
	for _, says := range [][]byte{{0}, {5}, {6}, {255}, {}} {
		f.forget()
		models := make([]*fdskl.Model, len(f.names))
		tape := newTape("liar")
		tape.rewind()
		err := newLab(f.names, tape.source).run(t, func(ctx context.Context, i int, n Network) (err error) {
			if i == 0 {
				n = &liar{n, says}
			}
			models[i], err = Train(ctx, f.party(i, n, 1))
			return err
		})
		if len(says) == 1 && int(says[0]) < len(fdskl.Candidates()) {
			if err != nil || models[1].Lambda != fdskl.Candidates()[says[0]] {
				t.Errorf("%v is told: lambda %v, error %v", says, models[1].Lambda, err)
			}
			continue
		}
		var found *rss.DeviationError
		if !errors.As(err, &found) || found.Kind != kindChoice || !slices.Equal(found.Parties, f.names[:1]) {
			t.Errorf("%v is told: error %v", says, err)
		}
	}
}

// TestALabelHolderThatChangesItsLambda names the largest candidate, breaks off among the steps, and names the smallest
// in the next session: the steps would go on with it, and all that the check looks at would be as it should. The others
// name it before they take another step.
func TestALabelHolderThatChangesItsLambda(t *testing.T) {
	f := newFixture(t, 3, 60, fdskl.Params{Features: 8, Iterations: 12, Sigma: 1})
	session := func(number uint32, says byte) error {
		tape := newTape("liar")
		tape.rewind()
		return newLab(f.names, tape.source).run(t, func(ctx context.Context, i int, n Network) error {
			if number > 1 {
				n = n.(*place).again()
			}
			if i == 0 {
				n = &liar{n, []byte{says}}
			}
			_, err := Train(ctx, f.party(i, n, number))
			return err
		})
	}
	if err := session(1, 0); err != nil {
		t.Fatal(err)
	}
	last := f.vaults[2].writes
	for _, again := range []byte{0, 5} {
		f.forget()
		f.vaults[2].writes, f.vaults[2].dieAt = 0, last-6 // one of the last steps that are kept
		if err := session(1, 0); !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		f.vaults[2].dieAt = 0
		if f.vaults[1].files[stageSteps.file(0)] == nil {
			t.Fatal("no step is kept: the attack comes too early")
		}
		f.vaults[0].forget(choiceFile) // the liar does not find itself out
		var found *rss.DeviationError
		err := session(2, again)
		if again == 0 && err != nil {
			t.Errorf("with the same lambda again: %v", err)
		}
		if again != 0 && (!errors.As(err, &found) || found.Kind != kindChoice || !slices.Equal(found.Parties, f.names[:1])) {
			t.Errorf("with another lambda in the second session: %v", err)
		}
	}
}

// TestCandidatesFitTheirWords: a job whose words have no room for the largest lambdas chooses among the others.
func TestCandidatesFitTheirWords(t *testing.T) {
	p := fdskl.Params{Active: []string{"p0"}, Label: "y", Keeper: "p1", Helper: "p2", Loss: "logistic", Features: 1024,
		Ring: ringCompact}
	list, err := candidatesOf(WithDefaults(p.WithDefaults()), 30_000)
	if err != nil || len(list) == 0 || len(list) == len(fdskl.Candidates()) || list[len(list)-1] != 1e-6 {
		t.Errorf("candidates %v, error %v", list, err)
	}
}
