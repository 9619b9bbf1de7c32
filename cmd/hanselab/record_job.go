package main

import (
	"bytes"
	"fmt"

	"github.com/BurntSushi/toml"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/trial"
	"github.com/hanse-project/hanse/internal/vertical"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// recordJob is a training that is ready to run: all that does not change from round to round.
type recordJob struct {
	params    fdskl.Params
	names     []string
	parts     []*vertical.Prepared          // by party
	contracts map[string]*protocol.Contract // by what is recorded
}

// readRecordData reads a set and deals its columns.
func readRecordData(s *benchmarkSet) (*trial.Data, error) {
	return trial.Files(s.files, s.options(), benchmarkParties, 1)
}

// newRecordJob prepares every party's table and writes a contract for each way to record.
func newRecordJob(s *benchmarkSet, d *trial.Data, ids []keys.ID) (*recordJob, error) {
	j := &recordJob{names: d.Names, contracts: make(map[string]*protocol.Contract)}
	j.params = fdskl.Params{
		Active: d.Names[:1], Label: d.Label, Schedule: fdskl.Fixed, Loss: s.loss, Kernel: "gaussian", Sigma: s.sigma,
		Features: s.features, Lambda: s.lambda, Seed: "1", Scale: s.scale, Constant: "drop",
	}.WithDefaults()
	if err := j.params.Validate(d.Names); err != nil {
		return nil, err
	}
	var facts []protocol.Facts
	for i, name := range d.Names {
		prepared, err := vertical.PrepareTraining(d.Train[i], j.params, i == 0)
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
func recordFacts(name string, id keys.ID, p *vertical.Prepared, active bool) protocol.Facts {
	role := "passive"
	if active {
		role = "active"
	}
	return protocol.Facts{Name: name, ID: id, Role: role, Rows: p.Table.Rows(), Columns: len(p.Columns)}
}

// contract writes the contract of one way to record.
func (j *recordJob) contract(way string, facts []protocol.Facts) (*protocol.Contract, error) {
	job := &protocol.Job{
		Format: "hanse-job-v1", Name: "record", Algorithm: "fdskl", Task: protocol.TaskTrain, Parties: j.names,
		Privacy: fdskl.Masked, Topology: protocol.Tree.String(), Table: "train", Record: way,
	}
	if way == recordNothing {
		job.Record = protocol.RecordDigests
	}
	var text bytes.Buffer
	if err := toml.NewEncoder(&text).Encode(j.params); err != nil {
		return nil, err
	}
	if _, err := toml.Decode(text.String(), &job.Parameters); err != nil {
		return nil, err
	}
	var columns []int
	for _, f := range facts {
		columns = append(columns, f.Columns)
	}
	d := fdskl.DiscloseTraining(j.params, job.Privacy, j.names, columns, facts[0].Rows)
	openings, operations := node.Disclosed(len(facts), d)
	return protocol.NewContract(job, facts, openings, operations)
}
