package sealed

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/hanse-project/hanse/secagg/rss"
)

// observed is what a sigmoid's messages look like.
type observed struct {
	turns                 []uint64  // A, of each row, at the label holder
	turned, sines, halves histogram // of A, and of the words to keeper and helper
}

// observe shares the sigmoids of scores without the pads of some uses, and notes what each message has.
func observe(t *testing.T, scores []float64, blank ...rss.Use) *observed {
	t.Helper()
	l := newSigmoidLab(t, "bins", kindProbabilities, 11)
	l.source = func(r rss.Role, session int) rss.Source {
		s := streams(r, session)
		for _, use := range blank {
			s = without{s, use}
		}
		return s
	}
	l.deal(t, scores)
	o := new(observed)
	for _, term := range l.terms[rss.LabelHolder] {
		o.turns = append(o.turns, (term+1<<(l.unit-1))>>l.unit)
	}
	var mu sync.Mutex
	came := [rss.Roles]int{}
	l.heard = func(_ int, m *message) error {
		mu.Lock()
		defer mu.Unlock()
		switch m.kind {
		case kindTurns:
			for j, w := range m.words {
				o.turns[came[m.role]+j] += w
			}
			came[m.role] += len(m.words)
		case kindSines:
			o.sines.add(m)
		case kindProbabilities:
			o.halves.add(m)
		}
		return nil
	}
	must(t, l.run(t))
	for j := range o.turns {
		o.turns[j] &= 1<<turnBits - 1
	}
	o.turned.add(&message{bits: turnBits, words: o.turns})
	return o
}

// follows is how much A follows the scores: the largest correlation of the cosine or the sine of one of its sines'
// angles with the score, in standard errors of none.
func (o *observed) follows(scores []float64) float64 {
	most := 0.0
	for i := range sines {
		cos, sin := make([]float64, len(scores)), make([]float64, len(scores))
		for j, a := range o.turns {
			cos[j], sin[j] = pairOf(int(a), i, false)
		}
		most = max(most, math.Abs(stat.Correlation(cos, scores, nil)), math.Abs(stat.Correlation(sin, scores, nil)))
	}
	return most * math.Sqrt(float64(len(scores)))
}

// What is seen by chance: of 32 correlations the largest passes five standard errors once in 50,000 times.
const (
	chanceFollows = 5
	observedRows  = 100_000
)

// drawnScores are scores of a row each.
func drawnScores(seed uint64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 2))
	scores := make([]float64, observedRows)
	for j := range scores {
		scores[j] = 3*rng.NormFloat64() - 1
	}
	return scores
}

// TestATurnDisclosesNothing: A of rows that all have one score is flat, and so are the words that keeper and
// helper receive; and where scores differ A follows them no more than it follows those of other rows.
func TestATurnDisclosesNothing(t *testing.T) {
	o := observe(t, slices.Repeat([]float64{1.7}, observedRows))
	for name, h := range map[string]*histogram{"A": &o.turned, "sines": &o.sines, "probabilities": &o.halves} {
		if p := h.least(); p < leastP {
			t.Errorf("%s: %d words with p = %.2g, want %v or more", name, h.words, p, leastP)
		}
	}
	if want := [3]int{observedRows, 2 * sines * observedRows, 2 * observedRows}; want != [3]int{o.turned.words,
		o.sines.words, o.halves.words} {
		t.Errorf("%d, %d and %d words came, want %d", o.turned.words, o.sines.words, o.halves.words, want)
	}
	scores := drawnScores(5)
	o = observe(t, scores)
	own, others := o.follows(scores), o.follows(drawnScores(6))
	t.Logf("A follows the scores by %.1f standard errors, those of other rows by %.1f", own, others)
	if own > chanceFollows || others > chanceFollows {
		t.Errorf("A follows scores by %.1f standard errors and those of other rows by %.1f, want %d at most", own, others,
			chanceFollows)
	}
}

// TestATurnWithoutItsPadsDiscloses is the control: without the pads the test before fails, by far.
func TestATurnWithoutItsPadsDiscloses(t *testing.T) {
	o := observe(t, slices.Repeat([]float64{1.7}, observedRows), useTurnOne, useTurnTwo)
	if p := o.turned.least(); p > 1e-300 {
		t.Errorf("A without r looks flat, p = %.2g", p)
	}
	o = observe(t, slices.Repeat([]float64{1.7}, observedRows), useSines)
	if p := o.sines.least(); p > 1e-300 {
		t.Errorf("sines without their pad look flat, p = %.2g", p)
	}
	scores := drawnScores(5)
	if own := observe(t, scores, useTurnOne, useTurnTwo).follows(scores); own < 50*chanceFollows {
		t.Errorf("A without r follows the scores by %.1f standard errors, want %d or more", own, 50*chanceFollows)
	}
}
