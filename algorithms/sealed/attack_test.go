package sealed

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/rss"
)

// falsehood is what a party of the three does to one of its messages: the nth of a kind that it sends, counted from 1,
// or in a prediction all of the kind.
type falsehood struct {
	from  rss.Role
	kind  string
	nth   int
	judge func(words []uint64)
}

// attacked trains in a lab in which a party lies. It returns the model parts and the first error, and how many messages
// of each kind each of the three sent.
func (f *fixture) attacked(t testing.TB, seed string, lies ...falsehood) ([]*fdskl.Model, map[string]int, error) {
	t.Helper()
	f.forget()
	pads := newTape(seed)
	pads.rewind()
	l := newLab(f.names, pads.source)
	var mu sync.Mutex
	sent := make(map[string]int)
	l.heard = func(_ int, m *message) error {
		if m.way != wayDirect && m.way != wayShown && m.way != wayVouched {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		name := fmt.Sprintf("%s of the %s", m.kind, m.role)
		sent[name]++
		for _, one := range lies {
			if one.from == m.role && one.kind == m.kind && one.nth == sent[name] {
				one.judge(m.words)
				for i := range m.words { // no more bits than these travel
					m.words[i] &= ^uint64(0) >> (64 - m.bits)
				}
			}
		}
		return nil
	}
	models := make([]*fdskl.Model, len(f.names))
	err := l.run(t, func(ctx context.Context, i int, n joint.SealedNetwork) (err error) {
		models[i], err = Train(ctx, f.party(i, n, 1))
		return err
	})
	return models, sent, err
}

// wantCaught wants the check of the steps to have stopped a training.
func wantCaught(t testing.TB, err error) {
	t.Helper()
	var found *rss.DeviationError
	if !errors.As(err, &found) || found.Kind != kindCheck || !errors.Is(err, contract.ErrDeviation) {
		t.Errorf("the training ends with %v, want a deviation that the check finds", err)
	}
}

// attackedJob is a small training in which s lies between 2 and 8 or wider.
func attackedJob(t testing.TB) *fixture { return attackedClasses(t, 0) }

// attackedClasses is attackedJob for so many classes, 0 for two.
func attackedClasses(t testing.TB, classes int) *fixture {
	return newFixture(t, 3, 40, fdskl.Params{Features: 8, Iterations: 12, Sigma: 1, Lambda: 1e-2, Classes: classes})
}

// TestAddingToTheLastStepIsCaught: each of the three adds C to one coefficient in its last message of the steps, from C
// that reads a bit of a feature up to C beyond all bits that open. The stated probability to pass is below 2^-12 for
// the smallest of them here. Of three classes it is a coefficient of any of them.
func TestAddingToTheLastStepIsCaught(t *testing.T) {
	for _, c := range []struct{ classes, of int }{{0, 0}, {3, 0}, {3, 2}} {
		t.Run(fmt.Sprintf("%d classes, number %d", max(2, c.classes), c.of), func(t *testing.T) {
			attackedClasses(t, c.classes).addingToTheLastStepIsCaught(t, c.of)
		})
	}
}

// addingToTheLastStepIsCaught adds to a coefficient of one class.
func (f *fixture) addingToTheLastStepIsCaught(t *testing.T, class int) {
	models, sent, err := f.attacked(t, "honest")
	must(t, err)
	d, step := f.params.Features, f.precision(t, models).step
	for role := range rss.Role(rss.Roles) {
		kind := kindProduct + rss.SuffixOut // the last of the order to the second: two words a value, the second its part
		n := sent[fmt.Sprintf("%s of the %s", kind, role)]
		at, scale, per := 6*f.params.Scores()*d+class*d+1, step, "out"
		if n == 0 { // the keeper is never last: what it sends carries
			kind, per = kindProduct+rss.SuffixCarry, "carry"
			n, at = sent[fmt.Sprintf("%s of the %s", kind, role)], class*d+1
		}
		for e := -2; e <= 18; e += 4 {
			_, _, err := f.attacked(t, fmt.Sprint("attack ", e), falsehood{role, kind, n, func(words []uint64) {
				words[at] += 1 << (scale + e)
			}})
			if err == nil {
				t.Errorf("the %s adds 2^%d to a coefficient by its last %q, and nobody finds it", role, e, per)
				continue
			}
			wantCaught(t, err)
		}
	}
}

// precision is that of the system which the label holder has kept.
func (f *fixture) precision(t testing.TB, _ []*fdskl.Model) precision {
	t.Helper()
	tr := newParts(&setting{Party: f.party(0, nil, 0)})
	s, err := tr.checkpoints.load(stageSystem.file(0))
	if err != nil || s == nil {
		t.Fatalf("no system: %v", err)
	}
	if tr.scales, err = scalesOf(f.params, f.rows); err != nil {
		t.Fatal(err)
	}
	return tr.precisionOf(s.Reach)
}

// TestCancellingInOneCombinationIsCaught: C added to one coefficient and taken from another cancels in half of all
// vectors of signs, and not in all twenty.
func TestCancellingInOneCombinationIsCaught(t *testing.T) {
	f := attackedJob(t)
	_, sent, err := f.attacked(t, "honest")
	must(t, err)
	p, d := f.precision(t, nil), f.params.Features
	kind := kindProduct + rss.SuffixOut
	n := sent[fmt.Sprintf("%s of the %s", kind, rss.Helper)]
	for _, sign := range []uint64{1, ^uint64(0)} {
		_, _, err := f.attacked(t, "cancelling", falsehood{rss.Helper, kind, n, func(words []uint64) {
			words[6*d] += 1 << p.step
			words[6*d+1] += sign << p.step
		}})
		wantCaught(t, err)
	}
}

// guess counts how often a party that adds e to a coefficient, and s e for a guess of s to both other runs, passes the
// check's limit over all that s may be: the integers of the check themselves, over one vector in which the coefficient
// counts.
func guess(p precision, e float64, by func(s, other uint64) uint64) float64 {
	rng := rand.New(rand.NewPCG(1, math.Float64bits(e)))
	pad := func() uint64 { return rng.Uint64() & (1<<multipleBits - 1) }
	word := uint64(int64(math.Round(math.Ldexp(e, coefBits))))
	packed, shift := contract.Packed(checkWidth), p.multiple+coefBits-checkPoint
	const trials = 1 << 20
	passed := 0
	for range trials {
		known := 1<<multipleBits + pad() + pad() // what the party has of s
		s := known + pad()
		x := s*word - by(s, known)*word
		y := packed.Signed(uint64(int64(x)>>shift)) + int64(rng.Uint64()&1)
		if -p.limit <= y && y <= p.limit {
			passed++
		}
	}
	return float64(passed) / trials
}

// TestGuessesOfTheSecretMultipleFail: whoever adds e passes one run with at most the stated probability, whatever it
// adds to the run; and the controls: who knows s always passes, and 1.5 e for s e passes often where s is narrow.
func TestGuessesOfTheSecretMultipleFail(t *testing.T) {
	p := precision{step: 27, multiple: 15, limit: checkLimit} // that of a9a with 1,024 features: w = 2
	w := math.Ldexp(1, multipleBits-p.multiple)
	for e := -2; e <= 18; e++ {
		size := math.Ldexp(1, e)
		for name, by := range map[string]func(s, known uint64) uint64{
			"the middle of what it may be": func(_, known uint64) uint64 { return known + 1<<(multipleBits-1) },
			"the least it may be":          func(_, known uint64) uint64 { return known },
			"nothing":                      func(_, _ uint64) uint64 { return 0 },
		} {
			got := guess(p, size, by)
			most := passing(p, size, w)
			if got > most+4*math.Sqrt(most/(1<<20))+1e-5 {
				t.Errorf("e = 2^%d, guessing %s: passes one run with %.2g, stated is at most %.2g", e, name, got, most)
			}
		}
	}
	if got := guess(p, 1, func(s, _ uint64) uint64 { return s }); got != 1 {
		t.Errorf("control: with s known it passes with %v, want always", got)
	}
	narrow := precision{step: 27, multiple: narrowest + 3, limit: checkLimit} // a pad 1/32 wide
	if got := guess(narrow, .25, func(_, known uint64) uint64 { return known + 1<<(multipleBits-1) }); got < .3 {
		t.Errorf("control: with a narrow s it passes with %v, want often", got)
	}
}

// passing is the bound of docs/sealed.md on the probability to pass one run with an error of size e in a coefficient,
// by guessing s: the values of one pad for which the number of the check is within its limit, over all of them. Each
// turn of the number's bits has one stretch of them.
func passing(p precision, e, w float64) float64 {
	limit, turn := math.Ldexp(float64(2*p.limit+2), -checkPoint), math.Ldexp(1, checkWidth-checkPoint)
	pad := math.Ldexp(1, multipleBits)
	stretch := limit/(e*w)*pad + 1
	turns := e*w/turn + 1
	return min(1, stretch*turns/pad)
}

// kindsOfLies says what becomes of a lie in each kind of message of a training: true, it is caught, unless it changes
// nothing; false, it spoils what is computed and tells nobody more than the bits that open; see docs/sealed.md.
var kindsOfLies = map[string]bool{
	kindMultiples: true, kindProduct: true, kindRounded: true, kindOffset: true, kindCheck: true,
	kindCheck + rss.SuffixVouched: true,
	kindLabels:                    false, kindFactors: false, kindReshare: false, kindMeans: false,
	kindGram: false, kindSides: false, kindWindows: false, kindSums: false,
	kindNorm: false, kindNormBits: false,
}

// TestALieInEveryMessageIsCaughtOrBounded: each of the three lies in one message of each kind that it sends, in a job
// of two classes and in one of three.
func TestALieInEveryMessageIsCaughtOrBounded(t *testing.T) {
	for _, classes := range []int{0, 3} {
		t.Run(fmt.Sprintf("%d classes", max(2, classes)), func(t *testing.T) {
			everyLie(t, func() *fixture { return attackedClasses(t, classes) })
		})
	}
	t.Run("small", func(t *testing.T) { everyLie(t, func() *fixture { return attackedSmall(t) }) })
}

// attackedSmall is a job with features of 32 bits and windows.
func attackedSmall(t testing.TB) *fixture {
	f := newFixture(t, 3, 40, fdskl.Params{Features: 8, Iterations: 12, Sigma: 1, Lambda: 1e-2, Ring: 32})
	f.window = 16
	return f
}

// everyLie tells each lie in a job.
func everyLie(t *testing.T, job func() *fixture) {
	f := job()
	honest, sent, err := f.attacked(t, "pads")
	must(t, err)
	for _, name := range slices.Sorted(slices.Values(slices.Collect(keysOf(sent)))) {
		kind, who, _ := strings.Cut(name, " of the ")
		role := slices.IndexFunc(roleOrder(), func(r rss.Role) bool { return r.String() == who })
		of, _ := truncationOf(kind)
		caught, known := kindsOfLies[of]
		if !known {
			t.Errorf("nothing is said of lies in %q", kind)
			continue
		}
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewChaCha8(keys.HashOf("lie", []byte(name))))
			f := job()
			models, _, err := f.attacked(t, "pads", falsehood{rss.Role(role), kind, (sent[name] + 1) / 2, func(words []uint64) {
				words[0] = rng.Uint64() >> 1
				words[len(words)-1] = rng.Uint64() >> 1
			}})
			switch {
			case err != nil:
				wantCaught(t, err) // nothing else may end the training: what ends it may tell of what is hidden
			case caught && !sameModel(models, honest):
				t.Error("the model is another one, and nobody finds it")
			}
		})
	}
}

