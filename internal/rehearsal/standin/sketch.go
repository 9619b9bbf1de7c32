package standin

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/registry"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Sketch is what schemas say of a job that no node was asked about: a contract without openings and operations, which
// nobody can sign. A party without a schema brings no data. The rows that a job takes from an alignment are the share
// common of the smallest table's.
func Sketch(l registry.List, job *contract.Job, schemas map[string]*Schema, common float64) (*contract.Contract,
	error) {
	j := *job
	j.Parameters = maps.Clone(job.Parameters)
	j.Proposer = job.Parties[0]
	var active []string
	switch {
	case job.Task == contract.TaskPredict:
		return nil, fmt.Errorf("job %q: a prediction is rehearsed at a node that has its training, not from schemas",
			job.Name)
	case job.OverClients():
		j.Proposer = job.Servers[0]
	case job.Task == contract.TaskTrain:
		p, err := l.Goal(job)
		if err != nil {
			return nil, fmt.Errorf("job %q: %w", job.Name, err)
		}
		active, j.Proposer = p.Active, p.Active[0]
		open := j.Parameters["target"] == nil && j.Parameters["classes"] == nil
		if s := schemas[p.Active[0]]; s != nil && s.Label != nil && open {
			switch n := len(s.Label.Classes); {
			case n == 0:
				j.Parameters["target"] = joint.Regression
			case n != 2:
				j.Parameters["target"], j.Parameters["classes"] = joint.Classification, int64(n)
			}
		}
	}
	smallest := 0
	for _, s := range schemas {
		if smallest == 0 || s.Rows < smallest {
			smallest = s.Rows
		}
	}
	c := &contract.Contract{Job: &j}
	for i, name := range job.Parties {
		f := contract.Facts{Name: name, Role: "passive"}
		s := schemas[name]
		if s == nil && !job.Serves(i) && job.OverClients() {
			return nil, fmt.Errorf("job %q: there is no schema of %s, who is a client", job.Name, name)
		}
		if s != nil {
			f.Rows = s.Rows
			if job.Rows != "" {
				f.Rows = int(common * float64(smallest))
			}
			for _, column := range s.Columns {
				if !column.Label {
					f.Columns++
				}
			}
		}
		if slices.Contains(active, name) {
			if f.Role = "active"; s == nil {
				return nil, fmt.Errorf("job %q: there is no schema of %s, who holds the label", job.Name, name)
			}
		}
		c.Parties = append(c.Parties, f)
	}
	if job.Task == contract.TaskTrain && !job.OverClients() {
		if complete := l.OverColumns(job).CompleteFor; complete != nil {
			if _, err := complete(&j, c.Rows()); err != nil {
				return nil, err
			}
		}
	}
	return c, nil
}
