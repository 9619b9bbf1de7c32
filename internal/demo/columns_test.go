package demo

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/trial"
	"github.com/hanse-project/hanse/protocol/contract"
)

// TestALabelFarOutWidensTheScores gives a demo a price that slipped by a factor, and the same prices without it.
func TestALabelFarOutWidensTheScores(t *testing.T) {
	for _, c := range []struct {
		factor float64
		want   int
		says   string
	}{
		{1, 16, ""},
		{200, 32, `score_range 32 in place of 16: the label has a value more than 16 deviations from its mean; hanse table ` +
			`check --label price shows where`},
	} {
		var text strings.Builder
		text.WriteString("id,a,b,c,price\n")
		for i := range 800 {
			price := float64(100 + i%7)
			if i == 3 {
				price *= c.factor
			}
			fmt.Fprintf(&text, "p%d,%d,%d,%d,%g\n", i, i%5, i%11, i%13, price)
		}
		file := filepath.Join(t.TempDir(), "prices.csv")
		must(t, os.WriteFile(file, []byte(text.String()), 0o600))
		d := &columns{demo: &demo{Options: &Options{Algorithm: contract.FDSKL, Schedule: fdskl.Fixed, Kernel: "gaussian",
			Target: joint.Regression}}}
		var err error
		if d.data, err = trial.Files([]string{file}, dataset.Options{Label: "price"}, 3, 1); err != nil {
			t.Fatal(err)
		}
		p, err := d.makeParams()
		must(t, err)
		labels, err := d.data.Train[0].Column("price")
		must(t, err)
		if p.ScoreRange != c.want || d.far != c.says || sealed.CheckLabels(p, labels.Values) != nil {
			t.Errorf("times %g: score_range %d, says %q, labels %v", c.factor, p.ScoreRange, d.far,
				sealed.CheckLabels(p, labels.Values))
		}
	}
}

// TestModelsThatAreNotConvergedAreNamed below the table, each with its own sentence, and no other.
func TestModelsThatAreNotConvergedAreNamed(t *testing.T) {
	var out strings.Builder
	d := &columns{demo: &demo{Options: &Options{Out: &out}}}
	d.result.Baselines = []trial.Baseline{{Name: "bank alone"}, {Name: "telco alone", NotConverged: "not converged: a"}}
	d.result.NotConverged = "not converged: b"
	must(t, d.printComparison())
	if got := out.String(); !strings.HasSuffix(got, "\ntelco alone: not converged: a\nHanse: not converged: b\n") ||
		strings.Count(got, "not converged") != 2 {
		t.Errorf("printed is\n%s", got)
	}
	out.Reset()
	d.result.Baselines, d.result.NotConverged, d.result.ClearNotConverged = nil, "", "not converged: c"
	must(t, d.printComparison())
	if got := out.String(); !strings.HasSuffix(got, "\nall columns pooled in the clear: not converged: c\n") {
		t.Errorf("printed is\n%s", got)
	}
}
