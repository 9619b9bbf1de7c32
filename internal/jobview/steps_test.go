package jobview

import (
	"strings"
	"testing"

	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/node/job"
)

// TestStepsFitTheNode: what a report prints to be run next can be run there, with the tables that the node has.
func TestStepsFitTheNode(t *testing.T) {
	digits := strings.Repeat("3f9a1c2d", 8)
	const predict = "hanse predict --model 3f9a1c2d --table test"
	for _, test := range []struct {
		what, tables, rows, dir string
		want, never             string
	}{
		{"a table of new rows", "train test", "", "bank-node", "\n    " + predict + " --dir bank-node\n", "--rows"},
		{"a folder of two words", "train test", "", "bank's node", "\n    " + predict + ` --dir 'bank'\''s node'` + "\n",
			"--rows"},
		{"no table of new rows", "train", "", "bank-node", "--data test=FILE", "hanse predict"},
		{"a helper without data", "", "", "lab-node", "hanse model show 3f9a1c2d --dir lab-node",
			"score new rows"},
		{"rows of an alignment that was removed", "train test", "customers", "bank-node", "hanse align --for predict",
			"hanse predict"},
	} {
		training := node.JobInfo{Contract: digits, Name: "credit", Task: "train", State: job.Done, Table: "train",
			Rows: test.rows, Parties: []string{"bank", "lab"}}
		steps := Steps{Jobs: []node.JobInfo{training}, Dir: test.dir, Has: func(name string) bool {
			return strings.Contains(test.tables, name)
		}}
		var out strings.Builder
		if err := Report(&out, &jobs.Report{Contract: digits, Trained: new(jobs.Training)}, false, &steps); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); !strings.Contains(got, test.want) || strings.Contains(got, test.never) {
			t.Errorf("%s: want %q and not %q, got\n%s", test.what, test.want, test.never, got)
		}
	}
}

// TestATrainingThatIsNotConvergedSaysSo on a line of its own; nothing is said of one that is.
func TestATrainingThatIsNotConvergedSaysSo(t *testing.T) {
	const says = "not converged: about 3.0 standard errors to go"
	for _, words := range []string{"", says} {
		var out strings.Builder
		report := &jobs.Report{Contract: strings.Repeat("3f9a1c2d", 8), NotConverged: words}
		if err := Report(&out, report, false, new(Steps)); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); strings.Contains(got, "\n"+says+"\n") != (words != "") {
			t.Errorf("of %q is printed\n%s", words, got)
		}
	}
}

// TestStepsOfAlignedRows: rows of the table that is scored are not offered to a training, with a model or without one.
func TestStepsOfAlignedRows(t *testing.T) {
	digits := strings.Repeat("3f9a1c2d", 8)
	parties := []string{"bank", "lab"}
	training := node.JobInfo{Contract: strings.Repeat("4e9a1c2d", 8), Task: "train", State: job.Done,
		Parties: parties}
	const train, score = "train on these rows", "--model 4e9a1c2d --table"
	for _, test := range []struct {
		table       string
		model       bool
		want, never []string
	}{
		{"train", false, []string{train, `rows = "march"`}, []string{"predict", `table = `}},
		{"april", false, []string{train, `table = "april"`}, []string{"predict"}},
		{"test", true, []string{"score them with", score + " test --rows march"}, []string{train}},
		{"test", false, []string{"once their parties have trained a model"}, []string{train, "score them with"}},
	} {
		steps := Steps{Jobs: []node.JobInfo{{Contract: digits, Task: "align", Parties: parties}}, Dir: "bank-node",
			Has: func(string) bool { return true }}
		if test.model {
			steps.Jobs = append(steps.Jobs, training)
		}
		var out strings.Builder
		report := jobs.Report{Contract: digits, Aligned: &jobs.Aligned{Name: "march", Table: test.table, KeepDays: 30}}
		if err := Report(&out, &report, false, &steps); err != nil {
			t.Fatal(err)
		}
		got := strings.Join(strings.Fields(out.String()), " ")
		for _, want := range test.want {
			if !strings.Contains(got, want) {
				t.Errorf("table %s, model %t: want %q, got\n%s", test.table, test.model, want, out.String())
			}
		}
		for _, never := range test.never {
			if strings.Contains(got, never) {
				t.Errorf("table %s, model %t: do not want %q, got\n%s", test.table, test.model, never, out.String())
			}
		}
	}
}
