package wired

import (
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/protocol/contract"
)

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
