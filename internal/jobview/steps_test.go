package jobview

import (
	"strings"
	"testing"

	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node"
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
		training := node.JobInfo{Contract: digits, Name: "credit", Task: "train", State: node.StateDone, Table: "train",
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