// checkedBits is up to which bit the check sees an error in a coefficient: larger ones are multiples of 2^19, of which
// the width of what opens leaves low bits of features alone.
const checkedBits = coefBits + 19

// sameModel reports whether two trainings have the same coefficients, as any two of the three hold them, up to
// checkedBits.
func sameModel(a, b []*fdskl.Model) bool {
	same := func(x, y []uint64) bool {
		return slices.EqualFunc(x, y, func(v, w uint64) bool { return (v-w)<<(64-checkedBits) == 0 })
	}
	whole := func(m []*fdskl.Model) []uint64 {
		return rss.Reconstruct(rss.Share(*m[0].Shares), rss.Share(*m[1].Shares))
	}
	return same(whole(a), whole(b))
}

// truncationOf returns the kind of the truncation that a message belongs to.
func truncationOf(kind string) (string, bool) {
	for _, suffix := range []string{rss.SuffixIn, rss.SuffixCarry, rss.SuffixOut} {
		if of, ok := strings.CutSuffix(kind, suffix); ok {
			return of, true
		}
	}
	return kind, false
}

// keysOf yields the keys of a map.
func keysOf(m map[string]int) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// TestWidthsHideFeaturesFromALargeCoefficient: a receiver that had got C into a coefficient, past the check, reads that
// feature's cosine in the scores of rows as long as the product has room in the bits that open. From C = 2^7 on it does
// no better than a guess; the control is a job with a range of 1,024, in which the product has room.
func TestWidthsHideFeaturesFromALargeCoefficient(t *testing.T) {
	for _, c := range []struct {
		score, c int
		reads    bool
	}{{16, 3, true}, {16, 7, false}, {16, 9, false}, {16, 12, false}, {16, 18, false}, {1024, 6, true}, {1024, 8,
		true}, {1024, 14, false}} {
		f := newFixture(t, 3, 200, fdskl.Params{Features: 8, Iterations: 20, Sigma: 1, Lambda: 1e-2, ScoreRange: c.score})
		testNetwork := newFederation(t, f.names)
		models := f.train(t, testNetwork)
		o := f.newOracle(t, models[0].Sigma)
		var cosines, guessed []float64
		for feature := range f.params.Features {
			models[1].Shares.Y[feature] += 1 << (coefBits + c.c) // component 0, which both others hold
			models[2].Shares.X[feature] += 1 << (coefBits + c.c)
			for j, score := range f.predict(t, testNetwork, models, 0) {
				cosines = append(cosines, o.z.At(j, feature)+o.means[feature])
				guessed = append(guessed, likeliest(score, math.Ldexp(1, c.c), float64(2*c.score)))
			}
			models[1].Shares.Y[feature] -= 1 << (coefBits + c.c)
			models[2].Shares.X[feature] -= 1 << (coefBits + c.c)
			f.forgetScoring()
		}
		share := rms(guessed, cosines) / rms(make([]float64, len(cosines)), cosines)
		if reads := share < .9; reads != c.reads {
			t.Errorf("range %d, C = 2^%d: the cosines come out with %.2f of a guess's error, want them read: %t", c.score, c.c,
				share, c.reads)
		}
	}
}

