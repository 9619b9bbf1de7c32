// Package glm has scorecards: sealed trainings whose features are bins of the parties' columns in place of random
// cosines. Package sealed carries them out.
package glm

import (
	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Algorithm is what nodes and auditors know of scorecards.
func Algorithm() *joint.Algorithm {
	return &joint.Algorithm{
		Name: contract.GLM, Goal: fdskl.GoalOf, Read: sealed.Read, Part: sealed.ReadPart, Warnings: warnings,
		Work: sealed.Work,
		Complete: func(job *contract.Job, apart func(a, b string) bool) error {
			if job.Privacy != fdskl.Sealed {
				return nil // Read refuses it
			}
			if job.Parameters == nil {
				job.Parameters = make(map[string]any)
			}
			if job.Parameters["bins"] == nil {
				job.Parameters["bins"] = int64(fdskl.DefaultBins)
			}
			return sealed.Complete(job, apart)
		},
	}
}

// warnings holds points and z-scores against who has labels anyway.
func warnings(job *contract.Job) []string {
	p, err := fdskl.ParamsOf(job.Parameters, job.Parties)
	if err != nil {
		return nil // it is no contract
	}
	for _, to := range []string{p.Points, p.ZScores} {
		if to != "" && to != p.Active[0] {
			return []string{"points and z-scores of a bin of one row are that row's label. That a bin has min_cell rows is " +
				"its owner's word alone: who learns them of its own bins can learn the labels of as many rows as it has bins"}
		}
	}
	return nil
}
