package figures

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// drawn draws rows of two classes, of which a share is positive, and scores that know a little.
func drawn(n int, share, strength float64, seed uint64) Scored {
	rng := rand.New(rand.NewPCG(seed, 1))
	s := Scored{Classes: [2]string{"paid", "default"}, Rule: Rule{Kind: Zero}}
	for range n {
		y := -1.0
		if rng.Float64() < share {
			y = 1
		}
		s.Labels = append(s.Labels, y)
		s.Scores = append(s.Scores, strength*y+rng.NormFloat64())
	}
	return s
}

// TestGuessingIsNamed: where guessing is right more often the report says so, and where the model is better it does
// not; a model that ranks well all the same is told apart. Where a class is rare it is held against chance by its AUC.
func TestGuessingIsNamed(t *testing.T) {
	for _, c := range []struct {
		share, strength float64
		want            []string
	}{
		{0.2, 0.5, []string{"guessing does better than the model: error ", "it ranks rows better than chance all the same"}},
		{0.06, 0.5, []string{"says little where 32 of 600 rows are of the rarer class: look at the AUC"}},
		{0.06, 0, []string{"these rows do not show that the model is better than guessing: AUC 0.", "says little where"}},
		{0.5, 2, nil},
		{0.5, 0, []string{"guessing"}},
	} {
		s := drawn(600, c.share, c.strength, 3)
		b, err := OfClasses(s)
		must(t, err)
		r := &Report{Of: ScoredRows, Binary: b}
		guess := make([]float64, len(s.Scores))
		for i := range guess {
			guess[i] = -1
		}
		must(t, r.CompareClasses(Guessing, s, guess))
		if len(r.Words) != len(c.want) {
			t.Errorf("%v positive: the report says %q, want %d sentences", c.share, r.Words, len(c.want))
			continue
		}
		for i, want := range c.want {
			if !strings.Contains(r.Words[i], want) {
				t.Errorf("%v positive: the report says %q, want %q in it", c.share, r.Words[i], want)
			}
		}
	}
}

// TestARareEventIsJudgedByAUC: of a rare event rivals are held against the model by the AUC, in words and first in the
// table, though all have the error of a guess; one row in ten is not rare.
func TestARareEventIsJudgedByAUC(t *testing.T) {
	for _, c := range []struct {
		positives, rows int
		knows           float64 // the rival, of what the model knows
		want, head      string
	}{
		{18, 413, 0.9, "these rows do not show that the model is better than bank alone: AUC 0.", "AUC"},
		{90, 1999, 1.8, "bank alone does better than the model: AUC 0.", "AUC"},
		{18, 413, 0, "", "AUC"},
		{40, 400, 0, "these rows do not show that the model is better than bank alone: error 0.1 against 0.1 at score " +
			"0.0000, difference 0.0000 (-0.", "error at score 0.0000"},
	} {
		s, others := Scored{Classes: [2]string{"0", "1"}, Rule: Rule{Kind: Zero}}, []float64(nil)
		rng := rand.New(rand.NewPCG(9, 1))
		for i := range c.rows {
			y := -1.0
			if i < c.positives {
				y = 1
			}
			a, b := rng.NormFloat64(), rng.NormFloat64()
			s.Labels = append(s.Labels, y)
			s.Scores, others = append(s.Scores, y+a-9), append(others, c.knows*y+0.7*a+0.7*b-9)
		}
		b, err := OfClasses(s)
		must(t, err)
		r := &Report{Of: ScoredRows, Binary: b}
		must(t, r.CompareClasses("bank"+Alone, s, others))
		if got := strings.Join(r.Words, "; "); !strings.HasPrefix(got, c.want) || got != "" && c.want == "" {
			t.Errorf("a rival that knows %v, with %d of %d rows: the report says %q, want %q", c.knows, c.positives, c.rows,
				got, c.want)
		}
		var text strings.Builder
		must(t, r.WriteShort(&text))
		_, after, _ := strings.Cut(text.String(), "\nagainst ")
		if head := strings.TrimLeft(after, " "); !strings.HasPrefix(head, c.head) {
			t.Errorf("%d of %d rows: the table begins %q, want %q first", c.positives, c.rows, head, c.head)
		}
		r.Against[0].AUC, r.Against[0].AUCGain = nil, nil // as a guess in a report that is kept from before
		text.Reset()
		if err := r.WriteShort(&text); err != nil || !strings.Contains(text.String(), "\nbank alone ") {
			t.Errorf("%d of %d rows: a rival without AUC is not printed (%v)", c.positives, c.rows, err)
		}
	}
}