// likeliest is the mean of the cosine that a party makes of a score under C times it, where the score itself is a
// number about 0 with deviation 1 and all of it opens modulo turn.
func likeliest(score, c, turn float64) float64 {
	var sum, weight float64
	for _, cosine := range halfTurn() {
		rest := score - c*cosine
		rest -= turn * math.RoundToEven(rest/turn)
		w := math.Exp(-rest * rest / 2)
		sum, weight = sum+w*cosine, weight+w
	}
	return sum / max(weight, math.SmallestNonzeroFloat64)
}

// halfTurn has the cosines of angles close by each other over half a turn.
var halfTurn = sync.OnceValue(func() []float64 {
	all := make([]float64, 1<<13)
	for i := range all {
		all[i] = math.Cos(math.Pi * (float64(i) + .5) / float64(len(all)))
	}
	return all
})

// TestALieInScoringOpensNoMoreBits: each of the three lies in one message of each kind of a prediction. It spoils
// scores; what comes to the receiver has the words and bits that the contract states and no more.
func TestALieInScoringOpensNoMoreBits(t *testing.T) {
	for _, classes := range []int{0, 3} {
		t.Run(fmt.Sprintf("%d classes", max(2, classes)), func(t *testing.T) {
			attackedClasses(t, classes).liesInScoring(t)
		})
	}
	t.Run("small", func(t *testing.T) { attackedSmall(t).liesInScoring(t) })
}

