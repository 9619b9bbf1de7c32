// Package registry finds the code that carries out a job. Over columns it goes by the mode: what a session of a job
// opens and does is asked here, by who proposes it, who consents, who forecasts and who audits. Over clients' streams
// it lists the algorithms.
package registry

import (
	"fmt"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/algorithms/trace"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Params reads the parameters of a training, with defaults and with what its parties have stated.
func Params(job *contract.Job, facts []contract.Facts) (fdskl.Params, error) {
	p, err := fdskl.ParamsOf(job.Parameters, job.Parties)
	if err == nil && job.Privacy == fdskl.Sealed {
		return sealed.WithFacts(sealed.WithDefaults(p), facts)
	}
	return p, err
}

// outline describes a session of a job over columns: its own, or that of a shard. p are the job's parameters with
// defaults, in a prediction those of the model. facts are those of the job's parties, in its order.
func outline(
	job *contract.Job, facts []contract.Facts, p fdskl.Params, shard *contract.Shard,
) (o fdskl.Outline, err error) {
	o = fdskl.Outline{Params: p, Privacy: job.Privacy, Parties: job.Parties, Rows: contract.RowsOf(facts)}
	for _, f := range facts {
		o.Columns = append(o.Columns, f.Columns)
	}
	if job.Task == contract.TaskPredict {
		o.Receiver, o.Requests = job.OpenTo, job.Requests
	} else if job.Privacy == fdskl.Sealed {
		o.Params, err = sealed.WithFacts(p, facts)
	}
	switch {
	case shard == nil:
		o.InShards = job.Shards > 0
	case shard.First < 0 || shard.Rows < 1 || shard.Rows > o.Rows-shard.First:
		return o, fmt.Errorf("a shard of %d rows from row %d on, the job has %d", shard.Rows, shard.First, o.Rows)
	default:
		o.Shard = &fdskl.Shard{Lo: shard.First, Hi: shard.First + shard.Rows}
	}
	return o, err
}

// Disclose tells what a session opens and does: the job's own, or that of a shard. facts are those of the job's
// parties, in its order; p are the job's parameters with defaults, in a prediction those of the model.
func Disclose(
	job *contract.Job, facts []contract.Facts, p fdskl.Params, shard *contract.Shard,
) (joint.Disclosure, error) {
	o, err := outline(job, facts, p, shard)
	switch {
	case err != nil:
		return joint.Disclosure{}, err
	case o.Privacy == fdskl.Sealed:
		return sealed.Disclose(o)
	}
	return fdskl.Disclose(o)
}

// Follow says which rows and angles the messages of a session are of; see Disclose.
func Follow(
	job *contract.Job, facts []contract.Facts, p fdskl.Params, shard *contract.Shard,
) (*trace.Follower, error) {
	o, err := outline(job, facts, p, shard)
	switch {
	case err != nil:
		return nil, err
	case o.Privacy == fdskl.Sealed:
		return sealed.Follow(o), nil
	}
	return fdskl.Follow(o), nil
}

// Shards cuts the rows of a job into its shards, of whole blocks, as all its parties must; see Disclose.
func Shards(job *contract.Job, facts []contract.Facts, p fdskl.Params) ([]contract.Shard, error) {
	o, err := outline(job, facts, p, nil)
	if err != nil {
		return nil, err
	}
	var cuts []fdskl.Shard
	switch {
	case o.Receiver != "":
		cuts, err = fdskl.CutShards(o.Rows, joint.ScoreRows, job.Shards)
	case o.Privacy == fdskl.Sealed:
		cuts, err = sealed.Shards(o.Params, o.Rows, job.Shards)
	default:
		cuts, err = fdskl.Shards(o.Params, o.Rows, job.Shards)
	}
	list := make([]contract.Shard, len(cuts))
	for i, c := range cuts {
		list[i] = contract.Shard{Index: i, Of: job.Shards, First: c.Lo, Rows: c.Rows()}
	}
	return list, err
}