// TestPartsOfARowAreExplained: the text says what 2.333 rows of a tenth are, and nothing where all are whole.
func TestPartsOfARowAreExplained(t *testing.T) {
	for _, c := range []struct {
		name string
		step float64
		want bool
	}{{"rows with equal scores", 2, true}, {"rows without", 0, false}} {
		s := drawn(413, 0.3, 1, 6)
		for i := range s.Scores {
			if c.step > 0 {
				s.Scores[i] = c.step * math.Round(s.Scores[i]/c.step)
			}
		}
		b, err := OfClasses(s)
		must(t, err)
		var text strings.Builder
		must(t, (&Report{Of: ScoredRows, Binary: b}).Write(&text))
		if strings.Contains(text.String(), "parts of a row: ") != c.want {
			t.Errorf("%s: the text explains parts of a row, or does not, want %v:\n%s", c.name, c.want, text.String())
		}
	}
}

// TestLinearIsNamed: a rival whose numbers are nearer is named, and a guess that is as near by chance.
func TestLinearIsNamed(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	var labels, wild, near, far []float64
	for range 200 {
		y := rng.NormFloat64()
		labels, wild = append(labels, y), append(wild, y+rng.NormFloat64())
		near, far = append(near, y+rng.NormFloat64()/3), append(far, y+3*rng.NormFloat64())
	}
	n, err := OfNumbers(labels, wild)
	must(t, err)
	r := &Report{Of: ScoredRows, Numbers: n}
	for _, rival := range []struct {
		name        string
		predictions []float64
	}{{"a linear model", near}, {"another", far}} {
		must(t, r.CompareNumbers(rival.name, labels, wild, rival.predictions))
	}
	if len(r.Words) != 1 || !strings.HasPrefix(r.Words[0], "a linear model does better than the model: RMSE 0.3") {
		t.Errorf("the report says %q", r.Words)
	}
}

// TestTextFits: no line of any report is longer than 80 characters, whatever classes are called.
func TestTextFits(t *testing.T) {
	long := strings.Repeat("überfällig ", 30) + "\x1b[31m"
	s := drawn(400, 0.3, 1, 4)
	s.Classes = [2]string{"no" + long, "yes" + long}
	p, err := FitPlatt(s.Labels, s.Scores)
	must(t, err)
	s.Probabilities = p.Probabilities(s.Scores)
	b, err := OfClasses(s)
	must(t, err)
	several, err := OfSaid([]string{long, "b", "c", "d"}, []int{0, 1, 2, 2}, []int{0, 2, 2, 1})
	must(t, err)
	numbers, err := OfNumbers([]float64{1e6, 2e6, 3e6}, []float64{1.1e6, 2e6, 2.5e6})
	must(t, err)
	two := &Report{Of: ScoredRows, Binary: b, Unlabelled: 3}
	must(t, two.CompareClasses(long, s, s.Labels))
	three := &Report{Of: TrainingRows, Several: several}
	three.CompareSaid(long, []int{0, 1, 2, 2}, []int{0, 2, 2, 1}, []int{2, 2, 2, 2})
	for _, r := range []*Report{two, three, {Of: TrainingRows, Numbers: numbers}} {
		var text strings.Builder
		must(t, r.Write(&text))
		for line := range strings.Lines(text.String()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > lineWidth || strings.Contains(line, "\x1b") {
				t.Errorf("a line of %d characters: %q", n, line)
			}
		}
	}
}