// liesInScoring tells each lie in a prediction.
func (f *fixture) liesInScoring(t *testing.T) {
	models, _, err := f.attacked(t, "honest")
	must(t, err)
	width := scoreWidth(f.params, f.params.ScoreBits)
	score := func(lies ...falsehood) map[string]int {
		f.forgetScoring()
		pads := newTape("scoring")
		pads.rewind()
		l := newLab(f.names, pads.source)
		var mu sync.Mutex
		sent := make(map[string]int)
		l.heard = func(_ int, m *message) error {
			mu.Lock()
			defer mu.Unlock()
			if m.way == wayOpening && (m.bits != width || len(m.words) != f.rows*f.params.Scores() ||
				slices.ContainsFunc(m.words, func(w uint64) bool { return w>>width != 0 })) {
				t.Errorf("%s opens %d words of %d bits, want %d of %d", m, len(m.words), m.bits, f.rows*f.params.Scores(), width)
			}
			if m.way != wayDirect {
				return nil
			}
			sent[m.kind+" of the "+m.role.String()]++
			for _, one := range lies {
				if one.from == m.role && one.kind == m.kind {
					one.judge(m.words)
				}
			}
			return nil
		}
		if err := l.run(t, func(ctx context.Context, i int, n joint.SealedNetwork) error {
			_, err := f.score(ctx, i, n, 1, models[i], 0)
			return err
		}); err != nil {
			t.Errorf("a lie ends the prediction: %v", err) // whether it does might tell something
		}
		return sent
	}
	for name := range score() {
		kind, who, _ := strings.Cut(name, " of the ")
		role := slices.IndexFunc(roleOrder(), func(r rss.Role) bool { return r.String() == who })
		score(falsehood{rss.Role(role), kind, 0, func(words []uint64) {
			for i := range words {
				words[i] += 1 << 40 * uint64(i+1)
			}
		}})
	}
}

