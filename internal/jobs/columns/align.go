package columns

import (
	"context"
	"fmt"
	"strings"

	"github.com/hanse-project/hanse/algorithms/wired"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// Fit implements jobs.Kind: it refuses facts with different numbers of rows. A helper without data has none. Whether
// the ids are the same is compared in the session, once all have consented to just that: see compareRows. Tables of an
// alignment differ, that is what it is for, and none is smaller than what may open.
func (j *Jobs) Fit(job *contract.Job, all []contract.Facts) error {
	if job.Task == contract.TaskAlign {
		return fitAlignment(job, all)
	}
	all = contract.WithData(all)
	for _, f := range all {
		if f.Rows != all[0].Rows {
			err := fmt.Errorf("%s has %d rows and %s has %d, and not all are common: find those that are with %s",
				all[0].Name, all[0].Rows, f.Name, f.Rows, j.findCommon(job, all))
			return &faults.Error{Code: fault.CodeRows, Err: err,
				Names: []string{all[0].Name, f.Name}, Numbers: []int64{int64(all[0].Rows), int64(f.Rows)}}
		}
	}
	return nil
}

// findCommon is the command that finds the rows that all parties with data have, and what to do with them then.
func (j *Jobs) findCommon(job *contract.Job, all []contract.Facts) string {
	name := "common-" + job.Table
	command := "hanse align --name " + name
	if job.Task == contract.TaskPredict {
		command += " --for predict"
	}
	command += " --table " + job.Table
	var names, ids []string
	for _, f := range all {
		names = append(names, f.Name)
	}
	for _, id := range j.Charter().Identifiers {
		ids = append(ids, id.Name)
	}
	if len(ids) > 0 {
		command += " --keys " + strings.Join(ids, ",")
	}
	command += " --parties " + strings.Join(names, ",")
	if job.Task == contract.TaskPredict {
		return command + ", then say --rows " + name + " to hanse predict"
	}
	return command + fmt.Sprintf(", then propose the job anew with rows = %q", name)
}

// compareRows compares the row ids of all parties with data, in the order in which the session computes with them. It
// comes before anything of the data leaves. table is nil at a party without data.
func (r *session) compareRows(ctx context.Context, table *dataset.Table) error {
	c := r.Contract()
	if _, operations := wired.Compared(c.Job, c.Parties); operations == nil {
		return nil
	}
	var digest keys.Hash
	if table != nil {
		digest = table.IDDigest()
	}
	holders := c.Holders()
	differ, err := r.wire.CompareRows(ctx, digest, holders)
	if err != nil || table == nil {
		return err
	}
	r.Learned(contract.KindRowset, int64(len(holders)-1))
	if len(differ) == 0 {
		return nil
	}
	var names []string
	for _, i := range differ {
		names = append(names, c.Parties[i].Name)
	}
	err = fmt.Errorf("%s and %s each have %d rows, but not of the same ids, so that nothing was computed: "+
		"find the common ones with hanse align --name common, and propose the job anew with rows = \"common\"",
		r.Self, wording.Several(names), c.Rows())
	return &faults.Error{Code: fault.CodeRows, Err: err, Names: []string{r.Self, names[0]}}
}
