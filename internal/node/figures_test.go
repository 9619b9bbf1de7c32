package node

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/hanse-project/hanse/internal/figures"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/jobs/columns"
	"github.com/hanse-project/hanse/keys"
)

// countWrong counts rows and wrong ones by hand: a scores file against the label's column of a table.
func countWrong(t *testing.T, scores, table string) (rows, wrong int) {
	t.Helper()
	read := func(path string) [][]string {
		data, err := os.ReadFile(path)
		must(t, err)
		lines, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
		must(t, err)
		return lines
	}
	lines := read(table)
	id, label := slices.Index(lines[0], "id"), slices.Index(lines[0], "y")
	truth := make(map[string]string)
	for _, l := range lines[1:] {
		truth[l[id]] = l[label]
	}
	for _, l := range read(scores)[1:] {
		rows++
		if l[2] != truth[l[0]] {
			wrong++
		}
	}
	return rows, wrong
}

// TestFigures: a masked training has figures at the label holder, whose error is the training error, and nowhere else;
// a sealed one has none, for the scores of its rows open to nobody. A prediction has them where the receiver has the
// labels, and its scores file goes by the threshold that was chosen.
func TestFigures(t *testing.T) {
	for _, privacy := range []string{"masked", "sealed"} {
		t.Run(privacy, func(t *testing.T) {
			t.Parallel()
			l := newTestNetwork(t, 4, 200)
			l.startAll()
			head := fmt.Sprintf("privacy = %q\n", privacy)
			trained, h, err := l.propose(l.job("train", head, activeBank+"loss = \"square\"\nfeatures = 64\nlambda = 1e-3"))
			must(t, err)
			switch f := trained.Figures; {
			case privacy == "sealed" && f != nil:
				t.Errorf("a sealed training has figures %+v of scores that open to nobody", f)
			case privacy == "masked" && (f == nil || f.Binary == nil || f.Binary.Error.Value != *trained.Trained.TrainError):
				t.Errorf("figures %+v, training error %v", f, *trained.Trained.TrainError)
			}
			l.awaitDone(t.Context(), h)
			insurer, _ := l.nodes[1].job(h)
			if r, err := insurer.loadReport(); err != nil || r.Figures != nil {
				t.Errorf("insurer has figures %+v (%v), and no labels", r.Figures, err)
			}
			if d, err := l.nodes[1].columns.Decision(h); d != nil || err != nil {
				t.Errorf("insurer has a threshold %v (%v), and no labels", d, err)
			}

			predict := func(more string) (*jobs.Report, keys.Hash) {
				t.Helper()
				r, scored, err := l.propose(l.job("predict", head+fmt.Sprintf("model = %q\ntable = \"test\"\n%s", h, more), ""))
				must(t, err)
				return r, scored
			}
			report, _ := predict("open_to = \"bank\"\n")
			rows, wrong := countWrong(t, report.Scores, l.tablePath(0, "test"))
			b := report.Figures.Binary
			if b.Rows != rows || math.Abs(b.Error.Value-float64(wrong)/float64(rows)) > 1e-12 {
				t.Errorf("the error of %d rows is %v, by hand %d of %d are wrong", b.Rows, b.Error, wrong, rows)
			}
			if b.LogLoss == nil || len(report.Figures.Against) != 3 {
				t.Errorf("log loss %v, against %+v: want probabilities and three rivals", b.LogLoss, report.Figures.Against)
			}
			for _, o := range report.Openings {
				if o.Kind != "scores" && o.Kind != "angles" && o.Kind != "rowset" {
					t.Errorf("the prediction opened %d %s: figures open nothing", o.Count, o.Kind)
				}
			}

			// A threshold that everybody is above, and the scores anew: the same scores, another class.
			if _, err := l.nodes[0].columns.SetRule(h, figures.Rule{Kind: figures.Given, Amount: -1000}); err != nil {
				t.Fatal(err)
			}
			again := "open_to = \"bank\"\n"
			if privacy == "sealed" {
				again += "scores_per_row = 2\n"
			}
			report, _ = predict(again)
			data, err := os.ReadFile(report.Scores)
			must(t, err)
			lines, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
			must(t, err)
			for _, line := range lines[1:] {
				p, err := strconv.ParseFloat(line[3], 64)
				if line[2] != b.Classes[1] || err != nil || !(p >= 0 && p <= 1) {
					t.Fatalf("%q, want class %q by the threshold, and a probability", line, b.Classes[1])
				}
			}
			if c := report.Figures.Binary.Confusion; c.TrueNegatives+c.FalseNegatives > 0 {
				t.Errorf("the confusion is %+v, and everybody is above the threshold", c)
			}

			// The same figures are made of the file, with labels of another.
			file := filepath.Join(t.TempDir(), "labels.csv")
			var text bytes.Buffer
			text.WriteString("id,y\n")
			for i, line := range lines[1:] {
				if i < 50 {
					fmt.Fprintf(&text, "%s,%s\n", line[0], b.Classes[i%2])
				}
			}
			must(t, os.WriteFile(file, text.Bytes(), 0o600))
			f, err := l.nodes[0].columns.FiguresOf(h, "test", file, data, nil)
			if err != nil || f.Binary.Rows != 50 || f.Binary.Positives != 25 {
				t.Errorf("figures %+v (%v) of 50 rows, half of them of each class", f, err)
			}
		})
	}
}

