package sealed

import (
	"context"
	"errors"
	"math"
	"math/bits"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/secagg/rss"
)

// validate takes the steps in floating point for all candidates on the rows that are not kept out, and returns how much
// nearer to the targets each is on those kept out than their mean, over the next power of two of rows.
func (o *oracle) validate(t testing.TB, f *fixture, candidates []float64) []float64 {
	t.Helper()
	out := f.keptOut(t)
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

// keptOut tells the rows that were kept out, from what the three have kept of the coin.
func (f *fixture) keptOut(t testing.TB) []bool {
	t.Helper()
	var parts [][]byte
	for _, i := range rolesOf(f.params, f.names, 0).parties {
		kept, err := f.vaults[i].Load(rowsFile)
		if err != nil || len(kept) != keptSize {
			t.Fatalf("%s keeps %d bytes of the coin of the rows: %v", f.names[i], len(kept), err)
		}
		parts = append(parts, kept[:partSize])
	}
	return f.drawnBy(parts)
}

// drawnBy tells the rows that the parts of a coin keep out.
func (f *fixture) drawnBy(parts [][]byte) []bool {
	return heldOutOf(f.rows, 0, f.rows, keys.HashOf("hanse row coin v1", parts...))
}

// labelHolder returns the label holder's trainer, without a network.
func (f *fixture) labelHolder(t testing.TB) *trainer {
	t.Helper()
	begun, err := fdskl.Begin(t.Context(), &fdskl.Party{Names: []string{"alone"}, Params: f.alone(),
		Privacy: fdskl.Sealed, Parts: f.parts[0], Rows: f.rows, Labels: f.labels, Network: fdskl.Solo{}, Vault: newVault(),
		Workers: 1})
	must(t, err)
	p := f.party(0, newTracer(f.outline()), 1)
	tr, err := newTrainer(p)
	must(t, err)
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
		case f.params.Target == joint.Regression:
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
		"regression":        {160, 0.02, fdskl.Params{Features: 96, Iterations: 60, Target: joint.Regression}, 5e-3},
		"regression, noise": {80, 0.9, fdskl.Params{Features: 40, Iterations: 60, Target: joint.Regression}, 5e-3},
		"three classes":     {160, 0, fdskl.Params{Features: 48, Iterations: 60, Classes: 3}, 5e-3},
		"six classes, few":  {60, 0.3, fdskl.Params{Features: 40, Iterations: 60, Classes: 6}, 5e-3},
		"small":             {200, 0.2, fdskl.Params{Features: 48, Iterations: 60, Ring: 32}, 1e-2},
		"small, classes":    {160, 0, fdskl.Params{Features: 48, Iterations: 60, Ring: 32, Classes: 4}, 1e-2},
		"small, logistic": {150, 0.1, fdskl.Params{Features: 32, Iterations: 40, Ring: 32, Loss: "logistic"},
			3e-2},
		"compact":        {150, 0.2, fdskl.Params{Features: 48, Iterations: 60, Ring: 48}, 4e-2},
		"a public bound": {150, 0.2, fdskl.Params{Features: 48, Iterations: 60, Bound: boundPublic}, 5e-3},
		"logistic":       {150, 0.1, fdskl.Params{Features: 32, Iterations: 40, Loss: "logistic"}, 3e-2},
		"logistic, noise": {150, 0.3, fdskl.Params{Features: 32, Iterations: 40, Loss: "logistic"},
			3e-2},
	} {
		t.Run(name, func(t *testing.T) {
			c.params.ScoreBits, c.params.Seed = 14, name
			f := newFixture(t, 4, c.rows, c.params).turned(c.noise)
			f.coin = "2 " + name
			testNetwork := newFederation(t, f.names)
			models := f.train(t, testNetwork)
			tr := f.labelHolder(t)
			list := f.newOracles(t, models[0].Sigma)
			want := make([]float64, len(tr.candidates))
			for _, o := range list {
				for i, q := range o.validate(t, f, tr.candidates) {
					want[i] += math.Ldexp(q, -tr.chooser.sumShift())
				}
			}
			best := slices.Index(tr.candidates, models[0].Lambda)
			guess, kept := f.guessing(t, tr), math.Ldexp(float64(tr.chooser.keptLoss()), -lossPoint)
			t.Logf("guessing %.4f, steps %.4f: lambda %v", guess, want, models[0].Lambda)
			for i, m := range models {
				if best < 0 || m.Lambda != models[0].Lambda {
					t.Fatalf("%s has lambda %v, want that of all, one of %v", f.names[i], m.Lambda, tr.candidates)
				}
			}
			off := func(q float64) float64 { return c.within*(2*math.Sqrt(guess+q)+c.within) + math.Abs(q)/100 }
			many := fdskl.Many(f.rows-tr.checker.heldOutRows(), f.params.Features)
			for i, q := range want {
				allowed := 0.0
				if last := len(want) - 1; many && best == last {
					allowed = kept
				} else if many && i == last {
					allowed = -kept
				}
				if want[best] > q+allowed+off(want[best])+off(q) {
					t.Errorf("lambda %v leaves %v, and %v leaves %v", tr.candidates[best], want[best], tr.candidates[i], q)
				}
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

// guessing returns the mean squared error of guessing the mean on the rows kept out, as q has it: over the next power
// of two of rows, and of classes a quarter of the sum.
func (f *fixture) guessing(t testing.TB, tr *trainer) float64 {
	t.Helper()
	var sum float64
	for k := range tr.sides {
		y := tr.begun.Targets(k)
		for j, out := range f.keptOut(t) {
			if out {
				sum += (y[j] - mean(y)) * (y[j] - mean(y))
			}
		}
	}
	return sum / float64(int(1)<<(bits.Len(uint(tr.checker.heldOutRows()-1))+tr.chooser.sumShift()))
}

// won compares losses in shares, in units of 2^-lossPoint, and returns the number of the winner.
func (f *fixture) won(t testing.TB, seed string, losses []int64) int {
	t.Helper()
	return f.wonBeside(t, seed, losses, make([]int64, len(losses)))
}

// wonBeside is won by a label holder that adds a number to its part of each loss where it shares the bits of their
// differences, and not elsewhere.
func (f *fixture) wonBeside(t testing.TB, seed string, losses, added []int64) int {
	t.Helper()
	words := make([]uint64, len(losses))
	for i, q := range losses {
		words[i] = uint64(q)
	}
	return int(f.computed(t, newTape(seed), words, func(ctx context.Context, tr *trainer, s rss.Share) (rss.Share, error) {
		if tr.role == rss.LabelHolder {
			for i, x := range added {
				s.X[i] += uint64(x)
			}
		}
		return tr.chooser.winner(ctx, len(losses), s)
	})[0])
}

// TestTheWinnerHasTheSmallestLoss: the first one of several, and where rows are many the last candidate if it is as
// good but for a 256th, however large the losses are and however near to each other.
func TestTheWinnerHasTheSmallestLoss(t *testing.T) {
	few := newFixture(t, rss.Roles, 400, fdskl.Params{Features: 50, Iterations: 5, Sigma: 1})
	many := newFixture(t, rss.Roles, 600, fdskl.Params{Features: 50, Iterations: 5, Sigma: 1})
	kept := many.labelHolder(t).chooser.keptLoss()
	if want := math.Ldexp(120.0/128/256, lossPoint); math.Abs(float64(kept)-want) > 0.5 { // 120 rows of 600, over 128
		t.Errorf("a 256th is %d, want %v", kept, want)
	}
	unit := func(list ...float64) (words []int64) {
		for _, q := range list {
			words = append(words, int64(math.Round(math.Ldexp(q, lossPoint))))
		}
		return words
	}
	const most, near = 1<<(lossRange+lossPoint) - 1, 1.0 / (1 << lossPoint)
	for _, c := range []struct {
		f      *fixture
		losses []int64
		want   int
	}{
		{few, unit(0, 0, 0, 0, 0, 0), 0},
		{few, unit(-0.1, -0.2, -0.3, -0.3, -0.2, -0.1), 2},
		{few, unit(-0.1, -0.2, -0.3, -0.4, -0.5, -0.5-near), 5},
		{few, unit(-0.1, -0.2, -0.3, -0.4, 0.7, -0.5), 5},
		{few, unit(0.01, 0.01, 0.01, 0.02, 0.02, 0.02), 0},
		{few, []int64{most, most, -most, most, most, most}, 2},
		{few, []int64{most, -1, -most, most, most, -most - 1}, 5},
		{few, unit(0.3, 0.2, 0.1, 0.05), 3},
		{few, unit(0.3), 0},
		{many, unit(-0.1, -0.2, -0.3, -0.3, -0.3, -0.3), 5},
		{many, unit(-0.1, -0.2, -0.3, -0.3, -0.3, -0.3+0.0036), 5},
		{many, unit(-0.1, -0.2, -0.3, -0.3, -0.3, -0.3+0.0037), 2},
		{many, unit(-0.1, -0.298, -0.3, -0.3, -0.3, -0.295), 2},
	} {
		if got := c.f.won(t, "the winner", c.losses); got != c.want {
			t.Errorf("of %v number %d wins, want %d", c.losses, got, c.want)
		}
	}
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(r, "candidates")
		one := rapid.OneOf(rapid.Int64Range(-5, 5), rapid.Int64Range(-most-1, most), rapid.Int64Range(-500, 500))
		losses := rapid.SliceOfN(one, n, n).Draw(r, "losses")
		f, want := few, 0
		for i, q := range losses {
			if q < losses[want] {
				want = i
			}
		}
		if rapid.Bool().Draw(r, "many") {
			if f = many; losses[n-1] <= losses[want]+int64(kept) {
				want = n - 1
			}
		}
		if got := f.won(t, rapid.String().Draw(r, "pads"), losses); got != want {
			r.Fatalf("of %v number %d wins, want %d", losses, got, want)
		}
	})
}

// TestALyingLabelHolderReadsThresholds documents what stays open: one that adds a number to its part of a loss, where
// it shares the bits of their differences, is told whether a loss is larger than another by that number.
func TestALyingLabelHolderReadsThresholds(t *testing.T) {
	f := newFixture(t, rss.Roles, 400, fdskl.Params{Features: 50, Iterations: 5, Sigma: 1})
	for second, want := range map[int64]int{-13000: 0, -13001: 1, -13002: 1} {
		losses := []int64{-20000, second, 0, 100, 200, 300}
		if got := f.won(t, "honest", losses); got != 0 {
			t.Errorf("of %v number %d wins, want 0", losses, got)
		}
		if got := f.wonBeside(t, "lying", losses, []int64{0, 13000 - 20000, 0, 0, 0, 0}); got != want {
			t.Errorf("of %v, beside a lie, number %d wins, want %d", losses, got, want)
		}
	}
}

// TestLiesInTheValidationChooseAndNoMore: whatever one of the three does to the steps for the candidates, or to their
// losses, the training ends with the checked coefficients of one of them.
func TestLiesInTheValidationChooseAndNoMore(t *testing.T) {
	f := newFixture(t, 3, 60, fdskl.Params{Features: 8, Iterations: 12, Sigma: 1, Seed: "s"}).turned(0.3)
	models, _, err := f.attacked(t, "honest")
	must(t, err)
	honest := models[0].Lambda
	others := 0
	for _, lie := range []falsehood{
		{rss.Helper, kindTrial + rss.SuffixOut, 1, nil}, {rss.LabelHolder, kindTrial + rss.SuffixOut, 3, nil},
		{rss.Keeper, kindTrial + rss.SuffixCarry, 5, nil}, {rss.Keeper, kindTrialErrors + rss.SuffixIn, 1, nil},
		{rss.LabelHolder, kindTrialErrors + rss.SuffixOut, 1, nil}, {rss.Helper, kindLosses + rss.SuffixOut, 1, nil},
		{rss.LabelHolder, kindLosses + rss.SuffixIn, 1, nil}, {rss.Keeper, kindLosses + rss.SuffixIn, 1, nil},
		{rss.LabelHolder, kindRankingBits, 1, nil}, {rss.Keeper, kindRanking + rss.SuffixIn, 1, nil},
		{rss.Helper, kindRanking + rss.SuffixOut, 4, nil}, {rss.LabelHolder, kindRanking + rss.SuffixCarry, 9, nil},
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
	must(t, err)
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

// liar is a joint.SealedNetwork whose party says another number of a candidate.
type liar struct {
	joint.SealedNetwork
	says []byte
}

// Broadcast implements joint.SealedNetwork.
func (l *liar) Broadcast(ctx context.Context, kind string, root int, data []byte, limit int) ([]byte, error) {
	if kind == kindChoice {
		data = l.says
	}
	return l.SealedNetwork.Broadcast(ctx, kind, root, data, limit)
}

// TestALabelHolderThatLiesInTheChoice gets the candidate that it names, or is named when that is none.
func TestALabelHolderThatLiesInTheChoice(t *testing.T) {
	f := newFixture(t, 3, 60, fdskl.Params{Features: 8, Iterations: 12, Sigma: 1})
	for _, says := range [][]byte{{0}, {5}, {6}, {255}, {}} {
		f.forget()
		models := make([]*fdskl.Model, len(f.names))
		tape := newTape("liar")
		tape.rewind()
		err := newLab(f.names, tape.source).run(t, func(ctx context.Context, i int, n joint.SealedNetwork) (err error) {
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
		return newLab(f.names, tape.source).run(t, func(ctx context.Context, i int, n joint.SealedNetwork) error {
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
	must(t, session(1, 0))
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
