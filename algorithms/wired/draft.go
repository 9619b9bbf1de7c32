package wired

import (
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/protocol/contract"
)

// trainingOf reads the parameters of a job that Part.Train can do.
func trainingOf(job *contract.Job) (fdskl.Params, error) {
	if job.Algorithm != contract.FDSKL || job.Task != contract.TaskTrain || job.Privacy == fdskl.Sealed ||
		job.Shards > 0 || job.Rows != "" {
		return fdskl.Params{}, fmt.Errorf("job %q is task %q of %q with privacy %q, %d shards and rows %q: want a masked or "+
			"published training of %q without shards and rows; a node does the others", job.Name, job.Task, job.Algorithm,
			job.Privacy, job.Shards, job.Rows, contract.FDSKL)
	}
	params, err := fdskl.ParamsOf(job.Parameters, job.Parties)
	if err != nil {
		return params, fmt.Errorf("job %q: %w", job.Name, err)
	}
	return params, nil
}

// Draft makes the contract of a training from the job and what each party says of its table, in the job's order. The
// same job and facts make the same contract, byte for byte: a party signs the one that it has made itself.
func Draft(job *contract.Job, all []contract.Facts) (*contract.Contract, error) {
	params, err := trainingOf(job)
	if err != nil {
		return nil, err
	}
	var columns []int
	for _, f := range all {
		columns = append(columns, f.Columns)
		if f.Rows != all[0].Rows {
			return nil, fmt.Errorf("job %q: %s has %d rows and %s has %d: want the same rows at all parties", job.Name,
				all[0].Name, all[0].Rows, f.Name, f.Rows)
		}
	}
	d, err := fdskl.DiscloseTraining(params, job.Privacy, job.Parties, columns, contract.RowsOf(all))
	if err != nil {
		return nil, fmt.Errorf("job %q: %w", job.Name, err)
	}
	openings, operations, err := Disclosed(job, all, d)
	if err != nil {
		return nil, err
	}
	return contract.NewContract(job, all, openings, operations)
}

// Compared lists what comparing the row ids opens and sends. With data at one party alone there is nothing to compare,
// nor where an alignment says which rows are meant.
func Compared(job *contract.Job, all []contract.Facts) (openings []contract.Opening, operations []contract.Operation) {
	holders := contract.WithData(all)
	if len(holders) < 2 || job.Rows != "" {
		return nil, nil
	}
	for _, f := range holders {
		openings = append(openings, contract.Opening{
			To: f.Name, Kind: contract.KindRowset, Count: int64(len(holders) - 1),
			Meaning: "whether the row ids of each other party with data are the same as its own; " +
				"a party that guesses the whole list of another can test its guess",
		})
	}
	return openings, []contract.Operation{contract.Rowset()}
}

// Disclosed returns what a job's contract holds of a disclosure, the comparison of row ids before the
// algorithm's operations; more are operations beside them.
func Disclosed(
	job *contract.Job, all []contract.Facts, d fdskl.Disclosure, more ...contract.Operation,
) ([]contract.Opening, []contract.Operation, error) {
	operations := d.Operations
	if job.Encrypted() {
		var err error
		if operations, err = Encrypted(operations, job.Parties); err != nil {
			return nil, nil, fmt.Errorf("job %q: %w", job.Name, err)
		}
	}
	ids, comparing := Compared(job, all)
	own := slices.Concat(comparing, operations)
	var sharded []contract.Operation
	for _, o := range more {
		if o.Shards > 0 {
			sharded = append(sharded, o)
		} else {
			own = append(own, o)
		}
	}
	return append(d.Openings, ids...), append(contract.SessionOperations(len(all), own), sharded...), nil
}