// TestScoresAreOfCheckedCoefficients: with features of 32 bits scores have coefficients of fewer bits. Each of three
// adds C to the word of one coefficient in every message of a prediction, where it has as many bits as in the last form
// of the steps or in scores. Were coefficients rounded there, it would read that feature of every row scored: its
// correlation with the scores, of which one or two rows change, would come near 1.
func TestScoresAreOfCheckedCoefficients(t *testing.T) {
	const feature, by = 3, 1 << 3
	for role := range rss.Role(rss.Roles) {
		f := newFixture(t, 3, 60, fdskl.Params{Features: 8, Iterations: 20, Sigma: 1, Lambda: 1e-2, Ring: 32})
		models, _, err := f.attacked(t, "honest")
		must(t, err)
		o := f.newOracle(t, models[0].Sigma)
		read := mat.Col(nil, feature, o.z)
		for _, scale := range []int{coefBits, smallScore} {
			f.forgetScoring()
			pads := newTape("scoring")
			pads.rewind()
			l := newLab(f.names, pads.source)
			l.heard = func(_ int, m *message) error {
				if m.role == role && m.way == wayDirect && m.kind != kindFactors {
					m.words[feature] += by << scale
				}
				return nil
			}
			var scores []float64
			must(t, l.run(t, func(ctx context.Context, i int, n joint.SealedNetwork) error {
				got, err := f.score(ctx, i, n, 1, models[i], 0)
				if i == 0 {
					scores = got
				}
				return err
			}))
			if c := math.Abs(stat.Correlation(scores, read, nil)); c > .97 {
				t.Errorf("the %s adds %d at scale %d, and the scores go with the feature with a correlation of %.3f", role, by,
					scale, c)
			}
		}
	}
}

