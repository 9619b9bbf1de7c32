package columns

import (
	"bytes"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/psi"
)

// TestBucketsAreInTheTextOfLargeJobsAlone: what all parties have said of their rows changes no smaller job.
func TestBucketsAreInTheTextOfLargeJobsAlone(t *testing.T) {
	for rows, want := range map[int]string{psi.BucketIDs: "", 2*psi.BucketIDs + 1: "buckets = 3\n"} {
		job := &contract.Job{Format: "hanse-job-v1", Name: "customers", Algorithm: contract.PSI, Task: contract.TaskAlign,
			Parties: []string{"bank", "shop"}, Table: "train"}
		must(t, job.SetParameters(psi.Params{Mode: psi.ModeDH, Asker: "bank", Keeper: "shop", MinRows: 1,
			KeepDays: 1}))
		before, err := job.Text()
		must(t, err)
		if _, err := new(Jobs).CompleteFor(job, []contract.Facts{{IDs: []int{7}}, {IDs: []int{rows}}}); err != nil {
			t.Fatal(err)
		}
		after, err := job.Text()
		must(t, err)
		if want == "" && !bytes.Equal(before, after) || !strings.Contains(string(after), want) {
			t.Errorf("%d rows: the job says\n%s\nand said before\n%s", rows, after, before)
		}
	}
}
