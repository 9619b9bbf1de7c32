package page

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/internal/figures"
)

// hostile is the name of a class that would be markup, were it not escaped.
const hostile = `"><script>alert(1)</script>`

// TestPage: the page is well-formed, has the three drawings, needs nothing from elsewhere, and runs no script, whatever
// a class is called.
func TestPage(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	s := figures.Scored{Classes: [2]string{"0", hostile}, Rule: figures.Rule{Kind: figures.Zero}}
	for i := range 300 {
		y := float64(2*(i%3/2) - 1)
		s.Labels, s.Scores = append(s.Labels, y), append(s.Scores, math.Round(y/2+rng.NormFloat64()))
	}
	p, err := figures.FitPlatt(s.Labels, s.Scores)
	if err != nil {
		t.Fatal(err)
	}
	s.Probabilities = p.Probabilities(s.Scores)
	b, err := figures.OfClasses(s)
	if err != nil {
		t.Fatal(err)
	}
	r := &figures.Report{Of: figures.ScoredRows, Binary: b}
	if err := r.CompareClasses(hostile, s, s.Labels); err != nil {
		t.Fatal(err)
	}
	several, err := figures.OfSaid([]string{"a", hostile, "c"}, []int{0, 1, 1}, []int{0, 1, 2})
	if err != nil {
		t.Fatal(err)
	}
	numbers, err := figures.OfNumbers([]float64{1, 2}, []float64{1, 3})
	if err != nil {
		t.Fatal(err)
	}
	for drawings, page := range map[int]Page{
		3: {Title: hostile, Facts: []Fact{{hostile, hostile}}, Figures: r},
		0: {Title: "classes", Figures: &figures.Report{Of: figures.ScoredRows, Several: several}},
		1: {Title: "numbers", Figures: &figures.Report{Of: figures.ScoredRows, Numbers: numbers}},
		2: {Title: "none", Missing: "there are none"},
	} {
		text, err := Render(page)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), "<svg"); n != drawings && page.Title == hostile || bytes.Contains(text,
			[]byte("<script")) || bytes.Contains(text, []byte("http")) || bytes.Contains(text, []byte("NaN")) {
			t.Errorf("%s: %d drawings, or a script, an address or no number in it", page.Title, n)
		}
		for _, words := range []string{figures.SharedWords, "<th scope=\"col\">AUC lower by (95 %)</th>"} {
			if got := strings.Contains(string(text), words); got != (page.Title == hostile) {
				t.Errorf("%s: the page says %q: %v", page.Title, words, got)
			}
		}
		d := xml.NewDecoder(bytes.NewReader(text))
		d.Strict, d.Entity = true, xml.HTMLEntity
		for {
			_, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: the page is not well-formed: %v", page.Title, err)
			}
		}
	}
}