// TestFactorsStayOpen holds what docs/sealed.md says of them: a label holder that scales the factors of one angle and
// leaves the others out reads the angle's features, as the coefficients mix them, in the scores, in the bits that open
// and no more.
func TestFactorsStayOpen(t *testing.T) {
	const angle, by = 2, 1 << 3
	f := newFixture(t, 3, 60, fdskl.Params{Features: 8, Iterations: 20, Sigma: 1, Lambda: 1e-2})
	models, _, err := f.attacked(t, "honest")
	must(t, err)
	f.forgetScoring()
	pads := newTape("factors")
	pads.rewind()
	l := newLab(f.names, pads.source)
	table, angles := turnTableOf(10), make(chan []uint64, 1)
	l.heard = func(i int, m *message) error {
		switch {
		case m.way == wayPadded && i == 0: // the label holder's padded angles
			angles <- slices.Clone(m.words)
		case m.kind == kindFactors:
			n := len(m.words) / 2
			for k, a := range <-angles {
				cos, sin := table.at(uint16(a))
				times := ^uint64(0) // what was sent is taken off
				if k%f.params.Angles() == angle {
					times += by
				}
				m.words[k] += times * cos
				m.words[n+k] += times * sin
			}
		}
		return nil
	}
	var scores []float64
	must(t, l.run(t, func(ctx context.Context, i int, n joint.SealedNetwork) error {
		got, err := f.score(ctx, i, n, 1, models[i], 0)
		if i == 0 {
			scores = got
		}
		return err
	}))
	o := f.newOracle(t, models[0].Sigma)
	var mix mat.VecDense
	pair, mean := o.z.Slice(0, f.rows, 2*angle, 2*angle+2), stat.Mean(scores, nil)
	centred := mat.NewVecDense(f.rows, slices.Clone(scores))
	for j := range scores {
		centred.SetVec(j, scores[j]-mean)
	}
	must(t, mix.SolveVec(pair, centred))
	mixed := mat.NewVecDense(f.rows, nil)
	mixed.MulVec(pair, &mix)
	if c := stat.Correlation(scores, mixed.RawVector().Data, nil); c < .99 {
		t.Errorf("the scores go with the features with a correlation of %.3f: docs/sealed.md says that this stays open", c)
	}
}

