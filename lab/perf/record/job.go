package record

import (
	"bytes"
	"fmt"

	"github.com/BurntSushi/toml"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/internal/trial"
	"github.com/hanse-project/hanse/internal/vertical"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/lab/sets"
	"github.com/hanse-project/hanse/protocol/contract"
)

// recordJob is a training that is ready to run: all that does not change from round to round.
type recordJob struct {
	params    fdskl.Params
	names     []string
	parts     []*vertical.Prepared          // by party
	contracts map[string]*contract.Contract // by what is recorded
}

// newRecordJob prepares every party's table and writes a contract for each way to record.
func newRecordJob(s *sets.Benchmark, d *trial.Data, ids []keys.ID) (*recordJob, error) {
	j := &recordJob{names: d.Names, contracts: make(map[string]*contract.Contract)}
	j.params = fdskl.Params{
		Active: d.Names[:1], Label: d.Label, Schedule: fdskl.Fixed, Loss: s.Loss, Kernel: "gaussian", Sigma: s.Sigma,
		Features: s.Features, Lambda: fdskl.Lambda(s.Lambda), Seed: "1", Scale: s.Scale, Constant: "drop",
	}.WithDefaults()
	if err := j.params.Validate(d.Names); err != nil {
		return nil, err
	}
	var facts []contract.Facts
	for i, name := range d.Names {
		prepared, err := vertical.PrepareTraining(d.Train[i], j.params.Goal(), i == 0)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		j.parts = append(j.parts, prepared)
		facts = append(facts, recordFacts(name, ids[i], prepared, i == 0))
	}
	for _, way := range recordWays() {
		c, err := j.contract(way, facts)
		if err != nil {
			return nil, err
		}
		j.contracts[way] = c
	}
	return j, nil
}

// recordFacts states what a party says of its table.
func recordFacts(name string, id keys.ID, p *vertical.Prepared, active bool) contract.Facts {
	role := "passive"
	if active {
		role = "active"
	}
	return contract.Facts{Name: name, ID: id, Role: role, Rows: p.Table.Rows(), Columns: len(p.Columns)}
}

// contract writes the contract of one way to record.
func (j *recordJob) contract(way string, facts []contract.Facts) (*contract.Contract, error) {
	job := &contract.Job{
		Format: "hanse-job-v1", Name: "record", Algorithm: contract.FDSKL, Task: contract.TaskTrain, Parties: j.names,
		Privacy: fdskl.Masked, Topology: contract.Tree.String(), Table: "train", Record: way,
	}
	if way == recordNothing {
		job.Record = contract.RecordDigests
	}
	var text bytes.Buffer
	if err := toml.NewEncoder(&text).Encode(j.params); err != nil {
		return nil, err
	}
	if _, err := toml.Decode(text.String(), &job.Parameters); err != nil {
		return nil, err
	}
	var widths []int
	for _, f := range facts {
		widths = append(widths, f.Columns)
	}
	d, err := fdskl.Disclose(fdskl.Outline{Params: j.params, Privacy: job.Privacy, Parties: j.names, Columns: widths,
		Rows: facts[0].Rows})
	if err != nil {
		return nil, err
	}
	return contract.NewContract(job, facts, d.Openings, contract.SessionOperations(len(facts), d.Operations))
}
