package gfml

import (
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/federated/memory"
)

// TestAStepThatIsTooLargeIsWarnedOf once, by a client's first rows or by all that there are.
func TestAStepThatIsTooLargeIsWarnedOf(t *testing.T) {
	for _, c := range []struct {
		rows, iterations int
		step             float64
		want             string
	}{
		{1000, 150, 2.5, "64"}, {9, 12, 2.5, "9"}, {1000, 60, 2.5, ""}, {1000, 150, 0.75, ""},
	} {
		p := plan(t, func(p *Params) { p.Step = c.step })
		var x [][]float64
		for i := range c.rows {
			x = append(x, []float64{float64(i%7) - 3, float64(i%5) - 2})
		}
		var iterations []int
		for n := range p.params.Iterations {
			if len(iterations) < c.iterations && !slices.Contains(p.Chosen(0, n), 0) {
				iterations = append(iterations, n)
			}
		}
		var warnings []string
		must(t, RunClient(t.Context(), &ClientPart{
			Plan: p, Privacy: "masked", Least: 3, Vault: memory.Vault{},
			Network: &memory.ToldClient{Rounds: iterations, End: io.EOF},
			Rows:    memory.NewRows(x, make([]float64, c.rows)), // learning zeros diverges nowhere
			Warn:    func(s string) { warnings = append(warnings, s) },
		}))
		if c.want == "" {
			if len(warnings) > 0 {
				t.Errorf("%d rows of step %v: %q, want no warning", c.rows, c.step, warnings)
			}
			continue
		}
		head, tail := `client "a1" of server "a": step is 2.5, want a learning rate below `, "by its first "+c.want+" rows"
		if len(warnings) == 0 || !strings.HasPrefix(warnings[0], head) || !strings.HasSuffix(warnings[0], tail) {
			t.Errorf("%d rows of step %v: %q, want %s... %s", c.rows, c.step, warnings, head, tail)
		}
	}
}

// TestAStepIsHeldAgainstRowsOnFile before the first iteration, in the first session only, and against no
// row that cannot be read.
func TestAStepIsHeldAgainstRowsOnFile(t *testing.T) {
	ahead := make([][]float64, 300)
	for i := range ahead {
		ahead[i] = []float64{float64(i%7) - 3, float64(i%5) - 2}
	}
	spoilt := slices.Clone(ahead)
	spoilt[40] = []float64{math.NaN(), 0}
	for _, c := range []struct {
		ahead [][]float64
		step  float64
		want  string
	}{
		{ahead, 2.5, "by 256 rows on file"}, {ahead[:30], 2.5, "by 30 rows on file"}, {spoilt, 2.5, "by 40 rows on file"},
		{ahead, 0.75, ""}, {nil, 2.5, ""}, {spoilt[40:], 2.5, ""},
	} {
		var warnings []string
		p := &ClientPart{
			Plan: plan(t,
				func(p *Params) { p.Step = c.step }), Privacy: "masked", Least: 3, Vault: memory.Vault{}, Ahead: c.ahead,
			Network: &memory.ToldClient{End: io.EOF}, Rows: &memory.FaultyRows{InputsErr: errLost},
			Warn: func(s string) { warnings = append(warnings, s) },
		}
		must(t, RunClient(t.Context(), p))
		if c.want == "" && len(warnings) == 0 {
			continue
		}
		head := `client "a1" of server "a": step is 2.5, want a learning rate below `
		if len(warnings) == 0 || !strings.HasPrefix(warnings[0], head) || !strings.HasSuffix(warnings[0], c.want) {
			t.Errorf("%d rows on file, step %v: %q, want %s... %s", len(c.ahead), c.step, warnings, head, c.want)
		}
	}
}

// TestAStepIsJudgedOnce over all sessions of a client, by rows on file rather than by those that come.
func TestAStepIsJudgedOnce(t *testing.T) {
	p := plan(t, func(p *Params) { p.Step = 2.5 })
	var x [][]float64
	for i := range 100 {
		x = append(x, []float64{float64(i%7) - 3, float64(i%5) - 2})
	}
	n, vault, rows, warnings := 0, memory.Vault{}, memory.NewRows(x, make([]float64, len(x))), 0
	session := func(chosen int) {
		var iterations []int
		for ; chosen > 0; n++ {
			if slices.Contains(p.Chosen(0, n), 0) {
				iterations, chosen = append(iterations, n), chosen-1
			}
		}
		must(t, RunClient(t.Context(), &ClientPart{
			Plan: p, Privacy: "masked", Least: 3, Vault: vault, Ahead: x,
			Network: &memory.ToldClient{Rounds: iterations, Values: make([]float64, p.params.Entries), End: io.EOF},
			Rows:    rows, Warn: func(s string) { warnings++ },
		}))
	}
	session(0)
	first := warnings
	session(3)
	session(90)
	if first == 0 || warnings != 2*first { // nothing was learned in the first session
		t.Errorf("%d warnings in the first session and %d in all, want none in the third", first, warnings)
	}
}