// TestFeaturesStayOpenWhileRowsAreScored holds what docs/sealed.md says of them: a keeper or helper that receives, and
// adds C to one feature of a row in its message of features, reads that feature's coefficient, modulo 16 / C, in the
// score of the row: with C = 64 to 1e-4 where it knows the row's own score. Here it reads another coefficient from the
// score of each row. The control tells the truth, and has no coefficient.
func TestFeaturesStayOpenWhileRowsAreScored(t *testing.T) {
	const by, turn = 64, 16. / 64
	f := newFixture(t, 3, 60, fdskl.Params{Features: 8, Iterations: 20, Sigma: 1, Lambda: 1e-2})
	models, _, err := f.attacked(t, "honest")
	must(t, err)
	scales, err := scalesOf(f.params, f.rows)
	must(t, err)
	d, own, beta := f.params.Features, f.clear(t, models), f.coefficients(models)
	for _, c := range []struct {
		liar rss.Role
		by   uint64
	}{{rss.Keeper, by}, {rss.Helper, by}, {rss.Keeper, 0}} {
		f.forgetScoring()
		pads := newTape("features")
		pads.rewind()
		l := newLab(f.names, pads.source)
		l.heard = func(_ int, m *message) error {
			if m.kind == kindReshare && m.role == c.liar {
				for i := range d {
					m.words[i*d+i] += c.by << scales.sz
				}
			}
			return nil
		}
		receiver := rolesOf(f.params, f.names, 0).parties[c.liar]
		var scores []float64
		must(t, l.run(t, func(ctx context.Context, i int, n joint.SealedNetwork) error {
			got, err := f.score(ctx, i, n, 1, models[i], receiver)
			if i == receiver {
				scores = got
			}
			return err
		}))
		shares := models[receiver].Shares
		var errs []float64
		for i := range d {
			part := shares.X[i] // what its lie would add at itself, whose component stays true: this party knows it
			if c.liar == rss.Helper {
				part += shares.Y[i]
			}
			read := (scores[i]-own[i])/by + math.Ldexp(float64(part%(1<<coefBits)), -coefBits)
			errs = append(errs, math.Abs(math.Remainder(read-beta[i], turn)))
		}
		off := stat.Mean(errs, nil)
		t.Logf("the %s adds %d: the coefficients come out off by %.2g on the mean, %.2g at most", c.liar, c.by, off,
			slices.Max(errs))
		switch {
		case c.by == 0 && off < .01:
			t.Errorf("control: the %s tells the truth, and reads the coefficients to %.2g: the test shows nothing", c.liar, off)
		case c.by != 0 && !(off < 2e-4):
			t.Errorf("the %s reads the coefficients to %.2g: docs/sealed.md says that this stays open", c.liar, off)
		}
	}
}

// TestLabelsBeyondTheRangeAreRefused at the label holder, before anything of the rows leaves.
func TestLabelsBeyondTheRangeAreRefused(t *testing.T) {
	f := newFixture(t, 3, 400, fdskl.Params{Features: 4, Iterations: 2, Sigma: 1, Lambda: 1e-2, Target: joint.Regression})
	f.labels.Values[7] += 1e4
	testNetwork := f.testNetwork(t)
	errs := testNetwork.run(func(ctx context.Context, i int, n joint.SealedNetwork) error {
		_, err := Train(ctx, f.party(i, n, 1))
		return err
	})
	const want = "the label has a value 20 deviations from its mean, and scores of this job end at 16: propose it with " +
		"score_range = 32, or clip the label"
	if errs[0] == nil || errs[0].Error() != want {
		t.Errorf("error is %v\nwant %s", errs[0], want)
	}
}

// TestJobsWhoseStepsCannotBeCheckedAreRefused when they are proposed, and the defaults are not.
func TestJobsWhoseStepsCannotBeCheckedAreRefused(t *testing.T) {
	names := []string{"bank", "telco", "shop"}
	for _, c := range []struct {
		p       fdskl.Params
		refused bool
	}{
		{fdskl.Params{Loss: "square"}, false},
		{fdskl.Params{Loss: "logistic"}, false},
		{fdskl.Params{Loss: "square", Iterations: 1000}, false},
		{fdskl.Params{Loss: "logistic", Iterations: 5000, Lambda: 1e-6}, false}, // of which a step takes a few
		{fdskl.Params{Loss: "square", Iterations: 50000, Lambda: 1e-12, Ring: 64}, true},
	} {
		c.p.Active, c.p.Keeper, c.p.Helper = names[:1], names[1], names[2]
		_, err := Disclose(fdskl.Outline{Params: WithDefaults(c.p.WithDefaults()), Privacy: fdskl.Sealed, Parties: names,
			Rows: 36_632})
		if (err != nil) != c.refused || err != nil && !strings.Contains(err.Error(), "propose fewer iterations") {
			t.Errorf("%s, %d steps, lambda %g: error %v, want one: %t", c.p.Loss, c.p.Iterations, c.p.Lambda, err, c.refused)
		}
	}
}
