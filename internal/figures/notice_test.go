package figures

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// looked returns the notice of scores that are labels and so much noise, of so many rows, half of them positive.
func looked(t *testing.T, rows int, noise float64, f Fit) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(21, uint64(rows)))
	s := Scored{Classes: [2]string{"no", "yes"}, Rule: Rule{Kind: Zero}}
	for i := range rows {
		y := float64(2*(i%2) - 1)
		s.Labels, s.Scores = append(s.Labels, y), append(s.Scores, y+noise*rng.NormFloat64())
	}
	b, err := OfClasses(s)
	must(t, err)
	r := &Report{Of: ScoredRows, Binary: b}
	r.Look(f)
	return r.Notice
}

// TestNotice: rows that are told apart without fault, and are enough, look as if a column were the label. A good model
// does not, nor do few rows; rows that the model was fitted to may be known by heart.
func TestNotice(t *testing.T) {
	const apart = "error 0 and AUC 1 on 60 rows: " + AsIfTheLabel
	if got := looked(t, 60, 0.1, Fit{Features: 64}); got != apart {
		t.Errorf("60 rows that are apart are said to be %q, want %q", got, apart)
	}
	if got := looked(t, 60, 0.1, Fit{Rows: 60, Features: 8}); got != apart {
		t.Errorf("60 rows that a model of 8 features was fitted to are said to be %q, want %q", got, apart)
	}
	heart := apart + "; or the model, of 64 features, has learned these rows by heart: score others"
	if got := looked(t, 60, 0.1, Fit{Rows: 60, Features: 64}); got != heart {
		t.Errorf("60 rows that a model of 64 features was fitted to are said to be %q, want %q", got, heart)
	}
	for what, got := range map[string]string{
		"few rows": looked(t, 18, 0.1, Fit{}), "a good model": looked(t, 400, 0.6, Fit{}), "none": looked(t, 400, 9, Fit{}),
	} {
		if got != "" {
			t.Errorf("%s: the notice is %q, want none", what, got)
		}
	}
}

// TestNoticeOfOthers: three classes, numbers, and a label holder whose own columns do it.
func TestNoticeOfOthers(t *testing.T) {
	var places, said []int
	var numbers, near, far []float64
	for i := range 60 {
		places, said = append(places, i%3), append(said, i%3)
		numbers = append(numbers, float64(i))
		near, far = append(near, float64(i)+0.01*float64(i%2)), append(far, float64(i)+9*float64(i%5))
	}
	s, err := OfSaid([]string{"a", "b", "c"}, places, said)
	must(t, err)
	several := &Report{Several: s}
	several.Look(Fit{})
	if !strings.HasPrefix(several.Notice, "error 0 on 60 rows: as if a column were the label itself") {
		t.Errorf("three classes without a fault are said to be %q", several.Notice)
	}
	for _, c := range []struct {
		predictions []float64
		want        bool
	}{{near, true}, {far, false}} {
		n, err := OfNumbers(numbers, c.predictions)
		must(t, err)
		r := &Report{Numbers: n}
		r.Look(Fit{})
		if got := r.Notice != ""; got != c.want || got != (Perfect(numbers, c.predictions, 1, true) != "") {
			t.Errorf("numbers with R2 %v have the notice %q", n.R2.Value, r.Notice)
		}
	}
	binary := Scored{Classes: [2]string{"no", "yes"}}
	for i := range 60 {
		binary.Labels = append(binary.Labels, float64(2*(i%2)-1))
	}
	binary.Scores = binary.Labels
	b, err := OfClasses(binary)
	must(t, err)
	r := &Report{Binary: b}
	must(t, r.CompareClasses("bank"+Alone, binary, binary.Labels))
	r.Look(Fit{})
	if !strings.HasSuffix(r.Notice, "; bank alone does as well: begin with its own columns") {
		t.Errorf("a label holder whose own columns tell the label is said to be %q", r.Notice)
	}
}

// TestOneThreshold: a rival is held against the model at the model's threshold, but for a guess, which has none; and
// the sentence names it.
func TestOneThreshold(t *testing.T) {
	s := Scored{
		Labels: []float64{-1, -1, -1, 1, 1, 1}, Scores: []float64{-3, -2, 1, 2, 3, 4}, Classes: [2]string{"no", "yes"},
		Threshold: 1.5, Rule: Rule{Kind: Youden},
	}
	b, err := OfClasses(s)
	must(t, err)
	r := &Report{Binary: b}
	for name, scores := range map[string][]float64{
		"other": {1, 1, 1, 1, 1, 2}, Guessing: {1, 1, 1, 1, 1, 1},
	} {
		r.Against, r.Words = nil, nil
		must(t, r.CompareClasses(name, s, scores))
		rival := r.Against[0]
		want := map[string]float64{"other": 2. / 6, Guessing: 3. / 6}[name] // all but one, and none, are below 1.5
		if b.Error.Value != 0 || rival.Error.Value != want || rival.Gain.Value != want {
			t.Errorf("%s: errors %v and %v, difference %v, want 0, %v and %v", name, b.Error.Value, rival.Error.Value,
				rival.Gain.Value, want, want)
		}
		if len(r.Words) > 0 && !strings.Contains(r.Words[0], " at score 1.5000") {
			t.Errorf("%s: %q does not name the threshold", name, r.Words[0])
		}
	}
}
