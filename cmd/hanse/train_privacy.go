package main

import (
	"errors"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/protocol"
)

// maskedHint adds to a refusal of a sealed training what would take it, when that is masks.
func maskedHint(text []byte, refusal error) error {
	job, err := protocol.ParseJob(text)
	if err != nil || job.Algorithm != algorithmFDSKL || job.Task != protocol.TaskTrain || job.Privacy != fdskl.Sealed {
		return refusal
	}
	p, err := fdskl.ParamsOf(job.Parameters, job.Parties)
	if err != nil || wantsMasks(p, job.Aggregation) == "" || len(job.Parties) < 3 {
		return refusal
	}
	return errors.Join(refusal, errors.New(
		`hint: privacy = "masked" in the job file allows it, and opens every angle to the label holder`))
}
