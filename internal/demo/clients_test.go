package demo

import (
	"encoding/xml"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/protocol/contract"

	"github.com/hanse-project/hanse/internal/trial/online"
)

// TestEveryAlgorithmOverStreamsHasAShow looks for an algorithm that is not shown.
func TestEveryAlgorithmOverStreamsHasAShow(t *testing.T) {
	for _, name := range algorithms()[2:] {
		s := newClients(&demo{Options: &Options{Algorithm: name}}).trial
		if s.Servers < 1 || s.Clients < 1 {
			t.Errorf("%s has no whole show: %+v", name, s)
		}
	}
}

// TestBudgetsAreComparedWithTheJob lets one process stand for the job.
func TestBudgetsAreComparedWithTheJob(t *testing.T) {
	houses, err := online.NewHouses(online.Options{Servers: 1, Clients: 3, Rounds: 12, Budget: 3, Seed: 1})
	must(t, err)
	var out, told strings.Builder
	d := newClients(&demo{Options: &Options{Algorithm: contract.OFMSFT, Out: &out, Err: &told}, steps: &steps{w: &told}})
	d.selection, d.federation, d.measure = houses, houses.Federation, newMeasure(false)
	if d.outcome, err = houses.Together(); err != nil {
		t.Fatal(err)
	}
	d.result.Rounds = houses.Rounds()
	must(t, d.compareBudgets())
	checkBudgets(t, d.result.Budgets)
	if f := d.result.Fixed; f == nil || !(*f.MSE > 0 && *f.AverageMSE > *f.MSE) {
		t.Errorf("fixed networks: %+v", f)
	}
	must(t, d.printBudgets())
	if text := out.String(); strings.Count(text, "in one process") != 2 || strings.Count(text,
		"the job") != 1 || strings.Count(text, "±") != 6 {
		t.Errorf("printed\n%s", text)
	}
	dir := t.TempDir()
	must(t, d.result.drawBudgets(dir))
	for _, name := range []string{"budgets.svg", "regret.svg"} {
		if lines := drawnLines(t, filepath.Join(dir, name)); lines != 4 {
			t.Errorf("%s has %d curves, want three budgets and what is never tuned", name, lines)
		}
	}
}

// checkBudgets looks at the results of the least budget, the job's and the largest.
func checkBudgets(t *testing.T, all []budgetResult) {
	t.Helper()
	if len(all) != 3 || all[0].Budget != 2 || all[0].Job || all[1].Budget != 3 || !all[1].Job || all[2].Job {
		t.Fatalf("budgets %+v", all)
	}
	for _, b := range all {
		if !(*b.MSE > 0 && *b.UntunedMSE > 0 && *b.MSESD > 0) || len(b.Curve) != 12 || len(b.RegretCurve) != 12 ||
			math.Abs(b.Regret-b.RegretCurve[11]) > 1e-12 {
			t.Errorf("budget %v: %+v", b.Budget, b)
		}
	}
}

// drawnLines reads an SVG file and counts its curves.
func drawnLines(t *testing.T, path string) int {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	var svg struct {
		Lines []struct {
			Points string `xml:"points,attr"`
		} `xml:"polyline"`
	}
	if err := xml.Unmarshal(text, &svg); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	for _, l := range svg.Lines {
		if strings.Contains(l.Points, "NaN") || strings.Contains(l.Points, "Inf") || !strings.Contains(l.Points, ",") {
			t.Errorf("%s: points %.80s", path, l.Points)
		}
	}
	return len(svg.Lines)
}

// TestCurvesAreDrawnWhateverTheirLength draws nothing, a point and a line.
func TestCurvesAreDrawnWhateverTheirLength(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.svg")
	for want, values := range [][][]float64{{}, {{1}}, {{1, 2, 3}, {-4}}} {
		var all []curve
		for _, v := range values {
			all = append(all, curve{"a", "#000", v})
		}
		must(t, writeCurves(path, newMeasure(false).drawing, all))
		if got := drawnLines(t, path); got != want {
			t.Errorf("%d curves, want %d", got, want)
		}
	}
}

// TestFiguresAreShownInTheirUnits has both measures.
func TestFiguresAreShownInTheirUnits(t *testing.T) {
	s := &online.Score{Error: 0.25, SD: 0.125}
	for m, want := range map[measure]string{newMeasure(false): "250.00 ± 125.00", newMeasure(true): "75.00 ± 12.50"} {
		if got := m.of(s).String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if c := newMeasure(true).curve([]float64{1, 0, 0.5, 0.5}, 2); fmt.Sprint(c) != "[0 50 75 50]" {
		t.Errorf("accuracies %v", c)
	}
	if c := newMeasure(false).curve([]float64{1, 100}, 1); fmt.Sprint(c) != "[0 20]" {
		t.Errorf("decibels %v", c)
	}
}

// must ends the test on an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
