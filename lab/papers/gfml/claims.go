package gfml

import (
	"fmt"
	"math"
	"strings"
)

// Claim is one claim of Figure 2 and what became of it.
type Claim struct {
	Claim   string `json:"claim"`
	Holds   string `json:"holds"` // "yes", "no" or "at the end only"
	Figures string `json:"figures"`
}

// The places of the curves in settings.
const (
	caseWhole = iota
	caseCo40
	caseCo4
	caseCo1
	caseUn40
	caseUn4
	caseUn1
)

// claimsOf checks what the paper reads from Figure 2, at every moment. The early moment of the last
// claim is the first one.
func claimsOf(curves []Curve) []Claim {
	behind := func(a, b int) comparison { return compare(curves[a], curves[b]) }
	positive := func(d float64) bool { return d > 0 }
	worse := behind(caseCo1, caseWhole).and(behind(caseUn1, caseWhole))
	better := behind(caseCo1, caseCo4).and(behind(caseCo4, caseCo40)).and(behind(caseUn1,
		caseUn4)).and(behind(caseUn4, caseUn40))
	alike := behind(caseCo40, caseWhole).and(behind(caseUn40, caseWhole))
	lead := behind(caseUn1, caseCo1)
	return []Claim{
		{"M = 1 is worse than O-GFML", yesNo(worse.all(positive)),
			"coordinated, uncoordinated M = 1 behind O-GFML by dB: " + worse.String()},
		{"M = 4 is better than M = 1, and M = 40 than M = 4", yesNo(better.all(positive)),
			"M = 1 behind 4 and 4 behind 40, coordinated and then uncoordinated, by dB: " + better.String()},
		{"M = 40 is as good as O-GFML", alike.alikeWhen(),
			"coordinated, uncoordinated M = 40 behind O-GFML by dB: " + alike.String()},
		{"coordinated leads uncoordinated early at M = 1", yesNo(lead.behind[0][0] > tolerance),
			"uncoordinated behind coordinated M = 1 by dB: " + lead.String()},
	}
}

// comparison is how far curves are behind others, in dB, at each moment.
type comparison struct {
	moments []string
	behind  [][]float64 // [moment][pair]
}

// compare compares two curves.
func compare(a, b Curve) comparison {
	var c comparison
	for i, r := range a.Readings {
		c.moments, c.behind = append(c.moments, r.Moment), append(c.behind, []float64{r.DB - b.Readings[i].DB})
	}
	return c
}

// and joins two comparisons.
func (c comparison) and(other comparison) comparison {
	joined := comparison{moments: c.moments}
	for i := range c.behind {
		joined.behind = append(joined.behind, append(append([]float64(nil), c.behind[i]...), other.behind[i]...))
	}
	return joined
}

// all reports whether all differences fulfil a condition.
func (c comparison) all(holds func(float64) bool) bool {
	for _, row := range c.behind {
		for _, d := range row {
			if !holds(d) {
				return false
			}
		}
	}
	return true
}

// alikeWhen says when the differences are within the tolerance: "yes" stands for always.
func (c comparison) alikeWhen() string {
	alike := func(d float64) bool { return math.Abs(d) <= tolerance }
	last := comparison{behind: c.behind[len(c.behind)-1:]}
	if !c.all(alike) && last.all(alike) {
		return "at the end only"
	}
	return yesNo(c.all(alike))
}

// String writes the differences, moment by moment.
func (c comparison) String() string {
	var parts []string
	for i, row := range c.behind {
		var figures []string
		for _, d := range row {
			figures = append(figures, fmt.Sprintf("%.2f", d))
		}
		parts = append(parts, c.moments[i]+": "+strings.Join(figures, ", "))
	}
	return strings.Join(parts, "; ")
}

// yesNo says a truth in a word.
func yesNo(holds bool) string {
	if holds {
		return "yes"
	}
	return "no"
}
