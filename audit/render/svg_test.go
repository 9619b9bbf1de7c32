package render

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/audit/finding"
)

func TestAxesHaveThreeToSixRoundTicks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.Float64Range(-maxDrawn, maxDrawn).Draw(t, "lo")
		hi := lo + rapid.Float64Range(0, maxDrawn).Draw(t, "span")
		lo, hi = spread(lo, hi)
		marks := axis{lo, hi, 0, 100}.ticks()
		if len(marks) < 3 || len(marks) > 6 {
			t.Fatalf("%d ticks from %g to %g, want three to six", len(marks), lo, hi)
		}
		tolerance := (hi - lo) * 1e-6
		for i, v := range marks {
			if v < lo-tolerance || v > hi+tolerance || i > 0 && v <= marks[i-1] {
				t.Fatalf("ticks %v from %g to %g, want them inside and rising", marks, lo, hi)
			}
		}
	})
}

func TestPointsOutsideAreCounted(t *testing.T) {
	p := &finding.Plot{Points: [][2]float64{{-1, -1}, {1, 1}, {0, 1e300}, {0, math.NaN()}, {0, 500}}}
	svg, outside := scatter("fig1", p)
	if outside != 3 {
		t.Errorf("%d points outside, want 3: one huge, one no number, one beyond three times the spread", outside)
	}
	if n := strings.Count(string(svg), "<circle"); n != 3 {
		t.Errorf("%d dots, want 3: two inside, one at the edge", n)
	}
}

func TestManyPointsAreThinned(t *testing.T) {
	p := &finding.Plot{Points: make([][2]float64, 10_001)}
	svg, _ := scatter("fig1", p)
	if n := strings.Count(string(svg), "<circle"); n < maxDots/2 || n > maxDots {
		t.Errorf("%d dots, want %d to %d", n, maxDots/2, maxDots)
	}
}

func TestManyBinsAreAddedUp(t *testing.T) {
	p := &finding.Plot{Counts: make([]int64, 256), Expect: 10}
	for i := range p.Counts {
		p.Counts[i] = 10
	}
	counts, expect := binned(p)
	if len(counts) != 128 || counts[0] != 20 || expect != 20 {
		t.Errorf("%d bins, the first of %g, expected %g, want 128 of 20", len(counts), counts[0], expect)
	}
}

func TestEquationsAreDrawnOncePerView(t *testing.T) {
	var draw artist
	r := disclosed()
	r.Attacks = append(r.Attacks, r.Attacks[0])
	f := draw.systems(r)
	if n := strings.Count(string(f.SVG), "<rect"); n != 4 {
		t.Errorf("%d bars, want 4: a pair for each of two views", n)
	}
}

func TestLabelsFitBesideTheirNotes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		label := rapid.String().Draw(t, "label")
		if cut := fit(label, 100); pixels(cut) > 100 {
			t.Fatalf("%q was cut to %q of %g pixels, want at most 100", label, cut, pixels(cut))
		}
	})
	if got := fit("control: everything can be found", 380); got != "control: everything can be found" {
		t.Errorf("cut to %q, want it whole", got)
	}
}

func TestAPartyOverItsBudgetStandsOut(t *testing.T) {
	var draw artist
	f := draw.egress(broken())
	if n := strings.Count(string(f.SVG), "fill-bad"); n != 1 {
		t.Errorf("%d bars over budget, want 1", n)
	}
	if want := "Red: some kind of message went over its budget"; !strings.Contains(f.Caption, want) {
		t.Errorf("the caption does not say %q", want)
	}
}
