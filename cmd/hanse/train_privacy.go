package main

import (
	"fmt"

	"github.com/BurntSushi/toml"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/protocol"
)

// withPrivacy returns a job file's text as it goes to the node: a training over columns that says nothing of
// privacy is a sealed one. Of others the node knows the default.
func withPrivacy(text []byte) ([]byte, error) {
	job, err := protocol.ParseJob(text)
	if err != nil {
		return nil, err
	}
	var written struct {
		Privacy string `toml:"privacy"`
	}
	if _, err := toml.Decode(string(text), &written); err != nil {
		return nil, err
	}
	if written.Privacy != "" || job.Algorithm != algorithmFDSKL || job.Task != protocol.TaskTrain || len(job.Servers) > 0 {
		return text, nil
	}
	job.Privacy = fdskl.Sealed
	return job.Text()
}

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
	return fmt.Errorf("%w\nhint: privacy = \"masked\" in the job file allows it, and opens every angle to the label holder", refusal)
}