// TestFiguresOfNumbers: a regression has RMSE, MAE and R2 in the label's units, against its mean.
func TestFiguresOfNumbers(t *testing.T) {
	t.Parallel()
	l := newTestNetwork(t, 3, 200)
	l.startAll()
	r, _, err := l.propose(l.job("train", "", activeBank+"target = \"regression\"\nfeatures = 64\nlambda = 1e-3"))
	must(t, err)
	n := r.Figures.Numbers
	if n == nil || math.Abs(n.RMSE.Value-*r.Trained.TrainError) > 1e-9 || n.R2 == nil || len(r.Figures.Against) != 3 {
		t.Errorf("figures %+v, training error %v", r.Figures, *r.Trained.TrainError)
	}
}

// TestFiguresOfClasses: four classes have error, recall and a confusion matrix, at the training and at the prediction,
// and of the scores file by itself.
func TestFiguresOfClasses(t *testing.T) {
	t.Parallel()
	l := newTestNetwork(t, 3, 200)
	l.relabel(fourLabels)
	l.startAll()
	trained, h, err := l.propose(l.job("train", "", activeBank+"loss = \"square\"\nfeatures = 64\nlambda = 1e-3"))
	must(t, err)
	f := trained.Figures
	if f == nil || f.Several == nil || math.Abs(f.Several.Error.Value-*trained.Trained.TrainError) > 1e-12 ||
		len(f.Against) != 3 {
		t.Fatalf("figures %+v, training error %v", f, *trained.Trained.TrainError)
	}
	report, _, err := l.propose(l.job("predict", fmt.Sprintf("model = %q\ntable = \"test\"\nopen_to = \"bank\"\n", h), ""))
	must(t, err)
	rows, wrong := countWrong(t, report.Scores, l.tablePath(0, "test"))
	s := report.Figures.Several
	if s.Rows != rows || math.Abs(s.Error.Value-float64(wrong)/float64(rows)) > 1e-12 {
		t.Errorf("the error of %d rows is %v, by hand %d of %d are wrong", s.Rows, s.Error, wrong, rows)
	}
	guess := report.Figures.Against[0]
	if guess.Name != figures.Guessing || guess.Error.Value < 0.5 {
		t.Errorf("guessing is wrong for %v, and no class has half of the rows", guess.Error)
	}
	data, err := os.ReadFile(report.Scores)
	must(t, err)
	again, err := l.nodes[0].columns.FiguresOf(h, "test", "", data, nil)
	if err != nil || again.Several.Error.Value != s.Error.Value {
		t.Errorf("of the scores file the error is %+v (%v), want %v", again, err, s.Error)
	}
}

// TestDamagedDecision: a threshold whose file a disk has damaged is the model's own again, and the rows are scored all
// the same.
func TestDamagedDecision(t *testing.T) {
	t.Parallel()
	l := newTestNetwork(t, 3, 100)
	l.startAll()
	_, h, err := l.propose(l.job("train", "", activeBank+"loss = \"square\"\nfeatures = 64\nlambda = 1e-3"))
	must(t, err)
	if _, err := l.nodes[0].columns.SetRule(h, figures.Rule{Kind: figures.Given, Amount: -1000}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{columns.DecisionFile, columns.AloneFile} {
		must(t, os.WriteFile(l.jobFile(0, h, name), []byte("damaged"), 0o600))
	}
	r, _, err := l.propose(l.job("predict", fmt.Sprintf("model = %q\ntable = \"test\"\nopen_to = \"bank\"\n", h), ""))
	must(t, err)
	if b := r.Figures.Binary; b.Threshold != 0 || len(r.Figures.Against) != 0 {
		t.Errorf("threshold %v, against %+v: want the model's own threshold, and nothing to hold it against", b.Threshold,
			r.Figures.Against)
	}
}
